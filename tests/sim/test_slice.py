"""Why a value is what it is: planted values are found again through every way that values travel."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.sim import corpus
from tests.sim.kit import element, run
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.record.events import Step
from tinyton_lab.sim import Launch, why

OUT = "mul.wide.u32 %d20, %r0, 4; add.u64 %d20, %d20, %d1; st.global.f32 [%d20], %f9;"


def recorded(body: str, x: np.ndarray, before: str = "", block: int = 32) -> Launch:
    out = np.zeros(64, np.float32)
    return run(f"{element('%f1', 0, 4)}\n{body}\n{OUT}", x, out, before=before, block=block, record="warp")


def leaves(launch: Launch, index: int) -> list[str]:
    return [cause.name for cause in why(launch, "p1", index).leaves()]


@pytest.fixture
def x() -> np.ndarray:
    return np.arange(64, dtype=np.float32)


def test_registers_and_constants(x: np.ndarray):
    launch = recorded("add.f32 %f2, %f1, 0f3F800000; mul.f32 %f9, %f2, %f2;", x)
    found = why(launch, "p1", 5)
    assert [cause.name for cause in found.leaves()] == ["p0[5]"] and found.leaves()[0].value == 5.0
    assert found.causes[0].value == 36.0 and found.complete
    assert [step.text.split()[0] for step in found.steps()] == ["ld.global.b32", "add.f32", "mul.f32", "st.global.f32"]
    assert "p0[5] = 5.0" in repr(found)


def test_registers_of_plain_bits_are_shown_as_what_reads_them(x: np.ndarray):
    found = why(recorded("mov.b32 %r9, %f1; mov.b32 %f2, %r9; add.f32 %f9, %f2, 0f3F800000;", x), "p1", 5)
    assert "%f2 lane 5 = 5.0  <- " in repr(found) and found.leaves()[0].value == 5.0


@pytest.mark.parametrize(
    ("mode", "operand", "source"), [("bfly", "3", 6), ("up", "2", 3), ("down", "4", 9), ("idx", "30", 30)]
)
def test_shuffles_lead_to_the_lane_that_was_read(mode: str, operand: str, source: int, x: np.ndarray):
    limit = 0 if mode == "up" else 31
    launch = recorded(f"shfl.sync.{mode}.b32 %f9, %f1, {operand}, {limit}, -1;", x)
    assert leaves(launch, 5) == [f"p0[{source}]"]


def test_a_shuffle_by_register_and_one_from_outside(x: np.ndarray):
    launch = recorded("xor.b32 %r5, %r0, 7; shfl.sync.idx.b32 %f9, %f1, %r5, 31, -1;", x)
    assert leaves(launch, 5) == ["p0[2]"]
    launch = recorded("shfl.sync.up.b32 %f9, %f1, 8, 0, -1;", x)
    assert leaves(launch, 5) == ["p0[5]"]


def test_shared_memory_across_warps(x: np.ndarray):
    body = """mov.u32 %r1, s; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2; st.shared.f32 [%r3], %f1; bar.sync 0;
    xor.b32 %r4, %r2, 252; add.u32 %r4, %r4, %r1; ld.shared.f32 %f9, [%r4];"""
    launch = recorded(body, x, ".shared .align 4 .b8 s[256];\n", 64)
    assert leaves(launch, 5) == ["p0[58]"]


def test_atomics_have_every_lane_as_a_cause(x: np.ndarray):
    body = f"{element('%f1', 0, 4)} and.b32 %r1, %r0, 1; mul.wide.u32 %d20, %r1, 4; add.u64 %d20, %d20, %d1; "
    launch = run(body + "red.global.add.f32 [%d20], %f1;", x, np.ones(4, np.float32), record="warp")
    found = why(launch, "p1", 1)
    assert sorted(cause.name for cause in found.leaves()) == sorted(["p1[1]", *(f"p0[{n}]" for n in range(1, 32, 2))])
    assert found.causes[0].value == 1 + sum(range(1, 32, 2))


def test_lanes_under_a_guard_keep_their_own_history(x: np.ndarray):
    body = "mov.f32 %f9, %f1; setp.lt.u32 %p1, %r0, 8; @%p1 add.f32 %f9, %f1, 0f3F800000;"
    launch = recorded(body, x)
    assert [s.text.split()[0] for s in why(launch, "p1", 20).steps()] == ["ld.global.b32", "mov.f32", "st.global.f32"]
    assert any("add.f32" in s.text for s in why(launch, "p1", 5).steps())


def test_nan_is_followed_through_what_is_nan(x: np.ndarray):
    x[9] = np.nan
    launch = recorded("shfl.sync.bfly.b32 %f2, %f1, 1, 31, -1; add.f32 %f9, %f1, %f2;", x)
    assert leaves(launch, 8) == ["p0[9]"]
    assert sorted(leaves(launch, 4)) == ["p0[4]", "p0[5]"]


def test_a_nan_of_attention_is_found_through_matrices_copies_and_shared_memory():
    launch, buffers = corpus.prepare("triton/flash_fwd_fp16_causal@80")
    buffers["v"][0, 5, 7] = np.nan
    done = launch(record="warp", recorded_ctas=1)
    assert np.isnan(buffers["o"][0, 8, 7])
    found = why(done, "flash_fwd_param_3", (0, 8, 7))
    assert found.complete and len(found.causes) < 40
    names = [cause.name for cause in found.leaves()]
    assert "flash_fwd_param_2[0, 5, 7]" in names and all(name.startswith("flash_fwd_param_2[0, ") for name in names)


def test_a_nan_of_a_warpgroups_product_is_found_in_the_column_of_b():
    launch, buffers = corpus.prepare("triton/matmul_f16@90")
    buffers["b"][77, 3] = np.nan
    found = why(launch(record="warp", recorded_ctas=1), "matmul_param_2", 3)
    assert found.complete and len(found.causes) < 20
    assert [cause.name for cause in found.leaves()] == ["matmul_param_1[77, 3]"]


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("triton/matmul_f16@80", "matmul_param_{}"),
        ("triton/matmul_f16@90", "matmul_param_{}"),
        ("triton/matmul_fp8e4nv@90", "matmul_nomask_param_{}"),
        ("triton/matmul_desc_f16@90", "matmul_desc_param_{}"),
    ],
)
def test_an_element_of_a_product_has_a_row_and_a_column(name: str, argument: str):
    """Also where registers hold several elements, of which one counts."""
    launch, _ = corpus.prepare(name)
    found = why(launch(record="warp", recorded_ctas=1), argument.format(2), (5, 9))
    names = {cause.name for cause in found.leaves() if "[" in cause.name}
    row, column = ({f"{argument.format(n)}[{at}]" for at in places} for n, places in
                   ((0, [f"5, {k}" for k in range(128)]), (1, [f"{k}, 9" for k in range(128)])))  # fmt: skip
    assert found.complete and names == row | column


@pytest.mark.parametrize(
    "name", ["cuda/m_wmma_bf16@90", "triton/softmax_fp32@80", "triton/matmul_f16@90", "triton/matmul_desc_f16@90"]
)
def test_what_a_slice_leaves_out_has_no_influence(name: str):
    """An output keeps its bits when all that its slice does not have becomes something else."""
    launch, buffers = corpus.prepare(name)
    recording = launch(record="warp", recorded_ctas=1).recording
    assert recording is not None
    target, kept = recording.arguments[len(buffers) - 1].name, dict[str, set[tuple[int, ...]]]()
    if "matmul" not in name and "wmma" not in name:
        target = next(a.name for a in recording.arguments if any(_stores(step, a.name) for step in recording.steps))
    for cause in why(recording, target, 3, most=20000, addresses=True, guards=True, branches=True).causes:
        if found := re.fullmatch(r"(\w+)\[([\d, ]+)\]", cause.name):
            kept.setdefault(found[1], set()).add(tuple(map(int, found[2].split(", "))))
    again, changed = corpus.prepare(name)
    rng = np.random.default_rng(5)
    for argument, buffer in zip(recording.arguments, changed.values(), strict=False):
        if argument.name != target:
            other = np.ones(buffer.shape, np.bool_)
            for place in kept[argument.name]:
                other[place] = False
            buffer[other] = rng.permutation(buffer[other])
    again()
    before, after = (
        dict(zip([a.name for a in recording.arguments], each.values(), strict=False)) for each in (buffers, changed)
    )
    assert before[target].reshape(-1)[3].tobytes() == after[target].reshape(-1)[3].tobytes()
    assert before[target].tobytes() != after[target].tobytes()


def _stores(step: Step, name: str) -> bool:
    return any(access.kind == "store" and access.name == name for access in step.accesses)


def test_bulk_copies_are_followed_to_the_tensor_and_stand_in_memory():
    launch, buffers = corpus.prepare("triton/matmul_desc_f16@90")
    buffers["a"][1, 77] = np.nan
    recording = launch(record="warp", recorded_ctas=1).recording
    assert recording is not None
    found = why(recording, "matmul_desc_param_2", (1, 3))
    assert found.complete and [cause.name for cause in found.leaves()] == ["matmul_desc_param_0[1, 77]"]
    texts = [step.text for step in found.steps()]
    assert any("cp.async.bulk.tensor.2d.shared" in text for text in texts) and "bulk.tensor.2d.global" in texts[-1]
    # Row 1 of the box lies behind row 0, its 16-byte units exchanged by the swizzle.
    timeline, loads = recording.timeline(), [step for step in recording.steps if "tensor.2d.shared" in step.text]
    place = recording.steps.index(loads[0])
    for unit in range(8):
        value = timeline.memory("shared", 128 + 16 * (unit ^ 1) + 2, place, np.float16, "shared")
        assert value == buffers["a"][1, 8 * unit + 1]
    assert timeline.memory("shared", 128, place - 1, np.float16, "shared") is None


def test_a_bulk_copy_is_a_writer_and_a_reader():
    launch, buffers = corpus.prepare("cuda/h_bulk_copy@90a")
    recording = launch(record="warp", recorded_ctas=1).recording
    assert recording is not None
    assert [cause.name for cause in why(recording, "h_bulk_copy_param_1", 3).leaves()] == ["h_bulk_copy_param_0[3]"]
    timeline = recording.timeline()
    timeline.position = -1
    copied = timeline.run_to(name="shared", offset=1000)
    assert copied is not None and copied.text.startswith("cp.async.bulk.shared")
    reader = timeline.memory_reader("shared", 1000, space="shared")
    assert reader is not None and reader.text.startswith("ld.shared")
    changed = timeline.run_to(name="shared", offset=1000)
    assert changed is not None and changed.text.startswith("st.shared")
    assert timeline.memory_writer("shared", 1000, space="shared") is changed
    sent = timeline.run_to(name="shared", offset=1000, reads=True)
    assert sent is not None and sent.text.startswith("cp.async.bulk.global")
    assert timeline.memory_reader("shared", 1000, recording.steps.index(copied), "shared") is reader
    assert timeline.memory_reader("shared", 1000, space="shared") is None
    timeline.position = 0
    stored = timeline.run_to(name="h_bulk_copy_param_1", offset=12)
    assert stored is not None and stored.text.startswith("cp.async.bulk.global")
    assert timeline.memory("h_bulk_copy_param_1", 12, dtype="i4") == buffers["o"][3]
    assert timeline.run_to(name="h_bulk_copy_param_1", lane=1) is None


def test_elements_of_wmma_are_followed_through_memory():
    launch, buffers = corpus.prepare("cuda/m_wmma_f16@80")
    buffers["b"][16 * 5 + 2] = np.nan
    recording = launch(record="warp", recorded_ctas=1).recording
    assert recording is not None
    timeline, wrong = recording.timeline(), [at for at in range(256) if np.isnan(buffers["c"][at])]
    for at in range(256):
        found = timeline.memory("m_wmma_f16_param_2", 4 * at, dtype="f4")
        assert found == buffers["c"][at] or np.isnan(found) and at in wrong
    assert len(wrong) == 16
    found = why(recording, "m_wmma_f16_param_2", wrong[3])
    assert found.complete and "m_wmma_f16_param_1[82]" in {cause.name for cause in found.leaves()}
    assert len(found.leaves()) <= 2


def test_a_short_copy_has_zeros_behind_its_source(x: np.ndarray):
    body = """mov.u32 %r1, s; shl.b32 %r2, %r0, 4; add.u32 %r1, %r1, %r2; mul.wide.u32 %d10, %r0, 4;
    add.u64 %d10, %d10, %d0; and.b64 %d10, %d10, -16; mov.u32 %r5, 6;
    cp.async.ca.shared.global [%r1], [%d10], 16, %r5; cp.async.wait_all; ld.shared.f32 %f9, [%r1+PLACE];"""
    names = [leaves(recorded(body.replace("PLACE", place), x, ".shared .align 16 .b8 s[512];\n"), 5) for place in "048"]
    assert names == [["p0[4]"], ["p0[5]"], ["zeros beyond the source"]]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("mov.b32 %r5, {%h1, %h2}; shr.u32 %r6, %r5, 16;", [1]),
        ("mov.b32 %r5, {%h1, %h2}; and.b32 %r6, %r5, 65535;", [0]),
        ("mov.b32 %r5, {%h1, %h2}; mov.b32 {%h3, %h4}, %r5; cvt.u32.u16 %r6, %h4;", [1]),
        ("mov.b32 %r5, {%h1, %h2}; prmt.b32 %r6, %r5, 0, 17458;", [1]),
        ("mov.b32 %r5, {%h1, %h2}; prmt.b32 %r6, 0, %r5, 21588;", [0]),
        ("mov.b32 %r5, {%h1, %h2}; shl.b32 %r6, %r5, 16;", [0]),
        ("mov.b32 %r5, {%h1, %h2}; add.u32 %r6, %r5, 1;", [0, 1]),
        ("mov.b32 %r5, {%h1, %h2}; add.rn.f16x2 %r5, %r5, %r5; shr.u32 %r6, %r5, 16;", [1]),
        ("mov.b32 %r5, {%h1, %h2}; shfl.sync.bfly.b32 %r5, %r5, 1, 31, -1; shr.u32 %r6, %r5, 24;", [3]),
    ],
)
def test_only_the_bytes_that_matter_are_followed(body: str, wanted: list[int]):
    """By the elements of f16 that lane 0 (a pair of lanes: lane 1) loaded."""
    x, out = np.arange(64, dtype=np.float16), np.zeros(32, np.uint32)
    pair = "mul.wide.u32 %d10, %r0, 4; add.u64 %d11, %d10, %d0; ld.global.v2.b16 {%h1, %h2}, [%d11];"
    launch = run(f"{pair} {body} add.u64 %d12, %d10, %d1; st.global.u32 [%d12], %r6;", x, out, record="warp")
    assert sorted(leaves(launch, 0)) == [f"p0[{at}]" for at in wanted]


def led(launch: Launch, index: int, **ways: bool) -> dict[str, set[str]]:
    """Which registers led to an element, by the way they did."""
    found: dict[str, set[str]] = {}
    for cause in (told := why(launch, "p1", index, **ways)).causes:
        for number, way in zip(cause.causes, cause.ways, strict=True):
            found.setdefault(way, set()).add(told.causes[number].name)
    return found


def test_addresses_guards_and_branches_are_followed_on_request(x: np.ndarray):
    body = """and.b32 %r5, %r0, 3; setp.lt.u32 %p1, %r5, 2; mov.f32 %f9, 0f00000000; setp.gt.u32 %p2, %r0, 7;
    @%p2 bra far; mul.wide.u32 %d10, %r5, 4; add.u64 %d10, %d10, %d0; @%p1 ld.global.f32 %f9, [%d10]; far:"""
    launch = recorded(body, x)
    assert led(launch, 5) == {"value": {"%f9", "p0[1]"}}
    assert led(launch, 5, addresses=True)["address"] == {"%d10", "%d20"}
    assert led(launch, 5, guards=True)["guard"] == {"%p1"}
    assert led(launch, 5, branches=True)["branch"] == {"%p2"}
    # Other lanes kept the constant: nothing decided that.
    assert "branch" not in led(launch, 9, branches=True) and "guard" not in led(launch, 9, guards=True)
    text = repr(why(launch, "p1", 5, addresses=True, guards=True, branches=True))
    assert "branch: %p2 lane 5 = False" in text and "guard: %p1 lane 5 = True" in text and "address: %d10" in text


def test_a_loop_is_decided_by_the_turn_before(x: np.ndarray):
    body = """mov.f32 %f9, 0f00000000; mov.u32 %r5, 0;
    again: add.f32 %f9, %f9, %f1; add.u32 %r5, %r5, 1; setp.le.u32 %p1, %r5, %r0; @%p1 bra again;"""
    launch = recorded(body, x)
    told = why(launch, "p1", 2, branches=True)
    sums = [cause for cause in told.causes if cause.step and cause.step.text.startswith("add.f32")]
    assert [cause.value for cause in sums] == [6.0, 4.0, 2.0]
    conditions = {
        (cause.value, told.causes[number].value, told.causes[number].step.index)  # type: ignore[union-attr]
        for cause in sums
        for number, way in zip(cause.causes, cause.ways, strict=True)
        if way == "branch"
    }
    assert [(value, taken) for value, taken, _ in sorted(conditions)] == [(4.0, True), (6.0, True)]
    assert [place for *_, place in sorted(conditions)] == sorted({place for *_, place in conditions})


def test_a_lane_that_left_early_does_not_decide_for_itself(x: np.ndarray):
    launch = recorded("setp.gt.u32 %p1, %r0, 9; @%p1 ret; add.f32 %f9, %f1, %f1;", x)
    told = led(launch, 4, branches=True)
    assert told["branch"] == {"%p1"}


def test_the_lane_of_a_shuffle_is_an_address(x: np.ndarray):
    launch = recorded("xor.b32 %r5, %r0, 7; shfl.sync.idx.b32 %f9, %f1, %r5, 31, -1;", x)
    assert "%r5" in led(launch, 5, addresses=True)["address"]
    body = """mov.u32 %r1, s; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2; st.shared.f32 [%r3], %f1;
    and.b32 %r4, %r0, 7; shl.b32 %r4, %r4, 4; add.u32 %r4, %r1, %r4;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%r4]; mov.b32 %f9, %r6;"""
    launch = recorded(body, x, ".shared .align 16 .b8 s[128];\n")
    found = why(launch, "p1", 13, addresses=True)
    (read,) = [cause for cause in found.causes if cause.step and cause.step.text.startswith("ldmatrix")]
    (row,) = [number for number, way in zip(read.causes, read.ways, strict=True) if way == "address"]
    assert (found.causes[row].name, found.causes[row].lane) == ("%r4", 3)


def test_what_was_not_recorded_cannot_be_explained(x: np.ndarray):
    launch = recorded("mov.f32 %f9, %f1;", x)
    for name, index in (("p1", 40), ("p1", 99), ("p9", 0), ("p0", 1), ("p1", (1, 2))):
        with pytest.raises(TinytonError, match="TT6061|no recorded step"):
            why(launch, name, index)
    with pytest.raises(TinytonError):
        why(run("mov.u32 %r1, 1;", x), "p0", 0)


def test_a_limit_cuts_off_and_says_so(x: np.ndarray):
    found = why(recorded("add.f32 %f2, %f1, %f1; mul.f32 %f9, %f2, %f2;", x), "p1", 3, most=2)
    assert not found.complete and repr(found).endswith("...")


def test_recorded_values_of_stores_are_what_memory_holds():
    launch, buffers = corpus.prepare("triton/softmax_fp32@80")
    recording = launch(record="warp", recorded_ctas=1).recording
    assert recording is not None
    timeline = recording.timeline()
    stores = [s.access for s in recording.steps if s.access and s.access.kind == "store" and s.access.space == "global"]
    arrays = dict(zip((a.name for a in recording.arguments), buffers.values()))
    assert stores
    for access in stores:
        for offset in access.offsets:
            if offset >= 0:
                wanted = arrays[access.name].reshape(-1)[offset // 4]
                assert timeline.memory(access.name, offset, dtype="f4") == wanted


TWICE = """.func (.param .b32 result) twice(.param .b32 unused, .param .b32 value)
{
    .reg .f32 %a, %b;
    ld.param.f32 %a, [value];
    add.f32 %b, %a, %a;
    st.param.f32 [result], %b;
    ret;
}
.func (.param .b32 result) four_times(.param .align 8 .b8 pair[8])
{
    .reg .f32 %a, %b;
    ld.param.v2.f32 {%a, %b}, [pair];
    {
        .param .b32 first; .param .b32 second; .param .b32 got;
        st.param.f32 [first], %a;
        st.param.f32 [second], %b;
        call.uni (got), twice, (first, second);
        ld.param.f32 %b, [got];
    }
    st.param.f32 [result], %b;
    ret;
}
"""


def test_calls_lead_through_parameters_and_results(x: np.ndarray):
    body = """{
    .param .align 8 .b8 both[8]; .param .b32 got;
    mov.f32 %f2, 0f3F800000;
    st.param.f32 [both], %f2;
    st.param.f32 [both+4], %f1;
    call.uni (got), four_times, (both);
    ld.param.f32 %f9, [got];
    }"""
    found = why(recorded(body, x, before=TWICE), "p1", 5)
    assert [cause.name for cause in found.leaves()] == ["p0[5]"] and found.complete
    assert [step.text.split()[0] for step in found.steps()] == [
        "ld.global.b32", "ld.param.v2.f32", "ld.param.f32", "add.f32", "ld.param.f32", "ld.param.f32", "st.global.f32",
    ]  # fmt: skip


def test_each_call_has_parameters_of_its_own(x: np.ndarray):
    once = """{{
    .param .b32 a; .param .b32 b; .param .b32 got;
    st.param.f32 [a], {1}; st.param.f32 [b], {0};
    call.uni (got), twice, (a, b);
    ld.param.f32 {2}, [got];
    }}"""
    other = "shfl.sync.bfly.b32 %f3, %f1, 1, 31, -1;"
    body = other + once.format("%f1", "%f3", "%f4") + once.format("%f3", "%f1", "%f5")
    assert leaves(recorded(f"{body} mov.f32 %f9, %f4;", x, before=TWICE), 4) == ["p0[4]"]
    assert leaves(recorded(f"{body} mov.f32 %f9, %f5;", x, before=TWICE), 4) == ["p0[5]"]
