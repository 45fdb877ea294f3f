// The viewer: one record in one shadow root, in any host. Knows no notebook; a host gives it a place and gets its events.
import { el, fill } from "./dom.js";
import { HOST_KEYS, KEYS, press } from "./keys.js";
import { Model } from "./model.js";
import type { RecordJson } from "./record.gen.js";
import { find, initial, kin, selectUids, views, type State, type View } from "./state.js";
import { styleRules } from "./style.js";
import { themeOf } from "./theme.js";
import { graphView } from "./views/graph.js";
import { head, threadBar } from "./views/head.js";
import { passesView } from "./views/passes.js";
import { stagesView } from "./views/stages.js";
import { traceView } from "./views/trace.js";
import { whyPanel } from "./views/why.js";
import type { Context, Lit, ViewPart } from "./views/view.js";

const NARROW_PIXELS = 700;
const MAKERS: Record<View, (context: Context) => ViewPart> = {
  stages: stagesView, passes: passesView, graph: graphView, trace: traceView,
};

export interface Options {
  /** Fill the host's height instead of having an own one. */
  fills?: boolean;
  view?: View;
  /** Called with the selected ops whenever they change. */
  onSelect?: (uids: number[]) => void;
  /** Called for `o`; without it there is no such key. */
  onOpen?: () => void;
  /** Called for Escape: give the focus back. */
  onLeave?: () => void;
}

export interface Viewer {
  /** The state shown, for tests and hosts. */
  readonly state: State;
  /** Select ops from outside. */
  select: (uids: number[]) => void;
  /** Take the viewer out of its host. */
  dispose: () => void;
}

/** Show a record inside `host`. */
export function mount(host: HTMLElement, record: RecordJson, options: Options = {}): Viewer {
  return new Mounted(host, new Model(record), options);
}

class Mounted implements Viewer {
  state: State;
  private readonly root: HTMLElement;
  private readonly main: HTMLElement;
  private readonly why: HTMLElement;
  private readonly help: HTMLElement;
  private readonly search: HTMLInputElement;
  private readonly parts: ViewPart[];
  private readonly made = new Map<View, ViewPart>();
  private readonly context: Context;
  private readonly observers: { disconnect: () => void }[] = [];
  private hovered: readonly number[] = [];
  private frame = 0;

  constructor(private readonly host: HTMLElement, private readonly model: Model, private readonly options: Options) {
    const first = initial(model);
    this.state = options.view && views(model).includes(options.view) ? { ...first, view: options.view } : first;
    this.context = { model, set: change => this.show(change(this.model, this.state)), hover: uids => this.light(uids) };
    const shadow = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    this.why = el("div", { hidden: true });
    this.help = el("div", { class: "help", hidden: true, role: "dialog", "aria-label": "keys" }, ...helpRows());
    this.main = el("div", { class: "main" });
    this.search = el("input", { class: "search", type: "search", placeholder: "search all stages", "aria-label": "search", hidden: true });
    const bar = threadBar(this.context);
    bar.element.append(this.search);
    this.parts = [head(this.context, options.onOpen), bar];
    this.root = el("div", { class: options.fills ? "tt fills" : "tt", tabindex: 0, role: "region", "aria-label": `stages of ${model.record.kernel.name}` },
      this.parts[0].element, this.main, bar.element);
    fill(shadow as unknown as Element, el("style", {}, styleRules()), this.root);
    host.setAttribute("data-lm-suppress-shortcuts", "true");
    this.listen();
    this.followHost();
    this.show(this.state);
  }

  select(uids: number[]): void {
    this.show(selectUids(this.model, this.state, uids));
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
    for (const observer of this.observers) observer.disconnect();
    this.root.remove();
  }

  private show(state: State): void {
    const before = this.state;
    this.state = state;
    const part = this.part(state.view);
    if (this.main.firstElementChild !== part.element.parentElement || !this.main.childElementCount) {
      fill(this.main, el("div", { class: "view" }, part.element), this.why, this.help);
    }
    this.draw();
    if (before.selected !== state.selected) this.options.onSelect?.([...state.selected]);
  }

