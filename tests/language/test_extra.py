"""The device library against numpy: every function that is written in the language or renamed, on both CPU engines."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl
from tinyton_lab.language.extra import libdevice

INF, NAN = math.inf, math.nan
FLOATS = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-8, -1e-8, 1e-3, 3.75, -7.25, 10.0, -20.0, 30.0, 1e-30, 80.0,
     -80.0, INF, -INF, NAN, 0.49999997, 8388609.0, 0.1, 0.9, -0.9, 0.3, 2.0, 3.0, -3.0], np.float32,
)  # fmt: skip
OTHERS = np.roll(FLOATS, 7)


@tt.jit
def one(x, out, FUNCTION: tl.constexpr):
    i = tl.arange(0, 32)
    tl.store(out + i, FUNCTION(tl.load(x + i)))


@tt.jit
def two(x, y, out, FUNCTION: tl.constexpr):
    i = tl.arange(0, 32)
    tl.store(out + i, FUNCTION(tl.load(x + i), tl.load(y + i)))


def away(x: Any) -> Any:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


ONE: dict[str, Callable[[Any], Any]] = {
    "trunc": np.trunc, "rint": np.rint, "nearbyint": np.rint, "round": away, "signbit": np.signbit, "isnan": np.isnan,
    "isinf": np.isinf, "finitef": np.isfinite, "isfinited": np.isfinite, "rcp_rn": lambda x: 1 / x,
    "rsqrt_rn": lambda x: 1 / np.sqrt(x), "rsqrt": lambda x: 1 / np.sqrt(x), "log1p": np.log1p, "expm1": np.expm1,
    "exp10": lambda x: 10**x, "fast_exp10f": lambda x: 10**x, "log10": np.log10, "fast_log10f": np.log10,
    "sinh": np.sinh, "cosh": np.cosh, "tan": np.tan, "fast_tanf": np.tan, "fast_expf": np.exp, "fast_logf": np.log,
    "erfc": lambda x: np.array([math.erfc(v) for v in x]), "saturatef": lambda x: np.nan_to_num(np.clip(x, 0, 1)),
    "tanh": np.tanh, "fast_tanhf": np.tanh, "fast_sinf": np.sin, "fast_cosf": np.cos, "fast_log2f": np.log2,
}  # fmt: skip
TWO: dict[str, Callable[[Any, Any], Any]] = {
    "copysign": np.copysign, "fdim": lambda x, y: np.where(x <= y, 0, x - y), "hypot": np.hypot,
    "pow": np.power, "fast_powf": np.power, "add_rn": np.add, "sub_rn": np.subtract, "mul_rn": np.multiply,
    "div_rn": np.divide, "fast_dividef": np.divide,
}  # fmt: skip


def close(seen: Any, wanted: Any) -> None:
    np.testing.assert_allclose(seen, wanted.astype(np.float32), rtol=5e-7, atol=1e-38)


@pytest.mark.parametrize("engine", ["cpu", "interpreter"])
@pytest.mark.parametrize("name", ONE)
def test_functions_of_one(name: str, engine: str):
    seen = np.zeros(32, np.float32)
    one[1](FLOATS, seen, getattr(libdevice, name), backend=engine)
    with np.errstate(all="ignore"):
        close(seen, ONE[name](FLOATS.astype(np.float64)))


@pytest.mark.parametrize("engine", ["cpu", "interpreter"])
@pytest.mark.parametrize("name", TWO)
def test_functions_of_two(name: str, engine: str):
    seen = np.zeros(32, np.float32)
    two[1](FLOATS, OTHERS, seen, getattr(libdevice, name), backend=engine)
    with np.errstate(all="ignore"):
        close(seen, TWO[name](FLOATS.astype(np.float64), OTHERS.astype(np.float64)))


INTEGERS = {
    "llrint": (np.float32, np.int64, np.rint),
    "llround": (np.float32, np.int64, away),
    "float2int_rn": (np.float32, np.int32, np.rint),
    "float2int_rz": (np.float32, np.int32, np.trunc),
    "int2float_rn": (np.int32, np.float32, lambda x: x),
    "float_as_int": (np.float32, np.int32, lambda x: x.view(np.int32)),
    "float_as_uint": (np.float32, np.uint32, lambda x: x.view(np.uint32)),
    "int_as_float": (np.int32, np.float32, lambda x: x.view(np.float32)),
    "uint_as_float": (np.uint32, np.float32, lambda x: x.view(np.float32)),
    "double_as_longlong": (np.float64, np.int64, lambda x: x.view(np.int64)),
    "longlong_as_double": (np.int64, np.float64, lambda x: x.view(np.float64)),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_conversions(name: str):
    given, wanted, numpy = INTEGERS[name]
    x = np.linspace(-16, 15, 32).astype(given) * (1 if given is np.float32 else 3) + (0.5 if given is np.float32 else 0)
    x, seen = x.astype(given), np.zeros(32, wanted)
    one[1](x, seen, getattr(libdevice, name))
    np.testing.assert_array_equal(seen, numpy(x).astype(wanted))


@pytest.mark.parametrize("name", ["log1p", "pow", "tan", "sinh"])
def test_the_simulator_knows_them(name: str):
    x, seen = np.linspace(0.25, 1.0, 32, dtype=np.float32), np.zeros(32, np.float32)
    function = getattr(libdevice, name)
    if name in TWO:
        two[1](x, x, seen, function, backend="sim", math="full")
        close(seen, TWO[name](x.astype(np.float64), x))
    else:
        one[1](x, seen, function, backend="sim", math="full")
        close(seen, ONE[name](x.astype(np.float64)))


def test_older_names_are_the_same():
    assert tl.extra.cuda.libdevice is libdevice is tl.extra.libdevice
    assert [name for name in libdevice.__all__ if not hasattr(libdevice, name)] == []


@tt.jit
def waits(out):
    tl.extra.cuda.gdc_wait()
    tl.store(out, 1)
    tl.extra.cuda.gdc_launch_dependents()


def test_launches_wait_for_each_other_anyway():
    out = np.zeros(1, np.int32)
    waits[1](out)
    assert out == 1


@tt.constexpr_function
def widest(dtype: tl.dtype, count: int) -> int:
    return 64 // dtype.primitive_bitwidth * count


@tt.jit
def fills(out, N: tl.constexpr):
    WIDTH: tl.constexpr = widest(out.dtype.element_ty, N)
    tl.store(out + tl.arange(0, WIDTH), WIDTH)


def test_constexpr_functions_run_at_compile_time():
    out = np.zeros(16, np.int16)
    fills[1](out, 2)
    assert out.tolist() == [8] * 8 + [0] * 8
    assert widest(tl.float32, tl.constexpr(3)) == 6
