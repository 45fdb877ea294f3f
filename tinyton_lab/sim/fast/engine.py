"""Runs a launch as machine code: CTAs over threads, memory in place, faults in the trace engine's words. No opcodes."""

from __future__ import annotations

import ctypes
import os
import threading
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tinyton_lab.base.knobs import STEP_LIMIT
from tinyton_lab.ptx.tensor_cores import EXACT
from tinyton_lab.sim import access, faults
from tinyton_lab.sim.access import Rows, Site
from tinyton_lab.sim.build import Builder
from tinyton_lab.sim.fast.code import Code, generate
from tinyton_lab.sim.fast.context import (
    FRAME_BARRIER,
    FRAME_STATUS,
    LANES,
    REGION_SLOTS,
    WAITING,
    Fault,
    Slot,
)
from tinyton_lab.sim.fast.emission import Unsupported
from tinyton_lab.sim.fast.memory import FIND, NOTE
from tinyton_lab.sim.fast.plan import plan
from tinyton_lab.sim.fast.schedule import RUN
from tinyton_lab.sim.lanes import Chunk
from tinyton_lab.sim.launch import State
from tinyton_lab.sim.memory import SHARED_WINDOW
from tinyton_lab.sim.specials import special_registers

Array = Any
_CODE: WeakKeyDictionary[Builder, Compiled | str] = WeakKeyDictionary()
_LOCK = threading.Lock()
_PATIENCE = 0.05
# A CTA's warps may go back in loops so many times the step limit: machine code is that much faster.
_TURNS = 100
_KEPT: list[Any] = []
_INTRINSICS = """declare i32 @llvm.cttz.i32(i32, i1)
declare i64 @llvm.vector.reduce.umax.v32i64(<32 x i64>)
declare i64 @llvm.vector.reduce.or.v32i64(<32 x i64>)
"""


class Compiled:
    """Machine code of an entry; it lives as long as this object."""

    def __init__(self, code: Code) -> None:
        from tinyton_lab.llvm import native

        self.code = code
        self.module = native.session(native.host()).link(code.text, ["warp"])
        self.functions = [_shared(name, text) for name, text in code.functions.items()]
        self.run: Any = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(_shared("run", RUN))

    @property
    def warp(self) -> int:
        return self.module.addresses["warp"]


@cache
def _shared(name: str, text: str) -> int:
    """The address of a function that all programs use."""
    from tinyton_lab.llvm import native

    intrinsics = "" if name == "run" else _INTRINSICS + (NOTE + FIND if "@find" in text else "")
    module = native.session(native.host()).link(intrinsics + text, [name])
    _KEPT.append(module)
    return module.addresses[name]


def compiled(program: Builder) -> Compiled | str:
    """The machine code of a program, or what it has that only the trace engine runs."""
    with _LOCK:
        found = _CODE.get(program)
        if found is None:
            found = _CODE[program] = translate(program)
        return found


def translate(program: Builder) -> Compiled | str:
    """Make machine code of a program, or name what the fast engine has no code for."""
    from tinyton_lab.llvm.native import NativeError

    try:
        code = generate(plan(program))
    except Unsupported as reason:
        return str(reason)
    try:
        return Compiled(code)
    except NativeError as reason:
        # A processor without fused multiply-add or f16 conversions would need a library for them.
        if "which it does not define" not in str(reason):
            raise
        return str(reason)


def reason_against(state: State) -> str:
    """What a launch has that only the trace engine runs; empty where there is nothing."""
    if state.recorder is not None or state.observers:
        return "recordings, metrics and the sanitizer"
    if state.tensor_core is not EXACT:
        return "the sums of an architecture's tensor cores"
    if state.schedule is not None:
        return "random schedules"
    if state.cluster_size > 1:
        return "clusters"
    found = compiled(state.program)
    return found if isinstance(found, str) else ""


# Faults that may only say that the code was the wrong one, and so many turns may a loop take that may wait in vain.
_VAIN = (Fault.BEYOND, Fault.STEPS, Fault.DEADLOCK)
_PATIENT = 1 << 24


