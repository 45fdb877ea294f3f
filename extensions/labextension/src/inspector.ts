// The side panel that shows one record at full height.
import { mount, type RecordJson, type Viewer } from "@tinyton-lab/shared";
import { LabIcon } from "@jupyterlab/ui-components";
import { Widget } from "@lumino/widgets";

const ICON = new LabIcon({
  name: "tinyton:inspector",
  svgstr: '<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24"><g class="jp-icon3" fill="#616161">'
    + '<path d="M3 4h18v3H3zm0 6.500h12v3H3zM3 17h7v3H3z"/><circle cx="18" cy="16" r="3"/></g></svg>',
});

/** The Inspector of JupyterLab. */
export class InspectorPanel extends Widget {
  private viewer: Viewer | undefined;

  constructor() {
    super();
    this.id = "tinyton-inspector";
    this.title.icon = ICON;
    this.title.caption = "Kernel Inspector";
    this.title.closable = true;
    this.addClass("tt-inspector");
    const empty = document.createElement("p");
    empty.className = "tt-inspector-empty";
    empty.textContent = "Run a %%ttkernel cell, then press o in its card to see all its stages here.";
    this.node.append(empty);
  }

  /** Show a record in place of the one before. */
  showRecord(record: RecordJson): void {
    this.viewer?.dispose();
    const host = document.createElement("div");
    host.className = "tt-inspector-host";
    this.node.replaceChildren(host);
    this.title.caption = `Kernel Inspector: ${record.kernel.name}`;
    this.viewer = mount(host, record, { fills: true });
  }
}
