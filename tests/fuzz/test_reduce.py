"""A kernel is made as small as what must stay true of it allows, and its accesses keep their places."""

from __future__ import annotations

from tests.fuzz.reduce import reduced


def test_only_what_matters_is_left() -> None:
    text = "def kernel(x, o, n):\n    a = tl.load(x + n * 2)\n    b = tl.exp(a + 1) * 3\n    tl.store(o + n, b - a)\n"
    assert reduced(text, lambda t: "tl.exp" in t and "store" in t) == (
        "def kernel(x, o, n):\n    b = tl.exp(a)\n    tl.store(o + n, b)"
    )


def test_a_text_that_cannot_be_smaller_stays() -> None:
    assert reduced("a = 1", lambda t: t == "a = 1") == "a = 1"
