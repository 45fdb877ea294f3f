"""State spaces, generic addresses, vectors, module variables, atomics, and the device library."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.sim.kit import element, kernel, lanes, run
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.sim import load


@pytest.mark.parametrize(
    "type_, dtype, register",
    [
        ("u8", np.uint8, "%r1"),
        ("s8", np.int8, "%r1"),
        ("u16", np.uint16, "%r1"),
        ("s16", np.int16, "%r1"),
        ("u32", np.uint32, "%r1"),
    ],
)
def test_narrow_loads_extend(type_: str, dtype: type, register: str):
    data = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 1, 100], dtype)
    size = data.itemsize
    body = f"mul.wide.u32 %d5, %r0, {size}; add.u64 %d5, %d5, %d0; ld.global.{type_} {register}, [%d5];"
    got = lanes(body, register, np.int32, data, block=4)
    assert got.tolist() == [int(np.int64(v).astype(np.int32)) for v in data]


def test_narrow_stores_truncate():
    out = np.zeros(4, np.uint8)
    run("add.u32 %r1, %r0, 510; cvt.u64.u32 %d1, %r0; add.u64 %d1, %d1, %d0; st.global.u8 [%d1], %r1;", out, block=4)
    assert out.tolist() == [254, 255, 0, 1]


@pytest.mark.parametrize("space", ["global", "shared", "local"])
def test_vectors(space: str):
    declared = {
        "global": "mov.u64 %d1, %d0;",
        "shared": ".shared .align 16 .b8 m[4096]; mov.u64 %d1, m;",
        "local": ".local .align 16 .b8 m[16]; mov.u64 %d1, m;",
    }[space]
    step = "0" if space == "local" else "16"
    body = f"""{declared} mul.wide.u32 %d2, %r0, {step}; add.u64 %d1, %d1, %d2; add.u32 %r1, %r0, 1;
    add.u32 %r2, %r0, 2; add.u32 %r3, %r0, 3;
    st.{space}.v4.b32 [%d1], {{%r0, %r1, %r2, %r3}}; ld.{space}.v2.b64 {{%d3, %d4}}, [%d1];
    ld.{space}.v2.b32 {{%r4, _}}, [%d1+8];
    cvt.u32.u64 %r5, %d3; shr.u64 %d4, %d4, 32; cvt.u32.u64 %r6, %d4; mad.lo.u32 %r5, %r5, 1000, %r6;
    mad.lo.u32 %r5, %r4, 1000000, %r5;"""
    got = lanes(body, "%r5", np.uint32, np.zeros(128, np.uint32))
    assert got.tolist() == [(n + 2) * 1_000_000 + n * 1000 + n + 3 for n in range(32)]


def test_generic_addresses_reach_every_space():
    """Lanes of one instruction may address different spaces."""
    body = """.shared .b32 s; .local .b32 l; mov.u32 %r1, s; st.shared.u32 [%r1], 111; mov.u64 %d1, l;
    st.local.u32 [%d1], %r0;
    cvta.local.u64 %d1, %d1; mov.u64 %d2, s; cvta.shared.u64 %d2, %d2; cvta.global.u64 %d3, %d0;
    and.b32 %r2, %r0, 3; setp.eq.u32 %p1, %r2, 1; selp.b64 %d4, %d1, %d3, %p1; setp.eq.u32 %p2, %r2, 2;
    selp.b64 %d4, %d2, %d4, %p2;
    ld.u32 %r5, [%d4]; isspacep.shared %p3, %d4; @%p3 add.u32 %r5, %r5, 1000; isspacep.local %p4, %d4;
    @%p4 add.u32 %r5, %r5, 2000;"""
    got = lanes(body, "%r5", np.uint32, np.array([77], np.uint32))
    assert got.tolist() == [{1: 2000 + n, 2: 1111}.get(n & 3, 77) for n in range(32)]


def test_module_variables_are_fresh_at_each_launch():
    before = """.global .align 4 .u32 counter = 5; .const .align 4 .f32 half = 0f3F000000; .global .b8 name[3] = "ab";
    .global .u64 pointer = generic(counter); .global .u32 matrix[2][2] = {{1, 2}, {3, 4}};"""
    body = """ld.global.u64 %d1, [pointer]; atom.add.u32 %r1, [%d1], 1; ld.const.f32 %f1, [half];
    cvt.rni.u32.f32 %r2, %f1;
    ld.global.u8 %r3, [name+1]; ld.global.u32 %r4, [matrix+8]; mad.lo.u32 %r5, %r3, 100, %r1;
    mad.lo.u32 %r5, %r4, 100000, %r5;"""
    for _ in range(2):
        assert lanes(body, "%r5", np.uint32, block=1, before=before).tolist() == [300000 + 9800 + 5]


def test_constants_are_read_only():
    with pytest.raises(TinytonError) as caught:
        run("mov.u64 %d1, c; st.global.u32 [%d1], 1;", before=".const .u32 c = 1;")
    assert caught.value.code == "TT6014"


def test_dynamic_shared_memory_follows_the_declared():
    before = ".extern .shared .align 16 .b8 dyn[];"
    body = ".shared .b32 s; mov.u32 %r2, dyn; mov.u32 %r3, 7; st.shared.u32 [%r2+60], %r3;"
    text = kernel(body, 0, before)
    load(text).launch("k", 1, 1, [], shared=64)
    with pytest.raises(TinytonError) as caught:
        load(text).launch("k", 1, 1, [], shared=60)
    assert caught.value.code == "TT6013"


@pytest.mark.parametrize("dtype", [np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.uint64])
def test_arrays_of_any_dtype(dtype: type):
    x = np.arange(16).astype(dtype)
    y = np.zeros(16, dtype)
    size = x.itemsize
    register = {1: "%h1", 2: "%h1", 4: "%r1", 8: "%d9"}[size]
    run(
        f"mul.wide.u32 %d2, %r0, {size}; add.u64 %d3, %d0, %d2; add.u64 %d4, %d1, %d2;"
        f"ld.global.b{8 * size} {register}, [%d3];"
        f"st.global.b{8 * size} [%d4], {register};",
        x,
        y,
        block=16,
    )
    assert np.array_equal(x, y)


# Atomics.
def atomics(opcode: str, start: int, operand: str, dtype: type = np.uint32, block: int = 64) -> tuple[int, list[int]]:
    cell = np.array([start], dtype)
    got = lanes(f"atom.global.{opcode} %r5, [%d0], {operand};", "%r5", dtype, cell, block=block)
    return int(cell[0]), got.tolist()


@pytest.mark.parametrize(
    "opcode, start, operand, after",
    [
        ("add.u32", 10, "%r0", lambda old, n: old + n),
        ("max.s32", 20, "%r0", max),
        ("min.u32", 40, "%r0", min),
        ("and.b32", 255, "%r0", lambda old, n: old & n),
        ("or.b32", 0, "%r0", lambda old, n: old | n),
        ("xor.b32", 1, "%r0", lambda old, n: old ^ n),
        ("exch.b32", 99, "%r0", lambda old, n: n),
        ("inc.u32", 3, "5", lambda old, n: 0 if old >= 5 else old + 1),
        ("dec.u32", 2, "5", lambda old, n: 5 if old in (0, *range(6, 99)) else old - 1),
        ("cas.b32", 0, "%r0, 1", lambda old, n: 1 if old == n else old),
    ],
)
def test_atomics_serve_lanes_in_order(opcode, start, operand, after):
    final, got = atomics(opcode, start, operand)
    old, want = start, []
    for lane in range(64):
        want.append(old)
        old = after(old, lane)
    assert got == want and final == old


def test_atomics_on_many_cells():
    cells = np.zeros(4, np.uint32)
    got = lanes(
        "and.b32 %r1, %r0, 3; mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %d1, %d0; atom.add.u32 %r5, [%d1], 10;",
        "%r5",
        np.uint32,
        cells,
        block=64,
    )
    assert cells.tolist() == [160] * 4 and got.tolist() == [lane // 4 * 10 for lane in range(64)]


def test_float_atomics_add_in_lane_order():
    cell = np.zeros(1, np.float32)
    values = np.random.default_rng(1).random(64, np.float32)
    run(element("%r1", 1, 4) + "red.global.add.f32 [%d0], %r1;", cell, values, block=64)
    want = np.float32(0)
    for value in values:
        want = np.float32(want + value)
    assert cell[0] == want


@pytest.mark.parametrize("type_, dtype", [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_half_atomics(type_: str, dtype: type):
    cell = np.array([1, 0], dtype)
    run(
        f"mov.b16 %h1, {'0x3C00' if type_ == 'f16' else '0x3F80'}; atom.global.add.noftz.{type_} %h2, [%d0], %h1;",
        cell,
        block=8,
    )
    assert float(cell[0]) == 9.0 and float(cell[1]) == 0.0


def test_masked_atomics_and_red():
    cell = np.zeros(1, np.int64)
    run("setp.lt.u32 %p1, %r0, 5; mov.u64 %d1, 3; @%p1 red.global.add.u64 [%d0], %d1;", cell)
    assert cell[0] == 15


def test_shared_atomics():
    body = """.shared .b32 s; setp.ne.u32 %p1, %r0, 0; @%p1 bra A; st.shared.u32 [s], 0; A: bar.sync 0;
    atom.shared.add.u32 %r1, [s], %r0;
    bar.sync 0; ld.shared.u32 %r5, [s];"""
    assert set(lanes(body, "%r5", np.uint32, block=64, grid=2).tolist()) == {64 * 63 // 2}


# The device library.
PRINTF = ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);"
PRINTF += '.global .b8 text[] = "lane %d of %s: %.2f\\n"; .global .b8 who[] = "me";'


def test_printf():
    body = """.local .align 8 .b8 v[24]; mov.u64 %d1, v; st.local.u32 [%d1], %r0; mov.u64 %d2, who;
    st.local.u64 [%d1+8], %d2;
    mov.f64 %fd1, 0d3FF8000000000000; st.local.f64 [%d1+16], %fd1; cvta.local.u64 %d1, %d1; mov.u64 %d3, text;
    setp.gt.u32 %p1, %r0, 1; @%p1 bra E;
    { .param .b64 p0; .param .b64 p1; .param .b32 q; st.param.b64 [p0], %d3; st.param.b64 [p1], %d1;
    call.uni (q), vprintf, (p0, p1); } E:"""
    assert run(body, before=PRINTF).output == ["lane 0 of me: 1.50\n", "lane 1 of me: 1.50\n"]


def test_malloc_is_checked():
    before = ".extern .func (.param .b64 r) malloc(.param .b64 n);"
    call = """{ .param .b64 p0; .param .b64 q; mov.u64 %d5, 16; st.param.b64 [p0], %d5; call.uni (q), malloc, (p0);
    ld.param.b64 %d6, [q]; }"""
    body = call + "st.u32 [%d6+12], %r0; ld.u32 %r5, [%d6+12];"
    assert lanes(body, "%r5", np.uint32, block=4, before=before).tolist() == [0, 1, 2, 3]
    with pytest.raises(TinytonError) as caught:
        run(call + "st.u32 [%d6+16], %r0;", before=before)
    assert caught.value.code == "TT6010" and "malloc" in str(caught.value)


def test_alloca():
    body = "mov.u64 %d1, 8; alloca.u64 %d2, %d1; st.local.u32 [%d2+4], %r0; ld.local.u32 %r5, [%d2+4];"
    assert lanes(body, "%r5", np.uint32).tolist() == [*range(32)]
