"""Watches what warps of one multiprocessor execute, for the model of cycles. Knows no latency and no semantics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyton_lab.record.machines import Machine
from tinyton_lab.record.model import Model
from tinyton_lab.record.occupancy import occupancy
from tinyton_lab.sim.lanes import Array, Chunk
from tinyton_lab.sim.metrics import distinct, passes
from tinyton_lab.sim.observers import Observer
from tinyton_lab.sim.program import CodeBlock, Details
from tinyton_lab.sim.scoreboard import Scoreboard

_MOST_STEPS = 200_000
_SECTOR_SHIFT = np.uint64(5)
# Registers per thread when nobody tells: the model's assumption for occupancy.
_REGISTERS = 32


@dataclass(slots=True)
class Step:
    """Mutable until its instruction has run: one instruction of one warp.

    `passes` over the banks of shared memory, `sectors` of global memory; `barrier` numbers the meeting it took part in,
    of `meeting` warps (0: none).
    """

    what: Details
    passes: int = 0
    sectors: int = 0
    barrier: int = 0
    meeting: int = 0


class Timer(Observer):
    """Mutable: the traces of the warps that share the first multiprocessor."""

    def __init__(self, launch: Any, device: Machine) -> None:
        self.launch, self.device = launch, device
        threads, total = int(np.prod(launch.block)), int(np.prod(launch.grid))
        fitting = occupancy(device.target, threads, _REGISTERS, launch.shared_limit).ctas
        self.ctas = max(1, min(fitting, -(-total // device.sms)))
        self.waves = -(-total // (self.ctas * device.sms))
        self.warps = -(-threads // 32)
        self.traces: list[list[Step]] = []
        self.running: list[int] = []
        self.steps = self.meetings = 0
        self.watched = False

    def enter(self, chunk: Chunk) -> None:
        """Watch the warps of the first chunk only, as many as one multiprocessor holds."""
        self.watched = chunk.first == 0
        if self.watched:
            self.ctas = min(self.ctas, chunk.ctas)
            self.traces = [[] for _ in range(self.ctas * self.warps)]

    def begin(self, chunk: Chunk, what: Details) -> None:
        """Add a step to each warp with an active lane."""
        self.running = []
        if self.watched and self.steps < _MOST_STEPS:
            lanes = chunk.active()[: self.ctas].reshape(len(self.traces), 32)
            self.running = np.flatnonzero(lanes.any(axis=1)).tolist()
            self.steps += len(self.running)
            for warp in self.running:
                self.traces[warp].append(Step(what))

    def end(self, chunk: Chunk, code: CodeBlock) -> None:
        """A block's last instruction is a step, too."""
        if code.ending is not None:
            self.begin(chunk, code.ending)

    def touch(
        self, chunk: Chunk, site: Any, space: str, kind: str, address: Array, mask: Array | None, value: Array | None
    ) -> None:
        """Add what an access costs to the running step of each warp."""
        if not self.running or space not in ("global", "shared"):
            return
        active = np.ones((1, 1), np.bool_) if mask is None else np.asarray(mask)
        lanes = chunk.full(active)[self.running]
        where = chunk.full(np.asarray(address)).astype(np.uint64)[self.running]
        if space == "global":
            for warp, sectors in zip(self.running, distinct(where >> _SECTOR_SHIFT, lanes).tolist()):
                self.traces[warp][-1].sectors += sectors
            return
        taken = passes(where, lanes, site.size).reshape(len(self.running), -1).sum(axis=1)
        for warp, count in zip(self.running, taken.tolist()):
            self.traces[warp][-1].passes += count

    def release(self, chunk: Chunk, barrier: Any, lanes: Array) -> None:
        """The warps that go on from a barrier together met there."""
        if not self.watched:
            return
        together = np.flatnonzero(lanes[: self.ctas].reshape(len(self.traces), 32).any(axis=1)).tolist()
        by_cta: dict[int, list[int]] = {}
        for warp in together:
            if self.traces[warp]:
                by_cta.setdefault(warp // self.warps if barrier >= 0 else 0, []).append(warp)
        for group in by_cta.values():
            self.meetings += 1
            for warp in group:
                step = self.traces[warp][-1]
                step.barrier, step.meeting = self.meetings, len(group)

    def model(self) -> Model:
        """Play the traces on the device's scoreboard."""
        board = Scoreboard(self.device, self.traces)
        board.play()
        return Model(
            self.device.device,
            self.ctas,
            self.warps,
            self.waves,
            board.cycles,
            board.issued,
            board.stalls,
            board.per_line,
            self.steps < _MOST_STEPS,
        )
