"""A recording as JSON columns and back. Knows how values travel in JSON, not what an instruction does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from tinyton_lab.record.events import Access, Finding, Step
from tinyton_lab.record.recording import Recording
from tinyton_lab.record.shape import AccessJson, Lanes, RecordingJson, Value, WriteJson

EXACT = 2**53
WARP_LANES = 32


class Table:
    """A list without repetitions; calling it gives the index of an entry, adding it where it is new."""

    def __init__(self) -> None:
        self.entries: dict[Any, int] = {}

    def __call__(self, entry: Any) -> int:
        return self.entries.setdefault(entry, len(self.entries))

    def list(self) -> list[Any]:
        return list(self.entries)


def encode(recording: Recording, ptx: str = "", limit: int | None = None) -> RecordingJson:
    """Write a recording; only its first `limit` steps if given, and no PTX text where it equals `ptx`."""
    steps = recording.steps if limit is None else recording.steps[:limit]
    ctas, texts, registers = Table(), Table(), Table()
    record: RecordingJson = {
        "kernel": recording.kernel,
        "level": recording.level,
        "grid": list(recording.grid),
        "block": list(recording.block),
        "ctas": [],
        "texts": [],
        "registers": [],
        "total": len(recording.steps),
        "cta": [ctas(step.cta) for step in steps],
        "warp": [step.warp for step in steps],
        "line": [step.line for step in steps],
        "uid": [step.uid for step in steps],
        "text": [texts(step.text) for step in steps],
        "mask": [step.mask for step in steps],
        "writes": [[_write(registers(name), values) for name, values in step.writes] for step in steps],
        "accesses": [_access(i, access) for i, step in enumerate(steps) for access in step.accesses],
        "waits": [{"at": i, "reason": step.waits} for i, step in enumerate(steps) if step.waits],
        "findings": [
            {
                "severity": f.severity,
                "code": f.code,
                "message": f.message,
                "where": f.where,
                "line": f.line,
                "uid": f.uid,
            }
            for f in recording.findings
        ],
        "counts": sorted(recording.counts.items()),
    }
    record["ctas"] = [list(cta) for cta in ctas.list()]
    record["texts"], record["registers"] = texts.list(), registers.list()
    if recording.ptx != ptx:
        record["ptx"] = recording.ptx
    if any(step.index != i for i, step in enumerate(steps)):
        record["index"] = [step.index for step in steps]
    return record


def decode(record: RecordingJson, ptx: str = "") -> Recording:
    """Read a recording back; `ptx` is the text of the record's own PTX stage."""
    accesses: dict[int, list[Access]] = {}
    for access in record["accesses"]:
        accesses.setdefault(access["at"], []).append(_read_access(access))
    waits = {wait["at"]: wait["reason"] for wait in record["waits"]}
    index = record.get("index")
    steps = [
        Step(
            index[i] if index else i,
            _triple(record["ctas"][cta]),
            record["warp"][i],
            record["line"][i],
            record["uid"][i],
            record["texts"][record["text"][i]],
            record["mask"][i],
            tuple((record["registers"][write[0]], read_lanes(write[1])) for write in record["writes"][i]),
            accesses.get(i, [None])[-1],
            waits.get(i, ""),
            more=tuple(accesses.get(i, ())[:-1]),
        )
        for i, cta in enumerate(record["cta"])
    ]
    findings = [
        Finding(f["severity"], f["code"], f["message"], f["where"], f["line"], f["uid"]) for f in record["findings"]
    ]
    return Recording(
        record["kernel"],
        record.get("ptx", ptx),
        _triple(record["grid"]),
        _triple(record["block"]),
        steps,
        findings,
        dict(record["counts"]),
        record["level"],
    )


def pack_lanes(values: Sequence[Any]) -> Lanes:
    """Write the values of the lanes of one register, briefly where they are equal or evenly spaced integers.

    >>> pack_lanes([7] * 32), pack_lanes(range(0, 128, 4))
    ([7], {'start': 0, 'step': 4})
    """
    packed = [_value(value) for value in values]
    if len(packed) == WARP_LANES and all(value == packed[0] and type(value) is type(packed[0]) for value in packed):
        return packed[:1]
    if len(packed) == WARP_LANES and all(type(value) is int for value in packed):
        step = int(packed[1]) - int(packed[0])
        if all(value == int(packed[0]) + lane * step for lane, value in enumerate(packed)):
            return {"start": int(packed[0]), "step": step}
    return packed


def read_lanes(lanes: Lanes) -> tuple[Any, ...]:
    """Read the values of all lanes."""
    if isinstance(lanes, dict):
        return tuple(lanes["start"] + lane * lanes["step"] for lane in range(WARP_LANES))
    values = tuple(_read_value(value) for value in lanes)
    return values * WARP_LANES if len(values) == 1 else values


def _value(value: Any) -> Value:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value
    if hasattr(value, "item"):
        return _value(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return int(value) if -EXACT <= int(value) <= EXACT else str(int(value))


def _read_value(value: Value) -> Any:
    if not isinstance(value, str):
        return value
    if value in ("nan", "inf", "-inf"):
        return float(value)
    return int(value) if value.lstrip("-").isdigit() else value


def _write(register: int, values: Sequence[Any]) -> WriteJson:
    return register, pack_lanes(values)


def _access(at: int, access: Access) -> AccessJson:
    return {
        "at": at,
        "space": access.space,
        "kind": access.kind,
        "name": access.name,
        "bytes": access.bytes,
        "offsets": pack_lanes(access.offsets),
    }


def _read_access(access: AccessJson) -> Access:
    return Access(access["space"], access["kind"], access["name"], access["bytes"], read_lanes(access["offsets"]))


def _triple(values: Iterable[int]) -> tuple[int, int, int]:
    x, y, z = values
    return x, y, z
