"""What operators mean: promotion, broadcasting, pointer arithmetic; one implementation for front end and eager mode.

Scalars written as Python numbers are weaker than values of the kernel: they take on the other operand's dtype.
"""

from __future__ import annotations

from typing import Any

from tinyton_lab.base import dtypes
from tinyton_lab.base.dtypes import DType, float32, int1, int64, promote, promote_scalar
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.ir.types import Pointer
from tinyton_lab.language.emission import describe, emit, fault, is_number, number, number_dtype, to_value, unwrap
from tinyton_lab.language.shapes import broadcast, broadcast_to
from tinyton_lab.language.types import ElementType, ir_element, pointer_type, spell
from tinyton_lab.language.value import TileValue, emitter
from tinyton_lab.ops import OPS
from tinyton_lab.ops import elementwise as ops

ROUNDINGS = {None: None, "rtne": None, "rtz": "rtz"}


def operand(x: Any) -> Any:
    """An operand as a value or a Python number. Raises TT2005 for anything else."""
    x = unwrap(x)
    if isinstance(x, TileValue) or is_number(x):
        return x
    raise fault("TT2005", what=f"{describe(x)} is no number and no tile")


def element(x: Any) -> DType:
    """The dtype of an operand that may not be a pointer. Raises TT2012."""
    if not isinstance(x, TileValue):
        return number_dtype(x)
    return x.element


def common_dtype(x: Any, y: Any, *, division: bool = False) -> DType:
    """The dtype in which two operands meet. Raises TT2003 where there is none."""
    a, b = element(x), element(y)
    if isinstance(x, TileValue) == isinstance(y, TileValue):
        found = promote(a, b, division=division)
    else:
        tensor, scalar = (a, b) if isinstance(x, TileValue) else (b, a)
        found = promote_scalar(tensor, scalar, division=division)
    if found is None:
        raise fault("TT2003", x=a.public, y=b.public)
    return found


def converted(x: Any, dtype: DType) -> TileValue:
    """An operand in a dtype: a Python number becomes a known scalar of it."""
    return convert(x, dtype) if isinstance(x, TileValue) else number(x, dtype)


def promoted(x: Any, y: Any, *, division: bool = False) -> tuple[TileValue, TileValue]:
    """Two operands in their common dtype and shape."""
    x, y = operand(x), operand(y)
    dtype = common_dtype(x, y, division=division)
    return broadcast(converted(x, dtype), converted(y, dtype))


def convert(x: TileValue, dtype: DType) -> TileValue:
    """Cast without options."""
    return x if x.tile.element is dtype else emit(ops.cast, x, to=dtype)


def computable(row: OpDef, x: TileValue) -> None:
    """Check that a row computes on a value's dtype. Raises TT2013."""
    kind = "pointer" if x.tile.is_pointer else x.element.kind
    if kind not in row.accepts or (kind != "pointer" and x.element.storage_only):
        raise fault("TT2013", op=row.name.rstrip("_"), type=spell(x.tile), kinds=" or ".join(row.accepts))


def binary(row: OpDef, x: Any, y: Any) -> TileValue:
    """An elementwise op of two operands in their common dtype."""
    a, b = promoted(x, y)
    computable(row, a)
    return emit(row, a, b)


def unsigned_high_product(x: Any, y: Any) -> TileValue:
    """Upper half of the double-width product, of integers whose bits count as unsigned."""
    a, b = promoted(x, y)
    computable(ops.mulhi, a)
    if not a.element.signed:
        return binary(ops.mulhi, a, b)
    unsigned = getattr(dtypes, f"uint{a.element.bits}")
    return cast(binary(ops.mulhi, *(cast(value, unsigned, bitcast=True) for value in (a, b))), a.element, bitcast=True)


def is_pointer(x: Any) -> bool:
    return isinstance(x, TileValue) and x.tile.is_pointer


def fitting(row: OpDef, x: Any, y: Any, wraps: bool) -> TileValue:
    """A sum, difference or product; of signed integers checked to fit where that is asked for and none that `wraps`."""
    a, b = promoted(x, y)
    computable(row, a)
    result = emit(row, a, b)
    if emitter().sanitize_overflow and not wraps and a.element.kind == "int":
        fits = _fits(row, a, b, result)
        if not fits.known:
            text = f"the result of {row.name} does not fit {a.element.public}"
            emitter().message("assert", text, [fits])
    return result


def _fits(row: OpDef, a: TileValue, b: TileValue, result: TileValue) -> TileValue:
    """Where a result of signed integers is what it would be without an end of their range."""
    if row is ops.mul and a.element.bits < 64:
        wide = emit(row, convert(a, int64), convert(b, int64))
        return emit(ops.eq, wide, convert(result, int64))
    if row is ops.mul:
        return emit(ops.eq, emit(ops.mulhi, a, b), emit(ops.shr, result, spread(63, result)))
    # The sign of a sum is wrong where both operands have the other one; a - b = r is a sum, a = r + b.
    first, second, total = (a, b, result) if row is ops.add else (result, b, a)
    wrong = emit(ops.and_, emit(ops.xor, first, total), emit(ops.xor, second, total))
    return emit(ops.ge, wrong, spread(0, wrong))


