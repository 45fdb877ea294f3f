"""Forty small kernels, each with the Python expressions that its interesting PTX and SASS instructions come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import tinyton_lab as tt
import tinyton_lab.language as tl

Labels = Mapping[str, str | tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A kernel, the types of its run-time parameters, its constexprs, and by opcode the expressions to reach.

    An opcode stands for all that begin with it: each such instruction must reach some of its expressions and nothing
    else, and each expression must be reached.
    """

    kernel: Any
    signature: str
    constants: Mapping[str, Any]
    labels: Labels


KERNELS: list[Labelled] = []


def labelled(signature: str, labels: Labels, **constants: Any) -> Callable[[Callable[..., None]], Any]:
    def register(function: Callable[..., None]) -> Any:
        kernel = tt.jit(function)
        KERNELS.append(Labelled(kernel, signature, constants, labels))
        return kernel

    return register


@labelled(
    "*fp32, *fp32, *fp32",
    {
        "ld.global": ("tl.load(x + i)", "tl.load(y + i)"), "LDG": ("tl.load(x + i)", "tl.load(y + i)"),
        "add.rn.f32": "a + b", "FADD": "a + b",
        "st.global": "tl.store(out + i, a + b)", "STG": "tl.store(out + i, a + b)",
    },
)  # fmt: skip
def add(x, y, out):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    b = tl.load(y + i)
    tl.store(out + i, a + b)


@labelled("*fp64, *fp64", {"mul.rn.f64": "a * a", "DMUL": "a * a", "add.rn.f64": "a * a + a", "DADD": "a * a + a"})
def double(x, out):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    tl.store(out + i, a * a + a)


@labelled("*fp32, *fp32", {"sub.rn.f32": "1.0 - a", "mul.rn.f32": "(1.0 - a) * a", "FMUL": "(1.0 - a) * a"})
def nested(x, out):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    tl.store(out + i, (1.0 - a) * a)


@labelled("*fp16, *fp16", {"add.rn.f16": "a + a", "HADD2": "a + a", "ld.global.b16": "tl.load(x + i)"})
def half(x, out):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    tl.store(out + i, a + a)


@labelled("*fp32, *fp16", {"cvt.rn.f16.f32": "tl.load(x + i).to(tl.float16)", "F2F": "tl.load(x + i).to(tl.float16)"})
def narrowed(x, out):
    i = tl.arange(0, 128)
    tl.store(out + i, tl.load(x + i).to(tl.float16))


@labelled("*fp32, *fp16", {"cvt.rn.f16.f32": "tl.store(out + i, a)", "st.global.b16": "tl.store(out + i, a)"})
def narrowed_by_the_store(x, out):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    tl.store(out + i, a)


@labelled("*i32, *fp32", {"cvt.rn.f32.s32": "a.to(tl.float32)", "I2F": "a.to(tl.float32)"})
def to_float(x, out):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    tl.store(out + i, a.to(tl.float32))


@labelled("*fp32, *i32", {"cvt.rzi.s32.f32": "tl.load(x + i).to(tl.int32)", "F2I": "tl.load(x + i).to(tl.int32)"})
def to_integer(x, out):
    i = tl.arange(0, 128)
    tl.store(out + i, tl.load(x + i).to(tl.int32))


@labelled("*fp32, *fp32", {"ex2.approx": "tl.exp(a)", "mul.rn.f32": "tl.exp(a)", "MUFU.EX2": "tl.exp(a)"})
def exponential(x, out):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    tl.store(out + i, tl.exp(a))


@labelled(
    "*fp32, *fp32",
    {
        "sin.approx": "tl.sin(a)", "cos.approx": "tl.cos(a)", "MUFU.SIN": "tl.sin(a)", "MUFU.COS": "tl.cos(a)",
        "sub.rn.f32": "tl.sin(a) - tl.cos(a)",
    },
)  # fmt: skip
def waves(x, out):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    tl.store(out + i, tl.sin(a) - tl.cos(a))


@labelled("*fp32, *fp32", {"lg2.approx": "tl.log2(a)", "MUFU.LG2": "tl.log2(a)", "rsqrt.approx": "tl.rsqrt(a)"})
def logarithm(x, out):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    tl.store(out + i, tl.log2(a))
    tl.store(out + 128 + i, tl.rsqrt(a))


@labelled("*fp32, *fp32", {"sqrt": "tl.sqrt(a)", "MUFU": "tl.sqrt(a)", "abs.f32": "tl.abs(tl.sqrt(a))"})
def root(x, out):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    tl.store(out + i, tl.abs(tl.sqrt(a)))


@labelled("*fp32, *fp32, *fp32", {"div": "a / b", "MUFU.RCP": "a / b", "FMUL": "a / b"})
def quotient(x, y, out):
    i = tl.arange(0, 128)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, a / b)


