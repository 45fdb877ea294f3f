"""No pass changes what a program computes, to the bit; every op that is left has a place in the program's text."""

from __future__ import annotations

import pytest

from tests.passes.programs import Writer, result_bits
from tinyton_lab.base.source import Source, Span
from tinyton_lab.base.targets import CPU
from tinyton_lab.ir.core import Function
from tinyton_lab.ir.parse import parse_function
from tinyton_lab.ir.text import print_function
from tinyton_lab.ir.verify import verify
from tinyton_lab.ops import OPS
from tinyton_lab.passes.outcome import Options
from tinyton_lab.pipeline import TILE_PASSES, run_tile_passes

SEEDS = range(60)
ROWS = list({row.function: row for row in TILE_PASSES}.values())


def program(seed: int) -> Function:
    """A random program; each of its ops has a span of its own."""
    function = Writer(seed).write()
    source = Source("random", "random program\n" * 400)
    for op in function.walk():
        op.span = Span(source, op.uid, 0, op.uid, 6)
    verify(function)
    return function


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_pass_changes_no_result(row):
    for seed in SEEDS:
        before = program(seed)
        after = row.function(before, Options()).function
        verify(after)
        for n in (0, 7):
            assert result_bits(before, n) == result_bits(after, n), f"seed {seed}"


@pytest.mark.parametrize("seed", SEEDS)
def test_all_passes_change_no_result(seed: int):
    before = program(seed)
    text = print_function(before).text
    *_, last = run_tile_passes(before, CPU, verify=True)
    assert print_function(before).text == text, "the function passed in stays as it was"
    for n in (0, 1, -9):
        assert result_bits(before, n) == result_bits(last.function, n)
    written = {op.uid for op in before.walk()}
    for op in last.function.walk():
        assert op.span is not None, f"{op} comes from nowhere"
        assert last.function.provenance.ancestors([op.uid]) & written, f"{op} comes from no op that was written"


def test_passes_are_deterministic_and_settle():
    for seed in SEEDS[:20]:
        texts = []
        for _ in range(2):
            *_, last = run_tile_passes(program(seed), CPU)
            texts.append(print_function(last.function).text)
        assert texts[0] == texts[1]
        assert print_function(parse_function(texts[0], OPS)).text == texts[0]
