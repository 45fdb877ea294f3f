"""Blocks, their order and post-dominators, and names by scope."""

from __future__ import annotations

import pytest

from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.ptx.cfg import blocks, flatten
from tinyton_lab.ptx.parse import parse

HEAD = ".version 8.0 .target sm_80 .address_size 64\n.entry k() {\n.reg .pred %p<4>; .reg .b32 %r<4>;\n"


def cut(body: str):
    module = parse(HEAD + body + "\n}")
    flat = flatten(module, module.functions["k"])
    return flat, blocks(module, flat)


def test_diamond_meets_at_its_post_dominator():
    _, found = cut("@%p1 bra L; mov.b32 %r1, 1; bra E; L: mov.b32 %r1, 2; E: mov.b32 %r2, %r1; ret;")
    entry = found[0]
    assert len(entry.successors) == 2
    meeting = entry.post_dominator
    assert all(found[s].post_dominator == meeting for s in entry.successors)
    assert meeting > max(entry.successors)


def test_loop_body_comes_before_what_follows():
    flat, found = cut("T: add.s32 %r1, %r1, 1; @%p1 bra T; mov.b32 %r2, 0; ret;")
    by_first = {block.first: block for block in found}
    assert by_first[0].index < by_first[2].index
    assert set(by_first[0].successors) == {by_first[0].index, by_first[2].index}
    assert by_first[0].post_dominator == by_first[2].index


def test_barriers_and_calls_end_blocks():
    _, found = cut("bar.sync 0; mov.b32 %r1, 0; bar.sync 0; ret;")
    assert [b.last - b.first for b in found if b.last > b.first] == [1, 2, 1]


def test_inner_scopes_shadow():
    flat, _ = cut("{ .reg .b64 %r1; L: mov.b64 %r1, 0; bra L; } mov.b32 %r1, 0; ret;")
    inner = flat.scopes[0].lookup("%r1")
    outer = flat.scopes[2].lookup("%r1")
    assert inner is not None and outer is not None
    assert (inner[1].type, outer[1].type) == ("b64", "b32") and outer[1].count == 4
    assert flat.scopes[2].label("L") is None and flat.scopes[0].label("L") == 0


def test_register_families_end_at_their_count():
    flat, _ = cut("ret;")
    assert flat.scopes[0].lookup("%r3") is not None
    assert flat.scopes[0].lookup("%r4") is None and flat.scopes[0].lookup("%r01") is None


def test_unknown_label():
    with pytest.raises(TinytonError) as caught:
        cut("bra nowhere;")
    assert caught.value.code == "TT6005"
