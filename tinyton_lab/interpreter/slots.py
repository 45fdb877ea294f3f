"""Shared memory of the programs that run together: the bits of each slot, and who touched it since the last `sync`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyton_lab.base.source import Span

Array = Any
NOBODY, SEVERAL = -1, -2


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two lanes at one slot without a `sync` between: which of the elements looked at, and who was there before."""

    element: int
    other: int
    wrote: bool
    place: Span | None


class Touches:
    """Who touched each slot last (`lane`), between which two waits (`epoch`), and where in the text (`place`)."""

    def __init__(self, programs: int) -> None:
        self.lane = np.full((programs, 0), NOBODY, np.int64)
        self.epoch = np.zeros((programs, 0), np.int64)
        self.place = np.zeros((programs, 0), np.int64)

    def grow(self, slots: int) -> None:
        more = ((0, 0), (0, slots - self.lane.shape[1]))
        self.lane = np.pad(self.lane, more, constant_values=NOBODY)
        self.epoch, self.place = np.pad(self.epoch, more), np.pad(self.place, more)

    def others(self, rows: Array, slots: Array, lanes: Array, epochs: Array) -> Array:
        """Which elements another lane touched since the last wait."""
        before = self.lane[rows, slots]
        return (before != NOBODY) & ((before != lanes) | (lanes == SEVERAL)) & (self.epoch[rows, slots] == epochs)

    def note(self, rows: Array, slots: Array, lanes: Array, epochs: Array, place: int) -> None:
        """Write down a touch; where several lanes touch a slot at once, that it was several."""
        self.lane[rows, slots] = lanes
        shared = self.lane[rows, slots] != lanes
        self.lane[rows[shared], slots[shared]] = SEVERAL
        self.epoch[rows, slots], self.place[rows, slots] = epochs, place


class Slots:
    """The shared memory of programs ``first ...``, as uint32. Rows are programs."""

    def __init__(self, first: int, programs: int) -> None:
        self.first, self.programs = first, programs
        self.bits = np.zeros((programs, 0), np.uint32)
        self.writes, self.reads = Touches(programs), Touches(programs)
        self.epochs = np.zeros(programs, np.int64)
        self.places: list[Span | None] = []

    def grow(self, slots: int) -> None:
        """Have at least so many slots."""
        if slots > self.bits.shape[1]:
            self.bits = np.pad(self.bits, ((0, 0), (0, slots - self.bits.shape[1])))
            self.writes.grow(slots)
            self.reads.grow(slots)

    def empty(self, rows: Array, slots: Array) -> Array:
        """Which elements lie in slots that nothing was stored to."""
        return self.writes.lane[rows, slots] == NOBODY

    def conflict(self, rows: Array, slots: Array, lanes: Array, storing: bool) -> Conflict | None:
        """The first element, in order of programs and lanes, that another lane touched since the last `sync`."""
        epochs = self.epochs[rows]
        for touches in (self.writes, self.reads) if storing else (self.writes,):
            found = touches.others(rows, slots, lanes, epochs)
            if found.any():
                at = int(np.argmax(found))
                where = rows[at], slots[at]
                wrote = touches is self.writes
                return Conflict(at, int(touches.lane[where]), wrote, self.places[int(touches.place[where])])
        return None

    def store(self, rows: Array, slots: Array, lanes: Array, bits: Array, place: Span | None) -> None:
        self.bits[rows, slots] = bits
        self.writes.note(rows, slots, lanes, self.epochs[rows], self._number(place))

    def load(self, rows: Array, slots: Array, lanes: Array, place: Span | None) -> Array:
        earlier = self.reads.others(rows, slots, lanes, self.epochs[rows])
        self.reads.note(rows, slots, np.where(earlier, SEVERAL, lanes), self.epochs[rows], self._number(place))
        return self.bits[rows, slots]

    def wait(self, rows: Array) -> None:
        self.epochs[rows] += 1

    def _number(self, place: Span | None) -> int:
        if not self.places or self.places[-1] is not place:
            self.places.append(place)
        return len(self.places) - 1
