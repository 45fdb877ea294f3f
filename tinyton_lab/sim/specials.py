"""The special registers of a chunk of CTAs (PTX ISA chapter 10), and where CTAs lie in the grid. Knows no program."""

from __future__ import annotations

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
    first: int, count: int, padded: int, grid: Extent, block: Extent, cluster: Extent, shared: tuple[int, int]
) -> dict[str, Array]:
    """Values by name, each in the smallest shape; `shared` is (dynamic, total) bytes."""
    lane = np.arange(padded, dtype=np.int64)[None, :]
    position = np.arange(first, first + count, dtype=np.int64)[:, None]
    ctas, clusters, rank = coordinates(position, grid, cluster)
    low = lane & 31
    values: dict[str, Any] = {
        "%laneid": low,
        "%warpid": lane >> 5,
        "%nwarpid": padded // 32,
        "%smid": position % _MULTIPROCESSORS,
        "%nsmid": _MULTIPROCESSORS,
        "%dynamic_smem_size": shared[0],
        "%total_smem_size": shared[1],
        "%lanemask_eq": 1 << low,
        "%lanemask_lt": (1 << low) - 1,
        "%lanemask_le": (2 << low) - 1,
        "%lanemask_ge": 0xFFFFFFFF & ~((1 << low) - 1),
        "%lanemask_gt": 0xFFFFFFFF & ~((2 << low) - 1),
        "%cluster_ctarank": rank,
        "%cluster_nctarank": cluster[0] * cluster[1] * cluster[2],
        "%is_explicit_cluster": cluster != (1, 1, 1),
        "%envreg1": GRID_WORKSPACE >> 32,
        "%envreg2": GRID_WORKSPACE & 0xFFFFFFFF,
    }
    left = lane
    for axis, name in enumerate("xyz"):
        values[f"%ntid.{name}"], values[f"%nctaid.{name}"] = block[axis], grid[axis]
        values[f"%nclusterid.{name}"], values[f"%cluster_nctaid.{name}"] = grid[axis] // cluster[axis], cluster[axis]
        values[f"%tid.{name}"] = left % block[axis] if block[axis] > 1 else 0
        values[f"%ctaid.{name}"] = ctas[axis] if grid[axis] > 1 else 0
        values[f"%clusterid.{name}"] = clusters[axis]
        values[f"%cluster_ctaid.{name}"] = ctas[axis] % cluster[axis]
        left = left // block[axis]
    return {name: _smallest(value) for name, value in values.items()}


def _smallest(value: Any) -> Array:
    """What is one value is stored as one."""
    array = np.asarray(value).astype(np.uint32)
    return np.asarray(array.ravel()[0]) if array.size == 1 else array
