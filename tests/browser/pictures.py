"""Take the pictures of the README from the product itself: a notebook of its own, JupyterLab, Chromium."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import sync_playwright

from tests.browser.conftest import ARGUMENTS, CHROMIUM, PATIENCE_MS, ROOT, Lab

PICTURES = ROOT / "docs" / "pictures"
SETUP = """%load_ext tinyton_lab
import numpy as np
import tinyton_lab as tt
import tinyton_lab.language as tl
x = np.random.default_rng(0).standard_normal((8, 256), np.float32)
out = np.empty_like(x)"""
SOFTMAX = """%%ttkernel softmax{options}
@tt.jit
def softmax(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(x + at)
    weights = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + at, weights / tl.sum(weights, axis=0))

softmax[(8,)](x, out, BLOCK=256);"""
CELL, CARD = ".jp-Notebook .jp-Cell", ".jp-OutputArea .tt"


def _notebook(options: str) -> nbformat.NotebookNode:
    cells = [nbformat.v4.new_code_cell(source) for source in (SETUP, SOFTMAX.format(options=options))]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def _open(page: Any, lab: Lab, name: str, theme: str) -> Any:
    """Run a notebook and give the viewer of its card."""
    page.goto(f"{lab.url}/lab/tree/{name}?reset", wait_until="domcontentloaded")
    page.wait_for_function("window.jupyterapp && document.querySelector('.jp-Notebook')")
    page.evaluate(
        """async theme => {
        const {commands, restored, shell} = window.jupyterapp;
        await restored;
        await shell.currentWidget.sessionContext.ready;
        await commands.execute('apputils:change-theme', {theme});
        shell.collapseLeft();
        await commands.execute('notebook:run-all-cells');
    }""",
        theme,
    )
    page.locator(CARD).wait_for()
    return page.locator(CARD)


def _take(subject: Any, name: str) -> None:
    time.sleep(0.5)  # let what was scrolled and clicked come to rest
    subject.screenshot(path=PICTURES / f"{name}.png", animations="disabled")


def _card(page: Any, lab: Lab) -> None:
    viewer = _open(page, lab, "card.ipynb", "JupyterLab Light")
    _take(page.locator(CELL).nth(1), "card")
    viewer.locator(".pane").nth(0).get_by_text("tl.exp").click()
    viewer.locator(".pane").nth(1).locator("select").select_option(label="PTX")
    _take(viewer, "linked")


def _trace(page: Any, lab: Lab) -> None:
    viewer = _open(page, lab, "trace.ipynb", "JupyterLab Dark")
    viewer.get_by_role("tab", name="Trace").click()
    viewer.focus()
    while "shfl" not in viewer.locator(".step-detail h3").inner_text():
        page.keyboard.press(".")
    _take(viewer, "trace")


def main() -> None:
    """Write the pictures anew; they differ in a few bytes where the fonts or Chromium differ."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        lab = Lab(Path(folder))
        lab.store("card.ipynb", _notebook(""))
        lab.store("trace.ipynb", _notebook(" --trace warp"))
        server = lab.start()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            for take in (_card, _trace):
                page = browser.new_page(viewport={"width": 1100, "height": 1000})
                page.set_default_timeout(PATIENCE_MS)
                take(page, lab)
        finally:
            browser.close()
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
