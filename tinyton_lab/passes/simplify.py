"""Fold constants, apply the laws of the op table, and remove ops that say nothing. Changes no result, to the bit."""

from __future__ import annotations

from collections.abc import Callable

from tinyton_lab.base.dtypes import DType
from tinyton_lab.ir.core import Function, Op, Value
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.ir.rewrite import Rewriter
from tinyton_lab.ops import control, elementwise, memory, shape
from tinyton_lab.passes.constants import as_scalar, constant_of, evaluate, make_constant, same_number, uniform_source
from tinyton_lab.passes.outcome import Options, Outcome
from tinyton_lab.passes.signs import never_below_zero

Replacement = Value | tuple[Value, ...] | None


def simplify(function: Function, options: Options) -> Outcome:
    """Simplify each op from what its operands are; one walk, since operands come first."""
    rewriter, decided = Rewriter(function), never_below_zero(function)

    def with_signs(r: Rewriter, op: Op) -> Replacement:
        return make_constant(r.builder, op.result.type, decided[op.uid]) if op.uid in decided else rule(r, op)

    return Outcome(rewriter.run(with_signs), tuple(rewriter.misses))


def rule(r: Rewriter, op: Op) -> Replacement:
    """Try what is known of the op's row, then what holds for every elementwise op."""
    special = SPECIAL.get(op.row)
    if special is not None and (found := special(r, op)) is not None:
        return found
    return elementwise_rule(r, op) if op.row.elementwise else None


def elementwise_rule(r: Rewriter, op: Op) -> Replacement:
    number = evaluate(op.row, op.operands, op.attrs, op.result.type)
    if number is not None:
        return make_constant(r.builder, op.result.type, number)
    by_law = by_laws(r, op) if len(op.operands) == 2 else by_repetition(op)
    return by_law or of_uniform_operands(r, op)


def of_uniform_operands(r: Rewriter, op: Op) -> Replacement:
    """Compute once what is the same for every element."""
    if not op.result.type.shape or any(uniform_source(v) is None and constant_of(v) is None for v in op.inputs):
        return None
    one = r.builder.emit(op.row, [as_scalar(r.builder, value) for value in op.inputs], op.attrs).result
    return r.builder.value(shape.splat, one, shape=op.result.type.shape)


# -- laws of the table -------------------------------------------------------------------------------------------------
def by_laws(r: Rewriter, op: Op) -> Replacement:
    """Identities, absorbing elements, equal operands; then constants go right and neighbouring constants combine."""
    x, y = op.operands
    if x is None or y is None:
        return None
    laws = op.row.laws
    if x is y and (found := of_equal_operands(r, op, x)) is not None:
        return found
    left, right = constant_of(x), constant_of(y)
    if right is not None and (found := with_constant(r, op, x, y)) is not None:
        return found
    if left is not None and right is None:
        if "commutative" in laws:
            return with_constant(r, op, y, x) or r.builder.value(op.row, y, x, **op.attrs)
        if op.row in MIRRORED:
            return r.builder.value(MIRRORED[op.row], y, x)
    return None


def of_equal_operands(r: Rewriter, op: Op, x: Value) -> Replacement:
    laws = op.row.laws
    if "idempotent" in laws:
        return x
    if x.type.is_pointer or x.type.dtype.kind != "float":
        if "reflexive" in laws or "irreflexive" in laws:
            return make_constant(r.builder, op.result.type, "reflexive" in laws)
        if "self-inverse" in laws:
            return make_constant(r.builder, op.result.type, to_zero(x.type.dtype))
    return None


def with_constant(r: Rewriter, op: Op, x: Value, constant: Value) -> Replacement:
    """Use a law about the constant on the right of `x`."""
    if constant.type.is_pointer:
        return None
    dtype, number = constant.type.dtype, constant_of(constant)
    for law in op.row.laws:
        kind, _, wanted = law.rpartition(" ")
        if kind in ("identity", "right identity") and same_number(number, int(wanted), dtype):
            if op.row is not elementwise.add or dtype.kind != "float":
                return x
            r.miss("identity", op, "x + 0.0 is not x where x is -0.0")
        if kind == "absorbing" and dtype.kind != "float" and same_number(number, int(wanted), dtype):
            return constant
    if op.row is elementwise.add and dtype.kind == "float" and number == 0 and not same_number(number, 0, dtype):
        return x
    return by_association(r, op, x, constant) if "associative" in op.row.laws else None


