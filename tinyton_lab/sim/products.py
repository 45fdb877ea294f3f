"""What an element of a product of matrices came from: a row of A, a column of B, the old sum. No other instruction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tinyton_lab.ptx.fragments import PER_REGISTER, Fragment, accumulator, decode, group_accumulator, left, right
from tinyton_lab.ptx.isa_matrix import shape_of, stored_places, wmma_fragment
from tinyton_lab.ptx.syntax import Immediate, Vector
from tinyton_lab.sim.moments import Cause, Memory, Moment, Register, Unknown, first_name, items_of
from tinyton_lab.sim.warpgroups import element_bytes, row_addresses, shape_of_group

_WARPS_OF_GROUP = 4


class Side(NamedTuple):
    """One matrix of a product: how lanes hold it, the registers' names, the type of its elements."""

    fragment: Fragment
    names: list[str]
    type: str

    def elements(self, now: Moment, name: str, lane: int) -> list[tuple[int, int]]:
        """(row, column) of each element in the bytes of a lane's register that are asked about."""
        per, register = PER_REGISTER[self.type], self.names.index(name)
        size = 4 // per
        inside = range(now.first // size, (now.first + now.size - 1) // size + 1) if now.size else range(per)
        slots = [register * per + each for each in inside if each < per]
        places = [int(self.fragment.target[lane * self.fragment.slots + slot]) for slot in slots]
        return [divmod(place, self.fragment.columns) for place in places]

    def holder(self, now: Moment, row: int, column: int) -> Register:
        """The bytes of a register that hold an element, as the step read it."""
        lane, slot = divmod(int(self.fragment.source[row * self.fragment.columns + column]), self.fragment.slots)
        register, inside = divmod(slot, per := PER_REGISTER[self.type])
        found = now.register(self.names[register], lane)._replace(type=self.type)
        return found if per == 1 else found._replace(first=inside * 4 // per, size=4 // per)


def multiplied(now: Moment, name: str, lane: int) -> list[Cause]:
    """``mma`` and ``wmma``: of operands that are NaN where some are, else all."""
    result, a, b, c = _sides(now)
    found: dict[Register, None] = {}
    for row, column in result.elements(now, name, lane):
        found[c.holder(now, row, column)] = None
        for stored, k in enumerate(_depths(now, a, row)):
            found[a.holder(now, row, stored)] = None
            found[b.holder(now, k, column)] = None
    poisoned = [each for each in found if is_nan(each.part_of(now.read(each.name, each.lane)), each.type)]
    return [*(poisoned or found)]


def _sides(now: Moment) -> tuple[Side, Side, Side, Side]:
    form, (m, n, k) = now.form, shape_of(now.form)
    types = [type_.name for type_ in form.types]
    d, a, b, c = types if len(types) == 4 else (types[0], "f16", "f16", types[1])
    if form.row.mnemonic == "wmma":
        fragments = [wmma_fragment((m, n, k), side, type_) for side, type_ in zip("dabc", (d, a, b, c))]
    else:
        stored = k // 2 if form.has("sparse") else k
        fragments = [accumulator(m, n), left(m, stored, a), right(k, n, b), accumulator(m, n)]
    lists = [[first_name(item) for item in items_of(operand)] for operand in now.instruction.operands[:4]]
    first, second, third, fourth = (Side(*parts) for parts in zip(fragments, lists, (d, a, b, c)))
    return first, second, third, fourth


def _depths(now: Moment, a: Side, row: int) -> Iterator[int]:
    """The place along k of each stored element of a row of A."""
    if not now.form.has("sparse"):
        yield from range(a.fragment.columns)
        return
    metadata, selector = now.instruction.operands[4:6]
    words = np.array([[int(now.read(first_name(metadata), lane) or 0) & 0xFFFFFFFF for lane in range(32)]], np.uint32)
    chosen = int(selector.value) if isinstance(selector, Immediate) else 0
    m, _, k = shape_of(now.form)
    yield from map(int, stored_places(words, chosen, m, k)[0, row])


def multiplied_by_group(now: Moment, name: str, lane: int) -> list[Cause]:
    """``wgmma``: A from registers or shared memory, B from shared memory, the old sum where it was kept."""
    (n, k), (d, a, b) = shape_of_group(now.form), (type_.name for type_ in now.form.types)
    operands = now.instruction.operands
    result = Side(group_accumulator(n), [first_name(item) for item in items_of(operands[0])], d)
    own = now.register(name, lane)._replace(type=d, first=now.first, size=now.size)
    found: dict[Cause, str] = {own: d} if _kept(now, lane) else {}
    for row, column in result.elements(now, name, lane):
        if isinstance(operands[1], Vector):
            side = Side(left(16, k, a), [first_name(item) for item in items_of(operands[1])], a)
            found.update((side.holder(now, row, place), a) for place in range(k))
        else:
            found.update((each, a) for each in _described(now, 0, 16 * (now.step.warp % _WARPS_OF_GROUP) + row))
        found.update((each, b) for each in _described(now, 1, column))
    poisoned = [each for each, type_ in found.items() if is_nan(_content(now, each), type_)]
    return [*(poisoned or found)]


def _kept(now: Moment, lane: int) -> bool:
    """Whether a ``wgmma`` adds to what its registers held."""
    scale = now.instruction.operands[3]
    value = scale.value if isinstance(scale, Immediate) else now.read(first_name(scale), lane)
    return value is None or bool(value)


def _described(now: Moment, side: int, row: int) -> list[Cause]:
    """A row of A or a column of B, where the warpgroup's descriptor says that it lies."""
    name = first_name(now.instruction.operands[1 + side])
    leader = now.step.warp - now.step.warp % _WARPS_OF_GROUP
    word = now.timeline.value(name, now.step.cta, leader, 0, now.place - 1)
    if word is None:
        return [Unknown(f"the matrix that {name} describes")]
    size = element_bytes(now.form.types[1 + side].name)
    addresses = row_addresses(int(word), now.instruction, now.form, side, row)
    return [Memory(now.place - 1, 0, "shared", "shared", at, size, False) for at in addresses]


def descriptors(now: Moment) -> list[Cause]:
    """The registers that describe the matrices of a ``wgmma``, in the lane that counts."""
    leader = now.step.warp - now.step.warp % _WARPS_OF_GROUP
    names = [first_name(operand) for operand in now.instruction.operands[1:3] if not isinstance(operand, Vector)]
    return [Register(now.place - 1, 0, name, leader) for name in names]


def _content(now: Moment, cause: Cause) -> Any:
    """What a register or an element held; None where it is not known."""
    if isinstance(cause, Register):
        return cause.part_of(now.read(cause.name, cause.lane))
    if isinstance(cause, Unknown):
        return None
    dtype = np.dtype(f"u{cause.size}")
    found = now.timeline.memory(cause.name, cause.offset, cause.step, dtype, cause.space, now.step.cta)
    return (
        None
        if found is None
        else int.from_bytes(int(found).to_bytes(cause.size, "little") * (4 // cause.size), "little")
    )


def is_nan(value: Any, type_: str) -> bool:
    """Whether a register's value, read as a type, is or has a NaN."""
    type_ = type_.removesuffix("x2")
    if value is None or isinstance(value, float):
        return value is not None and value != value
    if type_ == "f64":
        return bool(np.isnan(np.array([value & (1 << 64) - 1], np.uint64).view(np.float64)[0]))
    if type_[:1] not in ("f", "t", "e") and type_ != "bf16":
        return False
    return bool(np.isnan(decode([np.array([[int(value) & 0xFFFFFFFF] * 32], np.uint32)], type_)[0, 0]).any())
