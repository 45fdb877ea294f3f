"""Where math functions are sampled, their exact values in many digits, and errors in units of the last place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tinyton_lab.language.extra import libdevice

Array = Any


@dataclass(frozen=True, slots=True)
class Domain:
    """Where a function of floats is sampled: `uniform` intervals, and `powers` of two, of either `signs`.

    `powers` are exponents; None stands for the dtype's own. Each operand has its own entry.
    """

    uniform: tuple[tuple[float, float], ...] = ()
    powers: tuple[tuple[int | None, int | None], ...] = ((None, None),)
    signs: tuple[int, ...] = (-1, 1)


@tt.jit
def one(x, out, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, FUNCTION(tl.load(x + i)))


@tt.jit
def two(x, y, out, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, FUNCTION(tl.load(x + i), tl.load(y + i)))


@tt.jit
def three(x, y, z, out, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, FUNCTION(tl.load(x + i), tl.load(y + i), tl.load(z + i)))


@tt.jit
def four(x, y, z, w, out, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, FUNCTION(tl.load(x + i), tl.load(y + i), tl.load(z + i), tl.load(w + i)))


KERNELS: dict[int, Any] = {1: one, 2: two, 3: three, 4: four}


def function_of(name: str) -> Any:
    return getattr(libdevice, name, None) or getattr(tl, name)


def computed(name: str, operands: list[Array], engine: str, result: Any = None, **options: Any) -> Array:
    """The function of arrays of one length, on an engine, with accurate math; blocks are padded with ones."""
    size = operands[0].size
    block = min(1024, 1 << max(size - 1, 1).bit_length())
    blocks = -(-size // block)
    padded = [np.concatenate([x, np.ones(blocks * block - size, x.dtype)]) for x in operands]
    out = np.zeros(blocks * block, operands[-1].dtype if result is None else result)
    KERNELS[len(operands)][(blocks,)](
        *padded, out, function_of(name), block, backend=engine, **{"math": "full"} | options
    )
    return out[:size]


def narrow_error(name: str, flat: bool) -> float:
    """The greatest error of a function of f32 over every number of 16 bits, measured by its result of f64."""
    patterns = np.arange(65536, dtype=np.uint16)
    with np.errstate(all="ignore"):
        halves, brains = patterns.view(np.float16), patterns.astype(np.uint32) << 16
        x = np.unique(np.concatenate([halves.astype(np.float32), brains.view(np.float32)]))
    wide = computed(name, [x.astype(np.float64)], "cpu")
    error = ulps(computed(name, [x], "cpu"), wide, np.zeros_like(wide), np.float32, float(flat))
    return float(error.max())


def agreeing(name: str, dtype: Any, count: int = 60) -> bool:
    """Whether the interpreter, the native engine and the simulator give the same bits."""
    operands = samples(name, dtype, count)
    first, *others = (computed(name, operands, engine) for engine in ("cpu", "interpreter", "sim"))
    return all(np.array_equal(first, x, equal_nan=True) and same_signs(first, x) for x in others)


def same_signs(x: Array, y: Array) -> bool:
    return bool((np.signbit(x) == np.signbit(y))[~np.isnan(x)].all())


def ulps(got: Array, high: Array, low: Array, dtype: Any, least: float = 0.0) -> Array:
    """Distance of `got` from ``high + low`` in units of the last place that the exact value has in `dtype`.

    Numbers below `least` count as `least`: for functions that are as exact as a number of that size near their zeros.
    """
    info = np.finfo(dtype)
    size = np.maximum(np.abs(high), least)
    exponent = np.maximum(np.frexp(np.where(np.isfinite(size), size, 1.0))[1], info.minexp + 1)
    wide = got.astype(np.float64)
    with np.errstate(all="ignore"):
        shift = info.nmant + 1 - exponent  # in two steps, for the unit may be subnormal
        error = np.abs(np.ldexp(np.ldexp((wide - high) - low, shift // 2), shift - shift // 2))
    limit = float(info.max) * (1 + 2.0 ** -(info.nmant + 2)) if dtype is np.float32 else np.inf
    right = (wide == high) & (low == 0) | (np.isnan(wide) & np.isnan(high))
    right |= np.isinf(wide) & (np.abs(high) >= limit) & (np.signbit(wide) == np.signbit(high))
    return np.where(right, 0.0, np.where(np.isnan(wide) | np.isinf(wide), np.inf, error))


def samples(name: str, dtype: Any, count: int) -> list[Array]:
    """Operands of a function: the same for every run, about `count` of them, its special values among them."""
    domains = DOMAINS[name]
    rng = np.random.default_rng(sum(name.encode()) * len(name))
    info = np.finfo(dtype)
    columns: list[Array] = []
    for number, domain in enumerate(domains):
        parts: list[Array] = [rng.uniform(low, high, count) for low, high in domain.uniform]
        for low, high in domain.powers:
            bottom = info.minexp - info.nmant if low is None else low
            top = info.maxexp if high is None else high
            parts.append(np.exp2(rng.uniform(bottom, top, count)) * rng.choice(domain.signs, count))
        chosen = np.concatenate(parts)
        column = rng.choice(chosen, min(count, chosen.size), replace=False)
        columns.append(np.concatenate([column, np.roll(SPECIALS, 5 * number)]).astype(dtype))
    return columns


SPECIALS = np.array([0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0])


def _domain(*uniform: tuple[float, float], powers: Any = ((None, None),), signs: Any = (-1, 1)) -> Domain:
    return Domain(uniform, powers, signs)


ANY = _domain((-3, 3))
POSITIVE = _domain((0, 3), signs=(1,))
UNIT = _domain((-1, 1), (0.9, 1), powers=((None, 0),))
ANGLE = _domain((-7, 7), (-1e5, 1e5))
GROWING = _domain((-90, 90), (-2, 2), powers=((-40, 8),))
BESSEL = _domain((0, 30), (0, 8.5), (8, 1e4), powers=((-60, 10),), signs=(1,))
DOMAINS: dict[str, tuple[Domain, ...]] = {
    "exp": (GROWING,), "exp2": (GROWING,), "exp10": (_domain((-40, 40), (-1, 1), powers=((-40, 8),)),),
    "expm1": (GROWING,), "log": (POSITIVE,), "log2": (POSITIVE,), "log10": (POSITIVE,),
    "log1p": (_domain((-1, 1), (0, 9)),), "sinh": (GROWING,), "cosh": (GROWING,), "tanh": (_domain((-9, 9), (-1, 1)),),
    "asinh": (ANY,), "acosh": (_domain((1, 3), (1, 1.001), powers=((0, None),), signs=(1,)),), "atanh": (UNIT,),
    "sin": (ANGLE,), "cos": (ANGLE,), "tan": (ANGLE,),
    "sinpi": (_domain((-3, 3), powers=((-40, 54),)),), "cospi": (_domain((-3, 3), powers=((-40, 54),)),),
    "asin": (UNIT,), "acos": (UNIT,), "atan": (ANY,), "atan2": (ANY, ANY),
    "sqrt": (POSITIVE,), "sqrt_rn": (POSITIVE,), "rsqrt": (POSITIVE,), "cbrt": (ANY,), "rcbrt": (ANY,),
    "hypot": (ANY, ANY), "rhypot": (ANY, ANY), "norm3d": (ANY,) * 3, "rnorm3d": (ANY,) * 3, "norm4d": (ANY,) * 4,
    "rnorm4d": (ANY,) * 4, "pow": (_domain((0, 3), (0.99, 1.01), signs=(1, 1, 1, -1)), _domain((-30, 30), (-700, 700))),
    "erf": (_domain((-4, 4), (-1, 1), powers=((-60, 3),)),),
    "erfc": (_domain((-3, 10), (0, 27), powers=((-60, 5),)),), "erfcx": (_domain((-3, 10), (-26, 27)),),
    "erfinv": (UNIT,), "erfcinv": (_domain((0, 2), (0.9, 1.1), powers=((None, 0),), signs=(1,)),),
    "normcdf": (_domain((-37, 9), (-3, 3), powers=((-60, 4),)),),
    "normcdfinv": (_domain((0, 1), (0.45, 0.55), powers=((None, 0),), signs=(1,)),),
    "tgamma": (_domain((-5, 36), (0, 3), (0, 171), (-30, 0), powers=((-60, 6),)),),
    "lgamma": (_domain((0, 12), (0.9, 3.1), (-5, 0), powers=((-60, 100),)),),
    "j0": (BESSEL,), "j1": (BESSEL,), "y0": (BESSEL,), "y1": (BESSEL,),
    "cyl_bessel_i0": (_domain((-20, 20), (-90, 90), powers=((-60, 6),)),),
    "cyl_bessel_i1": (_domain((-20, 20), (-90, 90), powers=((-60, 6),)),),
}  # fmt: skip


def references(mp: Any) -> dict[str, Callable[..., Any]]:
    """The functions in as many digits as a package for such numbers is set to."""
    return elementary(mp) | lengths(mp) | special(mp) | {"pow": _power(mp)}


def only(mp: Any, inside: Callable[[Any], bool], function: Callable[..., Any]) -> Callable[..., Any]:
    """A function on its domain; NaN elsewhere."""
    return lambda x: function(x) if inside(x) else mp.nan


def elementary(mp: Any) -> dict[str, Callable[..., Any]]:
    def logarithm(base: Any) -> Callable[[Any], Any]:
        return lambda x: mp.nan if x < 0 else -mp.inf if x == 0 else x if mp.isinf(x) else mp.log(x) / base

    def finite(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: mp.nan if mp.isinf(x) else function(x)

    def unit(x: Any) -> bool:
        return abs(x) <= 1

    return {
        "exp": mp.exp, "exp2": lambda x: mp.mpf(2) ** x, "exp10": lambda x: mp.mpf(10) ** x,
        "expm1": lambda x: mp.expm1(x) if abs(x) < 1e300 or mp.isinf(x) else (mp.inf if x > 0 else mp.mpf(-1)),
        "log": logarithm(1), "log2": logarithm(mp.log(2)), "log10": logarithm(mp.log(10)),
        "log1p": lambda x: mp.nan if x < -1 else -mp.inf if x == -1 else x if mp.isinf(x) else mp.log1p(x),
        "sinh": mp.sinh, "cosh": mp.cosh, "tanh": mp.tanh, "asinh": lambda x: x if mp.isinf(x) else mp.asinh(x),
        "acosh": only(mp, lambda x: x >= 1, mp.acosh),
        "atanh": only(mp, unit, lambda x: x * mp.inf if abs(x) == 1 else mp.atanh(x)),
        "sin": finite(mp.sin), "cos": finite(mp.cos), "tan": finite(mp.tan), "sinpi": finite(mp.sinpi),
        "cospi": finite(mp.cospi), "asin": only(mp, unit, mp.asin), "acos": only(mp, unit, mp.acos), "atan": mp.atan,
        "atan2": mp.atan2,
    }  # fmt: skip


def lengths(mp: Any) -> dict[str, Callable[..., Any]]:
    def length(*x: Any) -> Any:
        return mp.sqrt(sum(v * v for v in x))

    def inverse(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *x: mp.inf if function(*x) == 0 else 1 / function(*x)

    root = only(mp, lambda x: x >= 0, mp.sqrt)
    return {
        "sqrt": root, "sqrt_rn": root, "rsqrt": only(mp, lambda x: x >= 0, inverse(mp.sqrt)),
        "cbrt": lambda x: -mp.cbrt(-x) if x < 0 else mp.cbrt(x),
        "rcbrt": lambda x: -1 / mp.cbrt(-x) if x < 0 else inverse(mp.cbrt)(x),
        "hypot": length, "rhypot": inverse(length), "norm3d": length, "rnorm3d": inverse(length), "norm4d": length,
        "rnorm4d": inverse(length),
    }  # fmt: skip


def special(mp: Any) -> dict[str, Callable[..., Any]]:
    def gamma(x: Any) -> Any:
        return mp.inf if x == 0 else mp.nan if x < 0 and x == mp.floor(x) else mp.gamma(x)

    def log_gamma(x: Any) -> Any:
        if mp.isinf(x) or (x <= 0 and x == mp.floor(x)):
            return mp.inf
        return mp.log(abs(mp.gamma(x))) if x < 0 else mp.loggamma(x)

    def complement_inverse(y: Any) -> Any:
        if not 0 < y < 2:
            return mp.nan if y < 0 or y > 2 else mp.inf if y == 0 else -mp.inf
        if abs(1 - y) < 0.999:
            return mp.erfinv(1 - y)
        rest = min(y, 2 - y)
        x, step = mp.sqrt(-mp.log(rest)), mp.mpf(1)
        while abs(step) > abs(x) * mp.mpf(2) ** -120:
            step = (mp.log(mp.erfc(x)) - mp.log(rest)) * mp.erfc(x) * mp.sqrt(mp.pi) / 2 * mp.exp(x * x)
            x += step
        return x if y < 1 else -x

    def scaled_complement(x: Any) -> Any:
        if mp.isinf(x):
            return mp.mpf(0) if x > 0 else mp.inf
        if x > 1e6:
            return (1 - 1 / (2 * x * x) + 3 / (4 * x**4)) / (x * mp.sqrt(mp.pi))
        return mp.exp(x * x) * mp.erfc(x) if x > -1000 else mp.inf

    def error_inverse(x: Any) -> Any:
        return mp.nan if abs(x) > 1 else x * mp.inf if abs(x) == 1 else mp.erfinv(x)

    def first(order: int) -> Callable[[Any], Any]:
        return lambda x: mp.mpf(0) if mp.isinf(x) else mp.besselj(order, x)

    def second(order: int) -> Callable[[Any], Any]:
        return lambda x: mp.nan if x < 0 else -mp.inf if x == 0 else 0 if mp.isinf(x) else mp.bessely(order, x)

    return {
        "erf": mp.erf, "erfc": mp.erfc, "erfcx": scaled_complement, "erfinv": error_inverse,
        "erfcinv": complement_inverse, "normcdf": lambda x: mp.erfc(-x / mp.sqrt(2)) / 2,
        "normcdfinv": lambda x: -mp.sqrt(2) * complement_inverse(2 * x), "tgamma": gamma, "lgamma": log_gamma,
        "j0": first(0), "j1": first(1), "y0": second(0), "y1": second(1),
        "cyl_bessel_i0": lambda x: abs(x) if mp.isinf(x) else mp.besseli(0, x),
        "cyl_bessel_i1": lambda x: x if mp.isinf(x) else mp.besseli(1, x),
    }  # fmt: skip


def _power(mp: Any) -> Callable[[Any, Any], Any]:
    def power(x: Any, y: Any) -> Any:
        if x < 0 and y != mp.floor(y):
            return mp.nan
        return mp.re(mp.power(x, y)) if x else (mp.inf if y < 0 else mp.mpf(0 if y else 1))

    return power


def exact(name: str, operands: list[Array], digits: int = 300) -> tuple[Array, Array]:
    """The exact values as sums of two f64; where an operand is no number, or infinite in two operands, NaN."""
    import mpmath as mp

    highs, lows = [], []
    with mp.workprec(digits):
        function = references(mp)[name]
        for values in zip(*(x.astype(np.float64).tolist() for x in operands), strict=True):
            plain = all(v == v for v in values) and (len(values) == 1 or all(abs(v) < np.inf for v in values))
            result = function(*(mp.mpf(v) for v in values)) if plain else mp.nan
            high = float(result)
            highs.append(high)
            lows.append(float(result - mp.mpf(high)) if abs(high) < np.inf else 0.0)
    return np.array(highs), np.array(lows)
