"""How sin and cos are spelled in exact ops (f32: at most 1 ulp; f64: 2 ulp). Minimax fits of our own."""

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import float64, int64
from tinyton_lab.ops.arithmetic import Arithmetic, polynomial
from tinyton_lab.ops.elementwise import (
    abs_,
    add,
    and_,
    bitcast,
    cast,
    eq,
    fma,
    ge,
    lt,
    mul,
    ne,
    neg,
    round_even,
    select,
    sub,
)
from tinyton_lab.ops.large_angles import remainder_of_large

# Bits of 2/pi in four pieces of 29, 29, 29 and 53 bits. The second and third set start further right, for numbers from
# 2**43 and 2**86 on: what is left out there contributes multiples of 4, that is whole turns.
PIECES = (
    (0.636619770899415, 1.4681663246252086e-09, 2.2760100671971816e-18, 5.881214749119912e-27),
    (2.0449648729936598e-07, 2.937095479631555e-16, 6.074026479468182e-24, 1.0181664387499708e-32),
    (1.0760572788072771e-19, 2.2665977917662736e-28, 1.3190720893236435e-36, 9.806594596464335e-46),
)
STARTS = (2.0**43, 2.0**86)
HALF_PI = 1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33
TWO_OVER_PI = 0.6366197723675814
MAGIC = 1.5 * 2.0**52  # added to a small number, it leaves the nearest integer in the lowest bits
SINE = (
    -0.16666666666666632,
    0.00833333333332237,
    -0.0001984126982977079,
    2.755731367856704e-06,
    -2.505075594931985e-08,
    1.589666594852246e-10,
)
COSINE = (
    0.0416666666666666,
    -0.0013888888888874066,
    2.4801587289443638e-05,
    -2.7557314340700875e-07,
    2.087572162903361e-09,
    -1.1359559595705706e-11,
)
SINE_NARROW = -0.16666666641525735, 0.008333329373986209, -0.00019839330955457777, 2.7182741048397544e-06
COSINE_NARROW = 0.04166666662265316, -0.0013888883738049536, 2.4799515891533984e-05, -2.7209892973596463e-07
TINY = 2.0**-13  # below, sin x rounds to x
LARGE = 2.0**40


def sin(a: Arithmetic, x: Any) -> Any:
    """sin r or cos r of the remainder r of x by pi/2, by the quarter x lies in."""
    value = _quarter(a, x, 0)
    return a(select, a(lt, a(abs_, x), TINY), x, value) if a.dtype(x).bits == 32 else a(select, a(eq, x, 0.0), x, value)


def cos(a: Arithmetic, x: Any) -> Any:
    """The sine a quarter turn on."""
    return _quarter(a, x, 1)


def _quarter(a: Arithmetic, x: Any, turn: int) -> Any:
    """The sine of ``x + turn pi/2``."""
    dtype = a.dtype(x)
    narrow = dtype.bits == 32
    quarter, r, rest = narrow_remainder(a, x) if narrow else quarter_and_rest(a, x)
    if narrow:
        z = a(mul, r, r)
        sine = a(fma, a(mul, z, r), polynomial(a, z, SINE_NARROW), r)
        cosine = a(fma, a(mul, z, z), polynomial(a, z, COSINE_NARROW), a(fma, z, -0.5, 1.0))
    else:
        sine, cosine = (a(add, *pair(a, r, rest)) for pair in (small_sine, small_cosine))
    quarter = a(and_, quarter, 3) if not turn else a(and_, a(add, quarter, 1), 3)
    odd = a(ne, a(and_, quarter, 1), 0)
    value = a(select, odd, cosine, sine)
    value = a(select, a(ge, quarter, 2), a(neg, value), value)
    return a(cast, value, to=dtype, rounding=None) if narrow else value


def small_sine(a: Arithmetic, r: Any, rest: Any) -> tuple[Any, Any]:
    """sin(r + rest) as a sum of two, up to a quarter of pi: the rest is below half an ulp of r."""
    z = a(mul, r, r)
    return r, a(fma, a(mul, z, r), polynomial(a, z, SINE), a(mul, rest, a(fma, z, -0.5, 1.0)))


def small_cosine(a: Arithmetic, r: Any, rest: Any) -> tuple[Any, Any]:
    """cos(r + rest) as 1 - z/2, and what that rounding lost with the smaller terms."""
    z = a(mul, r, r)
    half = a(mul, z, 0.5)
    head = a(sub, 1.0, half)
    lost = a(sub, a(sub, 1.0, head), half)
    lost = a(sub, lost, a(fma, r, rest, a(mul, a(fma, r, r, a(neg, z)), 0.5)))
    return head, a(fma, a(mul, z, z), polynomial(a, z, COSINE), lost)


def narrow_remainder(a: Arithmetic, x: Any) -> tuple[Any, Any, Any]:
    """Quarter and remainder of an f32 by pi/2 in f64: exact products with the bits of 2/pi that matter."""
    x = a(cast, x, to=float64, rounding=None)
    size = a(abs_, x)
    pieces = [a.constant(piece, x) for piece in PIECES[0]]
    for start, others in zip(STARTS, PIECES[1:], strict=True):
        far = a(ge, size, start)
        pieces = [a(select, far, other, piece) for other, piece in zip(others, pieces, strict=True)]
    turns = _modulo_four(a, a(mul, x, pieces[0]))
    turns = a(add, turns, _modulo_four(a, a(mul, x, pieces[1])))
    small = a(fma, x, pieces[3], _modulo_four(a, a(mul, x, pieces[2])))
    shifted = a(add, a(add, turns, small), MAGIC)
    part = a(add, a(sub, turns, a(sub, shifted, MAGIC)), small)
    return a(bitcast, shifted, to=int64), a(mul, part, HALF_PI[0]), None


def _modulo_four(a: Arithmetic, x: Any) -> Any:
    return a(fma, a(round_even, a(mul, x, 0.25)), -4.0, x)


def quarter_and_rest(a: Arithmetic, x: Any) -> tuple[Any, Any, Any]:
    """The quarter turn an f64 lies in (an i64, modulo 4), and its remainder by pi/2 in two parts."""
    large = a(ge, a(abs_, x), LARGE)
    found = zip(remainder_of_large(a, x), _remainder_wide(a, x), strict=True)
    quarter, r, rest = (a(select, large, far, near) for far, near in found)
    return quarter, r, rest


def _remainder_wide(a: Arithmetic, x: Any) -> tuple[Any, Any, Any]:
    """Quarter and remainder of an f64 by pi/2, in two parts, with pi/2 in three."""
    shifted = a(fma, x, TWO_OVER_PI, MAGIC)
    n = a(sub, shifted, MAGIC)
    first = a(fma, n, -HALF_PI[0], x)
    product = a(mul, n, HALF_PI[1])
    second = a(sub, first, product)
    lost = a(sub, a(sub, first, second), product)
    lost = a(sub, lost, a(fma, n, HALF_PI[2], a(fma, n, HALF_PI[1], a(neg, product))))
    r = a(add, second, lost)
    return a(bitcast, shifted, to=int64), r, a(add, a(sub, second, r), lost)
