"""Blocks, their order and post-dominators, and names by scope."""

from __future__ import annotations

import pytest

from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.ptx.cfg import blocks, deciding_blocks, flatten, post_dominators
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
    meeting = post_dominators(found)[entry.index]
    assert all(post_dominators(found)[s] == meeting for s in entry.successors)
    assert meeting > max(entry.successors)


def test_loop_body_comes_before_what_follows():
    flat, found = cut("T: add.s32 %r1, %r1, 1; @%p1 bra T; mov.b32 %r2, 0; ret;")
    by_first = {block.first: block for block in found}
    assert by_first[0].index < by_first[2].index
    assert set(by_first[0].successors) == {by_first[0].index, by_first[2].index}
    assert post_dominators(found)[by_first[0].index] == by_first[2].index


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


def test_what_follows_a_loop_comes_after_all_of_it():
    flat, found = cut(
        "T: @%p1 bra E; @%p2 bra B; mov.b32 %r1, 1; bra N; B: mov.b32 %r1, 2; N: bra T; E: mov.b32 %r2, 0; ret;"
    )
    place = {block.first: block.index for block in found}
    after = place[6]
    assert all(place[first] < after for first in place if first < 6)


def test_inner_loops_stay_together():
    _, found = cut("A: mov.b32 %r1, 0; B: add.s32 %r1, %r1, 1; @%p1 bra B; @%p2 bra A; ret;")
    place = {block.first: block.index for block in found}
    assert place[0] < place[1] < place[3] < place[4]


def test_dead_code_comes_last():
    _, found = cut("bra E; X: mov.b32 %r1, 0; bra X; E: ret;")
    place = {block.first: block.index for block in found}
    assert place[0] == 0 and place[3] < place[1]


def test_deep_loops_do_not_recurse():
    depth = 1000
    body = "".join(f"L{n}: add.s32 %r1, %r1, 1;" for n in range(depth))
    body += "".join(f"@%p1 bra L{n};" for n in reversed(range(depth)))
    _, found = cut(body + "ret;")
    assert [block.index for block in found] == [*range(len(found))]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("@%p1 bra L; A: add.s32 %r1, %r1, 1; bra E; L: mov.b32 %r1, 2; E: mov.b32 %r2, 3; ret;", {1: "bra", 2: "bra"}),
        ("T: add.s32 %r1, %r1, 1; @%p1 bra T; mov.b32 %r2, 3; ret;", {1: "bra"}),
        ("@%p1 ret; add.s32 %r1, %r1, 1; mov.b32 %r2, 3; ret;", {1: "ret", 3: "ret"}),
        ("@%p1 bra E; add.s32 %r1, %r1, 1; @%p2 bra E; mov.b32 %r1, 2; E: mov.b32 %r2, 3; ret;", {1: "%p1", 2: "%p2"}),
        ("add.s32 %r1, %r1, 1; bar.sync 0; mov.b32 %r2, 3; ret;", {}),
    ],
)
def test_what_decides_whether_a_block_runs(body: str, wanted: dict[int, str]):
    """By the number that a block's instruction adds or moves."""
    flat, found = cut(body)
    told: dict[int, str] = {}
    for block, deciders in zip(found, deciding_blocks(flat, found), strict=True):
        for instruction in flat.instructions[block.first : block.last]:
            number = instruction.operands[-1].value if instruction.operands[1:] else 0  # type: ignore[union-attr]
            if number and deciders:
                (decider,) = deciders
                last = flat.instructions[found[decider].last - 1]
                told[number] = last.guard if wanted.get(number, "")[:1] == "%" else last.opcode
    assert told == wanted
