"""Digests of all that four kernels of the corpus are recorded as; run as a program it prints them as JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

import tests.kernels.control_flow
import tests.kernels.layer_norm
import tests.kernels.softmax
import tests.kernels.vector_add
import tinyton_lab as tt
from tinyton_lab.record import schema
from tinyton_lab.record.stage import Compilation

TARGET = "sm_80"
MODULES = (tests.kernels.vector_add, tests.kernels.softmax, tests.kernels.layer_norm, tests.kernels.control_flow)


def compilations() -> Iterator[Compilation]:
    """The first case of each module, compiled anew."""
    for module in MODULES:
        case = next(iter(module.cases()))
        yield tt.inspect(case.kernel, grid=case.grid, target=TARGET, **case.arguments, **case.options)


def digests() -> dict[str, str]:
    """Of each stage with its op numbers and facts, and of the record as JSON, by kernel and stage."""
    found: dict[str, str] = {}
    for compilation in compilations():
        for stage in compilation.stages.values():
            said = (stage.text, stage.lines, stage.facts, stage.misses, stage.ranges, stage.changed)
            found[f"{compilation.kernel} {stage.name}"] = _digest(repr(said))
        found[f"{compilation.kernel} record"] = _digest(schema.dumps(schema.encode(compilation)))
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


if __name__ == "__main__":
    print(json.dumps(digests()))
