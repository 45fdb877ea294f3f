"""What the front end is told about an argument: a run-time type, or a value known at compile time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tinyton_lab.ir.types import Tile


@dataclass(frozen=True, slots=True)
class Runtime:
    """An argument whose value comes at launch: a scalar `tile` (``ptr<f32>``, ``i32``).

    `divisibility` is 16 where the value (bytes for a pointer) is a multiple of 16. `known` is a value that the launch
    specialises on (an int equal to 1): the parameter then keeps its type and is no run-time parameter any more.
    """

    tile: Tile
    divisibility: int = 1
    known: int | None = None


@dataclass(frozen=True, slots=True)
class Constant:
    """An argument that is part of the code: a constexpr of any type, or None for an absent pointer."""

    value: Any


@dataclass(frozen=True, slots=True)
class Bundle:
    """An argument made of others: `build` makes it of the values of the arguments named `parts`."""

    parts: tuple[str, ...]
    build: Callable[[Sequence[Any]], Any]


ArgumentType = Runtime | Constant | Bundle
