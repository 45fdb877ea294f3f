// A record made ready for the views: lines of every stage, who is kin to whom, source ranges, steps. No DOM, no state.
import { linesOf, type Line } from "./delta.js";
import { Provenance } from "./provenance.js";
import { SCHEMA, type GraphJson, type MissJson, type RecordJson, type RecordingJson } from "./record.gen.js";

export const TITLES: Record<string, string> = {
  python: "Python", ast: "AST", tile: "Tile IR", layout: "Layout IR", llvm: "LLVM IR", ptx: "PTX", sass: "SASS",
  cpu_llvm: "CPU LLVM IR", cpu_asm: "CPU assembly",
};

/** Stages whose text is in another language than their kind says. */
const LANGUAGES: Record<string, string> = { cpu_llvm: "ir" };
/** The stages that stand for the end of the line, the best first: native code is a branch of its own. */
const ENDS = ["sass", "ptx", "cpu_asm", "cpu_llvm"];

export interface Range {
  uid: number;
  line: number;
  column: number;
  endLine: number;
  endColumn: number;
}

export interface Stage {
  index: number;
  name: string;
  family: string;
  pass: string;
  title: string;
  kind: string;
  doc: string;
  changed: boolean;
  lines: Line[];
  facts: [number, string][];
  misses: MissJson[];
  size: number;
  language: string;
  byUid: Map<number, number[]>;
}

export interface Family {
  name: string;
  title: string;
  stages: number[];
}

/** What one source line became: `kept` reaches the machine, the others say how its ops ended; `none` had no ops. */
export type Fate = "kept" | "fused" | "folded" | "dropped" | "none";
/** Lines of an assembly that are no instructions: directives, comments, labels. */
const NO_INSTRUCTION = /^\s*(\.|\/\/|[$\w.]+:\s*$)/;

export class Model {
  readonly stages: Stage[] = [];
  readonly families: Family[] = [];
  readonly provenance: Provenance;
  /** Ranges in the stage `python`, lines counted from 0 in its text. */
  readonly ranges: Range[];
  readonly graphs: GraphJson[];
  readonly recording: RecordingJson | undefined;
  readonly python: number;
  private readonly sourceLines: Map<number, number>;

  constructor(readonly record: RecordJson) {
    if (record.schema !== SCHEMA) throw new Error(`this viewer reads ${SCHEMA}, not ${String(record.schema)}`);
    this.provenance = new Provenance(record.provenance);
    const raw: Line[][] = [];
    record.stages.forEach((json, index) => {
      raw.push(linesOf(json, raw));
      this.stages.push(this.stage(index, trimmed(raw[index])));
    });
    for (const stage of this.stages) this.addToFamily(stage);
    this.python = Math.max(0, this.stages.findIndex(stage => stage.name === "python"));
    this.ranges = this.readRanges();
    this.graphs = record.graphs ?? [];
    this.recording = record.recording;
    this.sourceLines = this.findSourceLines();
  }

  /** The family of a stage. */
  familyOf(stage: number): Family {
    return this.families.find(family => family.stages.includes(stage)) as Family;
  }

  /** The stage that stands for a family in a listing: the text after its last pass. */
  last(family: Family): number {
    return family.stages[family.stages.length - 1];
  }

  /** The stage that the others lead to. */
  end(): number {
    const found = ENDS.map(name => this.stages.findIndex(stage => stage.name === name)).find(index => index >= 0);
    return found ?? this.stages.length - 1;
  }

  /** Where the first line of a stage that belongs to one of `uids` is, or -1. */
  firstLine(stage: number, uids: ReadonlySet<number>): number {
    return this.kinLines(stage, uids)[0] ?? -1;
  }

  /** All lines of a stage that belong to one of `uids`; of an assembly the instructions. */
  kinLines(stage: number, uids: ReadonlySet<number>): number[] {
    const { byUid, lines, kind } = this.stages[stage];
    const found = new Set<number>();
    for (const uid of uids) for (const line of byUid.get(uid) ?? []) found.add(line);
    const sorted = [...found].sort((a, b) => a - b);
    return kind === "asm" ? sorted.filter(line => !NO_INSTRUCTION.test(lines[line].text)) : sorted;
  }

  /** The line of the stage `python` (from 0) that an op came from, or -1. */
  sourceLine(uid: number): number {
    const own = this.sourceLines.get(uid);
    if (own !== undefined) return own;
    for (const ancestor of this.provenance.ancestors([uid])) {
      const line = this.sourceLines.get(ancestor);
      if (line !== undefined) return line;
    }
    return -1;
  }

