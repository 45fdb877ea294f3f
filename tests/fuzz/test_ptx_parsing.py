"""Damaged PTX is read or refused with a located fault, soon and in memory that grows no faster than the text."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from tests.fuzz.ptx_parsing import complaint
from tests.fuzz.ptx_texts import damaged
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.sim import Module

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n"
# What each text repeats; the parser must not search the rest of the text again for each of them.
REPEATED = {
    "comments without an end": "/* ",
    "comments that end in stars": "/**",
    "quotes in a string without an end": '\\"',
    "quotes": '"a',
    "digits": "1",
    "braces": "{",
    "parentheses": "(",
    "scopes": "{ l: }",
    "modifiers": ".s32",
    "labels in a row": "@p bra l;",
    "declarations": ".reg .b32 %r<10>;",
    "lists": "a, ",
    "calls": "call (a), f, (b);",
    "tables": "{t: .branchtargets l, l; l: brx.idx r, t;}",
}


@pytest.mark.parametrize("first", range(0, 3000, 500))
def test_damaged_texts_are_read_or_refused(first: int):
    assert [words for words in map(complaint, range(first, first + 500)) if words] == []


def test_damage_depends_on_its_seed_only():
    texts = ["add.s32 a, b, c;\n" * 9]
    assert [damaged(texts, seed) for seed in range(50)] == [damaged(texts, seed) for seed in range(50)]
    assert len({damaged(texts, seed) for seed in range(50)}) > 40


def seconds(text: str) -> float:
    began = time.process_time()
    try:
        Module(text).verify()
    except TinytonError as fault:
        assert len(str(fault)) < 4000
    return time.process_time() - began


@pytest.mark.parametrize("name", sorted(REPEATED))
@pytest.mark.parametrize("before", ["", '"', "add.s32 x", ".shared .b8 s["])
def test_long_texts_take_time_in_proportion(name: str, before: str):
    piece = REPEATED[name]
    count = 60_000 // len(piece)
    short, long = (min(seconds(HEAD + before + piece * n) for _ in range(2)) for n in (count // 8, count))
    # Quadratic time would be 64 times as long.
    assert long < 24 * max(short, 0.01)


@pytest.mark.parametrize("name", ["comments without an end", "labels in a row", "lists", "scopes"])
def test_memory_grows_with_the_text(name: str):
    text = HEAD + REPEATED[name] * (200_000 // len(REPEATED[name]))
    tracemalloc.start()
    try:
        seconds(text)
        assert tracemalloc.get_traced_memory()[1] < 500 * len(text)
    finally:
        tracemalloc.stop()


def test_too_long_a_text_is_refused():
    with pytest.raises(TinytonError, match="a text of at most"):
        Module(HEAD + "/" * (1 << 24))
