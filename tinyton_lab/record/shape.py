"""The shape of a record as JSON. Types only; the JSON Schema and the TypeScript types are made from them."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

SCHEMA = "tinyton.record/1"
MIME = "application/vnd.tinyton.record.v1+json"

Pair = tuple[str, str]
Uids = int | list[int]
RangeJson = tuple[int, int, int, int, int, int]
FactJson = tuple[int, str]
Value = int | float | bool | str


class MissJson(TypedDict):
    """An optimisation that did not happen at op `uid`, and why."""

    rule: str
    uid: int
    reason: str
    facts: NotRequired[list[str]]


class EditJson(TypedDict):
    """Lines `at` to `at + drop` of the base stage are replaced by `text`, whose op numbers are `uids`."""

    at: int
    drop: int
    text: list[str]
    uids: list[Uids]


class StageJson(TypedDict):
    """One stage: either `text` with one entry of `uids` per line (0: none), or `edits` of the stage with index `base`.

    `size` counts its instructions, ops or lines. A range is ``[uid, label, line, column, end line, end column]`` with
    `label` an index into the record's labels.
    """

    name: str
    kind: str
    size: int
    text: NotRequired[str]
    uids: NotRequired[list[Uids]]
    base: NotRequired[int]
    edits: NotRequired[list[EditJson]]
    same: NotRequired[Literal[True]]
    doc: NotRequired[str]
    facts: NotRequired[list[FactJson]]
    misses: NotRequired[list[MissJson]]
    graph: NotRequired[str]
    ranges: NotRequired[list[RangeJson]]
    label: NotRequired[str]
    first_line: NotRequired[int]


class GraphJson(TypedDict):
    """A picture of stage number `stage`: its DOT text, its drawing as SVG ("" where none was made) and a sentence."""

    stage: int
    title: str
    sentence: str
    dot: str
    svg: str


class ProvenanceJson(TypedDict):
    """Edges in columns; `kind` indexes `kinds`. Child 0: the parent ended; parent 0: made by the compiler."""

    kinds: list[str]
    child: list[int]
    parent: list[int]
    kind: list[int]


class DiagnosticJson(TypedDict):
    """A fault or remark; `severity` is error, warning or remark."""

    severity: str
    code: str
    message: str
    rendered: str
    range: NotRequired[RangeJson]


class RampJson(TypedDict):
    """Lane l holds ``start + l * step``."""

    start: int
    step: int


Lanes = list[Value] | RampJson
WriteJson = tuple[int, Lanes]


class AccessJson(TypedDict):
    """An access of step `at`, in their order: byte offsets into `name` per lane, -1 where the lane took no part."""

    at: int
    space: str
    kind: str
    name: str
    bytes: int
    offsets: Lanes


class WaitJson(TypedDict):
    """What the warp of step `at` waited for."""

    at: int
    reason: str


class FindingJson(TypedDict):
    """Something wrong (error) or worth knowing (note) about a run."""

    severity: str
    code: str
    message: str
    where: str
    line: int
    uid: int


class RecordingJson(TypedDict):
    """The steps of a launch in columns; `cta`, `text` and the register of a write index the tables above them.

    One value in `Lanes` stands for all lanes. NaN and infinities are written as text, integers beyond 2^53 too. `total`
    counts the steps of the whole recording, of which the first are here; `index` is absent where it counts from 0.
    `ptx` is absent where it is the stage's own text.
    """

    kernel: str
    level: str
    ptx: NotRequired[str]
    grid: list[int]
    block: list[int]
    ctas: list[list[int]]
    texts: list[str]
    registers: list[str]
    total: int
    index: NotRequired[list[int]]
    cta: list[int]
    warp: list[int]
    line: list[int]
    uid: list[int]
    text: list[int]
    mask: list[int]
    writes: list[list[WriteJson]]
    accesses: list[AccessJson]
    waits: list[WaitJson]
    findings: list[FindingJson]
    counts: list[tuple[str, int]]


class KernelJson(TypedDict):
    """What was compiled: types of the arguments, compile-time constants, options."""

    name: str
    target: str
    signature: list[Pair]
    constants: list[Pair]
    options: list[Pair]


class RecordJson(TypedDict):
    """Everything the screens show of one kernel. `schema` is the version."""

    schema: Literal["tinyton.record/1"]
    kernel: KernelJson
    labels: list[str]
    stages: list[StageJson]
    provenance: ProvenanceJson
    diagnostics: list[DiagnosticJson]
    resources: list[tuple[str, int | str]]
    graphs: NotRequired[list[GraphJson]]
    recording: NotRequired[RecordingJson]
