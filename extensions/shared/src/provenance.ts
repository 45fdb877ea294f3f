// Who came from whom, as in tinyton_lab/record/provenance.py: the same closure over the same edges.
import type { ProvenanceJson } from "./record.gen.js";

type Neighbours = Map<number, number[]>;

/** Edges between op numbers; 0 on either side ends a thread. */
export class Provenance {
  private readonly parents: Neighbours = new Map();
  private readonly children: Neighbours = new Map();
  private readonly fates = new Map<number, string[]>();

  constructor(json: ProvenanceJson) {
    json.child.forEach((child, i) => {
      const parent = json.parent[i];
      push(this.parents, child, parent);
      push(this.children, parent, child);
      push(this.fates, parent, json.kinds[json.kind[i]]);
    });
  }

  /** All ops that `uids` came from, themselves included. */
  ancestors(uids: Iterable<number>): Set<number> {
    return closure(uids, this.parents);
  }

  /** All ops that `uids` became, themselves included. */
  descendants(uids: Iterable<number>): Set<number> {
    return closure(uids, this.children);
  }

  /** Ancestors and descendants: what lights up when one of `uids` is selected. */
  kin(uids: Iterable<number>): Set<number> {
    const chosen = [...uids];
    return new Set([...this.ancestors(chosen), ...this.descendants(chosen)]);
  }

  /** The parents recorded for one op, without the compiler's own (0). */
  parentsOf(uid: number): number[] {
    return (this.parents.get(uid) ?? []).filter(parent => parent !== 0);
  }

  /** The kinds of the edges that lead away from an op. */
  fatesOf(uid: number): string[] {
    return this.fates.get(uid) ?? [];
  }
}

function push<V>(map: Map<number, V[]>, key: number, value: V): void {
  const values = map.get(key);
  if (values) values.push(value);
  else map.set(key, [value]);
}

function closure(start: Iterable<number>, step: Neighbours): Set<number> {
  const seen = new Set<number>();
  const queue = [...start].filter(uid => uid !== 0);
  while (queue.length) {
    const uid = queue.pop() as number;
    if (seen.has(uid)) continue;
    seen.add(uid);
    for (const next of step.get(uid) ?? []) if (next !== 0) queue.push(next);
  }
  return seen;
}
