"""What functions of the device library take: dtypes checked, operands brought to one dtype and shape, and back."""

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import DType, float32, float64
from tinyton_lab.language import semantic
from tinyton_lab.language.emission import fault, is_number, to_value, unwrap
from tinyton_lab.language.shapes import broadcast, broadcast_to
from tinyton_lab.language.types import spell
from tinyton_lab.language.value import TileValue

INTEGERS = ("int", "uint")


def floats(name: str, *operands: Any) -> tuple[Any, ...]:
    """Operands as values of one float dtype and one shape; numbers take on the others' dtype. Raises TT2013."""
    values = [unwrap(x) if is_number(unwrap(x)) else _checked(name, x, ("float",)) for x in operands]
    dtype = _common([x.element for x in values if isinstance(x, TileValue)]) or float32
    return alike_in_shape(*(semantic.converted(x, dtype) for x in values))


def _common(dtypes: list[DType]) -> DType | None:
    found: DType | None = None
    for dtype in dtypes:
        found = dtype if found is None else semantic.dtypes.promote(found, dtype)
    return found


def of_dtypes(name: str, x: Any, *allowed: DType) -> Any:
    """A value of one of some dtypes; a number takes on the first that can hold it. Raises TT2013."""
    plain = unwrap(x)
    if is_number(plain):
        own = to_value(plain).element
        return semantic.converted(plain, own if own in allowed else allowed[0])
    value = to_value(x)
    if value.tile.is_pointer or value.element not in allowed:
        raise fault("TT2013", op=name, type=spell(value.tile), kinds=" or ".join(dtype.public for dtype in allowed))
    return value


def integers(name: str, *operands: Any) -> tuple[Any, ...]:
    """Operands as integers of one dtype and shape. Raises TT2013."""
    values = [unwrap(x) if is_number(unwrap(x)) else _checked(name, x, INTEGERS) for x in operands]
    tensors = [x.element for x in values if isinstance(x, TileValue)]
    dtype = _common(tensors) or to_value(values[0]).element
    return alike_in_shape(*(semantic.converted(x, dtype) for x in values))


def _checked(name: str, x: Any, kinds: tuple[str, ...]) -> TileValue:
    value = to_value(x)
    kind = "pointer" if value.tile.is_pointer else value.element.kind
    if kind not in kinds or value.element.storage_only:
        raise fault("TT2013", op=name, type=spell(value.tile), kinds=" or ".join(kinds))
    return value


def alike_in_shape(*values: Any) -> tuple[Any, ...]:
    """Values broadcast to one shape."""
    widest = values[0]
    for value in values[1:]:
        widest, _ = broadcast(widest, value)
    return tuple(broadcast_to(value, widest.shape) if value.shape != widest.shape else value for value in values)


def widened(name: str, *operands: Any) -> tuple[DType, Any]:
    """The dtype of float operands, and the operands as f64: one value for one operand, else a tuple."""
    values = floats(name, *operands)
    wide = tuple(semantic.convert(value, float64) for value in values)
    return values[0].element, wide[0] if len(wide) == 1 else wide


def narrowed(value: Any, dtype: DType) -> Any:
    """An f64 rounded to the dtype that a function was asked in."""
    return semantic.convert(value, dtype)
