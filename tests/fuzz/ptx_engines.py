"""Runs generated PTX kernels on several engines and compares what they leave in memory, byte by byte."""

from __future__ import annotations

import os
import struct
from collections import Counter
from collections.abc import Sequence
from typing import Any
from unittest import mock

import numpy as np

from tests.fuzz import scalar_threads
from tests.fuzz.ptx_kernels import ENTRY, Kernel
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.base.knobs import STEP_LIMIT
from tinyton_lab.sim import Module

# The first is compared with the others: a scalar evaluator, one of its own random schedules, the fast engine.
ENGINES = ("trace", "threads", "schedule", "fast")
# The fault of what an engine does not have.
LACKING = "TT6030"
# Far more than any of the kernels takes.
_STEPS = "400000"
Outcome = dict[str, bytes] | str


def outcome(kernel: Kernel, engine: str, seed: int = 0, module: Module | None = None) -> Outcome | None:
    """What an engine leaves in the arguments, or what it says instead; None where it cannot run the kernel."""
    if engine == "threads":
        try:
            return scalar_threads.run(kernel.text, kernel.arrays, kernel.grid, kernel.block)
        except (scalar_threads.Stuck, IndexError, KeyError) as reason:
            return f"{type(reason).__name__}: {reason}"
    arrays = [np.frombuffer(bytearray(data), np.uint8) for data in kernel.arrays.values()]
    options: dict[str, Any] = {"schedule": {"schedule": seed}, "fast": {"engine": "fast"}}.get(engine, {})
    try:
        opened = module or Module(kernel.text)
        with mock.patch.dict(os.environ, {STEP_LIMIT.variable: _STEPS}):
            launch = opened.launch(ENTRY, kernel.grid, kernel.block, arrays, **options)
    except TinytonError as fault:
        return None if fault.code == LACKING else str(fault)
    if getattr(launch, "remark", ""):
        return None
    wrong = [finding.message for finding in launch.findings]
    return wrong[0] if wrong else {name: array.tobytes() for name, array in zip(kernel.arrays, arrays)}


def disagreement(
    kernel: Kernel, seed: int = 0, engines: Sequence[str] = ENGINES, ran: Counter[str] | None = None
) -> str:
    """Which engine differs from the first and how, in words; nothing if all agree. `ran` counts engines that ran."""
    try:
        module = Module(kernel.text)
    except TinytonError as fault:
        return str(fault)
    first = outcome(kernel, engines[0], seed, module)
    for engine in engines[1:]:
        other = outcome(kernel, engine, seed, module)
        if other is None:
            continue
        if ran is not None:
            ran[engine] += 1
        if isinstance(first, str) or isinstance(other, str) or first != other:
            return f"{engine} differs from {engines[0]}: {_difference(first, other)}"
    return ""


def computes_another(kernel: Kernel, seed: int, pair: Sequence[str]) -> bool:
    """Whether both engines run a kernel to its end and leave other bytes: a fault is no difference of this kind."""
    one, other = (outcome(kernel, engine, seed) for engine in pair)
    return isinstance(one, dict) and isinstance(other, dict) and one != other


def _difference(one: Outcome | None, other: Outcome | None) -> str:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return (
            f"{one if isinstance(one, str) else 'a result'} against {other if isinstance(other, str) else 'a result'}"
        )
    for name, data in one.items():
        for at in range(0, len(data) - 3, 4):
            if data[at : at + 4] != other[name][at : at + 4]:
                a, b = (struct.unpack("<I", x[at : at + 4])[0] for x in (data, other[name]))
                return f"{name} at byte {at} has {a:#x} against {b:#x}"
    return "nothing"
