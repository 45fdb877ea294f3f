"""The builtins of the language: what a kernel may call. They read their arguments; what they mean is below."""

from __future__ import annotations

import builtins
import enum
import sys
from typing import TYPE_CHECKING, Any

from tinyton_lab.base.dtypes import DType, float32
from tinyton_lab.base.protocol import Constexpr
from tinyton_lab.language import blocks, memory, pairing, products, reductions, semantic, shapes
from tinyton_lab.language.builtin import builtin
from tinyton_lab.language.emission import (
    effect,
    emit,
    fault,
    number,
    static,
    static_int,
    to_value,
    unwrap,
)
from tinyton_lab.language.value import TileValue, emitter
from tinyton_lab.ops import contract, elementwise, math, program


class PropagateNan(enum.Enum):
    """What `maximum`, `minimum` and `clamp` do with NaN: prefer the number, or give NaN."""

    NONE = 0
    ALL = 0xFFFF


# Which program
@builtin
def program_id(axis: Any) -> TileValue:
    """Index of this program along axis 0, 1 or 2 of the grid, as i32."""
    return emit(program.program_id, axis=grid_axis(axis))


@builtin
def num_programs(axis: Any) -> TileValue:
    """Number of programs along axis 0, 1 or 2 of the grid, as i32."""
    return emit(program.num_programs, axis=grid_axis(axis))


def grid_axis(axis: Any) -> int:
    found = static_int(axis, "the axis of the grid")
    if found not in (0, 1, 2):
        raise fault("TT2008", axis=found, rank=3)
    return found


# Making tiles
@builtin
def arange(start: Any, end: Any) -> TileValue:
    """The integers ``start, ..., end - 1`` as i32; both known at compile time, their distance a power of two."""
    return shapes.arange(start, end)


@builtin
def full(shape: Any, value: Any, dtype: Any) -> TileValue:
    """A tile of a shape with `value` in every element; `value` is a number or a scalar."""
    wanted = static_dtype(dtype)
    plain = semantic.operand(value)
    if isinstance(plain, TileValue):
        return shapes.broadcast_to(semantic.cast(plain, wanted), shapes.static_shape(shape))
    scalar = semantic.convert(to_value(plain), wanted) if not number_fits(plain, wanted) else number(plain, wanted)
    return shapes.broadcast_to(scalar, shapes.static_shape(shape))


def number_fits(value: Any, dtype: DType) -> bool:
    """Whether a Python number is a value of a dtype as it stands (a float for an integer dtype is converted)."""
    return dtype.kind == "float" or not isinstance(value, builtins.float) or value.is_integer()


@builtin
def zeros(shape: Any, dtype: Any) -> TileValue:
    """A tile of zeros."""
    wanted = static_dtype(dtype)
    return shapes.broadcast_to(number(0, wanted), shapes.static_shape(shape))


@builtin
def zeros_like(input: Any) -> TileValue:
    """A tile of zeros of the shape and dtype of another."""
    like = to_value(input)
    return shapes.broadcast_to(number(0, semantic.element(like)), like.shape)


def static_dtype(dtype: Any) -> DType:
    """Read a dtype argument. Raises TT2005."""
    found = static(dtype, "a dtype")
    if not isinstance(found, DType):
        raise fault("TT2005", what=f"a dtype is needed, such as tl.float32, not {found!r}")
    return found


# Memory
@builtin
def load(
    pointer: Any,
    mask: Any = None,
    other: Any = None,
    boundary_check: Any = (),
    padding_option: Any = "",
    cache_modifier: Any = "",
    eviction_policy: Any = "",
    volatile: Any = False,
) -> TileValue:
    """Read memory at a pointer or a tile of pointers.

    Elements whose `mask` is False are not read: they are `other`, or 0. Of a block pointer, elements outside the tensor
    along the axes in `boundary_check` are 0, or NaN with ``padding_option="nan"``. `cache_modifier`, `eviction_policy`
    and `volatile` hint at caching.
    """
    attrs = memory.hints("load", cache_modifier, eviction_policy, volatile)
    block = _block(pointer, mask, other, boundary_check)
    return block.loaded(boundary_check, padding_option, attrs) if block else memory.load(pointer, mask, other, attrs)


