"""What gather, scan, histogram and map do to arrays."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tinyton_lab.interpreter.machine import HANDLERS, Frame, Interpreter, combine
from tinyton_lab.ir.core import Op
from tinyton_lab.ops import collective

Array = Any


def run_gather(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    source, index = map(frame.get, op.operands)
    axis, programs = op.attrs["axis"] + 1, max(len(source), len(index))
    source, index = (np.broadcast_to(x, (programs, *x.shape[1:])) for x in (source, index))
    # Lengths are powers of two: the low bits of any integer are its remainder.
    wrapped = index.astype(np.int64) & (source.shape[axis] - 1)
    return [np.take_along_axis(source, wrapped, axis)]


def run_scan(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    """One element after the other, in order."""
    inputs = [frame.get(value) for value in op.operands]
    programs = frame.count if max(map(len, inputs)) > 1 or frame.count > 1 else 1
    axis = op.attrs["axis"] + 1
    parts = [np.moveaxis(np.broadcast_to(x, (programs, *x.shape[1:])), axis, -1) for x in inputs]
    parts = [x[..., ::-1] for x in parts] if op.attrs["reverse"] else parts
    results = [np.array(x) for x in parts]
    for at in range(1, parts[0].shape[-1]):
        before, now = [x[..., at - 1] for x in results], [x[..., at] for x in parts]
        for result, combined in zip(results, combine(machine, op, frame, before, now), strict=True):
            result[..., at] = combined
    results = [x[..., ::-1] for x in results] if op.attrs["reverse"] else results
    return [np.moveaxis(x, -1, axis) for x in results]


def run_histogram(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    x, mask = frame.get(op.operand("x")), op.operand("mask")
    chosen = np.ones(x.shape, bool) if mask is None else frame.get(mask)
    x, chosen = np.broadcast_arrays(x, chosen)
    bins = op.attrs["bins"]
    counted = chosen & (x >= 0) & (x < bins)
    rows = np.broadcast_to(np.arange(len(x))[:, None], x.shape)
    flat = rows[counted] * bins + x[counted].astype(np.int64)
    return [np.bincount(flat, minlength=len(x) * bins).astype(np.int32).reshape(len(x), bins)]


def run_map(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    """Each element is a program of its own."""
    inputs = [frame.get(value) for value in op.operands]
    shape = op.results[0].type.shape
    elements = prod(shape)
    flat = [np.broadcast_to(x, (frame.count, *x.shape[1:])).reshape(-1) for x in inputs]
    inner = Frame(frame.count * elements, frame, np.repeat(np.arange(frame.count), elements))
    results = machine.block(op.blocks[0], inner, flat)
    return [np.broadcast_to(x, (inner.count,)).reshape(frame.count, *shape) for x in results]


HANDLERS.update(
    {
        collective.gather: run_gather,
        collective.scan: run_scan,
        collective.histogram: run_histogram,
        collective.map_: run_map,
    }
)
