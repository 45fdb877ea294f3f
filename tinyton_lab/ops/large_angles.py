"""The remainder of any f64 by pi/2, however large: the product with those bits of 2/pi that matter, without rounding.

Knows no sine; `trigonometry` uses it for numbers from 2**40 on, where parts of pi/2 no longer suffice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyton_lab.ops.arithmetic import Arithmetic, bits_of, float_of, integer_of
from tinyton_lab.ops.elementwise import add, and_, bitcast, fma, gt, mul, ne, neg, round_even, select, shl, shr, sub

# 2/pi in pieces of 48 bits: piece k times 2**(-48 (k + 1)).
PIECES = (
    179192535600708, 23270068279249, 269607407508322, 164485373595713, 279625518014139, 217023475117626,
    72902017812041, 51582721954332, 279404452032809, 183888630658549, 51381843323292, 123311537225281,
    63298527134547, 63722760724363, 208877819469816, 167125197363215, 262985436846602, 119981743701711,
    43752994852678, 69709976300077, 128813497838565, 265511607155191, 152087256787963, 105214343208200,
    94571694849147,
)  # fmt: skip
WIDTH, USED = 48, 5
HALF_PI = 1.5707963267948966, 6.123233995736766e-17
MAGIC = 1.5 * 2.0**52

Sum = tuple[Any, Any]


def remainder_of_large(a: Arithmetic, x: Any) -> tuple[Any, Any, Any]:
    """Quarter turns (an i64, modulo 4), and the rest of an f64 of at least 2**40 in two parts."""
    dtype = a.dtype(x)
    bits = bits_of(a, x)
    exponent = a(sub, a(and_, a(shr, bits, dtype.mantissa_bits), 2047), 1077)
    # Pieces further left contribute whole turns. 1366 / 2**16 divides by 48 well enough.
    first = a(shr, a(mul, exponent, 1366), 16)
    first = a(select, a(gt, first, 0), first, a(mul, first, 0))
    shift = a(shl, a(mul, first, WIDTH), dtype.mantissa_bits)
    near = float_of(a, a(sub, bits, shift), dtype)
    near = a(fma, x, 0.0, near)  # infinity has no remainder
    quarter, terms = _turns(a, near, _pieces_from(a, first, x))
    r, rest = _exact_sum(a, terms)
    angle, lost = _product(a, r, HALF_PI[0])
    lost = a(fma, r, HALF_PI[1], a(fma, rest, HALF_PI[0], lost))
    high, low = _fast_two_sum(a, angle, lost)
    return quarter, high, low


def _pieces_from(a: Arithmetic, first: Any, like: Any) -> list[Any]:
    """The pieces ``first ... first + 4``: by halves, each bit of the index chooses between neighbours."""
    pieces: list[Any] = [a.constant(float(piece), like) for piece in PIECES]
    for step in (16, 8, 4, 2, 1):
        chosen = a(ne, a(and_, first, step), 0)
        count = min(USED + step - 1, len(pieces) - step)
        moved = [a(select, chosen, pieces[k + step], pieces[k]) for k in range(count)]
        pieces = moved + pieces[count : USED + step - 1]
    return [a(mul, piece, 2.0 ** (-WIDTH * (k + 1))) for k, piece in enumerate(pieces[:USED])]


def _turns(a: Arithmetic, x: Any, pieces: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The nearest number of quarter turns, and what is left as a sum of f64, the greater ones first."""
    products = [_product(a, x, piece) for piece in pieces]
    parts = [part for product in products for part in product]
    large = [_modulo_four(a, part) for part in parts[:5]]
    whole = a(add, a(add, a(add, large[0], large[1]), a(add, large[2], large[3])), large[4])
    shifted = a(add, whole, MAGIC)
    turns = a(sub, shifted, MAGIC)
    return a(bitcast, shifted, to=integer_of(a, x)), [a(sub, large[0], turns), *large[1:], *parts[5:9]]


def _exact_sum(a: Arithmetic, terms: Sequence[Any]) -> Sum:
    """A sum of which much may cancel, as a pair: what each step loses is summed as carefully again."""
    total, lost = terms[0], []
    for term in terms[1:]:
        total, error = _two_sum(a, total, term)
        lost.append(error)
    low, lower = lost[0], None
    for term in lost[1:]:
        low, error = _two_sum(a, low, term)
        lower = error if lower is None else a(add, lower, error)
    high, rest = _two_sum(a, total, low)
    return high, a(add, rest, lower)


def _modulo_four(a: Arithmetic, x: Any) -> Any:
    return a(fma, a(round_even, a(mul, x, 0.25)), -4.0, x)


def _product(a: Arithmetic, x: Any, y: Any) -> Sum:
    product = a(mul, x, y)
    return product, a(fma, x, y, a(neg, product))


def _two_sum(a: Arithmetic, x: Any, y: Any) -> Sum:
    total = a(add, x, y)
    back = a(sub, total, x)
    return total, a(add, a(sub, x, a(sub, total, back)), a(sub, y, back))


def _fast_two_sum(a: Arithmetic, x: Any, y: Any) -> Sum:
    total = a(add, x, y)
    return total, a(sub, y, a(sub, total, x))
