// One stage as a list of lines: each a row that lights up with its kin. Long listings draw only what is in sight.
import { el, fill, visible } from "../dom.js";
import type { Model, Range, Stage } from "../model.js";
import { THREADS } from "../theme.js";
import { tokenize, type Token } from "../tokens.js";
import type { Context, Lit } from "./view.js";

const ROW_PIXELS = 20;
const DRAWN_AT_ONCE = 150;
const MARGIN_ROWS = 40;
const FATES: Record<string, [string, string]> = {
  kept: ["●", "reaches the machine"], fused: ["◐", "became part of another line's work"],
  folded: ["○", "computed while compiling"], dropped: ["✕", "not needed, dropped"], none: ["", ""],
};

export interface Listing {
  element: HTMLElement;
  /** Show a stage; `cursor` is its current line, `search` what to mark. */
  update: (stage: number, cursor: number, focused: boolean, search: string, lit: Lit) => void;
}

interface Options {
  label: string;
  pick: (line: number, uids: number[] | undefined) => void;
}

/** Make an empty listing. */
export function listing(context: Context, options: Options): Listing {
  const { model } = context;
  const rows = el("div", { class: "rows" });
  const element = el("div", { class: "listing", role: "listbox", "aria-label": options.label, tabindex: -1 }, rows);
  let shown = -1;
  let first = -1;
  let cursor = 0;
  let drawn: HTMLElement[] = [];
  let last: { focused: boolean; search: string; lit: Lit } | undefined;
  let awaited = false;

  const draw = (): void => {
    const stage = model.stages[shown];
    const all = stage.lines.length <= DRAWN_AT_ONCE;
    const from = all ? 0 : Math.max(0, Math.floor(element.scrollTop / ROW_PIXELS) - MARGIN_ROWS);
    if (from === first) return;
    first = from;
    const to = all ? stage.lines.length : Math.min(stage.lines.length, from + 3 * MARGIN_ROWS);
    drawn = stage.lines.slice(from, to).map((_, i) => row(context, stage, from + i));
    rows.style.height = `${stage.lines.length * ROW_PIXELS}px`;
    rows.style.paddingTop = `${from * ROW_PIXELS}px`;
    fill(rows, ...drawn);
  };
  const light = (): void => {
    if (!last) return;
    for (const node of drawn) lightRow(model, model.stages[shown], node, last.lit, last.search, cursor, last.focused);
  };
  // A listing that is not laid out yet has no height to scroll in: the line is shown as soon as it has.
  const show = (): void => {
    if (!awaited || !element.clientHeight) return;
    awaited = false;
    reveal(element, cursor);
  };
  new ResizeObserver(show).observe(element);
  element.addEventListener("scroll", () => {
    if (model.stages[shown].lines.length > DRAWN_AT_ONCE) {
      draw();
      light();
    }
  });
  element.addEventListener("click", event => {
    const node = (event.target as Element).closest<HTMLElement>(".row");
    if (node) options.pick(Number(node.dataset.line), pieceUids(event.target as Element));
  });
  element.addEventListener("pointerover", event => {
    const node = (event.target as Element).closest<HTMLElement>(".row");
    if (!node) return;
    context.hover(pieceUids(event.target as Element) ?? model.stages[shown].lines[Number(node.dataset.line)].uids);
  });
  element.addEventListener("pointerleave", () => context.hover([]));
  return {
    element,
    update: (stage, line, focused, search, lit) => {
      const changed = stage !== shown;
      if (changed) {
        shown = stage;
        first = -1;
        element.scrollTop = 0;
      }
      awaited ||= changed || line !== cursor;
      cursor = line;
      last = { focused, search, lit };
      draw();
      show();
      light();
      element.classList.toggle("focused", focused);
    },
  };
}

function row(context: Context, stage: Stage, index: number): HTMLElement {
  const { model } = context;
  const line = stage.lines[index];
  const source = stage.index === model.python ? index : line.uids.length ? sourceOf(model, line.uids) : -1;
  const fate = stage.index === model.python ? FATES[model.fate(index)] : undefined;
  const node = el(
    "div", { class: "row", role: "option", "data-line": index, "aria-selected": "false" },
    el("span", { class: "thread" }), el("span", { class: "gutter", "aria-hidden": "true" }, String(index + 1)),
    fate && el("span", { class: "fate", title: fate[1] }, fate[0]),
    el("span", { class: "code" }, ...pieces(model, stage, index)),
  );
  if (source >= 0 && line.uids.length) node.style.setProperty("--thread", THREADS[source % THREADS.length]);
  return node;
}

