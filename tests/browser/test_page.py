"""Pages without a server: the one-file export, and a notebook converted to HTML."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import expect

from tests.record import hostile
from tests.record.fixtures import recording, vadd
from tinyton_lab.lab import card
from tinyton_lab.lab.page import to_html


def _file(folder: Path, text: str) -> str:
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
def test_the_export_works_offline(page: Any, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    page.context.set_offline(True)
    page.goto(_file(tmp_path, to_html(vadd(), recording())))
    viewer = page.locator(".tt")
    expect(viewer).to_have_attribute("data-theme", "dark" if "dark" in request.node.name else "light")
    viewer.focus()
    for key in "jjjjjjjj":
        page.keyboard.press(key)
    expect(viewer.locator(".pane").nth(1).locator(".row.selected")).to_have_count(2)
    viewer.get_by_role("tab", name="Trace").click()
    expect(viewer.locator(".step-detail h3")).to_have_text("ld.param.u64 %rd1, [x];")


def test_a_narrow_page_puts_the_panes_below_each_other(page: Any, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 600, "height": 800})
    page.goto(_file(tmp_path, to_html(vadd())))
    boxes = [pane.bounding_box() for pane in page.locator(".pane").all()]
    assert boxes[0]["x"] == boxes[1]["x"] and boxes[1]["y"] > boxes[0]["y"]


def test_long_listings_draw_only_what_is_in_sight(page: Any, tmp_path: Path) -> None:
    long = vadd()
    sass = long.stages["sass"]
    long.stages["sass"] = replace(sass, text=sass.text * 300, lines=sass.lines * 300)
    page.goto(_file(tmp_path, to_html(long)))
    rows = page.locator(".pane").nth(1).locator(".row")
    nodes = "() => document.querySelector('main').shadowRoot.querySelectorAll('*').length"
    assert rows.count() < 150 and page.evaluate(nodes) < 3000
    page.locator(".pane").nth(1).locator(".listing").evaluate("e => e.scrollTo(0, 40000)")
    expect(rows.filter(has_text="2001")).to_have_count(1)
    assert rows.count() < 150 and page.evaluate(nodes) < 3000


@pytest.mark.parametrize("text", hostile.STRINGS)
def test_hostile_text_is_only_text(page: Any, tmp_path: Path, text: str) -> None:
    page.goto(_file(tmp_path, to_html(hostile.compilation(text), hostile.run(text))))
    for name in ("Passes", "Graph", "Trace", "Stages"):
        page.get_by_role("tab", name=name).click()
    page.locator(".tt").focus()
    for key in "jjwt?/":
        page.keyboard.press(key)
    assert page.evaluate("() => window.pwned") is None
    inside = (
        "() => [...document.querySelector('main').shadowRoot.querySelectorAll('script, img, iframe, object, a')].length"
    )
    assert page.evaluate(inside) == 0


def test_a_converted_notebook_shows_the_static_card_offline(page: Any, tmp_path: Path) -> None:
    data, metadata = card.bundle(vadd(), recording())
    output = nbformat.v4.new_output("display_data", data=data, metadata=metadata)
    cell = nbformat.v4.new_code_cell("%%ttkernel vadd", outputs=[output], execution_count=1)
    exporter = HTMLExporter()
    exporter.mathjax_url, exporter.require_js_url = "", ""
    text, _ = exporter.from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    page.context.set_offline(True)
    page.goto(_file(tmp_path, text))
    output_area = page.locator(".jp-OutputArea")
    expect(output_area).to_contain_text("alignment of the mask is 1")
    page.get_by_text("SASS – 16 instructions").click()
    expect(page.get_by_text("LDG.E").first).to_be_visible()
