"""Lowering of ``mbarrier``: barrier objects in shared memory. Knows their state, not who waits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tinyton_lab.ptx.cfg import Names
from tinyton_lab.ptx.isa import Form
from tinyton_lab.ptx.syntax import Instruction, Name
from tinyton_lab.ptx.types import TYPES, PtxType
from tinyton_lab.sim import access
from tinyton_lab.sim.lanes import Array, Chunk
from tinyton_lab.sim.lowering import Lowering, Reader
from tinyton_lab.sim.program import Operation
from tinyton_lab.sim.transfers import space_of

_COUNT_BITS, _BYTES_BITS = 20, 23


class State(NamedTuple):
    """The 64 bits of a barrier: arrivals per phase, arrivals still pending, bytes still to come, the phase's parity."""

    expected: int
    pending: int
    bytes: int
    phase: int

    @classmethod
    def of(cls, word: int) -> State:
        mask = (1 << _COUNT_BITS) - 1
        raw = word >> 40 & (1 << _BYTES_BITS) - 1
        size = raw - (1 << _BYTES_BITS) if raw >> _BYTES_BITS - 1 else raw
        return cls(word & mask, word >> _COUNT_BITS & mask, size, word >> 63)

    def word(self) -> int:
        mask = (1 << _COUNT_BITS) - 1
        size = self.bytes & (1 << _BYTES_BITS) - 1
        return self.expected & mask | (self.pending & mask) << _COUNT_BITS | size << 40 | self.phase << 63

    def settled(self) -> State:
        """The next phase when everything has arrived."""
        if self.pending or self.bytes:
            return self
        return State(self.expected, self.expected, 0, self.phase ^ 1)


def _change(state: State, action: str, count: int, announced: int) -> State:
    """The state after one lane's action; `announced` bytes are expected before it arrives."""
    if action == "expect_tx":
        return state._replace(bytes=state.bytes + count)
    if action == "complete_tx":
        return state._replace(bytes=state.bytes - count).settled()
    state = state._replace(bytes=state.bytes + announced)
    if action == "arrive_drop":
        state = state._replace(expected=max(state.expected - count, 0))
    return state._replace(pending=max(state.pending - count, 0)).settled()


def deliver(chunk: Chunk, site: access.Site, cta: int, thread: int, address: int, size: int) -> None:
    """Tell the barrier at a shared address that `size` bytes have come."""
    active = np.zeros(chunk.shape, np.bool_)
    active[cta, thread] = True
    where = np.full(chunk.shape, address, np.uint64)
    for observer in chunk.observers:
        observer.signal(chunk, "complete_tx", site, where, active, None)
    for view, index, _ in access.cells(chunk, site, "shared", where, active):
        view[index[0]] = _change(State.of(int(view[index[0]])), "complete_tx", size, 0).word()


