"""Each pass on small texts: what comes out, what it declined and found, is stored beside the input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tinyton_lab.ir.parse import parse_function
from tinyton_lab.ir.text import print_function
from tinyton_lab.ir.verify import verify
from tinyton_lab.ops import OPS
from tinyton_lab.passes.outcome import Options, Outcome
from tinyton_lab.pipeline import TILE_PASSES

CASES = Path(__file__).parent.parent / "golden" / "passes"
FUNCTIONS = {row.name: row.function for row in TILE_PASSES}
INPUTS = sorted(CASES.glob("*/*.in.tile"))


def report(outcome: Outcome) -> str:
    """The function after a pass, then the reasons and facts."""
    lines = [f"# {miss.rule} declined #{miss.uid}: {miss.reason}" for miss in outcome.misses]
    lines += [f"# #{uid}: {fact}" for uid, fact in outcome.facts]
    return print_function(outcome.function).text + "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}-{path.name.removesuffix('.in.tile')}")
def test_a_pass_on_a_text(path: Path, golden: Callable[[str], object]):
    function = parse_function(path.read_text(encoding="utf-8"), OPS)
    verify(function)
    outcome = FUNCTIONS[path.parent.name](function, Options())
    verify(outcome.function)
    name = path.name.replace(".in.tile", ".out.tile")
    assert report(outcome) == golden(f"passes/{path.parent.name}/{name}")


def test_every_pass_has_a_text():
    assert {path.parent.name for path in INPUTS} == set(FUNCTIONS)
