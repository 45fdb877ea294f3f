// A drawing laid out by Graphviz, rebuilt as inert shapes; its nodes select ops. Its twin is a table.
import { button, el, fill, visible } from "../dom.js";
import { inert, uidsOf } from "../svg.js";
import { clamp, selectUids, type State } from "../state.js";
import type { Context, Lit, ViewPart } from "./view.js";

/** Pixels per point of the layout: its 10 point letters are drawn like those of the listings. */
const LARGEST = 1.2;
const PADDING = 16;

/** Make the view of the record's drawings. */
export function graphView(context: Context): ViewPart {
  const { graphs } = context.model;
  const canvas = el("div", { class: "canvas" });
  const sentence = el("p", { class: "doc" });
  let zoom = 0;
  const scale = (factor: number): void => {
    zoom = factor ? clamp((zoom || fitting(canvas)) * factor, 0.25, 4) : 1;
    applyZoom(canvas, zoom);
  };
  const choice = el("div", { class: "segments", role: "group", "aria-label": "drawings" }, ...graphs.map((graph, i) => (
    button(visible(graph.title), graph.sentence, () => context.set((_, s) => ({ ...s, graph: i })), { "data-graph": i })
  )));
  const tools = el("div", { class: "segments" }, button("−", "smaller", () => scale(0.8)), button("+", "larger", () => scale(1.25)),
    button("1:1", "original size", () => scale(0)), button("table", "as a table (t)", () => context.set((_, s) => ({ ...s, table: !s.table }))));
  const element = el("div", { class: "graph-view" }, el("header", {}, choice, sentence, tools), canvas);
  let drawn = "";
  const update = (state: State, lit: Lit): void => {
    const graph = graphs[state.graph];
    if (!graph) return;
    if (drawn !== `${state.graph} ${state.table}`) {
      sentence.textContent = visible(graph.sentence);
      const svg = inert(graph.svg);
      fill(canvas, drawing(svg, graph.dot, state.table));
      if (svg) listen(context, svg);
      applyZoom(canvas, zoom);
      for (const part of choice.querySelectorAll<HTMLElement>("[data-graph]")) {
        part.classList.toggle("current", Number(part.dataset.graph) === state.graph);
      }
    }
    drawn = `${state.graph} ${state.table}`;
    light(canvas, lit);
  };
  return { element, update };
}

function drawing(svg: SVGSVGElement | null, dot: string, table: boolean): Node {
  if (!svg) return el("pre", { class: "dot" }, visible(dot));
  return table ? graphTable(svg) : svg;
}

/** Draw at `zoom`, or, where it is 0, as large as the width allows. */
function applyZoom(canvas: HTMLElement, zoom: number): void {
  const svg = canvas.querySelector("svg");
  const box = boxOf(svg);
  if (!svg || !box) return;
  const factor = LARGEST * (zoom || fitting(canvas));
  svg.setAttribute("width", String(box[2] * factor));
  svg.setAttribute("height", String(box[3] * factor));
}

function fitting(canvas: HTMLElement): number {
  const box = boxOf(canvas.querySelector("svg"));
  return box && canvas.clientWidth ? clamp((canvas.clientWidth - 2 * PADDING) / (box[2] * LARGEST), 0.5, 1) : 1;
}

function boxOf(svg: SVGSVGElement | null): number[] | undefined {
  return svg?.getAttribute("viewBox")?.split(/[ ,]+/).map(Number);
}

function listen(context: Context, svg: SVGSVGElement): void {
  for (const node of svg.querySelectorAll("g.node")) {
    const uids = uidsOf(node);
    if (!uids.length) continue;
    node.classList.add("linked");
    node.addEventListener("click", () => context.set((m, s) => selectUids(m, s, uids)));
    node.addEventListener("pointerenter", () => context.hover(uids));
    node.addEventListener("pointerleave", () => context.hover([]));
  }
}

function graphTable(svg: SVGSVGElement): HTMLElement {
  const label = (node: Element): string => [...node.querySelectorAll("text")].map(text => text.textContent ?? "").join(" ");
  const name = (node: Element): string => node.querySelector("title")?.textContent ?? "";
  const nodes = [...svg.querySelectorAll("g.node")];
  const labels = new Map(nodes.map(node => [name(node), label(node)]));
  const edges = [...svg.querySelectorAll("g.edge")].map(edge => name(edge).split("->").map(end => end.replace(/:.*$/, "")));
  const row = (node: Element): HTMLElement => el("tr", {}, el("td", {}, visible(label(node))), el("td", {}, visible(
    edges.filter(([from]) => from === name(node)).map(([, to]) => labels.get(to) ?? to).join(", "),
  )));
  return el("table", { class: "twin" }, el("tr", {}, el("th", {}, "node"), el("th", {}, "leads to")), ...nodes.map(row));
}

function light(canvas: HTMLElement, lit: Lit): void {
  for (const node of canvas.querySelectorAll("g.node")) {
    const uids = uidsOf(node);
    node.classList.toggle("kin", uids.some(uid => lit.kin.has(uid)));
    node.classList.toggle("hovered", uids.some(uid => lit.hovered.has(uid)));
  }
}
