"""The device library's integers, exponents, remainders, Bessel orders and refusals; all its names, on every engine."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.accuracy import KERNELS, computed
from tinyton_lab.language.extra import libdevice

INF, NAN = math.inf, math.nan
ENGINES = ["interpreter", "cpu", "sim"]
TRITON = json.loads((Path(__file__).parent.parent / "data" / "triton_libdevice.json").read_text(encoding="utf-8"))


def test_every_name_of_triton_is_there():
    assert [name for name in TRITON if name not in libdevice.__all__] == []
    assert len(TRITON) == 197


def integers(dtype: Any, seed: int = 0) -> Any:
    info = np.iinfo(dtype)
    rng = np.random.default_rng(seed)
    wild = rng.integers(info.min, info.max, 40, dtype, endpoint=True)
    small = wild >> rng.integers(0, info.bits - 1, 40).astype(dtype)
    known = [0, 1, 2, 3, 255, 256, info.max, info.max - 1, info.min, info.min + 1]
    return np.concatenate([wild, small, np.array(known, dtype)])


def wrapped(value: int, dtype: Any) -> int:
    bits = np.iinfo(dtype).bits
    value %= 1 << bits
    return value - (1 << bits) if np.iinfo(dtype).min < 0 and value >> (bits - 1) else value


def bits(x: int, width: int) -> str:
    return format(x % (1 << width), f"0{width}b")


def permuted(x: int, y: int, s: int) -> int:
    eight = (x % 2**32 | (y % 2**32) << 32).to_bytes(8, "little")
    return int.from_bytes(bytes(eight[s >> 4 * k & 7] for k in range(4)), "little", signed=True)


def lower24(x: int) -> int:
    return (x % 2**24) - (2**24 if x >> 23 & 1 else 0)


WORDS: dict[str, tuple[tuple[Any, ...], Any, Callable[..., int]]] = {
    "clz": ((np.int32,), np.int32, lambda x: len(bits(x, 32)) - len(bits(x, 32).lstrip("0"))),
    "popc": ((np.int32,), np.int32, lambda x: bits(x, 32).count("1")),
    "ffs": ((np.int32,), np.int32, lambda x: bits(x, 32)[::-1].find("1") + 1),
    "brev": ((np.int32,), np.int32, lambda x: wrapped(int(bits(x, 32)[::-1], 2), np.int32)),
    "mul24": ((np.int32,) * 2, np.int32, lambda x, y: wrapped(lower24(x) * lower24(y), np.int32)),
    "mulhi": ((np.int32,) * 2, np.int32, lambda x, y: x * y >> 32),
    "hadd": ((np.int32,) * 2, np.int32, lambda x, y: x + y >> 1),
    "rhadd": ((np.int32,) * 2, np.int32, lambda x, y: x + y + 1 >> 1),
    "sad": ((np.int32, np.int32, np.uint32), np.int32, lambda x, y, z: wrapped(abs(x - y) + z, np.int32)),
    "byte_perm": ((np.int32,) * 3, np.int32, permuted),
    "abs": ((np.int32,), np.int32, lambda x: wrapped(abs(x), np.int32)),
}
LONGER: dict[str, tuple[tuple[Any, ...], Any, Callable[..., int]]] = {
    "clz": ((np.int64,), np.int32, lambda x: len(bits(x, 64)) - len(bits(x, 64).lstrip("0"))),
    "popc": ((np.int64,), np.int32, lambda x: bits(x, 64).count("1")),
    "ffs": ((np.int64,), np.int32, lambda x: bits(x, 64)[::-1].find("1") + 1),
    "brev": ((np.int64,), np.int64, lambda x: wrapped(int(bits(x, 64)[::-1], 2), np.int64)),
    "mulhi": ((np.int64,) * 2, np.int64, lambda x, y: x * y >> 64),
    "mul24": ((np.uint32,) * 2, np.uint32, lambda x, y: x % 2**24 * (y % 2**24) % 2**32),
    "hadd": ((np.uint32,) * 2, np.uint32, lambda x, y: x + y >> 1),
    "rhadd": ((np.uint32,) * 2, np.uint32, lambda x, y: x + y + 1 >> 1),
    "sad": ((np.uint32,) * 3, np.uint32, lambda x, y, z: (abs(x - y) + z) % 2**32),
    "double2hiint": ((np.float64,), np.int32, lambda x: np.float64(x).view(np.int64).item() >> 32),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("table", [WORDS, LONGER], ids=["words", "longer"])
def test_integers(table: Any, engine: str):
    for name, (dtypes, result, python) in table.items():
        operands = [integers(d, n) if d is not np.float64 else np.linspace(-3, 3, 90) for n, d in enumerate(dtypes)]
        got = computed(name, operands, engine, result)
        assert got.tolist() == [python(*values) for values in zip(*(x.tolist() for x in operands))], name


@pytest.mark.parametrize("engine", ENGINES)
def test_halves_of_doubles_join(engine: str):
    x = np.array([1.5, -2.25, INF, 1e-310, 3.0])
    halves = [computed(f"double2{half}", [x], engine, np.int32) for half in ("hiint", "loint")]
    assert computed("hiloint2double", halves, engine, np.float64).tolist() == x.tolist()


EXPONENTS = np.array([0.0, -0.0, 1.0, -1.0, 1.5, 1e-40, 2.0**-149, 3e38, INF, -INF, NAN, 0.1, 1024.0], np.float32)


@pytest.mark.parametrize("engine", ENGINES)
def test_exponents(engine: str):
    least, greatest = -(2**31), 2**31 - 1
    wanted = [least, least, 0, 0, 0, -133, -149, 127, greatest, greatest, least, -4, 10]
    assert computed("ilogb", [EXPONENTS], engine, np.int32).tolist() == wanted
    plain = [-INF, -INF, *map(float, wanted[2:8]), INF, INF, NAN, -4.0, 10.0]
    np.testing.assert_array_equal(computed("logb", [EXPONENTS], engine), np.float32(plain))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("engine", ["interpreter", "cpu"])
def test_scaling_rounds_once(dtype: Any, engine: str):
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(size=200), [1e300, 1e-300, 5e-324, INF, NAN, 0.0, -0.0]])
    with np.errstate(all="ignore"):
        x = x.astype(dtype)
        n = np.concatenate([rng.integers(-1100, 1100, 200), [-2200, 2200, 2097, 5, 5, -5, 7]]).astype(np.int32)
        wanted = [_scaled(float(v), int(k)) for v, k in zip(x, n)]
        wanted = np.array([dtype(w) for w in wanted]) if dtype is np.float64 else np.ldexp(x.astype(np.float64), n)
        wanted = wanted.astype(dtype)
    for name in ("ldexp", "scalbn"):
        got = scaled_by(name, x, n, engine)
        np.testing.assert_array_equal(got, wanted)


def _scaled(x: float, n: int) -> float:
    if not math.isfinite(x) or x == 0:
        return x
    exact = Fraction(x) * Fraction(2) ** n
    try:
        return float(exact)
    except OverflowError:
        return math.copysign(INF, x)


@tt.jit
def scale(x, n, out, FUNCTION: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, FUNCTION(tl.load(x + i, mask=i < 207), tl.load(n + i, mask=i < 207)), mask=i < 207)


def scaled_by(name: str, x: Any, n: Any, engine: str) -> Any:
    out = np.zeros_like(x)
    scale[1](x, n, out, getattr(libdevice, name), 256, backend=engine)
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("engine", ENGINES)
def test_neighbours(dtype: Any, engine: str):
    values = np.array([0.0, -0.0, 1.0, -1.0, 1e-45, np.finfo(dtype).max, INF, -INF, NAN, 2.0], dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        wanted = np.nextafter(x, y)
    got = computed("nextafter", [x, y], engine)
    np.testing.assert_array_equal(got, wanted)
    assert (np.signbit(got) == np.signbit(wanted))[~np.isnan(wanted)].all()


def remainders(dtype: Any, count: int = 300) -> list[Any]:
    rng = np.random.default_rng(11)
    info = np.finfo(dtype)
    low, high = int(info.minexp) - int(info.nmant), int(info.maxexp) - 1
    with np.errstate(all="ignore"):
        x, y = (np.exp2(rng.uniform(low, high, count)) * rng.choice([-1, 1], count) for _ in "xy")
        x[:100], y[:100] = rng.integers(-40, 40, 100) * 0.5, rng.integers(-9, 10, 100)
        x[100:180] = y[100:180] * rng.integers(0, 2**30, 80) * 0.5
        special = np.array([0.0, -0.0, INF, -INF, NAN, 1.0, float(info.max), float(info.smallest_subnormal)])
        a, b = (grid.ravel() for grid in np.meshgrid(special, special))
        return [np.concatenate([x, a]).astype(dtype), np.concatenate([y, b]).astype(dtype)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["fmod", "remainder"])
def test_remainders_are_exact(name: str, dtype: Any):
    operands = remainders(dtype)
    got = computed(name, operands, "cpu")
    for seen, x, y in zip(got.tolist(), *(v.tolist() for v in operands)):
        if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0:
            assert math.isnan(seen)
        else:
            wanted = getattr(math, name)(x, y)
            assert (seen, math.copysign(1, seen)) == (wanted, math.copysign(1, wanted)), (name, x, y)


@pytest.mark.parametrize("engine", ["interpreter", "sim"])
@pytest.mark.parametrize("name", ["fmod", "remainder", "jn", "yn"])
def test_loops_agree_on_engines(name: str, engine: str):
    operands = [v[90:130] for v in remainders(np.float32)]
    if name in ("jn", "yn"):
        operands = [np.arange(40, dtype=np.int32) % 7, np.linspace(0.1, 12, 40, dtype=np.float32)]
    wanted = computed(name, operands, "cpu")
    np.testing.assert_array_equal(computed(name, operands, engine), wanted)


# From tables of the functions.
ORDERS = [
    (0, 1.0, 0.7651976865579666, 0.08825696421567696),
    (1, 1.0, 0.4400505857449335, -0.7812128213002887),
    (2, 1.0, 0.11490348493190047, -1.6506826068162543),
    (5, 1.0, 0.00024975773021123444, -260.4058666258122),
    (3, 10.0, 0.058379379305186815, -0.2513626571838373),
    (30, 10.0, 1.551096078257467e-12, -7256142316.10033),
    (20, 100.0, 0.062217458498338755, 0.051247973076188426),
    (2, 1e-25, 1.2500000000000002e-51, -1.2732395447351626e50),
]


@pytest.mark.parametrize("name", ["jn", "yn"])
def test_bessel_functions_of_any_order(name: str):
    n, x, first, second = (np.array(column) for column in zip(*ORDERS))
    wanted = first if name == "jn" else second
    got = computed(name, [n.astype(np.int32), x], "cpu")
    np.testing.assert_allclose(got, wanted, rtol=2e-14)
    single = computed(name, [n.astype(np.int32)[:7], x[:7].astype(np.float32)], "cpu")
    np.testing.assert_allclose(single, wanted[:7].astype(np.float32), rtol=1e-7)


def test_bessel_functions_at_the_edges():
    n = np.array([0, 1, 3, 3, 4, -1, 2, 3], np.int32)
    x = np.array([0.0, 0.0, 0.0, -2.0, -2.0, 1.0, INF, NAN])
    wanted = [1.0, 0.0, 0.0, -0.12894324947440205, 0.033995719807568436, NAN, 0.0, NAN]
    np.testing.assert_allclose(computed("jn", [n, x], "cpu"), wanted, rtol=1e-14)
    wanted = [-INF, -INF, -INF, NAN, NAN, NAN, 0.0, NAN]
    np.testing.assert_array_equal(computed("yn", [n, x], "cpu"), wanted)


SPECIALS: dict[str, list[tuple[float, ...]]] = {
    "pow": [(0, 0, 1), (NAN, 0, 1), (1, NAN, 1), (0, -1, INF), (-0.0, -1, -INF), (-0.0, 3, -0.0), (-1, INF, 1),
            (2, INF, INF), (0.5, INF, 0), (2, -INF, 0), (-2, 3, -8), (-2, 0.5, NAN), (-INF, 3, -INF), (-INF, -3, -0.0),
            (-INF, 0.5, INF), (INF, -1, 0), (0, INF, 0), (0, -INF, INF), (NAN, 1, NAN), (-8, 1 / 3, NAN), (10, 2, 100)],
    "atan2": [(0, 1, 0), (-0.0, 1, -0.0), (0, -1, math.pi), (-0.0, -1, -math.pi), (0, 0, 0), (0, -0.0, math.pi),
              (1, 0, math.pi / 2), (-1, 0, -math.pi / 2), (INF, INF, math.pi / 4), (INF, -INF, 3 * math.pi / 4),
              (1, INF, 0), (-1, -INF, -math.pi), (INF, 1, math.pi / 2), (NAN, 1, NAN)],
    "hypot": [(INF, NAN, INF), (NAN, 1, NAN), (3, 4, 5), (0, -0.0, 0), (-INF, 0, INF)],
    "rhypot": [(INF, NAN, 0), (0, 0, INF), (3, 4, 0.2)],
    "fdim": [(3, 1, 2), (1, 3, 0), (NAN, 1, NAN), (INF, INF, 0), (INF, 1, INF)],
    "copysign": [(1, -0.0, -1), (-3, 2, 3), (INF, -1, -INF)],
    "exp10": [(2, 100), (0, 1), (-INF, 0), (INF, INF), (NAN, NAN), (1e10, INF), (-1e10, 0)],
    "expm1": [(0, 0), (-0.0, -0.0), (INF, INF), (-INF, -1), (NAN, NAN), (1e10, INF)],
    "log10": [(1000, 3), (0, -INF), (-1, NAN), (INF, INF), (1, 0)],
    "log1p": [(0, 0), (-0.0, -0.0), (-1, -INF), (-2, NAN), (INF, INF)],
    "sinh": [(0, 0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (1e10, INF)],
    "cosh": [(0, 1), (INF, INF), (-INF, INF), (NAN, NAN)],
    "asinh": [(-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN)],
    "acosh": [(1, 0), (0.5, NAN), (INF, INF), (-INF, NAN)],
    "atanh": [(-0.0, -0.0), (1, INF), (-1, -INF), (1.5, NAN)],
    "tan": [(-0.0, -0.0), (INF, NAN), (NAN, NAN)],
    "sinpi": [(1, 0), (-1, -0.0), (0.5, 1), (-0.5, -1), (-0.0, -0.0), (2.0**60, 0), (INF, NAN)],
    "cospi": [(0.5, 0), (1, -1), (2, 1), (-1.5, 0), (2.0**60, 1), (INF, NAN)],
    "asin": [(-0.0, -0.0), (1, math.pi / 2), (1.5, NAN), (NAN, NAN)],
    "acos": [(1, 0), (0, math.pi / 2), (-1, math.pi), (-1.5, NAN), (NAN, NAN)],
    "atan": [(-0.0, -0.0), (INF, math.pi / 2), (-INF, -math.pi / 2), (NAN, NAN)],
    "cbrt": [(27, 3), (-8, -2), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN)],
    "rcbrt": [(27, 1 / 3), (-0.0, -INF), (-INF, -0.0)],
    "erfc": [(INF, 0), (-INF, 2), (0, 1), (NAN, NAN)], "erfcx": [(INF, 0), (-INF, INF), (0, 1)],
    "erfinv": [(1, INF), (-1, -INF), (-0.0, -0.0), (1.5, NAN)], "erfcinv": [(0, INF), (2, -INF), (1, 0), (-1, NAN)],
    "normcdf": [(0, 0.5), (INF, 1), (-INF, 0)], "normcdfinv": [(0, -INF), (1, INF), (0.5, -0.0), (2, NAN)],
    "tgamma": [(5, 24), (0, INF), (-0.0, -INF), (-1, NAN), (INF, INF), (-INF, NAN), (1, 1), (200, INF), (-200.5, 0)],
    "lgamma": [(1, 0), (2, 0), (0, INF), (-3, INF), (INF, INF), (-INF, INF), (NAN, NAN)],
    "j0": [(0, 1), (INF, 0), (-INF, 0), (NAN, NAN)], "j1": [(-0.0, -0.0), (INF, 0)],
    "y0": [(0, -INF), (-1, NAN), (INF, 0)], "y1": [(0, -INF), (-1, NAN), (INF, 0)],
    "cyl_bessel_i0": [(0, 1), (INF, INF), (-INF, INF)], "cyl_bessel_i1": [(-0.0, -0.0), (-INF, -INF)],
    "round": [(2.5, 3), (-2.5, -3), (0.49999997, 0), (-0.2, -0.0), (INF, INF)], "rint": [(2.5, 2), (-0.5, -0.0)],
    "rcp64h": [(1, 1), (0, INF), (-INF, -0.0), (4, 0.25)], "saturatef": [(NAN, 0), (2, 1), (-1, 0), (0.5, 0.5)],
    "sin": [(-0.0, -0.0), (INF, NAN)], "rsqrt": [(4, 0.5), (0, INF), (-0.0, -INF), (-1, NAN)],
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SPECIALS)
def test_special_values(name: str, dtype: Any):
    if name == "rcp64h" and dtype is np.float32:
        return
    columns = [np.array(column, dtype) for column in zip(*SPECIALS[name])]
    operands, wanted = columns[:-1], columns[-1]
    got = computed(name, operands, "cpu")
    finite = np.isfinite(wanted)
    np.testing.assert_allclose(got[finite], wanted[finite], np.finfo(dtype).eps, 0, err_msg=name)
    np.testing.assert_array_equal(got[~finite], wanted[~finite], name)
    assert (np.signbit(got) == np.signbit(wanted))[~np.isnan(wanted)].all(), name


def test_powers_of_integers():
    x, n = np.array([2.0, -3.0, 0.0, 1.5], np.float32), np.array([-2, 3, 0, 2], np.int32)
    out = np.zeros(4, np.float32)
    KERNELS[2][1](x, n, out, libdevice.pow, 4)
    assert out.tolist() == [0.25, -27.0, 1.0, 2.25]


@pytest.mark.parametrize("engine", ENGINES)
def test_scalars_and_tiles_mix(engine: str):
    out = np.zeros((2, 4), np.float32)
    mixed[1](out, 2.0, backend=engine)
    np.testing.assert_allclose(out, np.hypot(np.arange(2.0)[:, None], np.arange(4.0)) + math.gamma(2.5) + 8, rtol=1e-6)


@tt.jit
def mixed(out, x):
    i, j = tl.arange(0, 2)[:, None], tl.arange(0, 4)[None, :]
    length = libdevice.hypot(i.to(tl.float32), j.to(tl.float32))
    tl.store(out + i * 4 + j, length + libdevice.tgamma(x + 0.5) + libdevice.pow(x, 3))


REFUSED = {
    "sinh": np.int32, "add_rz": np.float16, "float2int_rz": np.float64, "clz": np.int16, "int_as_float": np.int64,
    "double2hiint": np.float32, "popc": np.float32, "erfinv": np.int64,
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_other_dtypes_are_refused(name: str):
    x = np.zeros(4, REFUSED[name])
    operands = [x, x] if name == "add_rz" else [x]
    with pytest.raises(tt.TinytonError, match=f"TT2013: .*{name}"):
        computed(name, operands, "cpu", np.float32)


@tt.jit
def calls_numpy(out):
    tl.store(out, np.tan(tl.load(out)))


def test_functions_of_numpy_are_told_where_they_are():
    with pytest.raises(tt.TinytonError, match=r"did you mean tl\.extra\.libdevice\.tan\?"):
        calls_numpy[1](np.ones(1, np.float32))
