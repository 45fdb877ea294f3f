"""Facts about axes hold for the values that random programs compute."""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np
import pytest

from tests.passes.programs import ELEMENTS, LANES, Writer
from tinyton_lab import interpreter
from tinyton_lab.base.targets import CPU
from tinyton_lab.ir.core import Op, Value
from tinyton_lab.passes.axis_info import LARGEST, Axis, AxisInfo, analyse
from tinyton_lab.pipeline import run_tile_passes
from tinyton_lab.runtime.buffers import buffer_of


class Witness(interpreter.Interpreter):
    """An interpreter that holds each result against what was claimed of it."""

    infos: dict[Value, AxisInfo]

    def op(self, op: Op, frame: interpreter.Frame) -> None:
        super().op(op, frame)
        for value in op.results:
            info = self.infos.get(value)
            if info is not None:
                check(value, info, frame.values[value])

    def block(self, block: Any, frame: interpreter.Frame, args: Any = ()) -> Any:
        for value, array in zip(block.args, args):
            if value in self.infos and value.type.rank == np.ndim(array) - 1:
                check(value, self.infos[value], array)
        return super().block(block, frame, args)


def check(value: Value, info: AxisInfo, array: Any) -> None:
    """Raise where a fact does not hold for some program."""
    shape = value.type.shape or (1,)
    array = np.broadcast_to(array.reshape(len(array), *shape), (len(array), *shape))
    for index, axis in enumerate(info.axes):
        rows = np.moveaxis(array, index + 1, -1)
        check_axis(f"{value} axis {index}: {info}", axis, rows.reshape(-1, shape[index]), value)


def check_axis(what: str, axis: Axis, rows: Any, value: Value) -> None:
    length = rows.shape[1]
    bits = rows if rows.dtype.kind in "iub" else rows.view(f"i{rows.dtype.itemsize}")
    for start in range(0, length, axis.constancy):
        run = bits[:, start : start + axis.constancy]
        if rows.dtype.kind in "iub":
            assert (run == run[:, :1]).all(), what
    if rows.dtype.kind not in "iu":
        return
    step = value.type.element.element.bytes if value.type.is_pointer else 1  # type: ignore[union-attr]
    for start in range(0, length, axis.contiguity):
        run = rows[:, start : start + axis.contiguity].astype(np.int64)
        assert (run - run[:, :1] == np.arange(run.shape[1]) * step).all(), what
        assert all(int(first) % gcd(axis.divisibility, LARGEST) == 0 for first in run[:, 0]), what


def witness(function: Any, n: int) -> None:
    memory = np.zeros(ELEMENTS * 8, np.float32)
    start = (-memory.ctypes.data // 4) % 16  # the parameter x is declared to be a multiple of 16
    x = memory[start : start + ELEMENTS * 4]
    out = np.zeros(LANES * 3, np.float32)
    machine = Witness(function, (3, 1, 1), [buffer_of("x", x), buffer_of("o", out), n])
    machine.infos = analyse(function)
    with np.errstate(all="ignore"):
        machine.run(0, 3)


@pytest.mark.parametrize("seed", range(30))
def test_facts_hold(seed: int):
    function = Writer(seed).write()
    *_, last = run_tile_passes(function, CPU)
    for n in (16, -32):
        witness(function, n)
        witness(last.function, n)


def test_a_wrong_fact_is_seen():
    function = Writer(0).write()
    lanes = next(op.result for op in function.walk() if op.row.name == "range")
    machine = Witness(
        function, (1, 1, 1), [buffer_of("x", np.zeros(1, np.float32)), buffer_of("o", np.zeros(1, np.float32)), 0]
    )
    machine.infos = {lanes: AxisInfo((Axis(1, 2, 1),))}
    assert lanes.op is not None
    with pytest.raises(AssertionError, match="divisibility 2"):
        machine.op(lanes.op, interpreter.Frame(1))
