"""Random programs give the same bits in native code as in the interpreter, math functions included."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.programs import ELEMENTS, LANES, Writer, result_bits
from tinyton_lab.base.targets import CPU
from tinyton_lab.codegen.cpu.module import compile
from tinyton_lab.ir.core import Function
from tinyton_lab.pipeline import run_tile_passes
from tinyton_lab.runtime.buffers import buffer_of
from tinyton_lab.runtime.cpu import CpuKernel, pointer_slots

PROGRAMS = 3


def native_bits(kernel: CpuKernel, n: int) -> list[int]:
    x = np.random.default_rng(abs(n)).normal(size=ELEMENTS * 4).astype(np.float32)
    out = np.zeros(LANES * PROGRAMS, np.float32)
    buffers = buffer_of("x", x), buffer_of("o", out)
    kernel.launch((PROGRAMS, 1, 1), [*pointer_slots(buffers[0]), *pointer_slots(buffers[1]), n])
    out[np.isnan(out)] = np.nan
    return out.view(np.int32).tolist()


def passed(function: Function) -> Function:
    *_, last = run_tile_passes(function, CPU)
    return last.function


@pytest.mark.parametrize("seed", range(1000, 1025))
def test_native_code_agrees_with_the_interpreter(seed: int):
    function = Writer(seed).write()
    kernel = CpuKernel(compile(passed(function)))
    for n in (0, 16, -32):
        assert native_bits(kernel, n) == result_bits(function, n, PROGRAMS)
