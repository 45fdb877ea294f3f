// Shows a record in a cell's output, as the live widget where a kernel still holds it. A record lies in the output's
// metadata, so that it is there when the notebook is opened again.
import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import type { NotebookPanel } from "@jupyterlab/notebook";
import { MIME, mount, type RecordJson, type View, type Viewer } from "@tinyton-lab/shared";
import { PanelLayout, Widget } from "@lumino/widgets";

const WIDGET_VIEW = "application/vnd.jupyter.widget-view+json";

interface Stored {
  record?: RecordJson;
  view?: View;
}

/** What an output stores of a kernel: its record, and the view that opens first. */
export function storedIn(model: IRenderMime.IMimeModel): Stored {
  const stored = model.metadata[MIME] as Stored | undefined;
  return stored?.record && "stages" in stored.record ? stored : {};
}

/** The widget of one output; `panel` is the notebook that it belongs to, if any. */
export class RecordRenderer extends Widget implements IRenderMime.IRenderer {
  private viewer: Viewer | undefined;

  constructor(private readonly open: (record: RecordJson) => void, private readonly panel?: NotebookPanel) {
    super();
    this.layout = new PanelLayout();
    this.addClass("tt-record");
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this.clear();
    if (this.panel && (await isLive(model, this.panel))) await this.showWidget(model, this.panel.content.rendermime);
    else this.showRecord(model);
  }

  dispose(): void {
    this.viewer?.dispose();
    super.dispose();
  }

  private clear(): void {
    this.viewer?.dispose();
    for (const child of [...(this.layout as PanelLayout).widgets]) child.dispose();
  }

  private async showWidget(model: IRenderMime.IMimeModel, rendermime: IRenderMimeRegistry): Promise<void> {
    const inner = rendermime.createRenderer(WIDGET_VIEW);
    (this.layout as PanelLayout).addWidget(inner);
    await inner.renderModel(model);
  }

  private showRecord(model: IRenderMime.IMimeModel): void {
    const { record, view } = storedIn(model);
    const child = new Widget();
    (this.layout as PanelLayout).addWidget(child);
    if (!record) {
      child.node.textContent = String(model.data["text/plain"] ?? "This output holds no record.");
      return;
    }
    try {
      this.viewer = mount(child.node, record, { view, onOpen: () => this.open(record), onLeave: () => this.leave() });
    } catch (error) {
      child.node.textContent = `${String(error)} ${String(model.data["text/plain"] ?? "")}`;
    }
  }

  /** Give the focus back to the notebook. */
  private leave(): void {
    (document.activeElement as HTMLElement | null)?.blur();
    this.node.closest<HTMLElement>(".jp-Notebook")?.focus();
  }
}

/** Whether the kernel of a notebook holds the widget of an output. */
async function isLive(model: IRenderMime.IMimeModel, panel: NotebookPanel): Promise<boolean> {
  const view = model.data[WIDGET_VIEW] as { model_id?: string } | undefined;
  const kernel = panel.sessionContext.session?.kernel;
  if (!view?.model_id || !model.trusted || !kernel) return false;
  const { content } = await kernel.requestCommInfo({ target_name: "jupyter.widget" });
  return content.status === "ok" && view.model_id in content.comms;
}
