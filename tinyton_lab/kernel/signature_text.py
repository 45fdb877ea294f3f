"""Argument types written as text (``*fp32:16, *fp32, i32``): compile without arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tinyton_lab.base.diagnostics import error
from tinyton_lab.base.dtypes import of_short
from tinyton_lab.frontend.signature import ArgumentType, Constant, Runtime
from tinyton_lab.ir.types import Pointer, Tile
from tinyton_lab.kernel.parameters import MISSING, KernelParameter


def read_signature(
    kernel: str, parameters: Sequence[KernelParameter], text: str, constants: Mapping[str, Any]
) -> dict[str, ArgumentType]:
    """Give each parameter its type: run-time ones from `text` in order, the others from `constants` or their default.

    Raises TT3016 where they do not fit.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    runtime = [p.name for p in parameters if not p.constexpr and p.name not in constants]
    if len(words) != len(runtime):
        why = f"it has {len(words)} types for the parameters {', '.join(runtime)}"
        raise error("TT3016", text=text, kernel=kernel, why=why)
    typed = dict(zip(runtime, words, strict=True))
    arguments: dict[str, ArgumentType] = {}
    for parameter in parameters:
        if parameter.name in typed:
            arguments[parameter.name] = _read_type(kernel, text, typed[parameter.name])
        else:
            value = constants.get(parameter.name, parameter.default)
            if value is MISSING:
                raise error("TT3002", kernel=kernel, names=parameter.name)
            arguments[parameter.name] = Constant(value)
    return arguments


def _read_type(kernel: str, text: str, word: str) -> ArgumentType:
    name, _, divisor = word.partition(":")
    dtype = of_short(name.strip("* "))
    if dtype is None or not (divisor.strip() or "1").isdigit():
        raise error("TT3016", text=text, kernel=kernel, why=f"{word!r} is no type")
    tile = Tile(Pointer(dtype)) if name.startswith("*") else Tile(dtype)
    return Runtime(tile, int(divisor or 1))
