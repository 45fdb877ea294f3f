// A recorded execution, step by step: where each warp is, what its lanes hold, what it reads and writes, what it waits for.
import { button, el, fill, visible } from "../dom.js";
import { asFloat32, countLanes, describeAccess, hexadecimal, lanesOf, readLanes, relative, show, writesFloatBits } from "../lanes.js";
import type { Model } from "../model.js";
import type { AccessJson, RecordingJson, Value } from "../record.gen.js";
import { currentCta, followWarp, goToCta, goToStep, moveStep, warps, type State } from "../state.js";
import { listing } from "./listing.js";
import { timeline } from "./timeline.js";
import type { Context, Lit, ViewPart } from "./view.js";

const MAXIMUM_CHIPS = 12;

/** Make the view of the recording. */
export function traceView(context: Context): ViewPart {
  const recording = context.model.recording as RecordingJson;
  const controls = controlBar(context, recording);
  const strip = timeline(context, recording);
  const ptx = context.model.stages.find(stage => stage.name === "ptx");
  const code = ptx && listing(context, {
    label: "PTX",
    pick: line => context.set((m, s) => {
      const at = firstStepAt(recording, line + 1, s.step);
      return at < 0 ? s : goToStep(m, s, at);
    }),
  });
  const detail = el("div", { class: "step-detail" });
  const element = el("div", { class: "trace" }, controls.element, strip.element,
    el("div", { class: "panes" }, code ? el("section", { class: "pane" }, code.element) : null, detail));
  const update = (state: State, lit: Lit): void => {
    controls.update(state, lit);
    strip.update(state, lit);
    if (code && ptx) code.update(ptx.index, recording.line[state.step] - 1, true, state.search, lit);
    fill(detail, ...stepDetail(context.model, recording, state));
  };
  return { element, update };
}

function controlBar(context: Context, recording: RecordingJson): ViewPart {
  const last = recording.cta.length - 1;
  const slider = el("input", {
    type: "range", min: 0, max: last, step: 1, "aria-label": "step", class: "slider",
    oninput: () => context.set((m, s) => goToStep(m, s, Number(slider.value))),
  });
  const place = el("output", { class: "place" });
  const ctas = el("select", { "aria-label": "CTA", onchange: () => context.set((m, s) => goToCta(m, s, Number(ctas.value))) },
    ...recording.ctas.map((cta, i) => el("option", { value: i }, `CTA ${cta.join(", ")}`)));
  const pairs = warps(context.model);
  const segments = el("div", { class: "segments", role: "group", "aria-label": "warp" });
  let chipsOf = -1;
  const chips = (cta: number): void => {
    if (cta === chipsOf) return;
    chipsOf = cta;
    const own = pairs.map(([at, warp], i) => ({ at, warp, i })).filter(({ at }) => at === cta).slice(0, MAXIMUM_CHIPS);
    const follow = (i: number) => (): void => context.set((m, s) => followWarp(m, s, i));
    fill(segments, button("all", "all warps in order", follow(-1), { "data-warp": -1 }),
      ...own.map(({ warp, i }) => button(`w${warp}`, `follow warp ${warp}`, follow(i), { "data-warp": i })));
  };
  const step = (text: string, title: string, by: number): HTMLElement => (
    button(text, title, () => context.set((m, s) => moveStep(m, s, by)), { class: "step" })
  );
  const element = el("header", { class: "controls" }, step("◀", "one step back (,)", -1), slider,
    step("▶", "one step on (.)", 1), place, recording.ctas.length > 1 ? ctas : null, segments);
  const update = (state: State): void => {
    slider.value = String(state.step);
    const more = recording.total > last + 1 ? ` (the first ${last + 1} of ${recording.total})` : "";
    place.textContent = `step ${state.step + 1} of ${last + 1}${more}`;
    chips(currentCta(context.model, state));
    ctas.value = String(currentCta(context.model, state));
    for (const chip of segments.querySelectorAll<HTMLElement>("[data-warp]")) {
      const current = Number(chip.dataset.warp) === state.warp;
      chip.classList.toggle("current", current);
      chip.setAttribute("aria-pressed", String(current));
    }
  };
  return { element, update };
}

function firstStepAt(recording: RecordingJson, line: number, step: number): number {
  const later = recording.line.findIndex((l, i) => l === line && i >= step);
  return later >= 0 ? later : recording.line.indexOf(line);
}

function stepDetail(model: Model, recording: RecordingJson, state: State): HTMLElement[] {
  const step = state.step;
  const mask = recording.mask[step];
  const active = countLanes(mask);
  const cta = recording.ctas[recording.cta[step]];
  const source = model.sourceLine(recording.uid[step]);
  const accesses = recording.accesses.filter(access => access.at === step);
  const waits = recording.waits.filter(wait => wait.at === step);
  const floats = writesFloatBits(recording.texts[recording.text[step]], model.elementType(recording.uid[step]));
  const values = registersAt(recording, step).map(([register, lanes]) => (
    [register, floats ? lanes.map(asFloat32) : lanes] as [number, Value[]]
  ));
  const parts: (HTMLElement | null)[] = [
    el("h3", {}, visible(recording.texts[recording.text[step]])),
    el("p", { class: "doc" }, `warp ${recording.warp[step]} of CTA (${cta.join(", ")})${source < 0 ? "" : `, from line ${source + 1}`}`),
    ...waits.map(wait => el("p", { class: "wait" }, el("span", { class: "warn" }, "waited for "), visible(wait.reason))),
    maskStrip(mask, active),
    ...accesses.map(access => accessCard(access)),
    floats ? el("p", { class: "doc" }, "the 32 bits are shown as the float they are") : null,
    ...(state.table ? [laneTable(recording, step, values, mask)] : laneGrids(recording, step, values, mask)),
    findings(recording, step),
  ];
  return parts.filter((part): part is HTMLElement => part !== null);
}