@builtin
def store(
    pointer: Any,
    value: Any,
    mask: Any = None,
    boundary_check: Any = (),
    cache_modifier: Any = "",
    eviction_policy: Any = "",
) -> None:
    """Write memory at a pointer or a tile of pointers; elements whose `mask` is False are not written.

    The value is converted to the dtype pointed to. Elements of a block pointer outside the tensor along the axes in
    `boundary_check` are not written.
    """
    attrs = memory.hints("store", cache_modifier, eviction_policy)
    block = _block(pointer, mask, None, boundary_check)
    block.stored(value, boundary_check, attrs) if block else memory.store(pointer, value, mask, attrs)


def _block(pointer: Any, mask: Any, other: Any, boundary_check: Any) -> blocks.block_pointer | None:
    """The block pointer of an access, None for a tile of pointers. Raises TT2005 for what belongs to the other."""
    block = unwrap(pointer)
    if isinstance(block, blocks.block_pointer):
        if unwrap(mask) is not None or unwrap(other) is not None:
            raise fault("TT2005", what="`mask` and `other` belong to tiles of pointers; a block has `boundary_check`")
        return block
    if static(boundary_check, "boundary_check"):
        raise fault("TT2005", what="`boundary_check` belongs to block pointers; use a mask with a tile of pointers")
    return None


# Shapes
@builtin
def broadcast(input: Any, other: Any) -> tuple[TileValue, TileValue]:
    """Both operands in their common shape."""
    return shapes.broadcast(to_value(input), to_value(other))


@builtin
def broadcast_to(input: Any, *shape: Any) -> TileValue:
    """Repeat along the axes of length 1 (and new leading axes) to get a shape."""
    return shapes.broadcast_to(to_value(input), shapes.static_shape(*shape))


@builtin
def expand_dims(input: Any, axis: Any) -> TileValue:
    """Insert axes of length 1; `axis` is one position or several, in the result."""
    value, places = to_value(input), static(axis, "an axis")
    wanted = list(places) if isinstance(places, tuple) else [places]
    rank = builtins.len(value.shape) + builtins.len(wanted)
    for place in sorted(shapes.static_axis(each, rank) for each in wanted):
        value = shapes.expand(value, place)
    return value


@builtin
def reshape(input: Any, *shape: Any, can_reorder: Any = False) -> TileValue:
    """The same elements in row-major order under another shape."""
    return shapes.reshape(to_value(input), shapes.static_shape(*shape))


@builtin
def view(input: Any, *shape: Any) -> TileValue:
    """The same as `reshape`."""
    return shapes.reshape(to_value(input), shapes.static_shape(*shape))


@builtin
def ravel(x: Any, can_reorder: Any = False) -> TileValue:
    """The elements in row-major order along one axis."""
    value = to_value(x)
    return shapes.reshape(value, (value.numel,))


@builtin
def permute(input: Any, *dims: Any) -> TileValue:
    """Permute the axes: axis ``dims[i]`` becomes axis i."""
    order = dims[0] if builtins.len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    return shapes.permute(to_value(input), order)


@builtin
def trans(input: Any, *dims: Any) -> TileValue:
    """Swap the two last axes, or permute all of them."""
    value = to_value(input)
    if dims:
        return permute(value, *dims)
    rank = builtins.len(value.shape)
    if rank < 2:
        raise fault("TT2008", axis=1, rank=rank)
    return shapes.permute(value, (*builtins.range(rank - 2), rank - 1, rank - 2))


# Casts
@builtin
def cast(input: Any, dtype: Any, fp_downcast_rounding: Any = None, bitcast: Any = False) -> TileValue:
    """Convert to a dtype: floats round to nearest even (or ``"rtz"``), float to integer truncates and saturates.

    `bitcast` reinterprets the bits as a dtype of the same width.
    """
    return semantic.cast(input, dtype, unwrap(fp_downcast_rounding), builtins.bool(static(bitcast, "bitcast")))


@builtin
def to_tensor(x: Any) -> TileValue:
    """A number as a scalar of the kernel: int by value, float as f32."""
    return to_value(x)


