"""Forms of PTX that compilers seldom write: quad pairs, vectors of 256 bits, and instructions that the corpus lacks."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim.kit import kernel, lanes, run
from tinyton_lab.sim import load


def quad_pair_places(side: str, layout: str) -> tuple[np.ndarray, np.ndarray]:
    """(row, column) of each lane's elements, spelled out lane by lane as the manual does."""
    rows, columns = [], []
    for lane in range(32):
        low, half = lane % 4, 4 * (lane >= 16)
        count = 4 if side in "ab" else 8
        for i in range(count):
            if side == "a":
                row, column = (low + half, i) if layout == "row" else (i + half, low)
            elif side == "b":
                row, column = (i, low + half) if layout == "col" else (low, i + half)
            elif side == "f16":
                row, column = low + half, i
            else:
                row, column = (lane & 1) + (i & 2) + half, (i & 4) + (lane & 2) + (i & 1)
            rows.append(row)
            columns.append(column)
    return np.array(rows).reshape(32, -1), np.array(columns).reshape(32, -1)


@pytest.mark.parametrize("kind", ["f32", "f16"])
@pytest.mark.parametrize("layouts", ["row.col", "row.row", "col.col", "col.row"])
def test_quad_pairs_multiply_matrices_of_their_own(layouts: str, kind: str):
    rng = np.random.default_rng(len(layouts))
    a, b = rng.integers(-4, 5, (4, 8, 4)).astype(np.float16), rng.integers(-4, 5, (4, 4, 8)).astype(np.float16)
    pair = np.arange(32)[:, None] >> 2 & 3
    a_layout, b_layout = layouts.split(".")
    given = [m[(pair, *quad_pair_places(side, layout))] for m, side, layout in ((a, "a", a_layout), (b, "b", b_layout))]
    out = np.zeros((32, 8), np.dtype(f"float{kind[1:]}"))
    count = 4 if kind == "f16" else 8
    registers = [", ".join(f"%r{first + n}" for n in range(number)) for first, number in ((1, 2), (3, 2), (5, count))]
    body = "mul.wide.u32 %d20, %r0, 8; add.u64 %d0, %d0, %d20; add.u64 %d1, %d1, %d20;"
    body += "ld.global.v2.b32 {%r1, %r2}, [%d0]; ld.global.v2.b32 {%r3, %r4}, [%d1];"
    body += "".join(f"mov.b32 %r{5 + n}, 0;" for n in range(count))
    body += f"mma.sync.aligned.m8n8k4.{layouts}.{kind}.f16.f16.{kind} "
    body += "{{{2}}}, {{{0}}}, {{{1}}}, {{{2}}};".format(*registers)
    body += f"mul.wide.u32 %d21, %r0, {4 * count}; add.u64 %d2, %d2, %d21;"
    body += "".join(f"st.global.b32 [%d2+{4 * n}], %r{5 + n};" for n in range(count))
    run(body, *(np.ascontiguousarray(m) for m in given), out)
    product = a.astype(np.float64) @ b.astype(np.float64)
    assert np.array_equal(out, product[(pair, *quad_pair_places(kind, ""))])


@pytest.mark.parametrize(("vector", "register"), [("v8.b32", "%r{}"), ("v8.f32", "%f{}"), ("v4.b64", "%d2{}")])
def test_vectors_of_256_bits(vector: str, register: str):
    count = int(vector[1])
    names = ", ".join(register.format(n + 1) for n in range(count))
    data, out = np.arange(256, dtype=np.uint32), np.zeros(256, np.uint32)
    body = "mul.wide.u32 %d10, %r0, 32; add.u64 %d0, %d0, %d10; add.u64 %d1, %d1, %d10;"
    launch = run(f"{body} ld.global.{vector} {{{names}}}, [%d0]; st.global.{vector} [%d1], {{{names}}};", data, out)
    assert np.array_equal(out, data) and launch.findings == []
    launch = run(
        f"{body} ld.global.{vector} {{{names}}}, [%d0]; st.global.{vector} [%d1], {{{names}}};",
        data, out, metrics=True, sanitize=True, record="warp", model="sm_100",
    )  # fmt: skip
    assert launch.metrics.sectors_per_request("p0") == 32 and launch.findings == []


@pytest.mark.parametrize(
    ("body", "result", "wanted"),
    [
        ("vabsdiff4.u32.u32.u32.add %r1, 0x01020304, 0x04030201, 10;", "%r1", 10 + 3 + 1 + 1 + 3),
        ("min.u16x2 %r1, 0x00059000, 0x00034000;", "%r1", 0x00034000),
        ("min.s16x2 %r1, 0x00059000, 0x00034000;", "%r1", 0x00039000),
        ("max.u16x2 %r1, 0x00059000, 0x00034000;", "%r1", 0x00059000),
        ("max.s16x2 %r1, 0x00059000, 0x00034000;", "%r1", 0x00054000),
        ("mov.u32 %r1, 7; nanosleep.u32 100; pmevent 3; fence.acq_rel.gpu;", "%r1", 7),
        ("mov.u32 %r1, 8; setmaxnreg.dec.sync.aligned.u32 40;", "%r1", 8),
        ("mov.u32 %r1, 9; griddepcontrol.wait; griddepcontrol.launch_dependents;", "%r1", 9),
    ],
)
def test_values(body: str, result: str, wanted: int):
    assert (lanes(body, result, np.uint32) == wanted).all()


def test_loads_and_hints_of_the_cache():
    data, out = np.arange(32, dtype=np.uint32), np.zeros(32, np.uint32)
    body = "prefetch.global.L2 [%d0]; mul.wide.u32 %d10, %r0, 4; add.u64 %d0, %d0, %d10; add.u64 %d1, %d1, %d10;"
    run(body + "prefetchu.L1 [%d0]; ldu.global.b32 %r1, [%d0]; st.global.b32 [%d1], %r1;", data, out)
    assert np.array_equal(out, data)


def test_lanes_that_exit_do_nothing_more():
    out = np.zeros(32, np.uint32)
    body = "setp.lt.u32 %p1, %r0, 8; @%p1 exit; mul.wide.u32 %d10, %r0, 4; add.u64 %d0, %d0, %d10;"
    run(body + "st.global.b32 [%d0], 1;", out)
    assert out.tolist() == [0] * 8 + [1] * 24


def test_shuffles_without_sync_are_understood():
    text = kernel("shfl.idx.b32 %r1|%p1, %r0, 3, 31; mul.wide.u32 %d10, %r0, 4; add.u64 %d0, %d0, %d10;"
                  "st.global.b32 [%d0], %r1;", 1)  # fmt: skip
    out = np.zeros(32, np.uint32)
    load(text).launch("k", 1, 32, [out])
    assert (out == 3).all()
