"""The description of a view's gaps holds exactly the bytes of its elements."""

from __future__ import annotations

import numpy as np
import pytest

from tinyton_lab.runtime.frame import view_levels

BASE = np.arange(96, dtype=np.int32)
CUBE = BASE.reshape(4, 6, 4)


def member(levels: tuple[int, ...], offset: int) -> bool:
    run, count, *rest = levels
    for level in range(count):
        stride, extent = rest[2 * level : 2 * level + 2]
        if offset // stride >= extent:
            return False
        offset %= stride
    return offset < run


@pytest.mark.parametrize(
    "view",
    [BASE[::2], BASE[90:2:-3], CUBE[:, :, :3], CUBE[::2, ::3, ::2], CUBE[:, 1], CUBE[:, ::-1, 1:3].T],
    ids=["strided", "reversed", "columns", "all strided", "rows", "transposed"],
)
def test_levels_hold_the_bytes_of_the_elements(view: np.ndarray) -> None:
    levels = view_levels(view.shape, view.strides, 4)
    assert levels is not None
    touched = np.zeros(BASE.size, bool)
    marks = touched.view()
    np.lib.stride_tricks.as_strided(
        marks[(view.__array_interface__["data"][0] - BASE.__array_interface__["data"][0]) // 4 :],
        view.shape,
        tuple(stride // 4 for stride in view.strides),
    )[...] = True
    at = np.flatnonzero(touched)
    seen = [member(levels, 4 * offset) for offset in range(at[-1] - at[0] + 1)]
    assert seen == touched[at[0] : at[-1] + 1].tolist()


@pytest.mark.parametrize("view", [BASE, BASE[::-1], CUBE.T, CUBE[1:3], BASE[:0], BASE[5:6]])
def test_gapless_views_need_no_levels(view: np.ndarray) -> None:
    assert view_levels(view.shape, view.strides, 4) is None


def test_windows_that_overlap_are_gapless() -> None:
    windows = np.lib.stride_tricks.sliding_window_view(BASE, 8)
    assert view_levels(windows.shape, windows.strides, 4) is None
