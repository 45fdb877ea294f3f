"""What a notebook stores of a compilation: the record for the viewer, static HTML, and one line of text."""

from __future__ import annotations

import json
from typing import Any

from tinyton_lab.lab import graphs
from tinyton_lab.record import html, schema, text
from tinyton_lab.record.recording import Recording
from tinyton_lab.record.shape import MIME, SCHEMA
from tinyton_lab.record.stage import Compilation, Stage

MAXIMUM_RECORD_BYTES = 512_000
Bundle = tuple[dict[str, Any], dict[str, Any]]


def bundle(
    compilation: Compilation, recording: Recording | None = None, static: bool = False, view: str = ""
) -> Bundle:
    """Make the (data, metadata) of an output.

    The data holds what a comparison of outputs should see: fingerprint, digest, static HTML, one line of text. The
    whole record lies in the metadata. `static` leaves the record out; `view` is the view that opens first.
    """
    drawn = graphs.graphs(compilation)
    fingerprint = text.fingerprint(compilation)
    data: dict[str, Any] = {"text/html": html.card(compilation, recording, drawn), "text/plain": fingerprint}
    if static:
        return data, {}
    record = fitting(compilation, recording, drawn)
    head = {"schema": SCHEMA, "fingerprint": fingerprint, "digest": schema.digest(record)}
    return {MIME: head, **data}, {MIME: {"record": record, **({"view": view} if view else {})}}


def fitting(
    compilation: Compilation, recording: Recording | None, drawn: tuple[schema.Graph, ...]
) -> schema.RecordJson:
    """Encode a record of at most `MAXIMUM_RECORD_BYTES`: the last steps go first, then the drawings."""
    steps = len(recording.steps) if recording else 0
    record = schema.encode(compilation, recording, drawn)
    while size(record) > MAXIMUM_RECORD_BYTES and steps > 64:
        steps = steps * MAXIMUM_RECORD_BYTES * 9 // (size(record) * 10)
        record = schema.encode(compilation, recording, drawn, limit=steps)
    if size(record) > MAXIMUM_RECORD_BYTES:
        record = schema.encode(compilation, recording, limit=steps)
    return record


def size(record: schema.RecordJson) -> int:
    """The bytes of a record as a notebook stores it."""
    return len(json.dumps(record))


def save(path: str, compilation: Compilation, recording: Recording | None = None) -> None:
    """Write the whole record, uncut, to a file (by custom ``.ttcard``)."""
    record = schema.encode(compilation, recording, graphs.graphs(compilation))
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(schema.dumps(record) + "\n")


def load(path: str) -> tuple[Compilation, Recording | None]:
    """Read what `save` wrote. Raises ValueError for a file of another version."""
    with open(path, encoding="utf-8") as file:
        compilation, recording, _ = schema.decode(json.load(file))
    return compilation, recording


def of_recording(recording: Recording) -> Compilation:
    """A compilation that holds a recording's PTX and nothing else, so that the trace can be shown by itself."""
    lines = recording.ptx.splitlines()
    uids: list[tuple[int, ...]] = [()] * len(lines)
    for step in recording.steps:
        if 0 < step.line <= len(lines) and step.uid:
            uids[step.line - 1] = (step.uid,)
    stage = Stage("ptx", "asm", recording.ptx, tuple(uids), doc="The program that ran.")
    return Compilation(recording.kernel, "sim", stages={"ptx": stage})
