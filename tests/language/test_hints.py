"""Promises of authors: they widen a GPU's accesses, change no result, and are refused where they do not fit."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl
from tinyton_lab.base.diagnostics import TinytonError

ENGINES = ["eager", "interpreter", "cpu", "sim"]
N = 1024


@tt.jit
def copied(x, out, n, start, HINT: tl.constexpr, N: tl.constexpr):
    """Offsets behind a remainder: nothing is known of them but what is promised."""
    at = (start + tl.arange(0, N)) % n
    if HINT == "runs":
        at = tl.max_contiguous(tl.multiple_of(at, 4), 4)
    elif HINT == "runs first":
        at = tl.multiple_of(tl.max_contiguous(at, 2), 2)
    elif HINT == "multiple alone":
        at = tl.multiple_of(at, 1)
    tl.store(out + at, tl.load(x + at))


@tt.jit
def masked(x, out, n, HINT: tl.constexpr, N: tl.constexpr):
    """A mask that may change within a vector, unless the length is a multiple of it."""
    at = tl.arange(0, N)
    if HINT == "length":
        n = tl.multiple_of(n, 4)
    mask = at < n
    if HINT == "mask":
        mask = tl.max_constancy(mask, 4)
    tl.store(out + at, tl.load(x + at, mask=mask), mask=mask)


@tt.jit
def through_pointers(x, out, n, HINT: tl.constexpr, N: tl.constexpr):
    """The promise is about the pointers themselves."""
    source = x + tl.arange(0, N) % n
    if HINT == "pointers":
        source = tl.max_contiguous(tl.multiple_of(source, 16), 4)
    tl.store(out + tl.arange(0, N), tl.load(source))


@tt.jit
def rows(x, out, n, stride, HINT: tl.constexpr, N: tl.constexpr):
    """Two axes: a promise for each, and one about the stride of the rows."""
    i, j = tl.arange(0, 4), tl.arange(0, N // 4)
    if HINT == "stride":
        stride = tl.multiple_of(stride, 4)
    at = i[:, None] * stride + j[None, :] % n
    if HINT == "axes":
        at = tl.max_contiguous(tl.multiple_of(at, [1, 4]), [1, 4])
    elif HINT == "stride":
        at = i[:, None] * stride + j[None, :]
    tl.store(out + at, tl.load(x + at))


def widths(kernel: Any, *args: Any, **keywords: Any) -> tuple[list[int], list[int]]:
    """The elements of each global load and store in the PTX of a kernel."""
    text = tt.inspect(kernel, *args, **keywords).stages["ptx"].text
    accesses = re.findall(r"(ld|st)\.global(?:\.v(\d))?", text)
    loads = [int(width or 1) for kind, width in accesses if kind == "ld"]
    return loads, [int(width or 1) for kind, width in accesses if kind == "st"]


def aligned(length: int) -> np.ndarray:
    """An array that starts at a multiple of 16 bytes."""
    whole = np.arange(length + 4, dtype=np.float32)
    first = -whole.ctypes.data % 16 // 4
    return whole[first : first + length]


CASES = [
    (copied, (1000, 8), "", 1, 1),
    (copied, (1000, 8), "runs", 4, 4),
    (copied, (1000, 8), "runs first", 2, 2),
    (copied, (1000, 8), "multiple alone", 1, 1),
    (masked, (1004,), "", 1, 1),
    (masked, (1004,), "length", 4, 4),
    (masked, (1004,), "mask", 4, 4),
    (through_pointers, (1004,), "", 1, 4),
    (through_pointers, (1004,), "pointers", 4, 4),
    (rows, (252, 260), "", 1, 1),
    (rows, (252, 260), "axes", 4, 4),
    (rows, (252, 260), "stride", 4, 4),
]


@pytest.mark.parametrize(("kernel", "numbers", "hint", "load", "store"), CASES)
def test_promises_widen_the_accesses_of_a_gpu(kernel: Any, numbers: tuple[int, ...], hint: str, load: int, store: int):
    x, out = aligned(2048), aligned(2048)
    loads, stores = widths(kernel, x, out, *numbers, hint, N=N)
    assert (set(loads), set(stores)) == ({load}, {store})


def test_promises_change_no_result():
    for kernel, numbers, hint, _, _ in CASES:
        results: list[np.ndarray] = []
        for engine in ENGINES:
            out = aligned(2048) * 0 - 1
            kernel[(1,)](aligned(2048), out, *numbers, hint, N=N, backend=engine)
            results.append(out)
            np.testing.assert_array_equal(out, results[0], err_msg=f"{kernel.name} {hint} {engine}")
        assert (results[0] >= 0).sum() >= 1000


@tt.jit
def in_a_branch(x, out, n, N: tl.constexpr):
    at = tl.arange(0, N) % n
    if n > 5000:
        at2 = tl.max_contiguous(tl.multiple_of(at, 4), 4)
        tl.store(out + at2, 1.0)
    tl.store(out + at, tl.load(x + at))


def test_a_promise_in_a_branch_holds_there_only():
    loads, _ = widths(in_a_branch, aligned(2048), aligned(2048), 1000, N=N)
    assert loads == [1] * len(loads)


@tt.jit
def promised(x, HINT: tl.constexpr):
    at = tl.arange(0, 8)[:, None] + tl.arange(0, 8)[None, :]
    if HINT == 0:
        tl.store(x + tl.multiple_of(at, 4), 0.0)
    elif HINT == 1:
        tl.store(x + tl.max_contiguous(at, [4, 0]), 0.0)
    elif HINT == 2:
        tl.store(x + tl.max_constancy(at, [4, tl.program_id(0)]), 0.0)
    else:
        tl.store(x + tl.multiple_of(at, [4, 1.5]), 0.0)


@pytest.mark.parametrize(("hint", "code"), [(0, "TT2005"), (1, "TT2005"), (2, "TT1006"), (3, "TT2005")])
def test_a_promise_that_does_not_fit_is_a_located_fault(hint: int, code: str):
    with pytest.raises(TinytonError) as caught:
        promised[(1,)](np.zeros(64, np.float32), HINT=hint)
    assert caught.value.code == code and caught.value.span is not None
