"""tiny-ton's dialect: its decorator and builtins, so that its programs run with only the import changed.

A kernel is written for one axis of lanes, as many as one likes. What depends on `arange` is varying, a tile with one
element per lane; the rest is uniform, a scalar. Tiles have a power of two of elements: where there are fewer lanes,
the elements after the last one exist, but touch no memory and count in no reduction. The operators' rules are the front
end's (`tiny_ton_rules`).

>>> import numpy as np
>>> import tinyton_lab.tiny_ton as tt
>>> @tt.jit
... def add(a, b, c, n, BLOCK: tt.constexpr):
...     i = tt.program_id(0) * BLOCK + tt.arange(0, BLOCK)
...     tt.store(c + i, tt.load(a + i, mask=i < n) + tt.load(b + i, mask=i < n), mask=i < n)
>>> a, c = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
>>> _ = add[(2,)](a, a, c, 5, 4, backend="interpreter")
>>> c
array([0., 2., 4., 6., 8.], dtype=float32)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tinyton_lab.base.diagnostics import error
from tinyton_lab.base.dtypes import DType, float32, int1, integer_range
from tinyton_lab.base.protocol import Constexpr
from tinyton_lab.kernel import Kernel
from tinyton_lab.kernel.contiguous import flat_copies, lies_flat
from tinyton_lab.kernel.launch import Launch
from tinyton_lab.language import arranging, core, functions, memory, reductions, semantic, shapes, slots
from tinyton_lab.language.builtin import of_dialect
from tinyton_lab.language.emission import fault, here, number, static_int, to_value, unwrap
from tinyton_lab.language.value import TileValue, emitter
from tinyton_lab.ops import elementwise as ops

__all__ = [
    "abs", "arange", "constexpr", "exp", "jit", "load", "load4", "log", "max", "num_programs", "program_id",
    "reduce_max", "reduce_sum", "relu", "rsqrt", "shared_load", "shared_store", "sqrt", "store", "sync",
]  # fmt: skip

constexpr = Constexpr
builtin = of_dialect("tiny_ton")
ALONE = "reduced before there were lanes"


class LaneKernel(Kernel):
    """A kernel in tiny-ton's dialect: its arguments are flat, whatever the strides of the arrays that are passed."""

    def _launch_bound(self, grid: Any, values: Sequence[Any], options: dict[str, Any]) -> Launch:
        if all(map(lies_flat, values)):
            return super()._launch_bound(grid, values, options)
        with flat_copies(values) as flat:
            return super()._launch_bound(grid, flat, options)


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a kernel of a Python function in tiny-ton's dialect; it is launched like any other.

    Options are those of `tinyton_lab.jit`; ``math="full"`` is the default on every engine.
    """
    if function is None:
        return lambda decorated: jit(decorated, **options)
    if not inspect.isfunction(function):
        raise error("TT3005", kernel="jit", name="function", what=f"a {type(function).__name__}")
    return LaneKernel(function, "tiny_ton", **{"math": "full", **options})


@builtin
def program_id(axis: Any = 0) -> TileValue:
    """Index of this program along an axis of the grid."""
    return core.program_id(axis)


@builtin
def num_programs(axis: Any = 0) -> TileValue:
    """Number of programs along an axis of the grid."""
    return core.num_programs(axis)


@builtin
def arange(start: Any, end: Any) -> TileValue:
    """The lane numbers ``start ... end - 1``. Raises TT2031 unless all ranges of a kernel have one length.

    The first one must come before the first reduction of a uniform value.
    """
    first, last = static_int(start, "the start of a range"), static_int(end, "the end of a range")
    count = last - first
    lanes = shapes.arange(first, first + padded(count) if count > 0 else last)
    known: int = emitter().memory.setdefault("lanes", count)
    if known != count:
        raise fault("TT2031", before=f"an earlier one {known}", other=count)
    if count != 1 and ALONE in emitter().memory:
        raise fault("TT2031", before="a reduction before it took it for granted that there is one", other=count)
    return lanes


def padded(count: int) -> int:
    """The elements of a tile for so many lanes."""
    return 1 << (count - 1).bit_length()


def alive() -> TileValue | None:
    """Which elements of a tile are lanes; None where all of them are."""
    lanes = emitter().memory.get("lanes", 1)
    if lanes == padded(lanes):
        return None
    return semantic.compare(semantic.COMPARE["lt"], shapes.arange(0, padded(lanes)), lanes)


def among_lanes(test: TileValue | None, *varying: TileValue) -> TileValue | None:
    """A mask, narrowed to the lanes where something varies."""
    lanes = alive() if any(value.shape for value in (*varying, *([test] if test is not None else []))) else None
    if lanes is None or test is None:
        return test if lanes is None else lanes
    return semantic.logical_and(test, lanes)


def spread(value: Any) -> TileValue:
    """A value in every lane: uniform ones are repeated."""
    found = to_value(value)
    lanes = emitter().memory.get("lanes")
    if lanes is None:
        emitter().memory[ALONE], lanes = True, 1
    return found if found.shape or lanes == 1 else shapes.broadcast_to(found, (padded(lanes),))


# Memory
@builtin
def load(ptr: Any, mask: Any = None, other: Any = None) -> TileValue:
    """Read memory; lanes that the mask turns off get `other`, or 0."""
    pointer, _ = memory.pointers(ptr)
    test = among_lanes(None if unwrap(mask) is None else semantic.truth(mask), pointer)
    if test is None:
        return memory.load(pointer, None, None, {})
    pointer, test = shapes.broadcast(pointer, test)
    return memory.load(pointer, test, None if unwrap(mask) is None else other, {})


@builtin
def load4(ptr: Any, mask: Any = None, other: Any = None) -> tuple[TileValue, ...]:
    """Read four neighbouring elements per lane, in one access; the mask turns all four off."""
    pointer, _ = memory.pointers(ptr)
    if not pointer.shape:
        return tuple(load(semantic.add(pointer, step), mask, other) for step in range(4))
    four = (*pointer.shape, 4)
    test = among_lanes(None if unwrap(mask) is None else semantic.truth(mask), pointer)
    place = semantic.add(in_fours(pointer), shapes.broadcast_to(shapes.expand(shapes.arange(0, 4), 0), four))
    if test is None:
        loaded = memory.load(place, None, None, {})
    else:
        instead = in_fours(to_value(other)) if unwrap(mask) is not None and unwrap(other) is not None else None
        loaded = memory.load(place, in_fours(shapes.broadcast_to(test, pointer.shape)), instead, {})
    even, odd = arranging.split(shapes.reshape(loaded, (*pointer.shape, 2, 2)))
    (first, third), (second, fourth) = arranging.split(even), arranging.split(odd)
    return first, second, third, fourth


def in_fours(value: TileValue) -> TileValue:
    """The value of each lane four times, along a new last axis."""
    return shapes.broadcast_to(shapes.expand(value, 1), (*value.shape, 4)) if value.shape else value


@builtin
def store(ptr: Any, value: Any, mask: Any = None) -> None:
    """Write memory. Where all lanes write to one place, the highest lane that the mask leaves on stays."""
    pointer, _ = memory.pointers(ptr)
    stored = to_value(value)
    test = among_lanes(None if unwrap(mask) is None else semantic.truth(mask), pointer, stored)
    if not pointer.shape and (stored.shape or (test is not None and test.shape)):
        stored, test = last_lane(stored, test)
    memory.store(pointer, stored, test, {})


def last_lane(value: TileValue, test: TileValue | None) -> tuple[TileValue, TileValue]:
    """The value of the highest lane whose test holds, and whether there is one. A remark says where values differ."""
    if value.shape:
        emitter().remark("TT1037", here())
    active = test if test is not None else number(True, int1)
    value, active = shapes.broadcast(value, active)

    lane = semantic.where(active, shapes.arange(0, value.numel), -1)

    def later(a: TileValue, i: TileValue, b: TileValue, j: TileValue) -> Sequence[TileValue]:
        behind = semantic.compare(semantic.COMPARE["lt"], i, j)
        return semantic.where(behind, b, a), semantic.where(behind, j, i)

    found, highest = reductions.reduce([value, lane], 0, later, commutes=True)
    return found, semantic.compare(semantic.COMPARE["ge"], highest, 0)


# Shared memory
@builtin
def shared_store(idx: Any, val: Any, buffer_size: Any = None, mask: Any = None) -> None:
    """Write slots of the program's shared memory, of 32 bits each. In one slot, the highest lane's value stays."""
    index, stored = to_value(idx), to_value(val)
    test = None if unwrap(mask) is None else semantic.truth(mask)
    if not index.shape and (stored.shape or (test is not None and test.shape)):
        stored, test = last_lane(stored, among_lanes(test, stored))
    test = among_lanes(test, index, stored)
    slots.store(idx, stored, test, emitter().memory.get("lanes", 1), buffer_size)


@builtin
def shared_load(idx: Any, buffer_size: Any = None, dtype: Any = None, mask: Any = None) -> TileValue:
    """Read slots of the program's shared memory, as a dtype or as what the kernel stores there."""
    test = among_lanes(None if unwrap(mask) is None else semantic.truth(mask), to_value(idx))
    return slots.load(idx, test, emitter().memory.get("lanes", 1), buffer_size, dtype)


