"""Launching: arguments, grids, faults with their place, recordings."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from tests.sim.kit import element, kernel, run
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.base.source import Source, Span
from tinyton_lab.sim import load

ADD_ONE = element("%r1", 0, 4) + "add.s32 %r1, %r1, 1; st.global.b32 [%d38], %r1;"
VADD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry vadd(.param .u64 x, .param .u64 y, .param .u64 z, .param .u32 n)
{
 .reg .pred %p<3>; .reg .b32 %r<10>; .reg .b64 %rd<10>;
 ld.param.b64 %rd1, [x]; ld.param.b64 %rd2, [y]; ld.param.b64 %rd3, [z]; ld.param.b32 %r1, [n];
 mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; shl.b32 %r4, %r3, 7; or.b32 %r5, %r4, %r2;
 setp.lt.s32 %p1, %r5, %r1; mul.wide.s32 %rd4, %r5, 4;
 add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4; add.s64 %rd7, %rd3, %rd4;
 mov.u32 %r6, 0;
 @%p1 ld.global.b32 %r6, [%rd5];
 mov.u32 %r7, 0;
 @%p1 ld.global.b32 %r7, [%rd6];
 add.f32 %r8, %r6, %r7;
 @%p1 st.global.b32 [%rd7], %r8;
 ret;
}
"""


def fault(code: str, body: str, *arrays: object, **options: object) -> TinytonError:
    with pytest.raises(TinytonError) as caught:
        run(body, *arrays, **options)
    assert caught.value.code == code, str(caught.value)
    return caught.value


