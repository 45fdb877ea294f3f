"""Where two recordings of a kernel part: the first step of a warp that does something else. Knows no instruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from tinyton_lab.record.events import Step


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first difference: the steps of both recordings (None where one has ended), and what differs.

    `what` is ``end``, ``instruction``, ``lanes``, ``write``, ``address`` or ``memory``; for a write or memory, `name`
    is the register or memory, `lane` the lane, and `values` what each recording has.
    """

    what: str
    left: Step | None
    right: Step | None
    name: str = ""
    lane: int = -1
    values: tuple[Any, Any] = (None, None)

    def __str__(self) -> str:
        step = self.left or self.right
        if step is None:
            raise RuntimeError("record: a difference has a step")
        where = f"step {step.index}, CTA {step.cta}, warp {step.warp}, line {step.line}: {step.text}"
        told = f"{self.name} lane {self.lane}: {self.values[0]} and {self.values[1]}" if self.name else self.what
        return f"{where}\n  {self.what} differs: {told}"


def first_divergence(left: Sequence[Step], right: Sequence[Step]) -> Divergence | None:
    """The earliest difference, in the left recording's order; None where all warps do the same.

    Steps are compared per warp, in the order in which each warp runs them, so that another interleaving of warps is no
    difference. NaN equals NaN.
    """
    warps, others = _by_warp(left), _by_warp(right)
    found: list[tuple[int, Divergence]] = []
    for key in dict.fromkeys([*warps, *others]):
        for mine, theirs in zip_longest(warps.get(key, []), others.get(key, [])):
            difference = _difference(mine, theirs)
            if difference is not None:
                found.append(((mine or theirs).index, difference))
                break
    return min(found, key=lambda entry: entry[0])[1] if found else None


def _by_warp(steps: Sequence[Step]) -> dict[tuple[tuple[int, int, int], int], list[Step]]:
    found: dict[tuple[tuple[int, int, int], int], list[Step]] = {}
    for step in steps:
        found.setdefault((step.cta, step.warp), []).append(step)
    return found


def _difference(left: Step | None, right: Step | None) -> Divergence | None:
    if left is None or right is None:
        return Divergence("end", left, right)
    if left.text != right.text or left.line != right.line:
        return Divergence("instruction", left, right)
    if left.mask != right.mask:
        return Divergence("lanes", left, right, "mask", 0, (left.mask, right.mask))
    for (name, mine), (_, theirs) in zip(left.writes, right.writes):
        lane = _first(mine, theirs, left.mask)
        if lane >= 0:
            return Divergence("write", left, right, name, lane, (mine[lane], theirs[lane]))
    for one, other in zip(left.accesses, right.accesses):
        for what, mine, theirs in (("address", one.offsets, other.offsets), ("memory", one.data, other.data)):
            lane = _first(mine, theirs, left.mask)
            if lane >= 0:
                return Divergence(what, left, right, one.name, lane, (mine[lane], theirs[lane]))
    for moved, also in zip(left.movements, right.movements):
        for what, mine, theirs in (("address", moved.runs, also.runs), ("memory", moved.data, also.data)):
            at = next((n for n, pair in enumerate(zip(mine, theirs)) if pair[0] != pair[1]), -1)
            if at >= 0:
                return Divergence(what, left, right, moved.target[1], moved.lane, (mine[at], theirs[at]))
    return None


def _first(left: Sequence[Any], right: Sequence[Any], mask: int) -> int:
    """The first active lane whose values differ; -1 if there is none."""
    for lane, (mine, theirs) in enumerate(zip(left, right)):
        if mask >> lane & 1 and mine != theirs and not (mine != mine and theirs != theirs):
            return lane
    return -1
