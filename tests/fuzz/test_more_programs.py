"""Random kernels give the same bits on the interpreter, in eager mode and on the native engine: the second thousand."""

from __future__ import annotations

import pytest

from tests.fuzz.chunks import CHUNK, chunks, differing
from tests.fuzz.programs import program


@pytest.mark.parametrize("first", chunks(1000, 2000))
def test_engines_agree(first: int) -> None:
    assert differing(first, CHUNK) == []


@pytest.mark.parametrize("first", chunks(2000, 2000 + 4 * CHUNK))
def test_the_simulator_agrees(first: int) -> None:
    assert differing(first, CHUNK, ("interpreter", "sim")) == []


def test_programs_depend_on_their_seed_only() -> None:
    assert [program(seed) for seed in range(20)] == [program(seed) for seed in range(20)]
    assert len({program(seed) for seed in range(200)}) == 200
