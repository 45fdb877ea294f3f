"""What authors promise about a value: divisors and runs along its axes, which let a GPU access memory in vectors."""

from __future__ import annotations

from typing import Any

from tinyton_lab.language.builtin import builtin
from tinyton_lab.language.emission import describe, effect, fault, static, to_value
from tinyton_lab.language.types import spell
from tinyton_lab.ops import contract


@builtin
def multiple_of(input: Any, values: Any) -> Any:
    """Promise that a scalar, or the first element of each run along an axis, is a multiple; computes nothing.

    `values` has a number per axis; of pointers they are bytes. Runs are those known, or promised by `max_contiguous`.
    """
    return _promised(input, values, "divisibility")


@builtin
def max_contiguous(input: Any, values: Any) -> Any:
    """Promise that aligned runs of so many elements along an axis count up by one; computes nothing.

    `values` has a number per axis. A GPU then accesses the runs in vectors, if they start at a multiple.
    """
    return _promised(input, values, "contiguity")


@builtin
def max_constancy(input: Any, values: Any) -> Any:
    """Promise that aligned runs of so many elements along an axis are equal; computes nothing.

    `values` has a number per axis.
    """
    return _promised(input, values, "constancy")


def _promised(x: Any, values: Any, fact: str) -> Any:
    """The value, about which a fact is promised. Raises TT2005 for anything but a positive integer per axis."""
    value, given = to_value(x), static(values, "a promise")
    numbers = given if isinstance(given, tuple) else (given,)
    if not all(isinstance(n, int) and n > 0 for n in numbers):
        raise fault("TT2005", what=f"a promise is a positive integer for each axis, not {describe(given)}")
    if len(numbers) != max(len(value.shape), 1):
        raise fault("TT2005", what=f"{spell(value.tile)} needs a promise for each axis, not {describe(given)}")
    if value.known is None and any(n > 1 for n in numbers):
        effect(contract.promise, value, **{fact: tuple(int(n) for n in numbers)})
    return x
