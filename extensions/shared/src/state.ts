// What the viewer shows, as one frozen value, and every way to change it. Pure functions; no DOM.
import type { Model } from "./model.js";

export type View = "stages" | "passes" | "graph" | "trace";
export type Side = "left" | "right";

export interface State {
  readonly view: View;
  readonly left: number;
  readonly right: number;
  readonly focus: Side;
  readonly cursor: { readonly left: number; readonly right: number };
  /** The selected ops; empty: nothing is selected. */
  readonly selected: readonly number[];
  readonly pinned: boolean;
  readonly pass: number;
  readonly inline: boolean;
  readonly graph: number;
  readonly table: boolean;
  readonly step: number;
  /** Index of the (cta, warp) pair that is followed, -1 for all. */
  readonly warp: number;
  readonly why: boolean;
  readonly help: boolean;
  readonly search: string;
}

/** The first picture: the source beside the last stage. */
export function initial(model: Model): State {
  const last = Math.max(0, model.end());
  return {
    view: "stages", left: model.python, right: last, focus: "left", cursor: { left: 0, right: 0 }, selected: [],
    pinned: false, pass: changedPasses(model)[0] ?? -1, inline: false, graph: 0, table: false, step: 0, warp: -1,
    why: false, help: false, search: "",
  };
}

/** The views that this record has something for. */
export function views(model: Model): View[] {
  const all: [View, boolean][] = [
    ["stages", true], ["passes", passStages(model).length > 0], ["graph", model.graphs.length > 0],
    ["trace", (model.recording?.cta.length ?? 0) > 0],
  ];
  return all.filter(([, there]) => there).map(([view]) => view);
}

/** Stages that are passes, in order. */
export function passStages(model: Model): number[] {
  return model.stages.filter(stage => stage.pass).map(stage => stage.index);
}

/** Passes that changed something or declined to. */
export function changedPasses(model: Model): number[] {
  return passStages(model).filter(i => model.stages[i].changed || model.stages[i].misses.length > 0);
}

/** The ops that light up. */
export function kin(model: Model, state: State): Set<number> {
  return model.provenance.kin(state.selected);
}

export function showStage(model: Model, state: State, stage: number): State {
  const side: Side = stage === state.left ? "left" : "right";
  const uids = kin(model, state);
  const line = Math.max(0, model.firstLine(stage, uids));
  return { ...state, view: "stages", [side]: stage, focus: side, cursor: { ...state.cursor, [side]: line } };
}

/** Show the n-th family (from 0); unknown numbers change nothing. */
export function showFamily(model: Model, state: State, index: number): State {
  const family = model.families[index];
  return family ? showStage(model, state, model.last(family)) : state;
}

/** Put a stage into a pane. */
export function setPane(model: Model, state: State, side: Side, stage: number): State {
  const line = Math.max(0, model.firstLine(stage, kin(model, state)));
  return { ...state, [side]: stage, cursor: { ...state.cursor, [side]: line } };
}

/** Move the cursor of the focused pane and select what is there. */
export function moveCursor(model: Model, state: State, by: number): State {
  const stage = model.stages[state[state.focus]];
  const line = clamp(state.cursor[state.focus] + by, 0, stage.lines.length - 1);
  return selectLine(model, state, state.focus, line);
}

/** Select the ops of one line; the other pane's cursor follows the thread. */
export function selectLine(model: Model, state: State, side: Side, line: number): State {
  return selectUids(model, { ...state, focus: side, cursor: { ...state.cursor, [side]: line } },
    model.stages[state[side]].lines[line]?.uids ?? []);
}

/** Select ops; the pane without focus follows the thread. */
export function selectUids(model: Model, state: State, uids: readonly number[]): State {
  const next = { ...state, selected: uids };
  const other: Side = state.focus === "left" ? "right" : "left";
  const line = model.firstLine(state[other], kin(model, next));
  return line < 0 ? next : { ...next, cursor: { ...next.cursor, [other]: line } };
}

/** Go to the previous or next stage that the selected thread passes through; without a selection, to any stage. */
export function followThread(model: Model, state: State, by: number): State {
  const uids = kin(model, state);
  const here = model.families.findIndex(family => family.stages.includes(state[state.focus]));
  for (let i = here + by; i >= 0 && i < model.families.length; i += by) {
    const stage = model.last(model.families[i]);
    if (!uids.size || model.firstLine(stage, uids) >= 0) return showStage(model, state, stage);
  }
  return state;
}

/** Go to the previous or next pass that changed something. */
export function movePass(model: Model, state: State, by: number): State {
  const stops = changedPasses(model);
  if (!stops.length) return state;
  if (state.view !== "passes") return { ...state, view: "passes" };
  const next = by > 0 ? stops.find(i => i > state.pass) : [...stops].reverse().find(i => i < state.pass);
  return next === undefined ? state : { ...state, pass: next };
}

