// The whole recording as one strip: a row per warp, a cell per step, coloured by what the instruction does.
import { el } from "../dom.js";
import type { RecordingJson } from "../record.gen.js";
import { clamp, goToStep, warps, type State } from "../state.js";
import type { Context, Lit, ViewPart } from "./view.js";

const ROW_PIXELS = 9;
const MAXIMUM_ROWS = 16;

/** What an instruction is for, by its mnemonic; the first pattern that matches. */
const CLASSES: [string, string, RegExp][] = [
  ["memory", "#0072b2", /^(@\S+ )?(ld|st|atom|red|cp|ldmatrix)\b/],
  ["wait", "#d55e00", /^(@\S+ )?(bar|barrier|membar|fence|cp\.async\.wait)/],
  ["exchange", "#cc79a7", /^(@\S+ )?(shfl|vote|match|redux|mma|wgmma)/],
  ["branch", "#e69f00", /^(@\S+ )?(bra|ret|exit|call)\b/],
  ["arithmetic", "#009e73", /./],
];

/** Make the strip; a click goes to the step under the pointer. */
export function timeline(context: Context, recording: RecordingJson): ViewPart {
  const pairs = warps(context.model).slice(0, MAXIMUM_ROWS);
  const height = pairs.length * ROW_PIXELS;
  const canvas = el("canvas", { class: "timeline", "aria-hidden": "true", height });
  const legend = el("div", { class: "legend" }, ...CLASSES.map(([name, color]) => {
    const swatch = el("i", {});
    swatch.style.background = color;
    return el("span", {}, swatch, name);
  }));
  const element = el("div", { class: "timeline-box" }, canvas, legend);
  const colors = recording.texts.map(text => CLASSES.find(([, , pattern]) => pattern.test(text))?.[1] ?? "#888");
  const rowOf = new Map(pairs.map(([cta, warp], i) => [`${cta} ${warp}`, i]));
  const count = recording.cta.length;
  canvas.addEventListener("click", event => {
    const share = event.offsetX / Math.max(1, canvas.clientWidth);
    context.set((m, s) => goToStep(m, s, clamp(Math.floor(share * count), 0, count - 1)));
  });
  let state: State | undefined;
  let lit: Lit | undefined;
  const draw = (): void => {
    if (state && lit) paint(canvas, recording, { state, lit, colors, rowOf, height });
  };
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
  rowOf: Map<string, number>;
  height: number;
}

function paint(canvas: HTMLCanvasElement, recording: RecordingJson, picture: Picture): void {
  const pen = canvas.getContext("2d");
  const width = canvas.clientWidth;
  if (!pen || !width) return;
  const ratio = globalThis.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = picture.height * ratio;
  pen.scale(ratio, ratio);
  const count = recording.cta.length;
  const cell = width / count;
  const related = picture.lit.kin.size > 0;
  for (let i = 0; i < count; i += 1) {
    const row = picture.rowOf.get(`${recording.cta[i]} ${recording.warp[i]}`);
    if (row === undefined) continue;
    pen.globalAlpha = related && !picture.lit.kin.has(recording.uid[i]) ? 0.3 : 1;
    pen.fillStyle = picture.colors[recording.text[i]];
    pen.fillRect(i * cell, row * ROW_PIXELS + 1, Math.max(cell - (cell > 3 ? 1 : 0), 0.5), ROW_PIXELS - 2);
  }
  pen.globalAlpha = 1;
  pen.strokeStyle = getComputedStyle(canvas).color;
  pen.lineWidth = 1.5;
  pen.strokeRect(picture.state.step * cell - 0.5, 0.75, Math.max(cell, 2), picture.height - 1.5);
}
