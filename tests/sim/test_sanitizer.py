"""Each finding of the sanitizer on a small kernel, planted faults, and kernels with one synchronisation missing."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim import kit, mutants, planted

TILE = ".shared .align 16 .b8 tile[1024];"
ROW = "mov.u32 %r1, tile; mad.lo.u32 %r2, %r0, 4, %r1; xor.b32 %r3, %r0, 32; mad.lo.u32 %r4, %r3, 4, %r1;\n"
ONE = "setp.eq.u32 %p1, %r0, 0;\n"
COPY = "cp.async.ca.shared.global [%r2], [%d10], 4;\n"
ELEMENT = "mul.wide.u32 %d10, %r0, 4; add.u64 %d10, %d10, %d0;\n"
BARRIER = "mov.u32 %r9, object; mov.u32 %r10, tile;\n"
MAKE = "@%p1 mbarrier.init.shared.b64 [%r9], 1;\n"
OBJECT = ".shared .align 16 .b8 tile[1024]; .shared .align 8 .b64 object;"
BULK = (
    "@%p1 mbarrier.arrive.expect_tx.shared.b64 %d20, [%r9], 256;\n"
    "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%d0], 256, [%r9];\n"
)
WAIT = "w: mbarrier.try_wait.parity.shared.b64 %p2, [%r9], 0;\n@!%p2 bra w;\n"


def codes(body: str, *arrays: np.ndarray, **options: object) -> list[str]:
    arrays = arrays or (np.zeros(256, np.float32),)
    options = {"block": 64, "before": TILE, **options}
    launch = kit.run(body, *arrays, sanitize=True, **options)
    return sorted({f"{finding.severity} {finding.code}" for finding in launch.findings})


FAULTS = {
    "load after another warp's store": (ROW + "st.shared.b32 [%r2], %r0; ld.shared.b32 %r5, [%r4];", "error TT6040"),
    "store after another warp's load": (
        ROW + "st.shared.b32 [%r2], %r0; bar.sync 0; ld.shared.b32 %r5, [%r4]; st.shared.b32 [%r2], %r5;",
        "error TT6040",
    ),
    "lanes that store different values": ("mov.u32 %r1, tile; st.shared.b32 [%r1], %r0;", "error TT6040"),
    "lanes that store one value": ("mov.u32 %r1, tile; mov.u32 %r2, 7; st.shared.b32 [%r1], %r2;", "note TT6041"),
    "shared memory that nobody wrote": (ROW + "ld.shared.b32 %r5, [%r2];", "error TT6042"),
    "an atomic on shared memory that nobody wrote": (ROW + "red.shared.add.u32 [%r2], 1;", "error TT6042"),
    "a register that nobody wrote": ("add.u32 %r2, %r1, 1;", "error TT6043"),
    "a register that some lanes wrote": (ONE + "@%p1 mov.u32 %r1, 3;\nadd.u32 %r2, %r1, 1;", "error TT6043"),
    "a copy without a wait": (
        ROW + ELEMENT + COPY + "cp.async.commit_group;\nbar.sync 0; ld.shared.b32 %r5, [%r2];",
        "error TT6044",
    ),
    "a copy whose group is not closed": (
        ROW + ELEMENT + COPY + "cp.async.wait_group 0;\nbar.sync 0; ld.shared.b32 %r5, [%r2];",
        "error TT6044",
    ),
    "a copy of another warp without a barrier": (
        ROW + ELEMENT + COPY + "cp.async.wait_all;\nld.shared.b32 %r5, [%r4];",
        "error TT6040",
    ),
    "a shuffle from an exited lane": (
        "setp.ge.u32 %p1, %r0, 48; @%p1 ret;\nmov.u32 %r1, 5; shfl.sync.idx.b32 %r2, %r1, 20, 31, 0xffff;",
        "error TT6046",
    ),
}


@pytest.mark.parametrize("body, wanted", FAULTS.values(), ids=FAULTS)
def test_finds(body: str, wanted: str) -> None:
    assert wanted in codes(body)


CLEAN = {
    "a barrier between store and load": ROW + "st.shared.b32 [%r2], %r0; bar.sync 0; ld.shared.b32 %r5, [%r4];",
    "a load of what the own warp stored": ROW + "st.shared.b32 [%r2], %r0; ld.shared.b32 %r5, [%r2];",
    "atomics": ROW + "mov.u32 %r5, 0; st.shared.b32 [%r2], %r5; bar.sync 0; red.shared.add.u32 [%r1], 1;",
    "a register that all lanes wrote in turns": ONE
    + "@%p1 mov.u32 %r1, 3;\n@!%p1 mov.u32 %r1, 4;\nadd.u32 %r2, %r1, 1;",
    "a copy, its wait and a barrier": (
        ROW + ELEMENT + COPY + "cp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0; ld.shared.b32 %r5, [%r4];"
    ),
    "producers that arrive and consumers that wait": (
        ROW + "setp.lt.u32 %p1, %r0, 32; @!%p1 bra other;\nst.shared.b32 [%r2], %r0; bar.arrive 1, 64; bra done;\n"
        "other: bar.sync 1, 64; ld.shared.b32 %r5, [%r4];\ndone:"
    ),
}


@pytest.mark.parametrize("body", CLEAN.values(), ids=CLEAN)
def test_is_silent_about(body: str) -> None:
    assert codes(body) == []


def test_a_fault_names_both_places() -> None:
    body = ROW + "st.shared.b32 [%r2], %r0;\nld.shared.b32 %r5, [%r4];"
    launch = kit.run(body, np.zeros(4), block=64, before=TILE, sanitize=True)
    (finding,) = launch.findings
    text = kit.kernel(body, 1, TILE).split("\n")
    stored = next(n for n, line in enumerate(text, 1) if "st.shared" in line)
    assert text[finding.line - 1].startswith("ld.shared")
    assert finding.message == (
        f"load of 4 bytes at byte 128 of shared memory is not ordered with the store by warp 1 in line {stored}; "
        "program id (0, 0, 0), thread 0 (warp 0, lane 0)"
    )


def test_ctas_race_in_global_memory() -> None:
    body = "mov.u32 %r1, %ctaid.x; mul.wide.u32 %d10, %r0, 4; add.u64 %d10, %d10, %d0; st.global.b32 [%d10], %r1;"
    assert codes(body, np.zeros(64, np.uint32), grid=2) == ["error TT6040"]
    same = body.replace("[%d10], %r1", "[%d10], %r0")
    assert codes(same, np.zeros(64, np.uint32), grid=2) == ["note TT6041"]


def message(release: str, acquire: str) -> str:
    """CTA 0 stores data and raises a flag; CTA 1 waits for the flag and reads the data."""
    return f"""mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; setp.ne.u32 %p3, %r0, 0;
