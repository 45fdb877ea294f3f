"""Emission of ``wmma.load`` and ``wmma.store``: one access for each element of a fragment. Multiplies nothing."""

from __future__ import annotations

from collections.abc import Iterator

from tinyton_lab.llvm.text import Register, vector
from tinyton_lab.ptx.fragments import PER_REGISTER
from tinyton_lab.ptx.isa_matrix import shape_of, wmma_fragment
from tinyton_lab.sim.fast import memory
from tinyton_lab.sim.fast.accesses import Accesses
from tinyton_lab.sim.fast.context import LANES
from tinyton_lab.sim.fast.emission import Unsupported, const, resize
from tinyton_lab.sim.fast.registers import Registers
from tinyton_lab.sim.fast.steps import Source, Step

_WIDE = vector("i64", LANES)


def _bytes(step: Step) -> int:
    type_ = step.form.type
    if type_.bits not in (8, 16, 32, 64) and type_.name != "tf32":
        raise Unsupported(step.form.opcode)
    return 4 if type_.name == "tf32" else type_.bytes


def _addresses(accesses: Accesses, r: Registers, step: Step, stride: Source | None) -> Iterator[Register]:
    """The lanes' addresses of each element: rows, or columns, are the leading dimension apart."""
    b, form, size = accesses.b, step.form, _bytes(step)
    fragment = wmma_fragment(shape_of(form), form["side"], form.type.name)
    by_row = form["layout"] == "row"
    base = r.spread(accesses.address(step.places[0], size))
    if stride is None:
        apart = const((fragment.columns if by_row else fragment.rows) * size, base)
    else:
        wide = r.spread(resize(b, r.read(stride), 64))
        apart = b.binary("mul", wide, const(size, wide))
    for slot in range(fragment.slots):
        places = [divmod(int(fragment.target[lane * fragment.slots + slot]), fragment.columns) for lane in range(LANES)]
        major, minor = zip(*(place if by_row else place[::-1] for place in places))
        rows, rest = (Register(f"<{', '.join(f'i64 {n}' for n in numbers)}>", _WIDE) for numbers in (major, minor))
        yield b.binary(
            "add", b.binary("add", base, b.binary("mul", apart, rows)), b.binary("mul", rest, const(size, rest))
        )


def load_fragment(accesses: Accesses, r: Registers, step: Step) -> list[Register]:
    b, bits, place = accesses.b, 8 * _bytes(step), step.places[0]
    per, width = PER_REGISTER[step.form.type.name], 64 if step.form.type.name == "f64" else 32
    mask, found = r.active_bits(step), list[Register]()
    for slot, address in enumerate(_addresses(accesses, r, step, step.sources[0] if step.sources else None)):
        spot = accesses.spot(step, bits // 8, "load", place.space)
        accesses.warp(memory.access(bits, 1, True), place, spot, address, mask)
        part = resize(b, accesses.element(bits, 0), width)
        if slot % per:
            found[-1] = b.binary("or", found[-1], b.binary("shl", part, const(slot % per * bits, part)))
        else:
            found.append(part)
    return found


def store_fragment(accesses: Accesses, r: Registers, step: Step) -> None:
    b, bits, place = accesses.b, 8 * _bytes(step), step.places[0]
    per, count = PER_REGISTER[step.form.type.name], step.groups[0]
    values = [r.spread(r.read(source)) for source in step.sources[:count]]
    stride = step.sources[count] if len(step.sources) > count else None
    mask = r.active_bits(step)
    for slot, address in enumerate(_addresses(accesses, r, step, stride)):
        value = values[slot // per]
        accesses.put_element(0, resize(b, b.binary("lshr", value, const(slot % per * bits, value)), bits))
        spot = accesses.spot(step, bits // 8, "store", place.space)
        accesses.warp(memory.access(bits, 1, False), place, spot, address, mask)
