"""A compilation, its pictures and its recording as one JSON record and back. Knows the shape, no screen."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from tinyton_lab.record import delta, steps, text
from tinyton_lab.record.provenance import KINDS, Provenance
from tinyton_lab.record.recording import Recording
from tinyton_lab.record.shape import SCHEMA, DiagnosticJson, GraphJson, ProvenanceJson, RangeJson, RecordJson, StageJson
from tinyton_lab.record.stage import Compilation, Diagnostic, Miss, SourceRange, Stage


@dataclass(frozen=True, slots=True)
class Graph:
    """A picture of the stage called `stage`: a title, a sentence that says what is drawn, its DOT text, its SVG."""

    stage: str
    title: str
    sentence: str
    dot: str
    svg: str = ""


def encode(
    compilation: Compilation, recording: Recording | None = None, graphs: Sequence[Graph] = (), limit: int | None = None
) -> RecordJson:
    """Write a record: plain lists, strings and small integers, no times and no addresses.

    `limit` bounds the steps of the recording that are written.
    """
    labels = steps.Table()
    stages = list(compilation.stages.values())
    record: RecordJson = {
        "schema": SCHEMA,
        "kernel": {
            "name": compilation.kernel,
            "target": compilation.target,
            "signature": list(compilation.signature),
            "constants": list(compilation.constants),
            "options": list(compilation.options),
        },
        "labels": [],
        "stages": [_stage(stages, i, labels) for i in range(len(stages))],
        "provenance": _provenance(compilation.provenance),
        "diagnostics": [_diagnostic(diagnostic, labels) for diagnostic in compilation.diagnostics],
        "resources": list(compilation.resources.items()),
    }
    record["labels"] = labels.list()
    if graphs:
        record["graphs"] = [_graph(graph, list(compilation.stages)) for graph in graphs]
    if recording is not None:
        record["recording"] = steps.encode(recording, _ptx(compilation), limit)
    return record


def decode(record: RecordJson) -> tuple[Compilation, Recording | None, tuple[Graph, ...]]:
    """Read a record back. Raises ValueError where it is of another version."""
    if record.get("schema") != SCHEMA:
        raise ValueError(f"not a {SCHEMA} record: {record.get('schema')!r}")
    kernel, labels = record["kernel"], record["labels"]
    texts: list[list[delta.Line]] = []
    stages: dict[str, Stage] = {}
    for shape in record["stages"]:
        texts.append(_lines(shape, texts))
        stages[shape["name"]] = _read_stage(shape, texts[-1], labels)
    compilation = Compilation(
        kernel["name"],
        kernel["target"],
        _pairs(kernel["signature"]),
        _pairs(kernel["constants"]),
        _pairs(kernel["options"]),
        stages,
        _read_provenance(record["provenance"]),
        [_read_diagnostic(diagnostic, labels) for diagnostic in record["diagnostics"]],
        dict(record["resources"]),
    )
    names = list(stages)
    graphs = tuple(
        Graph(names[graph["stage"]], graph["title"], graph["sentence"], graph["dot"], graph["svg"])
        for graph in record.get("graphs", ())
    )
    recording = record.get("recording")
    return compilation, steps.decode(recording, _ptx(compilation)) if recording else None, graphs


def dumps(record: RecordJson) -> str:
    """Write a record as compact JSON text that may stand inside an HTML script element."""
    written = json.dumps(record, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        written = written.replace(character, f"\\u{ord(character):04x}")
    return written


def digest(record: RecordJson) -> str:
    """The first 16 hex digits of the record's SHA-256: equal records have equal digests."""
    return hashlib.sha256(dumps(record).encode("ascii")).hexdigest()[:16]


def _ptx(compilation: Compilation) -> str:
    return compilation.stages["ptx"].text if "ptx" in compilation.stages else ""


