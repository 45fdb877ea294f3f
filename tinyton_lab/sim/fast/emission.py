"""The LLVM column of table T7: which function emits each row, and the words they share. Knows no registers, no memory.

An emitter gets the form and its sources as integers of their types' width (predicates as i1), scalar or vectors, and
returns one value per destination, as integers or floats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from tinyton_lab.llvm.text import Builder, Register, vector
from tinyton_lab.ptx.isa import Form
from tinyton_lab.ptx.types import PtxType


class Unsupported(Exception):
    """Something that only the trace engine runs; the text says what."""


Values = Register | tuple[Register, ...]
Emitter = Callable[..., Values]
E = TypeVar("E", bound=Emitter)
EMITTERS: dict[tuple[str, str], Emitter] = {}
_FLOATS = {16: "half", 32: "float", 64: "double"}
_MANTISSA = {"float": 23, "double": 52}


def emits(mnemonics: str, kinds: str) -> Callable[[E], E]:
    """Register the emitter of some mnemonics for some kinds of their first type (see `kind_of`)."""

    def register(function: E) -> E:
        for mnemonic in mnemonics.split():
            for kind in kinds.split():
                EMITTERS[mnemonic, kind] = function
        return function

    return register


def kind_of(type_: PtxType) -> str:
    """``int``, ``pred``, or the name of a float or packed type."""
    return {"bits": "int", "signed": "int", "unsigned": "int", "pred": "pred"}.get(type_.kind, type_.name)


def emitter_of(form: Form) -> Emitter | None:
    """The emitter of a form; None where there is none."""
    kind = kind_of(form.types[0]) if form.types else "none"
    return EMITTERS.get((form.row.mnemonic, kind))


# Words.
def const(value: int, like: Register) -> Register:
    """An integer constant of a value's type, given as any number congruent to it."""
    width = int(like.element[1:])
    value &= (1 << width) - 1
    text = ("true" if value else "false") if width == 1 else str(value)
    return Register(f"splat ({like.element} {text})" if like.lanes else text, like.type)


def number(value: int, bits: int, lanes: int) -> Register:
    """An integer constant of a width."""
    return const(value, Register("", vector(f"i{bits}", lanes)))


def real(value: float, like: Register) -> Register:
    """A float constant of a value's type."""
    if like.element == "half":
        text = f"0xH{int(np.float16(value).view(np.uint16)):04X}"
    else:
        text = f"0x{int(np.float64(value).view(np.uint64)):016X}"
    return Register(f"splat ({like.element} {text})" if like.lanes else text, like.type)


def width(x: Register) -> int:
    return int(x.element[1:])


def resize(b: Builder, x: Register, bits: int, signed: bool = False) -> Register:
    """Truncate or extend integers."""
    have = width(x)
    if have == bits:
        return x
    return b.convert("trunc" if have > bits else "sext" if signed else "zext", x, f"i{bits}")


def as_float(b: Builder, x: Register) -> Register:
    """See integer lanes as floats of their width."""
    return b.convert("bitcast", x, _FLOATS[width(x)])


def as_bits(b: Builder, x: Register) -> Register:
    """See float lanes as integers, NaN as it is."""
    return b.convert("bitcast", x, {"half": "i16", "float": "i32", "double": "i64"}[x.element])


def canonical(b: Builder, x: Register) -> Register:
    """The bits of float lanes, every NaN being the canonical one (f64 keeps its payload)."""
    bits = as_bits(b, x)
    if x.element == "double":
        return bits
    wrong = b.compare("fcmp uno", x, x)
    return b.select(wrong, const(0x7FFFFFFF if x.element == "float" else 0x7FFF, bits), bits)


def inverted(b: Builder, x: Register) -> Register:
    return b.binary("xor", x, const(-1, x))


def smaller(b: Builder, x: Register, y: Register, signed: bool = False) -> Register:
    return b.intrinsic("llvm.smin" if signed else "llvm.umin", x, y)


def flush(b: Builder, x: Register) -> Register:
    """Subnormal f32 lanes become zeros of their sign."""
    bits = as_bits(b, x)
    exponent = b.binary("and", bits, const(0x7F800000, bits))
    tiny = b.compare("icmp eq", exponent, const(0, bits))
    return b.convert("bitcast", b.select(tiny, b.binary("and", bits, const(1 << 31, bits)), bits), "float")


def flush_halves(b: Builder, x: Register) -> Register:
    """Subnormal f16 lanes, given as bits, become zeros of their sign: one in 16 bits, two in 32."""
    for place in range(0, width(x), 16):
        exponent = b.binary("and", x, const(0x7C00 << place, x))
        tiny = b.compare("icmp eq", exponent, const(0, x))
        x = b.select(tiny, b.binary("and", x, inverted(b, const(0x7FFF << place, x))), x)
    return x
