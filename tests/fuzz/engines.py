"""Runs the text of a kernel on engines and compares what they leave behind, bit by bit."""

from __future__ import annotations

import linecache
import os
import warnings
from collections.abc import Sequence
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.fuzz.programs import LENGTH, PARAMETERS
from tinyton_lab.base import knobs

ENGINES = ("interpreter", "eager", "cpu")
GRID = 2
# The fault of an op that an engine does not have.
LACKING = "TT5012"
_DTYPES: dict[str, Any] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "i1": np.bool_,
}  # fmt: skip


def numpy_dtype(word: str) -> Any:
    return _DTYPES.get(word) or np.dtype(word.replace("u", "uint") if word[0] == "u" else word.replace("i", "int"))


def arguments(seed: int) -> dict[str, Any]:
    """Values for every parameter: small and large numbers, zeros, infinities, NaN."""
    chance = np.random.default_rng(seed)
    found: dict[str, Any] = {}
    for name in PARAMETERS[:-1]:
        dtype = numpy_dtype(name.split("_")[1])
        if name.startswith("o"):
            found[name] = np.zeros(GRID * LENGTH, dtype)
        elif dtype == np.bool_:
            found[name] = chance.random(LENGTH) < 0.5
        elif np.dtype(dtype).kind in "iu":
            info = np.iinfo(dtype)
            values = chance.integers(-20, 21, LENGTH)
            values[:6] = [0, 1, 2, 3, -1, 5]
            found[name] = values.astype(dtype)
            found[name][6:8] = [info.min, info.max]
        else:
            values = chance.standard_normal(LENGTH) * 8
            values[:8] = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5]
            found[name] = values.astype(dtype)
    found["n"] = int(chance.integers(0, 20))
    return found


def load(text: str, label: str) -> Any:
    """The kernel of a text."""
    linecache.cache[label] = (len(text), None, text.splitlines(keepends=True), label)
    names: dict[str, Any] = {"tt": tt, "tl": tl}
    with warnings.catch_warnings(action="ignore"):
        exec(compile(text, label, "exec", dont_inherit=True), names)
    return names["kernel"]


def outcome(kernel: Any, seed: int, engine: str, threads: int = 1) -> dict[str, bytes] | str:
    """What a launch leaves in the outputs, or the code of the fault that ended it."""
    given = arguments(seed)
    environment = {knobs.CPU_THREADS.variable: str(threads)}
    try:
        with mock.patch.dict(os.environ, environment), np.errstate(all="ignore"):
            kernel[(GRID,)](**given, backend=engine, math="full")
    except tt.TinytonError as fault:
        return fault.code
    return {name: _bits(array) for name, array in given.items() if name.startswith("o")}


def _bits(array: np.ndarray) -> bytes:
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.nan, array)
    return array.tobytes()


def disagreement(text: str, seed: int, engines: Sequence[str] = ENGINES) -> str:
    """Which engines differ on a kernel and how, in words; nothing if they agree."""
    label = f"fuzz-{seed}.py"
    try:
        kernel = load(text, label)
        results = {engine: outcome(kernel, seed, engine) for engine in engines}
    finally:
        linecache.cache.pop(label, None)
    first = engines[0]
    for engine in engines[1:]:
        if results[engine] not in (results[first], LACKING):
            return f"{engine} differs from {first}: {_difference(results[first], results[engine])}"
    return ""


def _difference(one: dict[str, bytes] | str, other: dict[str, bytes] | str) -> str:
    if isinstance(one, str) or isinstance(other, str):
        return (
            f"{one if isinstance(one, str) else 'a result'} against {other if isinstance(other, str) else 'a result'}"
        )
    for name, bits in one.items():
        if bits != other[name]:
            dtype = numpy_dtype(name.split("_")[1])
            a, b = np.frombuffer(bits, dtype), np.frombuffer(other[name], dtype)
            at = int(np.flatnonzero(~((a == b) | ((a != a) & (b != b))) | (np.signbit(a) != np.signbit(b)))[0])
            return f"{name}[{at}] is {a[at]} against {b[at]}"
    return "nothing"
