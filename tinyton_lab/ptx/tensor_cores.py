"""How tensor cores add: exactly, or as measured per architecture. Knows neither fragments nor instructions' forms.

NVIDIA documents no arithmetic of sums. What stands here was found in experiments on devices (Fasi et al., PeerJ
Computer Science 7:e330; MMA-Sim, arXiv 2511.10909): a group of exact products and the old sum are shifted to the
largest exponent among them, what falls below a fixed number of fraction bits is cut off, the rest is added exactly; the
total is cut to f32, or rounded to f16. Groups follow each other in the order of k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tinyton_lab.ptx.numerics import fma64

Array = Any
_NO_TERM = -4096
# The least exponent that a nonzero number of a type is written with.
_LEAST_EXPONENT = {"f16": -14, "bf16": -126, "tf32": -126, "f32": -126, "e4m3": -6, "e5m2": -14}
_BYTES = {"tf32": 4, "f16": 2, "bf16": 2, "e4m3": 1, "e5m2": 1}
_F32_BITS = 23


@dataclass(frozen=True, slots=True)
class TensorCore:
    """One way to add. `fraction_bits`: kept below the largest exponent (0: all). `group_bytes`: of a row of A, per sum.

    `coarse` is the instruction that adds products of 8-bit floats with `coarse_bits` fraction bits only, and gives
    results of as many.
    """

    name: str
    fraction_bits: int = 0
    group_bytes: int = 0
    coarse: str = ""
    coarse_bits: int = 13


EXACT = TensorCore("exact")
TENSOR_CORES = {
    core.name: core
    for core in (
        EXACT,
        TensorCore("sm_70", 23, 8),
        TensorCore("sm_75", 24, 16),
        TensorCore("sm_80", 24, 16),
        TensorCore("sm_86", 24, 16),
        TensorCore("sm_89", 24, 16, "mma"),
        TensorCore("sm_90", 25, 32, "wgmma"),
    )
}


class Rule(NamedTuple):
    """How one instruction adds: `bits` kept, `group` products per sum, `result_bits` of an f32 (0: it is an f16)."""

    type: str
    bits: int
    group: int
    result_bits: int


def rule(core: TensorCore, instruction: str, type_: str, result: str) -> Rule | None:
    """The rule for products of `type_` and sums of type `result`; None where a sum is exact.

    >>> rule(TENSOR_CORES["sm_80"], "mma", "f16", "f32")
    Rule(type='f16', bits=24, group=8, result_bits=23)
    """
    if core is EXACT or type_ not in _BYTES:
        return None
    coarse = instruction == core.coarse and _BYTES[type_] == 1
    bits = core.coarse_bits if coarse else core.fraction_bits
    result_bits = 0 if result == "f16" else min(bits, _F32_BITS)
    return Rule(type_, bits, core.group_bytes // _BYTES[type_], result_bits)


def multiply(a: Array, b: Array, c: Array, type_: str, saturate: bool = False, how: Rule | None = None) -> Array:
    """a @ b + c over warps, (warps, m, k) by (warps, k, n), as f64 or int64.

    Without a rule: exact products, summed in f64 (integers exactly; f64 as a chain of fma in the order of k).
    """
    if how is not None:
        for first in range(0, a.shape[2], how.group):
            group = slice(first, first + how.group)
            c = truncating_sum(a[:, :, group], b[:, group, :], c, how)
        return c
    if type_ == "f64":
        total = c
        for k in range(a.shape[2]):
            total = fma64(a[:, :, k, None], b[:, k, None, :], total)
        return total
    if a.dtype.kind == "i":
        total = np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.int64) + c
        return np.clip(total, -(2**31), 2**31 - 1) if saturate else total
    return np.matmul(a, b) + c


def truncating_sum(a: Array, b: Array, c: Array, how: Rule) -> Array:
    """One group of products and the old sum; every step is exact in f64 but for what is cut off on purpose."""
    products = a[:, :, :, None] * b[:, None, :, :]
    exponents = exponent(a, how.type)[:, :, :, None] + exponent(b, how.type)[:, None, :, :]
    exponents = np.where(products != 0, exponents, _NO_TERM)
    own = np.where(c != 0, exponent(c, "f32" if how.result_bits else "f16"), _NO_TERM)
    largest = np.maximum(exponents.max(axis=2), own)
    shift = how.bits - largest
    total = np.trunc(np.ldexp(products, shift[:, :, None, :])).sum(axis=2) + np.trunc(np.ldexp(c, shift))
    total = np.where(largest > _NO_TERM, np.ldexp(total, -shift), 0.0)
    total = _cut(total, how.result_bits) if how.result_bits else total.astype(np.float16).astype(np.float64)
    plain = products.sum(axis=2) + c
    return np.where(np.isfinite(plain), total, plain)


def exponent(x: Array, type_: str) -> Array:
    """The exponent that numbers of a type are written with: a subnormal has that of the least normal number."""
    return np.maximum(np.frexp(x)[1] - 1, _LEAST_EXPONENT[type_])


def _cut(x: Array, bits: int) -> Array:
    """Round toward zero to an f32 of `bits` fraction bits; too large a number becomes infinite."""
    unit = exponent(x, "f32") - bits
    kept = np.ldexp(np.trunc(np.ldexp(x, -unit)), unit)
    return np.where(np.abs(kept) < 2.0**128, kept, np.copysign(np.inf, kept))
