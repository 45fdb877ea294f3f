"""break and continue do what Python says: in nested loops, unrolled loops, under known and unknown conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl


@tt.jit
def first_at_least(x, out, n, limit):
    found = -1
    steps = 0
    for i in range(n):
        steps += 1
        if tl.load(x + i) >= limit:
            found = i
            break
    tl.store(out, found)
    tl.store(out + 1, steps)


@tt.jit
def odd_sum(x, out, n, limit):
    total = 0
    last = 0
    for i in range(n - 1, -1, -1):
        v = tl.load(x + i)
        if v % 2 == 0:
            continue
        if v > limit:
            if v == 99:
                last = v
                break
            else:
                continue
        total += v
        last = i
    tl.store(out, total)
    tl.store(out + 1, last)


@tt.jit
def nested(x, out, n, limit):
    count = 0
    i = 0
    while True:
        i += 1
        for j in range(0, i, 2):
            if j > limit:
                break
            if j == 2:
                continue
            count += 10 * i + j
        if i >= n:
            break
    tl.store(out, count)
    tl.store(out + 1, i)


@tt.jit
def unrolled(x, out, n, limit):
    total = 0
    for k in tl.static_range(8):
        if k == 5:
            break
        if k % 2:
            continue
        if tl.load(x + k) > limit:
            continue
        total += k + 1
    tl.store(out, total)


@tt.jit
def stepped(x, out, n, limit):
    total = 0
    for i in range(limit, n, limit - 4):
        if total > 40:
            break
        total += i
    tl.store(out, total)


def python(kernel: Any, x: list[int], n: int, limit: int) -> list[int]:
    out = np.zeros(2, np.int32)
    kernel[(1,)](np.int32(x), out, n, limit, backend="eager")
    return out.tolist()


X = [4, 3, 7, 99, 5, 8, 11, 1]


@pytest.mark.parametrize("engine", ["interpreter", "cpu"])
@pytest.mark.parametrize("kernel", [first_at_least, odd_sum, nested, unrolled, stepped], ids=lambda kernel: kernel.name)
def test_loops_are_left_as_in_python(kernel: Any, engine: str):
    for n, limit in ((8, 6), (8, 1000), (0, 5), (3, 7), (5, 2)):
        out = np.zeros(2, np.int32)
        kernel[(1,)](np.int32(X), out, n, limit, backend=engine)
        assert out.tolist() == python(kernel, X, n, limit), (n, limit)


def test_known_results():
    assert python(first_at_least, X, 8, 6) == [2, 3]
    assert python(odd_sum, X, 8, 10) == [1 + 5, 99]


def test_it_is_an_extension():
    compilation = first_at_least.warmup(np.int32(X), np.zeros(2, np.int32), 8, 6, backend="interpreter")
    remarks = [diagnostic for diagnostic in compilation.diagnostics if diagnostic.severity == "remark"]
    assert [(remark.code, remark.range and remark.range.line) for remark in remarks] == [("TT1031", 22)]
