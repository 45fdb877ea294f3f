"""The card in JupyterLab: reopened without a kernel, untrusted, in both themes, by keyboard, and in the side panel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nbformat
import pytest
from playwright.sync_api import expect

from tests.record import hostile
from tests.record.fixtures import failed, recording, vadd
from tinyton_lab.lab import card

VIEWER = ".jp-OutputArea .tt"


def _notebook(*bundles: card.Bundle) -> nbformat.NotebookNode:
    """A notebook as it was stored by someone else: outputs, no kernel, no trust."""
    cells = []
    for data, metadata in bundles:
        output = nbformat.v4.new_output("display_data", data=data, metadata=metadata)
        cells.append(nbformat.v4.new_code_cell("%%ttkernel vadd\npass", outputs=[output], execution_count=1))
    cells.append(nbformat.v4.new_markdown_cell("the end"))
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": {"name": "none", "display_name": "none"}})


@pytest.fixture(scope="session", autouse=True)
def notebooks(lab: Any) -> None:
    lab.store("vadd.ipynb", _notebook(card.bundle(vadd(), recording())))
    lab.store("failed.ipynb", _notebook(card.bundle(failed())))
    lab.store("static.ipynb", _notebook(card.bundle(vadd(), recording(), static=True)))
    lab.store(
        "hostile.ipynb", _notebook(*(card.bundle(hostile.compilation(t), hostile.run(t)) for t in hostile.STRINGS[:6]))
    )


@pytest.fixture
def opened(open_notebook: Callable[..., Any], page: Any) -> Callable[[str], Any]:
    """Open a stored notebook and refuse the kernel that JupyterLab offers."""

    def open_(name: str) -> Any:
        open_notebook(name)
        page.locator(".jp-Dialog").get_by_role("button", name="No Kernel").click()
        return page

    return open_


def _theme(page: Any, name: str) -> None:
    page.evaluate("name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})", name)


def test_a_stored_card_is_shown_without_kernel_and_trust(opened: Callable[[str], Any]) -> None:
    page = opened("vadd.ipynb")
    viewer = page.locator(VIEWER)
    expect(viewer.locator("h2")).to_have_text("vadd")
    expect(viewer.locator(".say")).to_contain_text("the load stays 32 bits wide")
    expect(viewer.locator(".pane").nth(1)).to_contain_text("LDG.E")
    assert page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets[0].model.trusted") is False


def test_selecting_an_expression_lights_up_its_kin(opened: Callable[[str], Any]) -> None:
    page = opened("vadd.ipynb")
    page.locator(f"{VIEWER} .pane").nth(0).get_by_text("tl.load").first.click()
    lit = page.locator(f"{VIEWER} .pane").nth(1).locator(".row.selected")
    expect(lit).to_have_count(1)
    expect(lit).to_contain_text("LDG.E R2, [R2.64]")
    expect(page.locator(f"{VIEWER} .crumbs")).to_contain_text("Tile IR %11 load")
    expect(page.locator(f"{VIEWER} .live")).to_have_text("line 6 maps to 1 line of SASS")


@pytest.mark.parametrize(("theme", "mode"), [("JupyterLab Light", "light"), ("JupyterLab Dark", "dark")])
def test_the_card_follows_the_theme(opened: Callable[[str], Any], theme: str, mode: str) -> None:
    page = opened("vadd.ipynb")
    expect(page.locator(VIEWER)).to_be_visible()
    _theme(page, theme)
    expect(page.locator(VIEWER)).to_have_attribute("data-theme", mode)
    page.locator(f"{VIEWER} .pane").nth(0).get_by_text("a + b").first.click()
    shown = page.locator(f"{VIEWER}").evaluate("e => [getComputedStyle(e).backgroundColor, getComputedStyle(e).color]")
    dark = [sum(map(int, color.strip("rgba()").split(",")[:3])) < 384 for color in shown]
    assert dark == ([True, False] if mode == "dark" else [False, True])


def test_a_walk_by_keyboard(opened: Callable[[str], Any]) -> None:
    page = opened("vadd.ipynb")
    viewer = page.locator(VIEWER)
    viewer.focus()
    cells = page.locator(".jp-Notebook .jp-Cell").count()
    for key in "abjjjjj":
        page.keyboard.press(key)
    assert page.locator(".jp-Notebook .jp-Cell").count() == cells, "keys of the notebook must not act"
    expect(viewer.locator(".pane").nth(0).locator(".row.cursor")).to_contain_text("tl.load(x + offs")
    page.keyboard.press("6")
    expect(viewer.locator(".pane").nth(1).locator("select option:checked")).to_have_text("PTX")
    expect(viewer.locator(".pane").nth(1).locator(".row.cursor")).to_contain_text("ld.param.u64 %rd1")
    page.keyboard.press("h")
    expect(viewer.locator(".pane").nth(1).locator("select option:checked")).to_have_text("LLVM IR")
    page.keyboard.press("n")
    expect(viewer.locator(".diff-body header strong")).to_have_text("01-fold")
    page.keyboard.press("n")
    expect(viewer.locator(".pass.current")).to_contain_text("03-pointers")
    page.keyboard.press("w")
    expect(viewer.locator(".why .miss")).to_contain_text("alignment of the mask is 1")
    page.keyboard.press("w")
    page.keyboard.press("?")
    expect(viewer.locator(".help")).to_contain_text("next stage of this thread")
    page.keyboard.press("Escape")
    expect(viewer.locator(".help")).to_be_hidden()
    page.keyboard.press("Escape")
    assert page.evaluate("() => document.activeElement.closest('.jp-Cell, .jp-Notebook') !== null")


def test_the_trace_by_keyboard(opened: Callable[[str], Any]) -> None:
    page = opened("vadd.ipynb")
    viewer = page.locator(VIEWER)
    viewer.focus()
    page.keyboard.press(".")
    expect(viewer.locator(".place")).to_have_text("step 2 of 76")
    expect(viewer.locator(".trace .row.cursor")).to_contain_text("ld.param")
    expect(viewer.locator(".trace .row.cursor")).to_be_in_viewport()
    for _ in range(4):
        page.keyboard.press("]")
    expect(viewer.locator(".segments .current", has_text="w3")).to_be_visible()
    for _ in range(14):
        page.keyboard.press(".")
    expect(viewer.locator(".step-detail h3")).to_have_text("ld.global.f32 %f1, [%rd5];")
    expect(viewer.locator(".mask")).to_contain_text("4 of 32 lanes take part")
    expect(viewer.locator(".access")).to_contain_text("4 × 4 bytes, contiguous, bytes 384 to 400, 1 sector")
    expect(viewer.locator(".lane:not(.off)")).to_have_count(4)
    page.keyboard.press("t")
    expect(viewer.locator("table.twin tr")).to_have_count(33)
    expect(viewer.locator("table.twin tr").nth(1)).to_have_text("0yes12384")


def test_the_graph_selects_ops_and_has_a_table(opened: Callable[[str], Any]) -> None:
    page = opened("vadd.ipynb")
    viewer = page.locator(VIEWER)
    viewer.get_by_role("tab", name="Graph").click()
    viewer.get_by_role("button", name="The dataflow of vadd: 16").click()
    viewer.locator("g.node", has_text="%17 add").click()
    expect(viewer.locator(".crumbs")).to_contain_text("SASS FADD R9, R2, R5")
    viewer.focus()
    page.keyboard.press("t")
    expect(viewer.locator("table.twin")).to_contain_text("%17 add : tile<128xf32>store")


def test_o_opens_the_inspector(opened: Callable[[str], Any]) -> None:
    page = opened("vadd.ipynb")
    page.locator(VIEWER).focus()
    page.keyboard.press("o")
    panel = page.locator("#tinyton-inspector .tt")
    expect(panel.locator("h2")).to_have_text("vadd")
    expect(panel).to_have_class("tt fills narrow")


def test_a_failed_kernel_shows_its_fault_first(opened: Callable[[str], Any]) -> None:
    page = opened("failed.ipynb")
    expect(page.locator(f"{VIEWER} .fault")).to_contain_text("TT2001: shapes do not broadcast")


def test_the_static_card_survives_the_sanitiser(opened: Callable[[str], Any]) -> None:
    page = opened("static.ipynb")
    output = page.locator(".jp-OutputArea-output")
    expect(output).to_contain_text("alignment of the mask is 1")
    expect(output.locator("details")).to_have_count(11)
    picture = output.locator("img")
    output.get_by_text("Tile IR dataflow").click()
    assert picture.evaluate("async e => { await e.decode(); return e.naturalWidth; }") > 300
    output.get_by_text("PTX – 19 instructions").click()
    expect(output.get_by_text("ld.global.f32 %f1").first).to_be_visible()
    assert output.locator("b").first.evaluate("e => e.style.fontFamily") == "monospace"


def test_hostile_records_do_nothing(opened: Callable[[str], Any]) -> None:
    page = opened("hostile.ipynb")
    expect(page.locator(VIEWER).first).to_be_visible()
    for name in ("Passes", "Graph", "Trace", "Stages"):
        for tab in page.locator(VIEWER).get_by_role("tab", name=name).all():
            tab.click()
    assert page.evaluate("() => window.pwned") is None


def test_what_a_screen_reader_hears(opened: Callable[[str], Any], golden: Callable[[str], object]) -> None:
    page = opened("vadd.ipynb")
    assert page.locator(VIEWER).aria_snapshot() + "\n" == golden("browser/card.aria")
