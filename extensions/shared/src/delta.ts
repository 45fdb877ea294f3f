// Text of a stage from edits of an earlier one, as in tinyton_lab/record/delta.py.
import type { EditJson, StageJson, Uids } from "./record.gen.js";

export interface Line {
  text: string;
  uids: number[];
}

/** Read the op numbers of one line. */
export function unpack(uids: Uids | undefined): number[] {
  return Array.isArray(uids) ? uids : uids ? [uids] : [];
}

/** The lines of a stage; `earlier` are the lines of the stages before it. */
export function linesOf(stage: StageJson, earlier: Line[][]): Line[] {
  if (stage.edits !== undefined && stage.base !== undefined) return apply(earlier[stage.base], stage.edits);
  return (stage.text ?? "").split("\n").map((text, i) => ({ text, uids: unpack(stage.uids?.[i]) }));
}

/** The lines after the changes. */
export function apply(before: Line[], changes: EditJson[]): Line[] {
  const after: Line[] = [];
  let place = 0;
  for (const change of changes) {
    after.push(...before.slice(place, change.at));
    change.text.forEach((text, i) => after.push({ text, uids: unpack(change.uids[i]) }));
    place = change.at + change.drop;
  }
  return after.concat(before.slice(place));
}
