"""Arguments bind as in Python; what is left over must be a launch option."""

from __future__ import annotations

from typing import Any

import pytest

from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.base.dtypes import float16, int64
from tinyton_lab.base.protocol import Constexpr
from tinyton_lab.kernel import Kernel
from tinyton_lab.kernel.grid import read_grid
from tinyton_lab.kernel.parameters import Binder, read_parameters


def kernel(x, y: float16, n: "int64", *, BLOCK: Constexpr = 4, options=None):  # noqa: UP037  # a quoted annotation
    pass


BINDER = Binder("kernel", read_parameters(kernel))


def test_annotations_are_read_by_identity() -> None:
    constexpr = [parameter.name for parameter in BINDER.parameters if parameter.constexpr]
    assert constexpr == ["BLOCK"]
    assert [parameter.dtype for parameter in BINDER.parameters[:3]] == [None, float16, int64]


def test_positions_keywords_and_defaults() -> None:
    values, options = BINDER.bind((1, 2), {"n": 3, "BLOCK": 8, "num_warps": 2})
    assert list(values) == [1, 2, 3, 8, None]
    assert options == {"num_warps": 2}


@pytest.mark.parametrize(
    ("args", "kwargs", "code", "text"),
    [
        ((1, 2), {}, "TT3002", "n"),
        ((1, 2, 3, 4, 5, 6), {}, "TT3003", "takes 5 arguments, got 6"),
        ((1, 2, 3), {"x": 1}, "TT3003", "'x' twice"),
        ((1, 2, 3), {"BLOKC": 1}, "TT3004", "did you mean 'BLOCK'?"),
        ((1, 2, 3), {"num_wraps": 1}, "TT3004", "did you mean 'num_warps'?"),
        ((1, 2, 3), {"zzz": 1}, "TT3004", "its parameters are x, y, n, BLOCK, options"),
    ],
)
def test_bad_calls_name_what_is_wrong(args: tuple[Any, ...], kwargs: dict[str, Any], code: str, text: str) -> None:
    with pytest.raises(TinytonError, match=code) as caught:
        BINDER.bind(args, kwargs)
    assert text in str(caught.value)


def test_a_parameter_named_like_an_option_gets_the_value() -> None:
    def own(x, num_stages: Constexpr):
        pass

    values, options = Binder("own", read_parameters(own)).bind((1,), {"num_stages": 3})
    assert list(values) == [1, 3] and options == {}


@pytest.mark.parametrize(
    ("grid", "want"),
    [
        (4, (4, 1, 1)),
        ((4,), (4, 1, 1)),
        ([2, 3], (2, 3, 1)),
        ((2, 3, 4), (2, 3, 4)),
        (lambda meta: (meta["n"] // 2,), (5, 1, 1)),
        ((0,), (0, 1, 1)),
    ],
)
def test_grids_in_every_spelling(grid: Any, want: tuple[int, int, int]) -> None:
    assert read_grid("kernel", grid, {"n": 10}) == want


def test_unhashable_arguments_are_refused_at_a_launch() -> None:
    with pytest.raises(TinytonError, match="TT3005"):
        Kernel(lambda x: x)[(1,)]([1])


@pytest.mark.parametrize("grid", [(1, 1, 1, 1), (), -1, (2, -3), 1.5, ("4",), None, 2**31])
def test_bad_grids(grid: Any) -> None:
    with pytest.raises(TinytonError, match="TT3010"):
        read_grid("kernel", grid)