# Elementwise
@builtin
def where(condition: Any, x: Any, y: Any) -> TileValue:
    """Elements of `x` where the condition holds, else of `y`; both are evaluated."""
    return semantic.where(condition, x, y)


@builtin
def maximum(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> TileValue:
    """The greater of two elements; a NaN gives the other one unless `propagate_nan` is ``PropagateNan.ALL``."""
    return _extreme(elementwise.max_, elementwise.max_nan, x, y, propagate_nan)


@builtin
def minimum(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> TileValue:
    """The lesser of two elements; a NaN gives the other one unless `propagate_nan` is ``PropagateNan.ALL``."""
    return _extreme(elementwise.min_, elementwise.min_nan, x, y, propagate_nan)


def _extreme(quiet: Any, loud: Any, x: Any, y: Any, propagate_nan: Any) -> TileValue:
    a, b = semantic.promoted(x, y)
    propagates = unwrap(propagate_nan) == PropagateNan.ALL and a.element.kind == "float"
    return emit(loud if propagates else quiet, a, b)


@builtin
def clamp(x: Any, min: Any, max: Any, propagate_nan: Any = PropagateNan.NONE) -> TileValue:
    """Elements of `x` limited to ``min ... max``."""
    value, low, high = semantic.ternary(x, min, max)
    semantic.computable(elementwise.max_, value)
    return minimum(maximum(value, low, propagate_nan), high, propagate_nan)


@builtin
def fma(x: Any, y: Any, z: Any) -> TileValue:
    """``x * y + z`` of floats, rounded once."""
    a, b, c = semantic.ternary(x, y, z)
    semantic.computable(elementwise.fma, a)
    return emit(elementwise.fma, a, b, c)


@builtin
def add(x: Any, y: Any, sanitize_overflow: Any = True) -> TileValue:
    """``x + y``."""
    return semantic.add(x, y, wraps=not unwrap(sanitize_overflow))


@builtin
def sub(x: Any, y: Any, sanitize_overflow: Any = True) -> TileValue:
    """``x - y``."""
    return semantic.sub(x, y, wraps=not unwrap(sanitize_overflow))


@builtin
def mul(x: Any, y: Any, sanitize_overflow: Any = True) -> TileValue:
    """``x * y``."""
    return semantic.mul(x, y, wraps=not unwrap(sanitize_overflow))


@builtin
def abs(x: Any) -> TileValue:
    """Absolute value; the least integer is its own."""
    value = to_value(x)
    if value.element.kind in ("bool", "uint"):
        return value
    semantic.computable(elementwise.abs_, value)
    return emit(elementwise.abs_, value)


@builtin
def floor(x: Any) -> TileValue:
    """Round toward minus infinity."""
    return semantic.float_function(elementwise.floor, x)


@builtin
def ceil(x: Any) -> TileValue:
    """Round toward plus infinity."""
    return semantic.float_function(elementwise.ceil, x)


@builtin
def sqrt(x: Any) -> TileValue:
    """Square root; within 1 ulp where fast instructions are in use."""
    return semantic.float_function(math.sqrt, x)


@builtin
def sqrt_rn(x: Any) -> TileValue:
    """Square root, correctly rounded."""
    return semantic.float_function(math.sqrt_rn, x)


@builtin
def fdiv(x: Any, y: Any, ieee_rounding: Any = False) -> TileValue:
    """Quotient of floats; correctly rounded with `ieee_rounding`."""
    a, b = semantic.promoted(x, y, division=True)
    row = elementwise.div_rn if static(ieee_rounding, "ieee_rounding") else elementwise.div
    semantic.computable(row, a)
    return emit(row, a, b)


@builtin
def div_rn(x: Any, y: Any) -> TileValue:
    """Quotient of floats, correctly rounded."""
    return semantic.divide(elementwise.div_rn, x, y)


@builtin
def umulhi(x: Any, y: Any) -> TileValue:
    """Upper half of the double-width product of integers, which count as unsigned."""
    return semantic.unsigned_high_product(x, y)


@builtin
def logical_and(x: Any, y: Any) -> TileValue:
    """Whether both differ from zero, elementwise."""
    return semantic.logical_and(x, y)


@builtin
def logical_or(x: Any, y: Any) -> TileValue:
    """Whether one of both differs from zero, elementwise."""
    return semantic.logical_or(x, y)


# Reductions
@builtin
def reduce(input: Any, axis: Any, combine_fn: Any, keep_dims: Any = False) -> Any:
    """Combine all elements along an axis (None: of all axes) with a function of two sets of scalars.

    `input` is a tile, or a tuple of tiles which are reduced together; so is the result. The function must be
    associative; it gets elements in their order.
    """
    combine = reductions.user_combine(unwrap(combine_fn))
    if isinstance(input, (tuple, list)):
        return tuple(reductions.reduce([to_value(x) for x in input], axis, combine, keep_dims, pairing.reduced))
    return reductions.reduce([to_value(input)], axis, combine, keep_dims, pairing.reduced)[0]


@builtin
def sum(input: Any, axis: Any = None, keep_dims: Any = False, dtype: Any = None) -> TileValue:
    """Sum along an axis (None: of all elements) as `dtype`: by default the tile's, of integers at least 32 bits.

    Narrow floats are added up in float32 and rounded once.
    """
    value = to_value(input)
    wanted = semantic.widened(semantic.element(value)) if unwrap(dtype) is None else static_dtype(dtype)
    kept = float32 if wanted.kind == "float" and wanted.bits < 32 else wanted
    total = reductions.reduce([semantic.convert(value, kept)], axis, reductions.one(semantic.add), keep_dims)[0]
    return semantic.convert(total, wanted)


@builtin
def max(
    input: Any,
    axis: Any = None,
    return_indices: Any = False,
    return_indices_tie_break_left: Any = True,
    keep_dims: Any = False,
) -> Any:
    """Greatest element along an axis (None: of all elements), with its index if asked; NaN loses against numbers."""
    return _greatest(input, axis, True, return_indices, return_indices_tie_break_left, keep_dims)


@builtin
def min(
    input: Any,
    axis: Any = None,
    return_indices: Any = False,
    return_indices_tie_break_left: Any = True,
    keep_dims: Any = False,
) -> Any:
    """Least element along an axis (None: of all elements), with its index if asked; NaN loses against numbers."""
    return _greatest(input, axis, False, return_indices, return_indices_tie_break_left, keep_dims)


def _greatest(x: Any, axis: Any, greatest: bool, indices: Any, tie_break_left: Any, keep_dims: Any) -> Any:
    if not static(indices, "return_indices"):
        return reductions.extreme(x, axis, greatest, keep_dims)
    left = builtins.bool(static(tie_break_left, "tie_break_left"))
    return tuple(reductions.extreme_with_index(x, axis, greatest, keep_dims, left))


@builtin
def argmax(input: Any, axis: Any, tie_break_left: Any = True, keep_dims: Any = False) -> TileValue:
    """Index of the greatest element along an axis, of the first one among equals."""
    left = builtins.bool(static(tie_break_left, "tie_break_left"))
    return reductions.index_of_extreme(input, axis, True, keep_dims, left)


@builtin
def argmin(input: Any, axis: Any, tie_break_left: Any = True, keep_dims: Any = False) -> TileValue:
    """Index of the least element along an axis, of the first one among equals."""
    left = builtins.bool(static(tie_break_left, "tie_break_left"))
    return reductions.index_of_extreme(input, axis, False, keep_dims, left)


@builtin
def xor_sum(input: Any, axis: Any = None, keep_dims: Any = False) -> TileValue:
    """Exclusive or of all integers along an axis."""
    return _bitwise(elementwise.xor, input, axis, keep_dims)


@builtin
def reduce_or(input: Any, axis: Any, keep_dims: Any = False) -> TileValue:
    """Bitwise or of all integers along an axis."""
    return _bitwise(elementwise.or_, input, axis, keep_dims)


def _bitwise(row: Any, x: Any, axis: Any, keep_dims: Any) -> TileValue:
    value = to_value(x)
    semantic.computable(row, value)
    combine = reductions.one(lambda a, b: semantic.binary(row, a, b))
    return reductions.reduce([value], axis, combine, keep_dims)[0]


# Products
@builtin
def dot(
    input: Any,
    other: Any,
    acc: Any = None,
    input_precision: Any = None,
    allow_tf32: Any = None,
    max_num_imprecise_acc: Any = None,
    out_dtype: Any = None,
) -> TileValue:
    """Product of two matrices, or of two batches of them, added to `acc`.

    Sums are kept in f32 (f64 for float64, i32 for int8), over k = 0, 1, ... with fused multiply-adds. `out_dtype` may
    be float16 for float16 and 8-bit floats. `input_precision` (``"tf32"`` by default, ``"ieee"``, ``"tf32x3"`` ...)
    says how exactly a GPU takes f32; the CPU and the interpreter always compute as for ``"ieee"``.
    """
    precision = products.input_precision(input_precision, allow_tf32)
    return products.dot(input, other, acc, precision, max_num_imprecise_acc, out_dtype)


# Checks
@builtin
def assume(cond: Any) -> None:
    """Promise that a scalar condition holds."""
    test = semantic.truth(cond)
    if test.known is None:
        effect(contract.assume, test)


@builtin
def debug_barrier() -> None:
    """Nothing: the ops of a tile program are ordered as they are written."""
    emitter()


@builtin
def static_assert(cond: Any, msg: Any = "") -> None:
    """Check a condition at compile time. Raises TT1012 with the message."""
    if not static(cond, "the condition of static_assert"):
        text = unwrap(msg)
        raise fault("TT1012", message=f": {text}" if text else "")


@builtin
def static_print(*values: Any, sep: Any = " ", end: Any = "\n", file: Any = None, flush: Any = False) -> None:
    """Print at compile time; values of the kernel print as their types."""
    emitter()
    builtins.print(*[shown(value) for value in values], sep=unwrap(sep), end=unwrap(end), file=file, flush=flush)


def shown(value: Any) -> str:
    """A compile-time value as `static_print` and f-strings show it."""
    value = unwrap(value)
    if isinstance(value, TileValue):
        return str(value.known) if value.known is not None else str(value.type)
    return str(value)


@builtin
def device_print(prefix: Any, *args: Any, hex: Any = False) -> None:
    """Print values at run time, a line per element; `hex` prints their bits."""
    hexadecimal = builtins.bool(static(hex, "hex"))
    emitter().message("print", str(unwrap(prefix)), [to_value(x) for x in args], hexadecimal)


@builtin
def device_assert(cond: Any, msg: Any = "", mask: Any = None) -> None:
    """Check a condition at run time, in every element that `mask` leaves on: a failure ends the launch with TT4011."""
    test = semantic.truth(cond)
    if unwrap(mask) is not None:
        test = semantic.logical_or(test, semantic.logical_not(mask))
    emitter().message("assert", str(unwrap(msg)), [test])


@builtin
def condition(arg1: Any, **options: Any) -> Any:
    """The condition of a `while` loop with options for the compiler; the options have no effect."""
    return arg1


class static_range:
    """A loop that is unrolled: ``for i in tl.static_range(4)``; `i` is known at compile time."""

    def __init__(self, arg1: Any, arg2: Any = None, step: Any = None) -> None:
        self.start, self.end = (0, arg1) if arg2 is None else (arg1, arg2)
        self.step = 1 if step is None else step

    def __iter__(self) -> Any:
        numbers = (static_int(x, "a bound of static_range") for x in (self.start, self.end, self.step))
        return iter(builtins.range(*numbers))


LOOP_OPTIONS = frozenset(
    {
        "num_stages",
        "loop_unroll_factor",
        "disallow_acc_multi_buffer",
        "flatten",
        "warp_specialize",
        "disable_licm",
        "multi_cta",
    }
)


class range:
    """A loop like Python's `range`, with options for the compiler (``num_stages``, ``loop_unroll_factor`` ...)."""

    def __init__(self, arg1: Any, arg2: Any = None, step: Any = None, **options: Any) -> None:
        self.start, self.end = (0, arg1) if arg2 is None else (arg1, arg2)
        self.step, self.options = 1 if step is None else step, options


CONSTEXPR_0 = Constexpr(0)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Names that host code looks for here and that live in other modules of the language: dtypes, `tensor`."""
        package = sys.modules[__package__]
        if name.startswith("__") or name not in vars(package):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return vars(package)[name]
