"""What tiny-ton's shared memory does, with the faults of lanes that read nothing, lie outside or do not wait."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyton_lab.base.diagnostics import Note, TinytonError, error
from tinyton_lab.interpreter.machine import HANDLERS, NUMBER, Frame, Interpreter, storage
from tinyton_lab.interpreter.slots import SEVERAL, Conflict
from tinyton_lab.ir.core import Op
from tinyton_lab.ops import shared

Array = Any


class Access:
    """One access: the row, lane and slot of each element that the mask leaves on; all inside."""

    def __init__(self, machine: Interpreter, op: Op, frame: Frame) -> None:
        self.machine, self.op = machine, op
        self.memory = machine.slots
        self.memory.grow(op.attrs["slots"])
        index, mask = op.operand("index"), op.operand("mask")
        tile = index.type.shape if index is not None else ()
        self.shape = (frame.count, *tile)
        wanted = np.broadcast_to(frame.get(index), self.shape).astype(np.int64)
        chosen = np.ones(self.shape, bool) if mask is None else np.broadcast_to(frame.get(mask), self.shape)
        self.chosen = chosen
        numbers = np.broadcast_to(frame.get(NUMBER), (frame.count,)) - self.memory.first
        self.rows = self._spread(numbers)[chosen]
        # Every lane reads a uniform slot, the first one stores to it.
        uniform = SEVERAL if op.results else 0
        lanes = np.arange(tile[0]) if tile else np.array(uniform)
        self.lanes, self.slots = np.broadcast_to(lanes, self.shape)[chosen], wanted[chosen]
        outside = (self.slots < 0) | (self.slots >= op.attrs["slots"])
        if outside.any():
            raise self._fault("TT4014", int(np.argmax(outside)), slots=op.attrs["slots"])

    def _spread(self, numbers: Array) -> Array:
        return np.broadcast_to(numbers.reshape(-1, *(1,) * (len(self.shape) - 1)), self.shape)

    def check_filled(self) -> None:
        empty = self.memory.empty(self.rows, self.slots)
        if empty.any():
            raise self._fault("TT4012", int(np.argmax(empty)))

    def check_waited(self) -> None:
        conflict = self.memory.conflict(self.rows, self.slots, self.lanes, not self.op.results)
        if conflict is None and not self.op.results:
            conflict = self._among_themselves()
        if conflict is not None:
            other = named(conflict.other)
            did = f"{other} {'stored to' if conflict.wrote else 'read'}"
            fault = self._fault("TT4013", conflict.element, did=did)
            if conflict.place is not None:
                fault.notes = (Note(f"{other} was here", conflict.place),)
            raise fault

    def _among_themselves(self) -> Conflict | None:
        """The first element whose slot an earlier lane stores to in the same access."""
        keys = self.rows * max(self.op.attrs["slots"], 1) + self.slots
        _, first = np.unique(keys, return_index=True)
        if len(first) == len(keys):
            return None
        again = np.ones(len(keys), bool)
        again[first] = False
        at = int(np.argmax(again))
        return Conflict(at, int(self.lanes[int(np.argmax(keys == keys[at]))]), True, None)

    def _fault(self, code: str, at: int, **fields: Any) -> TinytonError:
        program = self.machine.coordinates(int(self.rows[at]) + self.memory.first)
        action = "read" if self.op.results else "store to"
        lane, slot = named(int(self.lanes[at])), int(self.slots[at])
        return error(code, self.op.span, program=program, lane=lane, action=action, slot=slot, **fields)


def named(lane: int) -> str:
    return "another lane" if lane == SEVERAL else f"lane {lane}"


def run_store(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    access = Access(machine, op, frame)
    access.check_waited()
    values = np.broadcast_to(frame.get(op.operand("value")), access.shape)[access.chosen]
    access.memory.store(access.rows, access.slots, access.lanes, values.view(np.uint32), op.span)
    return []


def run_load(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    access = Access(machine, op, frame)
    access.check_filled()
    access.check_waited()
    result = np.zeros(access.shape, storage(op.result.type))
    bits = access.memory.load(access.rows, access.slots, access.lanes, op.span)
    result[access.chosen] = bits.view(result.dtype)
    return [result]


def run_sync(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    machine.slots.wait(np.broadcast_to(frame.get(NUMBER), (frame.count,)) - machine.slots.first)
    return []


HANDLERS.update({shared.shared_store: run_store, shared.shared_load: run_load, shared.sync: run_sync})