def spread(x: int, like: TileValue) -> TileValue:
    """A number as a tile of the dtype and shape of another."""
    return broadcast_to(number(x, like.element), like.tile.shape)


def add(x: Any, y: Any, wraps: bool = False) -> TileValue:
    if is_pointer(x) or is_pointer(y):
        return shift_pointer(x, y) if is_pointer(x) else shift_pointer(y, x)
    return fitting(ops.add, x, y, wraps)


def sub(x: Any, y: Any, wraps: bool = False) -> TileValue:
    if is_pointer(x):
        distance = integers(y)
        return shift_pointer(x, -distance if is_number(distance) else neg(distance))
    return fitting(ops.sub, x, y, wraps)


def integers(distance: Any) -> Any:
    """A distance of pointer arithmetic. Raises TT2012 unless it is an integer."""
    distance = operand(distance)
    dtype = number_dtype(distance) if is_number(distance) else distance.tile.element
    if isinstance(dtype, Pointer) or dtype.kind == "float":
        raise fault("TT2012", what=f"a pointer moves by integers, not by {spell_operand(distance)}")
    return distance


def spell_operand(x: Any) -> str:
    return spell(x.tile) if isinstance(x, TileValue) else repr(x)


def shift_pointer(pointer: TileValue, distance: Any) -> TileValue:
    """Pointer plus a number of elements; unsigned distances of less than 64 bits count as positive."""
    moved = to_value(integers(distance))
    if moved.element.kind == "bool" or (moved.element.kind == "uint" and moved.element.bits < 64):
        moved = convert(moved, int64)
    pointer, moved = broadcast(pointer, moved)
    return emit(ops.offset, pointer, moved)


def mul(x: Any, y: Any, wraps: bool = False) -> TileValue:
    return fitting(ops.mul, x, y, wraps)


def truediv(x: Any, y: Any) -> TileValue:
    """True division: integers divide as f32, narrow floats compute in f32."""
    return divide(ops.div, x, y)


def divide(row: OpDef, x: Any, y: Any) -> TileValue:
    a, b = promoted(x, y, division=True)
    if a.element.kind != "float":
        a, b = convert(a, float32), convert(b, float32)
    return emit(row, a, b)


def floordiv(x: Any, y: Any) -> TileValue:
    """Integer division toward zero. Raises TT2013 for floats."""
    a, b = promoted(x, y, division=True)
    computable(ops.idiv, a)
    return emit(ops.idiv, a, b)


def mod(x: Any, y: Any) -> TileValue:
    """Remainder with the sign of the dividend."""
    a, b = promoted(x, y, division=True)
    computable(ops.mod, a)
    return emit(ops.mod, a, b)


def power(x: Any, y: Any) -> TileValue:
    """``x ** n`` for a known small whole n, by multiplication. Raises TT2014 otherwise."""
    base, exponent = operand(x), unwrap(y)
    exponent = exponent.known if isinstance(exponent, TileValue) else exponent
    if not isinstance(exponent, (int, float)) or exponent != int(exponent) or not 1 <= exponent <= 64:
        raise fault("TT2014", exponent=spell_operand(y))
    result, bits = None, int(exponent)
    square = to_value(base)
    while bits:
        if bits & 1:
            result = square if result is None else mul(result, square)
        bits >>= 1
        square = mul(square, square) if bits else square
    return result if result is not None else square


def shift(row: OpDef, x: Any, y: Any) -> TileValue:
    """Shift by an amount, which must lie within the width where it is known. Raises TT2015."""
    a, b = promoted(x, y)
    computable(row, a)
    amount = y.known if isinstance(y, TileValue) else unwrap(y)
    if amount is not None and not 0 <= amount < a.element.bits:
        raise fault("TT2015", amount=amount, type=a.element.public, bits=a.element.bits)
    return emit(row, a, b)


def neg(x: Any) -> TileValue:
    """``-x``; a one-bit integer is its own negative."""
    value = to_value(x)
    if value.tile.element is int1:
        return value
    computable(ops.neg, value)
    return emit(ops.neg, value)


def invert(x: Any) -> TileValue:
    value = to_value(x)
    computable(ops.xor, value)
    ones = True if value.element.kind == "bool" else (-1 if value.element.signed else (1 << value.element.bits) - 1)
    a, b = broadcast(value, number(ones, value.element))
    return emit(ops.xor, a, b)


def truth(x: Any) -> TileValue:
    """A value as i1: whether it differs from zero."""
    value = to_value(x)
    if value.tile.element is int1:
        return value
    element(value)
    a, b = broadcast(value, number(0, value.element))
    return emit(ops.ne, a, b)


def logical_not(x: Any) -> TileValue:
    return invert(truth(x))


