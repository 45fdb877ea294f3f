"""A person's first minute in a real JupyterLab: load, run a cell, look at the card; the saved notebook keeps it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nbformat
from playwright.sync_api import expect

SOURCES = (
    "%load_ext tinyton_lab\nimport numpy as np\nimport tinyton_lab as tt, tinyton_lab.language as tl",
    """%%ttkernel row_sum --trace warp
@tt.jit
def row_sum(x, out, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + tl.program_id(0) * n + columns, mask=columns < n, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(values, axis=0))

x = np.arange(400, dtype=np.float32).reshape(2, 200)
out = np.empty(2, np.float32)
row_sum[(2,)](x, out, 200, BLOCK=256)
print(out)""",
    """%%ttkernel wrong --raises TT1001
@tt.jit
def wrong(x):
    tl.store(x, lenght)

wrong[(1,)](np.zeros(1, np.float32))""",
)
VIEWER = ".jp-OutputArea .tt"


def test_a_kernel_cell_shows_its_card(lab: Any, open_notebook: Callable[..., Any]) -> None:
    cells = [nbformat.v4.new_code_cell(source) for source in SOURCES]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    lab.store("first.ipynb", nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}))
    page = open_notebook("first.ipynb", run=True)
    outputs = page.locator(".jp-Cell .jp-OutputArea")
    expect(outputs.nth(0)).to_contain_text("tinyton_lab 0.1 · engine")
    expect(outputs.nth(1)).to_contain_text("[19900. 59900.]")
    viewer = page.locator(VIEWER).first
    expect(viewer.locator("h2")).to_have_text("row_sum")
    viewer.locator(".pane").nth(0).get_by_text("tl.sum").first.click()
    expect(viewer.locator(".crumbs")).to_contain_text("PTX add.rn.f32")
    viewer.get_by_role("tab", name="Trace").click()
    expect(viewer.locator(".controls select")).to_have_value("0")
    expect(viewer.locator(".step-detail h3")).to_contain_text("ld.param")
    expect(page.locator(VIEWER).nth(1).locator(".fault")).to_contain_text("TT1001")
    expect(page.locator(".cm-ttkernel")).to_have_count(2)
    page.evaluate("async () => { await window.jupyterapp.shell.currentWidget.context.save(); }")
    stored = nbformat.read(lab.root / "first.ipynb", as_version=4)
    types = [list(output.data) for output in stored.cells[1].outputs if output.output_type == "display_data"]
    assert types == [["application/vnd.tinyton.record.v1+json", "text/html", "text/plain"]]
