"""The kernel language: everything a kernel may name as ``tl.something``."""

from __future__ import annotations

import builtins

from tinyton_lab.base.dtypes import (
    DType,
    bfloat16,
    float8e4b8,
    float8e4b15,
    float8e4nv,
    float8e5,
    float8e5b16,
    float16,
    float32,
    float64,
    int1,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tinyton_lab.base.protocol import Constexpr
from tinyton_lab.language import core, extra, library, math, target_info
from tinyton_lab.language.aggregates import aggregate, aggregate_replace
from tinyton_lab.language.arranging import (
    cat,
    flip,
    gather,
    histogram,
    interleave,
    join,
    split,
    squeeze,
    unsqueeze,
)
from tinyton_lab.language.assembly import inline_asm_elementwise
from tinyton_lab.language.atomics import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_load,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_store,
    atomic_xchg,
    atomic_xor,
)
from tinyton_lab.language.blocks import (
    advance,
    load_tensor_descriptor,
    make_block_ptr,
    make_tensor_descriptor,
    store_tensor_descriptor,
    tensor_descriptor,
)
from tinyton_lab.language.core import (
    CONSTEXPR_0,
    PropagateNan,
    abs,
    add,
    arange,
    argmax,
    argmin,
    assume,
    broadcast,
    broadcast_to,
    cast,
    ceil,
    clamp,
    condition,
    debug_barrier,
    device_assert,
    device_print,
    div_rn,
    dot,
    expand_dims,
    fdiv,
    floor,
    fma,
    full,
    load,
    logical_and,
    logical_or,
    max,
    maximum,
    min,
    minimum,
    mul,
    num_programs,
    permute,
    program_id,
    range,
    ravel,
    reduce,
    reduce_or,
    reshape,
    sqrt,
    sqrt_rn,
    static_assert,
    static_print,
    static_range,
    store,
    sub,
    sum,
    to_tensor,
    trans,
    umulhi,
    view,
    where,
    xor_sum,
    zeros,
    zeros_like,
)
from tinyton_lab.language.functions import cos, erf, exp, exp2, log, log2, rsqrt, sin, tanh
from tinyton_lab.language.hints import max_constancy, max_contiguous, multiple_of
from tinyton_lab.language.library import (
    atomic_poll,
    cdiv,
    expect_zero,
    get_int_dtype,
    sigmoid,
    softmax,
    swizzle2d,
)
from tinyton_lab.language.random import (
    pair_uniform_to_normal,
    philox,
    philox_impl,
    rand,
    rand4x,
    randint,
    randint4x,
    randn,
    randn4x,
    uint_to_uniform_float,
)
from tinyton_lab.language.scaling import dot_scaled
from tinyton_lab.language.scans import associative_scan, cumprod, cumsum, map_elementwise
from tinyton_lab.language.shapes import LARGEST_TILE as TRITON_MAX_TENSOR_NUMEL
from tinyton_lab.language.sorting import bitonic_merge, sort, topk
from tinyton_lab.language.tensor import tensor
from tinyton_lab.language.types import block_type, const, pointer_type, void

_aggregate = aggregate
_log2 = library.exponent
_unwrap_if_constexpr = library.unwrap_if_constexpr
constexpr = Constexpr
constexpr_type = Constexpr
dtype = DType
standard = core
pi32_t = pointer_type(int32)
slice = builtins.slice
tuple = builtins.tuple

__all__ = [
    "CONSTEXPR_0", "PropagateNan", "TRITON_MAX_TENSOR_NUMEL", "_log2", "_unwrap_if_constexpr", "abs", "add", "advance",
    "aggregate", "aggregate_replace",
    "arange", "argmax", "argmin", "associative_scan", "assume", "atomic_add", "atomic_and", "atomic_cas",
    "atomic_load", "atomic_max", "atomic_min", "atomic_or", "atomic_poll", "atomic_store", "atomic_xchg", "atomic_xor",
    "bfloat16", "bitonic_merge", "block_type", "broadcast", "broadcast_to", "cast", "cat", "cdiv", "ceil", "clamp",
    "condition", "const", "constexpr", "constexpr_type", "core", "cos", "cumprod", "cumsum", "debug_barrier",
    "device_assert", "device_print", "div_rn", "dot", "dot_scaled", "dtype", "erf", "exp", "exp2", "expand_dims",
    "expect_zero", "extra", "fdiv", "flip", "float16", "float32", "float64", "float8e4b15", "float8e4b8", "float8e4nv",
    "float8e5", "float8e5b16", "floor", "fma", "full", "gather", "get_int_dtype", "histogram",
    "inline_asm_elementwise", "int1", "int16", "int32", "int64", "int8", "interleave", "join", "load",
    "load_tensor_descriptor", "log", "log2", "logical_and", "logical_or", "make_block_ptr", "make_tensor_descriptor",
    "map_elementwise", "math", "max", "max_constancy", "max_contiguous", "maximum", "min", "minimum", "mul",
    "multiple_of", "num_programs", "pair_uniform_to_normal", "permute", "philox", "philox_impl", "pi32_t",
    "pointer_type", "program_id", "rand", "rand4x", "randint", "randint4x", "randn", "randn4x", "range", "ravel",
    "reduce", "reduce_or", "reshape", "rsqrt", "sigmoid", "sin", "slice", "softmax", "sort", "split", "sqrt",
    "sqrt_rn", "squeeze", "standard", "static_assert", "static_print", "static_range", "store",
    "store_tensor_descriptor", "sub", "sum", "swizzle2d", "tanh", "target_info", "tensor", "tensor_descriptor",
    "to_tensor", "topk", "trans", "tuple", "uint16", "uint32", "uint64", "uint8", "uint_to_uniform_float", "umulhi",
    "unsqueeze", "view", "void", "where", "xor_sum", "zeros", "zeros_like",
]  # fmt: skip
