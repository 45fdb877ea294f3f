// Marks the line of the cell magic; the rest of the cell is Python and is coloured as such by JupyterLab.
import type { Extension } from "@codemirror/state";
import { RangeSetBuilder } from "@codemirror/state";
import { Decoration, EditorView, ViewPlugin, type DecorationSet, type ViewUpdate } from "@codemirror/view";

const MAGIC = /^%%ttkernel\b/;

function decorate(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const line = view.state.doc.line(1);
  if (MAGIC.test(line.text)) builder.add(line.from, line.from, Decoration.line({ class: "cm-ttkernel" }));
  return builder.finish();
}

/** The editor extension. */
export const magicLine: Extension = ViewPlugin.fromClass(class {
  decorations: DecorationSet;

  constructor(view: EditorView) {
    this.decorations = decorate(view);
  }

  update(update: ViewUpdate): void {
    if (update.docChanged) this.decorations = decorate(update.view);
  }
}, { decorations: plugin => plugin.decorations });
