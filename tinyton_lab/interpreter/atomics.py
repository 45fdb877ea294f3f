"""Atomic accesses on arrays: the elements of a batch take their turns in program order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyton_lab.interpreter.machine import HANDLERS, Access, Frame, Interpreter, storage
from tinyton_lab.ir.core import Op
from tinyton_lab.ops import atomic

Array = Any
Change = Callable[[Array, Array], Array]


def run_atomic(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    row = atomic.COMBINES[op.attrs["kind"]]
    value = frame.get(op.operand("value"))
    if row is None:
        return [_update(machine, op, frame, [value], lambda old, new: new)]
    combine: Any = row.numpy  # every row that combines has one
    return [_update(machine, op, frame, [value], combine)]


def run_compare_exchange(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    expected, value = frame.get(op.operand("expected")), frame.get(op.operand("value"))
    bits = np.dtype(f"u{storage(op.result.type).itemsize}")

    def change(old: Array, wanted: Array, new: Array) -> Array:
        return np.where(old.view(bits) == wanted.view(bits), new.view(bits), old.view(bits)).view(old.dtype)

    return [_update(machine, op, frame, [expected, value], change)]


def _update(machine: Interpreter, op: Op, frame: Frame, values: list[Array], change: Callable[..., Array]) -> Array:
    """Change the accessed elements in turns, so that those that share a place follow each other; gives the old ones."""
    shape = (frame.count, *op.result.type.shape)
    access = Access(machine, op, frame, shape)
    parts = [np.broadcast_to(x, shape) for x in values]
    parts = [x.reshape(-1) if access.mask is None else x[access.mask] for x in parts]
    dtype = storage(op.result.type)
    old = np.zeros(access.chosen.size, dtype)
    for buffer, members in access.pieces():
        start, flat = buffer.flat(dtype)
        places = (access.chosen[members] - start) // access.element_bytes
        mine = np.arange(access.chosen.size)[members]
        for turn in turns(places):
            at, who = places[turn], mine[turn]
            old[who] = flat[at]
            flat[at] = change(old[who], *(x[who] for x in parts))
    if access.mask is None:
        return old.reshape(shape)
    result = np.zeros(shape, dtype)
    result[access.mask] = old
    return result


def turns(places: Array) -> list[Array]:
    """Split positions so that no turn has a place twice, and equal places keep their order.

    >>> [turn.tolist() for turn in turns(np.array([5, 7, 5, 5]))]
    [[0, 1], [2], [3]]
    """
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(places) else np.zeros(0, np.int64)
    counts = np.diff(np.r_[first, len(places)])
    number = np.arange(len(places)) - np.repeat(first, counts)
    by_turn = np.argsort(number, kind="stable")
    found = np.split(order[by_turn], np.cumsum(np.bincount(number))[:-1]) if len(places) else []
    return [np.sort(turn) for turn in found]


HANDLERS.update({atomic.atomic: run_atomic, atomic.compare_exchange: run_compare_exchange})
