"""Grids: every spelling of how many programs to run, as three numbers."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from tinyton_lab.base.diagnostics import error

Grid = tuple[int, int, int]


def read_grid(kernel: str, grid: Any, arguments: Mapping[str, Any] | None = None) -> Grid:
    """Read a grid given as int, tuple, list or a callable of the bound arguments; missing axes are 1.

    Raises TT3010 for more than three axes, non-integers or negative sizes.

    >>> read_grid("vadd", 4), read_grid("vadd", [2, 3])
    ((4, 1, 1), (2, 3, 1))
    """
    if callable(grid):
        grid = grid(dict(arguments or {}))
    axes = list(grid) if isinstance(grid, (tuple, list)) else [grid]
    try:
        sizes = [operator.index(axis) for axis in axes]
    except TypeError:
        raise error("TT3010", kernel=kernel, grid=grid, why="each axis must be an integer") from None
    if not 1 <= len(sizes) <= 3:
        raise error("TT3010", kernel=kernel, grid=grid, why=f"a grid has one to three axes, not {len(sizes)}")
    if min(sizes) < 0 or max(sizes) > 2**31 - 1:
        raise error("TT3010", kernel=kernel, grid=grid, why="each axis must lie between 0 and 2**31 - 1")
    x, y, z = [*sizes, 1, 1][:3]
    return x, y, z
