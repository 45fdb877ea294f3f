"""What a kernel or helper function looks like from below: the marker that `@jit` puts on it. Knows no launching."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class DeviceFunction(Protocol):
    """A function written in the kernel language: `function` is Python's, `dialect` is ``triton`` or ``tiny_ton``."""

    function: Callable[..., Any]
    dialect: str


class Constexpr:
    """A value known at compile time. As an annotation it marks a parameter; `constexpr(v)` wraps a global.

    >>> Constexpr(3).value
    3
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value.value if isinstance(value, Constexpr) else value

    def __repr__(self) -> str:
        return f"constexpr({self.value!r})"

    def __index__(self) -> int:
        return int(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __eq__(self, other: object) -> bool:
        return self.value == (other.value if isinstance(other, Constexpr) else other)

    def __hash__(self) -> int:
        return hash(self.value)
