"""What a kernel's code was made from besides its arguments: sources of functions, values of globals and closures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tinyton_lab.base.protocol import Constexpr

MISSING = object()


@dataclass(frozen=True, slots=True)
class Read:
    """A name that was read: from a namespace (globals, a closure cell, a module, an object), and what it held."""

    name: str
    namespace: Any
    value: Any

    def unchanged(self) -> bool:
        """Whether the name still holds what it held."""
        value = self.now()
        return value is self.value or _equal(value, self.value)

    def now(self) -> Any:
        """What the name holds now."""
        if isinstance(self.namespace, dict):
            return self.namespace.get(self.name, MISSING)
        if hasattr(self.namespace, "cell_contents"):
            return self.namespace.cell_contents
        return getattr(self.namespace, self.name, MISSING)


@dataclass(slots=True)
class Reached:
    """Everything outside a kernel's arguments that its code depends on."""

    reads: list[Read] = field(default_factory=list[Read])
    sources: dict[str, str] = field(default_factory=dict[str, str])
    _seen: set[tuple[int, str]] = field(default_factory=set[tuple[int, str]])

    def read(self, name: str, namespace: Any, value: Any) -> None:
        """Note that a name was read, once per namespace; of what is made anew at each read there is nothing to note."""
        key, read = (id(namespace), name), Read(name, namespace, value)
        if key not in self._seen and read.unchanged():
            self._seen.add(key)
            self.reads.append(read)

    def source(self, function: Callable[..., Any], text: str) -> None:
        """Note that a function's text became part of the code."""
        self.sources.setdefault(f"{function.__module__}.{function.__qualname__}", text)

    def __iter__(self) -> Iterator[Read]:
        return iter(self.reads)

    def unchanged(self) -> bool:
        """Whether every name still holds what it held."""
        return all(read.unchanged() for read in self.reads)

    def values(self) -> tuple[tuple[str, str], ...]:
        """Names and values that are plain data, for records."""
        plain = (read for read in self.reads if isinstance(read.value, (int, float, str, tuple, bool, type(None))))
        return tuple((read.name, repr(read.value)) for read in plain)


def _equal(a: Any, b: Any) -> bool:
    a, b = (x.value if isinstance(x, Constexpr) else x for x in (a, b))
    return type(a) is type(b) and isinstance(a, (int, float, str, tuple)) and repr(a) == repr(b)
