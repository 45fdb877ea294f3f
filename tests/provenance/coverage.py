"""How many memory and math instructions keep their thread to Python, over the corpus and the labelled kernels."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass

import tests.kernels as corpus
import tinyton_lab as tt
from tests.provenance.labelled import KERNELS
from tests.provenance.threads import Thread, threads
from tinyton_lab.kernel.inspection import inspect_signature
from tinyton_lab.record.stage import Compilation

STAGES = ("ptx", "sass")


@dataclass(frozen=True, slots=True)
class Coverage:
    """All threads of a stage, and those that break."""

    held: int
    broken: tuple[Thread, ...]

    @property
    def share(self) -> float:
        return self.held / max(self.held + len(self.broken), 1)

    def __str__(self) -> str:
        return f"{self.held} of {self.held + len(self.broken)} instructions"


def compilations(target: str) -> Iterator[Compilation]:
    """Every kernel of the corpus and every labelled one, compiled down to SASS."""
    for module in pkgutil.iter_modules(corpus.__path__):
        if module.name not in ("attention", "case", "matmul"):  # dot has no GPU code yet
            for case in importlib.import_module(f"{corpus.__name__}.{module.name}").cases():
                yield tt.inspect(case.kernel, grid=case.grid, target=target, **case.arguments, **case.options)
    for case in KERNELS:
        yield inspect_signature(case.kernel, case.signature, case.constants, target)


def coverage(target: str) -> dict[str, Coverage]:
    """The coverage of each stage of `STAGES`."""
    found: dict[str, list[Thread]] = {stage: [] for stage in STAGES}
    for compilation in compilations(target):
        for stage in STAGES:
            found[stage] += threads(compilation, stage)
    return {
        stage: Coverage(sum(t.holds for t in chosen), tuple(t for t in chosen if not t.holds))
        for stage, chosen in found.items()
    }