  private part(view: View): ViewPart {
    const part = this.made.get(view) ?? MAKERS[view](this.context);
    this.made.set(view, part);
    return part;
  }

  private draw(): void {
    const lit = this.lit();
    this.part(this.state.view).update(this.state, lit);
    for (const part of this.parts) part.update(this.state, lit);
    this.why.hidden = !this.state.why;
    this.why.style.display = this.state.why ? "flex" : "none";
    if (this.state.why) fill(this.why, whyPanel(this.context, lit.kin));
    this.help.hidden = !this.state.help;
  }

  private lit(): Lit {
    const { provenance } = this.model;
    return { selected: new Set(this.state.selected), kin: kin(this.model, this.state), hovered: provenance.kin(this.hovered) };
  }

  private light(uids: readonly number[]): void {
    if (uids.join() === this.hovered.join()) return;
    this.hovered = uids;
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      if (this.state.view !== "trace") this.part(this.state.view).update(this.state, this.lit());
    });
  }

  private listen(): void {
    this.root.addEventListener("keydown", event => this.key(event));
    this.search.addEventListener("keydown", event => this.searchKey(event));
    this.root.addEventListener("click", event => {
      const target = event.composedPath()[0] as Element;
      if (!target.closest("button, input, select, a")) this.root.focus({ preventScroll: true });
    });
  }

  private key(event: KeyboardEvent): void {
    const target = event.composedPath()[0] as HTMLElement;
    const typing = target.matches("input[type=search], select") || (target.matches("button") && [" ", "Enter"].includes(event.key));
    const sliding = target.matches("input[type=range]") && event.key.startsWith("Arrow");
    if (typing || sliding || event.ctrlKey || event.metaKey || event.altKey) return;
    if (this.hostKey(event.key)) {
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    const next = press(this.model, this.state, event.key);
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    this.show(next);
  }

  private hostKey(key: string): boolean {
    if (key === "/") this.openSearch();
    else if (key === "c") void navigator.clipboard?.writeText(this.copyText());
    else if (key === "o" && this.options.onOpen) this.options.onOpen();
    else if (key === "Escape") this.leave();
    else return false;
    return true;
  }

  private leave(): void {
    if (this.state.help || this.state.why) this.show({ ...this.state, help: false, why: false });
    else if (this.options.onLeave) this.options.onLeave();
    else this.root.blur();
  }

  private openSearch(): void {
    this.search.hidden = false;
    this.search.value = "";
    this.search.focus();
  }

  private searchKey(event: KeyboardEvent): void {
    event.stopPropagation();
    if (event.key === "Enter") this.show(find(this.model, this.state, this.search.value));
    if (event.key === "Escape") {
      this.search.hidden = true;
      this.show({ ...this.state, search: "" });
      this.root.focus({ preventScroll: true });
    }
  }

  private copyText(): string {
    return this.model.stages[this.state[this.state.focus]].lines.map(line => line.text).join("\n");
  }

  /** Follow the host's colours and width. */
  private followHost(): void {
    const theme = (): void => this.root.setAttribute("data-theme", themeOf(this.host));
    const changes = new MutationObserver(theme);
    changes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name", "class", "style"] });
    const size = new ResizeObserver(([entry]) => {
      this.root.classList.toggle("narrow", entry.contentRect.width > 0 && entry.contentRect.width < NARROW_PIXELS);
      theme();
    });
    size.observe(this.host);
    this.observers.push(changes, size);
    theme();
  }
}

function helpRows(): HTMLElement[] {
  const rows: [string, string][] = [...KEYS.map(row => [row.shown, row.does] as [string, string]), ...HOST_KEYS];
  return rows.map(([keys, does]) => el("div", {}, el("kbd", {}, keys), el("span", {}, does)));
}
