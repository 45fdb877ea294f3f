"""The tools of the tests themselves: a golden fails, is blessed, and then holds; a changed process is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests import conftest


def test_a_golden_holds_fails_and_is_blessed(tmp_path: Path):
    path = tmp_path / "ir" / "k.tile"
    assert not conftest.Golden(path, bless=False) == "a\n"
    assert conftest.Golden(path, bless=True) == "a\n"
    assert conftest.Golden(path, bless=False) == "a\n"
    assert not conftest.Golden(path, bless=False) == "b\n"
    assert conftest.Golden(path, bless=False).difference("b\n")[3:5] == ["-a", "+b"]


def test_a_failing_golden_shows_a_diff(golden: Callable[[str], conftest.Golden]):
    shown = conftest.pytest_assertrepr_compare("==", "x", golden("nowhere.txt"))
    assert shown and "--bless" in shown[1]


@pytest.mark.parametrize("change", ["print options", "error handling", "environment"])
def test_the_state_of_the_process_is_seen(change: str, monkeypatch: pytest.MonkeyPatch):
    before = conftest.process_state()
    with np.printoptions(), np.errstate():
        if change == "print options":
            np.set_printoptions(precision=3)
        elif change == "error handling":
            np.seterr(all="ignore")
        else:
            monkeypatch.setenv("TINYTON_BACKEND", "sim")
        assert conftest.process_state() != before