@builtin
def sync() -> None:
    """Wait until every lane is here: each then sees what the others stored to shared memory."""
    slots.sync()


# Elementwise
@builtin
def exp(x: Any) -> TileValue:
    """e to the power of a float."""
    return functions.exp(x)


@builtin
def log(x: Any) -> TileValue:
    """Natural logarithm of a float."""
    return functions.log(x)


@builtin
def sqrt(x: Any) -> TileValue:
    """Square root of a float."""
    return core.sqrt(x)


@builtin
def rsqrt(x: Any) -> TileValue:
    """Inverse of the square root of a float."""
    return functions.rsqrt(x)


@builtin
def abs(x: Any) -> TileValue:
    """Absolute value."""
    return core.abs(x)


@builtin
def max(a: Any, b: Any) -> TileValue:
    """The greater of two elements."""
    return core.maximum(a, b)


@builtin
def relu(x: Any) -> TileValue:
    """The greater of an element and 0."""
    return core.maximum(x, 0)


# Reductions
@builtin
def reduce_sum(x: Any) -> TileValue:
    """Sum over the lanes; every lane counts a uniform value once."""
    return reduce_lanes(x, reductions.one(semantic.add), lambda dtype: -0.0 if dtype.kind == "float" else 0)


@builtin
def reduce_max(x: Any) -> TileValue:
    """Greatest value over the lanes."""
    return reduce_lanes(x, reductions.one(lambda a, b: semantic.binary(ops.max_, a, b)), least)


def least(dtype: DType) -> float | int:
    """The number that is the greater of none."""
    return -float("inf") if dtype.kind == "float" else integer_range(dtype)[0]


def reduce_lanes(x: Any, combine: reductions.Combine, nothing: Callable[[DType], float | int]) -> TileValue:
    """Reduce over the lanes: narrow floats in float32, rounded once; integers in at least 32 bits.

    `nothing` is the number of a dtype that changes no result: elements that are no lanes count as that.
    """
    value = spread(x)
    if not value.shape:
        return value
    dtype = value.element
    wide = float32 if dtype.kind == "float" and dtype.bits < 32 else semantic.widened(dtype)
    value, lanes = semantic.convert(value, wide), alive()
    value = value if lanes is None else semantic.where(lanes, value, number(nothing(wide), wide))
    result = reductions.reduce([value], 0, combine)[0]
    return semantic.convert(result, dtype) if dtype.kind == "float" else result
