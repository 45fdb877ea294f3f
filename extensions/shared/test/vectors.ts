// The vectors that Python wrote; read where the tests run, in lib/test.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Model } from "../src/model.js";
import type { Lanes, ProvenanceJson, RecordJson, Value } from "../src/record.gen.js";

interface Vectors {
  closures: { json: ProvenanceJson; chosen: number[]; ancestors: number[]; descendants: number[]; kin: number[] }[];
  lanes: { packed: Lanes; shown: Value[] }[];
  texts: Record<string, string[]>;
  uids: Record<string, number[][]>;
  record: RecordJson;
}

const path = fileURLToPath(new URL("../../../../tests/golden/record/vectors.json", import.meta.url));
export const vectors = JSON.parse(readFileSync(path, "utf8")) as Vectors;

/** A model of the vector add. */
export function vadd(): Model {
  return new Model(vectors.record);
}

export function sorted(values: Iterable<number>): number[] {
  return [...values].sort((a, b) => a - b);
}
