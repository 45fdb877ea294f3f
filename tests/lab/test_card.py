"""What an output stores: exactly three types, the whole record in the metadata, everything inside its budget."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.record import hostile
from tests.record.fixtures import recording, vadd
from tests.record.reading import Reader
from tinyton_lab.lab import card, page
from tinyton_lab.record import html, schema
from tinyton_lab.record.shape import MIME


def test_the_bundle_is_record_html_and_text_and_nothing_else() -> None:
    data, metadata = card.bundle(vadd(), recording())
    assert list(data) == [MIME, "text/html", "text/plain"]
    assert data["text/plain"] == data[MIME]["fingerprint"]
    assert data["text/plain"].startswith("vadd[sm_80] ast:19")
    assert schema.decode(metadata[MIME]["record"])[0] == vadd()
    assert schema.digest(metadata[MIME]["record"]) == data[MIME]["digest"]


def test_a_bundle_is_the_same_every_time_and_small() -> None:
    first, second = card.bundle(vadd(), recording()), card.bundle(vadd(), recording())
    assert json.dumps(first) == json.dumps(second)
    assert len(first[0]["text/html"].encode()) <= html.MAXIMUM_BYTES
    assert len(json.dumps(first[0][MIME])) < 400


SOFTMAX = """
import hashlib, json, runpy, numpy as np
import tinyton_lab as tt
from tinyton_lab import catalogue
from tinyton_lab.lab import card
kernel = runpy.run_path(str(catalogue.path("softmax")))["softmax"]
x = np.ones((2, 100), np.float32)
recording = tt.trace(kernel, x, x.copy(), 100, 100, BLOCK=128, grid=(2,))
whole = json.dumps(card.bundle(tt.inspect(kernel, x, x.copy(), 100, 100, BLOCK=128), recording))
print(hashlib.sha256(whole.encode()).hexdigest())
"""


def test_a_real_kernels_card_is_the_same_in_every_process() -> None:
    digests = set()
    for seed in ("0", "1"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        seen = subprocess.run(
            [sys.executable, "-c", SOFTMAX], env=environment, capture_output=True, text=True, check=True
        )
        digests.add(seen.stdout)
    assert len(digests) == 1


def test_static_leaves_the_interactive_part_out() -> None:
    data, metadata = card.bundle(vadd(), static=True)
    assert list(data) == ["text/html", "text/plain"] and metadata == {}


def test_the_view_that_opens_first_is_told() -> None:
    assert card.bundle(vadd(), view="passes")[1][MIME]["view"] == "passes"
    assert "view" not in card.bundle(vadd())[1][MIME]


def test_a_long_recording_is_cut_to_the_budget_and_says_so() -> None:
    long = recording()
    long.steps = [replace(step, index=i) for i, step in enumerate(long.steps * 400)]
    record = card.fitting(vadd(), long, ())
    assert card.size(record) <= card.MAXIMUM_RECORD_BYTES
    assert record["recording"]["total"] == len(long.steps) > len(record["recording"]["cta"]) > 64


def test_a_saved_card_comes_back_whole(tmp_path: Path) -> None:
    card.save(str(tmp_path / "vadd.ttcard"), vadd(), recording())
    assert card.load(str(tmp_path / "vadd.ttcard")) == (vadd(), recording())


def test_a_recording_alone_has_a_card() -> None:
    compilation = card.of_recording(recording())
    assert compilation.stages["ptx"].lines[25] == (11,)
    assert "76 steps" in html.card(compilation, recording())


def test_the_page_holds_the_record_and_asks_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page.assets, "module", lambda name: "/*program*/")
    text = page.to_html(vadd(), recording())
    start = text.index('type="application/json">') + len('type="application/json">')
    assert schema.decode(json.loads(text[start : text.index("</script>", start)]))[1] == recording()
    assert "default-src &#x27;none&#x27;" in text and "http://" not in text.replace("http://www.w3.org/", "")


def test_the_page_without_the_front_end_is_the_static_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page.assets, "module", lambda name: None)
    text = page.to_html(vadd())
    assert "<script" not in text and html.CLOSING in text


@pytest.mark.parametrize("text", hostile.STRINGS)
def test_hostile_text_cannot_leave_the_pages_data(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page.assets, "module", lambda name: "/*program*/")
    seen = Reader(page.to_html(hostile.compilation(text), hostile.run(text)))
    assert seen.tags.count("script") == 2
    assert not {"svg", "a", "iframe", "object"} & set(seen.tags)
    assert set(seen.attributes) <= {"style", "open", "alt", "src", "charset", "http-equiv", "content", "lang", "type"}
    assert all(source.startswith("data:image/svg+xml;base64,") for source in seen.attributes.get("src", []))
