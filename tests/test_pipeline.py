"""Table T6: its order is checked, its steps tell what happened, and it is quick."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tinyton_lab.base.targets import CPU
from tinyton_lab.ir.parse import parse_function
from tinyton_lab.ir.text import print_function
from tinyton_lab.ops import OPS
from tinyton_lab.pipeline import TILE_PASSES, Pass, check_order, run_tile_passes, same

SOFTMAX = (Path(__file__).parent / "golden" / "passes" / "pointers" / "rows.in.tile").read_text(encoding="utf-8")


def test_order_is_checked():
    late = Pass("late", TILE_PASSES[0].function, "", after=(("early", "it says so"),))
    with pytest.raises(RuntimeError, match="late must come after early: it says so"):
        check_order((late, *TILE_PASSES))


def test_steps_follow_the_table():
    function = parse_function(SOFTMAX, OPS)
    steps = list(run_tile_passes(function, CPU, verify=True))
    assert [step.row for step in steps] == list(TILE_PASSES)
    functions = [function, *(step.function for step in steps)]
    for before, step in zip(functions, steps):
        assert step.changed == (print_function(before).text != print_function(step.function).text)
        assert same(before, step.function) != step.changed
    row, last, misses, facts, seconds, changed = steps[-1]
    assert row.name == "axis_info" and facts and not changed


def test_passes_are_quick():
    function = parse_function(SOFTMAX, OPS)
    best = 1.0
    for _ in range(5):
        start = time.process_time()
        list(run_tile_passes(function, CPU))
        best = min(best, time.process_time() - start)
    assert best < 0.015