function sourceOf(model: Model, uids: number[]): number {
  return Math.max(...uids.map(uid => model.sourceLine(uid)));
}

/** The coloured pieces of a line; in the source, cut where ranges begin and end, so that each piece is one expression. */
function pieces(model: Model, stage: Stage, index: number): HTMLElement[] {
  const text = stage.lines[index].text;
  const tokens = tokenize(text, stage.language);
  if (stage.index !== model.python) return tokens.map(token => el("span", { class: token.kind }, visible(token.text)));
  const cuts = cutPoints(model.ranges, index, text.length);
  return cut(tokens, cuts).map(([token, column]) => {
    const uids = model.uidsAt(index, column).join(" ");
    return el("span", { class: token.kind, "data-uids": uids || undefined }, visible(token.text));
  });
}

function cutPoints(ranges: Range[], line: number, length: number): number[] {
  const points = new Set<number>();
  for (const range of ranges) {
    if (range.line === line) points.add(range.column);
    if (range.endLine === line) points.add(range.endColumn);
  }
  return [...points].filter(point => point > 0 && point < length).sort((a, b) => a - b);
}

function cut(tokens: Token[], points: number[]): [Token, number][] {
  const result: [Token, number][] = [];
  let column = 0;
  for (const token of tokens) {
    const inside = points.filter(point => point > column && point < column + token.text.length);
    const bounds = [column, ...inside, column + token.text.length];
    for (let i = 0; i + 1 < bounds.length; i += 1) {
      result.push([{ kind: token.kind, text: token.text.slice(bounds[i] - column, bounds[i + 1] - column) }, bounds[i]]);
    }
    column += token.text.length;
  }
  return result;
}

function pieceUids(target: Element): number[] | undefined {
  const uids = target instanceof HTMLElement ? target.dataset.uids : undefined;
  return uids ? uids.split(" ").map(Number) : undefined;
}

function lightRow(
  model: Model, stage: Stage, node: HTMLElement, lit: Lit, search: string, cursor: number, focused: boolean,
): void {
  const index = Number(node.dataset.line);
  const line = stage.lines[index];
  const has = (set: ReadonlySet<number>): boolean => line.uids.some(uid => set.has(uid));
  const isCursor = index === cursor && has(lit.selected);
  node.classList.toggle("selected", has(lit.selected) && stage.index !== model.python);
  node.classList.toggle("kin", has(lit.kin));
  node.classList.toggle("hovered", has(lit.hovered));
  node.classList.toggle("cursor", index === cursor && focused);
  node.classList.toggle("found", search !== "" && line.text.toLowerCase().includes(search.toLowerCase()));
  node.setAttribute("aria-selected", String(isCursor || has(lit.selected)));
  if (stage.index === model.python) lightPieces(node, lit);
}

function lightPieces(node: HTMLElement, lit: Lit): void {
  for (const piece of node.querySelectorAll<HTMLElement>("[data-uids]")) {
    const uids = (piece.dataset.uids ?? "").split(" ").map(Number);
    piece.classList.toggle("exact", uids.some(uid => lit.kin.has(uid)));
    piece.classList.toggle("near", uids.some(uid => lit.hovered.has(uid)));
  }
}

/** Scroll a line into sight: by a line where it is near, else to a third of the height. */
function reveal(element: HTMLElement, line: number): void {
  const top = line * ROW_PIXELS;
  const margin = 2 * ROW_PIXELS;
  const low = element.scrollTop + margin;
  const high = element.scrollTop + element.clientHeight - ROW_PIXELS - margin;
  if (top >= low && top <= high) return;
  const near = top > low - 2 * margin && top < high + 2 * margin;
  const to = !near ? top - element.clientHeight / 3 : top < low ? top - margin : top + ROW_PIXELS + margin - element.clientHeight;
  element.scrollTo({ top: Math.max(0, to) });
}
