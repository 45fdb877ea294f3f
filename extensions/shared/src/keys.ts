// Table of the keys: what each does, in words and as a change of state. Knows no DOM.
import type { Model } from "./model.js";
import * as change from "./state.js";
import type { State } from "./state.js";

export interface Key {
  keys: string[];
  shown: string;
  does: string;
  apply: (model: Model, state: State, key: string) => State;
}

const view = (name: change.View) => (model: Model, state: State): State => (
  change.views(model).includes(name) ? { ...state, view: name } : state
);

export const KEYS: Key[] = [
  { keys: ["j", "ArrowDown"], shown: "j ↓", does: "next line", apply: (m, s) => change.moveCursor(m, s, 1) },
  { keys: ["k", "ArrowUp"], shown: "k ↑", does: "previous line", apply: (m, s) => change.moveCursor(m, s, -1) },
  { keys: ["l", "ArrowRight"], shown: "l →", does: "next stage of this thread", apply: (m, s) => change.followThread(m, s, 1) },
  { keys: ["h", "ArrowLeft"], shown: "h ←", does: "previous stage of this thread", apply: (m, s) => change.followThread(m, s, -1) },
  { keys: [..."123456789"], shown: "1 … 9", does: "show that stage", apply: (m, s, key) => change.showFamily(m, s, Number(key) - 1) },
  { keys: ["Enter"], shown: "Enter", does: "pin the selection", apply: (_, s) => ({ ...s, pinned: s.selected.length > 0 }) },
  { keys: ["x"], shown: "x", does: "clear the selection", apply: (_, s) => ({ ...s, selected: [], pinned: false, search: "" }) },
  { keys: ["g"], shown: "g", does: "go to the source line", apply: (m, s) => change.showStage(m, s, m.python) },
  { keys: ["n"], shown: "n", does: "next pass that changed something", apply: (m, s) => change.movePass(m, s, 1) },
  { keys: ["p"], shown: "p", does: "previous such pass", apply: (m, s) => change.movePass(m, s, -1) },
  { keys: ["d"], shown: "d", does: "before and after; again: side by side or inline", apply: (m, s) => (
    s.view === "passes" ? { ...s, inline: !s.inline } : view("passes")(m, s)
  ) },
  { keys: ["w"], shown: "w", does: "why not: what was not done, and the facts behind", apply: (_, s) => ({ ...s, why: !s.why }) },
  { keys: ["."], shown: ".", does: "next step", apply: (m, s) => change.moveStep(m, s, 1) },
  { keys: [","], shown: ",", does: "previous step", apply: (m, s) => change.moveStep(m, s, -1) },
  { keys: ["PageDown"], shown: "PgDn", does: "ten steps on", apply: (m, s) => change.moveStep(m, s, 10) },
  { keys: ["PageUp"], shown: "PgUp", does: "ten steps back", apply: (m, s) => change.moveStep(m, s, -10) },
  { keys: [">"], shown: ">", does: "next step of this op", apply: (m, s) => change.moveEvent(m, s, 1) },
  { keys: ["<"], shown: "<", does: "previous step of this op", apply: (m, s) => change.moveEvent(m, s, -1) },
  { keys: ["]"], shown: "]", does: "next warp", apply: (m, s) => change.moveWarp(m, s, 1) },
  { keys: ["["], shown: "[", does: "previous warp", apply: (m, s) => change.moveWarp(m, s, -1) },
  { keys: ["b"], shown: "b", does: "back to the last writer", apply: (m, s) => change.lastWriter(m, s) },
  { keys: ["t"], shown: "t", does: "the picture as a table", apply: (_, s) => ({ ...s, table: !s.table }) },
  { keys: ["?"], shown: "?", does: "this list", apply: (_, s) => ({ ...s, help: !s.help }) },
];

/** Keys that the host of the view answers: search, copy, open the Inspector, leave. */
export const HOST_KEYS: [string, string][] = [
  ["/", "search all stages"], ["c", "copy the stage as text"], ["o", "open the Inspector"], ["Esc", "back to the notebook"],
];

/** The state after a key, or undefined where the key means nothing. */
export function press(model: Model, state: State, key: string): State | undefined {
  return KEYS.find(row => row.keys.includes(key))?.apply(model, state, key);
}
