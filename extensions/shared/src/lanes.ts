// Values of the 32 lanes of a warp: read from the record and written for people. Knows no instruction.
import type { AccessJson, Lanes, Value } from "./record.gen.js";

export const WARP_LANES = 32;
const SECTOR_BYTES = 32;

/** Read the values of all lanes. */
export function readLanes(lanes: Lanes): Value[] {
  if (!Array.isArray(lanes)) {
    return Array.from({ length: WARP_LANES }, (_, lane) => lanes.start + lane * lanes.step);
  }
  return lanes.length === 1 ? Array<Value>(WARP_LANES).fill(lanes[0]) : lanes;
}

/** Write a value in at most about nine characters. */
export function show(value: Value | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "boolean") return value ? "true" : "false";
  if (typeof value === "string") return value;
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  if (Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  return size >= 1e6 || size < 1e-3 ? value.toExponential(3) : String(Number(value.toPrecision(5)));
}

/** Values far from 0, such as addresses: the lowest one, and how far each lane is above it. */
export interface Relative {
  base: number;
  distances: number[];
}

/** Write values as a base and distances where that is shorter: all are integers, and the largest is a billion or more. */
export function relative(values: Value[]): Relative | undefined {
  const numbers = values.filter((value): value is number => typeof value === "number" && Number.isInteger(value));
  if (numbers.length !== values.length || Math.max(...numbers) < 1e9 || Math.min(...numbers) < 0) return undefined;
  const base = Math.min(...numbers);
  const distances = numbers.map(value => value - base);
  return Math.max(...distances) < 1e6 ? { base, distances } : undefined;
}

const BITS = new DataView(new ArrayBuffer(4));
/** Instructions that pass bits on and do not say whether they are a float's. */
const PASSES_BITS = /^(@\S+\s+)?(ld|mov|shfl|selp)\b.*\.[bu]32\b/;

/** Read 32 bits as the float they are. */
export function asFloat32(value: Value): Value {
  if (typeof value !== "number" || !Number.isInteger(value)) return value;
  BITS.setUint32(0, value);
  const float = BITS.getFloat32(0);
  return Number.isFinite(float) ? float : String(float).replace("Infinity", "inf").replace("NaN", "nan");
}

/** Whether an instruction writes the bits of a float32, given the type of the op that it works for. */
export function writesFloatBits(instruction: string, type: string): boolean {
  return type === "f32" && PASSES_BITS.test(instruction);
}

/** An address in hexadecimal. */
export function hexadecimal(value: number): string {
  return `0x${value.toString(16)}`;
}

/** Which lanes of a mask are on. */
export function lanesOf(mask: number): boolean[] {
  return Array.from({ length: WARP_LANES }, (_, lane) => Math.floor(mask / 2 ** lane) % 2 === 1);
}

/** How many lanes of a mask are on. */
export function countLanes(mask: number): number {
  return lanesOf(mask).filter(on => on).length;
}

/** Describe an access in words: how many bytes, how they lie, and how many sectors of 32 bytes they touch. */
export function describeAccess(access: AccessJson): string {
  const offsets = readLanes(access.offsets).map(Number).filter(offset => offset >= 0);
  if (!offsets.length) return `${access.kind} ${access.space} ${access.name}: no lane took part`;
  const sectors = new Set<number>();
  for (const offset of offsets) {
    for (let byte = 0; byte < access.bytes; byte += 1) sectors.add(Math.floor((offset + byte) / SECTOR_BYTES));
  }
  const first = Math.min(...offsets);
  const last = Math.max(...offsets) + access.bytes;
  const even = offsets.every((offset, i) => i === 0 || offset - offsets[i - 1] === access.bytes);
  const way = offsets.length === 1 ? "one lane" : even ? "contiguous" : new Set(offsets).size === 1 ? "one address" : "scattered";
  const sectorText = access.space === "global" ? `, ${sectors.size} sector${sectors.size === 1 ? "" : "s"} of 32 bytes` : "";
  return `${access.kind} ${access.space} ${access.name}: ${offsets.length} × ${access.bytes} bytes, ${way}, bytes ${first} to ${last}${sectorText}`;
}
