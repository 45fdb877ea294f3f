"""The special registers of a chunk of CTAs (PTX ISA chapter 10), and where CTAs lie in the grid. Knows no program."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from tinyton_lab.sim.memory import GRID_WORKSPACE

Array = Any
Extent = tuple[int, int, int]
_MULTIPROCESSORS = 108


def coordinates(position: Array, grid: Extent, cluster: Extent) -> tuple[tuple[Array, ...], tuple[Array, ...], Array]:
    """(ctaid, clusterid, rank in the cluster) of CTAs in launch order: clusters one after another, x fastest."""
    size = cluster[0] * cluster[1] * cluster[2]
    number, rank = position // size, position % size
    ctas: list[Array] = []
    clusters: list[Array] = []
    left = rank
    for length, part in zip(grid, cluster):
        there, number = number % (length // part), number // (length // part)
        clusters.append(there)
        ctas.append(there * part + left % part)
        left = left // part
    return tuple(ctas), tuple(clusters), rank


def special_registers(
    wanted: Collection[str],
    first: int,
    count: int,
    padded: int,
    grid: Extent,
    block: Extent,
    cluster: Extent,
    shared: tuple[int, int],
) -> dict[str, Array]:
    """Values of the `wanted` registers, each in the smallest shape; `shared` is (dynamic, total) bytes."""
    lane = np.arange(padded, dtype=np.int64)[None, :]
    position = np.arange(first, first + count, dtype=np.int64)[:, None]
    found = coordinates(position, grid, cluster)
    return {
        name: _smallest(_value(name[1:], lane, position, found, (grid, block, cluster), shared))
        for name in wanted
        if name.startswith("%")
    }


def _value(
    name: str,
    lane: Array,
    position: Array,
    found: tuple[tuple[Array, ...], tuple[Array, ...], Array],
    extents: tuple[Extent, Extent, Extent],
    shared: tuple[int, int],
) -> Any:
    """One register of all lanes; 0 for a register that the simulator has no value for."""
    grid, block, cluster = extents
    base, _, axis = name.partition(".")
    if axis:
        n = "xyz".index(axis)
        before = int(np.prod(block[:n]))
        per_axis: dict[str, Callable[[], Any]] = {
            "ntid": lambda: block[n],
            "nctaid": lambda: grid[n],
            "tid": lambda: lane // before % block[n] if block[n] > 1 else 0,
            "ctaid": lambda: found[0][n] if grid[n] > 1 else 0,
            "clusterid": lambda: found[1][n],
            "nclusterid": lambda: grid[n] // cluster[n],
            "cluster_ctaid": lambda: found[0][n] % cluster[n],
            "cluster_nctaid": lambda: cluster[n],
        }
        return per_axis[base]()
    low = lane & 31
    plain: dict[str, Callable[[], Any]] = {
        "laneid": lambda: low,
        "warpid": lambda: lane >> 5,
        "nwarpid": lambda: lane.size // 32,
        "smid": lambda: position % _MULTIPROCESSORS,
        "nsmid": lambda: _MULTIPROCESSORS,
        "dynamic_smem_size": lambda: shared[0],
        "total_smem_size": lambda: shared[1],
        "lanemask_eq": lambda: 1 << low,
        "lanemask_lt": lambda: (1 << low) - 1,
        "lanemask_le": lambda: (2 << low) - 1,
        "lanemask_ge": lambda: 0xFFFFFFFF & ~((1 << low) - 1),
        "lanemask_gt": lambda: 0xFFFFFFFF & ~((2 << low) - 1),
        "cluster_ctarank": lambda: found[2],
        "cluster_nctarank": lambda: cluster[0] * cluster[1] * cluster[2],
        "is_explicit_cluster": lambda: cluster != (1, 1, 1),
        "envreg1": lambda: GRID_WORKSPACE >> 32,
        "envreg2": lambda: GRID_WORKSPACE & 0xFFFFFFFF,
    }
    return plain.get(name, int)()


def _smallest(value: Any) -> Array:
    """What is one value is stored as one."""
    array = np.asarray(value).astype(np.uint32)
    return np.asarray(array.ravel()[0]) if array.size == 1 else array
