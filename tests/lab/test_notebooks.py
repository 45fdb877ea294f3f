"""The normal form of notebooks: what it keeps, what it drops, and that it is a fixed point."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode, v4

from tinyton_lab.lab import notebooks

RECORD = "application/vnd.tinyton.record.v1+json"


def written(tmp_path: Path, *cells: NotebookNode) -> Path:
    path = tmp_path / "sample.ipynb"
    path.write_text(nbformat.writes(v4.new_notebook(cells=list(cells))), encoding="utf-8")
    return path


def test_counts_like_a_fresh_kernel():
    cells = [v4.new_markdown_cell("# A"), v4.new_code_cell("1", execution_count=9), v4.new_code_cell(" ")]
    cells.append(v4.new_code_cell("2", outputs=[v4.new_output("execute_result", {"text/plain": "2"})]))
    normal = notebooks.normalise(v4.new_notebook(cells=cells))
    assert [cell.id for cell in normal.cells] == ["cell-00", "cell-01", "cell-02", "cell-03"]
    assert [cell.get("execution_count") for cell in normal.cells] == [None, 1, None, 2]
    assert normal.cells[3].outputs[0].execution_count == 2


def test_keeps_records_without_what_changes():
    metadata = {RECORD: {"full": "x", "timing": 3, "env": {}}, "needs_background": "light"}
    output = v4.new_output("display_data", {"text/plain": "card"}, metadata=metadata)
    normal = notebooks.normalise(v4.new_notebook(cells=[v4.new_code_cell("k", outputs=[output])]))
    assert normal.cells[0].outputs[0].metadata == {RECORD: {"full": "x"}}
    assert normal.cells[0].outputs[0].data == {"text/plain": "card"}


def test_joins_a_stream_that_came_in_pieces():
    pieces = [v4.new_output("stream", name=name, text=text) for name, text in (("stdout", "a"), ("stdout", "b"))]
    pieces.append(v4.new_output("stream", name="stderr", text="c"))
    normal = notebooks.normalise(v4.new_notebook(cells=[v4.new_code_cell("f()", outputs=pieces)]))
    assert [(output.name, output.text) for output in normal.cells[0].outputs] == [("stdout", "ab"), ("stderr", "c")]


def test_check_names_a_notebook_out_of_form_and_leaves_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = written(tmp_path, v4.new_code_cell("1", execution_count=5))
    before = path.read_bytes()
    assert notebooks.main(["--check", str(path)]) == 1
    assert "sample.ipynb: not in the normal form" in capsys.readouterr().out
    assert path.read_bytes() == before
    assert notebooks.main([str(path)]) == 0
    assert notebooks.main(["--check", str(path)]) == 0


def test_execute_stores_outputs_and_is_a_fixed_point(tmp_path: Path):
    path = written(tmp_path, v4.new_code_cell("print('seen')\n6 * 7"))
    assert notebooks.main(["--execute", str(path)]) == 0
    first = path.read_bytes()
    outputs = nbformat.reads(first.decode(), as_version=4).cells[0].outputs
    assert [output.get("text") or output.data["text/plain"] for output in outputs] == ["seen\n", "42"]
    assert notebooks.main(["--execute", str(path)]) == 0
    assert path.read_bytes() == first
