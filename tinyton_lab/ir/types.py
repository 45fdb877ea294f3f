"""Types of IR values: a tile of elements (a scalar is a tile without dimensions), maybe with a layout."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from math import prod

from tinyton_lab.base.dtypes import DType


@dataclass(frozen=True, slots=True)
class Pointer:
    """A 64-bit address of elements of one dtype, in global memory."""

    element: DType

    name = "ptr"
    kind = "pointer"
    bits = 64
    bytes = 8

    def __str__(self) -> str:
        return f"ptr<{self.element}>"

    __repr__ = __str__


@dataclass(frozen=True)
class Tile:
    """A tile of `shape` elements; ``()`` is a scalar. `layout` is None in tile IR, a linear layout in layout IR.

    >>> from tinyton_lab.base.dtypes import float32
    >>> str(Tile(float32, (128, 64))), str(Tile(Pointer(float32)))
    ('tile<128x64xf32>', 'ptr<f32>')
    """

    element: DType | Pointer
    shape: tuple[int, ...] = ()
    layout: Hashable | None = None

    def __str__(self) -> str:
        return self.text({})

    __repr__ = __str__

    def text(self, layout_names: dict[Hashable, str]) -> str:
        """Spell the type; layouts print by the names given (``#L1``)."""
        if not self.shape and self.layout is None:
            return str(self.element)
        dims = "".join(f"{n}x" for n in self.shape)
        layout = "" if self.layout is None else f", {layout_names.get(self.layout, '#?')}"
        return f"tile<{dims}{self.element}{layout}>"

    @cached_property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_scalar(self) -> bool:
        return not self.shape

    @property
    def is_pointer(self) -> bool:
        return isinstance(self.element, Pointer)

    @property
    def dtype(self) -> DType:
        """The element dtype of a non-pointer tile."""
        if isinstance(self.element, Pointer):
            raise TypeError(f"{self} holds pointers, not values")
        return self.element

    def with_shape(self, shape: tuple[int, ...]) -> Tile:
        return Tile(self.element, shape, self.layout)

    def with_element(self, element: DType | Pointer) -> Tile:
        return Tile(element, self.shape, self.layout)

    def with_layout(self, layout: Hashable | None) -> Tile:
        return Tile(self.element, self.shape, layout)
