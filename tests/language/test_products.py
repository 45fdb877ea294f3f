"""`tl.dot`: dtypes, shapes and accumulators as a kernel meets them, interpreted and in eager mode; its faults."""

from __future__ import annotations

import linecache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl
from tinyton_lab.base.diagnostics import TinytonError

ENGINES = ["interpreter", "eager"]
RANDOM = np.random.default_rng(8)
DTYPES = {
    "float16": (np.float16, np.float32),
    "bfloat16": (ml_dtypes.bfloat16, np.float32),
    "float32": (np.float32, np.float32),
    "float64": (np.float64, np.float64),
    "int8": (np.int8, np.int32),
    "float8e4nv": (ml_dtypes.float8_e4m3fn, np.float32),
    "float8e5": (ml_dtypes.float8_e5m2, np.float32),
}


@tt.jit
def multiply(a, b, c, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x, y = tl.load(a + m[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :])
    acc = tl.load(c + m[:, None] * N + n[None, :])
    tl.store(out + m[:, None] * N + n[None, :], tl.dot(x, y, acc, out_dtype=acc.dtype))


@tt.jit
def multiply_batches(a, b, out, B: tl.constexpr, C: tl.constexpr, M: tl.constexpr):
    m = tl.arange(0, M)
    square = m[:, None] * M + m[None, :]
    batch = (tl.arange(0, B)[:, None] * C + tl.arange(0, C)[None, :])[:, :, None, None] * (M * M)
    at = batch + square[None, None, :, :]
    tl.store(out + at, tl.dot(tl.load(a + at), tl.load(b + at)))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", DTYPES)
def test_dot_of_small_whole_numbers_is_exact(name: str, engine: str):
    dtype, result = DTYPES[name]
    a, b = (RANDOM.integers(-4, 5, shape).astype(dtype) for shape in ((16, 32), (32, 8)))
    acc = RANDOM.integers(-9, 9, (16, 8)).astype(result)
    out = np.zeros((16, 8), result)
    multiply[(1,)](a, b, acc, out, 16, 8, 32, backend=engine)
    np.testing.assert_array_equal(out, acc + a.astype(np.int64) @ b.astype(np.int64))


@pytest.mark.parametrize("engine", ENGINES)
def test_an_f16_result_is_rounded_from_f32(engine: str):
    a, b = (RANDOM.standard_normal((16, 16)).astype(np.float16) for _ in range(2))
    out = np.zeros((16, 16), np.float16)
    multiply[(1,)](a, b, np.zeros_like(out), out, 16, 16, 16, backend=engine)
    np.testing.assert_allclose(
        out.astype(np.float32), a.astype(np.float32) @ b.astype(np.float32), rtol=2e-3, atol=2e-3
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_axes_ahead_of_the_last_two_are_batches(engine: str):
    a, b = (RANDOM.integers(-4, 5, (2, 4, 8, 8)).astype(np.float32) for _ in range(2))
    out = np.zeros_like(a)
    multiply_batches[(1,)](a, b, out, 2, 4, 8, backend=engine)
    np.testing.assert_array_equal(out, a @ b)


def kernel_of(body: str) -> Any:
    """A kernel over f32 and int8 tiles of 16 x 16 (``t``, ``w``) and 16 x 32 (``u``)."""
    text = (
        "def kernel(x, k):\n    i, j = tl.arange(0, 16)[:, None], tl.arange(0, 32)[None, :]\n"
        "    at = i * 16 + tl.trans(i)\n"
        f"    t, u, w = tl.load(x + at), tl.load(x + i * 32 + j), tl.load(k + at)\n    {body}\n"
    )
    linecache.cache["products.py"] = (len(text), None, text.splitlines(keepends=True), "products.py")
    space: dict[str, Any] = {"tl": tl}
    exec(compile(text, "products.py", "exec", dont_inherit=True), space)
    return tt.jit(space["kernel"])


def launch(body: str, engine: str = "interpreter") -> None:
    kernel_of(body)[(1,)](np.ones(512, np.float32), np.ones(512, np.int8), backend=engine)


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("tl.dot(u, t)", "TT2040"),
        ("tl.dot(t, 2.0)", "TT2040"),
        ("tl.dot(t, w)", "TT2003"),
        ("tl.dot(t.to(tl.float16), t.to(tl.bfloat16))", "TT2003"),
        ("tl.dot(w.to(tl.int32), w.to(tl.int32))", "TT2013"),
        ("tl.dot(w.to(tl.uint8), w.to(tl.uint8))", "TT2013"),
        ("tl.dot(t, t, acc=w)", "TT2005"),
        ("tl.dot(t, t, acc=u)", "TT2041"),
        ("tl.dot(t, t, acc=t.to(tl.float16), out_dtype=tl.float32)", "TT2041"),
        ("tl.dot(t, t, out_dtype=tl.bfloat16)", "TT2005"),
        ('tl.dot(t, t, input_precision="exact")', "TT2005"),
        ('tl.dot(t, t, input_precision="ieee", allow_tf32=True)', "TT2005"),
    ],
)
def test_a_product_that_does_not_exist_is_a_located_fault(expression: str, code: str):
    with pytest.raises(TinytonError) as caught:
        launch(f"tl.store(x + at, {expression})")
    assert caught.value.code == code, str(caught.value)
    assert caught.value.span is not None and caught.value.span.line == 5


@pytest.mark.parametrize(
    ("options", "remarked"),
    [("", False), (", allow_tf32=False", False), (', input_precision="ieee"', False)]
    + [(", allow_tf32=True", True), (', input_precision="tf32"', True)],
)
def test_asking_for_rounded_operands_is_remarked(options: str, remarked: bool):
    kernel = kernel_of(f"tl.store(x + at, tl.dot(t, t{options}))")
    compilation = tt.inspect(kernel, np.ones(512, np.float32), np.ones(512, np.int8), grid=(1,), target="cpu")
    assert ("TT1040" in [remark.code for remark in compilation.diagnostics]) == remarked


def test_a_gpu_says_which_engines_have_products():
    with pytest.raises(TinytonError, match="the engine interpreter") as caught:
        launch("tl.store(x + at, tl.dot(t, t))", "sim")
    assert caught.value.code == "TT5012" and caught.value.span is not None
