"""Recordings as compact bytes (``.ttrec``): steps as zlib-packed columns. Knows the layout, not the meaning of a step.

The layout is described in docs/recordings.md.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tinyton_lab.record.events import Access, Movement, Step

MAGIC, VERSION = b"\x89TTREC\r\n", 2
LANES = 32
_START = struct.Struct("<8sIIII")
_MOST_BYTES = 1 << 28
# Kinds of lane values, by number in the column `write_kind`.
_KINDS = ("?", "<i4", "<i8", "<u8", "<f4", "<f8", "<c16")
_COLUMNS = {
    "index": "<u4",
    "cta": "<u4",
    "warp": "<u2",
    "line": "<u4",
    "uid": "<u4",
    "mask": "<u4",
    "text": "<u4",
    "waits": "<u4",
    "reads": "<u4",
    "writes": "<u2",
    "write_register": "<u4",
    "write_kind": "u1",
    "access_step": "<u4",
    "access_shape": "<u4",
    "access_known": "u1",
    "data": "u1",
    "data_uniform": "u1",
    "offset": "<i8",
    "offset_form": "u1",
    "write_form": "u1",
    "move_step": "<u4",
    "move_lane": "u1",
    "move_origin": "<u4",
    "move_target": "<u4",
    "move_combines": "u1",
    "move_runs": "<u4",
    "run_origin": "<i8",
    "run_target": "<i8",
    "run_bytes": "<u4",
    "moved": "u1",
    **{f"values{n}": kind for n, kind in enumerate(_KINDS)},
}
_ALL, _SAME, _STEPS = range(3)


class Damaged(Exception):
    """The bytes are no recording: why, and at which byte."""

    def __init__(self, reason: str, at: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.at = reason, at


class _Table:
    """A list without repetitions; calling it gives the index of an entry, adding it where it is new."""

    def __init__(self) -> None:
        self.entries: dict[Any, int] = {}

    def __call__(self, entry: Any) -> int:
        return self.entries.setdefault(entry, len(self.entries))


def pack(head: dict[str, Any], steps: Sequence[Step]) -> bytes:
    """The bytes of a recording: `head` is what is not steps, as JSON values."""
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    tables = {name: _Table() for name in ("ctas", "texts", "waits", "reads", "registers", "accesses", "places")}
    for number, step in enumerate(steps):
        _add_step(columns, tables, step)
        for access in step.accesses:
            _add_access(columns, tables, number, access)
        for movement in step.movements:
            _add_movement(columns, tables, number, movement)
    listed = {name: list(table.entries) for name, table in tables.items()}
    arrays = [np.array(columns[name], kind) for name, kind in _COLUMNS.items()]
    packed = [zlib.compress(array.tobytes(), 6) for array in arrays]
    sizes = [[name, array.nbytes, len(part)] for name, array, part in zip(_COLUMNS, arrays, packed)]
    text = json.dumps({**head, "tables": listed, "columns": sizes}, separators=(",", ":"), allow_nan=False).encode()
    body = zlib.compress(text, 6)
    rest = body + b"".join(packed)
    return _START.pack(MAGIC, VERSION, len(text), len(body), zlib.crc32(rest)) + rest


def _add_step(columns: dict[str, list[Any]], tables: dict[str, _Table], step: Step) -> None:
    columns["index"].append(step.index)
    columns["cta"].append(tables["ctas"](step.cta))
    columns["warp"].append(step.warp)
    columns["line"].append(step.line)
    columns["uid"].append(step.uid)
    columns["mask"].append(step.mask)
    columns["text"].append(tables["texts"](step.text))
    columns["waits"].append(tables["waits"](step.waits))
    columns["reads"].append(tables["reads"](step.reads))
    columns["writes"].append(len(step.writes))
    for name, values in step.writes:
        columns["write_register"].append(tables["registers"](name))
        kind = _kind(values)
        columns["write_kind"].append(kind)
        form, kept = _brief(values)
        columns["write_form"].append(form)
        columns[f"values{kind}"] += kept


def _add_access(columns: dict[str, list[Any]], tables: dict[str, _Table], number: int, access: Access) -> None:
    columns["access_step"].append(number)
    columns["access_shape"].append(tables["accesses"]((access.space, access.kind, access.name, access.bytes)))
    form, kept = _brief(access.offsets)
    columns["offset_form"].append(form)
    columns["offset"] += kept
    columns["access_known"].append(bool(access.data))
    if access.data:
        form, kept = _brief(access.data)
        columns["data_uniform"].append(form == _SAME)
        for value in kept if form != _STEPS else access.data:
            columns["data"] += value.to_bytes(access.bytes, "little")


def _add_movement(columns: dict[str, list[Any]], tables: dict[str, _Table], number: int, movement: Movement) -> None:
    columns["move_step"].append(number)
    columns["move_lane"].append(movement.lane)
    columns["move_origin"].append(tables["places"](movement.origin))
    columns["move_target"].append(tables["places"](movement.target))
    columns["move_combines"].append(movement.combines)
    columns["move_runs"].append(len(movement.runs))
    for origin, target, size in movement.runs:
        columns["run_origin"].append(origin)
        columns["run_target"].append(target)
        columns["run_bytes"].append(size)
    columns["moved"] += movement.data


def _kind(values: Sequence[Any]) -> int:
    """The narrowest kind that holds all lane values exactly."""
    first = values[0]
    if isinstance(first, bool):
        return 0
    if isinstance(first, int):
        low, high = min(values), max(values)
        return 1 if -(1 << 31) <= low and high < 1 << 31 else 2 if high < 1 << 63 else 3
    if isinstance(first, float):
        with np.errstate(over="ignore"):
            exact = np.array(values, np.float64)
            return 4 if np.array_equal(exact.astype(np.float32), exact, equal_nan=True) else 5
    return 6


def _brief(values: Sequence[Any]) -> tuple[int, list[Any]]:
    """How the values of the lanes are written: one if all are equal, start and step if evenly spaced, else all."""
    first = values[0]
    if values.count(first) == len(values) and first != 0.0:
        return _SAME, [first]
    if isinstance(first, int) and not isinstance(first, bool):
        step = values[1] - first
        if 0 <= step < 1 << 31 and all(value == first + lane * step for lane, value in enumerate(values)):
            return (_STEPS, [first, step]) if step else (_SAME, [first])
    return _ALL, [*values]


def unpack(data: bytes) -> tuple[dict[str, Any], list[Step]]:
    """Read `pack`'s bytes back; raises `Damaged` for anything else."""
    if len(data) < _START.size or not data.startswith(MAGIC):
        raise Damaged("it does not begin as a recording does")
    _, version, length, packed, check = _START.unpack_from(data)
    if version != VERSION:
        raise Damaged(f"it has version {version}, this is for version {VERSION}", len(MAGIC))
    if zlib.crc32(memoryview(data)[_START.size :]) != check:
        raise Damaged("its checksum is wrong: it was cut off or changed", _START.size - 4)
    at = _START.size
    try:
        head = json.loads(_inflate(data, at, packed, length))
        columns, at = _read_columns(data, at + packed, head.pop("columns"))
        return head, list(_read_steps(columns, head.pop("tables")))
    except Damaged:
        raise
    except (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError) as fault:
        raise Damaged(f"its content does not fit together ({type(fault).__name__})", at) from None


