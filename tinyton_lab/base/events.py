"""Who wants to know when a kernel is defined, compiled or launched. Knows only the calls, no kernel and no listener."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a kernel.

    `kind` is ``defined``, ``compiled`` or ``launched``; `kernel` the kernel object; `result` the Compilation of
    ``compiled`` and the Launch of ``launched``.
    """

    kind: str
    kernel: Any
    result: Any = None


Listener = Callable[[Event], None]
LISTENERS: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Generator[None]:
    """Call `listener` with every event while the block runs.

    >>> seen = []
    >>> with listening(lambda event: seen.append(event.kind)):
    ...     kernel_defined("vadd")
    >>> kernel_defined("softmax")
    >>> seen
    ['defined']
    """
    LISTENERS.append(listener)
    try:
        yield
    finally:
        LISTENERS.remove(listener)


def kernel_defined(kernel: Any) -> None:
    """Tell that `kernel` was made; the decorator calls it once per kernel object."""
    _tell("defined", kernel, None)


def kernel_compiled(kernel: Any, compilation: Any) -> None:
    """Tell that `kernel` was compiled (also when it failed); the kernel calls it for each new Compilation."""
    _tell("compiled", kernel, compilation)


def kernel_launched(kernel: Any, launch: Any) -> None:
    """Tell that a launch of `kernel` ended; a fast path may skip the call while `LISTENERS` is empty."""
    _tell("launched", kernel, launch)


def _tell(kind: str, kernel: Any, result: Any) -> None:
    if LISTENERS:
        event = Event(kind, kernel, result)
        for listener in tuple(LISTENERS):
            listener(event)
