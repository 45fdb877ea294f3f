"""Asynchronous work in groups: which groups of a warp have been waited for, and in which epoch. Knows no memory."""

from __future__ import annotations

import numpy as np

from tinyton_lab.sim.lanes import Array
from tinyton_lab.sim.sanitizer.clocks import Clocks

# Copies by lanes (cp.async), by the copy engine in bulk groups, multiplications of warpgroups.
LANE_COPY, BULK, MULTIPLY = range(3)


class Copies:
    """Mutable: `done[kind, group, warp, n]` is the epoch in which a warp knew its n-th group complete, else -1."""

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks
        self.open = np.zeros((3, clocks.groups, clocks.warps), np.int32)
        self.done = np.full((3, clocks.groups, clocks.warps, 8), -1, np.int32)

    def commit(self, kind: int, warps: Array) -> None:
        """The open groups of some warps (groups, warps) are closed; new ones begin."""
        self.open[kind][warps] += 1
        if int(self.open[kind].max()) >= self.done.shape[3]:
            self.done = np.pad(self.done, ((0, 0), (0, 0), (0, 0), (0, self.done.shape[3])), constant_values=-1)

    def wait(self, kind: int, warps: Array, pending: int) -> None:
        """All but the last `pending` closed groups are complete."""
        number = np.arange(self.done.shape[3])
        epoch = self.clocks.epoch(*np.indices(warps.shape))
        over = warps[..., None] & (number < (self.open[kind] - pending)[..., None]) & (self.done[kind] < 0)
        self.done[kind] = np.where(over, epoch[..., None], self.done[kind])

    def finished(self, kind: Array | int, group: Array, warp: Array, number: Array) -> Array:
        """The epoch in which the warp that issued a group had waited for it, -1 before."""
        return self.done[kind, group, warp, number]