  /** The element type of the tile op with number `uid` (`f32`), or "". */
  elementType(uid: number): string {
    for (const family of this.families.filter(each => each.name === "tile" || each.name === "layout")) {
      for (const stage of family.stages) {
        const line = this.stages[stage].byUid.get(uid)?.[0];
        const type = line === undefined ? null : /: (?:tile<(?:\d+x)*)?([a-z]+\d+)\b/.exec(this.stages[stage].lines[line].text);
        if (type) return type[1];
      }
    }
    return "";
  }

  /** The exact source texts of `uids`: the innermost ranges, in order. */
  rangesOf(uids: ReadonlySet<number>): Range[] {
    return this.ranges.filter(range => uids.has(range.uid));
  }

  /** The ops behind one place of the source: those of the smallest range that covers it. */
  uidsAt(line: number, column: number): number[] {
    const covering = this.ranges.filter(range => covers(range, line, column));
    const size = (range: Range): number => (range.endLine - range.line) * 10000 + range.endColumn - range.column;
    const smallest = Math.min(...covering.map(size));
    return covering.filter(range => size(range) === smallest).map(range => range.uid);
  }

  /** What became of a source line: whether any of its ops is in the last stage, else how they ended. */
  fate(line: number): Fate {
    const uids = this.stages[this.python].lines[line].uids;
    if (!uids.length) return "none";
    const last = this.stages[this.end()];
    const became = this.provenance.descendants(uids);
    if ([...became].some(uid => last.byUid.has(uid))) return "kept";
    const kinds = new Set([...became].flatMap(uid => this.provenance.fatesOf(uid)));
    return kinds.has("folded") ? "folded" : kinds.has("fused") ? "fused" : "dropped";
  }

  /** Misses of all stages, once per rule and op, with the stage that declined. */
  remarks(): { stage: number; miss: MissJson }[] {
    const found = new Map<string, { stage: number; miss: MissJson }>();
    for (const stage of this.stages) {
      for (const miss of stage.misses) {
        const key = `${miss.rule} ${miss.uid}`;
        if (!found.has(key)) found.set(key, { stage: stage.index, miss });
      }
    }
    return [...found.values()];
  }

  private stage(index: number, lines: Line[]): Stage {
    const json = this.record.stages[index];
    const [family, pass = ""] = json.name.split(/\/(.*)/s);
    const byUid = new Map<number, number[]>();
    lines.forEach((line, i) => {
      for (const uid of line.uids) byUid.set(uid, [...(byUid.get(uid) ?? []), i]);
    });
    return {
      index, name: json.name, family, pass, title: title(family), kind: json.kind, doc: json.doc ?? "",
      changed: !json.same, lines, facts: json.facts ?? [], misses: json.misses ?? [],
      size: json.size, language: Object.hasOwn(LANGUAGES, family) ? LANGUAGES[family] : json.kind, byUid,
    };
  }

  private addToFamily(stage: Stage): void {
    const family = this.families.find(known => known.name === stage.family);
    if (family) family.stages.push(stage.index);
    else this.families.push({ name: stage.family, title: stage.title, stages: [stage.index] });
  }

  private readRanges(): Range[] {
    const python = this.record.stages[this.python];
    const first = python?.first_line ?? 1;
    const ranges = this.record.stages.flatMap(stage => stage.ranges ?? []);
    return ranges
      .filter(([, label]) => !python?.label || this.record.labels[label] === python.label)
      .map(([uid, , line, column, endLine, endColumn]) => (
        { uid, line: line - first, column, endLine: endLine - first, endColumn }
      ));
  }

  private findSourceLines(): Map<number, number> {
    const lines = new Map<number, number>();
    for (const range of this.ranges) if (!lines.has(range.uid)) lines.set(range.uid, range.line);
    this.stages[this.python]?.lines.forEach((line, i) => {
      for (const uid of line.uids) if (!lines.has(uid)) lines.set(uid, i);
    });
    return lines;
  }
}

/** The title of a family; a family without a row of its own is called by its name. */
export function title(family: string): string {
  return Object.hasOwn(TITLES, family) ? TITLES[family] : family;
}

function covers(range: Range, line: number, column: number): boolean {
  const afterStart = line > range.line || (line === range.line && column >= range.column);
  return afterStart && (line < range.endLine || (line === range.endLine && column < range.endColumn));
}

function trimmed(lines: Line[]): Line[] {
  const last = lines[lines.length - 1];
  return lines.length > 1 && last.text === "" ? lines.slice(0, -1) : lines;
}
