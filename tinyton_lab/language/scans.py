"""Builtins that run a function of scalars over a tile: scans, and maps whose function may branch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyton_lab.ir.definition import Mismatch
from tinyton_lab.language import arranging, pairing, reductions, semantic, shapes
from tinyton_lab.language.builtin import builtin
from tinyton_lab.language.core import static_dtype
from tinyton_lab.language.emission import fault, static, static_int, to_value, unwrap
from tinyton_lab.language.types import spell
from tinyton_lab.language.value import Branching, TileValue, emitter, make


@builtin
def associative_scan(input: Any, axis: Any, combine_fn: Any, reverse: Any = False) -> Any:
    """Combine each element with all before it along an axis (all after it, with `reverse`).

    `input` is a tile, or a tuple of tiles which are scanned together; so is the result.
    """
    combine = reductions.user_combine(unwrap(combine_fn))
    if isinstance(input, (tuple, list)):
        return tuple(scan([to_value(x) for x in input], axis, combine, reverse))
    return scan([to_value(input)], axis, combine, reverse)[0]


@builtin
def cumsum(input: Any, axis: Any = 0, reverse: Any = False, dtype: Any = None) -> TileValue:
    """Sums of each element and all before it, kept in `dtype`; integers are kept in at least 32 bits."""
    return scan([_kept(input, dtype)], axis, reductions.one(semantic.add), reverse)[0]


@builtin
def cumprod(input: Any, axis: Any = 0, reverse: Any = False, dtype: Any = None) -> TileValue:
    """Products of each element and all before it, kept in `dtype`; integers are kept in at least 32 bits."""
    return scan([_kept(input, dtype)], axis, reductions.one(semantic.mul), reverse)[0]


def _kept(x: Any, dtype: Any) -> TileValue:
    value = to_value(x)
    wanted = semantic.widened(semantic.element(value)) if unwrap(dtype) is None else static_dtype(dtype)
    return semantic.convert(value, wanted)


def scan(inputs: Sequence[TileValue], axis: Any, combine: reductions.Combine, reverse: Any) -> list[TileValue]:
    """Scan tiles of one shape together. Raises TT2022 for other operands, TT2008 for the axis, TT2023."""
    shape = inputs[0].shape
    for x in inputs:
        if not x.shape or x.shape != shape:
            raise fault("TT2022", what=" and ".join(spell(each.tile) for each in inputs))
    place, backward = shapes.static_axis(axis, len(shape)), bool(static(reverse, "reverse"))
    checked = reductions.checked(combine, len(inputs))
    try:
        handles = emitter().scan([x.handle for x in inputs], place, backward, checked)
    except Branching:
        return pairing.scanned(inputs, place, backward, checked)
    except Mismatch as mismatch:
        raise fault("TT2001", what=str(mismatch)) from None
    return [make(handle.type, handle) for handle in handles]


@builtin
def map_elementwise(scalar_fn: Any, *args: Any, pack: Any = 1) -> Any:
    """Call a function of scalars for each element; it may branch on them, where a tile cannot.

    With `pack`, one call takes that many neighbours of each operand (first all of the first operand) and gives as many
    of each result.
    """
    values = [to_value(x) for x in args]
    for value in values[1:]:
        values[0], _ = shapes.broadcast(values[0], value)
    values = [shapes.broadcast_to(value, values[0].shape) for value in values]
    packed = static_int(pack, "pack")
    shapes.check_shape((packed,))
    shape = values[0].shape
    if packed > 1 and (not shape or shape[-1] % packed):
        raise fault("TT2001", what=f"the last axis of {spell(values[0].tile)} does not divide into packs of {packed}")
    parts = [part for value in values for part in _unpacked(value, packed)]
    results = _map(unwrap(scalar_fn), parts)
    if len(results) % packed:
        raise fault("TT2001", what=f"the function gives {len(results)} values, not a multiple of the pack {packed}")
    found = [_repacked(results[at : at + packed], shape) for at in range(0, len(results), packed)]
    return found[0] if len(found) == 1 else tuple(found)


def _map(function: Any, values: list[TileValue]) -> list[TileValue]:
    call = reductions.user_combine(function)
    if not values[0].shape:
        return list(call(*values))
    try:
        handles = emitter().map([x.handle for x in values], call)
    except Mismatch as mismatch:
        raise fault("TT2001", what=str(mismatch)) from None
    return [make(handle.type, handle) for handle in handles]


def _unpacked(value: TileValue, pack: int) -> list[TileValue]:
    """The elements at each place of a pack: ``pack`` tiles."""
    if pack == 1:
        return [value]
    grouped = shapes.reshape(value, (*value.shape[:-1], value.shape[-1] // pack, pack))
    return _halves(grouped)


def _halves(value: TileValue) -> list[TileValue]:
    """Split along the last axis until each part has one place of it, in order."""
    length = value.shape[-1]
    pairs = shapes.reshape(value, (*value.shape[:-1], length // 2, 2))
    even, odd = arranging.split(pairs)
    if length == 2:
        return [shapes.reshape(part, part.shape[:-1]) if len(part.shape) > 1 else part for part in (even, odd)]
    evens, odds = _halves(even), _halves(odd)
    return [part for pair in zip(evens, odds, strict=True) for part in pair]


def _repacked(parts: Sequence[TileValue], shape: tuple[int, ...]) -> TileValue:
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [arranging.join(parts[at], parts[at + half]) for at in range(half)]
    value = parts[0]
    return shapes.reshape(value, shape) if value.shape != shape else value
