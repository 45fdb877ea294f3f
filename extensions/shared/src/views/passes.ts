// The passes of the compiler: which changed something, what it changed, and what it declined and why.
import { align, summary, type DiffRow } from "../diff.js";
import { el, fill, visible } from "../dom.js";
import type { Stage } from "../model.js";
import { passStages, selectUids, type State } from "../state.js";
import { tokenize } from "../tokens.js";
import { missCard } from "./why.js";
import type { Context, Lit, ViewPart } from "./view.js";

const SIGNS: Record<string, string> = { same: " ", changed: "~", moved: "↕", gone: "−", new: "+" };
const CONTEXT_ROWS = 3;

/** Make the view of the passes. */
export function passesView(context: Context): ViewPart {
  const list = el("nav", { class: "passes", "aria-label": "passes" });
  const body = el("div", { class: "diff-body" });
  const element = el("div", { class: "with-list" }, list, body);
  const diffs = new Map<number, DiffRow[]>();
  const rowsOf = (pass: number): DiffRow[] => {
    const known = diffs.get(pass) ?? compare(context, pass);
    diffs.set(pass, known);
    return known;
  };
  fill(list, ...passList(context, rowsOf));
  let drawn = "";
  const update = (state: State, lit: Lit): void => {
    for (const item of list.querySelectorAll<HTMLElement>("[data-pass]")) {
      const current = Number(item.dataset.pass) === state.pass;
      item.classList.toggle("current", current);
      item.setAttribute("aria-current", String(current));
    }
    const pass = state.pass < 0 ? passStages(context.model)[0] : state.pass;
    if (pass === undefined) return;
    if (drawn !== `${pass} ${state.inline}`) fill(body, ...passBody(context, pass, rowsOf(pass), state.inline));
    drawn = `${pass} ${state.inline}`;
    light(body, lit);
  };
  return { element, update };
}

function compare(context: Context, pass: number): DiffRow[] {
  const { stages, provenance } = context.model;
  return align(stages[pass - 1].lines, stages[pass].lines, provenance);
}

function passList(context: Context, rowsOf: (pass: number) => DiffRow[]): HTMLElement[] {
  const { model } = context;
  return model.families.filter(family => family.stages.some(i => model.stages[i].pass)).flatMap(family => [
    el("h4", {}, family.title),
    ...family.stages.filter(i => model.stages[i].pass).map(i => passItem(context, model.stages[i], rowsOf(i))),
  ]);
}

function passItem(context: Context, stage: Stage, rows: DiffRow[]): HTMLElement {
  const { added, removed, changed } = summary(rows);
  const counts = [added && `+${added}`, removed && `−${removed}`, changed && `~${changed}`].filter(Boolean).join(" ");
  const glyph = stage.misses.length ? "▲" : stage.changed ? "●" : "○";
  const meaning = stage.misses.length ? "declined something" : stage.changed ? "changed" : "no change";
  return el(
    "button",
    {
      type: "button", class: `pass${stage.changed ? "" : " idle"}`, "data-pass": stage.index, title: `${meaning}. ${stage.doc}`,
      onclick: () => context.set((_, s) => ({ ...s, pass: stage.index })),
    },
    el("span", { class: stage.misses.length ? "glyph warn" : "glyph" }, glyph),
    el("span", { class: "pass-name" }, visible(stage.pass)), el("span", { class: "counts" }, counts),
  );
}

function passBody(context: Context, pass: number, rows: DiffRow[], inline: boolean): HTMLElement[] {
  const stage = context.model.stages[pass];
  const before = context.model.stages[pass - 1];
  const head = el(
    "header", {}, el("strong", {}, visible(stage.pass)), el("span", { class: "doc" }, stage.doc),
    el("button", {
      type: "button", class: "plain", title: "side by side or inline (d)",
      onclick: () => context.set((_, s) => ({ ...s, inline: !s.inline })),
    }, inline ? "side by side" : "inline"),
  );
  const same = rows.every(row => row.kind === "same");
  const content = same
    ? el("p", { class: "empty" }, "This pass left every line as it was.")
    : diffTable(context, before, stage, folded(rows), inline);
  return [head, ...stage.misses.map(miss => missCard(context, miss)), content];
}

/** Rows near a change, and in place of the others how many there are. */
function folded(rows: DiffRow[]): (DiffRow | number)[] {
  const near = rows.map((_, i) => rows.slice(Math.max(0, i - CONTEXT_ROWS), i + CONTEXT_ROWS + 1).some(r => r.kind !== "same"));
  const result: (DiffRow | number)[] = [];
  rows.forEach((row, i) => {
    const last = result[result.length - 1];
    if (near[i]) result.push(row);
    else if (typeof last === "number") result[result.length - 1] = last + 1;
    else result.push(1);
  });
  return result;
}

function diffTable(
  context: Context, before: Stage, after: Stage, rows: (DiffRow | number)[], inline: boolean,
): HTMLElement {
  const table = el("div", { class: inline ? "diff inline" : "diff", role: "table", "aria-label": "before and after" });
  if (!inline) table.append(el("div", { class: "diff-row head", role: "row" }, el("span", {}, "before"), el("span", {}, "after")));
  for (const row of rows) {
    if (typeof row === "number") table.append(el("div", { class: "skipped" }, `${row} equal line${row === 1 ? "" : "s"}`));
    else table.append(...diffRow(context, before, after, row, inline));
  }
  return table;
}

function diffRow(context: Context, before: Stage, after: Stage, row: DiffRow, inline: boolean): HTMLElement[] {
  const old = row.before < 0 ? undefined : cell(context, before, row.before, row.kind === "same" ? " " : SIGNS.gone);
  const sign = row.kind === "changed" ? SIGNS.new : SIGNS[row.kind];
  const fresh = row.after < 0 ? undefined : cell(context, after, row.after, sign);
  if (!inline) {
    return [el("div", { class: `diff-row ${row.kind}`, role: "row" }, old ?? el("span", { class: "void" }), fresh ?? el("span", { class: "void" }))];
  }
  if (row.kind === "same") return fresh ? [el("div", { class: "diff-row same", role: "row" }, fresh)] : [];
  return [old && el("div", { class: "diff-row gone", role: "row" }, old), fresh && el("div", { class: "diff-row new", role: "row" }, fresh)]
    .filter((node): node is HTMLDivElement => Boolean(node));
}

function cell(context: Context, stage: Stage, index: number, sign: string): HTMLElement {
  const line = stage.lines[index];
  return el(
    "span",
    {
      class: "diff-line", role: "cell", "data-uids": line.uids.join(" "),
      onclick: () => context.set((m, s) => selectUids(m, s, line.uids)), onpointerenter: () => context.hover(line.uids),
      onpointerleave: () => context.hover([]),
    },
    el("span", { class: "sign" }, sign),
    ...tokenize(line.text, stage.language).map(token => el("span", { class: token.kind }, visible(token.text))),
  );
}

function light(body: HTMLElement, lit: Lit): void {
  for (const node of body.querySelectorAll<HTMLElement>(".diff-line")) {
    const uids = (node.dataset.uids ?? "").split(" ").map(Number);
    node.classList.toggle("kin", uids.some(uid => lit.kin.has(uid)));
    node.classList.toggle("hovered", uids.some(uid => lit.hovered.has(uid)));
  }
}
