"""What is compared, continued: tiles, reductions, products, random numbers, and the program."""

from __future__ import annotations

from tests.triton_differences.cases import (
    ALL,
    ARITHMETIC,
    ATOMICS,
    CASTS,
    FEW,
    MATH,
    MEMORY,
    NUMBERS,
    OPERATORS,
    REAL,
    SOME,
    WHOLE,
)  # fmt: skip
from tests.triton_differences.inputs import FLOATS
from tests.triton_differences.kernels import Case

_ROWS = "q = tl.arange(0, 16)\n"
_INT = ("int8", "int32", "int64", "uint32")


def _of_rows(text: str) -> str:
    """Store what a reduction of rows gives, and that of columns."""
    return f"{_ROWS}tl.store(o + q, {text.format(axis=1)})\ntl.store(o + 16 + q, {text.format(axis=0)})"


_WHOLE_FLOATS = "a = (tl.where((a > -90) & (a < 90), a, 0) * 1.0).to(tl.int32).to({D})\n"  # sums of these are exact
SHAPES = (
    Case("reshape", "4 x 64 and back", "tl.store(o + r, tl.reshape(tl.reshape(a.T, (4, 64)), (16, 16)))", ALL),
    Case("tensor.reshape", "method", "tl.store(o + i, a.T.reshape(256))", SOME),
    Case("view", "4 x 64", "tl.store(o + i, tl.view(a, (256,)))", FEW),
    Case("tensor.view", "method", "tl.store(o + i, a.view(256))", FEW),
    Case("ravel", "of a transpose", "tl.ravel(a.T)", SOME),
    Case("tensor.ravel", "of a transpose", "a.T.ravel()", FEW),
    Case("trans", "16 x 16", "tl.store(o + r, tl.trans(a))", ALL),
    Case("tensor.trans", "method", "tl.store(o + r, a.trans())", FEW),
    Case("tensor.T", "attribute", "tl.store(o + r, a.T)", FEW),
    Case("permute", "4 x 8 x 8", "tl.ravel(tl.permute(tl.reshape(x, (4, 8, 8)), (2, 0, 1)))", SOME),
    Case("tensor.permute", "4 x 8 x 8", "x.reshape(4, 8, 8).permute(1, 2, 0).reshape(256)", FEW),
    Case("expand_dims", "two axes", "tl.store(o + r, a + tl.expand_dims(tl.arange(0, 16), 1).to({D}))", FEW),
    Case("tensor.expand_dims", "method", "tl.store(o + r, a + tl.arange(0, 16).expand_dims(0).to({D}))", FEW),
    Case("unsqueeze", "and squeeze", "tl.squeeze(tl.unsqueeze(x, 1), 1)", FEW),
    Case("squeeze", "an axis of 1", "tl.squeeze(tl.reshape(x, (256, 1)), 1)", FEW),
    Case(
        "broadcast",
        "of two tiles",
        "u, v = tl.broadcast(tl.arange(0, 16)[:, None], tl.arange(0, 16)[None, :])\n"
        "tl.store(o + r, a + (u * 3 - v).to({D}))",
        ("int32", "float32"),
    ),
    Case(
        "broadcast_to", "16 x 16", "tl.store(o + r, tl.broadcast_to(tl.arange(0, 16)[None, :].to({D}), (16, 16)))", SOME
    ),
    Case(
        "tensor.broadcast_to",
        "16 x 16",
        "tl.store(o + r, tl.arange(0, 16)[:, None].to({D}).broadcast_to((16, 16)))",
        FEW,
    ),
    Case(
        "cat",
        "can_reorder, then sorted",
        "u = tl.cat(tl.load(x_ptr + tl.arange(0, 128)), tl.load(y_ptr + tl.arange(0, 128)), can_reorder=True)\n"
        "tl.store(o + i, tl.sort(u))",
        _INT,
    ),
    Case(
        "cat", "in order", "tl.cat(tl.load(x_ptr + tl.arange(0, 128)), tl.load(y_ptr + tl.arange(0, 128)), dim=0)", FEW
    ),
    Case(
        "join",
        "then permuted",
        "h = tl.arange(0, 128)\nu = tl.join(tl.load(x_ptr + h), tl.load(y_ptr + h))\n"
        "tl.store(o + i, tl.ravel(tl.permute(u, (1, 0))))",
        SOME,
    ),
    Case(
        "split",
        "even and odd",
        "u, v = tl.split(tl.reshape(x, (128, 2)))\nh = tl.arange(0, 128)\ntl.store(o + h, u)\ntl.store(o + 128 + h, v)",
        SOME,
    ),
    Case(
        "tensor.split",
        "method",
        "u, v = x.reshape(128, 2).split()\nh = tl.arange(0, 128)\ntl.store(o + h, v)\ntl.store(o + 128 + h, u)",
        FEW,
    ),
    Case(
        "interleave",
        "of halves",
        "h = tl.arange(0, 128)\ntl.store(o + i, tl.interleave(tl.load(x_ptr + h), tl.load(y_ptr + h)))",
        SOME,
    ),
    Case("flip", "of rows and of all", "tl.store(o + r, tl.flip(a, 1))", SOME),
    Case("tensor.flip", "of a vector", "x.flip()", FEW),
    Case("gather", "along rows", "tl.store(o + r, tl.gather(a, (r * 7) % 16, 1))", ALL),
    Case("tensor.gather", "of a vector", "x.gather(j, 0)", SOME),
    Case("arange", "of a part", "tl.arange(256, 512)", ("int32",)),
    Case("zeros", "and full", "tl.zeros((256,), {D}) + tl.full((256,), 3, {D})", FEW),
    Case("full", "of a run-time scalar", "tl.full((256,), n, {D})", SOME),
    Case("zeros_like", "like x", "tl.zeros_like(x)", ALL),
    Case("histogram", "of 32 bins", "h = tl.arange(0, 32)\ntl.store(o + h, tl.histogram(j & 63, 32))", ("int32",)),
    Case(
        "histogram",
        "with a mask",
        "h = tl.arange(0, 32)\ntl.store(o + h, tl.histogram(j & 31, 32, mask=i < n))",
        ("int32",),
    ),
    Case(
        "histogram",
        "of negative and large values",
        "h = tl.arange(0, 32)\ntl.store(o + h, tl.histogram(x, 32))",
        ("int32",),
    ),
    Case("tensor.histogram", "method", "h = tl.arange(0, 32)\ntl.store(o + h, (j & 31).histogram(32))", ("int32",)),
)