@pytest.mark.parametrize("length", [1, 127, 128, 129, 5000, 70_001])
def test_vector_add(length: int):
    rng = np.random.default_rng(length)
    x, y = rng.random((2, length), np.float32)
    z = np.zeros(length, np.float32)
    launch = load(VADD).launch("vadd", -(-length // 128), 128, [x, y, z, np.int32(length)])
    assert np.array_equal(z, x + y)
    assert launch.counts["lane_instructions"] == 20 * 128 * -(-length // 128)


def test_threads_beyond_whole_warps_do_not_run():
    data = np.zeros(64, np.int32)
    run(ADD_ONE, data, block=40)
    assert data[:40].tolist() == [1] * 40 and not data[40:].any()


def test_three_dimensional_grid_and_block():
    body = """mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z; mov.u32 %r3, %ctaid.y; mov.u32 %r4, %ctaid.z;
    mov.u32 %r5, %ctaid.x;
    mad.lo.u32 %r6, %r2, 2, %r1; mad.lo.u32 %r6, %r6, 4, %r0;
    mad.lo.u32 %r7, %r4, 2, %r3; mad.lo.u32 %r7, %r7, 3, %r5; mad.lo.u32 %r7, %r7, 16, %r6;
    mul.wide.u32 %d1, %r7, 4; add.u64 %d1, %d1, %d0; st.global.u32 [%d1], %r7;"""
    out = np.zeros(12 * 16, np.uint32)
    run(body, out, grid=(3, 2, 2), block=(4, 2, 2))
    assert np.array_equal(out, np.arange(192))


def test_scalars_bytes_and_null():
    text = kernel("", 0).replace(
        "k()", "k(.param .u64 a, .param .f32 b, .param .align 4 .b8 c[8], .param .u64 d, .param .u8 e)"
    )
    text = text.replace(
        "mov.u32 %r0",
        """ld.param.u64 %d0, [a]; ld.param.b32 %r1, [b]; st.global.b32 [%d0], %r1; ld.param.b32 %r1, [c+4];
        st.global.b32 [%d0+4], %r1; ld.param.u64 %d1, [d]; st.global.b64 [%d0+8], %d1; ld.param.u8 %r2, [e];
        st.global.b32 [%d0+16], %r2; mov.u32 %r0""",
    )
    out = np.zeros(5, np.uint32)
    load(text).launch("k", 1, 1, [out, np.float32(1.0), bytes(range(8)), None, np.uint8(200)])
    assert out.tolist() == [0x3F800000, 0x07060504, 0, 0, 200]


@pytest.mark.parametrize(
    "args, index", [([np.float32(1)], 0), ([np.zeros(2)] * 2, 2), ([b"abc"], 0), (["x"], 0)], ids=str
)
def test_arguments_that_do_not_fit(args: list[object], index: int):
    with pytest.raises(TinytonError) as caught:
        load(kernel("", 1)).launch("k", 1, 1, args)
    assert caught.value.code == "TT6007" and f"parameter {index}" in str(caught.value)


@pytest.mark.parametrize("grid, block", [(0, 1), ((1, 2, 3, 4), 1), (1, 2048), (1, (64, 64)), ("x", 1), (1.5, 1)])
def test_bad_shapes(grid: object, block: object):
    with pytest.raises(TinytonError) as caught:
        load(kernel("", 0)).launch("k", grid, block, [])
    assert caught.value.code == "TT6008"


def test_unknown_entry():
    with pytest.raises(TinytonError) as caught:
        load(VADD).launch("vsub", 1, 1, [])
    assert caught.value.code == "TT6006" and "vadd" in str(caught.value)


# Bounds.
def test_out_of_bounds_names_argument_program_lane_and_line():
    x, y, z = np.zeros((3, 1000), np.float32)
    with pytest.raises(TinytonError) as caught:
        load(VADD).launch("vadd", 8, 128, [x.copy(), y.copy(), z, np.int32(2000)], names=["x", "y", "z", "n"])
    text = str(caught.value)
    assert caught.value.code == "TT6010" and caught.value.span is not None and caught.value.span.line == 12
    assert "4 bytes at byte 4000 of x, which has 4000 bytes" in text
    assert "program id (7, 0, 0), thread 104 (warp 3, lane 8)" in text and "@%p1 ld.global.b32 %r6" in text


def test_the_source_expression_is_shown():
    span = Span(Source("cell:k", "y = tl.load(x + i)"), 1, 4, 1, 18)
    body = "ld.global.b32 %r1, [%d0+64];"
    line = kernel(body, 1).split("\n").index(body) + 1
    caught = fault("TT4001", body, np.zeros(4, np.int32), source_map={line: (7, span)})
    assert caught.span is span and "cell:k:1" in str(caught)
    assert "program (0, 0, 0) would load element 16 of p0, which has the elements 0 to 3" in str(caught)


def test_before_the_start():
    assert "at byte -4 of p0" in str(fault("TT6010", "ld.global.b32 %r1, [%d0-4];", np.zeros(4, np.int32)))


def test_stores_out_of_bounds_change_nothing_else():
    x, guard = np.zeros(4, np.int32), np.zeros(4, np.int32)
    fault("TT6010", "st.global.b32 [%d0+16], 7;", x, guard)
    assert not x.any() and not guard.any()


def test_wild_address():
    assert "0x40" in str(fault("TT6011", "mov.b64 %d3, 64; ld.global.b32 %r1, [%d3];", np.zeros(4)))


def test_misaligned():
    fault("TT6012", "ld.global.b32 %r1, [%d0+2];", np.zeros(4))
    fault("TT6012", "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d0+8];", np.zeros(8))


def test_shared_and_local_limits():
    fault("TT6013", "mov.b32 %r1, 1024; st.shared.b32 [%r1], %r1;", np.zeros(4), shared=1024)
    fault("TT6012", "mov.b32 %r1, 2; st.shared.b32 [%r1], %r1;", np.zeros(4), shared=1024)
    run("mov.b32 %r1, 1020; st.shared.b32 [%r1], %r1;", np.zeros(4), shared=1024)
    fault("TT6013", "ld.local.b32 %r1, [0];", np.zeros(4))


def test_read_only_arrays():
    x = np.zeros(32, np.int32)
    x.flags.writeable = False
    run(element("%r1", 0, 4), x)
    assert "p0 is read-only" in str(fault("TT6014", ADD_ONE, x))


def test_masked_lanes_may_point_anywhere():
    x = np.arange(8, dtype=np.int32)
    run(
        "setp.lt.u32 %p1, %r0, 8; mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d1, %d0;"
        "@%p1 ld.global.b32 %r1, [%d1]; add.s32 %r1, %r1, 1; @%p1 st.global.b32 [%d1], %r1;",
        x,
    )
    assert x.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


# Views.
def test_strided_view_is_reached_through_its_strides():
    base = np.zeros(64, np.int32)
    run("mul.wide.u32 %d1, %r0, 8; add.u64 %d1, %d1, %d0; st.global.b32 [%d1], 5;", base[::2])
    assert base[::2].tolist() == [5] * 32 and not base[1::2].any()


def test_bytes_between_elements_are_foreign():
    base = np.zeros(64, np.int32)
    assert "does not contain" in str(fault("TT6015", "st.global.b32 [%d0+4], 5;", base[::2]))
    assert not base.any()


def test_negative_strides():
    base = np.arange(32, dtype=np.int32)
    out = np.zeros(32, np.int32)
    run(
        "mul.wide.u32 %d2, %r0, 4; sub.u64 %d3, %d0, %d2; ld.global.b32 %r1, [%d3];"
        "add.u64 %d4, %d1, %d2; st.global.b32 [%d4], %r1;",
        base[::-1],
        out,
    )
    assert np.array_equal(out, base[::-1])
    fault("TT6010", "ld.global.b32 %r1, [%d0+4];", base[::-1], out)


def test_overlapping_arguments_share_memory():
    base = np.arange(40, dtype=np.int32)
    run(
        "mul.wide.u32 %d2, %r0, 4; add.u64 %d3, %d0, %d2; ld.global.b32 %r1, [%d3];"
        "add.u64 %d3, %d1, %d2; st.global.b32 [%d3], %r1;",
        base[:32],
        base[8:],
    )
    assert base.tolist() == [*range(8), *range(32)]


def test_a_view_keeps_its_alignment():
    base = np.zeros(64, np.float32)
    assert base.ctypes.data % 16 == 0
    fault("TT6012", "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d0];", base[1:])
    run("ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d0];", base[4:])


def test_empty_arrays_have_no_bytes():
    fault("TT6010", "ld.global.b32 %r1, [%d0];", np.zeros(0, np.int32))


# Loops, time, threads.
def test_step_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TINYTON_STEP_LIMIT", "1000")
    assert "100" in str(fault("TT6020", "L: bra L;", np.zeros(1)))
    assert fault("TT6020", "L: add.u32 %r1, %r1, 1; bra L;", np.zeros(1)).span is not None


def test_trap():
    assert "thread 3" in str(fault("TT6022", "setp.eq.u32 %p1, %r0, 3; @%p1 trap;", np.zeros(1)))


def test_launches_from_many_threads_do_not_mix():
    module, wrong = load(kernel(ADD_ONE, 1)), []

    def work(seed: int) -> None:
        for _ in range(20):
            data = np.full(32, seed, np.int32)
            module.launch("k", 1, 32, [data])
            if data.tolist() != [seed + 1] * 32:
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_second_launch_sees_its_own_arguments():
    text = load(VADD)
    big, small = np.ones(256, np.float32), np.ones(64, np.float32)
    text.launch("vadd", 2, 128, [big, big, big.copy(), np.int32(256)])
    with pytest.raises(TinytonError):
        text.launch("vadd", 1, 128, [small, big, big.copy(), np.int32(256)])


# Recording.
def test_recording_shows_every_warp_instruction():
    x = np.arange(64, dtype=np.int32)
    launch = run("setp.lt.u32 %p1, %r0, 40; @%p1 bra L; ret; L: " + ADD_ONE, x, block=64, record="warp")
    recording = launch.recording
    assert recording is not None and recording.warps() == [((0, 0, 0), 0), ((0, 0, 0), 1)]
    loads = [s for s in recording.steps if s.text.startswith("ld.global")]
    assert [s.mask for s in loads] == [0xFFFFFFFF, 0xFF]
    assert loads[0].writes == (("%r1", tuple(range(32))),)
    access = loads[1].access
    assert access is not None and (access.name, access.bytes, access.kind) == ("p0", 4, "load")
    assert access.offsets == (*range(128, 160, 4), *([-1] * 24))
    assert len(recording.steps) == launch.counts["warp_instructions"] == launch.counts["recorded_steps"]


def test_recording_has_a_cap_with_exact_counts():
    x = np.zeros(32, np.int32)
    launch = run(ADD_ONE, x, record="warp", most_steps=3)
    assert launch.recording is not None and len(launch.recording.steps) == 3
    assert launch.counts["steps_of_recorded_ctas"] == launch.counts["warp_instructions"]


def test_recorded_ctas_are_chosen_and_results_equal():
    x, y, z = np.ones((3, 1000), np.float32)
    z2 = z.copy()
    plain = load(VADD).launch("vadd", 8, 128, [x, y, z, np.int32(1000)])
    traced = load(VADD).launch("vadd", 8, 128, [x, y, z2, np.int32(1000)], record="warp", recorded_ctas=2)
    assert traced.recording is not None and {s.cta for s in traced.recording.steps} == {(0, 0, 0), (1, 0, 0)}
    assert np.array_equal(z, z2) and plain.counts["warp_instructions"] == traced.counts["warp_instructions"]


def test_untyped_registers_are_shown_in_the_type_that_arithmetic_gave_them():
    x, y, z = np.ones((3, 128), np.float32)
    traced = load(VADD).launch("vadd", 1, 128, [x, y, z, np.int32(128)], record="warp")
    assert traced.recording is not None
    add = next(s for s in traced.recording.steps if s.text.startswith("add.f32"))
    assert add.writes[0] == ("%r8", (2.0,) * 32)
