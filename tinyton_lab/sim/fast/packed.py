"""Emitters of what takes registers apart into halves and bytes: integer pairs, ``vabsdiff4``, packing, ``set``."""

from __future__ import annotations

from tinyton_lab.llvm.text import Builder, Register
from tinyton_lab.ptx.isa import Form
from tinyton_lab.sim.fast.emission import const, emits, resize
from tinyton_lab.sim.fast.floats import joined, pair_flags


def parts_of(b: Builder, x: Register, bits: int, signed: bool, to: int) -> list[Register]:
    """The parts of 32-bit lanes, the lowest first, extended to `to` bits."""
    return [
        resize(b, resize(b, b.binary("lshr", x, const(place, x)), bits), to, signed) for place in range(0, 32, bits)
    ]


@emits("add min max", "u16x2 s16x2")
def pairs(b: Builder, form: Form, x: Register, y: Register) -> Register:
    op, signed = form.row.mnemonic, form.type.name.startswith("s")
    both = zip(parts_of(b, x, 16, signed, 16), parts_of(b, y, 16, signed, 16))
    if op == "add":
        return joined(b, *(b.binary("add", one, other) for one, other in both))
    return joined(b, *(b.intrinsic(f"llvm.{'s' if signed else 'u'}{op}", one, other) for one, other in both))


@emits("vabsdiff4", "int")
def absolute_differences(b: Builder, form: Form, x: Register, y: Register, z: Register) -> Register:
    signs = [type_.kind == "signed" for type_ in form.types[1:]]
    total = z if form.has("add") else const(0, x)
    for place, (one, other) in enumerate(zip(parts_of(b, x, 8, signs[0], 32), parts_of(b, y, 8, signs[1], 32))):
        far = b.binary("sub", one, other)
        far = b.intrinsic("llvm.smax", far, b.binary("sub", const(0, far), far))
        if form.has("add"):
            total = b.binary("add", total, far)
        else:
            byte = b.binary("and", far, const(255, far))
            total = b.binary("or", total, b.binary("shl", byte, const(8 * place, byte)))
    return total


def pack_integers(b: Builder, form: Form, x: Register, y: Register, *z: Register) -> Register:
    """``cvt.pack``: two s32, saturated, the first above the second, below what `z` has."""
    target = form.type
    signed, bits = target.kind == "signed", target.bits
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    packed = const(0, x)
    for place, value in ((bits, x), (0, y)):
        value = b.intrinsic("llvm.smin", b.intrinsic("llvm.smax", value, const(low, value)), const(high, value))
        part = b.binary("and", value, const((1 << bits) - 1, value))
        packed = b.binary("or", packed, b.binary("shl", part, const(place, part)))
    return packed if not z else b.binary("or", packed, b.binary("shl", z[0], const(2 * bits, z[0])))


def set_pair(b: Builder, form: Form, x: Register, y: Register, *c: Register) -> Register:
    """``set`` of pairs: 1.0, or all ones for an integer, in each half where the comparison holds."""
    one = {"f16x2": 0x3C00, "bf16x2": 0x3F80}.get(form.type.name, 0xFFFF)
    flags = pair_flags(b, form, form.types[-1].name.removesuffix("x2"), x, y, c)
    halves = [b.select(flag, const(one << place, x), const(0, x)) for flag, place in zip(flags, (0, 16))]
    return b.binary("or", *halves)
