"""Table of devices: peaks, bandwidth, rates and latencies of one per target. Facts with their sources; decides nothing.

Peaks are the makers' data sheets, dense, at boost clock. Rates are lanes per cycle from the CUDA C++ Programming Guide
(arithmetic throughput). Latencies are rounded from microbenchmarks: Jia et al. (arXiv 1903.07486, Turing), Abdelkhalik
et al. (arXiv 2208.11174, Ampere), Luo et al. (arXiv 2402.13499, Ampere to Hopper); `borrowed` marks a neighbour's.
"""

from __future__ import annotations

from dataclasses import dataclass

from tinyton_lab.base.diagnostics import error
from tinyton_lab.base.targets import Target, target

SCHEDULERS = 4


@dataclass(frozen=True, slots=True)
class Machine:
    """One device of a target.

    `sms` multiprocessors at `clock` GHz; `bandwidth` of its memory in GB/s; `peaks` in TFLOP/s (of integers: TOP/s) by
    kind of arithmetic. `lanes` is what the pipes of one multiprocessor start per cycle, `products` how many f16
    multiply-adds its tensor cores do. `latency` in cycles is by pipe, and for loads from ``shared`` and ``global``.
    """

    device: str
    target: str
    sms: int
    clock: float
    bandwidth: float
    peaks: dict[str, float]
    lanes: dict[str, float]
    products: int
    latency: dict[str, int]
    borrowed: bool = False

    @property
    def bytes_per_cycle(self) -> float:
        """What one multiprocessor gets of the memory's bandwidth, per cycle."""
        return self.bandwidth / self.clock / self.sms


def _peaks(f64: float, f32: float, f16: float, *tensor: float) -> dict[str, float]:
    names = ("tensor_f64", "tensor_tf32", "tensor_f16", "tensor_f8", "tensor_s8")
    return {"f64": f64, "f32": f32, "f16": f16, **{name: peak for name, peak in zip(names, tensor) if peak}}


def _lanes(fma: float, alu: float, fp64: float) -> dict[str, float]:
    return {"fma": fma, "alu": alu, "fp64": fp64, "xu": 16, "cbu": 64}


def _latency(shared: int, far: int, tensor: int, fp64: int) -> dict[str, int]:
    return {
        "alu": 4, "fma": 4, "fp64": fp64, "xu": 20, "tensor": tensor, "cbu": 8, "shuffle": shared,
        "shared": shared, "global": far,
    }  # fmt: skip


_ROWS = (
    Machine("T4", "sm_75", 40, 1.59, 320, _peaks(0.25, 8.1, 16.3, 0, 0, 65, 0, 130), _lanes(64, 64, 2), 512,
            _latency(19, 296, 24, 48)),
    Machine("A100", "sm_80", 108, 1.41, 1555, _peaks(9.7, 19.5, 78, 19.5, 156, 312, 0, 624), _lanes(64, 64, 32), 1024,
            _latency(29, 466, 33, 8)),
    Machine("A10", "sm_86", 72, 1.695, 600, _peaks(0.49, 31.2, 31.2, 0, 62.5, 125, 0, 250), _lanes(128, 64, 2), 512,
            _latency(29, 466, 33, 48), True),
    Machine("L4", "sm_89", 58, 2.04, 300, _peaks(0.47, 30.3, 30.3, 0, 60, 121, 242, 242), _lanes(128, 64, 2), 512,
            _latency(30, 541, 33, 48)),
    Machine("H100", "sm_90a", 132, 1.83, 3352, _peaks(33.5, 67, 134, 67, 495, 989, 1979, 1979),
            _lanes(128, 64, 64), 2048, _latency(29, 479, 32, 8)),
    Machine("B200", "sm_100a", 148, 1.85, 8000, _peaks(37, 75, 150, 37, 1125, 2250, 4500, 4500),
            _lanes(128, 64, 64), 4096, _latency(29, 479, 32, 8), True),
    Machine("RTX 5090", "sm_120a", 170, 2.41, 1792, _peaks(1.6, 104.8, 104.8, 0, 104.8, 209.5, 419, 838),
            _lanes(128, 128, 2), 512, _latency(30, 541, 33, 48), True),
)  # fmt: skip
MACHINES: dict[str, Machine] = {row.target: row for row in _ROWS}


def machine(on: str | Target) -> Machine:
    """The device of a target. Raises TT5001 for an unknown target, and for one that is no GPU.

    >>> machine("sm_80").device, round(machine("sm_90").bytes_per_cycle, 1)
    ('A100', 13.9)
    """
    found = MACHINES.get(target(on).name)
    if found is None:
        raise error("TT5001", name=on, known=", ".join(MACHINES))
    return found
