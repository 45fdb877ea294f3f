// Two states of a stage side by side, aligned by op number and not by text: a moved op is moved, not new. No DOM.
import type { Line } from "./delta.js";
import type { Provenance } from "./provenance.js";

export type RowKind = "same" | "changed" | "moved" | "gone" | "new";

/** One row of the comparison: indices into the lines before and after, -1 where a side has none. */
export interface DiffRow {
  kind: RowKind;
  before: number;
  after: number;
}

/** Align two lists of lines: by op number, by text where there is none, by provenance where an op was replaced. */
export function align(before: Line[], after: Line[], provenance?: Provenance): DiffRow[] {
  const keysBefore = keys(before);
  const keysAfter = keys(after);
  const common = longestCommon(keysBefore, keysAfter);
  const rows: DiffRow[] = [];
  let i = 0;
  let j = 0;
  for (const [nextI, nextJ] of [...common, [before.length, after.length]]) {
    rows.push(...gap(before, after, [i, nextI], [j, nextJ], provenance));
    if (nextI < before.length) rows.push(pair(before, after, nextI, nextJ));
    i = nextI + 1;
    j = nextJ + 1;
  }
  return markMoved(rows, keysBefore, keysAfter);
}

/** Count the rows that are new, gone or changed. */
export function summary(rows: DiffRow[]): { added: number; removed: number; changed: number } {
  const count = (kind: RowKind): number => rows.filter(row => row.kind === kind).length;
  return { added: count("new"), removed: count("gone"), changed: count("changed") };
}

function keys(lines: Line[]): string[] {
  return lines.map(line => (line.uids.length ? `#${line.uids.join(",")}` : line.text.trim()));
}

function pair(before: Line[], after: Line[], i: number, j: number): DiffRow {
  return { kind: before[i].text === after[j].text ? "same" : "changed", before: i, after: j };
}

/** What lies between two common lines: replaced ops are paired with what they came from, the rest is gone or new. */
function gap(
  before: Line[], after: Line[], [fromI, toI]: [number, number], [fromJ, toJ]: [number, number], provenance?: Provenance,
): DiffRow[] {
  const rows: DiffRow[] = [];
  let i = fromI;
  for (let j = fromJ; j < toJ; j += 1) {
    const parent = provenance ? findParent(before, after[j], i, toI, provenance) : -1;
    if (parent < 0) {
      rows.push({ kind: "new", before: -1, after: j });
      continue;
    }
    while (i < parent) rows.push({ kind: "gone", before: i++, after: -1 });
    rows.push({ kind: "changed", before: i++, after: j });
  }
  while (i < toI) rows.push({ kind: "gone", before: i++, after: -1 });
  return rows;
}

function findParent(before: Line[], line: Line, from: number, to: number, provenance: Provenance): number {
  const ancestors = provenance.ancestors(line.uids);
  for (let i = from; i < to; i += 1) if (before[i].uids.some(uid => ancestors.has(uid))) return i;
  return -1;
}

function markMoved(rows: DiffRow[], keysBefore: string[], keysAfter: string[]): DiffRow[] {
  const gone = new Set(rows.filter(row => row.kind === "gone").map(row => keysBefore[row.before]));
  const fresh = new Set(rows.filter(row => row.kind === "new").map(row => keysAfter[row.after]));
  const moved = (key: string): boolean => key.startsWith("#") && gone.has(key) && fresh.has(key);
  return rows.map(row => {
    const key = row.kind === "gone" ? keysBefore[row.before] : row.kind === "new" ? keysAfter[row.after] : "";
    return key && moved(key) ? { ...row, kind: "moved" } : row;
  });
}

/** Index pairs of a longest common subsequence; equal heads and tails are taken off first. */
function longestCommon(a: string[], b: string[]): [number, number][] {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const middle = table(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const pairs: [number, number][] = [];
  for (let i = 0; i < head; i += 1) pairs.push([i, i]);
  for (const [i, j] of middle) pairs.push([i + head, j + head]);
  for (let k = tail; k > 0; k -= 1) pairs.push([a.length - k, b.length - k]);
  return pairs;
}

function table(a: string[], b: string[]): [number, number][] {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = a[i] === b[j]
        ? lengths[(i + 1) * width + j + 1] + 1
        : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return pairs;
}
