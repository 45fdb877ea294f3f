"""Table T6: the passes of tile IR in the order they run, and why that order. Knows no engine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tinyton_lab.base.targets import Target
from tinyton_lab.ir.core import Block, Function, Op
from tinyton_lab.ir.verify import verify as verify_function
from tinyton_lab.passes.axis_info import axis_info
from tinyton_lab.passes.cse import cse
from tinyton_lab.passes.dce import dce
from tinyton_lab.passes.expand_math import expand_math
from tinyton_lab.passes.hoist import hoist
from tinyton_lab.passes.outcome import Options, Outcome, PassFunction
from tinyton_lab.passes.pointers import pointers
from tinyton_lab.passes.simplify import simplify
from tinyton_lab.record.stage import Miss


@dataclass(frozen=True, slots=True)
class Pass:
    """One row of T6.

    `level` is the IR it takes and gives; `required` passes make later stages possible, others make them better; `after`
    names passes that ran before, each with the reason.
    """

    name: str
    function: PassFunction
    doc: str
    level: str = "tile"
    required: bool = False
    after: tuple[tuple[str, str], ...] = ()


TILE_PASSES: tuple[Pass, ...] = (
    Pass("simplify", simplify, "Fold constants and apply the laws of the op table."),
    Pass("cse", cse, "Compute what is said twice once."),
    Pass(
        "pointers",
        pointers,
        "Split tiles of pointers into one scalar pointer and a tile of distances.",
        after=(
            ("simplify", "a uniform step is then a splat or a constant, which moves the base"),
            ("cse", "two pointers that start alike then share their base"),
        ),
    ),
    Pass(
        "expand_math",
        expand_math,
        "Spell math functions in exact ops, the same bits on every engine.",
        required=True,
        after=(("cse", "a function of the same value is spelled once"),),
    ),
    Pass(
        "simplify",
        simplify,
        "Fold what splitting and spelling left.",
        after=(("pointers", "distances are sums with constants"), ("expand_math", "spellings hold constants")),
    ),
    Pass(
        "hoist",
        hoist,
        "Move what does not change in a loop in front of it.",
        after=(("pointers", "distances do not change in loops that step their base"),),
    ),
    Pass(
        "cse",
        cse,
        "Merge the constants and bases that two accesses made.",
        after=(("simplify", "it made them equal"), ("hoist", "what two loops compute alike then stands in one block")),
    ),
    Pass(
        "dce",
        dce,
        "Drop what nobody needs.",
        after=(("pointers", "whole pointer tiles are dead"), ("hoist", "values carried unchanged are dead")),
    ),
    Pass(
        "axis_info",
        axis_info,
        "Find runs, divisors and constant runs along each axis.",
        after=(("pointers", "runs of distances decide how wide an access is"), ("dce", "no facts about dead ops")),
    ),
)


def check_order(passes: tuple[Pass, ...]) -> None:
    """Raise when a pass stands before one that it says it comes after."""
    seen: set[str] = set()
    for row in passes:
        for name, reason in row.after:
            if name not in seen:
                raise RuntimeError(f"pipeline: {row.name} must come after {name}: {reason}")
        seen.add(row.name)


check_order(TILE_PASSES)


class Step(NamedTuple):
    """What one pass did: the function after it, what it declined and found, CPU `seconds`, and whether it `changed`."""

    row: Pass
    function: Function
    misses: tuple[Miss, ...]
    facts: tuple[tuple[int, str], ...]
    seconds: float
    changed: bool


def run_tile_passes(function: Function, target: Target, *, math: str = "full", verify: bool = False) -> Iterator[Step]:
    """Run table T6 on a function, giving each step as it is done; the last step's function is what engines take.

    `verify` checks the IR after each pass (TT9002). The function passed in stays as it was.
    """
    options = Options(target, math)
    for row in TILE_PASSES:
        start = time.process_time()
        outcome: Outcome = row.function(function, options)
        seconds = time.process_time() - start
        changed = outcome.function is not function and not same(function, outcome.function)
        if verify:
            verify_function(outcome.function)
        function = outcome.function
        yield Step(row, function, outcome.misses, outcome.facts, seconds, changed)


def same(x: Function, y: Function) -> bool:
    """Whether two functions print alike, told without printing them."""
    return _same_block(x.body, y.body)


def _same_block(x: Block, y: Block) -> bool:
    if len(x.ops) != len(y.ops) or [a.name for a in x.args] != [a.name for a in y.args]:
        return False
    return all(map(_same_op, x.ops, y.ops))


def _same_op(x: Op, y: Op) -> bool:
    if x.row is not y.row or x.uid != y.uid or x.attrs != y.attrs or len(x.results) != len(y.results):
        return False
    names = [None if value is None else value.name for value in x.operands]
    if names != [None if value is None else value.name for value in y.operands]:
        return False
    return all(map(_same_block, x.blocks, y.blocks))
