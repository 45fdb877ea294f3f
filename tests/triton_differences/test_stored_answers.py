"""What Triton answered is stored: this package gives what stands beside it, and each difference has a reason."""

from __future__ import annotations

import pytest

from tests.triton_differences import page, sides, table
from tests.triton_differences.reasons import REASONS, reason

PARTS = 8
ENTRIES, MADE_WITH = table.load()


def test_every_public_name_is_compared_and_every_difference_has_a_reason():
    assert table.complaints(ENTRIES, MADE_WITH) == []
    explained = {reason(key) for key, entry in ENTRIES.items() if entry.verdict == "different"}
    assert [row.title for row in REASONS if row not in explained] == []


@pytest.mark.parametrize("part", range(PARTS))
def test_answers_are_those_that_are_stored(part: int):
    mine = {key: sides.ours(case, dtype, "interpreter") for key, case, dtype in list(table.keys())[part::PARTS]}
    assert table.strayed(mine) == []


def test_a_changed_answer_is_told():
    key, case, dtype = next(iter(table.keys()))
    answer = sides.ours(case, dtype, "interpreter")
    assert not isinstance(answer, str)
    assert table.strayed({key: answer[::-1]}) != []


def test_the_page_is_made_of_the_stored_answers():
    assert page.PATH.read_text(encoding="utf-8") == page.text(), "run: python -m tests.triton_differences --write"
