"""Calls of Python's own functions in a kernel: carried out at compile time, or on tiles where that has a meaning."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from functools import reduce
from typing import Any

from tinyton_lab.base.protocol import Constexpr
from tinyton_lab.language import core
from tinyton_lab.language.builtin import ConstexprFunction
from tinyton_lab.language.emission import fault, is_number, static
from tinyton_lab.language.types import block_type, pointer_type, spell
from tinyton_lab.language.value import TileValue, emitter


def _extreme(python: Callable[..., Any], tile: Callable[..., Any]) -> Callable[..., Any]:
    def apply(*args: Any) -> Any:
        values = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
        if any(isinstance(x, TileValue) for x in values):
            return reduce(tile, values)
        return python(values)

    return apply


def _isinstance(value: Any, kinds: Any) -> bool:
    """`tl.constexpr` stands for what is known at compile time."""
    wanted = kinds if isinstance(kinds, tuple) else (kinds,)
    if Constexpr in wanted and not isinstance(value, TileValue):
        return True
    return isinstance(value, wanted)


def _length(value: Any) -> int:
    if isinstance(value, TileValue):
        if not value.shape:
            raise fault("TT1013", type=spell(value.tile), name="a length", close="shape")
        return value.shape[0]
    return len(value)


def _abs(value: Any) -> Any:
    return core.abs(value) if isinstance(value, TileValue) else abs(value)


def _print(*values: Any, **options: Any) -> None:
    core.device_print("", *(value for value in values if isinstance(value, TileValue)))


def _breakpoint(*values: Any, **options: Any) -> None:
    emitter().message("breakpoint", "", ())


ON_TILES: dict[Any, Callable[..., Any]] = {
    builtins.min: _extreme(min, core.minimum),
    builtins.max: _extreme(max, core.maximum),
    builtins.abs: _abs,
    builtins.len: _length,
    builtins.isinstance: _isinstance,
    builtins.hasattr: hasattr,
    builtins.tuple: lambda items=(): tuple(items),
    builtins.list: lambda items=(): tuple(items),
    builtins.zip: lambda *items: tuple(zip(*items, strict=False)),
    builtins.enumerate: lambda items, start=0: tuple(enumerate(items, start)),
    builtins.reversed: lambda items: tuple(reversed(items)),
    builtins.sum: sum,
    builtins.print: _print,
    builtins.breakpoint: _breakpoint,
}
AT_COMPILE_TIME = frozenset(
    (bool, int, float, str, round, pow, divmod, any, all, sorted, repr, math.prod, issubclass, callable)
    + (pointer_type, block_type, slice)
)


def known_at_compile_time(function: Any) -> bool:
    """Whether a function may be carried out on compile-time values: a few builtins, all of `math`, declared ones."""
    if isinstance(function, ConstexprFunction):
        return True
    try:
        return function in AT_COMPILE_TIME or getattr(function, "__module__", None) == "math"
    except TypeError:
        return False


def call_at_compile_time(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call a Python function on compile-time values. Raises TT1006 for values of the kernel, TT1018 if it fails."""
    what = f"an argument of {function.__name__}"
    plain = [static(x, what) for x in args]
    try:
        return function(*plain, **{name: static(x, what) for name, x in keywords.items()})
    except (ArithmeticError, ValueError, TypeError) as failure:
        raise fault("TT1018", what=f"{function.__name__}(...)", why=str(failure)) from None


def is_constant(value: Any) -> bool:
    """Whether a compile-time value may be computed with."""
    return is_number(value) or isinstance(value, (str, tuple, type(None)))
