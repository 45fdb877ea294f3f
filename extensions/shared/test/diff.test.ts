// Lines are aligned by op number: what moved has moved, what was replaced stands beside its parent.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Line } from "../src/delta.js";
import { align, summary } from "../src/diff.js";
import { vadd } from "./vectors.js";

function lines(...rows: [string, ...number[]][]): Line[] {
  return rows.map(([text, ...uids]) => ({ text, uids }));
}

test("equal texts have only equal rows", () => {
  const one = lines(["a", 1], ["b", 2]);
  assert.deepEqual(align(one, one).map(row => row.kind), ["same", "same"]);
});

test("a renamed op is changed, not gone and new", () => {
  const rows = align(lines(["%1 = add", 1], ["ret"]), lines(["%1 = sub", 1], ["ret"]));
  assert.deepEqual(rows.map(row => row.kind), ["changed", "same"]);
});

test("a moved op is marked on both sides", () => {
  const rows = align(lines(["a", 1], ["b", 2], ["c", 3]), lines(["b", 2], ["c", 3], ["a", 1]));
  assert.deepEqual(rows.map(row => row.kind), ["moved", "same", "same", "moved"]);
});

test("every line stands in exactly one row, in order", () => {
  const model = vadd();
  for (let pass = 3; pass < 7; pass += 1) {
    const rows = align(model.stages[pass - 1].lines, model.stages[pass].lines, model.provenance);
    assert.deepEqual(rows.filter(row => row.before >= 0).map(row => row.before), [...model.stages[pass - 1].lines.keys()]);
    assert.deepEqual(rows.filter(row => row.after >= 0).map(row => row.after), [...model.stages[pass].lines.keys()]);
  }
});

test("a replaced op stands beside the op it came from", () => {
  const model = vadd();
  const [before, after] = [model.stages[2].lines, model.stages[3].lines];
  const rows = align(before, after, model.provenance);
  const changed = rows.filter(row => row.kind === "changed").map(row => [before[row.before].uids[0], after[row.after].uids[0]]);
  assert.deepEqual(changed, [[2, 20], [3, 21]]);
  assert.deepEqual(summary(rows), { added: 0, removed: 0, changed: 2 });
});