def _inflate(data: bytes, at: int, packed: int, length: int) -> bytes:
    """Unpack one part, which must have exactly the size that it was said to have."""
    if not 0 <= length <= _MOST_BYTES or not 0 <= packed <= len(data) - at:
        raise Damaged("it ends too early", len(data))
    worker = zlib.decompressobj()
    try:
        found = worker.decompress(data[at : at + packed], length + 1)
    except zlib.error:
        raise Damaged("a part of it cannot be unpacked", at) from None
    if len(found) != length or not worker.eof:
        raise Damaged("a part of it has another size than it says", at)
    return found


def _read_columns(data: bytes, at: int, sizes: list[Any]) -> tuple[dict[str, Any], int]:
    if sum(int(length) for _, length, _ in sizes) > _MOST_BYTES:
        raise Damaged("it is too large", at)
    columns: dict[str, Any] = {}
    for name, length, packed in sizes:
        columns[name] = np.frombuffer(_inflate(data, at, packed, length), _COLUMNS[name])
        at += packed
    if at != len(data):
        raise Damaged("something follows its end", at)
    return columns, at


class _Reader:
    """Mutable: takes lane values off a column."""

    def __init__(self, column: Any) -> None:
        self.values, self.at = column.tolist(), 0

    def take(self, count: int) -> list[Any]:
        found = self.values[self.at : self.at + count]
        if len(found) != count:
            raise IndexError("a column is too short")
        self.at += count
        return found

    def lanes(self, form: int) -> tuple[Any, ...]:
        if form == _ALL:
            return tuple(self.take(LANES))
        if form == _SAME:
            return tuple(self.take(1) * LANES)
        first, step = self.take(2)
        return tuple(first + lane * step for lane in range(LANES))


