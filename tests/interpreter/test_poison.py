"""With poison=True the interpreter tells where masked-off elements matter, and nothing where they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl
from tinyton_lab.base.diagnostics import TinytonError


@tt.jit
def total(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    safe = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(safe) + tl.sum(tl.load(x + i, mask=i < n)))


@tt.jit
def careful(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.exp(value), mask=i < n)
    tl.store(out + i, tl.sum(tl.where(i < n, value, 0.0)) + value, mask=i < n)


@tt.jit
def counted(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    steps = 0
    while steps < tl.max(tl.load(x + i, mask=i < n)):
        steps += 1
    tl.store(out, steps.to(tl.float32))


@tt.jit
def looked_up(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    at = tl.load(x + i, mask=i < n).to(tl.int32)
    tl.store(out + i, tl.load(x + at), mask=i < n)


@tt.jit
def branching(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    if tl.sum(tl.load(x + i, mask=i < n)) > 3:
        tl.store(out, 1.0)


@tt.jit
def masking(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, 1.0, mask=tl.load(x + i, mask=i < n) == 0)


@tt.jit
def counting(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    before = tl.atomic_add(x + i, 1.0, mask=i < n)
    tl.store(out, tl.max(before))


WRONG = {
    total: ((4,), 32, "in program (3, 0, 0) the value stored depends"),
    counted: ((1,), 128, "how often a loop runs depends"),
    looked_up: ((1,), 128, "the address of an access in element [100] depends"),
    branching: ((1,), 128, "the branch taken depends"),
    masking: ((1,), 128, "the mask of an access in element [100] depends"),
    counting: ((1,), 128, "the value stored depends"),
}


def arrays() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return np.arange(100, dtype=np.float32) % 7, np.zeros(128, np.float32)


@pytest.mark.parametrize("kernel", WRONG, ids=lambda kernel: kernel.name)
def test_each_use_is_told_and_memory_is_left_as_without_poison(kernel: Any):
    grid, block, words = WRONG[kernel]
    x, out = arrays()
    wanted_x, wanted_out = arrays()
    kernel[grid](wanted_x, wanted_out, 100, block, backend="interpreter")
    with pytest.raises(TinytonError) as caught:
        kernel[grid](x, out, 100, block, backend="interpreter", poison=True)
    assert caught.value.code == "TT4015" and words in str(caught.value)
    (note,) = caught.value.notes
    assert note.span is not None and "mask=i < n" in note.span.text and "other" not in note.span.text
    assert (x == wanted_x).all() and (out == wanted_out).all()


def test_elements_that_do_not_matter_are_not_told():
    (x, out), (_, wanted) = arrays(), arrays()
    careful[(4,)](x, wanted, 100, 32)
    launch = careful[(4,)](x, out, 100, 32, backend="interpreter", poison=True)
    assert (out == wanted).all() and launch.engine == "interpreter"


@tt.jit
def told(x, n):
    i = tl.arange(0, 4)
    tl.device_print("x", tl.load(x + i, mask=i < n, other=5.0))


def test_what_is_printed_is_printed_once(capsys: pytest.CaptureFixture[str]):
    told[(1,)](np.ones(3, np.float32), 3, backend="interpreter", poison=True)
    assert capsys.readouterr().out.count("\n") == 4


def test_other_engines_refuse_to_look():
    with pytest.raises(TinytonError, match="only backend='interpreter'") as caught:
        careful[(4,)](*arrays(), 100, 32, backend="cpu", poison=True)
    assert caught.value.code == "TT3013"
