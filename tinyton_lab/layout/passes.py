"""The passes over layout IR in their order, each with one sentence of what it does. Knows no code generator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tinyton_lab.base.targets import Target
from tinyton_lab.ir.core import Function
from tinyton_lab.layout.assign import assign
from tinyton_lab.layout.barriers import place_barriers
from tinyton_lab.layout.scans import spell_scans
from tinyton_lab.layout.shared import allocate, lower_conversions


@dataclass(frozen=True, slots=True)
class LayoutPass:
    """One pass: the name of its stage, what it is for, what runs."""

    name: str
    doc: str
    run: Callable[[Function, Target], Function]


LAYOUT_PASSES: tuple[LayoutPass, ...] = (
    LayoutPass(
        "layout", "Every tile has a layout: who holds which element.", lambda function, _: assign(spell_scans(function))
    ),
    LayoutPass(
        "layout/01-exchange",
        "Conversions between threads go through shared memory, swizzled against bank conflicts.",
        lambda function, _: lower_conversions(function),
    ),
    LayoutPass("layout/02-allocate", "Each piece of shared memory has its place.", allocate),
    LayoutPass(
        "layout/03-barriers",
        "Threads wait where they would overtake each other in memory.",
        lambda function, _: place_barriers(function),
    ),
)


def run_layout_passes(function: Function, target: Target) -> Iterator[tuple[LayoutPass, Function]]:
    """Take tile IR to layout IR ready for code generation, pass by pass."""
    for step in LAYOUT_PASSES:
        function = step.run(function, target)
        yield step, function
