"""Cold compile and first launch on the native engine: in a new process, by the size of tiles, by the number of ops."""

from __future__ import annotations

import linecache
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.benchmarks.measure import Row, seconds

ROUNDS = 9
FEW, MANY = 25, 100  # statements of a kernel
LINES = {"elementwise operations": "v = v * w + {n}.5", "products": "v = tl.dot(v, w) + {n}.0"}


def rows() -> Iterator[Row]:
    """First launches against their bars; how they grow with tiles and with statements."""
    short = "*(np.ones(1024, np.float32) for _ in range({})), 1024, BLOCK=1024"
    for name, arrays, bar in (("add", 3, 0.15), ("softmax", 2, 0.3)):
        took = cold("tests.benchmarks.cpu", name, "(1,)", short.format(arrays))
        yield Row(f"first launch of {name}, new process", took, "s", bar, False)
    tiles = [(128, 128, 64), (256, 256, 128), (16, 16, 16)]
    products = [cold("tests.kernels.matmul", "matmul", "(1,)", matmul_arguments(*tile)) for tile in tiles]
    yield Row("first launch of matmul, tile 128x128x64, new process", products[0], "s", 0.4, False)
    yield Row("matmul, tile 256x256x128 against 16x16x16", products[1] / products[2], "x as long", 1.3, False)
    tiles = [(64, 64, 64), (128, 128, 128), (16, 16, 16)]
    passes = [cold("tests.kernels.attention", "attention", "(1, 1)", attention_arguments(*tile)) for tile in tiles]
    yield Row("first launch of causal attention, tile 64x64, new process", passes[0], "s", 0.6, False)
    yield Row("attention, tile 128x128, d 128 against 16x16, d 16", passes[1] / passes[2], "x as long", 1.3, False)
    for kind, line in LINES.items():
        first_launch(kind, line, 1)  # whatever is loaded or made once
        few, many = (min(first_launch(kind, line, count) for _ in range(3)) for count in (FEW, MANY))
        yield Row(f"{MANY} {kind} against {FEW}", many / few, "x as long", MANY / FEW * 1.2, False, f"{many:.2f} s")


def matmul_arguments(m: int, n: int, k: int) -> str:
    size = max(m, n, k)
    sizes = f"{size}, {size}, {size}, {size}, 1, {size}, 1, {size}, 1"
    return f"*np.ones((3, {size}, {size}), np.float32), {sizes}, M={m}, N={n}, K={k}, GROUP=8"


def attention_arguments(m: int, n: int, d: int) -> str:
    return f"*np.ones((4, 1, {m}, {d}), np.float32), {m}, 0.1, M={m}, N={n}, D={d}, CAUSAL=True"


def cold(module: str, name: str, grid: str, arguments: str) -> float:
    """Process CPU seconds of the first launch in a new interpreter, the package being imported and byte-compiled."""
    text = f"""
import time
import numpy as np
from {module} import {name} as kernel
start = time.process_time()
kernel[{grid}]({arguments}, backend="cpu")
print(time.process_time() - start)
"""
    with tempfile.TemporaryDirectory() as caches:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = caches

        def launch() -> float:
            command = [sys.executable, "-c", text]
            return float(subprocess.run(command, capture_output=True, check=True, env=environment).stdout)

        launch()  # writes the bytecode, as an installation does
        return statistics.median(launch() for _ in range(ROUNDS))


def first_launch(kind: str, line: str, count: int) -> float:
    """Process CPU seconds of the first launch of a kernel that nobody has seen, with so many statements of a kind."""
    head = "    at = tl.arange(0, 32)[:, None] * 32 + tl.arange(0, 32)[None, :]\n    v = w = tl.load(x + at)\n"
    body = "".join(f"    {line.format(n=number)}\n" for number in range(count))
    text = f"def kernel(x, out):\n{head}{body}    tl.store(out + at, v)\n"
    path = f"{count} {kind}.py"
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    names: dict[str, Any] = {"tl": tl}
    exec(compile(text, path, "exec", dont_inherit=True), names)
    kernel = tt.jit(names["kernel"])
    x = np.zeros(1024, np.float32)
    return seconds(lambda: kernel[(1,)](x, np.zeros_like(x), backend="cpu"))
