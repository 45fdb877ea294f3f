"""The committed notebooks are in the normal form and compare every output they can; nbval itself runs them."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from tinyton_lab.lab import notebooks

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.name)
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_normal_form(path: Path):
    assert path.read_text(encoding="utf-8") == notebooks.normal_text(path), "run `make notebooks`"


def test_no_cell_is_skipped_or_let_off_without_need(path: Path):
    volatile = ("%time", "seconds", "sass", "registers", "tt.doctor", "nvdisasm")
    for cell in nbformat.reads(path.read_text(encoding="utf-8"), as_version=4).cells:
        tags = set(cell.metadata.get("tags", []))
        assert "nbval-skip" not in tags and "NBVAL" not in cell.source
        if "nbval-ignore-output" in tags:
            assert any(word in cell.source.lower() for word in volatile), cell.source
