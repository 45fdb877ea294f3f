"""Values made of values: tuples, named tuples and structures, which loops and branches take apart and put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tinyton_lab.language.types import spell
from tinyton_lab.language.value import TileValue


class Structure:
    """A value of the kernel made of other values; what else it holds is known at compile time."""

    # The names are out of the way of the fields that authors give their aggregates.
    @property
    def __parts__(self) -> tuple[Any, ...]:
        """The values it is made of."""
        raise NotImplementedError

    def __remade__(self, parts: Sequence[Any]) -> Structure:
        """The like of it, made of other values."""
        raise NotImplementedError

    @property
    def __kind__(self) -> str:
        """What it is, for messages."""
        return type(self).__name__

    def __alike__(self, other: Structure) -> bool:
        """Whether both have the same type, so that one may take the other's place."""
        return type(self) is type(other) and self.__kind__ == other.__kind__


def parts_of(value: Any) -> tuple[Any, ...] | None:
    """What a tuple or a structure is made of; None for anything else.

    >>> parts_of((1, 2)), parts_of(1)
    ((1, 2), None)
    """
    if isinstance(value, tuple):
        return tuple(value)
    return value.__parts__ if isinstance(value, Structure) else None


def remade(like: Any, parts: Iterable[Any]) -> Any:
    """A tuple, named tuple or structure like another, made of other values."""
    found = tuple(parts)
    if isinstance(like, Structure):
        return like.__remade__(found)
    return type(like)(*found) if hasattr(like, "_fields") else found


def alike(x: Any, y: Any) -> bool:
    """Whether two values can be taken apart side by side."""
    if isinstance(x, Structure) and isinstance(y, Structure):
        return x.__alike__(y)
    return isinstance(x, tuple) and isinstance(y, tuple) and len(x) == len(y)


def same_form(x: Any, y: Any) -> bool:
    """Whether two values are made of the same parts, all the way down.

    >>> same_form((1, (2, 3)), (1, (2, 4))), same_form((1, (2, 3)), ((1, 2), 3))
    (True, False)
    """
    ours, theirs = parts_of(x), parts_of(y)
    if ours is None or theirs is None:
        return ours is theirs
    return alike(x, y) and all(same_form(a, b) for a, b in zip(ours, theirs, strict=True))


def is_hollow(value: Any) -> bool:
    """Whether a value is a tuple or structure without a value of the kernel in it.

    >>> is_hollow(((), ())), is_hollow((1,))
    (True, False)
    """
    parts = parts_of(value)
    return parts is not None and all(is_hollow(part) for part in parts)


def spelled(value: Any) -> str | None:
    """How messages name a tile, a tuple or a structure; None for anything else."""
    if isinstance(value, TileValue):
        return spell(value.tile)
    return value.__kind__ if isinstance(value, Structure) else None