REDUCTIONS = (
    Case("sum", "of whole numbers", _WHOLE_FLOATS + _of_rows("tl.sum(a, {axis})"), ("float16", "float32", "float64")),
    Case("sum", "of rows", _of_rows("tl.sum(a, {axis})"), WHOLE, "int64"),
    Case("sum", "of floats", _of_rows("tl.sum(a, {axis})"), FLOATS),
    Case("sum", "of all, with dtype", "tl.store(o, tl.sum(a, dtype=tl.int64))", ("int8", "int32"), "int64"),
    Case("tensor.sum", "of rows", _of_rows("a.sum({axis})"), ("int32",)),
    *(Case(name, "of rows", _of_rows(f"tl.{name}(a, {{axis}})"), NUMBERS) for name in ("max", "min")),
    *(
        Case(f"tensor.{name}", "of rows", _of_rows(f"a.{name}({{axis}})"), ("int32", "float32"))
        for name in ("max", "min")
    ),
    *(Case(name, "of rows", _of_rows(f"tl.{name}(a, {{axis}})"), SOME, "int32") for name in ("argmax", "argmin")),
    *(
        Case(f"tensor.{name}", "of rows", _of_rows(f"a.{name}({{axis}})"), ("int32", "float32"), "int32")
        for name in ("argmax", "argmin")
    ),
    *(
        Case(
            name,
            "of rows without NaN",
            "a = tl.where(a == a, a, 0)\n" + _of_rows(f"tl.{name}(a, {{axis}})"),
            FLOATS,
            "int32",
        )
        for name in ("argmax", "argmin")
    ),
    Case(
        "max",
        "with indices",
        f"{_ROWS}u, v = tl.max(a, 1, return_indices=True)\ntl.store(o + q, u)\ntl.store(o + 16 + q, v)",
        FEW,
        "float32",
    ),
    Case(
        "argmax",
        "ties: the last or the first",
        _of_rows("tl.argmax(a, {axis}, tie_break_left=False)"),
        ("int32",),
        "int32",
    ),
    Case("xor_sum", "of rows", _of_rows("tl.xor_sum(a, {axis})"), WHOLE),
    Case("tensor.xor_sum", "of rows", _of_rows("a.xor_sum({axis})"), ("int32",)),
    Case("reduce_or", "of rows", _of_rows("tl.reduce_or(a, {axis})"), WHOLE),
    Case("tensor.reduce_or", "of rows", _of_rows("a.reduce_or({axis})"), ("int32",)),
    Case(
        "reduce",
        "with a function",
        _of_rows("tl.reduce(a, {axis}, combine)"),
        _INT,
        before="def combine(u, v):\n    return tl.maximum(u, v) ^ 0\n",
    ),
    Case(
        "tensor.reduce",
        "with a function",
        _of_rows("a.reduce({axis}, combine)"),
        ("int32",),
        before="def combine(u, v):\n    return u + v\n",
    ),
    Case(
        "reduce",
        "of a tuple",
        f"{_ROWS}u, v = tl.reduce((a, b), 1, combine)\ntl.store(o + q, u)\ntl.store(o + 16 + q, v)",
        ("int32", "int64"),
        before="def combine(u, v, s, t):\n    return u + s, tl.maximum(v, t)\n",
    ),
    Case("cumsum", "of rows", "tl.store(o + r, tl.cumsum(a, 1))", ("int32", "int64", "uint32")),
    Case("cumsum", "of whole numbers", _WHOLE_FLOATS + "tl.store(o + r, tl.cumsum(a, 0))", REAL),
    Case("cumsum", "reversed", "tl.store(o + r, tl.cumsum(a, 1, reverse=True))", ("int32",)),
    Case("cumsum", "of narrow integers", "tl.store(o + r, tl.cumsum(a, 1))", ("int8", "int16", "uint8"), "int64"),
    Case("tensor.cumsum", "method", "tl.store(o + r, a.cumsum(1))", ("int32",)),
    Case("cumprod", "of rows", "tl.store(o + r, tl.cumprod(a, 1))", ("int32", "int64")),
    Case("tensor.cumprod", "method", "tl.store(o + r, a.cumprod(0))", ("int32",)),
    Case(
        "associative_scan",
        "with a function",
        "tl.store(o + r, tl.associative_scan(a, 1, combine))",
        _INT,
        before="def combine(u, v):\n    return tl.maximum(u, v)\n",
    ),
    Case(
        "associative_scan",
        "of a tuple, reversed",
        "u, v = tl.associative_scan((a, b), 0, combine, reverse=True)\ntl.store(o + r, u ^ v)",
        ("int32",),
        before="def combine(u, v, s, t):\n    return u + s, tl.minimum(v, t)\n",
    ),
    Case(
        "tensor.associative_scan",
        "method",
        "tl.store(o + r, a.associative_scan(1, combine))",
        ("int32",),
        before="def combine(u, v):\n    return u + v\n",
    ),
    Case("sort", "of rows", "tl.store(o + r, tl.sort(a))", NUMBERS),
    Case("sort", "descending", "tl.store(o + r, tl.sort(a, descending=True))", ("int32", "float32")),
    Case("tensor.sort", "method", "tl.store(o + r, a.sort())", ("int32",)),
    Case(
        "topk",
        "4 of 16",
        "q = tl.arange(0, 16)[:, None] * 4 + tl.arange(0, 4)[None, :]\ntl.store(o + q, tl.topk(a, 4))",
        ("int32", "uint32", "float32"),
    ),
    Case(
        "bitonic_merge",
        "of a bitonic row",
        "u = tl.abs(tl.arange(0, 16)[None, :] * 2 - 11) + tl.arange(0, 16)[:, None]\n"
        "tl.store(o + r, tl.bitonic_merge(u))",
        ("int32",),
    ),
    Case(
        "map_elementwise",
        "with a branch",
        "tl.map_elementwise(choose, x, y)",
        ("int32",),
        before="def choose(u, v):\n    if u < v:\n        return u\n    else:\n        return v + 1\n",
    ),
    Case(
        "map_elementwise",
        "two results",
        "u, v = tl.map_elementwise(both, x, y)\ntl.store(o + i, u ^ v)",
        ("int32",),
        before="def both(u, v):\n    if u < v:\n        return u, v\n    else:\n        return v, u\n",
    ),
)