def _stage(stages: Sequence[Stage], index: int, labels: steps.Table) -> StageJson:
    stage = stages[index]
    shape: StageJson = {"name": stage.name, "kind": stage.kind, "size": text.size(stage)}
    base = _base(stages, index)
    lines = delta.lines_of(stage.text, stage.lines)
    before = delta.lines_of(stages[base].text, stages[base].lines) if base is not None else []
    changes = delta.edits(before, lines)
    if base is not None and delta.saves(before, changes):
        shape["base"], shape["edits"] = base, changes
    else:
        shape["text"] = stage.text
        shape["uids"] = [delta.pack(uids) for uids in stage.lines] if any(stage.lines) else []
    if not stage.changed:
        shape["same"] = True
    extras: dict[str, Any] = {
        "doc": stage.doc,
        "facts": list(stage.facts),
        "misses": [_miss(miss) for miss in stage.misses],
        "graph": stage.graph,
        "ranges": [_range(range_, labels) for range_ in stage.ranges],
        "label": stage.label,
        "first_line": stage.first_line if stage.first_line != 1 else 0,
    }
    return cast(StageJson, shape | {name: value for name, value in extras.items() if value})


def _base(stages: Sequence[Stage], index: int) -> int | None:
    """The stage that stage `index` is a step after, if any."""
    if index and stages[index - 1].family == stages[index].family:
        return index - 1
    return None


def _lines(shape: StageJson, earlier: Sequence[list[delta.Line]]) -> list[delta.Line]:
    if "edits" in shape and "base" in shape:
        return delta.apply(earlier[shape["base"]], shape["edits"])
    return delta.lines_of(shape.get("text", ""), [delta.unpack(uids) for uids in shape.get("uids", ())])


def _read_stage(shape: StageJson, lines: Sequence[delta.Line], labels: Sequence[str]) -> Stage:
    whole = "\n".join(line for line, _ in lines)
    uids = tuple(line_uids for _, line_uids in lines[: len(whole.splitlines())])
    return Stage(
        shape["name"],
        shape["kind"],
        whole,
        uids if any(uids) else (),
        not shape.get("same", False),
        shape.get("doc", ""),
        tuple((uid, fact) for uid, fact in shape.get("facts", ())),
        tuple(Miss(m["rule"], m["uid"], m["reason"], tuple(m.get("facts", ()))) for m in shape.get("misses", ())),
        shape.get("graph", ""),
        tuple(_read_range(range_, labels) for range_ in shape.get("ranges", ())),
        label=shape.get("label", ""),
        first_line=shape.get("first_line", 1),
    )


def _miss(miss: Miss) -> dict[str, Any]:
    shape: dict[str, Any] = {"rule": miss.rule, "uid": miss.uid, "reason": miss.reason}
    return shape | ({"facts": list(miss.facts)} if miss.facts else {})


def _range(range_: SourceRange, labels: steps.Table) -> RangeJson:
    return (
        range_.uid,
        labels(range_.label),
        range_.line,
        range_.column,
        range_.end_line,
        range_.end_column,
    )


def _read_range(shape: RangeJson, labels: Sequence[str]) -> SourceRange:
    uid, label, line, column, end_line, end_column = shape
    return SourceRange(uid, labels[label], line, column, end_line, end_column)


def _provenance(provenance: Provenance) -> ProvenanceJson:
    kinds: list[str] = list(KINDS)
    return {
        "kinds": kinds,
        "child": [child for child, _, _ in provenance.edges],
        "parent": [parent for _, parent, _ in provenance.edges],
        "kind": [kinds.index(kind) for _, _, kind in provenance.edges],
    }


def _read_provenance(shape: ProvenanceJson) -> Provenance:
    columns = zip(shape["child"], shape["parent"], shape["kind"], strict=True)
    return Provenance([(child, parent, shape["kinds"][kind]) for child, parent, kind in columns])


def _diagnostic(diagnostic: Diagnostic, labels: steps.Table) -> DiagnosticJson:
    shape: DiagnosticJson = {
        "severity": diagnostic.severity,
        "code": diagnostic.code,
        "message": diagnostic.message,
        "rendered": diagnostic.rendered,
    }
    if diagnostic.range is not None:
        shape["range"] = _range(diagnostic.range, labels)
    return shape


def _read_diagnostic(shape: DiagnosticJson, labels: Sequence[str]) -> Diagnostic:
    range_ = _read_range(shape["range"], labels) if "range" in shape else None
    return Diagnostic(shape["severity"], shape["code"], shape["message"], shape["rendered"], range_)


def _graph(graph: Graph, names: Sequence[str]) -> GraphJson:
    return {
        "stage": names.index(graph.stage),
        "title": graph.title,
        "sentence": graph.sentence,
        "dot": graph.dot,
        "svg": graph.svg,
    }


def _pairs(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in pairs)
