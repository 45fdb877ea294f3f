"""Options are read as documented, and wrong ones are faults."""

from __future__ import annotations

import pytest

from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.lab import options


def test_constants_are_literals_or_text() -> None:
    read = options.read_constants(["BLOCK=128", "eps=1e-5", "fast=True", "mode=relu", "axes=(0,1)"])
    assert read == {"BLOCK": 128, "eps": 1e-5, "fast": True, "mode": "relu", "axes": (0, 1)}


@pytest.mark.parametrize("word", ["BLOCK", "=3", "1x=3", "a b=1"])
def test_a_word_that_is_no_constant_is_a_fault(word: str) -> None:
    with pytest.raises(TinytonError, match="--const is .*NAME=VALUE") as caught:
        options.read_constants([word])
    assert caught.value.code == "TT8001"


def test_views() -> None:
    assert [options.read_view(word) for word in (None, "", "trace")] == ["", "", "trace"]
    with pytest.raises(TinytonError, match="one of stages, passes, graph, trace"):
        options.read_view("tarce")


def test_quotes_keep_a_value_together() -> None:
    assert options.words("vadd --sig='*fp32, i32' --const BLOCK=1") == [
        "vadd",
        "--sig=*fp32, i32",
        "--const",
        "BLOCK=1",
    ]
    with pytest.raises(TinytonError, match="every quote closed"):
        options.words('--sig="*fp32')