class Worker:
    """Mutable: the context of one thread, with the memory that it owns.

    It holds on to everything that machine code touches, so that a thread which an interruption left behind, on its way
    to the next look at the stop sign, touches nothing that is gone.
    """

    def __init__(self, state: State, found: Compiled, counter: Array, stop: Array, regions: Array) -> None:
        threads = int(np.prod(state.block))
        warps = -(-threads // LANES)
        self.context = np.zeros(int(Slot.END), np.int64)
        self.shared = Rows((1, 1), state.shared_limit)
        self.local = Rows((1, warps * LANES), state.program.local_bytes + state.program.stack_bytes)
        self.frames = np.zeros(warps * found.code.frame_bytes + 64, np.uint8)
        self.coordinates = _coordinates(state.block, warps * LANES)
        self.kept = (counter, stop, regions, state)
        self.code = found
        local_bytes = self.local.limit
        self.put(Slot.REGIONS, _address(regions))
        self.put(Slot.REGION_COUNT, len(regions))
        self.put(Slot.LOCAL_LIMIT, local_bytes)
        self.put(Slot.LOCAL_WIDTH, self.local.width)
        self.put(Slot.STOP, _address(stop))
        full = STEP_LIMIT.integer() * _TURNS
        self.put(Slot.FULL, min(full, _PATIENT) if found.code.hope else full)
        self.put(Slot.COORDINATES, _address(self.coordinates))
        self.put(Slot.FRAMES, _address(self.frames))
        self.put(Slot.FRAME_BYTES, found.code.frame_bytes)
        self.put(Slot.WARPS, warps)
        self.put(Slot.THREADS, threads)
        self.put(Slot.NEXT_CTA, _address(counter))
        self.put(Slot.CTAS, int(np.prod(state.grid)))
        self.put(Slot.WARP, found.warp)
        for number, address in enumerate(found.functions):
            self.put(Slot.FUNCTIONS + number, address)
        for axis, length in enumerate(state.grid):
            self.put(Slot.GRID + axis, length)
        uses_shared = state.shared_limit > 0
        self.put(Slot.SHARED_CLEAR, self.shared.width if uses_shared else 0)
        self.put(Slot.LOCAL_CLEAR, self.local.data.size if local_bytes else 0)
        self.region(Slot.SHARED, 0, state.shared_limit, self.shared.data, True)
        self.region(Slot.WINDOW, SHARED_WINDOW, state.shared_limit, self.shared.data, True)
        self.region(Slot.LOCAL, 0, self.local.data.size, self.local.data, True)
        self.region(Slot.PARAMETERS, 0, len(state.parameters), state.parameters, False)
        self.specials(state, found.code)

    def run(self) -> None:
        """Run CTAs until none is left, one fails, or somebody says stop."""
        self.code.run(_address(self.context))

    def put(self, slot: int, value: int) -> None:
        self.context[int(slot)] = value

    def region(self, slot: int, base: int, size: int, data: Array, writable: bool) -> None:
        self.context[int(slot) : int(slot) + REGION_SLOTS] = (base, size, _address(data), int(writable), 0)

    def specials(self, state: State, code: Code) -> None:
        """What is the same for the whole launch."""
        shared = (state.dynamic_bytes, state.shared_limit)
        padded = int(self.context[Slot.WARPS]) * LANES
        values = special_registers(code.specials, 0, 1, padded, state.grid, state.block, state.cluster, shared)
        for name, slot in code.specials.items():
            self.put(slot, int(np.ravel(values[name])[0]))


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _coordinates(block: tuple[int, int, int], padded: int) -> Array:
    """tid.x, tid.y and tid.z of each thread, in three rows of 1024."""
    lane = np.arange(padded, dtype=np.int64)
    found = np.zeros((3, 1024), np.uint32)
    before = 1
    for axis, length in enumerate(block):
        found[axis, :padded] = lane // before % length if length > 1 else 0
        before *= length
    return found


def run(state: State, threads: int | None = None) -> str:
    """Run all CTAs of a launch, on all processors unless told; raises the fault that the trace engine would.

    Where the code turns out not to do, memory is as it was before, and the result says what for.
    """
    found = compiled(state.program)
    if isinstance(found, str):
        raise RuntimeError(f"fast engine: {found}")
    counter, stop = np.zeros(1, np.int64), np.zeros(1, np.int32)
    regions = _regions(state)
    count = min(1 if found.code.ordered else threads or default_threads(), int(np.prod(state.grid)))
    workers = [Worker(state, found, counter, stop, regions) for _ in range(count)]
    kept = [(r.data, r.data.copy()) for r in state.space.regions if r.writable] if found.code.hope else []
    _run_all(workers, stop)
    if found.code.hope and any(worker.context[Slot.FAULT] in _VAIN for worker in workers):
        for data, before in kept:
            data[:] = before
        return found.code.hope
    _report(state, found, workers)
    return ""


def _regions(state: State) -> Array:
    """The launch's allocations as machine code reads them."""
    table = np.zeros((max(len(state.space.regions), 1), REGION_SLOTS), np.int64)
    for number, region in enumerate(state.space.regions):
        member = 0 if region.member is None else _address(region.member)
        table[number] = (region.base, region.size, _address(region.data), int(region.writable), member)
    return table


def _run_all(workers: list[Worker], stop: Array) -> None:
    """Run every worker; an interruption of the main thread stops them all."""
    if len(workers) == 1 and threading.current_thread() is not threading.main_thread():
        workers[0].run()
        return
    crew = [threading.Thread(target=worker.run, daemon=True) for worker in workers]
    try:
        for member in crew:
            member.start()
        for member in crew:
            while member.is_alive():
                member.join(_PATIENCE)
    except BaseException:
        stop[0] = 1
        raise


def default_threads() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Faults.
def _report(state: State, found: Compiled, workers: list[Worker]) -> None:
    failed = [w for w in workers if w.context[Slot.FAULT] not in (Fault.NONE, Fault.STOPPED)]
    if not failed:
        return
    worker = min(failed, key=lambda w: int(w.context[Slot.CTA]))
    kind = Fault(int(worker.context[Slot.FAULT]))
    chunk = Chunk(state, int(worker.context[Slot.CTA]), 1, int(worker.context[Slot.WARPS]) * LANES)
    chunk.shared = Rows((1, 1), state.shared_limit)
    chunk.local = Rows(chunk.shape, state.program.local_bytes + state.program.stack_bytes)
    if kind is Fault.MEMORY:
        _access_again(chunk, found.code, worker)
    if kind is Fault.DEADLOCK:
        raise faults.fault(chunk, "TT6021", _first_line(found.code), waits=_waits(state, chunk, worker, found.code))
    thread = int(worker.context[Slot.FAULT_LANE])
    line = found.code.lines[int(worker.context[Slot.FAULT_SITE])]
    raise faults.fault(chunk, "TT6020", line, steps=STEP_LIMIT.integer() * _TURNS, where=faults.where(chunk, 0, thread))


def _access_again(chunk: Chunk, code: Code, worker: Worker) -> None:
    """Let the trace engine make the access that failed: it knows how to say what is wrong."""
    spot = code.spots[int(worker.context[Slot.FAULT_SITE])]
    thread, address = int(worker.context[Slot.FAULT_LANE]), int(worker.context[Slot.FAULT_ADDRESS])
    if spot.space == "local":
        width = chunk.local.width
        address = address & (1 << 40) - 1 if address >> 40 else address - thread * width
    mask = np.zeros(chunk.shape, np.bool_)
    mask[0, thread] = True
    where = np.full(chunk.shape, address & (1 << 64) - 1, np.uint64)
    site = Site(0, spot.line, spot.size, spot.action)
    chunk.mask = mask
    if spot.action == "load":
        access.load(chunk, site, spot.space, where, mask)
    elif spot.action == "atomic":
        access.parts(chunk, site, spot.space, where, mask)
    else:
        access.store(chunk, site, spot.space, where, np.zeros(chunk.shape, access.dtype_of(spot.size)), mask)
    raise RuntimeError(f"fast engine: line {spot.line} failed where the trace engine does not")


def _first_line(code: Code) -> int:
    return code.lines[0] if code.lines else 1


def _waits(state: State, chunk: Chunk, worker: Worker, code: Code) -> str:
    """Who waits at which barrier."""
    told: list[str] = []
    size = code.frame_bytes
    for warp in range(int(worker.context[Slot.WARPS])):
        fields = worker.frames[warp * size : warp * size + 16].view(np.int32)
        if fields[FRAME_STATUS // 4] == WAITING:
            told.append(f"warp {warp} waits at barrier {fields[FRAME_BARRIER // 4]}")
    return f"in program id {state.cta_index(chunk.first)}, " + "; ".join(told[:4])