_DOT = "q = r % 5 - 2\nu = q.to(tl.float32).to({D})\nv = (r % 3 - 1).to(tl.float32).to({D})\n"
_MK = "m, k = tl.arange(0, 16)[:, None], tl.arange(0, 64)[None, :]\n"
_SCALES = "s = (125 + (tl.arange(0, 16)[:, None] + tl.arange(0, 2)[None, :]) % 5).to(tl.uint8)\n"
PRODUCTS = (
    Case(
        "dot",
        "of small whole numbers",
        _DOT + "tl.store(o + r, tl.dot(u, v))",
        ("float16", "bfloat16", "float32", "float64"),
        "float64",
    ),
    Case("dot", "of int8", "tl.store(o + r, tl.dot(a, b))", ("int8",), "int32"),
    Case("dot", "of 8 bits", _DOT + "tl.store(o + r, tl.dot(u, v))", ("float8e4nv", "float8e5"), "float32"),
    Case(
        "dot",
        "with an accumulator",
        _DOT + "acc = q.to(tl.float32) * 3\ntl.store(o + r, tl.dot(u, v, acc))",
        ("float16", "bfloat16", "float32"),
        "float32",
    ),
    Case("dot", "out_dtype float16", _DOT + "tl.store(o + r, tl.dot(u, v, out_dtype=tl.float16))", ("float16",)),
    Case(
        "dot",
        "ieee, of any numbers",
        "tl.store(o + r, tl.dot(a, b, input_precision='ieee'))",
        ("float16", "bfloat16", "float32", "float64"),
        "float64",
    ),
    Case(
        "dot",
        "batched",
        "u = tl.reshape(x.to(tl.int32) % 4, (4, 8, 8)).to(tl.float32)\n"
        "v = tl.permute(u, (0, 2, 1))\ntl.store(o + i, tl.ravel(tl.dot(u, v)))",
        ("int32",),
        "float32",
    ),
    Case(
        "dot_scaled",
        "e4m3 with scales",
        _MK + "u = ((m * 7 + k) % 5 - 2).to(tl.float32).to(tl.float8e4nv)\n"
        "v = tl.trans(((m * 3 + k) % 7 - 3).to(tl.float32).to(tl.float8e4nv))\n"
        + _SCALES
        + "tl.store(o + r, tl.dot_scaled(u, s, 'e4m3', v, s, 'e4m3'))",
        ("int32",),
        "float32",
    ),
    Case(
        "dot_scaled",
        "e2m1 with scales",
        "m, k = tl.arange(0, 16)[:, None], tl.arange(0, 32)[None, :]\n"
        "u = ((m * 37 + k * 11) % 256).to(tl.uint8)\nv = tl.trans(((m * 29 + k * 5) % 256).to(tl.uint8))\n"
        + _SCALES
        + "tl.store(o + r, tl.dot_scaled(u, s, 'e2m1', v, s, 'e2m1'))",
        ("int32",),
        "float32",
    ),
    Case(
        "dot_scaled",
        "e5m2 with e4m3",
        _MK + "u = ((m * 7 + k) % 5 - 2).to(tl.float32).to(tl.float8e5)\n"
        "v = tl.trans(((m * 3 + k) % 7 - 3).to(tl.float32).to(tl.float8e4nv))\n"
        + _SCALES
        + "tl.store(o + r, tl.dot_scaled(u, s, 'e5m2', v, s, 'e4m3'))",
        ("int32",),
        "float32",
    ),
)

