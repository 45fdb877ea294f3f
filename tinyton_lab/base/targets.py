"""Table T2: what each machine offers. Facts only; decisions are taken by layout, code generators and simulator."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tinyton_lab.base.diagnostics import error


@dataclass(frozen=True, slots=True)
class Target:
    """One machine to compile for.

    `name` is what users write (``sm_80``, ``cpu``); `ptx_feature` is LLVM's PTX version switch, always passed;
    `native_bf16` tells whether bf16 arithmetic exists (sm_90 on), else it is computed in f32 and rounded.
    """

    name: str
    capability: int
    ptx_feature: str = ""
    warp_lanes: int = 32
    max_threads_per_cta: int = 1024
    max_warps_per_sm: int = 64
    max_ctas_per_sm: int = 32
    registers_per_sm: int = 65536
    shared_bytes_per_cta: int = 49152
    shared_bytes_opt_in: int = 65536
    shared_bytes_per_sm: int = 65536
    native_bf16: bool = False
    async_copy: bool = False

    @property
    def is_gpu(self) -> bool:
        return self.capability > 0

    def __str__(self) -> str:
        return self.name


CPU = Target("cpu", 0, warp_lanes=1, max_threads_per_cta=1)
_ROWS = (
    CPU,
    Target("sm_75", 75, "+ptx70", max_warps_per_sm=32, max_ctas_per_sm=16),
    Target("sm_80", 80, "+ptx80", shared_bytes_opt_in=166912, shared_bytes_per_sm=167936, async_copy=True),
    Target(
        "sm_86",
        86,
        "+ptx80",
        max_warps_per_sm=48,
        max_ctas_per_sm=16,
        shared_bytes_opt_in=101376,
        shared_bytes_per_sm=102400,
        async_copy=True,
    ),
    Target(
        "sm_89",
        89,
        "+ptx84",
        max_warps_per_sm=48,
        max_ctas_per_sm=24,
        shared_bytes_opt_in=101376,
        shared_bytes_per_sm=102400,
        async_copy=True,
    ),
    Target(
        "sm_90a",
        90,
        "+ptx84",
        shared_bytes_opt_in=232448,
        shared_bytes_per_sm=233472,
        native_bf16=True,
        async_copy=True,
    ),
    Target(
        "sm_100a",
        100,
        "+ptx86",
        shared_bytes_opt_in=232448,
        shared_bytes_per_sm=233472,
        native_bf16=True,
        async_copy=True,
    ),
    Target(
        "sm_120a",
        120,
        "+ptx87",
        max_warps_per_sm=48,
        max_ctas_per_sm=24,
        shared_bytes_opt_in=101376,
        shared_bytes_per_sm=102400,
        native_bf16=True,
        async_copy=True,
    ),
)
TARGETS: dict[str, Target] = {row.name: row for row in _ROWS}
DEFAULT_GPU = TARGETS["sm_80"]


def target(name: str | Target | None) -> Target:
    """Find a target by name (``sm_90`` means ``sm_90a``; ``gpu`` the default GPU); None is the CPU.

    Raises TT5001 for an unknown name.

    >>> target("sm_90").name, target(None).name
    ('sm_90a', 'cpu')
    """
    if isinstance(name, Target):
        return name
    if name is None:
        return CPU
    key = "sm_80" if name in ("gpu", "cuda") else re.sub(r"^(sm_?|compute_)?(\d+)", r"sm_\2", name)
    found = TARGETS.get(key) or TARGETS.get(f"{key}a")
    if found is None:
        raise error("TT5001", name=name, known=", ".join(TARGETS))
    return found
