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
def renumbering(source: Layout, target: Layout) -> tuple[int, ...]:
    """For each register of `target` the register of `source` that holds its element, when none leaves its thread."""
    places = sources(source, target)
    return tuple(places.apply(register=register) for register in range(target.registers))
