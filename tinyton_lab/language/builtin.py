"""Which functions belong to the language: their registry, so that they are known by identity, however imported."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import MethodType
from typing import Any, TypeVar

from tinyton_lab.base.protocol import Constexpr, DeviceFunction
from tinyton_lab.language.value import EMITTER, emitter

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Builtin:
    """One function of the language: its name, the dialect it belongs to, and its Python signature."""

    name: str
    dialect: str
    function: Callable[..., Any]

    @cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @property
    def spelled(self) -> str:
        """The parameters without their annotations: ``(pointer, value, mask=None)``."""
        plain = [p.replace(annotation=inspect.Parameter.empty) for p in self.signature.parameters.values()]
        return str(inspect.Signature(plain))


BUILTINS: dict[Callable[..., Any], Builtin] = {}


def builtin(function: F) -> F:
    """Make a function one of the language; it takes and gives values of a kernel."""
    return of_dialect("triton")(function)


def of_dialect(dialect: str) -> Callable[[F], F]:
    """Make a function one of a dialect of the language."""

    def register(function: F) -> F:
        BUILTINS[function] = Builtin(function.__name__, dialect, function)
        return function

    return register


def instead(callee: Any) -> str:
    """What to write for a call of a function that is not of the language: the language's function of that name."""
    word = getattr(callee, "__name__", "")
    library = [".extra." in row.function.__module__ for row in BUILTINS.values() if row.name == word]
    if library:
        return f"did you mean tl.{'extra.libdevice.' if all(library) else ''}{word}?"
    return "decorate it with @tt.jit if it is written in the kernel language"


class LibraryFunction:
    """A function of the language that is written in the language itself."""

    def __init__(self, function: Callable[..., Any], dialect: str = "triton") -> None:
        self.function, self.dialect = function, dialect
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.__wrapped__ = function

    def __repr__(self) -> str:
        return f"<function {self.__name__} of the kernel language>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodOfValue(self, instance)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Inside a kernel, part of it; outside, plain Python, which serves functions that call nothing else."""
        if EMITTER.get() is None:
            return self.function(*args, **keywords)
        return emitter().call(self, args, keywords)


class ConstexprFunction:
    """A Python function that kernels call at compile time, on values known there; elsewhere it is that function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__name__, self.__doc__, self.__module__ = function.__name__, function.__doc__, function.__module__
        self.__wrapped__ = function

    def __repr__(self) -> str:
        return f"<constexpr function {self.__name__}>"

    def __get__(self, instance: Any, owner: type | None = None) -> ConstexprFunction:
        return self if instance is None else ConstexprFunction(MethodType(self.__wrapped__, instance))

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        plain = [_plain(x) for x in args]
        return _plain(self.__wrapped__(*plain, **{name: _plain(x) for name, x in keywords.items()}))


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Constexpr) else value


def constexpr_function(function: Callable[..., Any]) -> ConstexprFunction:
    """Let kernels call a Python function at compile time: its arguments must be known, its result is a constexpr.

    >>> @constexpr_function
    ... def half(n):
    ...     return n // 2
    >>> half(8)
    4
    """
    return ConstexprFunction(function)


@dataclass(frozen=True, slots=True)
class MethodOfValue:
    """A library function bound to its first argument: ``x.sigmoid``."""

    function: LibraryFunction
    instance: Any

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.function(self.instance, *args, **keywords)


def is_device_function(value: Any) -> bool:
    """True for a function written in the language (a helper, a kernel, a library function)."""
    return not isinstance(value, type) and isinstance(value, DeviceFunction)