RANDOM = (
    *(
        Case(name, "of seed 1234", f"tl.{name}(1234 + p, i)", ("int32",), out)
        for name, out in (("rand", "float32"), ("randn", "float32"), ("randint", "uint32"))
    ),
    *(
        Case(name, "all four", f"u, v, w, s = tl.{name}(99, j)\ntl.store(o + i, {how})", ("int32",), out)
        for name, how, out in (
            ("rand4x", "u + v * 2 + w * 4 + s * 8", "float32"),
            ("randn4x", "u", "float32"),
            ("randint4x", "u ^ v ^ w ^ s", "uint32"),
        )
    ),
    Case(
        "philox",
        "ten rounds",
        "u, v, w, s = tl.philox(7, i, i * 0, i * 0, i * 0)\ntl.store(o + i, u ^ v ^ w ^ s)",
        ("int32",),
        "uint32",
    ),
    Case(
        "philox_impl",
        "seven rounds",
        "c = i.to(tl.uint32)\nu, v, w, s = tl.philox_impl(c, c + 1, c * 0, c * 3, c * 0 + 5, c * 0 + 9, 7)\n"
        "tl.store(o + i, u ^ v ^ w ^ s)",
        ("int32",),
        "uint32",
    ),
    Case(
        "uint_to_uniform_float",
        "of bits",
        "tl.uint_to_uniform_float(x)",
        ("int32", "uint32", "int64", "uint64"),
        "float32",
    ),
    Case(
        "pair_uniform_to_normal",
        "of two",
        "u, v = tl.pair_uniform_to_normal(i / 256.0, i / 512.0)\ntl.store(o + i, u + v)",
        ("int32",),
        "float32",
    ),
)

