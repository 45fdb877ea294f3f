"""The committed notebooks are in the normal form and compare every output they can; nbval itself runs them."""

from __future__ import annotations

import re
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
    # A card ends in machine code: of the GPU by NVIDIA's tools, and of the computer it was made on.
    volatile = ("%time", "seconds", "sass", "registers", "tt.doctor", "nvdisasm", "%%ttkernel", "%ttview", "tt.show")
    for cell in nbformat.reads(path.read_text(encoding="utf-8"), as_version=4).cells:
        tags = set(cell.metadata.get("tags", []))
        assert "nbval-skip" not in tags and "NBVAL" not in cell.source
        if "nbval-ignore-output" in tags:
            assert any(word in cell.source.lower() for word in volatile), cell.source


def test_it_is_small_and_tells_nothing_of_a_machine(path: Path):
    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) < 1_000_000
    told = re.search(r"(/home|/root|/tmp|/Users|site-packages|C:)[/\\\\][\w.-]+|\b0x[0-9a-f]{9,14}\b", text)
    assert told is None, told


def test_each_kernel_cell_names_its_engine_and_target(path: Path):
    for cell in nbformat.reads(path.read_text(encoding="utf-8"), as_version=4).cells:
        if cell.source.startswith("%%ttkernel"):
            line = cell.source.split("\n")[0]
            assert re.search(r"--(on|trace) \w+", line) and re.search(r"--target \w+", line), line


def test_the_solution_of_its_exercise_passes_its_check(path: Path):
    notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    solution = re.findall(r"<summary>.*?```python\n(.*?)\n```", notebook.cells[-1].source, re.DOTALL)[0]
    cell = next(cell for cell in notebook.cells if "# change this line" in cell.source)
    cell.source = re.sub(r"( *)\S.*# change this line", lambda line: line[1] + solution, cell.source)
    assert "not yet" in notebook.cells[-2].outputs[0].data["text/plain"]
    notebooks.run_all(notebook, path.parent)
    assert notebook.cells[-2].outputs[0].data["text/plain"] == "'well done'"
