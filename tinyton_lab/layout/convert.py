"""Plans of the movement from one layout to another. Decides nothing about where conversions stand in a program."""

from __future__ import annotations

from functools import lru_cache

from tinyton_lab.layout.linear import Layout


@lru_cache(maxsize=1024)
def sources(source: Layout, target: Layout) -> Layout:
    """Where each place of `target` finds its element in `source`: a map from hardware to hardware."""
    return target.inverse_compose(source)


@lru_cache(maxsize=1024)
def movement(source: Layout, target: Layout) -> str:
    """How far elements travel: ``none``, ``register`` (renumbering within a thread), ``lane`` (a warp) or ``warp``."""
    if source == target:
        return "none"
    places = sources(source, target)
    bits = dict(places.outputs)
    below_lane = 1 << bits["register"]
    below_warp = below_lane << bits["lane"]
    warp_stays = all(image == below_warp << at for at, image in enumerate(places.bases["warp"]))
    if not warp_stays or any(image >= below_warp for name in ("register", "lane") for image in places.bases[name]):
        return "warp"
    lane_stays = all(image == below_lane << at for at, image in enumerate(places.bases["lane"]))
    if not lane_stays or any(image >= below_lane for image in places.bases["register"]):
        return "lane"
    return "register"


@lru_cache(maxsize=1024)
def leaders(layout: Layout, axis: int, run: int) -> tuple[tuple[int, int], ...]:
    """For each register the one that leads its run along `axis`, and how many elements after it the register lies.

    `run` is the length of aligned runs. Only register bits that no lane or warp bit shares move within a run.
    """
    below = layout.axis_mask(axis) & layout.index([run - 1 if at == axis else 0 for at in range(len(layout.shape))])
    moving = 0
    for basis in (*layout.bases["lane"], *layout.bases["warp"]):
        moving |= basis
    bases = layout.bases["register"]
    inside = sum(1 << at for at, basis in enumerate(bases) if not basis & ~below and not basis & moving)
    after = [layout.coordinates(layout.apply(register=r & inside))[axis] for r in range(layout.registers)]
    return tuple((register & ~inside, after[register]) for register in range(layout.registers))


@lru_cache(maxsize=1024)
def renumbering(source: Layout, target: Layout) -> tuple[int, ...]:
    """For each register of `target` the register of `source` that holds its element, when none leaves its thread."""
    places = sources(source, target)
    return tuple(places.apply(register=register) for register in range(target.registers))
