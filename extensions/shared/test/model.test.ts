// The record as the viewer reads it is the record as Python wrote it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { asFloat32, countLanes, describeAccess, hexadecimal, lanesOf, readLanes, relative, show, writesFloatBits } from "../src/lanes.js";
import { Model } from "../src/model.js";
import { Provenance } from "../src/provenance.js";
import { sorted, vadd, vectors } from "./vectors.js";

test("kin are the same ops as in Python", () => {
  for (const { json, chosen, ancestors, descendants, kin } of vectors.closures) {
    const provenance = new Provenance(json);
    assert.deepEqual(sorted(provenance.ancestors(chosen)), ancestors);
    assert.deepEqual(sorted(provenance.descendants(chosen)), descendants);
    assert.deepEqual(sorted(provenance.kin(chosen)), kin);
  }
});

test("edits give every stage its text and op numbers back", () => {
  const model = vadd();
  assert.ok(vectors.record.stages.some(stage => stage.edits));
  for (const stage of model.stages) {
    assert.deepEqual(stage.lines.map(line => line.text), vectors.texts[stage.name]);
    assert.deepEqual(stage.lines.map(line => line.uids), vectors.uids[stage.name].slice(0, stage.lines.length));
  }
});

test("lane values come back", () => {
  for (const { packed, shown } of vectors.lanes) assert.deepEqual(readLanes(packed), shown);
});

test("another version is refused", () => {
  assert.throws(() => new Model({ ...vectors.record, schema: "tinyton.record/2" as never }), /tinyton\.record\/1/);
});

test("passes belong to their family, names with slashes stay whole", () => {
  const model = vadd();
  assert.deepEqual(model.families.map(family => family.name), ["python", "ast", "tile", "layout", "llvm", "ptx", "sass"]);
  assert.equal(model.families[2].stages.length, 5);
  const odd = new Model({ ...vectors.record, stages: [{ name: "tile/01-a/b", kind: "ir", size: 1, text: "x", uids: [0] }] });
  assert.equal(odd.stages[0].pass, "01-a/b");
});

test("the smallest expression under a column is found", () => {
  const model = vadd();
  const text = model.stages[0].lines[3].text;
  assert.deepEqual(model.uidsAt(3, text.indexOf("program_id")), [1]);
  assert.deepEqual(model.uidsAt(3, text.indexOf(" * ") + 1), [3]);
  assert.deepEqual(model.uidsAt(3, text.indexOf(" + ") + 1), [6]);
  assert.deepEqual(model.uidsAt(3, 0), []);
});

test("an op leads to its source line, through what it came from", () => {
  const model = vadd();
  assert.equal(model.sourceLine(11), 5);
  assert.equal(model.sourceLine(22), 5);
  assert.equal(model.sourceLine(999), -1);
});

test("a source line's fate is whether its ops reach the last stage", () => {
  const model = vadd();
  assert.deepEqual([0, 3, 5].map(line => model.fate(line)), ["none", "kept", "kept"]);
  const cut = new Model({ ...vectors.record, stages: [...vectors.record.stages.slice(0, -1), { name: "sass", kind: "asm", size: 1, text: "X ;", uids: [11] }] });
  assert.deepEqual([3, 5].map(line => cut.fate(line)), ["dropped", "kept"]);
  const { provenance } = vectors.record;
  const folded = { ...provenance, child: [...provenance.child, 0], parent: [...provenance.parent, 6], kind: [...provenance.kind, provenance.kinds.indexOf("folded")] };
  assert.equal(new Model({ ...cut.record, provenance: folded }).fate(3), "folded");
});

test("directives and labels of an assembly are not where a thread leads", () => {
  const text = "\t.loc 1 5 1\n$L_1:\n\tadd.s32 %r1, %r2, %r3;\n// text";
  const model = new Model({ ...vectors.record, stages: [{ name: "ptx", kind: "asm", size: 1, text, uids: [5, 5, 5, 5] }] });
  assert.deepEqual(model.kinLines(0, new Set([5])), [2]);
});

test("addresses are told as a base and distances", () => {
  const addresses = Array.from({ length: 32 }, (_, lane) => 2 ** 36 + 4 * lane);
  assert.deepEqual(relative(addresses), { base: 2 ** 36, distances: addresses.map(value => value - 2 ** 36) });
  assert.equal(hexadecimal(2 ** 36), "0x1000000000");
  for (const values of [[1, 2], [1.5e10 + 0.5, 2e10], [true, 2e9], [-1, 2e9], [0, 2e9], ["inf", 2e9]]) assert.equal(relative(values), undefined);
});

test("bits of a float are shown as the float", () => {
  assert.deepEqual([0x3f800000, 0xff800000, 0x7fc00000, 0, true].map(asFloat32), [1, "-inf", "nan", 0, true]);
  const model = vadd();
  assert.deepEqual([11, 4, 1, 18].map(uid => model.elementType(uid)), ["f32", "i32", "i32", ""]);
  assert.equal(writesFloatBits("ld.global.b32 %r1, [%rd1]", "f32"), true);
  assert.equal(writesFloatBits("@%p1 ld.global.b32 %r1, [%rd1]", "f32"), true);
  assert.equal(writesFloatBits("mul.wide.u32 %rd9, %r9, 4", "f32"), false);
  assert.equal(writesFloatBits("ld.global.b32 %r1, [%rd1]", "i32"), false);
});

test("masks, values and accesses in words", () => {
  assert.equal(countLanes(0xffffffff), 32);
  assert.deepEqual(lanesOf(0x80000001).flatMap((on, lane) => (on ? [lane] : [])), [0, 31]);
  assert.deepEqual([show(1.5), show(0.1 + 0.2), show(true), show("nan"), show(123456789), show(1e-7)], ["1.5", "0.3", "true", "nan", "123456789", "1.000e-7"]);
  const access = { at: 0, space: "global", kind: "load", name: "x", bytes: 4, offsets: { start: 0, step: 4 } };
  assert.equal(describeAccess(access), "load global x: 32 × 4 bytes, contiguous, bytes 0 to 128, 4 sectors of 32 bytes");
  assert.match(describeAccess({ ...access, offsets: { start: 0, step: 128 } }), /scattered.*32 sectors/);
});
