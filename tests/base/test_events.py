"""Listeners hear every event while they listen, in order, and nothing afterwards."""

from __future__ import annotations

import pytest

from tinyton_lab.base import events


def test_each_call_reaches_the_listener_with_its_result() -> None:
    heard: list[events.Event] = []
    with events.listening(heard.append):
        events.kernel_defined("vadd")
        events.kernel_compiled("vadd", "compilation")
        events.kernel_launched("vadd", "launch")
    assert heard == [
        events.Event("defined", "vadd"),
        events.Event("compiled", "vadd", "compilation"),
        events.Event("launched", "vadd", "launch"),
    ]


def test_a_listener_is_gone_after_an_error() -> None:
    heard: list[events.Event] = []
    with pytest.raises(ValueError, match="boom"), events.listening(heard.append):
        raise ValueError("boom")
    events.kernel_defined("late")
    assert heard == [] and events.LISTENERS == []
