"""The arrays behind pointer arguments: address, dtype and the bytes that belong to the view. Knows no kernel.

Numpy arrays (any strides, zero-copy) and CPU torch tensors, found by their attributes so that torch is never imported.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyton_lab.base.dtypes import DType, of_numpy

_capsule_pointer: Callable[[object, None], int] = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_read_pointer = ctypes.c_void_p.from_address
_DATA_AT = 40  # offset of `data` in the PyArrayInterface struct of a 64-bit build: a documented, stable layout
_OBJECT_DATA_AT = object.__basicsize__  # the array object's first field after Python's own header


@dataclass(frozen=True, slots=True)
class Buffer:
    """One pointer argument: the array, the address a kernel gets, and the view's byte range around it.

    `first <= address < last` in bytes; they differ from the address when strides are negative. `strides` are in bytes.
    `writable` is False for read-only arrays.
    """

    name: str
    array: Any
    address: int
    first: int
    last: int
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    writable: bool

    @property
    def contiguous(self) -> bool:
        """True when every byte of the range belongs to an element of the view."""
        elements = 1
        for extent in self.shape:
            elements *= extent
        return self.last - self.first == elements * self.dtype.bytes

    @property
    def aligned(self) -> bool:
        """True when every element lies at a multiple of its size."""
        size = self.dtype.bytes
        return self.address % size == 0 and all(stride % size == 0 for stride in self.strides)

    def owns(self, addresses: Any) -> Any:
        """Which `addresses` (an array of byte addresses) are exactly elements of the view."""
        inside = (addresses >= self.first) & (addresses < self.last)
        if self.contiguous:
            return inside & ((addresses - self.first) % self.dtype.bytes == 0)
        return inside & np.isin(addresses, self._element_addresses())

    def _element_addresses(self) -> Any:
        grid = np.zeros(1, np.int64) + self.address
        for extent, stride in zip(self.shape, self.strides, strict=True):
            grid = (grid[:, None] + np.arange(extent, dtype=np.int64) * stride).reshape(-1)
        return np.unique(grid)


def _interface_address(array: Any) -> int:
    """The data address of a numpy array, by the array interface's C struct."""
    return _read_pointer(_capsule_pointer(array.__array_struct__, None) + _DATA_AT).value or 0


def _object_address(array: Any, read: Any = _read_pointer, data_at: int = _OBJECT_DATA_AT) -> int:
    """The same from the array object's first field: what a warm launch can afford."""
    return read(id(array) + data_at).value or 0


def _fastest_address() -> Callable[[Any], int]:
    """The direct read where this interpreter lays objects out that way, else the interface."""
    sample = np.zeros(4, np.int8)[1:]
    plain = sys.implementation.name == "cpython" and not hasattr(sys, "gettotalrefcount")
    agree = plain and _object_address(sample) == _interface_address(sample)
    return _object_address if agree else _interface_address


numpy_address = _fastest_address()


def is_tensor(value: object) -> bool:
    """True for torch tensors (and look-alikes): something with ``data_ptr`` and ``dtype``."""
    return hasattr(value, "data_ptr") and hasattr(value, "dtype")


def element_dtype(value: Any) -> DType | None:
    """The element dtype of an array or tensor, or None when the lab has no such type."""
    dtype = value.dtype
    return of_numpy(dtype.name if isinstance(dtype, np.dtype) else str(dtype))


def buffer_of(name: str, value: Any) -> Buffer:
    """Describe the array or CPU tensor bound to parameter `name`; its dtype must be known (see `element_dtype`)."""
    array = value if isinstance(value, np.ndarray) else tensor_array(value)
    dtype = element_dtype(array)
    if dtype is None:
        raise TypeError(f"{name} has no element type: {array.dtype}")
    address = array.ctypes.data
    first = last = address
    if array.size:
        for extent, stride in zip(array.shape, array.strides, strict=True):
            reach = (extent - 1) * stride
            first, last = first + min(reach, 0), last + max(reach, 0)
        last += array.itemsize
    return Buffer(name, array, address, first, last, dtype, array.shape, array.strides, array.flags.writeable)


def tensor_array(tensor: Any) -> Any:
    """A numpy array over a CPU tensor's memory (bf16 and fp8 through their bits)."""
    plain = tensor.detach()
    name = str(tensor.dtype).removeprefix("torch.")
    dtype = of_numpy(name)
    if dtype is not None and dtype.numpy_name.startswith("ml_dtypes."):
        module = __import__(type(tensor).__module__.partition(".")[0])
        bits = plain.view(getattr(module, f"uint{dtype.bits}" if dtype.bits == 8 else f"int{dtype.bits}"))
        return bits.numpy().view(dtype.numpy)
    return plain.numpy()
