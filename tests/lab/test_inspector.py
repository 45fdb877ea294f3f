"""The Inspector: small state, the viewer core only on demand, and a static view in the same output."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.record.fixtures import recording, vadd
from tinyton_lab.lab import assets
from tinyton_lab.lab.inspector import Inspector
from tinyton_lab.record import schema
from tinyton_lab.record.shape import MIME


def test_the_widget_holds_the_record_and_no_viewer() -> None:
    inspector = Inspector(vadd(), recording())
    state = inspector.get_state()
    assert schema.decode(state["record"])[1] == recording()
    assert len(state["_esm"]) < 2_000
    assert len(json.dumps({name: value for name, value in state.items() if name != "record"})) < 4_000


def test_a_page_that_asks_gets_the_viewer(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    inspector = Inspector(vadd())
    monkeypatch.setattr(assets, "module", lambda name: f"the {name}")
    monkeypatch.setattr(inspector, "send", lambda content, buffers=None: sent.append(content))
    inspector._handle_custom_msg({"want": "viewer"}, [])
    inspector._handle_custom_msg({"want": "money"}, [])
    assert sent == [{"viewer": "the viewer"}]


def test_another_compilation_can_be_shown() -> None:
    inspector = Inspector(vadd("sm_80"))
    inspector.compilation = vadd("sm_90a")
    assert inspector.record["kernel"]["target"] == "sm_90a"
    assert repr(inspector).startswith("Inspector(vadd[sm_90a] ")


def test_its_output_can_be_read_without_a_kernel() -> None:
    data, metadata = Inspector(vadd())._repr_mimebundle_()
    assert {"text/html", "text/plain", MIME} < set(data)
    assert metadata[MIME]["record"]["kernel"]["name"] == "vadd"
    assert [mime for mime in data if mime.endswith("widget-view+json")] == ["application/vnd.jupyter.widget-view+json"]
