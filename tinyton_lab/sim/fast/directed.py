"""f64 results in the roundings of PTX that are not to nearest: the processor's own, switched for one operation."""

from __future__ import annotations

from tinyton_lab.llvm.text import Builder, Register, vector

# As C's FLT_ROUNDS counts them; to nearest is 1.
_WORDS = {"rz": 0, "rp": 2, "rm": 3}
_NEAREST = 1


def rounded(b: Builder, op: str, rounding: str, *values: Register) -> Register:
    """An operation (``fadd``, ``fma``, ``sitofp`` ...) that gives f64 lanes in a rounding.

    It is in a function of its own, which nothing moves into or out of.
    """
    type_ = vector("double", values[0].lanes)
    mangled = [_mangled(type_)] + [_mangled(values[0].type)] * (values[0].type != type_)
    operands = ", ".join(f"{value.type} %x{number}" for number, value in enumerate(values))
    name = ".".join(["round", op, rounding, *mangled])
    intrinsic = ".".join(["llvm.experimental.constrained", op, *mangled])
    types = ", ".join([*(value.type for value in values), "metadata", "metadata"])
    b.declarations[f"declare {type_} @{intrinsic}({types})"] = None
    b.declarations["declare void @llvm.set.rounding(i32)"] = None
    b.declarations[
        f"define internal {type_} @{name}({operands}) noinline strictfp {{\n"
        f"  call void @llvm.set.rounding(i32 {_WORDS[rounding]}) strictfp\n"
        f"  %r = call {type_} @{intrinsic}({operands}, "
        'metadata !"round.dynamic", metadata !"fpexcept.ignore") strictfp\n'
        f"  call void @llvm.set.rounding(i32 {_NEAREST}) strictfp\n"
        f"  ret {type_} %r\n}}"
    ] = None
    return b.emit(f"call {type_} @{name}({', '.join(map(str, values))})", type_)


def _mangled(type_: str) -> str:
    """A type as the names of intrinsics spell it.

    >>> _mangled("<32 x double>"), _mangled("i64")
    ('v32f64', 'i64')
    """
    count, _, element = type_.strip("<>").rpartition(" x ")
    return (f"v{count}" if count else "") + {"double": "f64"}.get(element, element)
