"""Instructions between lanes, matrices in registers, and the machinery of clusters and warpgroups."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.sim.kit import element, lanes, run


@pytest.mark.parametrize(
    "mode, b, c, source",
    [
        ("idx", 5, 31, lambda n: n - n % 32 + 5),
        ("idx", 1, 0x181F, lambda n: n - n % 8 + 1),
        ("up", 3, 0, lambda n: n - 3 if n % 32 >= 3 else n),
        ("down", 4, 31, lambda n: n + 4 if n % 32 < 28 else n),
        ("bfly", 16, 31, lambda n: n ^ 16),
        ("bfly", 3, 0x181F, lambda n: n ^ 3),
        ("up", 1, 0x1800, lambda n: n - 1 if n % 8 else n),
    ],
)
def test_shuffle(mode, b, c, source):
    body = f"shfl.sync.{mode}.b32 %r1|%p1, %r0, {b}, {c}, -1; selp.u32 %r2, 1000, 0, %p1; add.u32 %r5, %r1, %r2;"
    valid = {"up": lambda n: source(n) != n, "down": lambda n: source(n) != n}.get(mode, lambda n: True)
    want = [source(n) + (1000 if valid(n) else 0) for n in range(64)]
    assert lanes(body, "%r5", np.uint32, block=64).tolist() == want


def test_shuffle_by_a_register():
    body = "and.b32 %r1, %r0, 7; shfl.sync.idx.b32 %r5, %r0, %r1, 31, -1;"
    assert lanes(body, "%r5", np.uint32, block=64).tolist() == [n - n % 32 + n % 8 for n in range(64)]


@pytest.mark.parametrize("mode, expected", [("all", 0), ("any", 1), ("uni", 0)])
def test_vote(mode: str, expected: int):
    body = f"setp.lt.u32 %p1, %r0, 10; vote.sync.{mode}.pred %p2, %p1, -1; selp.u32 %r5, 1, 0, %p2;"
    assert lanes(body, "%r5", np.uint32, block=32).tolist() == [expected] * 32


def test_ballot_and_masks():
    body = """and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 1; vote.sync.ballot.b32 %r2, %p1, -1;
    mov.u32 %r3, %lanemask_lt;
    and.b32 %r4, %r2, %r3; popc.b32 %r5, %r4;"""
    assert lanes(body, "%r5", np.uint32, block=32).tolist() == [n // 2 for n in range(32)]


def test_match():
    body = "and.b32 %r1, %r0, 3; match.any.sync.b32 %r5, %r1, -1;"
    assert lanes(body, "%r5", np.uint32).tolist() == [sum(1 << k for k in range(n % 4, 32, 4)) for n in range(32)]
    body = "shr.u32 %r1, %r0, 5; match.all.sync.b32 %r5|%p1, %r1, -1;"
    assert set(lanes(body, "%r5", np.uint32, block=64).tolist()) == {0xFFFFFFFF}


@pytest.mark.parametrize(
    "op, expected",
    [
        ("add.s32", 496),
        ("min.s32", -1),
        ("max.u32", 0xFFFFFFFF),
        ("and.b32", 0),
        ("or.b32", 0xFFFFFFFF),
        ("xor.b32", 0xFFFFFFFF),
    ],
)
def test_redux(op: str, expected: int):
    odd = "7" if op.startswith("add") else "-1"
    body = f"mov.u32 %r1, %r0; setp.eq.u32 %p1, %r0, 7; @%p1 mov.b32 %r1, {odd}; redux.sync.{op} %r5, %r1, -1;"
    want = {"xor.b32": 0xFFFFFFFF ^ 7 ^ 0}.get(op, expected) & 0xFFFFFFFF
    assert set(lanes(body, "%r5", np.uint32).tolist()) == {want}


def test_elect_names_one_lane():
    body = "elect.sync %r1|%p1, -1; selp.u32 %r5, 1, 0, %p1;"
    assert lanes(body, "%r5", np.uint32, block=64).tolist() == [1, *[0] * 31] * 2


def test_warp_instruction_waits_for_its_lanes():
    """Lanes that come later are waited for, though others arrived first."""
    body = """mov.u32 %r1, 0; setp.lt.u32 %p1, %r0, 16; @%p1 bra SLOW; bra MEET;
    SLOW: add.u32 %r1, %r1, 1; ld.global.u32 %r2, [%d0]; setp.lt.u32 %p2, %r1, 600; @%p2 bra SLOW;
    MEET: redux.sync.add.u32 %r5, %r1, -1;"""
    assert set(lanes(body, "%r5", np.uint32, np.zeros(1, np.uint32)).tolist()) == {16 * 600}


# Matrices.
def fragments(matrix: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The elements of a matrix in (lane, slot) order, as 32-bit registers per lane."""
    return np.ascontiguousarray(matrix[rows, columns]).view(np.uint32)


