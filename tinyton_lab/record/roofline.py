"""Where a launch stands under a device's roofline: operations per byte, and the nearer roof. Counts nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tinyton_lab.base.targets import Target
from tinyton_lab.record.machines import machine
from tinyton_lab.record.metrics import SECTOR_BYTES, InstructionCounts, Metrics

_OPERATIONS = {"add": 1, "sub": 1, "mul": 1, "fma": 2, "mad": 2}
_SCALAR = {
    "f64": ("f64", 1), "f32": ("f32", 1), "f32x2": ("f32", 2), "f16": ("f16", 1), "bf16": ("f16", 1),
    "f16x2": ("f16", 2), "bf16x2": ("f16", 2),
}  # fmt: skip
_TENSOR = {
    "f64": "tensor_f64", "tf32": "tensor_tf32", "f16": "tensor_f16", "bf16": "tensor_f16",
    "e4m3": "tensor_f8", "e5m2": "tensor_f8", "s8": "tensor_s8", "u8": "tensor_s8",
}  # fmt: skip
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)$")
# A wgmma is executed by four warps together.
_TOGETHER = {"wgmma": 4}


def operations(counts: InstructionCounts) -> tuple[str, float]:
    """The kind of arithmetic of an instruction and how many operations its lanes did; fma is two.

    >>> operations(InstructionCounts(1, 0, "@%p1 fma.rn.f32 %f1, %f1, %f1, %f1", "fma", 2, 64, 40))
    ('f32', 80)
    """
    opcode = next((word for word in counts.text.split() if not word.startswith("@")), "")
    words = opcode.rstrip(";").split(".")
    shape = next((found for word in words if (found := _SHAPE.match(word))), None)
    if shape is not None and words[0] in ("mma", "wmma", "wgmma"):
        m, n, k = map(int, shape.groups())
        return tensor_kind(words), 2 * m * n * k * counts.warps / _TOGETHER.get(words[0], 1)
    kind, packed = _SCALAR.get(words[-1], ("", 0))
    return kind, _OPERATIONS.get(words[0], 0) * packed * counts.lanes_on


def tensor_kind(words: list[str]) -> str:
    """The kind of a product of matrices: the type of its first factor."""
    types = [word for word in words if word in _TENSOR or word in ("f32", "s32")]
    return _TENSOR.get(types[1] if len(types) > 2 else "f16", "tensor_f16")


@dataclass(frozen=True, slots=True)
class Roofline:
    """A launch under the roofs of `device`: data sheets and counts, no measurement.

    `operations` is by kind of arithmetic, `bytes` what warps moved to and from global memory (sectors; caches may save
    some of it). `intensity` and `ridge` are operations per byte; `side` is ``memory`` or ``compute``; `attainable` is
    TFLOP/s at that intensity, and `seconds` the least time that both roofs allow.
    """

    device: str
    operations: dict[str, float]
    bytes: float
    intensity: float
    ridge: float
    side: str
    attainable: float
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.device}: {self.intensity:.3g} operations per byte, the ridge is at {self.ridge:.3g}: bound by "
            f"{self.side}, {self.attainable:.3g} TFLOP/s at most"
        )


def roofline(launch: Any, on: str | Target = "sm_80") -> Roofline:
    """Where a measured launch (or its `Metrics`) stands on the device of a target.

    Bytes of bulk and tensor copies are not counted. Raises TT6031 for a launch without metrics, TT5001 for an unknown
    target.

    >>> line = InstructionCounts(7, 0, "fma.rn.f32 %f1", "fma", 1, 32, 32)
    >>> roofline(Metrics(None, [line]), "sm_80").side
    'compute'
    """
    metrics: Metrics = launch if isinstance(launch, Metrics) else launch.metrics
    device = machine(on)
    done: dict[str, float] = {}
    for counts in metrics.instructions:
        kind, number = operations(counts)
        if number:
            done[kind] = done.get(kind, 0) + number
    moved = SECTOR_BYTES * metrics.traffic().sectors
    total = sum(done.values())
    computing = sum(number / (device.peaks.get(kind, device.peaks["f32"]) * 1e12) for kind, number in done.items())
    moving = moved / (device.bandwidth * 1e9)
    peak = total / computing if computing else device.peaks["f32"] * 1e12
    seconds = max(computing, moving)
    return Roofline(
        device.device,
        done,
        moved,
        total / moved if moved else float("inf") if total else 0.0,
        peak / (device.bandwidth * 1e9),
        "compute" if computing > moving else "memory",
        total / seconds / 1e12 if seconds else 0.0,
        seconds,
    )