@labelled("*fp32, *fp32, *fp32", {"fma.rn.f32": "tl.fma(a, b, a)", "FFMA": "tl.fma(a, b, a)"})
def fused(x, y, out):
    i = tl.arange(0, 128)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, tl.fma(a, b, a))


@labelled("*fp32, *fp32, *fp32", {"max": "tl.maximum(a, b)", "min": "tl.minimum(tl.maximum(a, b), 9.0)"})
def bounded(x, y, out):
    i = tl.arange(0, 128)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, tl.minimum(tl.maximum(a, b), 9.0))


@labelled("*fp32, *fp32", {"setp.gt.f32": "a > 0", "selp": "tl.where(a > 0, a, 7.0)", "FSETP": "a > 0"})
def chosen(x, out):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    tl.store(out + i, tl.where(a > 0, a, 7.0))


@labelled("*i32, *i32", {"mul.lo.s32": "a * a", "xor.b32": "a * a ^ 5", "LDG": "tl.load(x)"})
def integers(x, out):
    a = tl.load(x)
    tl.store(out, a * a ^ 5)


@labelled("*i32, *i32, *i32", {"div.s32": "a // b", "mul.lo.s32": "a % b", "MUFU.RCP": "a // b"})
def whole_quotient(x, y, out):
    i = tl.arange(0, 128)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, a // b)
    tl.store(out + 128 + i, a % b)


@labelled("*i64, *i64, *i64", {"div.s64": "a // b", "MUFU": "a // b"})
def long_quotient(x, y, out):
    i = tl.arange(0, 128)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, a // b)


@labelled("*u32, *u32", {"shr.u32": "a >> 3", "not.b32": "~(a >> 3)"})
def bits(x, out):
    a = tl.load(x)
    tl.store(out, ~(a >> 3))


@labelled("*u32, *u32, *u32", {"mul.hi.u32": "tl.umulhi(a, b)", "IMAD.HI": "tl.umulhi(a, b)"})
def high_product(x, y, out):
    i = tl.arange(0, 128)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, tl.umulhi(a, b))


@labelled("*i8, *i32", {"ld.global.s8": "tl.load(x)", "add.s32": "a.to(tl.int32) + 1"})
def widened(x, out):
    a = tl.load(x)
    tl.store(out, a.to(tl.int32) + 1)


@labelled(
    "*fp32, *fp32",
    {
        "shfl": "tl.sum(a, axis=0)", "add.rn.f32": "tl.sum(a, axis=0)", "SHFL": "tl.sum(a, axis=0)",
        "st.shared": "tl.sum(a, axis=0)", "ld.shared": "tl.sum(a, axis=0)", "LDS": "tl.sum(a, axis=0)",
        "STS": "tl.sum(a, axis=0)",
    },
)  # fmt: skip
def total(x, out):
    i = tl.arange(0, 256)
    a = tl.load(x + i)
    tl.store(out, tl.sum(a, axis=0))


@labelled(
    "*fp32, *fp32",
    {
        "max.f32": "tl.max(a, axis=0)", "add.rn.f32": "tl.sum(b, axis=0)", "FMNMX": "tl.max(a, axis=0)",
        "shfl": ("tl.max(a, axis=0)", "tl.sum(b, axis=0)"), "FADD": ("tl.sum(b, axis=0)", "a - tl.max(a, axis=0)"),
    },
)  # fmt: skip
def two_reductions(x, out):
    i = tl.arange(0, 256)
    a = tl.load(x + i)
    b = a - tl.max(a, axis=0)
    tl.store(out, tl.sum(b, axis=0))


@labelled("*i32, *i32", {"xor.b32": "tl.xor_sum(a, axis=0)", "SHFL": "tl.xor_sum(a, axis=0)"}, num_warps=1)
def parity(x, out):
    i = tl.arange(0, 32)
    a = tl.load(x + i)
    tl.store(out, tl.xor_sum(a, axis=0))


@labelled(
    "*fp32, *fp32", {"min.f32": "tl.min(a, axis=1)", "shfl": "tl.min(a, axis=1)", "st.global": "tl.store(out + r, m)"}
)
def least_of_rows(x, out):
    r = tl.arange(0, 16)
    a = tl.load(x + r[:, None] * 32 + tl.arange(0, 32)[None, :])
    m = tl.min(a, axis=1)
    tl.store(out + r, m)


@labelled("*fp32, *fp32", {"mul.rn.f32": ("a * 3.0", "b * 5.0"), "add.rn.f32": "a * 3.0 + b * 5.0"})
def weighted(x, out):
    i = tl.arange(0, 128)
    a, b = tl.load(x + i), tl.load(x + 128 + i)
    tl.store(out + i, a * 3.0 + b * 5.0)


