"""The PTX corpus: kernels of several compilers with inputs and expected arrays, as the simulator's tests use them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from tinyton_lab.sim import Launch, Module

ROOT = Path(__file__).parent.parent / "data" / "ptx_corpus"
KERNELS: dict[str, dict[str, Any]] = {k["id"]: k for k in json.loads((ROOT / "index.json").read_text())["kernels"]}
_NUMPY = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": np.uint16,
    "e4m3": np.uint8,
    "e5m2": np.uint8,
}
_DECODED = {"bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}


def text_of(path: str) -> str:
    """The text of a PTX file of the corpus."""
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")


@cache
def module(path: str) -> Module:
    return Module(text_of(path), Path(path).name)


def _dtype(name: str) -> np.dtype[Any]:
    return np.dtype(_NUMPY.get(name) or f"{'int' if name[0] == 's' else 'uint'}{name[1:]}")


def prepare(kernel: str, opened: Module | None = None) -> tuple[Callable[..., Launch], dict[str, np.ndarray]]:
    """A function that launches a kernel of the corpus (options as of `Module.launch`), and the buffers it works on."""
    row = KERNELS[kernel]
    manifest = json.loads((ROOT / row["manifest"]).read_text())
    with np.load(ROOT / row["data"]) as data:
        inputs = {name: data[name].copy() for name in data.files if name.startswith("in.")}
    buffers: dict[str, np.ndarray] = {}
    arguments: list[Any] = []
    for parameter in manifest["params"]:
        if parameter["kind"] == "buffer":
            buffers[parameter["name"]] = inputs["in." + parameter["name"]]
            arguments.append(buffers[parameter["name"]])
        elif parameter["kind"] == "scalar":
            arguments.append(np.array(parameter["value"]).astype(_dtype(parameter["dtype"]))[()])
        elif parameter["kind"] == "bytes":
            arguments.append(bytes.fromhex(parameter.get("hex", parameter.get("value"))))
        else:
            size = parameter.get("bytes_per_cta", 0) * int(np.prod(manifest["grid"]))
            arguments.append(np.zeros(size, np.uint8) if size else None)
    shape = (manifest["entry"], manifest["grid"], manifest["block"], arguments, manifest["dynamic_shared"])
    return partial((opened or module(row["ptx"])).launch, *shape, cluster=manifest["cluster"]), buffers


def run(kernel: str, opened: Module | None = None, **options: Any) -> tuple[Launch, dict[str, np.ndarray]]:
    """Launch a kernel of the corpus on its inputs; returns the launch and its buffers."""
    launch, buffers = prepare(kernel, opened)
    return launch(**options), buffers


def mismatches(kernel: str, buffers: dict[str, np.ndarray]) -> list[str]:
    """The buffers that differ from what is expected, in words."""
    row = KERNELS[kernel]
    manifest = json.loads((ROOT / row["manifest"]).read_text())
    types = {p["name"]: p["dtype"] for p in manifest["params"] if p["kind"] == "buffer"}
    with np.load(ROOT / row["data"]) as data:
        wanted = {check["buffer"]: data["ref." + check["buffer"]] for check in manifest["check"]}
    wrong = []
    for check in manifest["check"]:
        name = check["buffer"]
        got, expected = (_decoded(x, types[name]) for x in (buffers[name], wanted[name]))
        if not _agree(check, got, expected):
            wrong.append(f"{name}: {int(np.sum(got != expected))} of {got.size} elements ({check['mode']})")
    return wrong


def _decoded(x: np.ndarray, dtype: str) -> np.ndarray:
    return x.view(_DECODED[dtype]).astype(np.float32) if dtype in _DECODED else x


def _agree(check: dict[str, Any], got: np.ndarray, expected: np.ndarray) -> bool:
    mode = check["mode"]
    if mode == "exact":
        return bool(np.array_equal(got, expected, equal_nan=got.dtype.kind == "f"))
    if mode == "allclose":
        wide = [x.astype(np.float64) for x in (got, expected)]
        return bool(np.allclose(*wide, rtol=check["rtol"], atol=check["atol"], equal_nan=True))
    if mode == "mismatch_frac":
        return float(np.mean(got != expected)) <= check["rtol"]
    if mode == "atol_int":
        return int(np.abs(got.astype(np.int64) - expected.astype(np.int64)).max()) <= check["rtol"]
    raise ValueError(f"unknown check {mode!r}")
