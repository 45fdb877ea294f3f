"""Memory and math instructions of PTX and SASS end at the exact Python expression, with few exceptions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.provenance.coverage import STAGES, Coverage, coverage
from tests.provenance.labelled import add
from tests.provenance.threads import threads
from tinyton_lab.kernel.inspection import inspect_signature

BAR = 0.95


@pytest.fixture(scope="module")
def covered() -> dict[str, Coverage]:
    return coverage("sm_80")


@pytest.mark.parametrize("stage", STAGES)
def test_threads_end_at_the_expression(covered: dict[str, Coverage], stage: str):
    assert covered[stage].held > 2000
    assert covered[stage].share >= BAR, [(t.instruction, t.texts) for t in covered[stage].broken[:20]]


@pytest.mark.parametrize("stage", STAGES)
def test_a_record_that_tells_lies_is_found_out(stage: str):
    compilation = inspect_signature(add, "*fp32, *fp32, *fp32", {}, "sm_80")
    assert all(thread.holds for thread in threads(compilation, stage))
    listing = compilation.stages[stage]
    compilation.stages[stage] = replace(listing, lines=listing.lines[::-1])
    assert not all(thread.holds for thread in threads(compilation, stage))
    compilation.stages[stage] = listing
    compilation.provenance.edges.clear()
    assert not all(thread.holds for thread in threads(compilation, stage))
