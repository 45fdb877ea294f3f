"""What kernels print and check at run time: the same lines and the same refusals on every engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl

ENGINES = ["interpreter", "cpu", "sim"]


@tt.jit
def speak(x, n):
    i = tl.arange(0, 2)
    a = tl.load(x + i)
    tl.device_print("a", a)
    tl.device_print("bits: ", a, hex=True)
    tl.device_print("wide", a[None, :].to(tl.float64))
    print(n, tl.program_id(1))
    tl.device_print("50% done")


LINES = """\
pid (0, P, 0) idx (0) a: 1.500000
pid (0, P, 0) idx (1) a: -inf
pid (0, P, 0) idx (0) bits: 0x3fc00000
pid (0, P, 0) idx (1) bits: 0xff800000
pid (0, P, 0) idx (0, 0) wide: 1.500000
pid (0, P, 0) idx (0, 1) wide: -inf
pid (0, P, 0) idx () 7
pid (0, P, 0) idx () P
pid (0, P, 0) idx () 50% done
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_each_element_is_printed_once(engine: str, capsys: pytest.CaptureFixture[str]):
    speak[(1, 2)](np.array([1.5, -np.inf], np.float32), 7, backend=engine)
    lines = capsys.readouterr().out.splitlines()
    for program in ("0", "1"):
        mine = [line for line in lines if line.startswith(f"pid (0, {program}, 0)")]
        assert mine == LINES.replace("P", program).splitlines()
    assert len(lines) == 2 * len(LINES.splitlines())


@tt.jit
def demand(x, out):
    i = tl.arange(0, 8)
    a = tl.load(x + i)
    tl.device_assert(a > 0, "x must be positive", mask=i < 6)
    assert tl.sum(a) < 100, "the sum is too large"
    tl.store(out + i, a)


def run(values: list[int], engine: str) -> Any:
    out = np.zeros(8, np.int32)
    demand[(1,)](np.array(values, np.int32), out, backend=engine)
    return out.tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_check_holds_where_the_mask_is_on(engine: str):
    assert run([1, 2, 3, 4, 5, 6, 0, -1], engine) == [1, 2, 3, 4, 5, 6, 0, -1]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_failed_check_is_located(engine: str):
    for values, message in (([1, 0, 1, 1, 1, 1, 1, 1], "positive"), ([99, 1, 1, 1, 1, 1, 1, 1], "too large")):
        with pytest.raises(tt.TinytonError, match=message) as caught:
            run(values, engine)
        assert caught.value.span is not None and "assert" in caught.value.span.source.line(caught.value.span.line)


def test_unchecked_native_code_leaves_checks_out():
    out = np.zeros(8, np.int32)
    demand[(1,)](np.zeros(8, np.int32), out, backend="cpu", checked=False)
    assert out.tolist() == [0] * 8
