"""Which branch let a recorded step run, and the predicate that decided it. Follows no values."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from tinyton_lab.ptx.cfg import blocks, deciding_blocks, flatten
from tinyton_lab.ptx.syntax import Instruction, Module
from tinyton_lab.record.timeline import Timeline
from tinyton_lab.sim.moments import Register, first_name

_Warp = tuple[tuple[int, int, int], int]


class _Home(NamedTuple):
    """The block that an instruction stands in, and its place there."""

    block: tuple[str, int]
    place: int


class Conditions:
    """Mutable: the blocks of a module's functions, and where each warp of a recording ran them (on first use)."""

    def __init__(self, module: Module, timeline: Timeline, instructions: dict[tuple[int, str], Instruction]) -> None:
        self.module, self.timeline, self.instructions = module, timeline, instructions
        self.homes: dict[int, _Home] = {}
        self.deciders: dict[tuple[str, int], list[tuple[str, int]]] = {}
        self.predicates: dict[tuple[str, int], str] = {}
        self.visits: dict[tuple[_Warp, tuple[str, int]], list[int]] = {}
        self.warps: dict[_Warp, list[int]] = {}

    def of(self, place: int, lane: int) -> Register | None:
        """The predicate of the branch that last decided that a lane runs a step; None where nothing decides it."""
        self._read()
        home = self._home(place)
        if home is None:
            return None
        step = self.timeline.steps[place]
        warp, start = (step.cta, step.warp), self._start(place, home)
        found: list[Register] = []
        for decider in self.deciders.get(home.block, []):
            seen = self._last(self.visits.get((warp, decider), []), start, lane)
            if seen is not None:
                found.append(Register(seen, lane, self.predicates[decider]))
        return max(found, default=None)

    def _last(self, visits: list[int], before: int, lane: int) -> int | None:
        """The last of some steps, earlier than another, that a lane took part in."""
        for at in range(bisect_left(visits, before) - 1, -1, -1):
            if self.timeline.steps[visits[at]].mask >> lane & 1:
                return visits[at]
        return None

    def _start(self, place: int, home: _Home) -> int:
        """The first step of the run of a block that a step belongs to: its warp's steps before it, back to back."""
        step = self.timeline.steps[place]
        places = self.warps[step.cta, step.warp]
        at = bisect_left(places, place)
        while at > 0:
            before = self._home(places[at - 1])
            if before is None or before.block != home.block or before.place >= home.place:
                break
            at, home = at - 1, before
        return places[at]

    def _home(self, place: int) -> _Home | None:
        step = self.timeline.steps[place]
        instruction = self.instructions.get((step.line, step.text))
        return None if instruction is None else self.homes.get(instruction.start)

    def _read(self) -> None:
        if self.homes:
            return
        for name, function in self.module.functions.items():
            if function.body is None:
                continue
            flat = flatten(self.module, function)
            cut = blocks(self.module, flat)
            for block, deciders in zip(cut, deciding_blocks(flat, cut)):
                key = (name, block.index)
                self.deciders[key] = [(name, decider) for decider in deciders]
                for index in range(block.first, block.last):
                    self.homes[flat.instructions[index].start] = _Home(key, index)
                if block.last > block.first:
                    last = flat.instructions[block.last - 1]
                    self.predicates[key] = last.guard or (first_name(last.operands[0]) if last.operands else "")
        for place, step in enumerate(self.timeline.steps):
            warp = (step.cta, step.warp)
            self.warps.setdefault(warp, []).append(place)
            home = self._home(place)
            if home is not None:
                self.visits.setdefault((warp, home.block), []).append(place)
