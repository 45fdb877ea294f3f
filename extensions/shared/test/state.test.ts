// Keys change the state as the key list says.
import assert from "node:assert/strict";
import { test } from "node:test";
import { KEYS, press } from "../src/keys.js";
import type { Model } from "../src/model.js";
import * as change from "../src/state.js";
import { vadd } from "./vectors.js";

function play(model: Model, keys: string, from = change.initial(model)): change.State {
  return keys.split(" ").reduce((state, key) => press(model, state, key) ?? state, from);
}

test("the source stands beside the last stage", () => {
  const model = vadd();
  const state = change.initial(model);
  assert.deepEqual([model.stages[state.left].name, model.stages[state.right].name], ["python", "sass"]);
  assert.deepEqual(change.views(model), ["stages", "passes", "trace"]);
});

test("down selects a line and the other pane follows", () => {
  const model = vadd();
  const state = play(model, "j j j j j");
  assert.deepEqual(state.selected, [10, 11]);
  assert.equal(model.stages[state.right].lines[state.cursor.right].text, "/*0060*/ HFMA2.MMA R7, -RZ, RZ, 0, 2.384185791015625e-07 ;");
});

test("the cursor stays inside the listing", () => {
  const model = vadd();
  assert.equal(play(model, "k k").cursor.left, 0);
  assert.equal(play(model, Array(50).fill("j").join(" ")).cursor.left, model.stages[0].lines.length - 1);
});

test("left and right follow the thread and pass over stages without kin", () => {
  const model = vadd();
  const folded = { ...change.initial(model), selected: [20], right: 1, focus: "right" as const };
  assert.equal(model.stages[change.followThread(model, folded, 1).right].name, "tile/04-axis-info");
  assert.equal(model.stages[change.followThread(model, { ...folded, right: 7, selected: [2] }, 1).right].name, "llvm");
  const line = play(model, "j j j j j l");
  assert.equal(model.stages[line.right].name, "ast");
  assert.equal(play(model, "l l l l l l l l").right, model.stages.length - 1);
});

test("digits show stages, unknown ones change nothing", () => {
  const model = vadd();
  assert.equal(model.stages[play(model, "6").right].name, "ptx");
  assert.equal(play(model, "1").focus, "left");
  assert.deepEqual(play(model, "9"), change.initial(model));
});

test("n and p walk the passes that changed something or declined", () => {
  const model = vadd();
  const names = ["n", "n n", "n n n", "n n n n", "n n n p"].map(keys => model.stages[play(model, keys).pass].pass);
  assert.deepEqual(names, ["01-fold", "03-pointers", "04-axis-info", "04-axis-info", "03-pointers"]);
});

test("d shows the passes, then toggles inline", () => {
  const model = vadd();
  assert.deepEqual(["d", "d d", "d d d"].map(keys => play(model, keys).inline), [false, true, false]);
});

test("steps move within the followed warp", () => {
  const model = vadd();
  assert.equal(play(model, ". .").step, 2);
  assert.equal(play(model, ",").step, 0);
  const second = play(model, "] ]");
  assert.deepEqual([second.warp, model.recording?.warp[second.step]], [1, 1]);
  const further = play(model, "PageDown PageDown", second);
  assert.equal(model.recording?.warp[further.step], 1);
  assert.equal(play(model, "[").warp, 3);
});

test("another CTA is entered at its first step, with its own warp", () => {
  const model = vadd();
  const recording = model.recording;
  if (!recording) throw new Error("the vectors hold a recording");
  recording.ctas.push([1, 0, 0]);
  recording.cta.fill(1, 38);
  assert.equal(change.goToCta(model, change.initial(model), 1).step, 38);
  const followed = change.goToCta(model, { ...change.initial(model), warp: 0 }, 1);
  assert.deepEqual(change.warps(model)[followed.warp], [1, 2]);
  recording.ctas.pop();
  recording.cta.fill(0);
});

test("a step selects its op, and > finds the op's next step", () => {
  const model = vadd();
  const at = model.recording?.texts.indexOf("ld.global.f32 %f1, [%rd5];") ?? -1;
  const step = model.recording?.text.indexOf(at) ?? -1;
  const state = change.goToStep(model, change.initial(model), step);
  assert.deepEqual(state.selected, [11]);
  assert.equal(model.recording?.warp[play(model, ">", state).step], 1);
});

test("b goes back to the last writer of what a step reads", () => {
  const model = vadd();
  const texts = model.recording?.texts ?? [];
  const find = (text: string): number => model.recording?.text.indexOf(texts.indexOf(text)) ?? -1;
  const state = change.goToStep(model, change.initial(model), find("add.rn.f32 %f3, %f1, %f2;"));
  assert.equal(change.lastWriter(model, state).step, find("ld.global.f32 %f2, [%rd6];"));
});

test("search goes through all stages and around", () => {
  const model = vadd();
  const first = change.find(model, change.initial(model), "fadd");
  assert.equal(model.stages[first[first.focus]].name, "llvm");
  const next = change.find(model, first, "FADD");
  assert.equal(model.stages[next[next.focus]].name, "sass");
  assert.deepEqual(next.selected, [17]);
});

test("x clears, Enter pins only a selection", () => {
  const model = vadd();
  assert.equal(play(model, "Enter").pinned, false);
  assert.equal(play(model, "j j j j Enter").pinned, true);
  assert.deepEqual(play(model, "j j j j Enter x").selected, []);
});

test("no key has two meanings", () => {
  const all = KEYS.flatMap(row => row.keys);
  assert.equal(new Set(all).size, all.length);
});
