// Shows a record in a cell's output. The record may lie in the output's data or, when it is large, in its metadata.
import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import { MIME, mount, type RecordJson, type Viewer } from "@tinyton-lab/shared";
import { Widget } from "@lumino/widgets";

/** The whole record of an output, or undefined where only its fingerprint is there. */
export function recordOf(model: IRenderMime.IMimeModel): RecordJson | undefined {
  const candidates = [model.metadata[MIME], model.data[MIME]] as ({ record?: RecordJson } | RecordJson | undefined)[];
  for (const candidate of candidates) {
    const record = candidate && "record" in candidate ? candidate.record : candidate;
    if (record && "stages" in record) return record as RecordJson;
  }
  return undefined;
}

/** The widget of one output. */
export class RecordRenderer extends Widget implements IRenderMime.IRenderer {
  private viewer: Viewer | undefined;

  constructor(private readonly open: (record: RecordJson) => void) {
    super();
    this.addClass("tt-record");
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const record = recordOf(model);
    this.viewer?.dispose();
    const host = document.createElement("div");
    this.node.replaceChildren(host);
    if (!record) {
      host.textContent = String(model.data["text/plain"] ?? "This output holds no record.");
      return;
    }
    try {
      this.viewer = mount(host, record, { onOpen: () => this.open(record), onLeave: () => this.leave() });
    } catch (error) {
      host.textContent = `${String(error)}\n${String(model.data["text/plain"] ?? "")}`;
    }
  }

  dispose(): void {
    this.viewer?.dispose();
    super.dispose();
  }

  /** Give the focus back to the cell. */
  private leave(): void {
    const cell = this.node.closest<HTMLElement>(".jp-Cell");
    (document.activeElement as HTMLElement | null)?.blur();
    (cell?.closest<HTMLElement>(".jp-Notebook") ?? cell)?.focus();
  }
}
