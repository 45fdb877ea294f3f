"""The types of ``tinyton_lab.language`` as editors see them: a stub, written from the functions and classes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from tinyton_lab import language as tl
from tinyton_lab.base.dtypes import DType
from tinyton_lab.language.aggregates import REFLECTED
from tinyton_lab.language.blocks import block_pointer
from tinyton_lab.language.builtin import BUILTINS, ConstexprFunction, LibraryFunction

HEAD = '''# Generated from tinyton_lab/language/ by `make regen`.
"""The kernel language: everything a kernel may name as ``tl.something``."""

import builtins
from collections.abc import Iterator
from typing import Any

from tinyton_lab.base.dtypes import DType
from tinyton_lab.language import core as core, extra as extra, target_info as target_info
from tinyton_lab.language import core as standard
from tinyton_lab.language.aggregates import aggregate as aggregate
from tinyton_lab.language.core import PropagateNan as PropagateNan
from tinyton_lab.language.types import block_type as block_type, const as const, pointer_type as pointer_type
from tinyton_lab.language.types import void as void
from tinyton_lab.language.value import TileValue

# A constexpr is what it holds, an int, a dtype or a function, and can be called: only what is unknown may be all that.
from tinyton_lab.language.anything import (  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
    constexpr as constexpr,
    constexpr as constexpr_type,
)
dtype = DType
slice = builtins.slice
tuple = builtins.tuple
CONSTEXPR_0: Any
TRITON_MAX_TENSOR_NUMEL: int
_aggregate = aggregate
pi32_t: pointer_type
'''
RANGES = '''
class range:
    """A loop like Python's `range`, with options for the compiler (``num_stages``, ``loop_unroll_factor`` ...)."""
    def __init__(self, arg1: Any, arg2: Any = ..., step: Any = ..., **options: Any) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...

class static_range:
    """A loop that is unrolled: ``for i in tl.static_range(4)``; `i` is known at compile time."""
    def __init__(self, arg1: Any, arg2: Any = ..., step: Any = ...) -> None: ...
    def __iter__(self) -> Iterator[int]: ...
'''
WRITTEN = ("tensor", "range", "static_range", "tensor_descriptor", "aggregate")


def language() -> str:
    """The stub of the package."""
    dtypes = [name for name in sorted(tl.__all__) if isinstance(getattr(tl, name), DType)]
    blocks = [HEAD + "".join(f"{name}: DType\n" for name in dtypes) + f"\n__all__ = {sorted(tl.__all__)!r}\n", RANGES]
    blocks += [_class("tensor", tl.tensor, "TileValue"), _class("block_pointer", block_pointer, "")]
    blocks += [_class("tensor_descriptor", tl.tensor_descriptor, "")]
    names = sorted({*tl.__all__, "_log2", "_unwrap_if_constexpr"} - {*WRITTEN})
    blocks += [_function(name, getattr(tl, name)) for name in names if _is_function(getattr(tl, name))]
    functions = [name for name in sorted(vars(tl.math)) if _is_function(getattr(tl.math, name))]
    inside = [f"    @staticmethod\n{_function(name, getattr(tl.math, name), '    ').rstrip()}" for name in functions]
    return "\n".join([*blocks, "class math:", *inside, ""])


def _is_function(found: Any) -> bool:
    return not isinstance(found, (type, ModuleType)) and (
        isinstance(found, (LibraryFunction, ConstexprFunction)) or _is_builtin(found)
    )


def _is_builtin(found: Any) -> bool:
    return inspect.isfunction(found) and found in BUILTINS


def _function(name: str, function: Any, indent: str = "", first: str = "") -> str:
    """One function: its parameters are anything, its result is what the function says."""
    plain: Callable[..., Any] = getattr(function, "__wrapped__", function)
    parameters = list(inspect.signature(plain).parameters.values())[1 if first else 0 :]
    written = ", ".join([*([first] if first else []), *_parameters(parameters)])
    summary = (function.__doc__ or "").strip().split("\n")[0].replace("\\", "\\\\")
    head = f"{indent}def {name}({written}) -> {_result(function, plain)}:"
    return f'{head}\n{indent}    """{summary}"""\n'


def _parameters(parameters: list[inspect.Parameter]) -> Iterator[str]:
    named = False
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not named:
            yield "*"
        star = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        named = named or star == "*" or parameter.kind is inspect.Parameter.KEYWORD_ONLY
        default = "" if parameter.default is inspect.Parameter.empty else " = ..."
        yield f"{star}{parameter.name}: Any{default}"


def _result(function: Any, plain: Callable[..., Any]) -> str:
    stated = str(plain.__annotations__.get("return", "Any"))
    known = {"TileValue": "tensor", "None": "None", "block_pointer": "block_pointer"}
    return known.get(stated, "tensor_descriptor" if stated == "tensor_descriptor" else "Any")


def _class(name: str, kind: type, base: str) -> str:
    """One class: its methods, properties and operators."""
    lines = [f"class {name}({base}):" if base else f"class {name}:"]
    lines.append(f'    """{(kind.__doc__ or "").splitlines()[0]}"""')
    for member in sorted(n for n in dir(kind) if not n.startswith("_") and n not in ("made_as", "known", "tile")):
        found: Any = inspect.getattr_static(kind, member)
        if isinstance(found, property):
            lines += ["    @property", _property(member, found)]
        elif isinstance(found, LibraryFunction) or _is_builtin(found):
            lines.append(_function(member, found, "    ", "self").rstrip())
    return "\n".join([*lines, *(_operators() if name == "tensor" else ())]) + "\n"


def _property(name: str, found: property) -> str:
    stated = str(getattr(found.fget, "__annotations__", {}).get("return", "Any"))
    result = {"TileValue": "tensor", "int": "int", "DType": "DType"}.get(stated, "Any")
    result = "builtins.tuple[int, ...]" if re.fullmatch(r"tuple\[int, \.\.\.\]", stated) else result
    return f'    def {name}(self) -> {result}:\n        """{(found.__doc__ or "").splitlines()[0]}"""'


def _operators() -> Iterator[str]:
    """Comparisons give anything, so that Python's `min`, `max` and `if` take it."""
    for name, reflected in REFLECTED.items():
        if reflected.startswith("__r"):
            yield f"    def {name}(self, other: Any) -> tensor: ..."
            yield f"    def {reflected}(self, other: Any) -> tensor: ..."
        else:
            yield f"    def {name}(self, other: Any) -> Any: ..."
    yield from (f"    def {name}(self) -> tensor: ..." for name in ("__neg__", "__pos__", "__invert__"))
    yield "    def __getitem__(self, key: Any) -> tensor: ..."
    yield from (
        f"    def __{name}__(self) -> builtins.{kind}: ..."
        for name, kind in (("bool", "bool"), ("index", "int"), ("int", "int"), ("float", "float"))
    )
