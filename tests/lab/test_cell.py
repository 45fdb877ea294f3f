"""A cell runs as it is written, in the user's namespace, and its text is found under its label."""

from __future__ import annotations

import inspect
import linecache
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from tinyton_lab.lab import cell


@pytest.fixture
def shell() -> Iterator[Any]:
    with warnings.catch_warnings():
        shell = InteractiveShell()
        yield shell
    shell.history_manager.end_session()
    for label in [label for label in linecache.cache if label.startswith("cell:")]:
        del linecache.cache[label]


def test_names_stay_in_the_namespace_and_the_last_value_is_displayed(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with shell.display_trap:
        cell.run(shell, "a = 20\nb = a + 1\nprint('said')\na + b", "cell:sum")
    assert shell.user_ns["b"] == 21
    said = capsys.readouterr().out.split()
    assert said[0] == "said" and said[-1] == "41" and 41 in shell.user_ns["Out"].values()


def test_a_semicolon_silences_the_last_value(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    cell.run(shell, "1 + 1;", "cell:quiet")
    assert capsys.readouterr().out == ""


def test_the_source_of_a_function_is_found(shell: Any) -> None:
    cell.run(shell, "x = 1\n\ndef f():\n    return x\n", "cell:f")
    assert inspect.getsource(shell.user_ns["f"]) == "def f():\n    return x\n"
    assert shell.user_ns["f"].__code__.co_filename == "cell:f"
    linecache.checkcache()
    assert linecache.getline("cell:f", 3) == "def f():\n"


def test_a_traceback_shows_the_cells_line(shell: Any) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        cell.run(shell, "a = 1\nb = a / 0\n", "cell:bad")
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (frame.filename, frame.lineno, frame.line) == ("cell:bad", 2, "b = a / 0")


@pytest.mark.parametrize("source", ["def f():\n    return 1 / 0\n", "\n  \ndef f():\n    return 1 / 0\n"])
def test_lines_are_counted_as_the_cell_shows_them(shell: Any, source: str) -> None:
    cell.run(shell, source, "cell:f", first_line=2)
    line = source.split("\n").index("def f():") + 2
    assert shell.user_ns["f"].__code__.co_firstlineno == line
    assert linecache.getline("cell:f", line) == "def f():\n"
    assert inspect.getsource(shell.user_ns["f"]).startswith("def f():")


def test_a_syntax_error_names_the_cell(shell: Any) -> None:
    with pytest.raises(SyntaxError) as caught:
        cell.run(shell, "a = = 1\n", "cell:bad")
    assert (caught.value.filename, caught.value.lineno) == ("cell:bad", 1)


def test_line_magics_in_the_cell_work(shell: Any) -> None:
    cell.run(shell, "y = 1\nx = %who_ls\n", "cell:magic")
    assert "y" in shell.user_ns["x"]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("x = 1", ""),
        ("def f(): ...", "f"),
        ("def f(): ...\n@jit\ndef g(): ...", "g"),
        ("def (", ""),
        ("%magic\ndef f(): ...", ""),
    ],
)
def test_a_cell_is_named_after_its_first_kernel(source: str, name: str) -> None:
    assert cell.kernel_name(source) == name