add.u64 %d12, %d0, 64; mov.u32 %r2, 1;
@%p3 ret;
@!%p1 bra reader;
st.global.b32 [%d0], %r2;
{release}
ret;
reader:
{acquire}
setp.eq.u32 %p2, %r4, 0; @%p2 bra reader;
AFTER
ld.global.b32 %r5, [%d0];"""


@pytest.mark.parametrize(
    "release, acquire, after, wanted",
    [
        ("st.release.gpu.global.b32 [%d12], %r2;", "ld.acquire.gpu.global.b32 %r4, [%d12];", "", []),
        ("membar.gl; st.volatile.global.b32 [%d12], %r2;", "ld.volatile.global.b32 %r4, [%d12];", "membar.gl;", []),
        ("membar.gl; red.global.add.u32 [%d12], 1;", "atom.global.acquire.gpu.or.b32 %r4, [%d12], 0;", "", []),
        ("st.relaxed.gpu.global.b32 [%d12], %r2;", "ld.acquire.gpu.global.b32 %r4, [%d12];", "", ["error TT6040"]),
        ("st.release.gpu.global.b32 [%d12], %r2;", "ld.relaxed.gpu.global.b32 %r4, [%d12];", "", ["error TT6040"]),
        ("membar.gl; st.volatile.global.b32 [%d12], %r2;", "ld.volatile.global.b32 %r4, [%d12];", "", ["error TT6040"]),
    ],
)
def test_a_message_needs_a_release_and_an_acquire(release: str, acquire: str, after: str, wanted: list[str]) -> None:
    body = message(release, acquire).replace("AFTER", after)
    assert codes(body, np.zeros(32, np.uint32), grid=2, block=32) == wanted


@pytest.mark.parametrize(
    "order, wait, wanted",
    [
        ("fence.proxy.async; bar.sync 0;\n", WAIT, []),
        ("fence.mbarrier_init.release.cluster; bar.sync 0;\n", WAIT, []),
        ("bar.sync 0;\n", WAIT, ["error TT6047"]),
        ("fence.proxy.async; bar.sync 0;\n", "bar.sync 0;\n", ["error TT6044"]),
        ("fence.proxy.async;\n", WAIT, ["error TT6040"]),
    ],
)
def test_a_bulk_copy_needs_its_barrier(order: str, wait: str, wanted: list[str]) -> None:
    body = ONE + BARRIER + MAKE + order + BULK + wait + "ld.shared.b32 %r5, [%r10];"
    assert codes(body, np.zeros(64, np.float32), before=OBJECT) == wanted


@pytest.mark.parametrize(
    "body, problem",
    [
        ("@%p1 mbarrier.arrive.shared.b64 %d20, [%r9];", "is used before mbarrier.init"),
        (MAKE + MAKE, "is initialised again while in use"),
    ],
)
def test_misused_barriers(body: str, problem: str) -> None:
    launch = kit.run(ONE + BARRIER + body, np.zeros(4), before=OBJECT, sanitize=True)
    assert [finding.code for finding in launch.findings] == ["TT6049"] and problem in launch.findings[0].message


def test_uninitialised_arguments_are_asked_for_by_name() -> None:
    body = ELEMENT + "ld.global.b32 %r5, [%d10];"
    array = np.zeros(64, np.float32)
    assert codes(body, array) == []
    assert codes(body, array, uninitialised=["p0"]) == ["error TT6042"]
    assert codes(ELEMENT + "st.global.b32 [%d10], %r0;\nld.global.b32 %r5, [%d10];", array, uninitialised=["p0"]) == []


@pytest.mark.parametrize("seed", range(60))
def test_planted_faults_are_found_on_their_line_and_twins_are_clean(seed: int) -> None:
    assert planted.judge(planted.planted(seed, True)) == ""
    assert planted.judge(planted.planted(seed, False)) == ""


@pytest.mark.parametrize(
    "kernel", ["triton/softmax_fp32@80", "cuda/h_bulk_copy@90a", "triton/matmul_f16@80", "cuda/m_cg_grid@90"]
)
def test_a_missing_synchronisation_is_found(kernel: str) -> None:
    every = [mutant for mutant in mutants.mutants(kernel) if (kernel, mutant.line) not in mutants.REDUNDANT]
    assert every
    assert [mutant.instruction for mutant in every if not mutants.found(mutant)] == []
