// The top of every card: the name, what it was compiled for, the verdict, the resources, and the strip of stages.
import { button, el, visible } from "../dom.js";
import type { Model } from "../model.js";
import { showFamily, showStage, views, type State, type View } from "../state.js";
import type { Context, Lit, ViewPart } from "./view.js";

const VIEW_TITLES: Record<View, string> = { stages: "Stages", passes: "Passes", graph: "Graph", trace: "Trace" };

/** Make the head of the viewer. */
export function head(context: Context, openInspector: (() => void) | undefined): ViewPart {
  const { model } = context;
  const tabs = el("div", { class: "segments", role: "tablist", "aria-label": "views" }, ...views(model).map(view => button(
    VIEW_TITLES[view], VIEW_TITLES[view], () => context.set((_, s) => ({ ...s, view })), { role: "tab", "data-view": view },
  )));
  const { target, constants, options } = model.record.kernel;
  const title = el("div", { class: "title" }, el("h2", {}, visible(model.record.kernel.name)),
    ...[target, ...pairs(constants)].map(chip => el("span", { class: "chip" }, visible(chip))), optionChip(pairs(options)), el("span", { class: "space" }), tabs,
    openInspector ? button("⤢", "open in the Inspector (o)", openInspector, { class: "plain" }) : null,
    button("?", "the keys (?)", () => context.set((_, s) => ({ ...s, help: !s.help })), { class: "plain" }));
  const strip = stageStrip(context);
  const element = el("header", { class: "head" }, title, verdict(context), strip.element);
  const update = (state: State, lit: Lit): void => {
    for (const tab of tabs.querySelectorAll<HTMLElement>("[data-view]")) {
      const current = tab.dataset.view === state.view;
      tab.classList.toggle("current", current);
      tab.setAttribute("aria-selected", String(current));
    }
    strip.update(state, lit);
  };
  return { element, update };
}

/** The compiler's options in one chip: the first one, how many more, and all of them for those who ask. */
function optionChip(options: string[]): HTMLElement | null {
  if (!options.length) return null;
  const more = options.length > 1 ? ` +${options.length - 1}` : "";
  return el("span", { class: "chip", title: options.map(visible).join("\n") }, visible(options[0]) + more);
}

function pairs(rows: [string, string][]): string[] {
  return rows.map(([name, value]) => `${name}=${value}`);
}

/** One sentence first: the fault, the first thing that was not done, or that there is nothing to say. */
function verdict(context: Context): HTMLElement {
  const { model } = context;
  const fault = model.record.diagnostics.find(diagnostic => diagnostic.severity === "error");
  const broken = model.recording?.findings.find(finding => finding.severity === "error");
  const remarks = model.remarks();
  const resources = el("span", { class: "quiet resources" }, visible(resourceText(model)));
  if (fault) {
    return el("div", { class: "verdict" }, el("span", { class: "bad" }, "✕ failed"), el("pre", { class: "fault" }, visible(fault.rendered || fault.message)));
  }
  if (broken) return el("div", { class: "verdict" }, el("span", { class: "bad" }, `✕ ${visible(broken.code)}`), el("span", { class: "say" }, visible(broken.message)), resources);
  if (!remarks.length) {
    return el("div", { class: "verdict" }, el("span", { class: "good" }, "✓"), el("span", { class: "say" }, `${model.families.length} stages, no remarks`), resources);
  }
  const { miss } = remarks[0];
  const line = model.sourceLine(miss.uid);
  const more = remarks.length > 1 ? ` and ${remarks.length - 1} more` : "";
  return el("div", { class: "verdict" }, el("span", { class: "warn" }, "▲"),
    el("span", { class: "say", title: miss.reason }, line < 0 ? "" : `line ${line + 1}: `, visible(miss.reason), el("span", { class: "quiet" }, more)),
    button("why", "the facts behind (w)", () => context.set((_, s) => ({ ...s, why: !s.why })), { class: "link" }), resources);
}

function resourceText(model: Model): string {
  return model.record.resources.filter(([name]) => name !== "source").map(([name, value]) => `${value} ${name.replace(/_/g, " ")}`).join(" · ");
}

