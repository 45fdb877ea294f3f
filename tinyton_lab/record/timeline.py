"""Time travel over the steps of a recording: values, memory, writers, readers, breakpoints. Knows no instruction."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tinyton_lab.record.events import Access, Movement, Step

Cta = tuple[int, int, int]
_FIRST: Cta = (0, 0, 0)
_Scope = tuple[Any, ...]


def scope(space: str, name: str, cta: Cta, warp: int, lane: int) -> _Scope:
    """Which memory a name means to a lane: shared memory is one per CTA, local memory one per lane."""
    if space == "shared":
        return name, cta
    return (name, cta, warp, lane) if space == "local" else (name,)


class Touch(NamedTuple):
    """A byte of memory met by step number `step` for a `lane`: by number `part` of the step's accesses, or movements.

    `run` is the number of the movement's run; of an access, -1.
    """

    step: int
    lane: int
    part: int
    run: int = -1


@dataclass(frozen=True, slots=True)
class Watch:
    """What a step must do to stop time: every field that is given must hold.

    `register` is written, or byte `offset` of memory `name` is (any byte if no offset is given), by `lane` if that is
    given; with `reads` they are read instead. `line` is the PTX line, `uid` the op; `test` may ask anything of the
    step.
    """

    line: int | None = None
    uid: int | None = None
    register: str | None = None
    name: str | None = None
    offset: int | None = None
    cta: Cta | None = None
    warp: int | None = None
    lane: int | None = None
    test: Callable[[Step], bool] | None = None
    reads: bool = False

    def holds(self, step: Step) -> bool:
        """Whether a step is what is waited for."""
        wanted = ((self.line, step.line), (self.uid, step.uid), (self.cta, step.cta), (self.warp, step.warp))
        return (
            all(value is None or value == found for value, found in wanted)
            and (self.lane is None or bool(step.mask >> self.lane & 1))
            and (self.register is None or self.register in (step.reads if self.reads else dict(step.writes)))
            and (self.name is None or self._touches(step))
            and (self.test is None or self.test(step))
        )

    def _touches(self, step: Step) -> bool:
        other = "store" if self.reads else "load"
        found = any(self._hits(access) for access in step.accesses if access.kind != other)
        return found or any(self._moved(movement) for movement in step.movements)

    def _hits(self, access: Access) -> bool:
        offsets = access.offsets if self.lane is None else access.offsets[self.lane : self.lane + 1]
        if access.name != self.name or self.offset is None:
            return access.name == self.name
        return any(0 <= first <= self.offset < first + access.bytes for first in offsets)

    def _moved(self, movement: Movement) -> bool:
        end, at = 0 if self.reads else 1, self.offset
        if (movement.origin, movement.target)[end][1] != self.name or self.lane not in (None, movement.lane):
            return False
        return at is None or any(0 <= run[end] <= at < run[end] + run[2] for run in movement.runs)


class Timeline:
    """Mutable: a position in a recording's steps, and indices that are made on first use.

    Steps are numbered from 0 by their place in the list; a value "at step n" is the value after step n ran (-1: before
    all). Warps other than the step's own are where the recording has them then.

    >>> step = Step(0, (0, 0, 0), 0, 1, 0, "mov.u32 %r1, 7;", 0xFFFFFFFF, (("%r1", (7,) * 32),))
    >>> timeline = Timeline([step])
    >>> timeline.value("%r1", lane=3), timeline.value("%r1", lane=3, step=-1)
    (7, None)
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps
        self.position = len(steps) - 1
        self.watches: list[Watch] = []
        self._writes: dict[tuple[Cta, int], dict[str, list[tuple[int, int]]]] | None = None
        self._reads: dict[tuple[Cta, int, str], list[int]] = {}
        self._lanes: dict[tuple[Cta, int, str, int], tuple[list[int], list[int]]] = {}
        self._stores: dict[_Scope, dict[int, list[Touch]]] = {}
        self._loads: dict[_Scope, dict[int, list[Touch]]] = {}
        self._sizes: dict[_Scope, set[int]] = {}
        self._filled: dict[_Scope, list[_Moved]] = {}
        self._emptied: dict[_Scope, list[_Moved]] = {}
        self._memory_known = False

    # Values.
    def value(self, register: str, cta: Cta = _FIRST, warp: int = 0, lane: int = 0, step: int | None = None) -> Any:
        """The value of a lane's register at a step (the current one by default); None before its first write."""
        places, which = self._lane(cta, warp, register, lane)
        at = bisect_right(places, self._step(step)) - 1
        return None if at < 0 else self.steps[places[at]].writes[which[at]][1][lane]

    def registers(self, cta: Cta = _FIRST, warp: int = 0, step: int | None = None) -> dict[str, tuple[Any, ...]]:
        """All registers of a warp at a step, each with 32 lane values (None in lanes that have not written it)."""
        names = self._warp(cta, warp)
        found = {name: tuple(self.value(name, cta, warp, lane, step) for lane in range(32)) for name in names}
        return {name: values for name, values in found.items() if any(value is not None for value in values)}

    def memory(
        self,
        name: str,
        offset: int,
        step: int | None = None,
        dtype: Any = np.uint8,
        space: str = "global",
        cta: Cta = _FIRST,
        warp: int = 0,
        lane: int = 0,
    ) -> Any:
        """The element at byte `offset` of an argument, variable or state space; None where no recorded step wrote it.

        Shared and local memory are named ``"shared"`` and ``"local"``, and need `space` to say the same.
        """
        found, where, at = np.dtype(dtype), scope(space, name, cta, warp, lane), self._step(step)
        content = [self._byte(where, offset + n, at) for n in range(found.itemsize)]
        known = [byte for byte in content if byte is not None]
        return np.frombuffer(bytes(known), found)[0] if len(known) == found.itemsize else None

    def _byte(self, where: _Scope, offset: int, at: int) -> int | None:
        writer = self.last_store(where, offset, at)
        if writer is None:
            return None
        step = self.steps[writer.step]
        if writer.run >= 0:
            movement = step.movements[writer.part]
            before = sum(size for _, _, size in movement.runs[: writer.run])
            return movement.data[before + offset - movement.runs[writer.run][1]]
        access = step.accesses[writer.part]
        if not access.data:
            return None
        return access.data[writer.lane] >> 8 * (offset - access.offsets[writer.lane]) & 0xFF

    # Who and when.
    def last_writer(
        self, register: str, cta: Cta = _FIRST, warp: int = 0, lane: int = 0, step: int | None = None
    ) -> Step | None:
        """The step that gave a lane's register the value that it has at a step."""
        place = self.writer_place(register, cta, warp, lane, self._step(step))
        return None if place is None else self.steps[place]

    def writer_place(self, register: str, cta: Cta, warp: int, lane: int, step: int) -> int | None:
        """The number of that step."""
        places, _ = self._lane(cta, warp, register, lane)
        at = bisect_right(places, step) - 1
        return None if at < 0 else places[at]

    def next_reader(
        self, register: str, cta: Cta = _FIRST, warp: int = 0, lane: int = 0, step: int | None = None
    ) -> Step | None:
        """The first step after a step that reads the value a lane's register then has; None if it is lost unread."""
        self._warp(cta, warp)
        readers, after = self._reads.get((cta, warp, register), []), self._step(step)
        places, _ = self._lane(cta, warp, register, lane)
        at = bisect_right(places, after)
        lost = places[at] if at < len(places) else len(self.steps)
        for place in readers[bisect_right(readers, after) :]:
            if place > lost:
                return None
            if self.steps[place].mask >> lane & 1:
                return self.steps[place]
        return None

    def memory_writer(
        self,
        name: str,
        offset: int,
        step: int | None = None,
        space: str = "global",
        cta: Cta = _FIRST,
        warp: int = 0,
        lane: int = 0,
    ) -> Step | None:
        """The step that gave a byte of memory (named as for `memory`) the value that it has at a step."""
        found = self.last_store(scope(space, name, cta, warp, lane), offset, self._step(step))
        return None if found is None else self.steps[found.step]

    def memory_reader(
        self,
        name: str,
        offset: int,
        step: int | None = None,
        space: str = "global",
        cta: Cta = _FIRST,
        warp: int = 0,
        lane: int = 0,
    ) -> Step | None:
        """The first step after a step that reads the value a byte of memory then has; None if it is lost unread."""
        where, after = scope(space, name, cta, warp, lane), self._step(step)
        found, lost = self.next_load(where, offset, after), self.next_store(where, offset, after)
        # An atomic reads what it overwrites.
        return None if found is None or (lost and lost.step < found.step) else self.steps[found.step]

    def last_store(self, where: _Scope, offset: int, step: int) -> Touch | None:
        """The store, atomic or copy that last wrote byte `offset` of a memory `scope` by a step."""
        self._know_memory()
        stores = self._touching(self._stores, where, offset, step, False)
        return max([*stores, *_moving(self._filled.get(where, []), offset, step, False)], default=None)

    def next_load(self, where: _Scope, offset: int, step: int) -> Touch | None:
        """The first load, atomic or copy after a step that reads byte `offset` of a memory `scope`."""
        self._know_memory()
        loads = self._touching(self._loads, where, offset, step, True)
        return min([*loads, *_moving(self._emptied.get(where, []), offset, step, True)], default=None)

    def next_store(self, where: _Scope, offset: int, step: int) -> Touch | None:
        """The first store, atomic or copy after a step that writes byte `offset` of a memory `scope`."""
        self._know_memory()
        stores = self._touching(self._stores, where, offset, step, True)
        return min([*stores, *_moving(self._filled.get(where, []), offset, step, True)], default=None)

    def _touching(
        self, log: dict[_Scope, dict[int, list[Touch]]], where: _Scope, offset: int, step: int, after: bool
    ) -> Iterable[Touch]:
        starts = log.get(where, {})
        for first in range(offset - max(self._sizes.get(where, {1})) + 1, offset + 1):
            entries = starts.get(first, [])
            at = bisect_right(entries, (step, 32))
            for touch in entries[at:] if after else reversed(entries[:at]):
                if first + self.steps[touch.step].accesses[touch.part].bytes > offset:
                    yield touch
                    break

    # Moving.
    def step(self, count: int = 1) -> Step | None:
        """Go forward; returns the step that just ran (None before the first)."""
        self.position = max(-1, min(self.position + count, len(self.steps) - 1))
        return self.current

    def back(self, count: int = 1) -> Step | None:
        """Go backward."""
        return self.step(-count)

    @property
    def current(self) -> Step | None:
        """The step that ran last."""
        return self.steps[self.position] if self.position >= 0 else None

    def run_to(self, watch: Watch | None = None, backward: bool = False, **wanted: Any) -> Step | None:
        """Go on until a step does what is wanted (fields of `Watch`), or any of `watches` if nothing is named.

        Without such a step time runs to its end, and the result is None.
        """
        chosen = [watch] if watch is not None else [Watch(**wanted)] if wanted else self.watches
        places = range(self.position - 1, -1, -1) if backward else range(self.position + 1, len(self.steps))
        for place in places:
            if any(each.holds(self.steps[place]) for each in chosen):
                self.position = place
                return self.steps[place]
        self.position = -1 if backward else len(self.steps) - 1
        return None

    def watch(self, **wanted: Any) -> Watch:
        """Let `run_to` stop at a register, lane, address, line or op (fields of `Watch`)."""
        self.watches.append(Watch(**wanted))
        return self.watches[-1]

    # Indices.
    def _step(self, step: int | None) -> int:
        return self.position if step is None else step

    def _warp(self, cta: Cta, warp: int) -> dict[str, list[tuple[int, int]]]:
        """(step, which of its writes) of each register that a warp writes."""
        if self._writes is None:
            self._writes = {}
            for place, step in enumerate(self.steps):
                of_warp = self._writes.setdefault((step.cta, step.warp), {})
                for which, (name, _) in enumerate(step.writes):
                    of_warp.setdefault(name, []).append((place, which))
                for name in step.reads:
                    self._reads.setdefault((step.cta, step.warp, name), []).append(place)
        return self._writes.get((cta, warp), {})

    def _lane(self, cta: Cta, warp: int, register: str, lane: int) -> tuple[list[int], list[int]]:
        key = (cta, warp, register, lane)
        found = self._lanes.get(key)
        if found is None:
            entries = self._warp(cta, warp).get(register, [])
            kept = [entry for entry in entries if self.steps[entry[0]].mask >> lane & 1]
            found = self._lanes[key] = [place for place, _ in kept], [which for _, which in kept]
        return found

    def _know_memory(self) -> None:
        if self._memory_known:
            return
        self._memory_known = True
        for place, step in enumerate(self.steps):
            for part, access in enumerate(step.accesses):
                self._know_access(place, part, step, access)
            for part, movement in enumerate(step.movements):
                for log, (space, name), end in (
                    (self._emptied, movement.origin, 0),
                    (self._filled, movement.target, 1),
                ):
                    where = scope(space, name, step.cta, step.warp, movement.lane)
                    log.setdefault(where, []).append(_Moved.of(Touch(place, movement.lane, part), movement, end))

    def _know_access(self, place: int, part: int, step: Step, access: Access) -> None:
        for lane, offset in enumerate(access.offsets):
            if offset < 0:
                continue
            where, touch = scope(access.space, access.name, step.cta, step.warp, lane), Touch(place, lane, part)
            self._sizes.setdefault(where, set()).add(access.bytes)
            if access.kind != "load":
                self._stores.setdefault(where, {}).setdefault(offset, []).append(touch)
            if access.kind != "store":
                self._loads.setdefault(where, {}).setdefault(offset, []).append(touch)


class _Moved(NamedTuple):
    """One end of a movement: where its runs begin there, in rising order, and which runs they are."""

    touch: Touch
    starts: list[int]
    runs: list[tuple[int, int]]

    @classmethod
    def of(cls, touch: Touch, movement: Movement, end: int) -> _Moved:
        ordered = sorted((run[end], number, run[2]) for number, run in enumerate(movement.runs) if run[end] >= 0)
        return cls(touch, [first for first, _, _ in ordered], [(number, size) for _, number, size in ordered])


def _moving(log: list[_Moved], offset: int, step: int, after: bool) -> Iterable[Touch]:
    """The nearest movement after a step, or not after it, that has a byte."""
    at = bisect_right(log, step, key=lambda moved: moved.touch.step)
    for moved in log[at:] if after else reversed(log[:at]):
        nearest = bisect_right(moved.starts, offset) - 1
        if nearest >= 0:
            number, size = moved.runs[nearest]
            if offset < moved.starts[nearest] + size:
                return [moved.touch._replace(run=number)]
    return []
