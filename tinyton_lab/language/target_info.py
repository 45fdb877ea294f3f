"""What kernels may ask of the GPU they are compiled for: there is none, since one text serves every engine."""

from __future__ import annotations

from dataclasses import dataclass

from tinyton_lab.language.builtin import constexpr_function


@dataclass(frozen=True, slots=True)
class GPUTarget:
    """What code is made for: `backend`, its architecture, and the lanes of a warp."""

    backend: str
    arch: int | str
    warp_size: int


EVERY_ENGINE = GPUTarget("cpu", 0, 1)


@constexpr_function
def current_target() -> GPUTarget:
    """What the code is for: the CPU, whichever engine runs it, as a kernel has one meaning on all of them."""
    return EVERY_ENGINE


@constexpr_function
def is_cuda() -> bool:
    """Whether the code is for CUDA only: never, so that the way without inline PTX is taken."""
    return False


@constexpr_function
def cuda_capability_geq(major: int, minor: int = 0) -> bool:
    """Whether the code is for a CUDA device of at least this compute capability only: never."""
    return False


@constexpr_function
def is_hip() -> bool:
    """Whether the code is for ROCm: never."""
    return False


# The generations of ROCm devices that kernels tell apart: the code is for none of them.
is_hip_cdna3 = is_hip_cdna4 = is_hip_gfx1250 = is_hip
