"""How things are timed here: two contenders in turn, many short rounds, medians, and their ratio."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

Run = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Row:
    """One measured bar: `value` in `unit`, and what it must reach (``>=`` or ``<=`` `bar`)."""

    measure: str
    value: float
    unit: str
    bar: float
    at_least: bool
    note: str = ""

    @property
    def reached(self) -> bool:
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        mark = "reached" if self.reached else "MISSED"
        return f"{self.measure:58} {self.value:9.3f} {self.unit:18} {sign} {self.bar:<8g} {mark:8} {self.note}"


def seconds(run: Run, repeat: int = 1, clock: Callable[[], float] = time.process_time) -> float:
    """Seconds of one call, from a loop of `repeat`."""
    start = clock()
    for _ in range(repeat):
        run()
    return (clock() - start) / repeat


def interleaved(ours: Run, peer: Run, rounds: int = 11, repeat: int = 1) -> tuple[float, float]:
    """Median process CPU seconds of two contenders run in turn in one process."""
    mine, theirs = [], []
    for _ in range(rounds):
        mine.append(seconds(ours, repeat))
        theirs.append(seconds(peer, repeat))
    return statistics.median(mine), statistics.median(theirs)
