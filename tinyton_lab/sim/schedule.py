"""Random schedules: which warps of which group run next, drawn from a seed. Knows blocks and places, no instruction."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from tinyton_lab.sim.control import Branch, Jump, Switch
from tinyton_lab.sim.lanes import Array
from tinyton_lab.sim.program import CodeBlock

# (minus the call depth, block number): the smallest runs first, so that lanes wait for those that still come.
Place = tuple[int, int]


class Groups(Protocol):
    """The lanes at their places, as the machine keeps them (see `Machine`)."""

    groups: dict[Place, tuple[Array | None, int]]

    def lanes_at(self, place: Place) -> Array: ...
    def ready(self, place: Place) -> bool: ...
    def keep(self, place: Place, chosen: Array) -> None: ...
    def rejoin(self) -> None: ...


def successors(code: CodeBlock) -> tuple[int, ...]:
    """The blocks at which lanes may be after a block, in the same function."""
    terminator: Any = code.terminator
    if isinstance(terminator, Jump):
        return (terminator.target,)
    if isinstance(terminator, Branch):
        return (terminator.taken, terminator.follow)
    if isinstance(terminator, Switch):
        return (*terminator.targets, terminator.follow)
    return (terminator.follow,)


def loops(following: Sequence[tuple[int, ...]]) -> list[tuple[int, int]]:
    """The first and last block of each loop, inner ones first: blocks are numbered so that loops stay together."""
    last = list(range(len(following)))
    repeats: set[int] = set()
    for number, after in enumerate(following):
        for header in after:
            if header <= number:
                repeats.add(header)
                last[header] = max(last[header], number)
    for header in sorted(repeats, reverse=True):
        # An inner loop may go on behind the place from where this one starts again.
        for inner in range(header + 1, last[header] + 1):
            last[header] = max(last[header], last[inner])
    return [(header, last[header]) for header in sorted(repeats, reverse=True)]


def blocks_ahead(code: Sequence[CodeBlock]) -> list[int]:
    """For each block, as bits of an integer, the blocks that wait for lanes that are in it.

    Those are the later blocks of the same turn of each loop around it, and all that come after such a loop.
    """
    following = [tuple(s for s in successors(block) if s >= 0) for block in code]
    forward = [0] * len(code)
    for number in range(len(code) - 1, -1, -1):
        for after in following[number]:
            if after > number:
                forward[number] |= 1 << after | forward[after]
    ahead = list(forward)
    for first, last in loops(following):
        outside = ~((1 << last + 1) - (1 << first))
        beyond = 0
        for number in range(first, last + 1):
            beyond |= forward[number]
        for number in range(first, last + 1):
            ahead[number] |= beyond & outside
    return ahead


class Schedule:
    """Mutable: the draws of one chunk of `warps` warps.

    Lanes of a warp still meet where they can: a group waits for the others of its warp that may come to its block. What
    is drawn is which warps go on, and which side of a branch goes first. Warpgroups stay together where they multiply.
    """

    def __init__(self, code: Sequence[CodeBlock], seed: int, first: int, threads: int) -> None:
        self.random = random.Random(f"{seed} {first}")
        self.ahead = blocks_ahead(code)
        together = any(what.instruction.opcode.startswith("wgmma") for block in code for what in block.details)
        self.unit = 128 if together and threads % 128 == 0 else 32

    def units(self, machine: Groups, place: Place) -> Array:
        """The warps (or warpgroups) that have lanes at a place."""
        return machine.lanes_at(place).reshape(-1, self.unit).any(axis=1)

    def choose(self, machine: Groups) -> Place | None:
        """Draw some warps at one place and leave the others behind; None when no group may run by these rules."""
        places = sorted(machine.groups)
        self.random.shuffle(places)
        warps = {place: self.units(machine, place) for place in places}
        for place in places:
            free = warps[place] & ~self._waiting(place, warps)
            before = machine.lanes_at(place)
            if free.any() and machine.ready(place):
                # Some warps may have to stay behind.
                free &= ~(before & ~machine.lanes_at(place)).reshape(-1, self.unit).any(axis=1)
                if free.any():
                    machine.keep(place, np.repeat(self._drawn(free), self.unit))
                    return place
                machine.rejoin()
        return None

    def _waiting(self, place: Place, warps: dict[Place, Array]) -> Array:
        """The warps that have lanes elsewhere which may come to `place`."""
        found = np.zeros(len(warps[place]), np.bool_)
        for other, there in warps.items():
            if other[0] < place[0] or (other[0] == place[0] and self.ahead[other[1]] >> place[1] & 1):
                found |= there
        return found

    def _drawn(self, free: Array) -> Array:
        chosen = np.zeros(len(free), np.bool_)
        numbers = np.flatnonzero(free).tolist()
        chosen[[n for n in numbers if self.random.random() < 0.5] or [self.random.choice(numbers)]] = True
        return chosen
