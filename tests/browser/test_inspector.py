"""The Inspector as a live widget: it shows the record, both sides can select, and its output outlives the kernel."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import nbformat
from playwright.sync_api import expect

SOURCES = (
    "from tests.record.fixtures import vadd, recording\nfrom tinyton_lab.lab.inspector import Inspector",
    "inspector = Inspector(vadd(), recording())\ninspector",
    "Inspector(vadd())",
)
VIEWER = ".jp-OutputArea .tt"


def _notebook(*sources: str) -> nbformat.NotebookNode:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def _execute(page: Any, code: str) -> str:
    """Run code in the notebook's kernel and give what it printed."""
    return page.evaluate(
        """async code => {
        const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
        const future = kernel.requestExecute({code});
        let text = "";
        future.onIOPub = message => { if (message.header.msg_type === "stream") text += message.content.text; };
        await future.done;
        return text;
    }""",
        code,
    )


def test_selections_travel_both_ways(lab: Any, open_notebook: Callable[..., Any]) -> None:
    lab.store("inspector.ipynb", _notebook(*SOURCES))
    page = open_notebook("inspector.ipynb", run=True)
    expect(page.locator(VIEWER)).to_have_count(2)
    first = page.locator(VIEWER).first
    first.locator(".pane").nth(1).get_by_text("FADD").click()
    expect(first.locator(".crumbs")).to_contain_text("8: a + b")
    assert json.loads(_execute(page, "print(inspector.selected)")) == [17]
    _execute(page, "inspector.selected = [14]")
    expect(first.locator(".pane").nth(1).locator(".row.selected")).to_contain_text("LDG.E R5")
    _execute(page, "inspector.compilation = vadd('sm_90a')")
    expect(first.locator(".chip").first).to_have_text("sm_90a")
    expect(page.locator(VIEWER).nth(1).locator(".chip").first).to_have_text("sm_80")


def test_the_saved_output_is_shown_without_the_kernel(lab: Any, open_notebook: Callable[..., Any]) -> None:
    lab.store("saved.ipynb", _notebook(*SOURCES))
    page = open_notebook("saved.ipynb", run=True)
    expect(page.locator(VIEWER)).to_have_count(2)
    page.evaluate("async () => { await window.jupyterapp.shell.currentWidget.context.save(); }")
    stored = nbformat.read(lab.root / "saved.ipynb", as_version=4)
    assert "widgets" not in stored.metadata
    stored.metadata.kernelspec = {"name": "none", "display_name": "none"}
    for trusted, name in ((False, "foreign.ipynb"), (True, "own.ipynb")):
        lab.store(name, stored, trusted)
        open_notebook(name)
        expect(page.locator(VIEWER)).to_have_count(2)
        expect(page.locator(VIEWER).first.locator(".pane").nth(1)).to_contain_text("LDG.E")
