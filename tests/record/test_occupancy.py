"""Occupancy against cases worked out by hand from the tables of the CUDA programming guide."""

from __future__ import annotations

import pytest

from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.record.occupancy import occupancy


@pytest.mark.parametrize(
    "target, threads, registers, shared, ctas, warps, limiter",
    [
        ("sm_75", 256, 32, 0, 4, 32, "warps"),
        ("sm_75", 64, 16, 0, 16, 32, "blocks"),
        ("sm_80", 32, 16, 0, 32, 32, "blocks"),
        ("sm_80", 1024, 32, 0, 2, 64, "registers"),
        ("sm_80", 1024, 40, 0, 1, 32, "registers"),
        ("sm_80", 128, 255, 0, 2, 8, "registers"),
        ("sm_80", 128, 32, 48 * 1024, 3, 12, "shared_mem"),
        ("sm_90a", 256, 32, 227 * 1024, 1, 8, "shared_mem"),
        ("sm_86", 256, 32, 0, 6, 48, "warps"),
    ],
)
def test_by_hand(target: str, threads: int, registers: int, shared: int, ctas: int, warps: int, limiter: str) -> None:
    found = occupancy(target, threads, registers, shared)
    assert (found.ctas, found.warps, found.limiter) == (ctas, warps, limiter)


def test_what_does_not_fit_is_told() -> None:
    for target, threads in (("sm_80", 2048), ("cpu", 32)):
        with pytest.raises(TinytonError, match="TT6050"):
            occupancy(target, threads, 32)
