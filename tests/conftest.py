"""What every test gets: goldens with one switch to renew them, and a guard of the process-wide state of its user."""

from __future__ import annotations

import difflib
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

GOLDENS = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="write what the tests see as their goldens")


def pytest_configure(config: pytest.Config) -> None:
    """A shell that starts the tests in the background has them ignore interrupts, of which some are about."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class Golden:
    """The text of ``tests/golden/<name>``: equal to a text that matches it, or to any text while blessing."""

    def __init__(self, path: Path, bless: bool) -> None:
        self.path, self.bless = path, bless

    def __eq__(self, seen: object) -> bool:
        if not isinstance(seen, str):
            return NotImplemented
        if self.bless:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(seen, encoding="utf-8", newline="\n")
        return self.path.is_file() and self.path.read_text(encoding="utf-8") == seen

    __hash__ = None  # type: ignore[assignment]  # its text may be renewed while it is compared

    def difference(self, seen: str) -> list[str]:
        """What differs, as a unified diff."""
        if not self.path.is_file():
            return [f"there is no {self.path}; `pytest --bless` writes it"]
        wanted = self.path.read_text(encoding="utf-8")
        lines = difflib.unified_diff(wanted.splitlines(), seen.splitlines(), str(self.path), "seen", lineterm="")
        return [*lines, "`pytest --bless` takes over what was seen"]


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str], Golden]:
    """Compare a text with a stored one: ``assert text == golden("ptx/vadd.ptx")``."""
    return lambda name: Golden(GOLDENS / name, request.config.getoption("--bless"))


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    pair = (left, right) if isinstance(right, Golden) else (right, left)
    if op == "==" and isinstance(pair[0], str) and isinstance(pair[1], Golden):
        return [f"the text is not that of {pair[1].path.name}", *pair[1].difference(pair[0])]
    return None


def process_state() -> dict[str, Any]:
    """What belongs to the user of the process and no kernel may change."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    return {
        "numpy print options": repr(np.get_printoptions()),
        "numpy error handling": np.geterr(),
        "warning filters": list(warnings.filters),
        "environment": environment,
        "working folder": os.getcwd(),
        "handler of SIGINT": signal.getsignal(signal.SIGINT),
        "handler of SIGTERM": signal.getsignal(signal.SIGTERM),
    }


@pytest.fixture(autouse=True)
def state_of_the_process_is_left_alone() -> Iterator[None]:
    before = process_state()
    yield
    after = process_state()
    changed = {name: (before[name], after[name]) for name in before if before[name] != after[name]}
    assert changed == {}, "the test left the process changed"
