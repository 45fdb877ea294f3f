"""A GPU's own functions, `tl.extra.cuda`, as far as they have a meaning on every engine."""

from __future__ import annotations

from tinyton_lab.language.builtin import builtin
from tinyton_lab.language.extra import libdevice
from tinyton_lab.language.value import emitter

__all__ = ["gdc_launch_dependents", "gdc_wait", "libdevice"]


@builtin
def gdc_wait() -> None:
    """Nothing: a launch starts when those before it have ended."""
    emitter()


@builtin
def gdc_launch_dependents() -> None:
    """Nothing: the next launch starts when this one has ended."""
    emitter()