def _read_steps(columns: dict[str, Any], tables: dict[str, Any]) -> Iterator[Step]:
    ctas = [_triple(cta) for cta in tables["ctas"]]
    reads = [tuple(str(name) for name in names) for names in tables["reads"]]
    texts, waits, registers = ([str(text) for text in tables[name]] for name in ("texts", "waits", "registers"))
    values = [_Reader(columns[f"values{n}"]) for n in range(len(_KINDS))]
    writes = zip(columns["write_register"].tolist(), columns["write_kind"].tolist(), columns["write_form"].tolist())
    accesses = _by_step(_read_accesses(columns, tables["accesses"]))
    movements = _by_step(_read_movements(columns, tables["places"]))
    names = ("index", "cta", "warp", "line", "uid", "mask", "text", "waits", "reads", "writes")
    rows = zip(*(columns[name].tolist() for name in names), strict=True)
    for number, row in enumerate(rows):
        index, cta, warp, line, uid, mask, text, wait, read, count = (int(entry) for entry in row)
        written = [next(writes, None) for _ in range(count)]
        lanes = tuple((registers[which], values[kind].lanes(form)) for which, kind, form in _all_there(written))
        *more, access = accesses.get(number, [None])
        moved, told = tuple(movements.get(number, ())), (waits[wait], reads[read])
        yield Step(index, ctas[cta], warp, line, uid, texts[text], mask, lanes, access, *told, tuple(more), moved)


def _by_step(entries: Iterator[tuple[int, Any]]) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for number, entry in entries:
        found.setdefault(number, []).append(entry)
    return found


def _read_movements(columns: dict[str, Any], places: list[Any]) -> Iterator[tuple[int, Movement]]:
    named: list[tuple[str, str]] = [(str(space), str(name)) for space, name in places]
    parts = {name: _Reader(columns[name]) for name in ("run_origin", "run_target", "run_bytes", "moved")}
    names = ("move_step", "move_lane", "move_origin", "move_target", "move_combines", "move_runs")
    for row in zip(*(columns[name].tolist() for name in names), strict=True):
        number, lane, origin, target, combines, count = (int(entry) for entry in row)
        first, last, sizes = (parts[name].take(count) for name in ("run_origin", "run_target", "run_bytes"))
        data = bytes(parts["moved"].take(sum(sizes)))
        runs = tuple(zip(first, last, sizes, strict=True))
        yield number, Movement(lane, named[origin], named[target], runs, data, bool(combines))


def _all_there(entries: list[tuple[int, int, int] | None]) -> list[tuple[int, int, int]]:
    found = [entry for entry in entries if entry is not None]
    if len(found) != len(entries):
        raise IndexError("a column is too short")
    return found


def _read_accesses(columns: dict[str, Any], shapes: list[Any]) -> Iterator[tuple[int, Access]]:
    offsets, data, uniform = (_Reader(columns[name]) for name in ("offset", "data", "data_uniform"))
    names = ("access_step", "access_shape", "access_known", "offset_form")
    for number, shape, known, form in zip(*(columns[name].tolist() for name in names), strict=True):
        space, kind, name, size = shapes[shape]
        where, content = offsets.lanes(form), ()
        if known:
            same = bool(uniform.take(1)[0])
            raw = bytes(data.take(int(size) * (1 if same else LANES)))
            each = [int.from_bytes(raw[n : n + size], "little") for n in range(0, len(raw), size)]
            content = tuple(each * LANES if same else each)
        yield number, Access(str(space), str(kind), str(name), int(size), where, content)


def _triple(values: Any) -> tuple[int, int, int]:
    x, y, z = (int(value) for value in values)
    return x, y, z
