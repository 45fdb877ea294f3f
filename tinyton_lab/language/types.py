"""Types as a kernel's author sees them: dtypes come from table T1; pointers and blocks are described here."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tinyton_lab.base.dtypes import DType
from tinyton_lab.ir.types import Pointer, Tile


@dataclass(frozen=True, slots=True)
class pointer_type:
    """The type of a pointer to elements of `element_ty`.

    >>> from tinyton_lab.base.dtypes import float32
    >>> pointer_type(float32).element_ty, pointer_type(float32).is_ptr()
    (tl.float32, True)
    """

    element_ty: DType
    address_space: int = 1

    name = "ptr"
    kind = "pointer"
    primitive_bitwidth = 64
    itemsize = 8

    def __str__(self) -> str:
        return f"pointer<{self.element_ty.short}>"

    def __repr__(self) -> str:
        return f"tl.pointer_type({self.element_ty!r})"

    @property
    def scalar(self) -> pointer_type:
        """The type itself: it is that of its scalars."""
        return self

    def is_ptr(self) -> bool:
        """Whether it is a pointer: always."""
        return True

    def is_block(self) -> bool:
        """Whether it is a tile's type: never."""
        return False

    def is_floating(self) -> bool:
        """Whether it is a float: never."""
        return False

    def is_int(self) -> bool:
        """Whether it is an integer: never."""
        return False


@dataclass(frozen=True, slots=True)
class block_type:
    """The type of a tile: `shape` elements of type `element_ty`."""

    element_ty: DType | pointer_type
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"<{list(self.shape)}, {self.element_ty}>"

    @property
    def scalar(self) -> DType | pointer_type:
        """The type of an element."""
        return self.element_ty

    @property
    def numel(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    def is_ptr(self) -> bool:
        """Whether it is a single pointer: never."""
        return False

    def is_block(self) -> bool:
        """Whether it is a tile's type: always."""
        return True

    def get_block_shapes(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.shape


ElementType = DType | pointer_type


def element_type(tile: Tile) -> ElementType:
    """The element type of an IR type, as the language names it."""
    return pointer_type(tile.element.element) if isinstance(tile.element, Pointer) else tile.element


def value_type(tile: Tile) -> ElementType | block_type:
    """An IR type as the language names it: a scalar's is its element type."""
    return block_type(element_type(tile), tile.shape) if tile.shape else element_type(tile)


def ir_element(element: ElementType) -> DType | Pointer:
    """The IR's spelling of an element type."""
    return Pointer(element.element_ty) if isinstance(element, pointer_type) else element


def spell(tile: Tile) -> str:
    """Spell an IR type in messages: ``float32[128, 64]``, ``pointer to float32``, ``int32``.

    >>> from tinyton_lab.base.dtypes import float32
    >>> spell(Tile(float32, (128, 64))), spell(Tile(Pointer(float32)))
    ('float32[128, 64]', 'pointer to float32')
    """
    shape = f"{list(tile.shape)}" if tile.shape else ""
    if isinstance(tile.element, Pointer):
        return f"pointer{shape} to {tile.element.element.public}"
    return f"{tile.element.public}{shape}"


class void:
    """The type of nothing: what a function without a result gives."""


class const:
    """As an annotation: the kernel only reads through this pointer. It has no effect; what is written is found out."""
