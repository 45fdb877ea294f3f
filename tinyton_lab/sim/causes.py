"""What one step's result came from: registers of lanes, bytes of memory. One rule per kind of effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyton_lab.ptx.isa import TwoResults
from tinyton_lab.ptx.syntax import Address, Immediate, Name, Operand
from tinyton_lab.sim import products
from tinyton_lab.sim.moments import Cause, Memory, Moment, Register, Unknown, base_of, first_name, items_of, names_in
from tinyton_lab.sim.parts import parts_of


def of_register(now: Moment, name: str, lane: int) -> list[Cause]:
    """What a register that the step wrote in a lane came from."""
    rule = _REGISTER_RULES.get(now.form.row.effect)
    if rule is None:
        return [Unknown(f"{now.form.opcode} is not followed")]
    return rule(now, name, lane)


def of_memory(now: Moment, lane: int, offset: int, size: int) -> list[Cause]:
    """What bytes that the step stored in a lane came from."""
    if now.run >= 0:
        return _moved(now, offset, size)
    rule = _MEMORY_RULES.get(now.form.row.effect)
    return [Unknown(f"{now.form.opcode} is not followed")] if rule is None else rule(now, lane, offset, size)


def of_address(now: Moment, lanes: list[int]) -> list[Cause]:
    """The registers that say where a step reads or writes, and from which lane a shuffle takes its value.

    `lanes` are the result's lane and, where other lanes gave the addresses of its parts, those instead.
    """
    operands = now.instruction.operands
    if now.form.row.mnemonic == "shfl":
        return _registers(now, list(operands[2:4]), lanes[:1])
    if now.form.row.effect == "warpgroup_matrix":
        return products.descriptors(now)
    named = [Name(base_of(operand)) for operand in operands if isinstance(operand, Address)]
    found = _registers(now, [name for name in named if name.text in now.step.reads], lanes[1:] or lanes)
    rest = [item for operand in operands if isinstance(operand, Address) for item in operand.rest]
    sparse = list(operands[4:5]) if now.form.row.effect == "matrix" and now.form.has("sparse") else []
    return [*found, *_registers(now, rest, lanes[:1]), *_registers(now, sparse, now.active())]


def address_lanes(now: Moment, values: list[Cause]) -> list[int]:
    """The lanes that gave the addresses of what was read, where they are others than the reading lane."""
    if now.form.row.effect != "matrix_load":
        return []
    return [*dict.fromkeys(each.lane for each in values if isinstance(each, Memory))]


def _sources(now: Moment) -> list[Operand]:
    operands = now.instruction.operands
    return [op for op in operands[1 if now.step.writes else 0 :] if not isinstance(op, Address)]


def _registers(now: Moment, operands: list[Operand], lanes: list[int]) -> list[Cause]:
    known = set(now.step.reads)
    names = dict.fromkeys(name for operand in operands for name in names_in(operand))
    found: list[Cause] = [now.register(name, lane) for lane in lanes for name in names if name in known]
    found += [Unknown(name) for name in names if name not in known and name.startswith("%")]
    return found


# Registers.
def _same_lane(now: Moment, name: str, lane: int) -> list[Cause]:
    types: dict[str, str] = {}
    for role, operand in zip(now.form.row.roles, now.instruction.operands):
        type_ = None if role.written else now.form.type_of(role)
        if type_ is not None and isinstance(operand, Name):
            types[operand.text] = type_.name
    parts = parts_of(now, name)
    if parts is None:
        found = _registers(now, _sources(now), [lane])
    else:
        found = [each for part in parts for each in _narrowed(now, Name(part.name), [lane], part.first, part.size)]
    return [each._replace(type=types.get(each.name, "")) if isinstance(each, Register) else each for each in found]


def _narrowed(now: Moment, operand: Operand, lanes: list[int], first: int, size: int) -> list[Cause]:
    """The registers of an operand, of which some bytes are wanted (size 0: all)."""
    found = _registers(now, [operand], lanes)
    return [each._replace(first=first, size=size) if isinstance(each, Register) else each for each in found]


def _loaded(now: Moment, name: str, lane: int) -> list[Cause]:
    access, operands = now.access_of(lane), now.instruction.operands
    if access is None:
        return [Unknown(f"parameter {next((base_of(op) for op in operands[1:]), '')}")]
    names = [first_name(item) for item in items_of(operands[0])]
    size = access.bytes // len(names)
    return [now.memory(access, lane, names.index(name) * size + now.first, now.size or size)]


def _fragment_loaded(now: Moment, name: str, lane: int) -> list[Cause]:
    """``wmma.load``: one access for each element of each register."""
    names = [first_name(item) for item in items_of(now.instruction.operands[0])]
    per = len(now.step.accesses) // len(names)
    first, size = names.index(name) * per, now.step.accesses[0].bytes
    wanted = range(now.first // size, (now.first + now.size - 1) // size + 1) if now.size else range(per)
    found = [now.memory(now.step.accesses[first + each], lane, 0, size) for each in wanted]
    return [*found] if len(found) == 1 else [each._replace(carried=False) for each in found]


def _between_lanes(now: Moment, name: str, lane: int) -> list[Cause]:
    sources = _sources(now)
    if now.form.row.mnemonic != "shfl":
        return _registers(now, sources, now.active())
    controls = [_column(now, operand) for operand in sources[1:3]]
    if any(control is None for control in controls):
        return _registers(now, sources[:1], now.active())
    function: Any = now.form.row.run(now.form) if now.form.row.run else None
    function = function.both if isinstance(function, TwoResults) else function
    active = np.array([[bool(now.step.mask >> n & 1) for n in range(32)]])
    lanes, _ = function(active, np.arange(32, dtype=np.uint32)[None], *controls)
    return _narrowed(now, sources[0], [int(np.broadcast_to(lanes, (1, 32))[0, lane])], now.first, now.size)


def _column(now: Moment, operand: Operand) -> Any:
    """A 32-bit operand of all lanes; None where a lane's value is not known."""
    if isinstance(operand, Immediate):
        return np.full((1, 32), int(operand.value) & 0xFFFFFFFF, np.uint32)
    found = [now.read(first_name(operand), lane) if now.step.mask >> lane & 1 else 0 for lane in range(32)]
    return (
        None if any(value is None for value in found) else np.array([[int(v) & 0xFFFFFFFF for v in found]], np.uint32)
    )


