"""Calls: which kind of callee this is, how arguments bind to it, and what a kernel may not call."""

from __future__ import annotations

import ast
import inspect
import types
from typing import Any

from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.base.dtypes import DType
from tinyton_lab.base.protocol import Constexpr
from tinyton_lab.frontend.frame import Frame
from tinyton_lab.language import core
from tinyton_lab.language.aggregates import Aggregate
from tinyton_lab.language.builtin import BUILTINS, Builtin, MethodOfValue, instead, is_device_function
from tinyton_lab.language.emission import static, unwrap
from tinyton_lab.language.python_calls import ON_TILES, call_at_compile_time, known_at_compile_time
from tinyton_lab.language.types import block_type, pointer_type, spell
from tinyton_lab.language.value import TileValue

LOOPS = (range, core.range, core.static_range)
# Methods of these compile-time values may be called.
PLAIN = (DType, pointer_type, block_type, str, tuple, int, float)


def call(frame: Frame, node: ast.Call, callee: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Carry out a call whose callee and arguments are evaluated."""
    frame.at(node)
    if isinstance(callee, types.MethodType) and callee.__func__ in BUILTINS:
        return call_builtin(frame, node, BUILTINS[callee.__func__], (callee.__self__, *args), keywords)
    if isinstance(callee, types.FunctionType) and callee in BUILTINS:
        check_dialect(frame, node, BUILTINS[callee])
        return call_builtin(frame, node, BUILTINS[callee], args, keywords)
    if isinstance(callee, MethodOfValue):
        return frame.context.inline(callee.function, (callee.instance, *args), keywords)
    if is_device_function(callee):
        return frame.context.inline(callee, args, keywords)
    return call_python(frame, node, callee, args, keywords)


def check_dialect(frame: Frame, node: ast.Call, row: Builtin) -> None:
    """A kernel calls functions of its own dialect. Raises TT1017."""
    own = frame.context.rules.dialect
    if row.dialect not in (own, "both"):
        raise frame.fault("TT1017", node, name=row.name, dialect=row.dialect, kernel=frame.parsed.name, own=own)


def call_builtin(frame: Frame, node: ast.Call, row: Builtin, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call a function of the language. Raises TT1007 for arguments that do not bind."""
    try:
        return row.function(*args, **keywords)
    except TypeError as failure:
        try:
            row.signature.bind(*args, **keywords)
        except TypeError as unbound:
            raise frame.fault("TT1007", node, name=row.name, why=str(unbound), signature=row.spelled) from None
        raise failure


def call_python(frame: Frame, node: ast.Call, callee: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call something that is not of the language. Raises TT1005 for a plain function, TT1020 for no function."""
    if isinstance(callee, TileValue):
        raise frame.fault("TT1020", node, what=f"a value of the kernel ({spell(callee.tile)})", hint="")
    if not callable(callee):
        raise frame.fault("TT1020", node, what=ast.unparse(node.func), hint="")
    if callee is Constexpr:
        return static(args[0], "the value of a constexpr") if len(args) == 1 else None
    if callee in LOOPS:
        raise frame.fault("TT1022", node, name=callee.__name__)
    if callee in ON_TILES:
        return guarded(frame, node, callee, ON_TILES[callee], args, keywords)
    if known_at_compile_time(callee):
        return unwrap(call_at_compile_time(callee, args, keywords))
    if isinstance(callee, type) and issubclass(callee, Aggregate):
        return callee(*args, **keywords)
    if is_named_tuple(callee):
        return guarded(frame, node, callee, callee, args, keywords)
    receiver = getattr(callee, "__self__", None)
    if isinstance(receiver, PLAIN) and not isinstance(receiver, type):
        return call_at_compile_time(callee, args, keywords)
    if inspect.isfunction(callee) and isinstance(getattr(callee, "__closure__", None), tuple) and _answers(callee):
        return callee(*args)
    if isinstance(callee, (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)):
        raise frame.fault("TT1005", node, name=getattr(callee, "__name__", str(callee)), hint=instead(callee))
    raise frame.fault("TT1020", node, what=ast.unparse(node.func), hint=instead(callee))


def is_named_tuple(callee: Any) -> bool:
    """Whether this makes named tuples, which may hold values of the kernel."""
    return isinstance(callee, type) and issubclass(callee, tuple) and hasattr(callee, "_fields")


def _answers(callee: Any) -> bool:
    """Whether this is a dtype's question like ``is_bf16``, made on demand by table T1."""
    return callee.__module__ == DType.__module__


def guarded(
    frame: Frame, node: ast.Call, callee: Any, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Call a stand-in of a Python builtin; its complaints become TT1018."""
    try:
        return function(*args, **keywords)
    except TinytonError:
        raise
    except (TypeError, ValueError, ArithmeticError) as failure:
        raise frame.fault("TT1018", node, what=f"{callee.__name__}(...)", why=str(failure)) from None
