"""What one step's result came from: registers of lanes, bytes of memory. One rule per kind of effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tinyton_lab.ptx.fragments import PER_REGISTER, accumulator, decode, left, right
from tinyton_lab.ptx.isa import Form, TwoResults, resolve
from tinyton_lab.ptx.isa_matrix import shape_of
from tinyton_lab.ptx.syntax import Address, Immediate, Instruction, Name, Negated, Operand, Pair, Vector
from tinyton_lab.record.events import Access, Argument, Step
from tinyton_lab.record.timeline import Timeline


class Register(NamedTuple):
    """The value that a lane's register has after step number `step`."""

    step: int
    lane: int
    name: str


class Memory(NamedTuple):
    """The `size` bytes at `offset` of a memory that a `lane` names, as they are after step number `step`.

    `carried` says that the value is the one asked about, unchanged.
    """

    step: int
    lane: int
    space: str
    name: str
    offset: int
    size: int
    carried: bool = True


class Unknown(NamedTuple):
    """Where following ends, and why."""

    text: str


Cause = Register | Memory | Unknown


class Moment(NamedTuple):
    """A step at its place in a timeline, and its instruction."""

    timeline: Timeline
    place: int
    step: Step
    instruction: Instruction
    form: Form
    arguments: dict[str, Argument]

    def read(self, name: str, lane: int) -> Any:
        """What a lane's register held when the step read it."""
        return self.timeline.value(name, self.step.cta, self.step.warp, lane, self.place - 1)

    def register(self, name: str, lane: int) -> Register:
        """A register as the step read it."""
        return Register(self.place - 1, lane, name)

    def memory(self, access: Access, lane: int, shift: int, size: int) -> Memory:
        """Bytes of a lane's access as the step found them."""
        return Memory(self.place - 1, lane, access.space, access.name, access.offsets[lane] + shift, size)

    def active(self) -> list[int]:
        return [lane for lane in range(32) if self.step.mask >> lane & 1]


def moment(
    timeline: Timeline,
    place: int,
    instructions: dict[tuple[int, str], Instruction],
    arguments: dict[str, Argument],
) -> Moment | None:
    """The step at a place with its instruction; None when the PTX has no such line."""
    step = timeline.steps[place]
    instruction = instructions.get((step.line, step.text))
    if instruction is None:
        return None
    return Moment(timeline, place, step, instruction, resolve(instruction.opcode), arguments)


def of_register(now: Moment, name: str, lane: int) -> list[Cause]:
    """What a register that the step wrote in a lane came from."""
    rule = _REGISTER_RULES.get(now.form.row.effect)
    if rule is None:
        return [Unknown(f"{now.form.opcode} is not followed")]
    return rule(now, name, lane)


def of_memory(now: Moment, lane: int, offset: int, size: int) -> list[Cause]:
    """What bytes that the step stored in a lane came from."""
    rule = _MEMORY_RULES.get(now.form.row.effect)
    return [Unknown(f"{now.form.opcode} is not followed")] if rule is None else rule(now, lane, offset, size)


def names_in(operand: Operand) -> Iterator[str]:
    """The registers (and symbols) that an operand names."""
    match operand:
        case Name(text=text):
            yield text
        case Negated(name=name):
            yield name
        case Pair(first=first, second=second):
            yield from (first, second)
        case Vector(items=items):
            for item in items:
                yield from names_in(item)
        case _:
            return


def _items(operand: Operand) -> tuple[Operand, ...]:
    return operand.items if isinstance(operand, Vector) else (operand,)


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
    return _registers(now, _sources(now), [lane])


def _component(now: Moment, operand: Operand, name: str) -> tuple[int, int]:
    """(byte offset in the access, bytes) of one register of a loaded list."""
    names = [next(names_in(item), "") for item in _items(operand)]
    access = now.step.access
    size = (access.bytes if access else 0) // len(names)
    return names.index(name) * size, size


def _loaded(now: Moment, name: str, lane: int) -> list[Cause]:
    access = now.step.access
    if access is None:
        return [Unknown(f"parameter {next((_base(op) for op in now.instruction.operands[1:]), '')}")]
    shift, size = _component(now, now.instruction.operands[0], name)
    return [now.memory(access, lane, shift, size)]


def _base(operand: Operand) -> str:
    return str(operand.base.text) if isinstance(operand, Address) else ""


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
    return _registers(now, sources[:1], [int(np.broadcast_to(lanes, (1, 32))[0, lane])])


def _column(now: Moment, operand: Operand) -> Any:
    """A 32-bit operand of all lanes; None where a lane's value is not known."""
    if isinstance(operand, Immediate):
        return np.full((1, 32), int(operand.value) & 0xFFFFFFFF, np.uint32)
    found = [now.read(next(names_in(operand), ""), lane) if now.step.mask >> lane & 1 else 0 for lane in range(32)]
    return (
        None if any(value is None for value in found) else np.array([[int(v) & 0xFFFFFFFF for v in found]], np.uint32)
    )