_LINE = "tl.store(o + i, x)"
PROGRAM = (
    Case("program_id", "of a grid of two", "x * 0 + tl.program_id(0) + 10 * tl.program_id(1)", ("int32",)),
    Case("num_programs", "of a grid of two", "x * 0 + tl.num_programs(0) + 10 * tl.num_programs(2)", ("int32",)),
    Case(
        "range",
        "with hints",
        "for k in tl.range(0, n, 50, num_stages=2, loop_unroll_factor=2):\n    x += k\n" + _LINE,
        ("int32", "int64"),
    ),
    Case("static_range", "unrolled", "for k in tl.static_range(4):\n    x = x * 2 + k\n" + _LINE, ("int32", "float32")),
    Case(
        "condition", "a while loop", "k = n\nwhile tl.condition(k > 150):\n    x += k\n    k -= 7\n" + _LINE, ("int32",)
    ),
    *(
        Case(name, "a hint", f"tl.{name}(x, 1)", ("int32", "float32"))
        for name in ("multiple_of", "max_contiguous", "max_constancy")
    ),
    Case("assume", "what holds", "tl.assume(n > 0)\n" + _LINE, ("int32",)),
    Case("debug_barrier", "between", "tl.debug_barrier()\n" + _LINE, ("int32",)),
    Case("device_assert", "what holds", "tl.device_assert(i < 256, 'never')\n" + _LINE, ("int32",)),
    Case("device_print", "a scalar", "tl.device_print('n is', n)\n" + _LINE, ("int32",)),
    Case("static_assert", "what holds", "tl.static_assert(x.shape[0] == 256, 'never')\n" + _LINE, ("int32",)),
    Case("static_print", "a dtype", "tl.static_print('dtype', x.dtype)\n" + _LINE, ("int32",)),
    Case("expect_zero", "masked lanes", "tl.expect_zero(tl.where(i < n, x, 0), i < n)", ("int32", "float32")),
    Case(
        "tensor.item",
        "of one element",
        "tl.sum(tl.load(x_ptr + tl.arange(0, 1)), keep_dims=True).item() + x * 0",
        ("int32",),
    ),
    Case("TRITON_MAX_TENSOR_NUMEL", "as a number", "x * 0 + tl.TRITON_MAX_TENSOR_NUMEL", ("int32",)),
    Case(
        "inline_asm_elementwise",
        "add.s32",
        "tl.inline_asm_elementwise('add.s32 $0, $1, $2;', '=r,r,r', [x, y], dtype=tl.int32, is_pure=True, pack=1)",
        ("int32",),
    ),
    Case("extra", "libdevice.pow", "tl.extra.libdevice.pow(x, y)", ("float32",)),
    Case(
        "target_info",
        "is_cuda",
        "k: tl.constexpr = tl.target_info.is_cuda()\ntl.store(o + i, x + (1 if k else 0))",
        ("int32",),
    ),
    Case("core", "core.where", "tl.core.where(x > 0, x, y)", ("int32",)),
    Case("standard", "standard.sum", _of_rows("tl.standard.sum(a, {axis})"), ("int32",)),
    Case("random", "random.rand", "tl.random.rand(5, i)", ("int32",), "float32"),
    Case("math", "math.abs", "tl.math.abs(x)", ("int32",)),
    Case(
        "aggregate_replace",
        "named",
        "v: tl.constexpr = tl.aggregate_replace is not None\ntl.store(o + i, x)",
        ("int32",),
    ),
)

CASES = (*OPERATORS, *ARITHMETIC, *MATH, *CASTS, *MEMORY, *ATOMICS, *SHAPES, *REDUCTIONS, *PRODUCTS, *RANDOM, *PROGRAM)
