"""Sorting, written in the language: bitonic networks whose exchanges are gathers."""

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import DTYPES
from tinyton_lab.base.protocol import Constexpr
from tinyton_lab.language import core, semantic, shapes
from tinyton_lab.language.arranging import along, gather, positions
from tinyton_lab.language.builtin import LibraryFunction, builtin
from tinyton_lab.language.emission import fault, static_int, to_value
from tinyton_lab.language.types import spell
from tinyton_lab.language.value import TileValue
from tinyton_lab.ops import elementwise


@builtin
def sort_key(x: Any) -> TileValue:
    """Integers in the order of the elements of `x`: of floats, -0 stands before 0, and every NaN comes last."""
    value = to_value(x)
    semantic.computable(elementwise.max_ if value.element.kind != "bool" else elementwise.and_, value)
    if value.element.kind == "bool":
        return semantic.convert(value, DTYPES["i32"])
    if value.element.kind != "float":
        return value
    number = semantic.compare(elementwise.eq, value, value)
    return _folded(semantic.cast(semantic.where(number, value, float("nan")), _integer(value), bitcast=True))


@builtin
def from_sort_key(key: Any, like: Any) -> TileValue:
    """The elements whose keys these are; `like` has their dtype."""
    value, example = to_value(key), to_value(like)
    if example.element.kind == "bool":
        return semantic.truth(value)
    if example.element.kind != "float":
        return value
    return semantic.cast(_folded(value), example.element, bitcast=True)


def _integer(value: TileValue) -> Any:
    return DTYPES[f"i{value.element.bits}"]


def _folded(bits: TileValue) -> TileValue:
    """Turn the order of negative numbers round, which bits of floats have the wrong way; its own inverse."""
    width = bits.element.bits
    magnitude = semantic.BINARY["and"](semantic.shift(elementwise.shr, bits, width - 1), (1 << (width - 1)) - 1)
    return semantic.BINARY["xor"](bits, magnitude)


@builtin
def position(x: Any, axis: Any) -> TileValue:
    """The index of each element along an axis."""
    return positions(to_value(x).shape, static_int(axis, "an axis"))


@builtin
def log2_length(x: Any, axis: Any) -> int:
    """The logarithm of an axis' length."""
    return to_value(x).shape[static_int(axis, "an axis")].bit_length() - 1


@builtin
def axis_of(x: Any, dim: Any) -> int:
    """An axis, counted from 0; the last one for None."""
    return along(to_value(x), dim)


@builtin
def leading(x: Any, k: Any, axis: Any) -> TileValue:
    """The first `k` elements along an axis."""
    value, place = to_value(x), static_int(axis, "an axis")
    (count,) = shapes.static_shape(k)
    length = value.shape[place]
    if count > length:
        raise fault("TT2001", what=f"there are not {count} elements along axis {place} of {spell(value.tile)}")
    shape = (*value.shape[:place], count, *value.shape[place + 1 :])
    return gather(value, positions(shape, place), place)


@builtin
def halved(key: Any, k: Any, axis: Any, descending: Any) -> TileValue:
    """Of each two neighbouring runs of `k` the greater elements (else the lesser), a bitonic run, along an axis."""
    value, place, run = to_value(key), static_int(axis, "an axis"), static_int(k, "a length")
    shape = (*value.shape[:place], value.shape[place] // 2, *value.shape[place + 1 :])
    at = positions(shape, place)
    within = semantic.BINARY["and"](at, run - 1)
    first = semantic.BINARY["sub"](semantic.BINARY["add"](at, at), within)
    pair = (gather(value, start, place) for start in (first, semantic.BINARY["add"](first, run)))
    return semantic.binary(elementwise.max_ if static_int(descending, "a flag") else elementwise.min_, *pair)


@LibraryFunction
def greatest_run(key: Any, k: Constexpr, axis: Constexpr, descending: Constexpr) -> Any:
    """Sort runs of `k`, then drop half of what is left and merge again until one run remains."""
    width: Constexpr = log2_length(leading(key, k, axis), axis)
    runs: Constexpr = log2_length(key, axis) - width
    key = bitonic(key, axis, 1, width + 1, descending)
    for _ in core.static_range(runs):
        key = bitonic(halved(key, k, axis, descending), axis, width, width + 1, descending)
    return key


@LibraryFunction
def bitonic(key: Any, axis: Constexpr, first: Constexpr, last: Constexpr, descending: Constexpr) -> Any:
    """Run the stages ``first ... last - 1`` of a bitonic sort along an axis."""
    place = position(key, axis)
    for stage in range(first, last):
        for step in range(0, stage):
            distance = 1 << (stage - 1 - step)
            other = gather(key, place ^ distance, axis)
            falls = ((place >> stage) & 1) != descending
            upper = (place & distance) != 0
            key = core.where(falls != upper, core.maximum(key, other), core.minimum(key, other))
    return key


@LibraryFunction
def sort(x: Any, dim: Constexpr = None, descending: Constexpr = False) -> Any:
    """The elements in order along an axis, the last one by default. NaN counts as the greatest number."""
    axis: Constexpr = axis_of(x, dim)
    falls: Constexpr = 1 if descending else 0
    return from_sort_key(bitonic(sort_key(x), axis, 1, log2_length(x, axis) + 1, falls), x)


@LibraryFunction
def topk(x: Any, k: Constexpr, dim: Constexpr = None, descending: Constexpr = True) -> Any:
    """The `k` greatest elements along an axis, the greatest first; the least ones, in order, unless `descending`."""
    axis: Constexpr = axis_of(x, dim)
    falls: Constexpr = 1 if descending else 0
    return from_sort_key(greatest_run(sort_key(x), k, axis, falls), x)


@LibraryFunction
def bitonic_merge(x: Any, dim: Constexpr = None, descending: Constexpr = False) -> Any:
    """Sort a bitonic sequence, one that rises and then falls, along an axis (the last one by default)."""
    axis: Constexpr = axis_of(x, dim)
    stages: Constexpr = log2_length(x, axis)
    falls: Constexpr = 1 if descending else 0
    return from_sort_key(bitonic(sort_key(x), axis, stages, stages + 1, falls), x)
