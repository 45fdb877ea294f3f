"""The arithmetic that math functions are spelled in, on values of a kernel: so the language can use their parts."""

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import DType
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.language.emission import constant_tile, emit
from tinyton_lab.language.value import TileValue


class ValueArithmetic:
    """Calls apply rows of the op table to values of a kernel; Python numbers are constants of the others' dtype."""

    def __call__(self, row: OpDef, *operands: Any, **attrs: Any) -> Any:
        like = next(x for x in reversed(operands) if isinstance(x, TileValue))
        return emit(row, *(x if isinstance(x, TileValue) else self.constant(x, like) for x in operands), **attrs)

    def constant(self, number: float | int, like: Any) -> Any:
        return constant_tile(number, like.tile)

    def dtype(self, value: Any) -> DType:
        return value.element
