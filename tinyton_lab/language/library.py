"""Functions of the language that are written in the language: kernels inline them like any helper."""

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import DTYPES, DType
from tinyton_lab.base.protocol import Constexpr
from tinyton_lab.language import core
from tinyton_lab.language.atomics import atomic_load
from tinyton_lab.language.builtin import LibraryFunction, builtin, constexpr_function
from tinyton_lab.language.emission import unwrap
from tinyton_lab.language.functions import exp


@LibraryFunction
def cdiv(x: Any, div: Any) -> Any:
    """Integer quotient rounded up, of positive numbers; outside a kernel it computes at once."""
    return (x + (div - 1)) // div


@constexpr_function
def get_int_dtype(bitwidth: int, signed: bool) -> DType:
    """The integer dtype of so many bits: 1, 8, 16, 32 or 64.

    >>> get_int_dtype(16, False)
    tl.uint16
    """
    if bitwidth not in (1, 8, 16, 32, 64):
        raise ValueError(f"no integer has {bitwidth} bits")
    return DTYPES[f"{'i' if signed or bitwidth == 1 else 'u'}{bitwidth}"]


@builtin
def unwrap_if_constexpr(x: Any) -> Any:
    """The value that a constexpr holds; anything else as it is."""
    return unwrap(x)


@constexpr_function
def exponent(i: int) -> int:
    """The exponent of a power of two."""
    return max(i.bit_length() - 1, 0)


@LibraryFunction
def next_power_of_2(n: Any) -> Any:
    """The least power of two that is not below an integer; outside a kernel it computes at once."""
    last = n - 1
    last |= last >> 1
    last |= last >> 2
    last |= last >> 4
    last |= last >> 8
    last |= last >> 16
    last |= last >> 16 >> 16
    return last + 1


@LibraryFunction
def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``."""
    denominator: Any = exp(-x)
    return 1 / (1 + denominator)


@LibraryFunction
def softmax(x: Any, dim: Any = None, *, keep_dims: Any = None, ieee_rounding: Any = False) -> Any:
    """Exponentials along an axis (the first one by default), divided by their sum; the shape stays.

    The greatest element is subtracted first, so that no exponential overflows.
    """
    axis: Constexpr = 0 if dim is None else dim  # type: ignore[assignment]  # kernel language: a plain int is a constexpr
    shifted = x - core.max(x, axis, keep_dims=True)
    powers = exp(shifted)
    return core.fdiv(powers, core.sum(powers, axis, keep_dims=True), ieee_rounding)


@LibraryFunction
def _missing(seen: Any) -> Any:
    return core.sum(core.where(seen, 0, 1)) if len(seen.shape) > 0 else core.where(seen, 0, 1)


@LibraryFunction
def atomic_poll(pointer: Any, expected_value: Any, sem: Any = None, scope: Any = None, timeout_ns: Any = None) -> Any:
    """Wait until elements of memory equal a value; gives whether they do.

    Another program, running at the same time, must store it. With `timeout_ns` the wait ends after so many reads (one
    for 100 ns), and elements that differ give False.
    """
    seen: Any = atomic_load(pointer, None, sem, scope) == expected_value
    missing: Any = _missing(seen)
    turns = 0
    while missing > 0:
        seen = atomic_load(pointer, None, sem, scope) == expected_value
        missing = _missing(seen)
        turns += 1
        if timeout_ns is not None:
            if turns * 100 >= timeout_ns:
                missing = 0
    return seen


@LibraryFunction
def expect_zero(x: Any, mask: Any) -> Any:
    """The same as `x`; says that its elements are zero where the mask holds."""
    return x


@LibraryFunction
def swizzle2d(i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> Any:
    """Renumber the tiles of a `size_i` by `size_j` grid in groups of `size_g` rows, column by column in each group."""
    flat = i * size_j + j
    in_group = size_g * size_j
    group = flat // in_group
    first = group * size_g
    rows = core.minimum(size_i - first, size_g)
    inside = flat % in_group
    return first + inside % rows, inside // rows