/** The steps of the followed warp, or all. */
export function stepsShown(model: Model, state: State): number[] {
  const recording = model.recording;
  if (!recording) return [];
  const pair = warps(model)[state.warp];
  const all = recording.cta.map((_, i) => i);
  return pair ? all.filter(i => recording.cta[i] === pair[0] && recording.warp[i] === pair[1]) : all;
}

/** The (cta index, warp) pairs of the recording in order of appearance. */
export function warps(model: Model): [number, number][] {
  const pairs = new Map<string, [number, number]>();
  model.recording?.cta.forEach((cta, i) => {
    const warp = model.recording?.warp[i] ?? 0;
    pairs.set(`${cta} ${warp}`, [cta, warp]);
  });
  return [...pairs.values()];
}

/** Go to a step and select the op behind it. */
export function goToStep(model: Model, state: State, step: number): State {
  const recording = model.recording;
  if (!recording) return state;
  const at = clamp(step, 0, recording.cta.length - 1);
  return { ...state, view: "trace", step: at, selected: recording.uid[at] ? [recording.uid[at]] : [] };
}

/** Go `by` steps on, among those of the followed warp. */
export function moveStep(model: Model, state: State, by: number): State {
  const shown = stepsShown(model, state);
  if (!shown.length) return state;
  const here = shown.findIndex(i => i >= state.step);
  const place = here < 0 ? shown.length - 1 : shown[here] === state.step || by < 0 ? here : here - 1;
  return goToStep(model, state, shown[clamp(place + by, 0, shown.length - 1)]);
}

/** Go to the previous or next step of the selected op. */
export function moveEvent(model: Model, state: State, by: number): State {
  const recording = model.recording;
  if (!recording) return state;
  const uids = kin(model, state);
  const shown = stepsShown(model, state).filter(i => !uids.size || uids.has(recording.uid[i]));
  const next = by > 0 ? shown.find(i => i > state.step) : shown.reverse().find(i => i < state.step);
  return next === undefined ? { ...state, view: "trace" } : goToStep(model, state, next);
}

/** Follow the previous or next warp. */
export function moveWarp(model: Model, state: State, by: number): State {
  const count = warps(model).length;
  if (!count) return state;
  const warp = (state.warp + 1 + by + count + 1) % (count + 1) - 1;
  return followWarp(model, { ...state, view: "trace" }, warp);
}

/** The CTA (its index) that the current step belongs to. */
export function currentCta(model: Model, state: State): number {
  return model.recording?.cta[state.step] ?? 0;
}

/** Go to the first step of a CTA; if a warp is followed, follow that one's first warp. */
export function goToCta(model: Model, state: State, cta: number): State {
  const step = model.recording?.cta.indexOf(cta) ?? -1;
  if (step < 0) return state;
  const warp = state.warp < 0 ? -1 : warps(model).findIndex(([at]) => at === cta);
  return goToStep(model, { ...state, warp }, step);
}

/** Follow one warp; the step moves to the nearest one of it. */
export function followWarp(model: Model, state: State, warp: number): State {
  const next = { ...state, warp };
  const shown = stepsShown(model, next);
  if (!shown.length || shown.includes(state.step)) return next;
  return goToStep(model, next, shown.find(i => i >= state.step) ?? shown[shown.length - 1]);
}

/** The last step before the current one, of the same warp, that wrote a register which the current one names. */
export function lastWriter(model: Model, state: State): State {
  const recording = model.recording;
  if (!recording) return state;
  const text = recording.texts[recording.text[state.step]];
  const written = new Set(recording.writes[state.step].map(([register]) => register));
  const read = recording.registers.map((name, i) => [name, i] as const)
    .filter(([name, i]) => !written.has(i) && mentions(text, name)).map(([, i]) => i);
  for (let i = state.step - 1; i >= 0; i -= 1) {
    const same = recording.cta[i] === recording.cta[state.step] && recording.warp[i] === recording.warp[state.step];
    if (same && recording.writes[i].some(([register]) => read.includes(register))) return goToStep(model, state, i);
  }
  return state;
}

/** The next place after the cursor, through all stages, whose text holds `search`. */
export function find(model: Model, state: State, search: string): State {
  const needle = search.toLowerCase();
  const next = { ...state, search };
  if (!needle) return next;
  const start = state[state.focus];
  for (let k = 0; k <= model.stages.length; k += 1) {
    const stage = (start + k) % model.stages.length;
    const from = k === 0 ? state.cursor[state.focus] + 1 : 0;
    const line = model.stages[stage].lines.findIndex((l, i) => i >= from && l.text.toLowerCase().includes(needle));
    if (line >= 0) {
      const shown = showStage(model, next, stage);
      return selectLine(model, shown, shown.focus, line);
    }
  }
  return next;
}

/** Whether a text names a register as a whole word. */
export function mentions(text: string, name: string): boolean {
  const at = text.indexOf(name);
  return at >= 0 && !/[\w.]/.test(text[at + name.length] ?? "");
}

export function clamp(value: number, low: number, high: number): number {
  return Math.max(low, Math.min(high, value));
}