def _multiplied(now: Moment, name: str, lane: int) -> list[Cause]:
    """``mma``: a row of A, a column of B, the same place of C; only the parts that are NaN where some are."""
    if now.form.row.mnemonic != "mma" or now.form.has("sparse"):
        return [Unknown(f"{now.form.opcode} is not followed")]
    m, n, k = shape_of(now.form)
    d, a, b, _ = (type_.name for type_ in now.form.types)
    lists = [[next(names_in(item), "") for item in _items(operand)] for operand in now.instruction.operands[:4]]
    slots = range(lists[0].index(name) * PER_REGISTER[d], (lists[0].index(name) + 1) * PER_REGISTER[d])
    result, rows, columns = accumulator(m, n), left(m, k, a), right(k, n, b)
    found: dict[Register, str] = {now.register(lists[3][lists[0].index(name)], lane): now.form.types[3].name}
    for slot in slots:
        row, column = divmod(int(result.target[lane * result.slots + slot]), n)
        for step in range(k):
            for fragment, number, names, type_ in (
                (rows, row * k + step, lists[1], a),
                (columns, step * n + column, lists[2], b),
            ):
                other, place = divmod(int(fragment.source[number]), fragment.slots)
                found[now.register(names[place // PER_REGISTER[type_]], other)] = type_
    poisoned = [each for each, type_ in found.items() if _is_nan(now.read(each.name, each.lane), type_)]
    return [*(poisoned or found)]


def _is_nan(value: Any, type_: str) -> bool:
    if value is None or isinstance(value, float):
        return value is not None and value != value
    if type_ == "f64":
        return bool(np.isnan(np.array([value & (1 << 64) - 1], np.uint64).view(np.float64)[0]))
    if type_[0] in "su" or type_ == "b1":
        return False
    return bool(np.isnan(decode([np.array([[int(value) & 0xFFFFFFFF] * 32], np.uint32)], type_)[0, 0]).any())


def _rows_loaded(now: Moment, name: str, lane: int) -> list[Cause]:
    """``ldmatrix``: lane 8m + j names row j of matrix m."""
    access = now.step.access
    if access is None:
        return [Unknown("an unknown place")]
    names = [next(names_in(item), "") for item in _items(now.instruction.operands[0])]
    first = 8 * names.index(name)
    if not now.form.has("trans"):
        owner = first + lane // 4
        return [now.memory(access, owner, 4 * (lane % 4), 4)]
    owners = [first + 2 * (lane % 4) + element for element in (0, 1)]
    return [now.memory(access, owner, 2 * (lane // 4), 2)._replace(carried=False) for owner in owners]


def _exchanged(now: Moment, name: str, lane: int) -> list[Cause]:
    access = now.step.access
    if access is None:
        return [Unknown("an unknown place")]
    return [now.memory(access, lane, 0, access.bytes)]


# Memory.
def _stored(now: Moment, lane: int, offset: int, size: int) -> list[Cause]:
    access, sources = now.step.access, _sources(now)
    if access is None or not sources:
        return [Unknown("an unknown value")]
    items = _items(sources[-1])
    each = access.bytes // len(items)
    first = (offset - access.offsets[lane]) // each
    chosen = items[first : (offset + size - 1 - access.offsets[lane]) // each + 1]
    return _registers(now, [*chosen], [lane]) or [Unknown(_constant(chosen))]


def _constant(items: tuple[Operand, ...]) -> str:
    return "the constant " + ", ".join(item.text for item in items if isinstance(item, (Immediate, Name)))


def _combined(now: Moment, lane: int, offset: int, size: int) -> list[Cause]:
    """An atomic: what stood there before, and what every lane of the step adds to the same place."""
    access = now.step.access
    if access is None:
        return [Unknown("an unknown value")]
    lanes = [other for other in now.active() if access.offsets[other] == access.offsets[lane]]
    before = now.memory(access, lane, offset - access.offsets[lane], size)._replace(carried=False)
    return [*_registers(now, _sources(now), lanes), before]


def _rows_stored(now: Moment, lane: int, offset: int, size: int) -> list[Cause]:
    """``stmatrix``: lane 8m + j names row j of matrix m."""
    access = now.step.access
    if access is None:
        return [Unknown("an unknown value")]
    matrix, row = divmod(lane, 8)
    operand = _items(now.instruction.operands[1])[matrix]
    columns = dict.fromkeys((byte - access.offsets[lane]) // 2 for byte in range(offset, offset + size))
    trans = now.form.has("trans")
    owners = dict.fromkeys(4 * c + row // 2 if trans else 4 * row + c // 2 for c in columns)
    return _registers(now, [operand], [*owners])


def _copied(now: Moment, lane: int, offset: int, size: int) -> list[Cause]:
    """``cp.async``: the argument that the source address lies in."""
    access, source = now.step.access, now.instruction.operands[1]
    pointer = now.read(_base(source), lane) if isinstance(source, Address) else None
    if access is None or pointer is None or not isinstance(source, Address):
        return [Unknown("an unknown place")]
    where = int(pointer) + source.offset + offset - access.offsets[lane]
    below = [argument for argument in now.arguments.values() if argument.address <= where]
    if not below:
        return [Unknown(f"address {where:#x}")]
    nearest = max(below, key=lambda argument: argument.address)
    return [Memory(now.place - 1, lane, "global", nearest.name, where - nearest.address, size)]


_REGISTER_RULES: dict[str, Callable[[Moment, str, int], list[Cause]]] = {
    "": _same_lane,
    "move": _same_lane,
    "convert_address": _same_lane,
    "test_address": _same_lane,
    "load": _loaded,
    "atomic": _exchanged,
    "warp": _between_lanes,
    "matrix": _multiplied,
    "matrix_load": _rows_loaded,
}
_MEMORY_RULES: dict[str, Callable[[Moment, int, int, int], list[Cause]]] = {
    "store": _stored,
    "atomic": _combined,
    "matrix_store": _rows_stored,
    "copy_async": _copied,
}