def memory_barrier(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """All actions but ``pending_count``."""
    operands, action = list(instruction.operands), form["action"]
    target = None
    if form.row.roles[0].written:
        result = operands.pop(0) if operands else None
        if not isinstance(result, Name):
            low.refuse(instruction, form, "needs a register")
        type_ = form.type_of(form.row.roles[0])
        target = low.destination(instruction, form, names, result.text, type_, False)
    if not operands:
        low.refuse(instruction, form, "needs an address")
    making = "make_barrier" if action == "init" else "barrier"
    space, site = space_of(form), low.program.access_site(instruction.line, 8, "barrier access", making)
    address = low.address(instruction, form, names, operands[0], space)
    parity = action in ("try_wait", "test_wait")
    type_ = TYPES["b64"] if parity and not form.has("parity") else TYPES["b32"]
    read = low.reader(instruction, form, names, operands[1], type_) if len(operands) > 1 else None
    if parity and read is not None:
        return _test(low, form, space, site, address, read, target)

    def run(chunk: Chunk) -> None:
        active = chunk.active()
        where = np.broadcast_to(address(chunk.registers), chunk.shape)
        counts = np.broadcast_to(read(chunk.registers) if read else np.uint32(1), chunk.shape)
        tokens = np.zeros(chunk.shape, np.uint64)
        cells = access.parts(chunk, site, space, where, active)
        _tell(chunk, action, site, where, active, cells)
        for view, index, lanes in cells:
            tokens[lanes] = _act(view, index, counts[lanes], action, form.has("expect"))
        if target is not None:
            chunk.write(target[0], tokens)

    return run


def _tell(
    chunk: Chunk, action: str, site: access.Site, where: Array, lanes: Array, cells: list[tuple[Array, Array, Array]]
) -> None:
    """Tell the observers what lanes are about to do with barriers, and the barriers' states."""
    if not chunk.observers:
        return
    states = np.zeros(chunk.shape, np.uint64)
    for view, index, chosen in cells:
        states[chosen] = view[index]
    for observer in chunk.observers:
        observer.signal(chunk, action, site, where, lanes, states)


def _act(view: Array, index: Array, counts: Array, action: str, announces: bool) -> Array:
    """Apply an action lane after lane; the tokens are the states before."""
    tokens = np.zeros(len(index), np.uint64)
    for lane, (cell, count) in enumerate(zip(index.tolist(), counts.tolist())):
        word = int(view[cell])
        tokens[lane] = word
        if action == "init":
            view[cell] = State(count, count, 0, 0).word()
        elif action != "inval":
            arrivals, announced = (1, count) if announces else (count, 0)
            view[cell] = _change(State.of(word), action, arrivals, announced).word()
    return tokens


def _test(
    low: Lowering,
    form: Form,
    space: str,
    site: access.Site,
    address: Reader,
    read: Reader,
    target: tuple[int, PtxType] | None,
) -> Operation:
    by_parity = form.has("parity")

    def run(chunk: Chunk) -> None:
        active = chunk.active()
        where = np.broadcast_to(address(chunk.registers), chunk.shape)
        wanted = np.broadcast_to(read(chunk.registers), chunk.shape)
        over = np.zeros(chunk.shape, np.bool_)
        for view, index, lanes in access.parts(chunk, site, space, where, active):
            phase = view[index] >> np.uint64(63)
            asked = wanted[lanes] & wanted.dtype.type(1) if by_parity else wanted[lanes] >> np.uint64(63)
            over[lanes] = phase != asked
        for observer in chunk.observers:
            observer.signal(chunk, "wait", site, where, active & over, None)
        chunk.impatient |= not over[active].all()
        if target is not None:
            chunk.write(target[0], over)

    return run


def pending_count(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    first = instruction.operands[0]
    if not isinstance(first, Name):
        low.refuse(instruction, form, "needs a register")
    target = low.destination(instruction, form, names, first.text, TYPES["u32"], False)
    read = low.reader(instruction, form, names, instruction.operands[1], TYPES["b64"])

    def run(chunk: Chunk) -> None:
        if target is not None:
            chunk.write(
                target[0], ((read(chunk.registers) >> np.uint64(_COUNT_BITS)) & np.uint64(0xFFFFF)).astype(np.uint32)
            )

    return run


def arrive_on_copies(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    """``cp.async.mbarrier.arrive``: copies are done when issued; without noinc the arrival cancels out."""
    space, site = space_of(form), low.program.access_site(instruction.line, 8, "barrier access", "barrier")
    address = low.address(instruction, form, names, instruction.operands[0], space)

    def run(chunk: Chunk) -> None:
        where = np.broadcast_to(address(chunk.registers), chunk.shape)
        for observer in chunk.observers:
            observer.signal(chunk, "copies", site, where, chunk.active(), None)
        if not form.has("noComplete"):
            return
        for view, index, _ in access.parts(chunk, site, space, where, chunk.active()):
            _act(view, index, np.ones(len(index), np.int64), "arrive", False)

    return run
