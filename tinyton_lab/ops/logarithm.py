"""How log and log2 are spelled in exact ops (at most 2 ulp). Coefficients are minimax fits of our own."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan
from typing import Any

from tinyton_lab.ops.arithmetic import Arithmetic, bits_of, float_of, polynomial
from tinyton_lab.ops.elementwise import add, cast, div, eq, fma, gt, lt, mul, select, shl, shr, sub


@dataclass(frozen=True, slots=True)
class Logarithm:
    """Facts for one dtype. Numbers below `smallest` (subnormal) are first multiplied by ``2 ** raised``.

    `root` holds the bits of sqrt(1/2); `ln2` and `log2e` are pairs of a leading part and the rest.
    """

    smallest: float
    raised: int
    root: int
    ln2: tuple[float, float]
    log2e: tuple[float, float]


F32 = Logarithm(
    2.0**-126,
    23,
    0x3F3504F3,
    (0.693145751953125, 1.428606765330187e-06),
    (1.4426950216293335, 1.925963033500011e-08),
)
F64 = Logarithm(
    2.0**-1022,
    52,
    0x3FE6A09E667F3BCD,
    (0.693147180559663, 2.8235290563031577e-13),
    (1.4426950408889634, 2.0355273740931033e-17),
)
# (log(1 + f) - f) / f^2 for f from sqrt(1/2) - 1 to sqrt(2) - 1.
NARROW = (
    -0.5,
    0.3333331048488617,
    -0.2500002682209015,
    0.20002222061157227,
    -0.16667689383029938,
    0.14217644929885864,
    -0.12407303601503372,
    0.1190120130777359,
    -0.11676415801048279,
    0.06724965572357178,
)
# (log((1 + s) / (1 - s)) - 2 s) / s^3, in s^2, for s up to 0.1717.
WIDE = (
    0.6666666666666735,
    0.3999999999940631,
    0.28571428744426075,
    0.2222219834702682,
    0.18183576910404817,
    0.15313708424065026,
    0.14799565500647158,
)


def log(a: Arithmetic, x: Any) -> Any:
    """ln x = e ln 2 + ln(1 + f) with x = 2^e (1 + f)."""
    k = F64 if a.dtype(x).bits == 64 else F32
    exponent, f = _parts(a, x, k)
    value = a(fma, exponent, k.ln2[0], _log1p(a, f, a(mul, exponent, k.ln2[1])))
    return _with_limits(a, x, value)


def log2(a: Arithmetic, x: Any) -> Any:
    """log2 x = e + log2(1 + f): exact for powers of two."""
    k = F64 if a.dtype(x).bits == 64 else F32
    exponent, f = _parts(a, x, k)
    value = _log1p(a, f, None)
    value = a(fma, value, k.log2e[0], a(fma, value, k.log2e[1], exponent))
    return _with_limits(a, x, value)


def _parts(a: Arithmetic, x: Any, k: Logarithm) -> tuple[Any, Any]:
    """The exponent e as a float, and f, for a positive finite x."""
    dtype = a.dtype(x)
    subnormal = a(lt, x, k.smallest)
    bits = bits_of(a, a(select, subnormal, a(mul, x, 2.0**k.raised), x))
    exponent = a(shr, a(sub, bits, k.root), dtype.mantissa_bits)
    f = a(sub, float_of(a, a(sub, bits, a(shl, exponent, dtype.mantissa_bits)), dtype), 1.0)
    exponent = a(cast, exponent, to=dtype, rounding=None)
    return a(select, subnormal, a(sub, exponent, float(k.raised)), exponent), f


def _log1p(a: Arithmetic, f: Any, rest: Any) -> Any:
    """ln(1 + f), plus a small `rest` where one is given."""
    if a.dtype(f).bits == 32:
        square, curve = a(mul, f, f), polynomial(a, f, NARROW)
        return a(fma, square, curve, f) if rest is None else a(add, f, a(fma, square, curve, rest))
    half_square = a(mul, a(mul, f, 0.5), f)
    s = a(div, f, a(add, f, 2.0))
    z = a(mul, s, s)
    corrected = a(mul, s, a(fma, z, polynomial(a, z, WIDE), half_square))
    small = a(sub, corrected if rest is None else a(add, corrected, rest), half_square)
    return a(add, f, small)


def _with_limits(a: Arithmetic, x: Any, value: Any) -> Any:
    """-inf for 0, NaN below; inf and NaN as they are."""
    value = a(select, a(lt, x, inf), value, x)
    below = a(select, a(eq, x, 0.0), -inf, a(mul, x, nan))
    return a(select, a(gt, x, 0.0), value, below)