def by_association(r: Rewriter, op: Op, x: Value, constant: Value) -> Replacement:
    """(x + 1) + 2 is x + 3: exact for integers, which wrap."""
    if x.op is None or x.op.row is not op.row or x.type.dtype.kind == "float":
        return None
    inner, nearer = x.op.operands
    number = evaluate(op.row, (nearer, constant), op.attrs, constant.type)
    return None if number is None else r.builder.value(op.row, inner, make_constant(r.builder, constant.type, number))


def by_repetition(op: Op) -> Replacement:
    """f(f(x)) is f(x) where the row says so, and negation undoes itself."""
    (x,) = op.operands if len(op.operands) == 1 else (None,)
    if x is None or x.op is None or x.op.row is not op.row:
        return None
    if "idempotent" in op.row.laws:
        return x
    return x.op.operands[0] if op.row is elementwise.neg else None


MIRRORED: dict[OpDef, OpDef] = {
    elementwise.lt: elementwise.gt,
    elementwise.gt: elementwise.lt,
    elementwise.le: elementwise.ge,
    elementwise.ge: elementwise.le,
}


# -- ops with rules of their own ---------------------------------------------------------------------------------------
def simplify_select(r: Rewriter, op: Op) -> Replacement:
    condition, x, y = op.operands
    number = constant_of(condition)
    if number is not None:
        return x if number else y
    if x is y:
        return x
    if condition is not None and x is not None and x.type == condition.type:
        if constant_of(x) is True and constant_of(y) is False:
            return condition
    return None


def simplify_cast(r: Rewriter, op: Op) -> Replacement:
    """Nothing to convert, or two conversions of which the first loses nothing."""
    (x,) = op.operands
    to = op.attrs["to"]
    if x is None or x.type.dtype is to:
        return x
    if x.op is None or x.op.row is not elementwise.cast or constant_of(x.op.operands[0]) is not None:
        return None
    source = x.op.operands[0]
    if source is None:
        return None
    if not lossless(source.type.dtype, x.type.dtype) and not _only_low_bits(source.type.dtype, x.type.dtype, to):
        if source.type.dtype is to:
            r.miss("cast chain", op, f"{to} to {x.type.dtype} and back loses bits")
        return None
    return source if source.type.dtype is to else r.builder.value(elementwise.cast, source, **op.attrs)


def _only_low_bits(source: DType, middle: DType, to: DType) -> bool:
    """Whether the last of two integer conversions keeps only bits that the first did not touch."""
    return all(dtype.kind in ("int", "uint") for dtype in (source, middle, to)) and to.bits <= middle.bits


def lossless(narrow: DType, wide: DType) -> bool:
    """Whether every value of `narrow` is one of `wide`, of the same kind (so that a next cast sees the same value)."""
    if narrow.kind == "float" or wide.kind == "float":
        return (
            narrow.kind == wide.kind
            and narrow.exponent_bits <= wide.exponent_bits
            and narrow.mantissa_bits <= wide.mantissa_bits
        )
    if wide.kind == "bool":
        return False
    return narrow.bits < wide.bits and (narrow.kind != "int" or wide.kind == "int")


def simplify_bitcast(r: Rewriter, op: Op) -> Replacement:
    (x,) = op.operands
    if x is None or x.type.element is op.attrs["to"]:
        return x
    if x.op is not None and x.op.row is elementwise.bitcast:
        (source,) = x.op.operands
        if source is not None and source.type.element is op.attrs["to"]:
            return source
        return r.builder.value(elementwise.bitcast, source, **op.attrs)
    return None


def simplify_offset(r: Rewriter, op: Op) -> Replacement:
    return op.operands[0] if constant_of(op.operands[1]) == 0 else None


