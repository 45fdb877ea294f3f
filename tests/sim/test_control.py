"""Divergence and reconvergence, barriers, calls, recursion, spin locks, deadlocks, and being interrupted."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from tests.sim.kit import kernel, lanes, run
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.sim import load


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
    return steps


COLLATZ = """add.u32 %r1, %r0, 1; mov.u32 %r2, 0;
LOOP: setp.eq.u32 %p1, %r1, 1; @%p1 bra DONE; and.b32 %r3, %r1, 1; setp.eq.u32 %p2, %r3, 0; @%p2 bra EVEN;
mad.lo.u32 %r1, %r1, 3, 1; bra NEXT;
EVEN: shr.u32 %r1, %r1, 1;
NEXT: add.u32 %r2, %r2, 1; bra LOOP;
DONE:"""


def test_lanes_loop_as_often_as_each_must():
    assert lanes(COLLATZ, "%r2", np.uint32, block=96).tolist() == [collatz(n) for n in range(1, 97)]


def test_lanes_meet_after_divergence():
    body = COLLATZ + " activemask.b32 %r4;"
    assert set(lanes(body, "%r4", np.uint32, block=64).tolist()) == {0xFFFFFFFF}


def test_nested_branches():
    body = """mov.u32 %r2, 0; setp.lt.u32 %p1, %r0, 16; @!%p1 bra B;
    setp.lt.u32 %p2, %r0, 8; @%p2 bra A; mov.u32 %r2, 1; bra E; A: mov.u32 %r2, 2; bra E;
    B: setp.gt.u32 %p3, %r0, 23; @%p3 mov.u32 %r2, 3; E: add.u32 %r2, %r2, 10;"""
    assert lanes(body, "%r2", np.uint32).tolist() == [12] * 8 + [11] * 8 + [10] * 8 + [13] * 8


def test_early_exit_of_some_lanes():
    out = np.zeros(32, np.uint32)
    run(
        "setp.lt.u32 %p1, %r0, 20; @%p1 ret; mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d1, %d0; st.global.u32 [%d1], 7;"
        "bar.sync 0; st.global.u32 [%d1], 8;",
        out,
    )
    assert out.tolist() == [0] * 20 + [8] * 12


def test_branch_table():
    body = """ts: .branchtargets L0, L1, L2; and.b32 %r1, %r0, 3; min.u32 %r1, %r1, 2; brx.idx %r1, ts;
    L0: mov.u32 %r2, 100; bra E; L1: mov.u32 %r2, 101; bra E; L2: mov.u32 %r2, 102; E:"""
    assert lanes(body, "%r2", np.uint32, block=8).tolist() == [100, 101, 102, 102] * 2


# Barriers.
def test_barrier_separates_stores_from_loads():
    body = """.shared .b32 s[128]; mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 4, %r1; st.shared.u32 [%r2], %r0; bar.sync 0;
    sub.u32 %r3, 127, %r0; mad.lo.u32 %r4, %r3, 4, %r1; ld.shared.u32 %r5, [%r4];"""
    assert lanes(body, "%r5", np.uint32, block=128, grid=3).tolist() == [*range(127, -1, -1)] * 3


def test_barrier_in_a_divergent_loop():
    """Warps reach the same barrier from different places, CTA by CTA."""
    body = """.shared .b32 s; mov.u32 %r1, 0; mov.u32 %r6, %ctaid.x; setp.ne.u32 %p3, %r0, 0; @%p3 bra A;
    st.shared.u32 [s], 0;
    A: bar.sync 0; setp.gt.u32 %p1, %r0, 31; @%p1 bra B; atom.shared.add.u32 %r3, [s], 1; bar.sync 0; bra E;
    B: atom.shared.add.u32 %r3, [s], 100; bar.sync 0; E: ld.shared.u32 %r5, [s];"""
    assert set(lanes(body, "%r5", np.uint32, block=64, grid=2).tolist()) == {3232}


def test_named_barriers_pass_a_token():
    body = """.shared .b32 s[32]; and.b32 %r1, %r0, 31; mov.u32 %r2, s; mad.lo.u32 %r2, %r1, 4, %r2;
    setp.lt.u32 %p1, %r0, 32;
    @%p1 bra PRODUCE; bar.sync 1, 64; ld.shared.u32 %r5, [%r2]; bra E;
    PRODUCE: add.u32 %r4, %r1, 50; st.shared.u32 [%r2], %r4; bar.arrive 1, 64; mov.u32 %r5, 0; E:"""
    assert lanes(body, "%r5", np.uint32, block=64).tolist() == [0] * 32 + [*range(50, 82)]


@pytest.mark.parametrize(
    "op, expected", [("popc.u32 %r5, 0, %p1;", 10), ("and.pred %p2, 0, %p1;", 0), ("or.pred %p2, 0, %p1;", 1)]
)
def test_reduction_barriers(op: str, expected: int):
    body = f"setp.lt.u32 %p1, %r0, 10; bar.red.{op}" + ("" if "popc" in op else "selp.u32 %r5, 1, 0, %p2;")
    assert set(lanes(body, "%r5", np.uint32, block=64).tolist()) == {expected}


def test_deadlock_says_who_waits_where():
    body = "setp.lt.u32 %p1, %r0, 32; @%p1 bra A; bar.sync 1, 64; bra E; A: bar.sync 2, 64; E:"
    with pytest.raises(TinytonError) as caught:
        run(body, block=64)
    text = str(caught.value)
    assert caught.value.code == "TT6021"
    assert "warps [1] wait at barrier 1" in text and "warps [0] wait at barrier 2" in text


# Calls.
DOUBLE = """.func (.param .b32 out) twice(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1, [a];
    add.s32 %r2, %r1, %r1;
st.param.b32 [out], %r2; ret; }
.func (.param .b32 out) square(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; mul.lo.s32 %r2, %r1, %r1;
st.param.b32 [out], %r2; ret; }
.global .u64 table[2] = {twice, square};"""
CALL = "{{ .param .b32 p0; .param .b32 q0; st.param.b32 [p0], %r0; {} ld.param.b32 %r5, [q0]; }}"


def test_call():
    body = CALL.format("call.uni (q0), twice, (p0);")
    assert lanes(body, "%r5", np.uint32, before=DOUBLE).tolist() == [2 * n for n in range(32)]


def test_call_by_some_lanes_only():
    body = "mov.u32 %r5, 9; setp.gt.u32 %p1, %r0, 3; @%p1 bra E;" + CALL.format("call.uni (q0), square, (p0);") + "E:"
    assert lanes(body, "%r5", np.uint32, before=DOUBLE).tolist() == [0, 1, 4, 9] + [9] * 28


def test_call_through_a_table():
    call = """and.b32 %r1, %r0, 1; mul.wide.u32 %d10, %r1, 8; mov.u64 %d11, table; add.u64 %d11, %d11, %d10;
    ld.global.u64 %d12, [%d11]; proto: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (q0), %d12, (p0), proto;"""
    assert lanes(CALL.format(call), "%r5", np.uint32, before=DOUBLE).tolist() == [
        n * n if n & 1 else 2 * n for n in range(32)
    ]


FACTORIAL = """.func (.param .b32 out) fact(.param .b32 a) { .reg .pred %p; .reg .b32 %r<5>; ld.param.b32 %r1, [a];
setp.lt.u32 %p, %r1, 2; @%p bra ONE; { .param .b32 p0; .param .b32 q0; sub.u32 %r2, %r1, 1; st.param.b32 [p0], %r2;
call.uni (q0), fact, (p0); ld.param.b32 %r3, [q0]; } mul.lo.u32 %r4, %r3, %r1; st.param.b32 [out], %r4; ret;
ONE: st.param.b32 [out], 1; ret; }"""


def test_recursion_to_different_depths():
    import math

    body = CALL.format("call.uni (q0), fact, (p0);")
    assert lanes(body, "%r5", np.uint32, block=12, before=FACTORIAL).tolist() == [math.factorial(n) for n in range(12)]


def test_local_memory_is_per_lane():
    body = """.local .align 4 .b8 a[64]; mov.u64 %d1, a; and.b32 %r1, %r0, 15; mul.wide.u32 %d2, %r1, 4;
    add.u64 %d3, %d1, %d2;
    st.local.u32 [%d3], %r0; cvta.local.u64 %d4, %d3; ld.u32 %r5, [%d4];"""
    assert lanes(body, "%r5", np.uint32, block=64).tolist() == [*range(64)]


# Locks and time.
LOCK = """.shared .b32 lock; .shared .b32 count; setp.ne.u32 %p1, %r0, 0; @%p1 bra A; st.shared.u32 [lock], 0;
    st.shared.u32 [count], 0;
