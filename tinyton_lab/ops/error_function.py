"""How erf is spelled in exact ops (at most 2 ulp). Coefficients are minimax fits of our own."""

from __future__ import annotations

from typing import Any

from tinyton_lab.ops.arithmetic import Arithmetic, polynomial
from tinyton_lab.ops.elementwise import abs_, add, div, fma, gt, lt, mul, neg, select, sub
from tinyton_lab.ops.exponential import exp, with_sign_of

# erf(x) / x - 1 in x^2, for x up to 1.
SMALL32 = (
    0.12837916709551257,
    -0.37612637877464294,
    0.11283782124519348,
    -0.0268654003739357,
    0.005220945458859205,
    -0.0008482829434797168,
    0.00011256951256655157,
    -9.641523320169654e-06,
)
SMALL64 = (
    0.12837916709551257,
    -0.3761263890318375,
    0.11283791670954857,
    -0.026866170645072907,
    0.005223977624780965,
    -0.0008548326978747702,
    0.00012055331037093964,
    -1.4925593511401865e-05,
    1.6460972886829837e-06,
    -1.6350025936209847e-07,
    1.4657884472636762e-08,
    -1.1365683248455216e-09,
    5.945290031034521e-11,
)
# erfc(x) e^(x^2): for f32 in x from 1 to 4; for f64 in (x - 2) / (x + 2), x from 1 to 6.
LARGE32 = (
    0.9862910509109497,
    -1.0489507913589478,
    0.7939997315406799,
    -0.43313002586364746,
    0.1650126576423645,
    -0.04131070524454117,
    0.006065464578568935,
    -0.0003937621368095279,
)
LARGE64 = (
    0.25539567631050575,
    -0.4271858474139584,
    0.24165819424246673,
    -0.07897858101574949,
    0.0037328924041164996,
    0.006997461740331389,
    -0.000847143225188058,
    -0.0009819769791694856,
    4.355466542554211e-05,
    0.00017435649671716384,
    2.7532547656490205e-05,
    -2.748584789188403e-05,
    -1.3829644385402638e-05,
    9.299208306158442e-07,
    2.199854556690441e-06,
)


def erf(a: Arithmetic, x: Any) -> Any:
    """x + x P(x^2) up to 1; beyond, 1 - e^(-x^2) Q(|x|) with the sign of x, where nothing changes from some |x| on."""
    wide = a.dtype(x).bits == 64
    square = a(mul, x, x)
    small = a(fma, x, polynomial(a, square, SMALL64 if wide else SMALL32), x)
    size = a(abs_, x)
    size = a(select, a(gt, size, 6.0 if wide else 4.0), 6.0 if wide else 4.0, size)
    tail = a(mul, exp(a, a(neg, a(mul, size, size))), _tail(a, size, wide))
    return a(select, a(lt, size, 1.0), small, with_sign_of(a, a(sub, 1.0, tail), x))


def _tail(a: Arithmetic, size: Any, wide: bool) -> Any:
    if not wide:
        return polynomial(a, size, LARGE32)
    return polynomial(a, a(div, a(sub, size, 2.0), a(add, size, 2.0)), LARGE64)
