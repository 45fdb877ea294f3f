"""Random schedules: what races depends on the seed, what does not race is the same under every one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim import corpus
from tests.sim.kit import kernel, run
from tests.sim.test_control import COLLATZ
from tinyton_lab.sim import load

OWN = "mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d1, %d0;"
# The order in which warps come to a counter, and the side of a branch that comes first.
ORDER = OWN + "atom.global.add.u32 %r1, [%d0+512], 1; st.global.u32 [%d1], %r1;"
SIDES = (
    OWN
    + """and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra EVEN;
atom.global.add.u32 %r1, [%d0+512], 1; bra END; EVEN: atom.global.add.u32 %r1, [%d0+512], 1;
END: st.global.u32 [%d1], %r1;"""
)


def result(body: str, schedule: int | None, block: int) -> tuple[int, ...]:
    out = np.zeros(129, np.uint32)
    run(body, out, block=block, schedule=schedule)
    return tuple(out.tolist())


def test_warps_come_in_another_order():
    found = {result("bar.sync 0;" + ORDER, seed, 128) for seed in range(12)}
    assert len(found) > 4 and all(sorted(values[:128]) == list(range(128)) for values in found)
    assert result(ORDER, 5, 128) == result(ORDER, 5, 128)


def test_either_side_of_a_branch_comes_first():
    assert len({result(SIDES, seed, 32) for seed in range(12)}) == 2


@pytest.mark.parametrize("seed", range(4))
def test_lanes_meet_as_early_as_ever(seed: int):
    body = OWN + COLLATZ + "bar.sync 0; activemask.b32 %r4; add.u32 %r4, %r4, %r2; st.global.u32 [%d1], %r4;"
    out, plain = np.zeros((2, 96), np.uint32)
    launch = run(body, out, block=96, schedule=seed)
    run(body, plain, block=96)
    assert launch.findings == [] and out.tolist() == plain.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_a_lock_is_taken_by_one_warp_after_another(seed: int):
    body = """and.b32 %r5, %r0, 31; setp.ne.u32 %p2, %r5, 0; @%p2 bra DONE;
    TRY: atom.global.cas.b32 %r1, [%d0], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra TRY;
    ld.volatile.global.u32 %r2, [%d0+4]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%d0+4], %r2;
    atom.global.exch.b32 %r1, [%d0], 0; DONE:"""
    out = np.zeros(2, np.uint32)
    run(body, out, block=128, schedule=seed)
    assert out.tolist() == [0, 4]


def test_recordings_tell_the_schedule():
    out = np.zeros(129, np.uint32)
    recording = load(kernel(ORDER, 1)).launch("k", 1, 128, [out], record="warp", schedule=3).recording
    assert recording is not None
    warps = [step.warp for step in recording.steps if step.text.startswith("atom")]
    assert sorted(warps) == [0, 1, 2, 3]


@pytest.mark.parametrize("name", sorted(corpus.KERNELS)[::16])
def test_the_corpus_computes_the_same_under_any_schedule(name: str):
    launch, buffers = corpus.run(name, schedule=11)
    assert corpus.mismatches(name, buffers) == [] and launch.findings == []
