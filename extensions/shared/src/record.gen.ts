// Generated from tinyton_lab/record/shape.py by `make regen`. Do not edit.
export const SCHEMA = "tinyton.record/1";
export const MIME = "application/vnd.tinyton.record.v1+json";
export type Uids = number | number[];
export type Lanes = Value[] | RampJson;
export type Value = number | boolean | string;

/** An optimisation that did not happen at op `uid`, and why. */
export interface MissJson {
  rule: string;
  uid: number;
  reason: string;
  facts?: string[];
}

/** Lines `at` to `at + drop` of the base stage are replaced by `text`, whose op numbers are `uids`. */
export interface EditJson {
  at: number;
  drop: number;
  text: string[];
  uids: Uids[];
}

/** One stage: either `text` with one entry of `uids` per line (0: none), or `edits` of the stage with index `base`. `size` counts its instructions, ops or lines. A range is ``[uid, label, line, column, end line, end column]`` with `label` an index into the record's labels. */
export interface StageJson {
  name: string;
  kind: string;
  size: number;
  text?: string;
  uids?: Uids[];
  base?: number;
  edits?: EditJson[];
  same?: true;
  doc?: string;
  facts?: [number, string][];
  misses?: MissJson[];
  graph?: string;
  ranges?: [number, number, number, number, number, number][];
  label?: string;
  first_line?: number;
}

/** A picture of stage number `stage`: its DOT text, its drawing as SVG ("" where none was made) and a sentence. */
export interface GraphJson {
  stage: number;
  title: string;
  sentence: string;
  dot: string;
  svg: string;
}

/** Edges in columns; `kind` indexes `kinds`. Child 0: the parent ended; parent 0: made by the compiler. */
export interface ProvenanceJson {
  kinds: string[];
  child: number[];
  parent: number[];
  kind: number[];
}

/** A fault or remark; `severity` is error, warning or remark. */
export interface DiagnosticJson {
  severity: string;
  code: string;
  message: string;
  rendered: string;
  range?: [number, number, number, number, number, number];
}

/** Lane l holds ``start + l * step``. */
export interface RampJson {
  start: number;
  step: number;
}

/** An access of step `at`, in their order: byte offsets into `name` per lane, -1 where the lane took no part. */
export interface AccessJson {
  at: number;
  space: string;
  kind: string;
  name: string;
  bytes: number;
  offsets: Lanes;
}

/** What the warp of step `at` waited for. */
export interface WaitJson {
  at: number;
  reason: string;
}

/** Something wrong (error) or worth knowing (note) about a run. */
export interface FindingJson {
  severity: string;
  code: string;
  message: string;
  where: string;
  line: number;
  uid: number;
}

/** The steps of a launch in columns; `cta`, `text` and the register of a write index the tables above them. One value in `Lanes` stands for all lanes. NaN and infinities are written as text, integers beyond 2^53 too. `total` counts the steps of the whole recording, of which the first are here; `index` is absent where it counts from 0. `ptx` is absent where it is the stage's own text. */
export interface RecordingJson {
  kernel: string;
  level: string;
  ptx?: string;
  grid: number[];
  block: number[];
  ctas: number[][];
  texts: string[];
  registers: string[];
  total: number;
  index?: number[];
  cta: number[];
  warp: number[];
  line: number[];
  uid: number[];
  text: number[];
  mask: number[];
  writes: [number, Lanes][][];
  accesses: AccessJson[];
  waits: WaitJson[];
  findings: FindingJson[];
  counts: [string, number][];
}

/** What was compiled: types of the arguments, compile-time constants, options. */
export interface KernelJson {
  name: string;
  target: string;
  signature: [string, string][];
  constants: [string, string][];
  options: [string, string][];
}

/** Everything the screens show of one kernel. `schema` is the version. */
export interface RecordJson {
  schema: "tinyton.record/1";
  kernel: KernelJson;
  labels: string[];
  stages: StageJson[];
  provenance: ProvenanceJson;
  diagnostics: DiagnosticJson[];
  resources: ([string, number | string])[];
  graphs?: GraphJson[];
  recording?: RecordingJson;
}
