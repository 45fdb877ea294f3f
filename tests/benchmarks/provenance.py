"""Memory and math instructions whose thread ends at the exact Python expression, over corpus and labelled kernels."""

from __future__ import annotations

from collections.abc import Iterator

from tests.benchmarks.measure import Row
from tests.provenance.coverage import coverage


def rows() -> Iterator[Row]:
    for target in ("sm_75", "sm_80", "sm_90a"):
        for stage, covered in coverage(target).items():
            yield Row(
                f"provenance of {stage.upper()}, {target}", covered.share, "of instructions", 0.95, True, str(covered)
            )
