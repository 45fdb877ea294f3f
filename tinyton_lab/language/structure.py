"""Values made of values: tuples, named tuples and structures, which loops and branches take apart and put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tinyton_lab.language.types import spell
from tinyton_lab.language.value import TileValue


class Structure:
    """A value of the kernel made of other values; what else it holds is known at compile time."""

    @property
    def parts(self) -> tuple[Any, ...]:
        """The values it is made of."""
        raise NotImplementedError

    def remade(self, parts: Sequence[Any]) -> Structure:
        """The like of it, made of other values."""
        raise NotImplementedError

    @property
    def kind(self) -> str:
        """What it is, for messages."""
        return type(self).__name__

    def alike(self, other: Structure) -> bool:
        """Whether both have the same type, so that one may take the other's place."""
        return type(self) is type(other) and self.kind == other.kind


def parts_of(value: Any) -> tuple[Any, ...] | None:
    """What a tuple or a structure is made of; None for anything else.

    >>> parts_of((1, 2)), parts_of(1)
    ((1, 2), None)
    """
    if isinstance(value, tuple):
        return tuple(value)
    return value.parts if isinstance(value, Structure) else None


def remade(like: Any, parts: Iterable[Any]) -> Any:
    """A tuple, named tuple or structure like another, made of other values."""
    found = tuple(parts)
    if isinstance(like, Structure):
        return like.remade(found)
    return type(like)(*found) if hasattr(like, "_fields") else found


def alike(x: Any, y: Any) -> bool:
    """Whether two values can be taken apart side by side."""
    if isinstance(x, Structure) and isinstance(y, Structure):
        return x.alike(y)
    return isinstance(x, tuple) and isinstance(y, tuple) and len(x) == len(y)


def spelled(value: Any) -> str | None:
    """How messages name a tile, a tuple or a structure; None for anything else."""
    if isinstance(value, TileValue):
        return spell(value.tile)
    return value.kind if isinstance(value, Structure) else None