def logical_and(x: Any, y: Any) -> TileValue:
    return emit(ops.and_, *broadcast(truth(x), truth(y)))


def logical_or(x: Any, y: Any) -> TileValue:
    return emit(ops.or_, *broadcast(truth(x), truth(y)))


def compare(row: OpDef, x: Any, y: Any) -> TileValue:
    """Compare two operands in their common dtype; pointers of one type compare as addresses."""
    if is_pointer(x) and is_pointer(y) and x.tile.element == y.tile.element:
        return emit(row, *broadcast(x, y))
    a, b = promoted(x, y)
    if a.element.storage_only:
        a, b = convert(a, float32), convert(b, float32)
    return emit(row, a, b)


def where(condition: Any, x: Any, y: Any) -> TileValue:
    """Choose elements of x where the condition holds, else of y."""
    test = truth(condition)
    if is_pointer(x) and is_pointer(y):
        a, b = broadcast(x, y)
    else:
        a, b = promoted(x, y)
    test, a = broadcast(test, a)
    return emit(ops.select, test, a, broadcast_to(b, a.shape))


def ternary(x: Any, y: Any, z: Any) -> tuple[TileValue, TileValue, TileValue]:
    """Three operands in their common dtype and shape; Python numbers are weak among them."""
    operands = [operand(value) for value in (x, y, z)]
    tensors = [value for value in operands if isinstance(value, TileValue)]
    numbers = [value for value in operands if not isinstance(value, TileValue)]
    dtype = _fold_dtypes([element(value) for value in tensors or numbers])
    if tensors and numbers:
        weak = promote_scalar(dtype, _fold_dtypes([number_dtype(value) for value in numbers]))
        dtype = weak or dtype
    a, b, c = (converted(value, dtype) for value in operands)
    a, b = broadcast(a, b)
    a, c = broadcast(a, c)
    return a, broadcast_to(b, a.shape), c


def _fold_dtypes(found: list[DType]) -> DType:
    result = found[0]
    for dtype in found[1:]:
        result = promote(result, dtype) or result
    return result


def float_function(row: OpDef, x: Any) -> TileValue:
    """A math function of one float operand. Raises TT2013 for other dtypes."""
    value = to_value(x)
    computable(row, value)
    return emit(row, value)


# Casts
def cast(x: Any, to: Any, rounding: str | None = None, bitcast: bool = False) -> TileValue:
    """Convert to an element type, or reinterpret the bits. Raises TT2016 and TT2017."""
    value, to = to_value(x), unwrap(to)
    if not isinstance(to, (DType, pointer_type)):
        raise fault("TT2016", x=spell(value.tile), to=describe(to))
    target = ir_element(to)
    if value.tile.element == target:
        return value
    if bitcast:
        return _bitcast(value, target)
    if rounding not in ROUNDINGS:
        raise fault("TT2016", x=spell(value.tile), to=f"{to!r} with the rounding {rounding!r}")
    if isinstance(target, Pointer) or value.tile.is_pointer:
        return _cast_pointer(value, to)
    mode = ROUNDINGS[rounding]
    return emit(ops.cast, value, to=target, rounding=mode) if mode else emit(ops.cast, value, to=target)


def _bitcast(value: TileValue, target: DType | Pointer) -> TileValue:
    if isinstance(target, Pointer) or value.tile.is_pointer:
        return _cast_pointer(value, pointer_type(target.element) if isinstance(target, Pointer) else target)
    if value.element.bits != target.bits:
        raise fault("TT2017", x=spell(value.tile), bits=value.element.bits, to=target.public, to_bits=target.bits)
    return emit(ops.bitcast, value, to=target)


def _cast_pointer(value: TileValue, to: ElementType) -> TileValue:
    if isinstance(to, pointer_type):
        if value.tile.is_pointer:
            return emit(ops.pointer_cast, value, to=to.element_ty)
        if value.element.kind in ("int", "uint"):
            return emit(ops.int_to_pointer, value, to=to.element_ty)
    elif to.bits == 64 and to.is_integer:
        return emit(ops.pointer_to_int, value, to=to)
    raise fault("TT2016", x=spell(value.tile), to=repr(to))


def widened(dtype: DType) -> DType:
    """The dtype in which a sum of `dtype` is kept: integers have at least 32 bits of the same signedness."""
    if dtype.kind == "float" or dtype.bits >= 32:
        return dtype
    return dtypes.int32 if dtype.signed else dtypes.uint32


BINARY = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "truediv": truediv,
    "floordiv": floordiv,
    "mod": mod,
    "pow": power,
    "and": lambda x, y: binary(ops.and_, x, y),
    "or": lambda x, y: binary(ops.or_, x, y),
    "xor": lambda x, y: binary(ops.xor, x, y),
    "lshift": lambda x, y: shift(ops.shl, x, y),
    "rshift": lambda x, y: shift(ops.shr, x, y),
}
COMPARE = {name: OPS[name] for name in ("eq", "ne", "lt", "le", "gt", "ge")}
