"""Read the options of a launch that steer the compiler: checked, with their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tinyton_lab.base import knobs
from tinyton_lab.base.diagnostics import TinytonError, error
from tinyton_lab.base.options import Options
from tinyton_lab.base.targets import CPU, DEFAULT_GPU, Target
from tinyton_lab.base.targets import target as find_target
from tinyton_lab.runtime import cuda


def read_options(kernel: str, given: Mapping[str, Any], engine: str) -> Options:
    """Read launch options for an engine. Raises TT3013 for a senseless value, TT5001 for an unknown target."""
    on_gpu = engine in ("cuda", "sim")
    machine = find_target(given.get("target") or (_default_gpu(engine) if on_gpu else CPU))
    warps = given.get("num_warps")
    if warps is not None and warps not in (1, 2, 4, 8, 16, 32):
        raise _bad(kernel, "num_warps", warps, "it must be a power of two between 1 and 32")
    stages = given.get("num_stages", 3)
    if not isinstance(stages, int) or not 0 <= stages <= 16:
        raise _bad(kernel, "num_stages", stages, "it must be an integer between 0 and 16")
    math = given.get("math") or ("approx" if machine.is_gpu else "full")
    if math not in ("full", "approx"):
        raise _bad(kernel, "math", math, "it must be 'full' or 'approx'")
    fusion = given.get("fp_fusion", given.get("enable_fp_fusion"))
    checked = given.get("checked")
    if given.get("poison") and engine != "interpreter":
        raise _bad(kernel, "poison", given["poison"], "only backend='interpreter' can look for their use")
    overflow = given.get("sanitize_overflow")
    return Options(
        num_warps=warps, num_stages=stages, math=math, fp_fusion=bool(fusion), target=machine,
        checked=knobs.CPU_CHECKED.flag() if checked is None else bool(checked),
        sanitize_overflow=bool(given.get("debug") if overflow is None else overflow),
    )  # fmt: skip


def _default_gpu(engine: str) -> Target:
    """The device's own target for ``cuda``, sm_80 for the simulator."""
    present = cuda.session().target if engine == "cuda" else None
    return present or DEFAULT_GPU


def _bad(kernel: str, name: str, value: object, why: str) -> TinytonError:
    return error("TT3013", kernel=kernel, name=name, value=value, why=why)
