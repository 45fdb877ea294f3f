// What the compiler did not do, and the facts behind it.
import { el, visible } from "../dom.js";
import type { MissJson } from "../record.gen.js";
import { selectUids } from "../state.js";
import type { Context } from "./view.js";

/** One miss: the rule, where, the reason in words, and its facts in order. */
export function missCard(context: Context, miss: MissJson): HTMLElement {
  const line = context.model.sourceLine(miss.uid);
  const place = line < 0 ? "" : `line ${line + 1}`;
  return el(
    "article", { class: "miss" },
    el("div", {}, el("span", { class: "warn" }, "not done: "), el("strong", {}, visible(miss.rule)), " ", place && el("button", {
      type: "button", class: "plain", title: "select this op",
      onclick: () => context.set((m, s) => selectUids(m, s, [miss.uid])),
    }, place)),
    el("p", {}, visible(miss.reason)),
    miss.facts?.length ? el("ol", {}, ...miss.facts.map(fact => el("li", {}, visible(fact)))) : null,
  );
}

/** All misses and facts of the selected ops; of all ops where none is selected. */
export function whyPanel(context: Context, selected: ReadonlySet<number>): HTMLElement {
  const remarks = context.model.remarks().filter(({ miss }) => !selected.size || selected.has(miss.uid));
  const facts = context.model.stages.flatMap(stage => stage.facts).filter(([uid]) => selected.has(uid));
  return el(
    "aside", { class: "why", "aria-label": "why not" },
    ...remarks.map(({ miss }) => missCard(context, miss)),
    facts.length ? el("div", { class: "facts" }, el("span", { class: "quiet" }, "known of the selection"),
      el("ul", {}, ...facts.map(([, fact]) => el("li", {}, visible(fact))))) : null,
    !remarks.length && !facts.length && el("p", { class: "empty" }, selected.size
      ? "Nothing was declined for the selected ops." : "Nothing was declined: no pass has a remark."),
  );
}
