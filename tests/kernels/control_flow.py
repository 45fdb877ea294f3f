"""Control flow: runtime loops, while, if with merged values, early return, helpers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.kernels.case import Case


@tt.jit
def steps_to_one(value):
    steps = 0
    while value > 1:
        if value % 2 == 0:
            value = value // 2
        else:
            value = 3 * value + 1
        steps += 1
    return steps


@tt.jit
def control_flow(x, steps, fibonacci, backwards, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    tl.store(steps + pid, steps_to_one(tl.load(x + pid)))
    a, b = 0, 1
    for _ in range(pid):
        a, b = b, a + b
    tl.store(fibonacci + pid, a)
    last = -1
    for i in range(pid, -1, -2):
        last = last * 2 + i
    tl.store(backwards + pid, last if pid > 3 else -last)


def _collatz(value: int) -> int:
    steps = 0
    while value > 1:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        steps += 1
    return steps


def _backwards(pid: int) -> int:
    last = -1
    for i in range(pid, -1, -2):
        last = last * 2 + i
    return last if pid > 3 else -last


def cases() -> Iterator[Case]:
    n = 20
    fibonacci = [0, 1]
    while len(fibonacci) < n:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    x = np.arange(1, n + 1, dtype=np.int32)
    outputs = {name: np.full(n + 2, -7, np.int32) for name in ("steps", "fibonacci", "backwards")}
    answers = ([_collatz(int(v)) for v in x], fibonacci, [_backwards(pid) for pid in range(n)])
    expected = {name: np.array([*answer, -7, -7], np.int32) for name, answer in zip(outputs, answers, strict=True)}
    yield Case("scalars", control_flow, (n + 2,), {"x": x, **outputs, "n": n}, expected)