@labelled("*fp32, *fp32", {"mul.rn.f32": "a * 3.0", "sub.rn.f32": "a * 3.0 - tl.load( x + 128 + i )"})
def many_lines(x, out):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    tl.store(
        out + i,
        a * 3.0
        - tl.load(
            x + 128 + i
        ),
    )  # fmt: skip


@labelled("*fp32, *fp32", {"mul.rn.f32": "a * a", "add.rn.f32": "a * a + 1.0", "sub.rn.f32": "1.0 - a * a"})
def common_part(x, out):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    tl.store(out + i, a * a + 1.0)
    tl.store(out + 128 + i, 1.0 - a * a)


@labelled("*fp32, *fp32, i32", {"add.rn.f32": "a += tl.load(x + k * 128 + i)", "FADD": "a += tl.load(x + k * 128 + i)"})
def accumulated(x, out, n):
    i = tl.arange(0, 128)
    a = tl.zeros([128], tl.float32)
    for k in range(n):
        a += tl.load(x + k * 128 + i)
    tl.store(out + i, a)


@labelled("*fp32, *fp32", {"add.rn.f32": "a + k", "mul.rn.f32": "(a + k) * 3.0"})
def unrolled(x, out):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    for k in tl.static_range(1, 4):
        a = (a + k) * 3.0
    tl.store(out + i, a)


@labelled("*fp32, *fp32", {"setp.lt.f32": "a < 100.0", "mul.rn.f32": "a * 3.0", "FMUL": "a * 3.0"})
def repeated(x, out):
    a = tl.load(x)
    while a < 100.0:
        a = a * 3.0
    tl.store(out, a)


@labelled("*fp32, *fp32, i32", {"setp": "n > 3", "mul.rn.f32": "a * 3.0", "add.rn.f32": "a + 5.0"})
def branched(x, out, n):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    if n > 3:
        a = a * 3.0
    else:
        a = a + 5.0
    tl.store(out + i, a)


@labelled(
    "*fp32, *fp32, i32", {"add.rn.f32": "a - 2.0", "st.global": ("tl.store(out + i, a)", "tl.store(out + i, a - 2.0)")}
)
def ended_early(x, out, n):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    if n == 0:
        tl.store(out + i, a)
        return
    tl.store(out + i, a - 2.0)


@tt.jit
def scaled(value, factor):
    return value * factor


@labelled(
    "*fp32, *fp32",
    {"mul.rn.f32": ("scaled(a, 3.0)", "scaled(b, 5.0)"), "add.rn.f32": "scaled(a, 3.0) + scaled(b, 5.0)"},
)
def with_helper(x, out):
    i = tl.arange(0, 128)
    a, b = tl.load(x + i), tl.load(x + 128 + i)
    tl.store(out + i, scaled(a, 3.0) + scaled(b, 5.0))


@labelled("*fp32, *fp32", {"ex2.approx": "tl.sigmoid(a)", "MUFU": "tl.sigmoid(a)", "add.rn.f32": "tl.sigmoid(a)"})
def from_the_library(x, out):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    tl.store(out + i, tl.sigmoid(a))


@labelled(
    "*fp32, *fp32, i32",
    {
        "setp.lt.s32": "i < n", "ld.global": "tl.load(x + i, mask=i < n, other=1.0)", "ISETP": "i < n",
        "st.global": "tl.store(out + i, a, mask=i < n)",
    },
)  # fmt: skip
def masked(x, out, n):
    i = tl.arange(0, 128)
    a = tl.load(x + i, mask=i < n, other=1.0)
    tl.store(out + i, a, mask=i < n)


@labelled("*fp32, *fp32", {"add.rn.f32": "a + FACTOR * 2", "FADD": "a + FACTOR * 2"}, FACTOR=3)
def folded(x, out, FACTOR: tl.constexpr):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    tl.store(out + i, a + FACTOR * 2)


@labelled(
    "*fp32, *fp32, *fp32",
    {"add.rn.f32": "a[:, None] + b[None, :]", "st.global": "tl.store(p, a[:, None] + b[None, :])"},
)
def outer_sum(x, y, out):
    i, j = tl.arange(0, 16), tl.arange(0, 32)
    a, b = tl.load(x + i), tl.load(y + j)
    p = out + i[:, None] * 32 + j[None, :]
    tl.store(p, a[:, None] + b[None, :])


@labelled("*bf16, *fp32", {"neg.f32": "-tl.load(x + i).to(tl.float32)", "ld.global": "tl.load(x + i)"})
def negated(x, out):
    i = tl.arange(0, 128)
    tl.store(out + i, -tl.load(x + i).to(tl.float32))
