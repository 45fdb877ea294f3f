"""What reductions mean: axes, kept dimensions, the dtype in which they are kept, and their combining functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyton_lab.base.dtypes import float32, int32
from tinyton_lab.ir.definition import Mismatch
from tinyton_lab.language import semantic
from tinyton_lab.language.emission import fault, to_value, unwrap
from tinyton_lab.language.shapes import arange, broadcast_to, expand, reshape, static_axis
from tinyton_lab.language.types import spell
from tinyton_lab.language.value import Branching, TileValue, emitter, make
from tinyton_lab.ops import elementwise as ops

Combine = Callable[..., Sequence[TileValue]]


Pairing = Callable[[Sequence[TileValue], int, Combine], list[TileValue]]


def reduce(
    inputs: Sequence[TileValue],
    axis: Any,
    combine: Combine,
    keep_dims: bool = False,
    pairing: Pairing | None = None,
    commutes: bool = False,
) -> list[TileValue]:
    """Combine all elements along an axis, of all inputs together; None reduces every axis. Raises TT2008, TT2022.

    `pairing` does the work for a combining function that may branch. Only one that `commutes` may get elements out of
    their order.
    """
    shape, axis = inputs[0].shape, unwrap(axis)
    for x in inputs:
        if not x.shape or x.shape != shape:
            raise fault("TT2022", what=" and ".join(spell(each.tile) for each in inputs))
    if axis is None:
        flat = [reshape(x, (x.numel,)) for x in inputs]
        place = 0
    else:
        flat, place = list(inputs), static_axis(axis, len(shape))
    results = _reduce(flat, place, combine, pairing, commutes)
    if not unwrap(keep_dims):
        return results
    if axis is not None:
        return [expand(x, place) for x in results]
    return [broadcast_to(x, (1,) * len(shape)) for x in results]


def checked(combine: Combine, inputs: int) -> Combine:
    """A combining function of so many inputs whose results are looked at. Raises TT2023."""

    def apply(*values: TileValue) -> Sequence[TileValue]:
        results = combine(*values)
        if [x.tile for x in results] != [x.tile for x in values[:inputs]]:
            seen, wanted = (", ".join(spell(x.tile) for x in group) for group in (results, values[:inputs]))
            raise fault("TT2023", seen=seen, wanted=wanted)
        return results

    return apply


def _reduce(
    inputs: Sequence[TileValue], axis: int, combine: Combine, pairing: Pairing | None, commutes: bool
) -> list[TileValue]:
    try:
        handles = emitter().reduce([x.handle for x in inputs], axis, checked(combine, len(inputs)), commutes)
    except Branching:
        if pairing is None:
            raise
        return pairing(inputs, axis, checked(combine, len(inputs)))
    except Mismatch as mismatch:
        raise fault("TT2001", what=str(mismatch)) from None
    return [make(handle.type, handle) for handle in handles]


def user_combine(function: Any) -> Combine:
    """A combining function written by the user: called through the emitter, its result read as a tuple."""
    at_work = emitter()

    def combine(*values: TileValue) -> Sequence[TileValue]:
        result = at_work.call(function, values, {})
        results = result if isinstance(result, tuple) else (result,)
        return [to_value(x) for x in results]

    return combine


def one(function: Callable[[Any, Any], TileValue]) -> Combine:
    """A combining function of one input."""
    return lambda a, b: (function(a, b),)


def extreme_input(x: TileValue) -> TileValue:
    """The operand of `max` and `min`: types of less than 32 bits are widened, as f32 or i32."""
    if x.element.bits >= 32:
        return x
    return semantic.convert(x, float32 if x.element.kind == "float" else int32)


def extreme(x: Any, axis: Any, greatest: bool, keep_dims: bool) -> TileValue:
    """The greatest or least element; NaN loses against any number."""
    row = ops.max_ if greatest else ops.min_
    combine = one(lambda a, b: semantic.binary(row, a, b))
    return reduce([extreme_input(to_value(x))], axis, combine, keep_dims)[0]


def extreme_with_index(x: Any, axis: Any, greatest: bool, keep_dims: bool, tie_break_left: bool) -> list[TileValue]:
    """The greatest or least element and where it is; NaN loses against any number."""
    value = to_value(x)
    if unwrap(axis) is None:
        value, axis = reshape(value, (value.numel,)), 0
    place = static_axis(axis, len(value.shape))
    index = arange(0, value.shape[place])
    for axis_number in range(len(value.shape)):
        if axis_number != place:
            index = expand(index, axis_number)
    combine = _index_combine(ops.gt if greatest else ops.lt, value.element.kind == "float", tie_break_left)
    return reduce([value, broadcast_to(index, value.shape)], place, combine, keep_dims, commutes=True)


def index_of_extreme(x: Any, axis: Any, greatest: bool, keep_dims: bool, tie_break_left: bool) -> TileValue:
    """Where the greatest or least element is: two reductions, each of one input, which vectors do at full width."""
    value = extreme_input(to_value(x))
    if unwrap(axis) is None:
        value = reshape(value, (value.numel,))
    place = static_axis(0 if unwrap(axis) is None else axis, len(value.shape))
    best = broadcast_to(expand(extreme(value, place, greatest, False), place), value.shape)
    found = semantic.compare(ops.eq, value, best)
    if value.element.kind == "float":
        found = semantic.logical_or(found, semantic.compare(ops.ne, best, best))
    index = arange(0, value.shape[place])
    for axis_number in range(len(value.shape)):
        if axis_number != place:
            index = expand(index, axis_number)
    worst = value.shape[place] if tie_break_left else -1
    index = semantic.where(found, broadcast_to(index, value.shape), worst)
    where = extreme(index, place, not tie_break_left, keep_dims)
    return broadcast_to(where, (1,) * len(to_value(x).shape)) if unwrap(keep_dims) and unwrap(axis) is None else where


def _index_combine(better: Any, floats: bool, tie_break_left: bool) -> Combine:
    """Whichever order the elements come in, one of two wins: among equals the first, else the last of them."""

    def combine(a: TileValue, i: TileValue, b: TileValue, j: TileValue) -> Sequence[TileValue]:
        wins, equal = semantic.compare(better, a, b), semantic.compare(ops.eq, a, b)
        if floats:
            number, other = semantic.compare(ops.eq, a, a), semantic.compare(ops.eq, b, b)
            wins = semantic.logical_or(wins, semantic.logical_and(number, semantic.logical_not(other)))
            equal = semantic.logical_or(equal, semantic.logical_not(semantic.logical_or(number, other)))
        preferred = semantic.compare(ops.lt if tie_break_left else ops.gt, i, j)
        first = semantic.logical_or(wins, semantic.logical_and(equal, preferred))
        return semantic.where(first, a, b), semantic.where(first, i, j)

    return combine