/** The values of the registers that a step writes, else of those that it names, as of then. */
function registersAt(recording: RecordingJson, step: number): [number, Value[]][] {
  const written = recording.writes[step];
  if (written.length) return written.map(([register, lanes]) => [register, readLanes(lanes)]);
  const text = recording.texts[recording.text[step]];
  const wanted = recording.registers.map((_, i) => i).filter(i => text.match(wholeWord(recording.registers[i])));
  return wanted.map(register => [register, valueBefore(recording, step, register)] as [number, Value[] | null])
    .filter((pair): pair is [number, Value[]] => pair[1] !== null);
}

function valueBefore(recording: RecordingJson, step: number, register: number): Value[] | null {
  for (let i = step - 1; i >= 0; i -= 1) {
    if (recording.cta[i] !== recording.cta[step] || recording.warp[i] !== recording.warp[step]) continue;
    const write = recording.writes[i].find(([name]) => name === register);
    if (write) return readLanes(write[1]);
  }
  return null;
}

function wholeWord(name: string): RegExp {
  return new RegExp(`${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?![\\w.])`);
}

function maskStrip(mask: number, active: number): HTMLElement {
  const cells = lanesOf(mask).map((on, lane) => el("span", { class: on ? "on" : "off", title: `lane ${lane} ${on ? "takes part" : "is off"}` }));
  const words = active === 32 ? "all 32 lanes take part" : `${active} of 32 lanes take part`;
  return el("div", { class: "mask", role: "img", "aria-label": words }, el("div", { class: "mask-cells" }, ...cells), el("span", { class: "quiet" }, words));
}

function accessCard(access: AccessJson): HTMLElement {
  return el("p", { class: "access" }, visible(describeAccess(access)));
}

function laneGrids(recording: RecordingJson, step: number, values: [number, Value[]][], mask: number): HTMLElement[] {
  const when = recording.writes[step].length > 0 ? " after this step" : " as it was read";
  const on = lanesOf(mask);
  return values.slice(0, 4).map(([register, lanes]) => laneGrid(visible(recording.registers[register]), when, lanes, on));
}

/** The values of one register: one cell where all lanes hold the same, else eight lanes a row. */
function laneGrid(name: string, when: string, lanes: Value[], on: boolean[]): HTMLElement {
  const above = relative(lanes);
  const same = lanes.every(value => value === lanes[0]);
  const words = lanes.map((value, lane) => (above ? `+${above.distances[lane]}` : show(value)));
  const base = above && !same ? el("span", { class: "quiet" }, ` above ${hexadecimal(above.base)}`) : null;
  const only = above ? `${hexadecimal(above.base)} = ${above.base}` : show(lanes[0]);
  const cells = same
    ? [el("div", { role: "row", class: "lane-row same" }, laneCell(only, lanes[0], "all lanes", true))]
    : rows(words.map((word, lane) => laneCell(word, lanes[lane], String(lane), on[lane])));
  return el("figure", { class: "lanes" }, el("figcaption", {}, el("strong", {}, name), when, base),
    el("div", { class: "lane-grid", role: "grid", "aria-label": `values of ${name}` }, ...cells));
}

function rows(cells: HTMLElement[]): HTMLElement[] {
  return [0, 8, 16, 24].map(from => el("div", { role: "row", class: "lane-row" }, ...cells.slice(from, from + 8)));
}

function laneCell(word: string, value: Value, lane: string, on: boolean): HTMLElement {
  return el("span", { role: "gridcell", class: on ? "lane" : "lane off", title: `lane ${lane}: ${String(value)}${on ? "" : " (off)"}` },
    el("small", {}, lane), visible(word));
}

/** The table that tells what the grids draw. */
function laneTable(recording: RecordingJson, step: number, values: [number, Value[]][], mask: number): HTMLElement {
  const on = lanesOf(mask);
  const access = recording.accesses.find(a => a.at === step);
  const offsets = access && readLanes(access.offsets);
  const heads = ["lane", "takes part", ...values.map(([register]) => visible(recording.registers[register])), ...(offsets ? ["byte offset"] : [])];
  return el("table", { class: "twin" }, el("tr", {}, ...heads.map(head => el("th", {}, head))), ...on.map((active, lane) => el(
    "tr", {}, el("td", {}, String(lane)), el("td", {}, active ? "yes" : "no"),
    ...values.map(([, lanes]) => el("td", {}, visible(show(lanes[lane])))),
    offsets ? el("td", {}, Number(offsets[lane]) < 0 ? "" : String(offsets[lane])) : null,
  )));
}

function findings(recording: RecordingJson, step: number): HTMLElement | null {
  const found = recording.findings.filter(finding => finding.line === recording.line[step] || finding.line === 0);
  if (!found.length) return null;
  return el("ul", { class: "findings" }, ...found.map(finding => el(
    "li", { class: finding.severity === "error" ? "bad" : "" },
    el("strong", {}, visible(finding.code)), ` ${visible(finding.message)} `, el("span", { class: "quiet" }, visible(finding.where)),
  )));
}
