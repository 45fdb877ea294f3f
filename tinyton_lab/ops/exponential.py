"""How exp, exp2 and tanh are spelled in exact ops (at most 2 ulp). Coefficients are minimax fits of our own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tinyton_lab.ops.arithmetic import Arithmetic, bits_of, float_of, polynomial, power_from
from tinyton_lab.ops.elementwise import abs_, add, and_, div, fma, gt, lt, mul, or_, select, sub


@dataclass(frozen=True, slots=True)
class Exponential:
    """Facts for one dtype: outside ``lowest .. highest`` the result is 0 or inf.

    Adding `magic` to a number below 2**22 (f32) leaves its nearest integer plus the exponent bias in the lowest bits.
    ``high + low`` is 2 ln 2; `high` is short, so that its product with a small integer is exact.
    """

    magic: float
    lowest: float
    highest: float
    half_log2e: float
    high: float
    low: float
    natural: tuple[float, ...]
    lowest2: float
    highest2: float
    binary: tuple[float, ...]


F32 = Exponential(
    magic=1.5 * 2**23 + 127,
    lowest=-110.0,
    highest=100.0,
    half_log2e=0.7213475108146667,
    high=1.38629150390625,
    low=2.857213530660374e-06,
    natural=(
        1.0,
        1.0,
        0.5000003576278687,
        0.16666613519191742,
        0.04166126996278763,
        0.008336103521287441,
        0.0014104469446465373,
        0.0001961159723578021,
    ),
    lowest2=-160.0,
    highest2=140.0,
    binary=(
        1.0,
        0.6931474208831787,
        0.24022667109966278,
        0.05550221726298332,
        0.0096168527379632,
        0.0013369411462917924,
        0.00015647463442292064,
        1.3418365597317461e-05,
    ),
)
F64 = Exponential(
    magic=1.5 * 2**52 + 1023,
    lowest=-760.0,
    highest=720.0,
    half_log2e=0.7213475204444817,
    high=1.386294361119326,
    low=5.647058112606315e-13,
    natural=(
        1.0,
        1.0,
        0.5,
        0.16666666666666607,
        0.04166666666666618,
        0.008333333333345357,
        0.0013888888888975728,
        0.0001984126983046405,
        2.480158723589463e-05,
        2.7557324199660425e-06,
        2.7557343465043193e-07,
        2.5050883233724732e-08,
        2.0872375104606773e-09,
        1.6212398591306615e-10,
        1.180356348524536e-11,
    ),
    lowest2=-1100.0,
    highest2=1040.0,
    binary=(
        1.0,
        0.6931471805599453,
        0.24022650695910072,
        0.055504108664821375,
        0.009618129107628359,
        0.0013333558146448518,
        0.00015403530393481564,
        1.5252733795478947e-05,
        1.3215486754298104e-06,
        1.0178087889657312e-07,
        7.054917892197733e-09,
        4.4453177465970535e-10,
        2.5673057933119825e-11,
        1.382309055406497e-12,
        6.972981846623668e-14,
    ),
)


def facts(a: Arithmetic, x: Any) -> Exponential:
    return F64 if a.dtype(x).bits == 64 else F32


def exp(a: Arithmetic, x: Any) -> Any:
    """e^x = e^r 2^h 2^h with h = round(x / 2 ln 2): two factors reach every exponent, subnormal and infinite ones too.

    The remainder r is at most ln 2. A NaN passes every comparison untouched.
    """
    k = facts(a, x)
    x = _inside(a, x, k.lowest, k.highest)
    shifted = a(fma, x, k.half_log2e, k.magic)
    h = a(sub, shifted, k.magic)
    r = a(fma, h, -k.low, a(fma, h, -k.high, x))
    return _scaled_twice(a, polynomial(a, r, k.natural), shifted)


def exp2(a: Arithmetic, x: Any) -> Any:
    """2^x the same way; the remainder x - 2 h is exact, and the polynomial is exact where it is -1, 0 or 1."""
    k = facts(a, x)
    x = _inside(a, x, k.lowest2, k.highest2)
    shifted = a(fma, x, 0.5, k.magic)
    h = a(sub, shifted, k.magic)
    return _scaled_twice(a, polynomial(a, a(fma, h, -2.0, x), k.binary), shifted)


def _inside(a: Arithmetic, x: Any, lowest: float, highest: float) -> Any:
    x = a(select, a(lt, x, lowest), lowest, x)
    return a(select, a(gt, x, highest), highest, x)


def _scaled_twice(a: Arithmetic, value: Any, shifted: Any) -> Any:
    power = power_from(a, shifted)
    return a(mul, a(mul, value, power), power)


TANH_BELOW = 0.625
TANH32 = (
    -0.3333328068256378,
    0.13331441581249237,
    -0.05373971909284592,
    0.020639093592762947,
    -0.005704992450773716,
)
TANH64 = (
    -0.33333333333333315,
    0.13333333333329742,
    -0.05396825396605869,
    0.021869488468711146,
    -0.008863234312532265,
    0.003592113999583551,
    -0.0014557259470161965,
    0.0005894517972086566,
    -0.00023701173111190517,
    9.155842111422336e-05,
    -3.01872355595229e-05,
    6.042476698871027e-06,
)


def tanh(a: Arithmetic, x: Any) -> Any:
    """x + x^3 P(x^2) for small x, else 1 - 2 / (e^2|x| + 1) with the sign of x."""
    size = a(abs_, x)
    square = a(mul, x, x)
    small = a(fma, a(mul, square, polynomial(a, square, TANH64 if a.dtype(x).bits == 64 else TANH32)), x, x)
    power = exp(a, a(add, size, size))
    large = a(sub, 1.0, a(div, 2.0, a(add, power, 1.0)))
    return a(select, a(lt, size, TANH_BELOW), small, with_sign_of(a, large, x))


def with_sign_of(a: Arithmetic, size: Any, x: Any) -> Any:
    """A number that is not negative, with the sign of `x`."""
    dtype = a.dtype(x)
    sign = a(and_, bits_of(a, x), -(1 << (dtype.bits - 1)))
    return float_of(a, a(or_, bits_of(a, size), sign), dtype)
