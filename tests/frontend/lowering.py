"""Lower a function for arguments given by short type names, as tests want it."""

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import DTYPES
from tinyton_lab.frontend import Constant, Lowered, Runtime, lower
from tinyton_lab.ir.text import print_function
from tinyton_lab.ir.types import Pointer, Tile
from tinyton_lab.ir.verify import verify


class Device:
    """The least that the front end needs of a kernel or helper."""

    def __init__(self, function: Any, dialect: str = "triton") -> None:
        self.function, self.dialect = function, dialect
        self.__name__ = function.__name__


def device(function: Any) -> Device:
    return Device(function)


def argument(spec: Any) -> Runtime | Constant:
    """``"*f32"`` is a pointer, ``"i32"`` a scalar, ``"=1"`` an int specialised on 1; anything else a constant."""
    if not isinstance(spec, str):
        return Constant(spec)
    if spec.startswith("="):
        return Runtime(Tile(DTYPES["i32"]), known=int(spec[1:]))
    divisibility = 16 if spec.endswith("!") else 1
    name = spec.strip("*!")
    if name not in DTYPES:
        return Constant(spec)
    element = Pointer(DTYPES[name]) if spec.startswith("*") else DTYPES[name]
    return Runtime(Tile(element), divisibility)


def lowered(kernel: Device, **arguments: Any) -> Lowered:
    """Lower and verify."""
    result = lower(kernel, {name: argument(spec) for name, spec in arguments.items()})
    verify(result.function)
    return result


def text(kernel: Device, **arguments: Any) -> str:
    """The tile IR of a kernel."""
    return print_function(lowered(kernel, **arguments).function).text
