"""The fast engine against the trace engine: every computing form, the corpus, faults, divergence, interruption."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import cache

import numpy as np
import pytest

from tests.sim import corpus, forms
from tests.sim.kit import kernel
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.sim import Module, load
from tinyton_lab.sim.fast.code import generate
from tinyton_lab.sim.fast.emission import Unsupported
from tinyton_lab.sim.fast.plan import plan

_PARTS = 24


def _generated(opcode: str) -> bool:
    try:
        generate(plan(Module(forms.kernel((opcode,))).program("k")))
    except Unsupported:
        return False
    return True


@cache
def _forms() -> list[str]:
    return [opcode for opcode in forms.opcodes() if _generated(opcode)]


def test_most_computing_forms_are_generated():
    assert len(_forms()) > 2000


@pytest.mark.parametrize("part", range(_PARTS))
def test_forms_have_the_bits_of_the_trace_engine(part: int):
    chosen = tuple(_forms()[part::_PARTS])
    trace, fast = (forms.results(chosen, part, engine) for engine in ("trace", "fast"))
    assert [opcode for opcode, a, b in zip(chosen, trace, fast) if not np.array_equal(a, b)] == []


# Lanes of several warps take turns at a cell: which comes first is nobody's business, and the results say so.
_UNORDERED = {f"triton/atomic_{name}" for name in ("add_fp32@80", "max_fp32@80", "add_fp32@90", "max_fp32@90")}
_UNORDERED |= {"triton/atomic_min_i32@90", "triton/atomic_or_i32@90"}
_UNORDERED |= {"triton/atomic_add_fp16@80", "triton/atomic_add_fp16@90"}


@pytest.mark.parametrize("name", [k for k, row in corpus.KERNELS.items() if row["data"]])
def test_the_corpus_has_the_bits_of_the_trace_engine(name: str):
    launch, buffers = corpus.run(name, engine="fast")
    assert corpus.mismatches(name, buffers) == []
    if launch.engine == "trace":
        assert launch.remark.startswith("only the trace engine has")
    elif name not in _UNORDERED:
        _, wanted = corpus.run(name)
        assert all(buffers[key].tobytes() == wanted[key].tobytes() for key in wanted)


def test_most_of_the_corpus_is_generated():
    ran = [corpus.run(name, engine="fast")[0].engine for name, row in corpus.KERNELS.items() if row["data"]]
    assert ran.count("fast") > 0.85 * len(ran)


ROWS = """mov.u32 %r1, %ctaid.x; mad.lo.u32 %r1, %r1, 32, %r0; mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %d1, %d0;
st.global.u32 [%d1], %r1;"""


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_ctas_are_spread_over_threads(threads: int):
    out = np.zeros(32 * 1000, np.uint32)
    launch = load(kernel(ROWS, 1)).launch("k", 1000, 32, [out], engine="fast", threads=threads)
    assert launch.engine == "fast" and (out == np.arange(out.size)).all()


def test_faults_are_those_of_the_trace_engine():
    told: list[str] = []
    for engine in ("trace", "fast"):
        with pytest.raises(TinytonError) as fault:
            load(kernel(ROWS, 1)).launch("k", 1000, 32, [np.zeros(100, np.uint32)], engine=engine, names=["out"])
        told.append(str(fault.value))
    assert told[0] == told[1] and "out" in told[0]


def test_every_space_is_checked():
    for body in ("ld.shared.u32 %r1, [4096];", "st.local.u32 [%r0+64], %r0;", "ld.u32 %r1, [%d1];"):
        with pytest.raises(TinytonError) as fault:
            load(kernel(body, 2)).launch("k", 1, 32, [np.zeros(4), None], engine="fast")
        assert fault.value.code in ("TT6011", "TT6013")


def test_endless_loops_end_at_the_step_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TINYTON_STEP_LIMIT", "5000")
    with pytest.raises(TinytonError) as fault:
        load(kernel("L: bra L;", 0)).launch("k", 1, 32, [], engine="fast")
    assert fault.value.code == "TT6020"


def test_endless_loops_can_be_interrupted():
    """At any moment, while threads start and while they run; the engine goes on to work."""
    module = load(kernel("L: bra L;", 0))
    with pytest.raises(TinytonError):
        load(kernel("ld.u32 %r1, [%d1];", 2)).launch("k", 1, 32, [np.zeros(4), None], engine="fast")
    for delay in (0.0, 0.001, 0.005, 0.02, 0.1):
        timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            module.launch("k", 8, 32, [], engine="fast", threads=4)
        timer.join()
        assert time.monotonic() - began < 5
        assert load(kernel(ROWS, 1)).launch("k", 2, 32, [np.zeros(64, np.uint32)], engine="fast").engine == "fast"


def test_barriers_nobody_reaches_are_a_deadlock():
    with pytest.raises(TinytonError) as fault:
        load(kernel("mov.u32 %r1, %r0; bar.sync 1, 96;", 0)).launch("k", 1, 64, [], engine="fast")
    assert fault.value.code == "TT6021" and "barrier 1" in str(fault.value)


def test_what_it_lacks_runs_on_the_trace_engine():
    launch = load(kernel(ROWS, 1)).launch("k", 2, 32, [np.zeros(64, np.uint32)], engine="fast", metrics=True)
    assert launch.engine == "trace" and "metrics" in launch.remark


def both(body: str, before: str = "") -> list[np.ndarray]:
    """What each engine leaves of 32 words."""
    found: list[np.ndarray] = []
    for engine in ("trace", "fast"):
        out = np.arange(32, dtype=np.uint32) * 0x0CCCCCCC
        launch = load(kernel(body, 1, before=before)).launch("k", 1, 32, [out], engine=engine)
        assert launch.engine == engine, launch.remark
        found.append(out)
    return found


WORD = "mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d1, %d0;"


def test_a_guard_that_its_own_instruction_writes():
    trace, fast = both(f"""{WORD} and.b32 %r1, %r0, 4; setp.ne.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r0, %r0;
    @%p1 setp.hi.and.u32 %p1|%p2, %r0, 20, %p1; selp.u32 %r2, 1, 0, %p1; selp.u32 %r3, 2, 0, %p2;
    or.b32 %r2, %r2, %r3; st.global.u32 [%d1], %r2;""")
    assert (trace == fast).all() and set(trace.tolist()) == {1, 2}


def test_a_nan_has_the_sign_of_the_canonical_one():
    trace, fast = both(f"""{WORD} ld.global.f32 %f1, [%d1]; mov.f32 %f2, 0fFFC00001; neg.f32 %f4, %f1;
    add.f32 %f3, %f2, %f1; max.ftz.xorsign.abs.f32 %f5, %f3, %f4; st.global.f32 [%d1], %f5;""")
    assert (trace == fast).all()


TABLES = {
    "divergent": """t: .branchtargets A, B, C; min.u32 %r1, %r1, 2; brx.idx %r1, t;
    A: add.u32 %r3, %r3, 1; B: add.u32 %r3, %r3, 10; bra J; C: add.u32 %r3, %r3, 7; J:""",
    "guarded": """t: .branchtargets A, B, A; and.b32 %r1, %r0, 1; setp.lt.u32 %p1, %r0, 20; @%p1 brx.idx %r1, t;
    add.u32 %r3, %r3, 1000; A: add.u32 %r3, %r3, 100; B: add.u32 %r3, %r3, 10;""",
    "one entry": "t: .branchtargets A; setp.lt.u32 %p1, %r0, 20; @!%p1 brx.idx 0, t; add.u32 %r3, %r3, 1; A:",
    "in a loop": """t: .branchtargets A, B, C, D; mov.u32 %r2, %r0; mov.u32 %r4, 0;
    L: and.b32 %r1, %r2, 3; brx.idx %r1, t;
    A: add.u32 %r3, %r3, 1; bra J; B: add.u32 %r3, %r3, 10; C: add.u32 %r3, %r3, 100; bra J; D: mul.lo.u32 %r3, %r3, 3;
    J: shr.u32 %r2, %r2, 1; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 5; @%p1 bra L;""",
    "uniform": """t: .branchtargets A, B, A; mov.u32 %r4, 0;
    L: brx.idx %r4, t; A: add.u32 %r3, %r3, 1; B: mul.lo.u32 %r3, %r3, 3;
    add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 3; @%p1 bra L;""",
    "to the end": "t: .branchtargets A, X, X, A; brx.idx %r1, t; X: exit; A: mov.u32 %r3, 77;",
}


@pytest.mark.parametrize("name", TABLES)
def test_branch_tables(name: str):
    trace, fast = both(f"""{WORD} and.b32 %r1, %r0, 3; mov.u32 %r3, 5; st.global.u32 [%d1], %r3; {TABLES[name]}
    st.global.u32 [%d1], %r3;""")
    assert (trace == fast).all() and (trace != 0).all()


FUNCTIONS = """
.func (.param .b32 result) power(.param .b32 value)
{
    .reg .b32 %a<4>; .reg .pred %p;
    ld.param.u32 %a1, [value]; mov.u32 %a2, 1; setp.gt.u32 %p, %a1, 10; st.param.u32 [result], %a2; @%p ret;
    L: mul.lo.u32 %a2, %a2, 3; sub.u32 %a1, %a1, 1; setp.gt.s32 %p, %a1, 0; @%p bra L;
    st.param.u32 [result], %a2; ret;
}
.func (.param .b32 result) both(.param .align 8 .b8 pair[8])
{
    .reg .b32 %a<4>;
    ld.param.v2.u32 {%a1, %a2}, [pair];
    { .param .b32 value; .param .b32 got; st.param.b32 [value], %a1; call (got), power, (value);
    ld.param.b32 %a1, [got]; }
    { .param .b32 value; .param .b32 got; st.param.b32 [value], %a2; call (got), power, (value);
    ld.param.b32 %a2, [got]; }
    sub.u32 %a1, %a1, %a2; st.param.u32 [result], %a1; ret;
}
.func nothing() { ret; }
.func quits(.param .b32 value)
{ .reg .b32 %a; .reg .pred %p; ld.param.u32 %a, [value]; setp.eq.u32 %p, %a, 5; @%p exit; ret; }
"""
POWER = "{{ .param .b32 a; .param .b32 got; st.param.b32 [a], {}; call (got), power, (a); ld.param.b32 {}, [got]; }}"
CALLS = {
    "once": POWER.format("%r0", "%r2"),
    "twice": f"""{POWER.format("%r0", "%r2")} and.b32 %r3, %r2, 15; {POWER.format("%r3", "%r4")}
    add.u32 %r2, %r2, %r4;""",
    "nested": """{ .param .align 8 .b8 a[8]; .param .b32 got; xor.b32 %r3, %r0, 3; st.param.u32 [a], %r0;
    st.param.u32 [a+4], %r3; call (got), both, (a); ld.param.u32 %r2, [got]; }""",
    "on both sides": f"""setp.lt.u32 %p1, %r0, 9; @%p1 bra S; {POWER.format("%r0", "%r2")} bra E;
    S: add.u32 %r3, %r0, 3; {POWER.format("%r3", "%r2")} E:""",
    "guarded": """{ .param .b32 a; .param .b32 got; and.b32 %r3, %r0, 1; setp.eq.u32 %p1, %r3, 0; st.param.b32 [a], %r0;
    st.param.b32 [got], %r0; @%p1 call (got), power, (a); ld.param.b32 %r2, [got]; }""",
    "in a loop": f"""mov.u32 %r5, 0; L: add.u32 %r3, %r0, %r5; {POWER.format("%r3", "%r6")} add.u32 %r2, %r2, %r6;
    add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 6; @%p2 bra L;""",
    "without results": "call nothing, (); { .param .b32 a; st.param.b32 [a], %r0; call quits, (a); } mov.u32 %r2, 77;",
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str):
    trace, fast = both(f"{WORD} mov.u32 %r2, 5; {CALLS[name]} st.global.u32 [%d1], %r2;", FUNCTIONS)
    assert (trace == fast).all()


def test_only_lanes_that_the_guard_admits_are_called():
    trace, _ = both(f"{WORD} mov.u32 %r2, 5; {CALLS['guarded']} st.global.u32 [%d1], %r2;", FUNCTIONS)
    assert trace.tolist() == [n if n % 2 else 3 ** max(n, 1) if n <= 10 else 1 for n in range(32)]


RECURSIVE = """.func down(.param .b32 value)
{
    .reg .b32 %a; .reg .pred %p; .param .b32 next;
    ld.param.u32 %a, [value]; setp.eq.u32 %p, %a, 0; @%p ret;
    sub.u32 %a, %a, 1; st.param.b32 [next], %a; call down, (next); ret;
}
"""


def test_what_has_no_code_runs_on_the_trace_engine():
    body = "{ .param .b32 a; st.param.b32 [a], %r0; call down, (a); }"
    launch = load(kernel(body, 1, before=RECURSIVE)).launch("k", 1, 32, [np.zeros(4)], engine="fast")
    assert launch.engine == "trace" and "recursive calls" in launch.remark


LOCK = """setp.ne.u32 %p1, %r0, 0; @%p1 bra DONE;
AGAIN: atom.global.cas.b32 %r1, [%d0], 0, 1; setp.ne.u32 %p2, %r1, 0; @%p2 bra AGAIN;
ld.global.u32 %r2, [%d0+4]; add.u32 %r2, %r2, 1; st.global.u32 [%d0+4], %r2; membar.gl;
atom.global.exch.b32 %r1, [%d0], 0; DONE:"""


def test_locks_are_free_where_ctas_run_one_after_another():
    out = np.zeros(2, np.uint32)
    launch = load(kernel(LOCK, 1)).launch("k", 50, 64, [out], engine="fast")
    assert launch.engine == "fast" and out.tolist() == [0, 50]


def test_who_waits_for_a_later_cta_gets_turns_on_the_trace_engine():
    """The first CTA counts, then waits for the second; what it counted in vain is forgotten."""
    body = """mov.u32 %r1, %ctaid.x; atom.global.add.u32 %r3, [%d0+4], 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra TELL;
    AGAIN: ld.acquire.gpu.global.u32 %r2, [%d0]; setp.eq.u32 %p2, %r2, 0; @%p2 bra AGAIN; bra DONE;
    TELL: st.release.gpu.global.u32 [%d0], 7; DONE:"""
    out = np.zeros(2, np.uint32)
    launch = load(kernel(body, 1)).launch("k", 2, 1, [out], engine="fast")
    assert launch.engine == "trace" and "a loop that waits for memory" in launch.remark and out.tolist() == [7, 2]


NAMED = """setp.ge.u32 %p1, %r0, 32; @%p1 bra SECOND; st.shared.u32 [buffer], 5; barrier.sync 1, 64; bra MET;
SECOND: barrier.sync 1, 64; ld.shared.u32 %r1, [buffer];
MET: {} mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d1, %d0; st.global.u32 [%d1], %r1;"""


@pytest.mark.parametrize("more", ["", "mov.u32 %r3, %ntid.x; setp.eq.u32 %p2, %r3, 64; @%p2 bar.sync 0;"])
def test_warps_meet_at_barriers_that_only_they_come_to(more: str):
    found: list[list[int]] = []
    for engine in ("trace", "fast"):
        out = np.zeros(64, np.uint32)
        module = load(kernel("mov.u32 %r1, 3;" + NAMED.format(more), 1, before=".shared .b32 buffer;\n"))
        launch = module.launch("k", 1, 64, [out], engine=engine)
        assert launch.engine == engine, launch.remark
        found.append(out.tolist())
    assert found[0] == found[1] == [3] * 32 + [5] * 32


def test_lanes_that_parted_at_a_barrier_are_the_trace_engines():
    """Half a warp waits for the other half, which comes later; what was written before is not written twice."""
    body = """atom.global.add.u32 %r3, [%d0], 1; setp.lt.u32 %p1, %r0, 16; @%p1 bra FIRST; add.u32 %r1, %r1, 1;
    barrier.sync 1; bra MET; FIRST: barrier.sync 1; MET: atom.global.add.u32 %r3, [%d0+4], 1;"""
    out = np.zeros(2, np.uint32)
    launch = load(kernel(body, 1)).launch("k", 1, 32, [out], engine="fast")
    assert launch.engine == "trace" and "lanes have parted" in launch.remark and out.tolist() == [32, 32]


@pytest.mark.parametrize("ends", ["@%p1 trap;", "@%p1 bra BAD; bra GOOD; BAD: trap; GOOD:"])
def test_traps_that_nobody_meets_cost_nothing_and_others_are_told_by_the_trace_engine(ends: str):
    body = f"""mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d1, %d0; ld.global.u32 %r1, [%d1]; setp.gt.u32 %p1, %r1, 100;
    {ends} add.u32 %r1, %r1, 1; st.global.u32 [%d1], %r1;"""
    out = np.arange(64, dtype=np.uint32)
    launch = load(kernel(body, 1)).launch("k", 1, 64, [out], engine="fast")
    assert launch.engine == "fast" and (out == np.arange(64) + 1).all()
    out[50], told = 101, list[str]()
    for engine in ("trace", "fast"):
        with pytest.raises(TinytonError) as fault:
            load(kernel(body, 1)).launch("k", 1, 64, [out.copy()], engine=engine)
        told.append(str(fault.value))
    assert told[0] == told[1]


@pytest.mark.parametrize("place", ["%d0", "%d1"])
@pytest.mark.parametrize("form", ["f16", "bf16", "f16x2", "bf16x2"])
@pytest.mark.parametrize("returns", [True, False])
def test_sums_of_halves(place: str, form: str, returns: bool):
    register = "%r2" if form.endswith("x2") else "%h2"
    size = 4 if form.endswith("x2") else 2
    how = f"atom.global.add.noftz.{form} {register}, [{place}], {register};"
    how = how if returns else f"red.global.add.noftz.{form} [{place}], {register};"
    body = f"""mul.wide.u32 %d1, %r0, {size}; add.u64 %d1, %d1, %d0; ld.global.b{8 * size} {register}, [%d1];
    bar.sync 0; {how} st.global.b{8 * size} [%d1+128], {register};"""
    chance, found = np.random.default_rng(0), list[bytes]()
    values = chance.standard_normal(64).astype(np.float16).view(np.uint16) >> (3 if "bf" in form else 0)
    for engine in ("trace", "fast"):
        out = np.concatenate([values, np.zeros(192, np.uint16)])
        launch = load(kernel(body, 1)).launch("k", 1, 32, [out], engine=engine)
        assert launch.engine == engine, launch.remark
        found.append(out.tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("start", [0x7FFFFF00, -0x7FFFFF00])
def test_sums_of_integer_products_saturate(start: int):
    body = f"""{WORD} ld.global.u32 %r1, [%d1]; mov.u32 %r2, {start & 0xFFFFFFFF};
    mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32
    {{%r3, %r4, %r5, %r6}}, {{%r1, %r1, %r1, %r1}}, {{%r1, %r1}}, {{%r2, %r2, %r2, %r2}};
    xor.b32 %r3, %r3, %r4; st.global.u32 [%d1], %r3;"""
    trace, fast = both(body)
    assert (trace == fast).all()


def test_memory_on_the_stack():
    body = f"""{WORD} stacksave.u64 %d5; and.b32 %r1, %r0, 3; add.u32 %r1, %r1, 1; mul.wide.u32 %d2, %r1, 4;
    alloca.u64 %d3, %d2; alloca.u64 %d4, 8; st.local.u32 [%d3], %r0; st.local.u32 [%d4+4], %r1;
    stackrestore.u64 %d5; alloca.u64 %d6, 32; ld.local.u32 %r2, [%d6]; ld.local.u32 %r3, [%d4+4];
    cvt.u32.u64 %r4, %d4; mad.lo.u32 %r2, %r2, 100, %r3; add.u32 %r2, %r2, %r4; st.global.u32 [%d1], %r2;"""
    trace, fast = both(body)
    assert (trace == fast).all() and len(set(trace.tolist())) == 32
