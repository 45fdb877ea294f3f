// What the extension adds to JupyterLab: the renderer of records, the Inspector, and the mark of the magic's line.
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ICommandPalette } from "@jupyterlab/apputils";
import { EditorExtensionRegistry, IEditorExtensionRegistry } from "@jupyterlab/codemirror";
import { INotebookTracker } from "@jupyterlab/notebook";
import { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import { MIME, mount, type RecordJson } from "@tinyton-lab/shared";
import { magicLine } from "./cell";
import { InspectorPanel } from "./inspector";
import { RecordRenderer } from "./renderer";

const OPEN = "tinyton:inspector";
/** Before text/html (50), and before the renderer of live widgets (-10), to which ours hands over. */
const RANK = -20;

const records: JupyterFrontEndPlugin<void> = {
  id: "jupyterlab-tinyton:records",
  description: "Shows records of kernels in outputs and in the Inspector.",
  autoStart: true,
  requires: [IRenderMimeRegistry, INotebookTracker],
  optional: [ICommandPalette],
  activate: (
    app: JupyterFrontEnd, rendermime: IRenderMimeRegistry, tracker: INotebookTracker, palette: ICommandPalette | null,
  ) => {
    let panel: InspectorPanel | undefined;
    const open = (record?: RecordJson): void => {
      if (!panel || panel.isDisposed) panel = new InspectorPanel();
      if (!panel.isAttached) app.shell.add(panel, "main", { mode: "split-right" });
      if (record) panel.showRecord(record);
      app.shell.activateById(panel.id);
    };
    rendermime.addFactory({ safe: true, mimeTypes: [MIME], createRenderer: () => new RecordRenderer(open) }, RANK);
    tracker.widgetAdded.connect((_, notebook) => {
      const createRenderer = (): RecordRenderer => new RecordRenderer(open, notebook);
      notebook.content.rendermime.addFactory({ safe: true, mimeTypes: [MIME], createRenderer }, RANK);
    });
    app.commands.addCommand(OPEN, { label: "Open the Kernel Inspector", execute: () => open() });
    palette?.addItem({ command: OPEN, category: "tinyton" });
    (globalThis as unknown as Record<string, unknown>)["tinyton_lab viewer"] = Promise.resolve({ mount });
  },
};

const cells: JupyterFrontEndPlugin<void> = {
  id: "jupyterlab-tinyton:cells",
  description: "Marks the line of the %%ttkernel magic.",
  autoStart: true,
  requires: [IEditorExtensionRegistry],
  activate: (_app: JupyterFrontEnd, extensions: IEditorExtensionRegistry) => {
    extensions.addExtension(Object.freeze({
      name: "tinyton:ttkernel",
      factory: () => EditorExtensionRegistry.createImmutableExtension(magicLine),
    }));
  },
};

export default [records, cells];
