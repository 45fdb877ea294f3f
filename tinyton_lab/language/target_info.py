"""What kernels may ask of the GPU they are compiled for: there is none, since one text serves every engine."""

from __future__ import annotations

from tinyton_lab.language.builtin import constexpr_function


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
