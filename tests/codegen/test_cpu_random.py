"""Random programs, overlapping arrays included, do natively what they do on the interpreter."""

from __future__ import annotations

import os

import numpy as np
import pytest

from tests.codegen.native_runs import ONE, interpret, run_natively
from tests.codegen.random_tiles import Program, arrays

SEEDS = range(int(os.environ.get("TINYTON_RANDOM_FROM", "0")), int(os.environ.get("TINYTON_RANDOM_TO", "60")))


@pytest.mark.parametrize("seed", SEEDS)
def test_random_program(seed: int) -> None:
    text = Program(seed).text()
    ours, theirs = arrays(seed), arrays(seed)
    interpret(text, ONE, *theirs)
    run_natively(text, ONE, *ours)
    for got, want in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(got, want)