A: bar.sync 0;
TRY: atom.shared.cas.b32 %r1, [lock], 0, 1; setp.ne.u32 %p2, %r1, 0; @%p2 bra TRY;
ld.volatile.shared.u32 %r2, [count]; add.u32 %r2, %r2, 1; st.volatile.shared.u32 [count], %r2; membar.cta;
atom.shared.exch.b32 %r1, [lock], 0; bar.sync 0; ld.shared.u32 %r5, [count];"""


def test_spin_lock_progresses_within_a_warp():
    assert set(lanes(LOCK, "%r5", np.uint32, block=64).tolist()) == {64}


def test_waiting_for_another_cta():
    body = """mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 1; @%p1 bra PUT;
    W: ld.acquire.gpu.global.u32 %r2, [%d0]; setp.eq.u32 %p2, %r2, 0;
    @%p2 bra W; st.global.u32 [%d0+4], %r2; bra E; PUT: st.release.gpu.global.u32 [%d0], 5; E:"""
    data = np.zeros(2, np.uint32)
    run(body, data, grid=2, block=1)
    assert data.tolist() == [5, 5]


def test_interrupt_ends_an_endless_kernel_soon():
    module = load(kernel("L: add.u32 %r1, %r1, 1; bra L;", 0))
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        module.launch("k", 1, 32, [])
    assert time.monotonic() - began < 1.3


# Names.
@pytest.mark.parametrize(
    "body, code",
    [
        ("mov.u32 %r99, 0;", "TT6005"),
        ("mov.b64 %r1, 0;", "TT6004"),
        ("add.s32 %r1, %d1, 1;", "TT6004"),
        ("add.s32 %r1, 1;", "TT6004"),
        ("add.s32 %r1, %r2, %r3, %r4;", "TT6004"),
        ("setp.eq.s32 %r1, 0, 1;", "TT6004"),
        ("@%r1 mov.b32 %r2, 0;", "TT6004"),
        ("ld.global.v2.b32 {%r1}, [%d1];", "TT6004"),
        ("add.f32 %r1, %r2, nowhere;", "TT6005"),
        ("and.b32 %r1, %r2, !%p1;", "TT6004"),
        ("call.uni nothing;", "TT6005"),
        ("bra nowhere;", "TT6005"),
        ("ld.global.b32 %r1, [%h1];", "TT6004"),
        ("mov.b32 5, %r1;", "TT6004"),
    ],
)
def test_faults_of_operands(body: str, code: str):
    with pytest.raises(TinytonError) as caught:
        load(kernel(body, 0)).verify()
    assert caught.value.code == code and caught.value.span is not None


def test_a_wrong_instruction_is_not_met_but_found():
    with pytest.raises(TinytonError):
        load(kernel("bra E; frobnicate.b32 %r1; E:", 0)).launch("k", 1, 1, [])


def test_waiting_for_a_barrier_in_memory_that_nobody_completes_is_a_deadlock() -> None:
    body = (
        "mov.u32 %r9, object; setp.eq.u32 %p1, %r0, 0;\n@%p1 mbarrier.init.shared.b64 [%r9], 2;\nbar.sync 0;\n"
        "@%p1 mbarrier.arrive.shared.b64 %d20, [%r9];\nw: mbarrier.try_wait.parity.shared.b64 %p2, [%r9], 0;\n"
        "@%p2 bra done;\nbra w;\ndone:"
    )
    with pytest.raises(TinytonError, match="TT6021.*barrier in memory"):
        run(body, np.zeros(4), block=64, before=".shared .align 8 .b64 object;")
