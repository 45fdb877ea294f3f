"""Tuples and tensor descriptors as arguments: taken apart at the launch, whole in the kernel, on every engine."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl

ENGINES = ["interpreter", "eager", "cpu", "sim"]
Target = namedtuple("Target", "array length")


def aligned(*shape: int) -> np.ndarray:
    """A zeroed f32 array on a 16-byte boundary."""
    size = int(np.prod(shape)) * 4
    memory = np.zeros(size + 16, np.uint8)
    first = -memory.ctypes.data % 16
    return memory[first : first + size].view(np.float32).reshape(shape)


@tt.jit
def combine(inputs, target, B: tl.constexpr):
    i = tl.arange(0, B)
    a, (b, factor, absent) = inputs
    if absent is None:
        total = tl.load(a + i, mask=i < target.length) + tl.load(b + i, mask=i < target.length) * factor
        tl.store(target.array + i, total, mask=i < target.length)


@pytest.mark.parametrize("engine", ENGINES)
def test_tuples_and_named_tuples(engine: str) -> None:
    a, b, out = np.arange(8, dtype=np.float32), np.ones(8, np.float16), np.zeros(8, np.float32)
    combine[(1,)]((a, (b, 2.5, None)), Target(out, 7), B=8, backend=engine)
    assert out.tolist() == [*(a[:7] + 2.5), 0]


@tt.jit
def add_one(source, target, BM: tl.constexpr, BN: tl.constexpr):
    place = [tl.program_id(0) * BM, tl.program_id(1) * BN]
    target.store(place, source.load(place) + 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_descriptors(engine: str) -> None:
    x, out = aligned(37, 52), aligned(37, 52)
    x[:] = np.arange(37 * 52).reshape(37, 52)
    source, target = (tt.TensorDescriptor.from_tensor(array, [8, 16]) for array in (x, out))
    add_one[lambda meta: (tl.cdiv(37, meta["BM"]), 4)](source, target, BM=8, BN=16, backend=engine)
    np.testing.assert_array_equal(out, x + 1)


def test_one_compilation_serves_all_tensors_of_a_form() -> None:
    kernel = tt.jit(add_one.function)
    for rows in (16, 32):
        x, out = aligned(rows, 64), aligned(rows, 64)
        source, target = (tt.TensorDescriptor.from_tensor(array, [8, 16]) for array in (x, out))
        kernel[(rows // 8, 4)](source, target, BM=8, BN=16)
        assert (out == 1).all()
    assert len(kernel.compilations) == 1
    wider = [tt.TensorDescriptor.from_tensor(array, [8, 32]) for array in (x, out)]
    kernel[(rows // 8, 2)](*wider, BM=8, BN=32)
    assert len(kernel.compilations) == 2 and len(kernel.parameters) == 4


def test_the_record_names_the_parts() -> None:
    x = aligned(8, 16)
    record = add_one.compiled((tt.TensorDescriptor.from_tensor(x, [8, 16]),) * 2, {"BM": 8, "BN": 16})
    names = [name for name, _ in record.signature][:4]
    assert names == ["source.base", "source.shape.0", "source.shape.1", "source.strides.0"]


@pytest.mark.parametrize(
    "tensor, options, problem",
    [
        (aligned(4, 8).T, {}, "last axis is not contiguous"),
        (aligned(4, 6), {}, "multiples of 16 bytes"),
        (aligned(8)[1:5], {"block_shape": [4]}, "not aligned"),
        (aligned(4, 8), {"block_shape": [3, 8]}, "power of two"),
        (aligned(4, 8), {"block_shape": [8]}, "as many strides"),
        (aligned(4, 8), {"padding": "one"}, "neither 'zero' nor 'nan'"),
        (aligned(4, 8).view(np.int32), {"padding": "nan"}, "only floats"),
        (aligned(4, 8).astype(np.complex64), {}, "no counterpart"),
    ],
)
def test_tensors_without_a_descriptor(tensor: Any, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(tt.TinytonError, match="TT3020") as caught:
        tt.TensorDescriptor.from_tensor(tensor, **{"block_shape": [4, 8], **options})
    assert problem in str(caught.value)
