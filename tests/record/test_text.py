"""The fingerprint is one stable line; the terminal card tells stages, resources and reasons."""

from __future__ import annotations

import pytest

from tests.record import hostile
from tests.record.fixtures import failed, recording, vadd
from tinyton_lab.record import text


def test_the_fingerprint_of_the_vector_add() -> None:
    assert text.fingerprint(vadd()) == (
        "vadd[sm_80] ast:19 tile:18->12 layout:12 llvm:16 ptx:19 sass:16 regs:12 spills:0 smem:0 remarks:1"
    )


def test_the_fingerprint_of_a_failure_names_the_fault() -> None:
    assert text.fingerprint(failed()) == "vadd[sm_80] ast:19 tile:18 remarks:0 error:TT2001"


def test_the_terminal_card() -> None:
    lines = text.card(vadd(), recording()).splitlines()
    assert lines[0] == "vadd[sm_80]  BLOCK=128  num_warps=4"
    assert lines[1].startswith("  vectorise at line 6: the load stays 32 bits")
    assert lines[4] == "  3 Tile IR       18 -> 12 ops       01-fold* 02-cse 03-pointers* 04-axis-info"
    assert "      because alignment of the mask is 1" in lines


def test_every_op_of_the_machine_stages_leads_to_its_source_line() -> None:
    compilation = vadd()
    lines = text.source_lines(compilation)
    assert {lines[uid] for uid in (22, 10)} == {6} and lines[21] == 4
    assert all(uid in lines for uids in compilation.stages["sass"].lines for uid in uids)


@pytest.mark.parametrize("string", hostile.STRINGS)
def test_hostile_text_cannot_steer_a_terminal(string: str) -> None:
    for shown in (text.fingerprint(hostile.compilation(string)), text.card(hostile.compilation(string))):
        assert shown.replace("\n", "").replace("\t", "").isprintable()
