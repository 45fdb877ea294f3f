"""How exact the math functions are: one row each, in units of the last place. Functions without a row are exact.

With ``math="full"`` all engines give the same bits, so that one bound holds on all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from tinyton_lab.ops.table import OPS


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The greatest error of a function in ulp of its result, of float32 and of float64.

    A `flat` function is as exact as a result of size 1 wherever its own is smaller, near its zeros. Narrower floats are
    the float32 result rounded once more: within 0.51 ulp.
    """

    name: str
    single: float
    double: float
    flat: bool = False


ROUNDED = 0.51  # what is computed in f64 and rounded once
NARROW = 0.51  # the bound of float16 and bfloat16

_ROWS = (
    *(Accuracy(row.name, row.ulp, row.ulp) for row in OPS.values() if row.ulp),
    Accuracy("exp10", ROUNDED, 1),
    Accuracy("expm1", ROUNDED, 1),
    Accuracy("log10", ROUNDED, 1),
    Accuracy("log1p", ROUNDED, 1),
    Accuracy("pow", ROUNDED, 1),
    Accuracy("sinh", ROUNDED, 2),
    Accuracy("cosh", ROUNDED, 1.5),
    Accuracy("asinh", ROUNDED, 1.5),
    Accuracy("acosh", ROUNDED, 1.5),
    Accuracy("atanh", ROUNDED, 1.5),
    Accuracy("tan", ROUNDED, 1),
    Accuracy("sinpi", ROUNDED, 1),
    Accuracy("cospi", ROUNDED, 1),
    Accuracy("asin", ROUNDED, 1),
    Accuracy("acos", ROUNDED, 1),
    Accuracy("atan", ROUNDED, 1.5),
    Accuracy("atan2", ROUNDED, 1.5),
    Accuracy("cbrt", ROUNDED, 1),
    Accuracy("rcbrt", ROUNDED, 1),
    Accuracy("hypot", ROUNDED, 1),
    Accuracy("rhypot", ROUNDED, 1.5),
    Accuracy("norm3d", ROUNDED, 1),
    Accuracy("rnorm3d", ROUNDED, 1.5),
    Accuracy("norm4d", ROUNDED, 1),
    Accuracy("rnorm4d", ROUNDED, 1.5),
    Accuracy("erfc", ROUNDED, 4),
    Accuracy("erfcx", ROUNDED, 4),
    Accuracy("erfinv", ROUNDED, 4),
    Accuracy("erfcinv", ROUNDED, 6),
    Accuracy("normcdf", ROUNDED, 4),
    Accuracy("normcdfinv", ROUNDED, 6),
    Accuracy("tgamma", ROUNDED, 5),
    Accuracy("lgamma", ROUNDED, 4, flat=True),
    Accuracy("j0", ROUNDED, 4, flat=True),
    Accuracy("j1", ROUNDED, 4, flat=True),
    Accuracy("jn", ROUNDED, 64, flat=True),
    Accuracy("y0", ROUNDED, 8, flat=True),
    Accuracy("y1", ROUNDED, 8, flat=True),
    Accuracy("yn", ROUNDED, 64, flat=True),
    Accuracy("cyl_bessel_i0", ROUNDED, 5),
    Accuracy("cyl_bessel_i1", ROUNDED, 5),
)
ACCURACY: dict[str, Accuracy] = {row.name: row for row in _ROWS}
