"""Who has seen whose past: vector clocks of a chunk's warps (PTX ISA chapter 8). Knows barriers, not memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tinyton_lab.sim.lanes import Array, Chunk
from tinyton_lab.sim.observers import CLUSTER_BARRIER

# What a warp knows of warps outside its cluster: the cluster's number to an epoch for each of its warps.
Foreign = Mapping[int, Array]


class Clocks:
    """Mutable: `known[group, warp, agent]` is the last epoch of an agent that a warp has seen.

    A group is a cluster (usually one CTA); its agents are its warps, then the memory barriers that copies report to.
    `proxied` is the same for what the async proxy may see. A warp's own epoch grows when it lets others see its past.
    """

    def __init__(self, chunk: Chunk, cluster: int) -> None:
        self.ctas, self.cluster = chunk.ctas, cluster
        self.warps = chunk.threads // 32 * cluster
        self.groups = chunk.ctas // cluster
        self.first_group = chunk.first // cluster
        self.known = np.zeros((self.groups, self.warps, self.warps + 2), np.int32)
        self.proxied = np.zeros_like(self.known)
        self.agents: dict[tuple[int, int], int] = {}
        self.meetings: dict[int, tuple[Array, Array]] = {}
        self.foreign: dict[tuple[int, int], Foreign] = {}
        self.gathered: dict[tuple[int, int], Foreign] = {}
        self.fenced: dict[tuple[int, int], Foreign] = {}
        self.asked: dict[tuple[int, int], Foreign] = {}
        every = np.arange(self.warps)
        self.known[:, every, every] = 1

    def warps_of(self, lanes: Array) -> Array:
        """Which warps (groups, warps) have one of the lanes (ctas, threads)."""
        return lanes.reshape(self.groups, self.warps, 32).any(axis=2)

    def epoch(self, group: Array, warp: Array) -> Array:
        """The own epochs of warps."""
        return self.known[group, warp, warp]

    def step(self, warps: Array) -> None:
        """Begin a new epoch in the given warps (groups, warps)."""
        group, warp = np.nonzero(warps)
        self.known[group, warp, warp] += 1

    def agent(self, row: int, address: int) -> int:
        """The column of a memory barrier, which stands for the copies that report to it."""
        column = self.agents.setdefault((row, address), self.warps + len(self.agents))
        if column >= self.known.shape[2]:
            wider = ((0, 0), (0, 0), (0, self.known.shape[2]))
            self.known, self.proxied = np.pad(self.known, wider), np.pad(self.proxied, wider)
            self.meetings = {key: (np.pad(a, wider[1:]), np.pad(b, wider[1:])) for key, (a, b) in self.meetings.items()}
        return column

    # Barriers of a CTA, and of a cluster.
    def arrive(self, barrier: int, lanes: Array) -> None:
        """The arriving warps' past goes into the barrier."""
        warps = self.warps_of(lanes)
        size = self.known.shape[2]
        past = [
            np.where(warps[..., None], clock, 0).reshape(self.ctas, -1, size).max(axis=1)
            for clock in (self.known, self.proxied)
        ]
        if barrier == CLUSTER_BARRIER:
            past = [np.repeat(clock.reshape(self.groups, -1, size).max(axis=1), self.cluster, axis=0) for clock in past]
        old = self.meetings.get(barrier, (past[0], past[1]))
        self.meetings[barrier] = (np.maximum(old[0], past[0]), np.maximum(old[1], past[1]))
        self._gather(barrier, warps)
        self.step(warps)

    def release(self, barrier: int, lanes: Array) -> None:
        """The released warps see what the barrier has gathered."""
        if barrier not in self.meetings:
            return
        warps, size = self.warps_of(lanes), self.known.shape[2]
        per_cta = self.warps // self.cluster
        for clock, met in zip((self.known, self.proxied), self.meetings[barrier]):
            seen = np.repeat(met, per_cta, axis=0).reshape(self.groups, self.warps, size)
            np.maximum(clock, np.where(warps[..., None], seen, 0), out=clock)
        done = lanes.any(axis=1)
        self._scatter(barrier, warps, done)
        if barrier != CLUSTER_BARRIER:
            for met in self.meetings[barrier]:
                met[done] = 0

    def _row(self, group: int, warp: int) -> int:
        return group * self.cluster + warp // (self.warps // self.cluster)

    def _gather(self, barrier: int, warps: Array) -> None:
        for (group, warp), past in self.foreign.items():
            if warps[group, warp]:
                key = (barrier, self._row(group, warp))
                self.gathered[key] = merged(self.gathered.get(key, {}), past)

    def _scatter(self, barrier: int, warps: Array, done: Array) -> None:
        for key in [key for key in self.gathered if key[0] == barrier and done[key[1]]]:
            past = self.gathered.pop(key)
            group = key[1] // self.cluster
            for warp in np.flatnonzero(warps[group]).tolist():
                if self._row(group, warp) == key[1]:
                    self.foreign[group, warp] = merged(self.foreign.get((group, warp), {}), past)

    # Fences, releases and acquires of single warps.
    def snapshot(self, group: int, warp: int) -> Foreign:
        """All that a warp has seen, as others may learn it; the warp begins a new epoch."""
        past = {**self.foreign.get((group, warp), {}), self.first_group + group: self.known[group, warp].copy()}
        self.known[group, warp, warp] += 1
        return past

    def learn(self, group: int, warp: int, past: Foreign) -> None:
        """A warp sees what was published."""
        own = past.get(self.first_group + group)
        if own is not None:
            row = self.known[group, warp]
            np.maximum(row[: len(own)], own, out=row[: len(own)])
        others = {key: clock for key, clock in past.items() if key != self.first_group + group}
        if others:
            self.foreign[group, warp] = merged(self.foreign.get((group, warp), {}), others)

    def fence(self, lanes: Array) -> None:
        """What was read before becomes seen; what happened before is ready for a later relaxed store."""
        for group, warp in zip(*(places.tolist() for places in np.nonzero(self.warps_of(lanes)))):
            asked = self.asked.pop((group, warp), None)
            if asked is not None:
                self.learn(group, warp, asked)
            self.fenced[group, warp] = self.snapshot(group, warp)

    def proxy_fence(self, lanes: Array) -> None:
        """The async proxy may see all that these warps have seen."""
        warps = self.warps_of(lanes)[..., None]
        np.maximum(self.proxied, np.where(warps, self.known, 0), out=self.proxied)

    def ordered(
        self, group: Array, warp: Array, past_group: Array | None, past_warp: Array, past_epoch: Array
    ) -> Array:
        """Whether what an agent did in an epoch happened before what a warp does now; arrays of one shape.

        `past_group` numbers clusters through the whole grid; None is the warp's own.
        """
        if past_group is None:
            return (past_warp == warp) | (self.known[group, warp, past_warp] >= past_epoch)
        here = past_group == group + self.first_group
        found = (past_warp == warp) | (self.known[group, warp, np.where(here, past_warp, 0)] >= past_epoch)
        found &= here
        if self.foreign:
            for place in zip(*np.nonzero(~here & (past_group >= 0))):
                past = self.foreign.get((int(group[place]), int(warp[place])), {}).get(int(past_group[place]))
                found[place] = past is not None and past[past_warp[place]] >= past_epoch[place]
        return found


def merged(first: Foreign, second: Foreign) -> Foreign:
    """Both pasts together."""
    if not first:
        return second
    result = dict(first)
    for key, clock in second.items():
        old = result.get(key)
        if old is None:
            result[key] = clock
        elif old is not clock:
            size = max(len(old), len(clock))
            result[key] = np.maximum(np.pad(old, (0, size - len(old))), np.pad(clock, (0, size - len(clock))))
    return result
