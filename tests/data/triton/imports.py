"""A program that spells Triton's names in all the ways that packages do."""

from __future__ import annotations

import sys

import numpy as np
import triton
import triton.language as tl
import triton.language.core as core
import triton.language.math
import triton.runtime
from triton import Config, autotune, heuristics, jit
from triton.compiler.errors import CompilationError
from triton.language import constexpr, load, program_id, store
from triton.language.extra import libdevice
from triton.language.extra.cuda import libdevice as older
from triton.language.extra.cuda.libdevice import rsqrt
from triton.language.math import tanh
from triton.runtime import driver
from triton.runtime.autotuner import Autotuner, OutOfResources
from triton.runtime.driver import driver as same_driver
from triton.runtime.jit import JITFunction, constexpr_function
from triton.testing import do_bench
from triton.tools.tensor_descriptor import TensorDescriptor

assert driver is same_driver and older is libdevice and core.float32 is tl.float32
assert tl.math.tanh is tanh and tl.extra.libdevice.rsqrt is rsqrt
assert triton.runtime.driver.active.get_current_target().backend == "cpu"
assert not triton.knobs.runtime.interpret
assert TensorDescriptor.__name__ == "TensorDescriptor"


@constexpr_function
def lanes(dtype):
    return 8 if dtype.is_fp32() else 4


@heuristics({"EVEN": lambda given: given["n"] % 8 == 0})
@autotune([Config({"BLOCK": 8})], key=["n"])
@jit(do_not_specialize=["n"])
def activate(x, n, EVEN: constexpr, BLOCK: constexpr):
    WIDTH: tl.constexpr = lanes(x.dtype.element_ty)
    tl.static_assert(WIDTH == 8 and triton.next_power_of_2(5) == BLOCK)
    i = program_id(0) * BLOCK + tl.arange(0, WIDTH)
    inside = i < n
    value = load(x + i, mask=inside)
    if EVEN:
        store(x + i, tl.extra.cuda.libdevice.rint(value * 4) + libdevice.pow(value, 2.0))
    else:
        store(x + i, triton.language.math.exp2(value) + tanh(value) + triton.cdiv(n, 4), mask=inside)


x = np.linspace(0, 1, 16, dtype=np.float32)
wanted = np.rint(x * 4) + x**2
activate[(2,)](x, 16)
np.testing.assert_allclose(x, wanted, rtol=1e-6)
x = np.linspace(0, 1, 13, dtype=np.float32)
wanted = np.exp2(x) + np.tanh(x) + 4
activate[(triton.cdiv(13, 8),)](x, 13)
np.testing.assert_allclose(x, wanted, rtol=1e-6)
assert isinstance(activate.fn, Autotuner) and isinstance(activate.fn.fn, JITFunction)

bytes_ = np.array([0, 1, 255], np.uint8)
assert triton.reinterpret(bytes_, tl.int8).tolist() == [0, 1, -1]
triton.set_allocator(lambda size, alignment, stream: None)
assert do_bench(lambda: None, warmup=0, rep=0.01, quantiles=[0.5]) >= 0


@jit
def wrong(x):
    tl.store(x, tl.arange(0, 3))


try:
    wrong[(1,)](x)
except OutOfResources:
    raise
except CompilationError as fault:
    assert "imports.py" in str(fault) and "tl.arange(0, 3)" in str(fault)
else:
    raise AssertionError("a range whose length is no power of two is refused")
print("done", sys.argv[1:])
