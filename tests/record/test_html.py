"""Static HTML: what a sanitiser leaves is all of it, hostile text stays text, and a card stays small."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

import tinyton_lab
from tests.record import hostile
from tests.record.fixtures import failed, recording, vadd
from tests.record.reading import Reader
from tinyton_lab.record import html
from tinyton_lab.record.schema import Graph
from tinyton_lab.record.stage import Compilation

TAGS = set("div span b pre details summary table tr th td img".split())
ATTRIBUTES = {"style", "open", "alt", "src", "title"}
SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>'


def test_a_card_shows_every_stage_and_the_reason_of_the_miss() -> None:
    page = Reader(html.card(vadd(), recording(), [Graph("tile", "Dataflow", "A flow.", "", SVG)]))
    for word in (
        "vadd",
        "sm_80",
        "BLOCK=128",
        "Tile IR",
        "18 \u2192 12",
        "tile/01-fold",
        "ld.global.f32",
        "LDG.E",
        "alignment of the mask is 1",
        "registers 12",
        "76 steps",
        html.CLOSING,
    ):
        assert word in page.text, word
    assert page.attributes["alt"] == ["A flow."]


@pytest.mark.parametrize(
    "compilation", [vadd(), failed(), Compilation("empty", "cpu")], ids=["vadd", "failed", "empty"]
)
def test_only_tags_and_attributes_that_sanitisers_leave(compilation: Compilation) -> None:
    page = Reader(html.card(compilation, recording()))
    assert set(page.tags) <= TAGS and set(page.attributes) <= ATTRIBUTES
    assert not re.search(r"url\(|expression|position|var\(", " ".join(page.attributes["style"]))


def test_a_failed_compilation_opens_with_its_error() -> None:
    page = Reader(html.card(failed()))
    assert page.text.index("TT2001") < page.text.index("Python")
    assert "\u2715" in page.text and "^^^^^" in page.text


@pytest.mark.parametrize("text", hostile.STRINGS)
def test_hostile_text_stays_text(text: str) -> None:
    drawn = html.card(hostile.compilation(text), hostile.run(text), [hostile.graph(text)])
    page = Reader(drawn)
    assert set(page.tags) <= TAGS and set(page.attributes) <= ATTRIBUTES
    assert not re.search("[\x00\x1b\u202e\u2028\ud800]", drawn)
    for address in page.attributes.get("src", []):
        assert re.fullmatch(r"data:image/svg\+xml;base64,[A-Za-z0-9+/=]*", address)


@pytest.mark.parametrize("lines", [300, 5000])
def test_a_long_kernel_stays_in_the_budget_and_says_what_is_left_out(lines: int) -> None:
    long = vadd()
    for name, stage in long.stages.items():
        long.stages[name] = replace(stage, text=stage.text * (lines // 10), changed=True)
    drawn = html.card(long, recording())
    assert len(drawn.encode()) <= html.MAXIMUM_BYTES
    assert "more lines" in drawn and "tile/03-pointers" in drawn


def test_a_huge_name_stays_in_the_budget() -> None:
    assert len(html.card(hostile.compilation("x" * 1_000_000)).encode()) <= html.MAXIMUM_BYTES


def test_a_card_of_the_vector_add_is_well_below_the_budget() -> None:
    assert len(html.card(vadd(), recording()).encode()) < 45_000


def test_no_other_module_writes_html_by_hand() -> None:
    root = Path(tinyton_lab.__file__).parent
    opening = re.compile(r"</?(div|span|p|b|a|pre|img|table|tr|td|h\d|script|style|svg)\b")
    found = []
    for path in [*root.glob("record/*.py"), *root.glob("lab/*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                texts = [part.value for part in node.values if isinstance(part, ast.Constant)]
                found += [f"{path.name}:{node.lineno}" for text in texts if opening.search(str(text))]
    assert found == []
