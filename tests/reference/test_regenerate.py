"""Generated files: the list is read from pyproject, a stale or missing file is found, the pages are complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from tinyton_lab.base.faults import FAULTS
from tinyton_lab.base.knobs import KNOBS
from tinyton_lab.ops import OPS
from tinyton_lab.ptx.table import ROWS
from tinyton_lab.reference import pages, regenerate
from tinyton_lab.reference.classes import CLASSES, members


def checkout(root: Path) -> Path:
    (root / "pyproject.toml").write_text('[tool.tinyton.generated]\n"a.md" = "tinyton_lab.reference.pages:knobs"\n')
    return root


def test_a_missing_and_a_changed_file_are_stale(tmp_path: Path):
    root = checkout(tmp_path)
    assert list(regenerate.stale(root)) == ["a.md"]
    (root / "a.md").write_text(pages.knobs(), encoding="utf-8")
    assert regenerate.stale(root) == {}
    (root / "a.md").write_text("by hand", encoding="utf-8")
    assert regenerate.stale(root) == {"a.md": pages.knobs()}


def test_an_installed_package_is_no_checkout(tmp_path: Path):
    with pytest.raises(RuntimeError, match="is no checkout"):
        regenerate.generated(tmp_path)


def test_pages_hold_every_row():
    assert [name for name in KNOBS if f"`{name}`" not in pages.knobs()] == []
    assert [key for key in FAULTS if f"\n### {key}\n" not in pages.errors()] == []
    assert [name for name in OPS if f"\n| `{name}` |" not in pages.ops()] == []
    assert pages.ptx().count("\n| `") == sum(map(len, ROWS.values()))


def test_classes_say_what_each_member_is():
    found = {row.name: dict(members(row)) for row in CLASSES}
    assert [(name, written) for name, rows in found.items() for written, doc in rows.items() if not doc] == []
    assert found["tl.tensor"]["sum(axis=None, keep_dims=False, dtype=None)"].startswith("Sum along an axis")
    assert {"T", "exp()", "shape", "sigmoid()"} <= found["tl.tensor"].keys()
    assert "gather(x_offsets, y_offset)" in found["tl.tensor_descriptor"]
    assert all(f"\n## {name}\n" in pages.language() for name in found)


def test_a_cell_cannot_break_its_table():
    assert pages.table(["a"], [("x | y",)]).splitlines()[-1] == "| x \\| y |"
