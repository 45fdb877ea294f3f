"""What a pass is given besides the function, and what it hands back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tinyton_lab.base.targets import CPU, Target
from tinyton_lab.ir.core import Function
from tinyton_lab.record.stage import Miss


@dataclass(frozen=True, slots=True)
class Options:
    """What a pass may depend on: the machine, and ``full`` or ``approx`` mathematics."""

    target: Target = CPU
    math: str = "full"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The function after a pass (never the same object when it changed), `misses`, and `facts` as (uid, text) pairs."""

    function: Function
    misses: tuple[Miss, ...] = ()
    facts: tuple[tuple[int, str], ...] = ()


PassFunction = Callable[[Function, Options], Outcome]