def load_registers(first: int, count: int, array: int) -> str:
    """Load `count` registers of each lane from an array laid out (lane, register)."""
    text = f"mul.wide.u32 %d20, %r0, {4 * count}; add.u64 %d20, %d20, %d{array};"
    return text + "".join(f"ld.global.b32 %r{first + n}, [%d20+{4 * n}];" for n in range(count))


G, Q = np.arange(32)[:, None] >> 2, np.arange(32)[:, None] & 3


@pytest.mark.parametrize(
    "type_, dtype, k",
    [
        ("f16", np.float16, 16),
        ("bf16", ml_dtypes.bfloat16, 16),
        ("f16", np.float16, 8),
        ("s8", np.int8, 32),
        ("u8", np.uint8, 16),
    ],
)
def test_mma_multiplies(type_: str, dtype: type, k: int):
    rng = np.random.default_rng(k)
    per = 4 // np.dtype(dtype).itemsize
    a, b = (rng.integers(0 if type_ == "u8" else -8, 8, shape).astype(dtype) for shape in ((16, k), (k, 8)))
    a_count, b_count = 16 * k // 32 // per, 8 * k // 32 // per
    slot = np.arange(a_count * per)[None, :]
    register, e = slot // per, slot % per
    a_regs = fragments(a, G + 8 * (register & 1), (register >> 1) * 4 * per + Q * per + e)
    slot = np.arange(b_count * per)[None, :]
    b_regs = fragments(b, slot // per * 4 * per + Q * per + slot % per, G + 0 * slot)
    integer = type_[1:] == "8"
    d = "s32" if integer else "f32"
    out = np.zeros((32, 4), np.int32 if integer else np.float32)
    names = [
        ", ".join(f"%r{first + n}" for n in range(count)) for first, count in ((1, a_count), (10, b_count), (20, 4))
    ]
    zero = (
        "".join(f"mov.b32 %r{20 + n}, {n};" for n in range(4))
        if integer
        else "".join(f"mov.f32 %r{20 + n}, {n}.0;" for n in range(4))
    )
    stores = "mul.wide.u32 %d21, %r0, 16; add.u64 %d21, %d21, %d2;" + "".join(
        f"st.global.b32 [%d21+{4 * n}], %r{20 + n};" for n in range(4)
    )
    run(
        load_registers(1, a_count, 0)
        + load_registers(10, b_count, 1)
        + zero
        + f"mma.sync.aligned.m16n8k{k}.row.col.{d}.{type_}.{type_}.{d} "
        + "{{{2}}}, {{{0}}}, {{{1}}}, {{{2}}};".format(*names)
        + stores,
        a_regs,
        b_regs,
        out,
    )
    product = a.astype(np.float64) @ b.astype(np.float64)
    i = np.arange(4)[None, :]
    assert np.array_equal(out, product[G + 8 * (i >> 1), 2 * Q + (i & 1)] + i)


@pytest.mark.parametrize("trans", ["", ".trans"])
def test_ldmatrix(trans: str):
    tile = np.arange(64, dtype=np.uint16).reshape(8, 8)
    body = f""".shared .align 16 .b8 s[128]; mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 4, %r1; {element("%r3", 0, 4)}
    st.shared.b32 [%r2], %r3; bar.sync 0; and.b32 %r4, %r0, 7; mad.lo.u32 %r4, %r4, 16, %r1;
    ldmatrix.sync.aligned.m8n8.x1{trans}.shared.b16 {{%r5}}, [%r4];"""
    got = lanes(body, "%r5", np.uint32, tile).view(np.uint16).reshape(8, 8)
    assert np.array_equal(got, tile.T if trans else tile)


def test_stmatrix_is_the_inverse():
    tile = np.random.default_rng(1).integers(0, 65536, (2, 8, 8)).astype(np.uint16)
    body = f""".shared .align 16 .b8 s[256]; mov.u32 %r1, s; {element("%r3", 0, 4)} ld.global.b32 %r4, [%d38+128];
    and.b32 %r6, %r0, 15; mad.lo.u32 %r6, %r6, 16, %r1;
    stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r6], {{%r3, %r4}}; bar.sync 0;
    mad.lo.u32 %r7, %r0, 4, %r1; ld.shared.b32 %r5, [%r7+128];"""
    assert np.array_equal(lanes(body, "%r5", np.uint32, tile).view(np.uint16).reshape(8, 8), tile[1])


def test_movmatrix_transposes():
    tile = np.arange(64, dtype=np.uint16)
    body = element("%r1", 0, 4) + "movmatrix.sync.aligned.m8n8.trans.b16 %r5, %r1;"
    assert np.array_equal(lanes(body, "%r5", np.uint32, tile).view(np.uint16).reshape(8, 8), tile.reshape(8, 8).T)


# Asynchronous copies and barriers in memory.
@pytest.mark.parametrize("size, kept", [("16", 4), ("16, 16", 4), ("16, 8", 2), ("16, 0", 0), ("16, 6", 1)])
def test_copy_async_fills_with_zeros(size: str, kept: int):
    body = f""".shared .align 16 .b8 s[512]; mov.u32 %r1, s; mad.lo.u32 %r1, %r0, 16, %r1; mul.wide.u32 %d1, %r0, 16;
    add.u64 %d1, %d1, %d0; cp.async.cg.shared.global [%r1], [%d1], {size}; cp.async.commit_group; cp.async.wait_group 0;
    ld.shared.v4.u32 {{%r2, %r3, %r4, %r6}}, [%r1]; add.u32 %r5, %r2, %r3; add.u32 %r5, %r5, %r4;
    add.u32 %r5, %r5, %r6;"""
    data = np.arange(128, dtype=np.uint32)
    got = lanes(body, "%r5", np.uint32, data)
    bytes_kept = int(size.split(", ")[-1])
    raw = data.view(np.uint8).reshape(32, 16).copy()
    raw[:, bytes_kept:] = 0
    assert got.tolist() == raw.view(np.uint32).sum(axis=1).tolist() and kept <= 4


def test_memory_barrier_phases():
    body = """.shared .align 8 .b64 bar; .shared .b32 v; mov.u32 %r1, bar; setp.ne.u32 %p1, %r0, 0; @%p1 bra A;
    mbarrier.init.shared::cta.b64 [%r1], 32; A: bar.sync 0; setp.gt.u32 %p2, %r0, 31; @%p2 bra WAIT;
    st.shared.u32 [v], 42; mbarrier.arrive.shared::cta.b64 %d5, [%r1]; mov.u32 %r5, 1; bra E;
    WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1], 0; @!%p3 bra WAIT; ld.shared.u32 %r5, [v]; E:"""
    assert lanes(body, "%r5", np.uint32, block=64).tolist() == [1] * 32 + [42] * 32


def test_bulk_copy_completes_its_barrier():
    body = """.shared .align 16 .b8 s[256]; .shared .align 8 .b64 bar; mov.u32 %r1, bar; mov.u32 %r2, s;
    setp.ne.u32 %p1, %r0, 0;
    @%p1 bra A; mbarrier.init.shared::cta.b64 [%r1], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 256;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d0], 256, [%r1]; A: bar.sync 0;
    W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0; @!%p2 bra W; mad.lo.u32 %r3, %r0, 4, %r2;
    ld.shared.u32 %r5, [%r3];"""
    data = np.arange(64, dtype=np.uint32)
    assert np.array_equal(lanes(body, "%r5", np.uint32, data, block=64), data)


def test_cluster_shares_memory():
    body = """.shared .b32 s; mov.u32 %r1, s; mov.u32 %r2, %cluster_ctarank; add.u32 %r3, %r2, 70;
    st.shared.u32 [%r1], %r3;
    barrier.cluster.arrive; barrier.cluster.wait; xor.b32 %r4, %r2, 1; mapa.shared::cluster.u32 %r6, %r1, %r4;
    ld.shared::cluster.u32 %r5, [%r6]; mov.u32 %r7, %ctaid.x; mul.wide.u32 %d1, %r7, 4; add.u64 %d1, %d1, %d0;
    st.global.u32 [%d1], %r5;"""
    out = np.zeros(6, np.uint32)
    run(body, out, grid=6, cluster=2)
    assert out.tolist() == [71, 70] * 3


# Findings.
def test_naming_lanes_that_left_is_found():
    launch = run("setp.gt.u32 %p1, %r0, 7; @%p1 ret; shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;")
    (finding,) = launch.findings
    assert finding.code == "TT6024" and finding.severity == "error" and "shfl.sync" in finding.message
    assert run("setp.gt.u32 %p1, %r0, 7; @%p1 ret; shfl.sync.bfly.b32 %r1, %r0, 1, 31, 255;").findings == []
    assert run("shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;", block=40).findings == []


def test_barrier_of_a_divergent_warp_is_found():
    launch = run("setp.gt.u32 %p1, %r0, 7; @%p1 bra A; bar.sync 0; bra E; A: bar.sync 0; E:")
    assert [finding.code for finding in launch.findings] == ["TT6024"]
    assert run("setp.gt.u32 %p1, %r0, 31; @%p1 bra A; bar.sync 0; bra E; A: bar.sync 0; E:", block=64).findings == []
    assert run("setp.gt.u32 %p1, %r0, 7; @%p1 bra A; barrier.sync 0; bra E; A: barrier.sync 0; E:").findings == []