function stageStrip(context: Context): ViewPart {
  const { model } = context;
  const chips = model.families.map((family, i) => el(
    "button",
    { type: "button", class: "stage", title: model.stages[family.stages[0]].doc, "data-family": family.name, "aria-keyshortcuts": i + 1,
      onclick: () => context.set((m, s) => showFamily(m, s, i)) },
    el("span", { class: "key", "aria-hidden": "true" }, String(i + 1)), el("span", { class: "stage-title" }, visible(family.title)),
    el("span", { class: "extent" }, extent(model, family.stages)), el("span", { class: "dot", "aria-hidden": "true" }),
  ));
  const element = el("nav", { class: "strip", "aria-label": "stages" }, ...chips);
  const update = (state: State, lit: Lit): void => {
    model.families.forEach((family, i) => {
      const shown = state.view === "stages" && (family.stages.includes(state.left) || family.stages.includes(state.right));
      chips[i].classList.toggle("current", shown);
      chips[i].setAttribute("aria-current", String(shown));
      chips[i].classList.toggle("lit", lit.kin.size > 0 && family.stages.some(stage => model.firstLine(stage, lit.kin) >= 0));
    });
  };
  return { element, update };
}

function extent(model: Model, stages: number[]): string {
  const first = model.stages[stages[0]].size;
  const last = model.stages[stages[stages.length - 1]].size;
  return first === last ? String(last) : `${first} → ${last}`;
}

/** The selected thread in words, one piece per stage; each piece leads there. */
export function threadBar(context: Context): ViewPart {
  const { model } = context;
  const crumbs = el("div", { class: "crumbs" });
  const live = el("div", { class: "live", "aria-live": "polite" });
  const element = el("footer", { class: "thread-bar" }, crumbs, live);
  const update = (state: State, lit: Lit): void => {
    crumbs.textContent = "";
    if (!state.selected.length) {
      crumbs.append(el("span", { class: "quiet" }, "Select a line: its kin light up in every stage. "), el("kbd", {}, "?"), el("span", { class: "quiet" }, " lists the keys."));
      live.textContent = "";
      return;
    }
    const told = model.families.filter(family => family.name !== "ast");
    const parts = told.map(family => crumb(context, model.last(family), lit)).filter((part): part is HTMLElement => part !== null);
    parts.forEach((part, i) => crumbs.append(...(i ? [el("span", { class: "quiet" }, " ▸ "), part] : [part])));
    if (state.pinned) crumbs.append(el("span", { class: "pin", title: "pinned; x clears" }, "pinned"));
    live.textContent = announcement(model, lit);
  };
  return { element, update };
}

function crumb(context: Context, stage: number, lit: Lit): HTMLElement | null {
  const { model } = context;
  const lines = model.kinLines(stage, lit.kin);
  if (!lines.length) return null;
  const text = stage === model.python ? sourceText(model, lit, lines[0]) : shortText(model.stages[stage].lines[lines[0]].text);
  const more = stage !== model.python && lines.length > 1 ? ` +${lines.length - 1}` : "";
  return el("button", { type: "button", class: "crumb", title: `show ${model.stages[stage].title}`, onclick: () => context.set((m, s) => showStage(m, s, stage)) },
    el("small", {}, visible(model.stages[stage].title)), ` ${visible(text)}${more}`);
}

function sourceText(model: Model, lit: Lit, line: number): string {
  const exact = model.rangesOf(lit.selected).concat(model.rangesOf(lit.kin))[0];
  const text = exact && exact.line === exact.endLine ? model.stages[model.python].lines[exact.line].text.slice(exact.column, exact.endColumn) : model.stages[model.python].lines[line].text.trim();
  return `${(exact?.line ?? line) + 1}: ${cut(text, 24)}`;
}

/** The part of a line that names it: result and op of an IR, mnemonic and destination of an assembly. */
export function shortText(text: string): string {
  const plain = text.trim().replace(/^\/\*[\da-f]+\*\/\s*/i, "").replace(/\s+/g, " ");
  const assigned = /^(%[\w.]+) = (?:tail )?([\w.]+)/.exec(plain);
  return assigned ? `${assigned[1]} ${assigned[2]}` : cut(plain.replace(/[;{]\s*$/, "").trim(), 18);
}

function cut(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text;
}

function announcement(model: Model, lit: Lit): string {
  const source = model.kinLines(model.python, lit.kin).map(line => line + 1);
  const last = model.end();
  const count = model.kinLines(last, lit.kin).length;
  const where = source.length ? `line ${source.join(", ")}` : "the selection";
  return `${where} maps to ${count} line${count === 1 ? "" : "s"} of ${model.stages[last].title}`;
}