def simplify_splat(r: Rewriter, op: Op) -> Replacement:
    (x,) = op.operands
    return x if op.attrs["shape"] == () else of_uniform(r, op)


def of_uniform(r: Rewriter, op: Op) -> Replacement:
    """Moving the elements of a uniform tile: the same number or splat in the new shape."""
    (x,) = op.operands
    number, source = constant_of(x), uniform_source(x)
    if number is not None:
        return make_constant(r.builder, op.result.type, number)
    return None if source is None else r.builder.value(shape.splat, source, shape=op.result.type.shape)


def simplify_broadcast(r: Rewriter, op: Op) -> Replacement:
    return same_or_twice(r, op) or of_uniform(r, op)


def same_or_twice(r: Rewriter, op: Op) -> Replacement:
    """A reshape or broadcast to the shape there is, or right after another one."""
    (x,) = op.operands
    if x is None or x.type.shape == op.result.type.shape:
        return x
    if x.op is None or x.op.row is not op.row:
        return None
    (source,) = x.op.operands
    if source is not None and source.type.shape == op.result.type.shape:
        return source
    return r.builder.value(op.row, source, **op.attrs)


def simplify_transpose(r: Rewriter, op: Op) -> Replacement:
    (x,) = op.operands
    order = op.attrs["order"]
    if x is None or order == tuple(range(len(order))):
        return x
    if x.op is None or x.op.row is not shape.transpose:
        return of_uniform(r, op)
    (source,) = x.op.operands
    order = tuple(x.op.attrs["order"][axis] for axis in order)
    if order == tuple(range(len(order))):
        return source
    return r.builder.value(shape.transpose, source, order=order)


def simplify_load(r: Rewriter, op: Op) -> Replacement:
    mask = constant_of(op.operand("mask"))
    if mask is None:
        return None
    pointer, distance, _, other = op.operands
    if mask:
        return r.builder.emit(op.row, (pointer, distance), op.attrs).result
    return other or make_constant(r.builder, op.result.type, to_zero(op.result.type.dtype))


def to_zero(dtype: DType) -> bool | int | float:
    return {"bool": False, "float": 0.0}.get(dtype.kind, 0)


def simplify_store(r: Rewriter, op: Op) -> Replacement:
    mask = constant_of(op.operand("mask"))
    if mask is None:
        return None
    if mask:
        r.builder.emit(op.row, op.operands[:3], op.attrs)
    return ()


def simplify_if(r: Rewriter, op: Op) -> Replacement:
    """With a known condition the branch taken stands for the whole; what both branches give needs no branch."""
    condition = constant_of(op.operands[0])
    then, otherwise = (block.terminator for block in op.blocks)
    if condition is None:
        pairs = list(zip(then.operands, otherwise.operands, strict=True))
        if not pairs or all(x is not y for x, y in pairs):
            return None
        r.builder.block.ops.append(op)
        return tuple(x if x is y and x is not None else own for (x, y), own in zip(pairs, op.results))
    block = op.blocks[0 if condition else 1]
    r.builder.block.ops.extend(block.ops[:-1])
    return tuple(value for value in block.terminator.operands if value is not None)


def simplify_for(r: Rewriter, op: Op) -> Replacement:
    """A loop that runs nothing gives what it was given."""
    lower, upper, step = (constant_of(value) for value in op.operands[:3])
    if lower is None or upper is None or step is None or len(range(int(lower), int(upper), int(step) or 1)) * step:
        return None
    return tuple(value for value in op.operands[3:] if value is not None)


SPECIAL: dict[OpDef, Callable[[Rewriter, Op], Replacement]] = {
    elementwise.select: simplify_select,
    elementwise.cast: simplify_cast,
    elementwise.bitcast: simplify_bitcast,
    elementwise.offset: simplify_offset,
    shape.splat: simplify_splat,
    shape.expand: of_uniform,
    shape.broadcast: simplify_broadcast,
    shape.reshape: lambda r, op: same_or_twice(r, op) or of_uniform(r, op),
    shape.transpose: simplify_transpose,
    memory.load: simplify_load,
    memory.store: simplify_store,
    control.if_: simplify_if,
    control.for_: simplify_for,
}