def _rows_loaded(now: Moment, name: str, lane: int) -> list[Cause]:
    """``ldmatrix``: lane 8m + j names row j of matrix m."""
    access = now.access
    if access is None:
        return [Unknown("an unknown place")]
    names = [first_name(item) for item in items_of(now.instruction.operands[0])]
    first = 8 * names.index(name)
    if not now.form.has("trans"):
        owner = first + lane // 4
        return [now.memory(access, owner, 4 * (lane % 4) + now.first, now.size or 4)]
    halves = range(now.first // 2, (now.first + now.size - 1) // 2 + 1) if now.size else range(2)
    found = [now.memory(access, first + 2 * (lane % 4) + half, 2 * (lane // 4), 2) for half in halves]
    return [*found] if len(found) == 1 else [each._replace(carried=False) for each in found]


def _exchanged(now: Moment, name: str, lane: int) -> list[Cause]:
    access = now.access_of(lane)
    if access is None:
        return [Unknown("an unknown place")]
    return [now.memory(access, lane, 0, access.bytes)]


# Memory.
def _stored(now: Moment, lane: int, offset: int, size: int) -> list[Cause]:
    access, sources = now.access, _sources(now)
    if access is None or not sources:
        return [Unknown("an unknown value")]
    items = items_of(sources[-1])
    each = access.bytes // len(items)
    first = (offset - access.offsets[lane]) // each
    chosen = items[first : (offset + size - 1 - access.offsets[lane]) // each + 1]
    if len(chosen) == 1 and size < each and first_name(chosen[0]) in now.step.reads:
        return _narrowed(now, chosen[0], [lane], offset - access.offsets[lane] - first * each, size)
    return _registers(now, [*chosen], [lane]) or [Unknown(_constant(chosen))]


def _constant(items: tuple[Operand, ...]) -> str:
    return "the constant " + ", ".join(item.text for item in items if isinstance(item, (Immediate, Name)))


def _combined(now: Moment, lane: int, offset: int, size: int) -> list[Cause]:
    """An atomic: what stood there before, and what every lane of the step adds to the same place."""
    access = now.access
    if access is None:
        return [Unknown("an unknown value")]
    lanes = [other for other in now.active() if access.offsets[other] == access.offsets[lane]]
    before = now.memory(access, lane, offset - access.offsets[lane], size)._replace(carried=False)
    return [*_registers(now, _sources(now), lanes), before]


def _rows_stored(now: Moment, lane: int, offset: int, size: int) -> list[Cause]:
    """``stmatrix``: lane 8m + j names row j of matrix m."""
    access = now.access
    if access is None:
        return [Unknown("an unknown value")]
    matrix, row = divmod(lane, 8)
    operand = items_of(now.instruction.operands[1])[matrix]
    columns = dict.fromkeys((byte - access.offsets[lane]) // 2 for byte in range(offset, offset + size))
    found: list[Cause] = []
    for column in columns:
        owner, half = (4 * column + row // 2, row % 2) if now.form.has("trans") else (4 * row + column // 2, column % 2)
        found += _narrowed(now, operand, [owner], 2 * half, 2)
    return found


def _copied(now: Moment, lane: int, offset: int, size: int) -> list[Cause]:
    """``cp.async``: what was read for the lane; bytes that were not are zeros."""
    target, at = now.access, 0 if now.access is None else offset - now.access.offsets[lane]
    if target is None:
        return [Unknown("an unknown place")]
    read = [each for each in now.step.accesses if each.kind == "load" and each.offsets[lane] >= 0]
    whole = next((each for each in read if each.bytes == target.bytes), None)
    if whole is not None:
        return [now.memory(whole, lane, at, size)]
    return [now.memory(each, lane, 0, 1) for each in read[at : at + size]] or [Unknown("zeros beyond the source")]


def _fragment_stored(now: Moment, lane: int, offset: int, size: int) -> list[Cause]:
    """``wmma.store``: one access for each element of each register."""
    items = items_of(now.instruction.operands[1])
    per = len(now.step.accesses) // len(items)
    return _narrowed(now, items[now.part // per], [lane], now.part % per * size, size if per > 1 else 0)


def _moved(now: Moment, offset: int, size: int) -> list[Cause]:
    """What a copy engine moved came from the origin of its run."""
    movement = now.step.movements[now.part]
    first, last, _ = movement.runs[now.run]
    (space, name), (own_space, own_name), before = movement.origin, movement.target, now.place - 1
    if first < 0:
        return [Unknown("filled in, outside the tensor")]
    found: list[Cause] = [
        Memory(before, movement.lane, space, name, first + offset - last, size, not movement.combines)
    ]
    if movement.combines:
        found.append(Memory(before, movement.lane, own_space, own_name, offset, size, False))
    return found


_REGISTER_RULES: dict[str, Callable[[Moment, str, int], list[Cause]]] = {
    "": _same_lane,
    "move": _same_lane,
    "convert_address": _same_lane,
    "test_address": _same_lane,
    "load": _loaded,
    "atomic": _exchanged,
    "warp": _between_lanes,
    "matrix": products.multiplied,
    "warpgroup_matrix": products.multiplied_by_group,
    "matrix_load": _rows_loaded,
    "fragment_load": _fragment_loaded,
}
_MEMORY_RULES: dict[str, Callable[[Moment, int, int, int], list[Cause]]] = {
    "store": _stored,
    "atomic": _combined,
    "matrix_store": _rows_stored,
    "copy_async": _copied,
    "tensormap_copy": _copied,
    "fragment_store": _fragment_stored,
}
