"""The model of a multiprocessor: warps issue in order, wait for registers, pipes and each other. A model, no device.

Four schedulers start one instruction per cycle each. Every warp waits for the registers that its next instruction
reads or writes; pipes take a warp for 32 lanes / (lanes per cycle) cycles; shared memory serves one pass per cycle.
Loads take the latency of global memory, and the bytes per cycle that the multiprocessor gets of the device's bandwidth.
There are no caches and no instruction fetch, and registers of PTX stand for those of the machine.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tinyton_lab.record.machines import SCHEDULERS, Machine
from tinyton_lab.record.metrics import SECTOR_BYTES
from tinyton_lab.record.model import STALLS

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
# How much dearer a product is than one of f16, by the type of its first factor.
_FACTORS = {"f64": 16.0, "tf32": 2.0, "s8": 0.5, "u8": 0.5, "e4m3": 0.5, "e5m2": 0.5}
_SCOREBOARDS = {"xu": "short_scoreboard", "shuffle": "short_scoreboard", "shared": "short_scoreboard"}
_THROTTLES = {"shared": "mio_throttle", "shuffle": "mio_throttle", "global": "lg_throttle"}
_ASYNC = ("cp.async.commit_group", "cp.async.wait_group", "cp.async.wait_all")


@cache
def unit_of(opcode: str, pipe: str) -> str:
    """What executes an opcode: a pipe, ``shuffle``, ``shared``, ``global``, or ``constant`` for parameters.

    >>> [unit_of(word, pipe) for word, pipe in (("ld.global.b32", "lsu"), ("fma.rn.f64", "fma"), ("bra", "branch"))]
    ['global', 'fp64', 'cbu']
    """
    words = opcode.split(".")
    if words[0] in ("shfl", "redux", "match"):
        return "shuffle"
    if pipe == "lsu":
        if "param" in words or "const" in words:
            return "constant"
        if words[0] in ("ldmatrix", "stmatrix") or "shared" in words and words[0] != "cp":
            return "shared"
        return "global" if words[0] in ("ld", "st", "atom", "red", "cp", "ldu", "wmma") else "alu"
    if pipe == "tensor":
        return "tensor"
    if "f64" in words and pipe == "fma":
        return "fp64"
    return {"branch": "cbu", "barrier": "cbu", "warp": "alu"}.get(pipe, pipe)


@dataclass(slots=True)
class Warp:
    """Mutable: one warp at its next step. `ready` is when each register is there, with the reason for waiting."""

    number: int
    steps: Sequence[Any]
    at: int = 0
    free: int = 0
    held: tuple[int, str] = (0, "wait")
    ready: dict[int, tuple[int, str]] = field(default_factory=dict[int, tuple[int, str]])
    copies: list[int] = field(default_factory=list[int])
    groups: list[int] = field(default_factory=list[int])


class Scoreboard:
    """Mutable: plays the traces of warps; `cycles`, `issued`, `stalls` and `per_line` are the outcome."""

    def __init__(self, device: Machine, traces: Sequence[Sequence[Any]]) -> None:
        self.device = device
        self.warps = [Warp(number, steps) for number, steps in enumerate(traces)]
        self.slots = [0] * SCHEDULERS
        self.pipes: dict[tuple[str, int], float] = {}
        self.memory = 0.0
        self.arrived: dict[int, list[tuple[Warp, int, int]]] = {}
        self.queue: list[tuple[int, int, int]] = []
        self.turn = self.cycles = self.issued = 0
        self.stalls = dict.fromkeys(STALLS, 0)
        self.per_line: dict[int, dict[str, int]] = {}

    def play(self) -> None:
        """Issue everything, always what can go first."""
        for warp in self.warps:
            self.enqueue(warp, 0)
        while self.queue:
            time, _, number = heapq.heappop(self.queue)
            warp = self.warps[number]
            earliest = self.earliest(warp)
            if earliest > time:
                self.enqueue(warp, earliest)
            else:
                self.issue(warp, time)

    def enqueue(self, warp: Warp, time: int) -> None:
        if warp.at < len(warp.steps):
            self.turn += 1
            heapq.heappush(self.queue, (time, self.turn, warp.number))

    def waits(self, warp: Warp) -> list[tuple[int, str]]:
        """What the warp's next step waits for: (cycle, reason), its pipe last."""
        step = warp.steps[warp.at]
        found = [warp.held]
        registers = (*step.what.reads, *(number for _, number, _ in step.what.writes))
        if step.what.guard is not None:
            registers = (*registers, step.what.guard[0])
        found += [warp.ready[number] for number in registers if number in warp.ready]
        opcode = step.what.instruction.opcode
        if opcode.startswith(_ASYNC[1:]):
            found.append((self.landed(warp, step), "long_scoreboard"))
        unit = unit_of(opcode, step.what.pipe)
        busy = self.pipes.get(self.pipe(unit, warp), 0.0)
        found.append((int(busy), _THROTTLES.get(unit, "math_pipe_throttle")))
        return found

    def landed(self, warp: Warp, step: Any) -> int:
        """When the copies that a wait asks for have landed."""
        words = step.what.text.rstrip(" ;").split()
        pending = int(words[-1]) if words and words[-1].isdigit() and "wait_group" in step.what.text else 0
        groups = [*warp.groups, *warp.copies] if "wait_all" in step.what.text else warp.groups
        done = groups[: len(groups) - pending] if pending else groups
        return max(done, default=0)

    def pipe(self, unit: str, warp: Warp) -> tuple[str, int]:
        """Pipes belong to a scheduler, the memory's path to the multiprocessor."""
        if unit in ("shared", "shuffle"):
            return "mio", 0
        return (unit, 0) if unit == "global" else (unit, warp.number % SCHEDULERS)

    def earliest(self, warp: Warp) -> int:
        return max(warp.free, self.slots[warp.number % SCHEDULERS], *(time for time, _ in self.waits(warp)))

    # Issuing.
    def issue(self, warp: Warp, time: int) -> None:
        """Start the warp's next step, and note why it did not start before."""
        step = warp.steps[warp.at]
        self.account(warp, step.what.line, time)
        self.slots[warp.number % SCHEDULERS] = time + 1
        unit = unit_of(step.what.instruction.opcode, step.what.pipe)
        busy, latency = self.cost(unit, step, time)
        place = self.pipe(unit, warp)
        self.pipes[place] = max(self.pipes.get(place, 0.0), time) + busy
        reason = "long_scoreboard" if unit == "global" else _SCOREBOARDS.get(unit, "wait")
        for _, register, _ in step.what.writes:
            warp.ready[register] = (time + latency, reason)
        self.copy(warp, step.what.instruction.opcode, time + latency)
        warp.at, warp.free, warp.held = warp.at + 1, time + 1, (time + 1, "wait")
        self.cycles, self.issued = max(self.cycles, time + latency), self.issued + 1
        if unit == "cbu" and step.what.instruction.opcode.startswith("br"):
            warp.held = (time + latency, "branch_resolving")
        if step.barrier:
            self.meet(warp, step, time)
        else:
            self.enqueue(warp, warp.free)

    def account(self, warp: Warp, line: int, time: int) -> None:
        """Share the cycles since the warp's last step out among the reasons."""
        here = self.per_line.setdefault(line, {})
        now = warp.free
        *own, pipe = self.waits(warp)
        for until, reason in (*sorted(own), pipe):
            if until > now:
                self.add(here, reason, until - now)
                now = until
        if time > now:
            self.add(here, "not_selected", time - now)
        self.add(here, "selected", 1)

    def add(self, here: dict[str, int], reason: str, cycles: int) -> None:
        here[reason] = here.get(reason, 0) + cycles
        self.stalls[reason] += cycles

    def cost(self, unit: str, step: Any, time: int) -> tuple[float, int]:
        """(cycles that the pipe is busy, cycles until the result is there)."""
        device = self.device
        if unit == "global":
            self.memory = max(self.memory, time) + step.sectors * SECTOR_BYTES / device.bytes_per_cycle
            waited = max(0.0, self.memory - time) if step.sectors else 0.0
            return max(1.0, step.sectors / 4), int(max(device.latency["global"], waited)) if step.sectors else 4
        if unit in ("shared", "shuffle"):
            taken = max(step.passes, 1)
            return taken, device.latency["shared"] + taken - 1
        if unit == "tensor":
            return self.product(step.what.instruction.opcode)
        if unit == "constant":
            return 1.0, device.latency["alu"]
        # Branches and barriers are not bound by lanes.
        lanes = device.lanes.get(unit, device.lanes["alu"]) / SCHEDULERS
        return 32 / lanes, device.latency.get(unit, device.latency["alu"])

    def product(self, opcode: str) -> tuple[float, int]:
        shape = _SHAPE.search(opcode)
        if shape is None:
            return 1.0, self.device.latency["alu"]
        m, n, k = map(int, shape.groups())
        factor = next((_FACTORS[word] for word in opcode.split(".") if word in _FACTORS), 1.0)
        share = 4 if opcode.startswith("wgmma") else 1
        busy = m * n * k * factor / share / (self.device.products / SCHEDULERS)
        return busy, int(max(self.device.latency["tensor"], busy))

    def copy(self, warp: Warp, opcode: str, done: int) -> None:
        """Keep when copies land that a later wait asks for."""
        if opcode.startswith("cp.async.commit_group"):
            warp.groups.append(max(warp.copies, default=0))
            warp.copies = []
        elif opcode.startswith("cp.async") and not opcode.startswith(_ASYNC) and "bulk" not in opcode:
            warp.copies.append(done)

    def meet(self, warp: Warp, step: Any, time: int) -> None:
        """Hold a warp at a barrier until the last one comes."""
        arrived = self.arrived.setdefault(step.barrier, [])
        arrived.append((warp, step.what.line, time))
        if len(arrived) == step.meeting:
            for held, _, _ in self.arrived.pop(step.barrier):
                held.held = (time + 1, "barrier")
                self.enqueue(held, time + 1)
