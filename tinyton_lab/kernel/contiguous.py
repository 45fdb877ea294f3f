"""Arrays whose elements do not lie one behind another: flat copies for a launch, and the way of their changes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tinyton_lab.runtime.buffers import element_dtype, is_tensor, tensor_array


@contextmanager
def flat_copies(values: Sequence[Any]) -> Iterator[list[Any]]:
    """The arguments of a launch with a copy, in row-major order, in the place of each array that is not so itself.

    Afterwards the elements that the launch changed are written back. A view that is passed twice has one copy; of two
    views that overlap, each has its own.

    >>> x = np.arange(6)
    >>> with flat_copies([x[::2], x, 3]) as (every_other, whole, number):
    ...     every_other[1] = 70
    >>> x
    array([ 0,  1, 70,  3,  4,  5])
    """
    copies: dict[tuple[Any, ...], Copy] = {}
    try:
        yield [value if lies_flat(value) else _copied(value, copies) for value in values]
    finally:
        for copy in copies.values():
            copy.write_back()


class Copy:
    """An array that lies apart, and the flat one that a launch gets for it."""

    def __init__(self, array: Any) -> None:
        self.array, self.before = array, np.array(array, order="C")
        self.flat = self.before.copy()
        self.flat.flags.writeable = array.flags.writeable

    def write_back(self) -> None:
        """Write what changed, and nothing else: another argument may have changed the rest of the same memory."""
        bits = f"u{self.array.itemsize}"
        changed = self.flat.view(bits) != self.before.view(bits)
        if changed.any():
            self.array[changed] = self.flat[changed]


def lies_flat(value: Any) -> bool:
    """Whether a launch can use an argument as it is."""
    if isinstance(value, np.ndarray):
        return value.flags.c_contiguous or element_dtype(value) is None
    return not is_tensor(value) or value.device.type != "cpu" or bool(value.is_contiguous())


def _copied(value: Any, copies: dict[tuple[Any, ...], Copy]) -> Any:
    array: Any = value if isinstance(value, np.ndarray) else tensor_array(value)
    key = array.ctypes.data, array.dtype, array.shape, array.strides
    return copies.setdefault(key, Copy(array)).flat
