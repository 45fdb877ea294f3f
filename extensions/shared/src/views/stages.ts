// Two stages beside each other, linked by the selection.
import { el, fill } from "../dom.js";
import { selectLine, selectUids, setPane, type Side, type State } from "../state.js";
import { listing } from "./listing.js";
import type { Context, Lit, ViewPart } from "./view.js";

/** Make the view of two linked listings. */
export function stagesView(context: Context): ViewPart {
  const panes = (["left", "right"] as const).map(side => pane(context, side));
  const element = el("div", { class: "panes" }, ...panes.map(part => part.element));
  return { element, update: (state, lit) => panes.forEach(part => part.update(state, lit)) };
}

function pane(context: Context, side: Side): ViewPart {
  const { model } = context;
  const code = listing(context, {
    label: `${side} listing`,
    pick: (line, uids) => context.set((m, s) => {
      const next = selectLine(m, s, side, line);
      return uids ? selectUids(m, next, uids) : next;
    }),
  });
  const choice = el("select", {
    "aria-label": `stage of the ${side} pane`,
    onchange: () => context.set((m, s) => setPane(m, s, side, Number(choice.value))),
  });
  fill(choice, ...model.stages.map(stage => el("option", { value: stage.index }, optionText(context, stage.index))));
  const doc = el("span", { class: "doc" });
  const element = el("section", { class: "pane" }, el("header", {}, choice, doc), code.element);
  const update = (state: State, lit: Lit): void => {
    const stage = model.stages[state[side]];
    if (!stage) return;
    choice.value = String(stage.index);
    doc.textContent = stage.doc;
    doc.title = stage.doc;
    code.element.setAttribute("aria-label", `${stage.title}${stage.pass ? ` ${stage.pass}` : ""}`);
    code.update(stage.index, state.cursor[side], state.focus === side, state.search, lit);
  };
  return { element, update };
}

function optionText(context: Context, index: number): string {
  const stage = context.model.stages[index];
  if (stage.pass) return `\u2003${stage.pass}${stage.changed ? "" : " (no change)"}`;
  return stage.title;
}
