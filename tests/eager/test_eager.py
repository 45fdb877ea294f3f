"""Eager mode computes what compiled kernels compute, shows what happens line by line, and leaves nothing behind."""

from __future__ import annotations

import linecache
import sys
import threading
from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl
from tinyton_lab.base.protocol import Constexpr

OFFSET = tl.constexpr(3)


@tt.jit
def twice(v):
    return v * 2


@tt.jit
def everything(x, out, n, half, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i, mask=i < n, other=-1)
    if tl.program_id(0) == 0 and n > 2:
        scale = 2
    else:
        scale = OFFSET
    total = 0
    for k in range(n - 1, -1, -2):
        total += k
    while total > 10:
        total -= 4
    between = 0 <= v < n
    v = twice(v) * scale if N > 4 else v
    v = tl.where(between and not (v == 4), v + total, tl.minimum(v, -v))
    tl.store(out + tl.program_id(0) * N + i, v + (half * 4).to(tl.int32) + (N + 1).to(tl.int32))
    tl.store(out + 2 * N + tl.program_id(0), tl.sum(v) + tl.max(v, 0) + tl.cdiv(n, 2))


def results(backend: str) -> list[int]:
    out = np.zeros(32, np.int32)
    everything[(2,)](np.arange(8, dtype=np.int32), out, 7, 0.75, N=8, backend=backend)
    return out.tolist()


def test_it_computes_what_the_interpreter_computes():
    assert results("eager") == results("interpreter")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.uint8, np.int64, np.bool_])
def test_reductions_of_any_dtype_agree(dtype: Any):
    @tt.jit
    def kernel(x, out, N: tl.constexpr):
        i = tl.arange(0, N)
        tile = tl.load(x + i[:, None] * N + i[None, :])
        tl.store(out + i, tl.sum(tile, 0))
        tl.store(out + N + i, tl.max(tile, 1))
        value, place = tl.min(tile, 1, return_indices=True)
        tl.store(out + 2 * N + i, value)
        tl.store(out + 3 * N + i, place)

    x = (np.random.default_rng(1).standard_normal((8, 8)) * 50).astype(dtype)
    found = {backend: np.zeros(32, np.float64) for backend in ("eager", "interpreter")}
    for backend, out in found.items():
        kernel[(1,)](x, out, N=8, backend=backend)
    assert found["eager"].tobytes() == found["interpreter"].tobytes()


def test_print_shows_elements(capsys: pytest.CaptureFixture[str]):
    @tt.jit
    def kernel(x):
        v = tl.load(x + tl.arange(0, 4))
        print("v", v)
        tl.device_print("sum", tl.sum(v))

    kernel[(1,)](np.arange(4, dtype=np.float32), backend="eager")
    assert capsys.readouterr().out == "v [0. 1. 2. 3.] <float32[4]>\nsum 6.0\n"


def test_a_debugger_sees_the_lines_that_were_written():
    lines: list[tuple[str, str]] = []

    def trace(frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code.co_name == "kernel":
            if event == "line":
                text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
                lines.append((text, repr(frame.f_locals.get("v"))))
            return trace
        return None

    @tt.jit
    def kernel(x):
        v = tl.load(x + tl.arange(0, 2))
        v = v + 1
        tl.store(x + tl.arange(0, 2), v)

    sys.settrace(trace)
    try:
        kernel[(1,)](np.float32([5, 6]), backend="eager")
    finally:
        sys.settrace(None)
    assert lines == [
        ("v = tl.load(x + tl.arange(0, 2))", "None"),
        ("v = v + 1", "[5. 6.] <float32[2]>"),
        ("tl.store(x + tl.arange(0, 2), v)", "[6. 7.] <float32[2]>"),
    ]


def test_faults_are_those_of_the_interpreter():
    @tt.jit
    def shift(p, N: tl.constexpr):
        return tl.load(p + tl.arange(0, N) + 2)

    @tt.jit
    def kernel(x, N: tl.constexpr):
        tl.store(x + tl.arange(0, N), shift(x, N))

    def message(backend: str) -> str:
        with pytest.raises(tt.TinytonError, match="TT4001") as caught:
            kernel[(1,)](np.zeros(8, np.float32), N=8, backend=backend)
        return str(caught.value)

    assert message("eager") == message("interpreter")
    assert "inlined at" in message("eager")


def test_nothing_of_the_module_changes():
    names = dict(globals())
    before = {name: getattr(tl, name) for name in tl.__all__}
    results("eager")
    assert globals() == names
    assert isinstance(OFFSET, Constexpr)
    assert {name: getattr(tl, name) for name in tl.__all__} == before


def test_threads_do_not_disturb_each_other():
    wanted, found = results("interpreter"), [[] for _ in range(4)]

    def work(index: int) -> None:
        found[index] = results("eager")

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 4


@tt.jit
def steps(out, n, step):
    count = 0
    for k in range(0, n, step):
        count += k + 1
    tl.store(out, count)


@pytest.mark.parametrize("step", [2, -1, 0])
def test_steps_of_any_sign_agree(step: int):
    got = {}
    for backend in ("eager", "interpreter"):
        out = np.full(1, -1, np.int32)
        steps[(1,)](out, 5, step, backend=backend)
        got[backend] = int(out[0])
    assert got["eager"] == got["interpreter"] == (9 if step == 2 else 0)
