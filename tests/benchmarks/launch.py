"""A warm launch of five arguments on one program, against Triton's launch path with a driver that does nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.benchmarks.measure import Row, interleaved


@tt.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


def rows() -> Iterator[Row]:
    x, y, out = (np.ones(128, np.float32) for _ in range(3))

    def ours() -> object:
        return add[(1,)](x, y, out, 128, BLOCK=128)

    ours()
    mine, theirs = interleaved(ours, _triton_launch(), repeat=4000)
    yield Row("warm launch, 5 arguments, grid (1,)", mine / theirs, "x Triton 3.9", 1.0, False, f"{mine * 1e6:.1f} us")


def _triton_launch() -> Callable[[], object]:
    """Triton's whole Python path for the same call, down to a launcher that returns at once."""
    import torch
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    from tests.benchmarks.peers.triton_kernels import add as kernel

    utils = SimpleNamespace(
        load_binary=lambda *ignored: (0, 0, 32, 0, 1024),
        unload_module=lambda module: None,
        get_device_properties=lambda device: {"max_shared_mem": 1 << 20},
    )
    driver.set_active(
        SimpleNamespace(
            get_current_device=lambda: 0,
            get_current_stream=lambda device: 0,
            get_current_target=lambda: GPUTarget("cuda", 80, 32),
            launcher_cls=lambda source, metadata: lambda *ignored: None,
            utils=utils,
        )
    )
    x, y, out = (torch.ones(128) for _ in range(3))

    def launch() -> object:
        return kernel[(1,)](x, y, out, 128, BLOCK=128)

    launch()
    return launch
