"""A buffer is the view it came from: its address and exactly the bytes of its elements."""

from __future__ import annotations

import numpy as np
import pytest

from tinyton_lab.base import dtypes
from tinyton_lab.runtime.buffers import buffer_of, element_dtype, numpy_address

BASE = np.arange(24, dtype=np.int32)


@pytest.mark.parametrize(
    "view",
    [
        BASE,
        BASE[3:9],
        BASE[::2],
        BASE[::-1],
        BASE[20:2:-3],
        BASE.reshape(4, 6)[1:3, ::2],
        BASE.reshape(4, 6).T,
        BASE[:0],
    ],
    ids=["whole", "slice", "strided", "reversed", "reversed strided", "2-D", "transposed", "empty"],
)
def test_a_buffer_owns_exactly_its_elements(view: np.ndarray) -> None:
    buffer = buffer_of("x", view)
    owned = (
        {view[index : index + 1].ctypes.data for index in range(view.size)}
        if view.ndim == 1
        else {view[i, j : j + 1].ctypes.data for i in range(view.shape[0]) for j in range(view.shape[1])}
    )
    everywhere = BASE.ctypes.data + np.arange(-8, BASE.nbytes + 8, dtype=np.int64)
    assert set(everywhere[buffer.owns(everywhere)].tolist()) == owned
    assert buffer.address == view.ctypes.data
    assert buffer.last - buffer.first == (0 if not owned else max(owned) - min(owned) + 4)


def test_address_without_ctypes_is_the_same() -> None:
    for view in (BASE, BASE[5:], BASE[::-1], np.zeros(()), np.zeros((0, 3))):
        assert numpy_address(view) == view.ctypes.data


def test_read_only_arrays_say_so() -> None:
    frozen = BASE.copy()
    frozen.setflags(write=False)
    assert not buffer_of("x", frozen).writable


def test_dtypes_without_a_name_here() -> None:
    assert element_dtype(np.zeros(1, np.complex64)) is None
    assert element_dtype(np.zeros(1, np.float16)) is dtypes.float16


def test_tensors_are_zero_copy() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensor = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3).T
    buffer = buffer_of("x", tensor)
    assert buffer.dtype is dtypes.bfloat16 and buffer.address == tensor.data_ptr()
    assert buffer.array.shape == (3, 2) and float(buffer.array[2, 1]) == 5.0
