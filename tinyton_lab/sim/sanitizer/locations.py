"""Where warps synchronise through memory: what stores and atomics published at an address, and who learned it."""

from __future__ import annotations

from tinyton_lab.sim.access import Site
from tinyton_lab.sim.sanitizer.clocks import Clocks, Foreign, merged
from tinyton_lab.sim.sanitizer.shadow import Accesses

_ACQUIRES, _RELEASES = ("acquire", "acq_rel", "sc"), ("release", "acq_rel", "sc")


class Locations:
    """Mutable: the pasts published at addresses, for the whole launch."""

    def __init__(self) -> None:
        self.published: dict[tuple[int, int], Foreign] = {}

    def meet(self, clocks: Clocks, site: Site, kind: str, lanes: Accesses, shared: bool) -> None:
        """Strong accesses of some lanes, in their order (PTX ISA 8.8: release and acquire patterns)."""
        rows = lanes.row.tolist() if shared else [-1] * len(lanes.row)
        for group, warp, row, address in dict.fromkeys(
            zip(lanes.group.tolist(), lanes.warp.tolist(), rows, lanes.address.tolist())
        ):
            key = (row, address)
            if kind != "store":
                self._acquire(clocks, site, group, warp, key)
            if kind != "load":
                self._release(clocks, site, kind, group, warp, key)

    def _acquire(self, clocks: Clocks, site: Site, group: int, warp: int, key: tuple[int, int]) -> None:
        past = self.published.get(key)
        if past is None:
            return
        if site.order in _ACQUIRES:
            clocks.learn(group, warp, past)
        else:
            clocks.asked[group, warp] = merged(clocks.asked.get((group, warp), {}), past)

    def _release(self, clocks: Clocks, site: Site, kind: str, group: int, warp: int, key: tuple[int, int]) -> None:
        past = clocks.snapshot(group, warp) if site.order in _RELEASES else clocks.fenced.get((group, warp), None)
        if kind == "atomic" and past is not None:
            self.published[key] = merged(self.published.get(key, {}), past)
        elif kind == "store":
            self.published.pop(key, None)
            if past is not None:
                self.published[key] = past
