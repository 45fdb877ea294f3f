// One CTA's part of the recording as a strip: a row per warp, its steps from left to right, coloured by what they do.
import { el } from "../dom.js";
import type { RecordingJson } from "../record.gen.js";
import { clamp, currentCta, goToStep, type State } from "../state.js";
import type { Context, Lit, ViewPart } from "./view.js";

const ROW_PIXELS = 9;
const MAXIMUM_ROWS = 16;

/** What an instruction is for, by its mnemonic; the first pattern that matches. */
const CLASSES: [string, string, RegExp][] = [
  ["memory", "#0072b2", /^(@\S+\s+)?(ld|st|atom|red|cp|ldmatrix)\b/],
  ["wait", "#d55e00", /^(@\S+\s+)?(bar|barrier|membar|fence|cp\.async\.wait)/],
  ["exchange", "#cc79a7", /^(@\S+\s+)?(shfl|vote|match|redux|mma|wgmma)/],
  ["branch", "#e69f00", /^(@\S+\s+)?(bra|ret|exit|call)\b/],
  ["arithmetic", "#009e73", /./],
];

/** Make the strip; a click goes to the step under the pointer. */
export function timeline(context: Context, recording: RecordingJson): ViewPart {
  const canvas = el("canvas", { class: "timeline", "aria-hidden": "true" });
  const legend = el("div", { class: "legend" }, ...CLASSES.map(([name, color]) => {
    const swatch = el("i", {});
    swatch.style.background = color;
    return el("span", {}, swatch, name);
  }));
  const element = el("div", { class: "timeline-box" }, canvas, legend);
  const colors = recording.texts.map(text => CLASSES.find(([, , pattern]) => pattern.test(text))?.[1] ?? "#888");
  const tables = new Map<number, number[][]>();
  const rowsOf = (cta: number): number[][] => {
    const rows = tables.get(cta) ?? stepsByWarp(recording, cta);
    tables.set(cta, rows);
    return rows;
  };
  let state: State | undefined;
  let lit: Lit | undefined;
  const draw = (): void => {
    if (state && lit) paint(canvas, recording, { state, lit, colors, rows: rowsOf(currentCta(context.model, state)) });
  };
  canvas.addEventListener("click", event => context.set((m, s) => {
    const rows = rowsOf(currentCta(m, s));
    const row = rows[clamp(Math.floor(event.offsetY / ROW_PIXELS), 0, rows.length - 1)];
    const place = Math.floor((event.offsetX / Math.max(1, canvas.clientWidth)) * longest(rows));
    return goToStep(m, s, row[clamp(place, 0, row.length - 1)]);
  }));
  new ResizeObserver(draw).observe(canvas);
  return {
    element,
    update: (next, nextLit) => {
      state = next;
      lit = nextLit;
      draw();
    },
  };
}

interface Picture {
  state: State;
  lit: Lit;
  colors: string[];
  rows: number[][];
}

/** The steps of each warp of a CTA, by warp number. */
function stepsByWarp(recording: RecordingJson, cta: number): number[][] {
  const rows = new Map<number, number[]>();
  recording.cta.forEach((at, i) => {
    if (at !== cta) return;
    const row = rows.get(recording.warp[i]);
    if (row) row.push(i);
    else rows.set(recording.warp[i], [i]);
  });
  return [...rows.entries()].sort(([a], [b]) => a - b).slice(0, MAXIMUM_ROWS).map(([, steps]) => steps);
}

function longest(rows: number[][]): number {
  return Math.max(1, ...rows.map(row => row.length));
}

function paint(canvas: HTMLCanvasElement, recording: RecordingJson, { state, lit, colors, rows }: Picture): void {
  const pen = canvas.getContext("2d");
  const width = canvas.clientWidth;
  if (!pen || !width) return;
  const height = rows.length * ROW_PIXELS;
  const ratio = globalThis.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = `${height}px`;
  pen.scale(ratio, ratio);
  const cell = width / longest(rows);
  const gap = cell > 3 ? 1 : 0;
  rows.forEach((row, y) => row.forEach((step, x) => {
    pen.globalAlpha = lit.kin.size > 0 && !lit.kin.has(recording.uid[step]) ? 0.3 : 1;
    pen.fillStyle = colors[recording.text[step]];
    pen.fillRect(x * cell, y * ROW_PIXELS + 1, Math.max(cell - gap, 0.5), ROW_PIXELS - 2);
    if (step !== state.step) return;
    pen.globalAlpha = 1;
    pen.strokeStyle = getComputedStyle(canvas).color;
    pen.lineWidth = 1.5;
    pen.strokeRect(x * cell - 1, y * ROW_PIXELS + 0.5, Math.max(cell, 2) + 1, ROW_PIXELS - 1);
  }));
}
