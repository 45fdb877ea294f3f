"""Builtins compute what numpy says, in the interpreter and in eager mode, bit for bit."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl

ENGINES = ["interpreter", "eager"]
CHANCE = np.random.default_rng(3)
FLOATS = (CHANCE.standard_normal((4, 8)) * 10).astype(np.float32)
INTEGERS = CHANCE.integers(-100, 100, (4, 8)).astype(np.int32)
SPECIAL = np.float32([[np.nan, 6, 8, 1, -0.0, 0.0, np.inf, -np.inf]] * 4)


def evaluate(expression: str, x: np.ndarray, engine: str, shape: tuple[int, ...], dtype: Any, before: str = "") -> Any:
    """The value of an expression over the 4x8 tile ``x`` and its index tiles ``i`` (rows) and ``j`` (columns)."""
    steps = int(np.prod(shape[1:])) if len(shape) > 1 else 1
    places = {0: "0", 1: f"tl.arange(0, {shape[0] if shape else 1})"}.get(
        len(shape), f"(tl.arange(0, {shape[0] if shape else 1})[:, None] * {steps} + tl.arange(0, {steps})[None, :])"
    )
    text = (
        "def kernel(x_ptr, out):\n    i, j = tl.arange(0, 4)[:, None], tl.arange(0, 8)[None, :]\n"
        f"    x = tl.load(x_ptr + i * 8 + j)\n    {before or 'pass'}\n    tl.store(out + {places}, {expression})\n"
    )
    label = "builtins.py"
    linecache.cache[label] = (len(text), None, text.splitlines(keepends=True), label)
    space: dict[str, Any] = {"tl": tl, "pair": pair}
    exec(compile(text, label, "exec", dont_inherit=True), space)
    out = np.zeros(shape, dtype)
    tt.jit(space["kernel"])[(1,)](x, out, backend=engine)
    return out


@tt.jit
def pair(a, b, c, d):
    return a + c, tl.maximum(b, d)


def _greatest(x: np.ndarray, axis: int) -> np.ndarray:
    return np.fmax.reduce(x, axis)


CASES: dict[str, tuple[str, np.ndarray, Any]] = {
    "trans": ("tl.trans(x)", FLOATS, FLOATS.T),
    "T": ("x.T", FLOATS, FLOATS.T),
    "permute": ("tl.permute(x, (1, 0))", FLOATS, FLOATS.T),
    "reshape": ("tl.reshape(x, (8, 4))", FLOATS, FLOATS.reshape(8, 4)),
    "view": ("x.view(2, 16)", FLOATS, FLOATS.reshape(2, 16)),
    "ravel": ("x.ravel()", FLOATS, FLOATS.ravel()),
    "reshape of trans": ("x.T.reshape(32)", FLOATS, FLOATS.T.ravel()),
    "broadcast": (
        "tl.broadcast(i, j)[0] * 10 + tl.broadcast(i, j)[1]",
        FLOATS,
        np.add.outer(np.arange(4) * 10, np.arange(8)),
    ),
    "broadcast_to": ("tl.broadcast_to(i * 1.0, (4, 8))", FLOATS, np.repeat(np.arange(4.0)[:, None], 8, 1)),
    "expand_dims": ("tl.expand_dims(tl.sum(x, 1), 1) + x", INTEGERS, INTEGERS.sum(1)[:, None] + INTEGERS),
    "where": ("tl.where(x > 0, x, -1)", INTEGERS, np.where(INTEGERS > 0, INTEGERS, -1)),
    "where of a scalar condition": ("tl.where(True, x, 0)", INTEGERS, INTEGERS),
    "minimum": ("tl.minimum(x, 0)", INTEGERS, np.minimum(INTEGERS, 0)),
    "maximum skips nan": ("tl.maximum(x, 2.0)", SPECIAL, np.fmax(SPECIAL, 2)),
    "maximum gives nan": ("tl.maximum(x, 2.0, tl.PropagateNan.ALL)", SPECIAL, np.maximum(SPECIAL, 2)),
    "clamp": ("tl.clamp(x, -5, 5)", FLOATS, np.clip(FLOATS, -5, 5)),
    "clamp of nan": ("tl.clamp(x, 0, 7)", SPECIAL, np.fmin(np.fmax(SPECIAL, 0), 7)),
    "abs": ("abs(x) + tl.abs(x)", INTEGERS, np.abs(INTEGERS) * 2),
    "floor and ceil": ("tl.floor(x) * 100 + tl.ceil(x)", FLOATS, np.floor(FLOATS) * 100 + np.ceil(FLOATS)),
    "sqrt": ("tl.sqrt_rn(tl.abs(x))", FLOATS, np.sqrt(np.abs(FLOATS))),
    "div_rn": ("tl.div_rn(x, 3)", FLOATS, FLOATS / np.float32(3)),
    "umulhi": (
        "tl.umulhi(x, x + 7)",
        INTEGERS,
        (INTEGERS.view(np.uint32).astype(np.uint64) * (INTEGERS + 7).view(np.uint32) >> np.uint64(32)).astype(np.int32),
    ),
    "sum of rows": ("tl.sum(x, 1)", INTEGERS, INTEGERS.sum(1)),
    "sum of columns": ("tl.sum(x, axis=0)", INTEGERS, INTEGERS.sum(0)),
    "sum of all": ("tl.sum(x)", INTEGERS, INTEGERS.sum()),
    "sum keeps dimensions": ("x - tl.sum(x, -1, keep_dims=True)", INTEGERS, INTEGERS - INTEGERS.sum(1, keepdims=True)),
    "sum of all keeps dimensions": ("x - tl.sum(x, keep_dims=True)", INTEGERS, INTEGERS - INTEGERS.sum()),
    "max skips nan": ("tl.max(x, 1)", SPECIAL, _greatest(SPECIAL, 1)),
    "min": ("tl.min(x, 0)", INTEGERS, INTEGERS.min(0)),
    "argmax": ("tl.argmax(x, 1)", INTEGERS, INTEGERS.argmax(1)),
    "argmin skips nan": ("tl.argmin(x, 1)", SPECIAL, np.nanargmin(SPECIAL, 1)),
    "argmax of equals is the first": ("tl.argmax(x // 50, 1)", INTEGERS, (INTEGERS / 50).astype(np.int32).argmax(1)),
    "xor_sum": ("tl.xor_sum(x, 1)", INTEGERS, np.bitwise_xor.reduce(INTEGERS, 1)),
    "reduce_or": ("tl.reduce_or(x, 1)", INTEGERS, np.bitwise_or.reduce(INTEGERS, 1)),
    "reduce of two": (
        "tl.reduce((x, x), 1, pair)[0] + tl.reduce((x, x), 1, pair)[1]",
        INTEGERS,
        INTEGERS.sum(1) + INTEGERS.max(1),
    ),
    "cast to narrow": ("x.to(tl.int8).to(tl.int32)", INTEGERS, INTEGERS),
    "cast of a float saturates": (
        "(x * 1e9).to(tl.int32)",
        FLOATS,
        np.clip((FLOATS * np.float32(1e9)).astype(np.float64), -(2**31), 2**31 - 1).astype(np.int64),
    ),
    "bitcast": ("x.to(tl.int32, bitcast=True)", FLOATS, FLOATS.view(np.int32)),
    "cdiv": ("tl.cdiv(tl.abs(x), 7)", INTEGERS, -(-np.abs(INTEGERS) // 7)),
    "swizzle": ("tl.swizzle2d(i, j, 4, 8, 2)[0] * 8 + tl.swizzle2d(i, j, 4, 8, 2)[1]", INTEGERS, None),
    "logical": (
        "(x.logical_and(i) | (j.logical_or(0))) + 0",
        INTEGERS,
        (INTEGERS != 0) & (np.arange(4)[:, None] > 0) | (np.arange(8) > 0),
    ),
    "power": ("x ** 5", INTEGERS, INTEGERS**5),
    "hints": ("tl.multiple_of(tl.max_contiguous(tl.max_constancy(x, [1, 1]), (1, 1)), [1, 1])", INTEGERS, INTEGERS),
    "num_programs": ("x * tl.num_programs(2)", INTEGERS, INTEGERS),
    "literals": (
        "x + max(1, 2, 3) - min((4, 5)) + len((1, 2)) + int(2.7) + round(1.2) + bool(0)",
        INTEGERS,
        INTEGERS + 4,
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CASES)
def test_builtin(name: str, engine: str):
    expression, x, wanted = CASES[name]
    if wanted is None:
        wanted = swizzled(4, 8, 2)
    wanted = np.asarray(wanted)
    dtype = np.float32 if wanted.dtype.kind == "f" else np.int32
    seen = evaluate(expression, x, engine, wanted.shape, dtype)
    np.testing.assert_array_equal(seen, wanted.astype(dtype))


def swizzled(rows: int, columns: int, group: int) -> np.ndarray:
    """Where each tile of a grid comes from when groups of rows are walked column by column."""
    order = [(r, c) for g in range(0, rows, group) for c in range(columns) for r in range(g, min(g + group, rows))]
    return np.array([r * columns + c for r, c in order]).reshape(rows, columns)


@pytest.mark.parametrize("engine", ENGINES)
def test_static_print_shows_values_and_types(engine: str, capsys: pytest.CaptureFixture[str]):
    evaluate("x", INTEGERS, engine, (4, 8), np.int32, "tl.static_print('x is', x.dtype, 2 * 3, sep='-')")
    assert capsys.readouterr().out.splitlines()[0] == "x is-i32-6"


def test_every_public_name_is_there():
    assert not [name for name in PUBLIC.split() if not hasattr(tl, name)]


PUBLIC = """
PropagateNan TRITON_MAX_TENSOR_NUMEL abs add arange argmax argmin assume bfloat16 block_type broadcast broadcast_to
cast cdiv ceil clamp condition constexpr cos debug_barrier device_assert device_print div_rn dot dtype erf exp exp2
expand_dims fdiv float16 float32 float64 float8e4b15 float8e4nv float8e4b8 float8e5 float8e5b16 floor fma full int1
int16 int32 int64 int8 load log log2 math max max_constancy max_contiguous maximum min minimum mul multiple_of
num_programs permute pi32_t pointer_type program_id range ravel reduce reduce_or reshape rsqrt sigmoid sin softmax
sqrt sqrt_rn static_assert static_print static_range store sub sum swizzle2d tensor to_tensor trans uint16 uint32
uint64 uint8 umulhi view where xor_sum zeros zeros_like associative_scan atomic_add atomic_and atomic_cas atomic_max
atomic_min atomic_or atomic_xchg atomic_xor bitonic_merge cat cumprod cumsum flip gather histogram interleave join
map_elementwise pair_uniform_to_normal philox philox_impl rand rand4x randint randint4x randn randn4x sort split
squeeze topk uint_to_uniform_float unsqueeze extra inline_asm_elementwise load_tensor_descriptor
store_tensor_descriptor make_tensor_descriptor tensor_descriptor atomic_load atomic_poll atomic_store const
dot_scaled make_block_ptr slice target_info tuple expect_zero constexpr_type void
"""
