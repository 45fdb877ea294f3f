"""Random programs do natively what they do on the interpreter, before and after the passes; wild ones harm nothing."""

from __future__ import annotations

import os

import numpy as np
import pytest

from tests.codegen.native_runs import ONE, interpret, machines, parse, slots
from tests.codegen.random_tiles import Program, arrays
from tinyton_lab import pipeline
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.base.targets import CPU
from tinyton_lab.codegen.cpu import compile
from tinyton_lab.ir.core import Function
from tinyton_lab.runtime.cpu import CpuKernel

SEEDS = range(int(os.environ.get("TINYTON_RANDOM_FROM", "0")), int(os.environ.get("TINYTON_RANDOM_TO", "40")))
FENCE = 2048


def after_passes(function: Function) -> Function:
    for step in pipeline.run_tile_passes(function, CPU):
        function = step.function
    return function


@pytest.mark.parametrize("seed", SEEDS)
def test_random_program(seed: int) -> None:
    text = Program(seed).text()
    function = after_passes(parse(text)) if seed % 3 else parse(text)
    machine = machines()[seed // 3 % len(machines())]
    ours, theirs = arrays(seed), arrays(seed)
    interpret(text, ONE, *theirs)
    CpuKernel(compile(function, machine=machine)).launch(ONE, slots(ours))
    for got, want in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(got, want)


def shortened(seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Arrays that are too short for some of the accesses, amid bytes that must not change."""
    lengths = np.random.default_rng(seed).integers(0, 320, 5)
    whole = [np.full(len(a) + FENCE // a.itemsize, 77, a.dtype) for a in arrays(seed)]
    parts: list[np.ndarray] = []
    for block, source, n in zip(whole, arrays(seed), lengths):
        start = FENCE // 2 // block.itemsize
        block[start : start + n] = source[:n]
        parts.append(block[start : start + n])
    return whole, parts


@pytest.mark.parametrize("seed", SEEDS)
def test_random_program_out_of_bounds(seed: int) -> None:
    text = Program(seed).text()
    whole, parts = shortened(seed)
    outside = [block.copy() for block in whole]
    _, theirs = shortened(seed)
    try:
        interpret(text, ONE, *theirs)
        allowed = False
    except TinytonError:
        allowed = True  # an element that nobody uses is not read natively, so a fault may be left out
    try:
        CpuKernel(compile(parse(text))).launch(ONE, slots(parts))
        for got, want in zip(parts, theirs, strict=True):
            assert allowed or (got == want).all()
    except TinytonError as fault:
        assert fault.code == "TT4001" and allowed
    for block, before, part in zip(whole, outside, parts, strict=True):
        start = FENCE // 2 // block.itemsize
        assert (block[:start] == before[:start]).all() and (
            block[start + len(part) :] == before[start + len(part) :]
        ).all()
