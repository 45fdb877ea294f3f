"""Random kernels in portions, so that a test stays short and says which seeds it took."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.engines import ENGINES, disagreement
from tests.fuzz.programs import program

CHUNK = 50


def chunks(first: int, last: int) -> range:
    """The first seeds of portions from `first` to below `last`."""
    return range(first, last, CHUNK)


def differing(first: int, count: int, engines: Sequence[str] = ENGINES) -> list[str]:
    """What is wrong with some seeds, in words."""
    found = [(seed, disagreement(program(seed), seed, engines)) for seed in range(first, first + count)]
    return [f"python -m tests.fuzz --programs 1 --seed {seed}: {words}" for seed, words in found if words]
