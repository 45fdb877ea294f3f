"""Layouts as they are chosen: coalesced vectors, conversions only where they pay, barriers where threads would race."""

from __future__ import annotations

import pytest

from tinyton_lab.base.targets import TARGETS
from tinyton_lab.ir.core import Function
from tinyton_lab.ir.parse import parse_function
from tinyton_lab.ir.text import print_function
from tinyton_lab.ir.verify import LAYOUT, verify
from tinyton_lab.layout.assign import assign
from tinyton_lab.layout.linear import parse_layout
from tinyton_lab.layout.passes import run_layout_passes
from tinyton_lab.ops import OPS

HEAD = "kernel @k(%x: ptr<f32> {divisibility = 16}, %y: ptr<f32> {divisibility = 16}, %n: i32) {num_warps = 4} {\n"


def stages(body: str) -> dict[str, Function]:
    function = parse_function(HEAD + body + "}\n", OPS)
    verify(function)
    return {step.name: laid_out for step, laid_out in run_layout_passes(function, TARGETS["sm_80"])}


def rows(function: Function) -> list[str]:
    return [op.row.name for op in function.walk()]


PLACES = """\
  %1 = range {start = 0, end = 16} : tile<16xi32>
  %2 = range {start = 0, end = 128} : tile<128xi32>
  %3 = expand %1 {axis = 1} : tile<16x1xi32>
  %4 = broadcast %3 {shape = [16, 128]} : tile<16x128xi32>
  %5 = constant {value = 128, type = type<tile<16x128xi32>>} : tile<16x128xi32>
  %6 = mul %4, %5 : tile<16x128xi32>
  %7 = expand %2 {axis = 0} : tile<1x128xi32>
  %8 = broadcast %7 {shape = [16, 128]} : tile<16x128xi32>
  %9 = add %6, %8 : tile<16x128xi32>
  %10 = load %x, distance=%9 : tile<16x128xf32>
"""
SUM = """\
  %11 = reduce %10 {axis = AXIS} : tile<SIZExf32> {
  ^(%11.a: f32, %11.b: f32):
    %12 = add %11.a, %11.b : f32
    yield %12
  }
"""
TRANSPOSED = """\
  %13 = transpose %10 {order = [1, 0]} : tile<128x16xf32>
  %14 = range {start = 0, end = 2048} : tile<2048xi32>
  %15 = reshape %14 {shape = [128, 16]} : tile<128x16xi32>
  store %y, %13, distance=%15
"""


def test_text_round_trips_and_verifies():
    for function in stages(PLACES + SUM.replace("AXIS", "1").replace("SIZE", "16") + TRANSPOSED).values():
        verify(function, LAYOUT)
        text = print_function(function).text
        assert print_function(parse_function(text, OPS, parse_layout)).text == text


def test_a_row_is_read_in_vectors_and_reduced_without_shared_memory():
    body = PLACES + SUM.replace("AXIS", "1").replace("SIZE", "16") + "  store %y, %11, distance=%1\n"
    function = stages(body)["layout/03-barriers"]
    load = next(op for op in function.walk() if op.row.name == "load")
    assert load.attrs["vector"] == 4
    assert str(load.result.type.layout).startswith("16x128 register [0,1] [0,2] [4,0] [8,0] lane [0,4] [0,8] [0,16]")
    assert "convert_layout" not in rows(function) and "shared_bytes" not in function.attrs


def test_a_reduction_across_warps_gets_scratch_memory():
    body = PLACES + SUM.replace("AXIS", "0").replace("SIZE", "128") + "  store %y, %11, distance=%2\n"
    function = stages(body)["layout/03-barriers"]
    reduce = next(op for op in function.walk() if op.row.name == "reduce")
    assert reduce.attrs["scratch"] == 0
    assert function.attrs["shared_bytes"] == 4 * 128 * 4


def test_a_transpose_goes_through_shared_memory_once():
    made = stages((PLACES + TRANSPOSED).replace("16", "64").replace("2048", "8192"))
    assert rows(made["layout"]).count("convert_layout") == 1
    exchanged = made["layout/01-exchange"]
    assert [name for name in rows(exchanged) if name.startswith("local")] == [
        "local_alloc",
        "local_store",
        "local_load",
    ]
    assert made["layout/02-allocate"].attrs["shared_bytes"] == 64 * 128 * 4
    final = rows(made["layout/03-barriers"])
    assert final.index("local_store") < final.index("barrier") < final.index("local_load")
    accesses = [op for op in made["layout"].walk() if op.row.name in ("load", "store")]
    assert [op.attrs.get("vector") for op in accesses] == [4, 4]


def test_a_small_tile_is_loaded_where_it_is_needed():
    body = PLACES + (
        "  %20 = load %y, distance=%2 : tile<128xf32>\n"
        "  %21 = expand %20 {axis = 0} : tile<1x128xf32>\n"
        "  %22 = broadcast %21 {shape = [16, 128]} : tile<16x128xf32>\n"
        "  %23 = add %10, %22 : tile<16x128xf32>\n"
        "  store %x, %23, distance=%9\n"
    )
    function = stages(body)["layout"]
    assert "convert_layout" not in rows(function)
    small = [op for op in function.walk() if op.row.name == "load"][1]
    assert small.attrs["vector"] == 4 and small.result.type.layout.free("warp") == 0b11  # type: ignore[union-attr]


LOOP = """\
  %20 = constant {value = 0, type = type<i32>} : i32
  %21 = constant {value = 128, type = type<i32>} : i32
  %22 = constant {value = 0.0, type = type<tile<16x128xf32>>} : tile<16x128xf32>
  %23.0, %23.1 = for %20, %n, %21, %22, %9 : tile<16x128xf32>, tile<16x128xi32> {
  ^(%23.i: i32, %23.a: tile<16x128xf32>, %23.p: tile<16x128xi32>):
    %24 = load %x, distance=%23.p : tile<16x128xf32>
    %25 = add %23.a, %24 : tile<16x128xf32>
    %26 = add %23.p, %5 : tile<16x128xi32>
    yield %25, %26
  }
  store %y, %23.0, distance=%9
"""


def test_what_a_loop_carries_has_the_layout_of_its_accesses():
    function = stages(PLACES + LOOP)["layout"]
    assert "convert_layout" not in rows(function)
    loop = next(op for op in function.walk() if op.row.name == "for")
    load = next(op for op in loop.blocks[0].ops if op.row.name == "load")
    assert {result.type.layout for result in loop.results} == {load.result.type.layout}


@pytest.mark.parametrize(
    ("second", "waits"),
    [
        ("  %30 = load %y, distance=%9 : tile<16x128xf32>\n  store %x, %30, distance=%9\n", False),
        ("  %30 = load %y, distance=%31 : tile<16x128xf32>\n  store %x, %30, distance=%9\n", True),
        ("  %30 = load %x, distance=%31 : tile<16x128xf32>\n  store %y, %30, distance=%9\n", False),
    ],
    ids=["own element", "another's element", "another array"],
)
def test_a_barrier_stands_between_a_store_and_what_others_read(second: str, waits: bool):
    shifted = "  %31 = add %9, %5 : tile<16x128xi32>\n"
    body = PLACES + shifted + "  store %y, %10, distance=%9\n" + second
    assert ("barrier" in rows(stages(body)["layout/03-barriers"])) is waits


REDUCED_IN_A_LOOP = """\
  %20 = constant {value = 0, type = type<i32>} : i32
  %21 = constant {value = 1, type = type<i32>} : i32
  %22 = constant {value = 0.0, type = type<tile<128xf32>>} : tile<128xf32>
  %23 = for %20, %n, %21, %22 : tile<128xf32> {
  ^(%23.i: i32, %23.a: tile<128xf32>):
    %24 = reduce %10 {axis = 0} : tile<128xf32> {
    ^(%24.a: f32, %24.b: f32):
      %25 = add %24.a, %24.b : f32
      yield %25
    }
    %26 = add %24, %23.a : tile<128xf32>
    yield %26
  }
  store %y, %23, distance=%2
"""


def test_scratch_memory_is_not_overwritten_while_it_is_read():
    function = stages(PLACES + REDUCED_IN_A_LOOP)["layout/03-barriers"]
    body = next(op for op in function.walk() if op.row.name == "for").blocks[0]
    assert [op.row.name for op in body.ops][:2] == ["barrier", "reduce"]
    once = stages(PLACES + SUM.replace("AXIS", "0").replace("SIZE", "128") + "  store %y, %11, distance=%2\n")
    assert "barrier" not in rows(once["layout/03-barriers"])


def test_ops_remember_where_they_come_from():
    function = parse_function(HEAD + PLACES + TRANSPOSED + "}\n", OPS)
    known = {op.uid for op in function.walk()}
    for op in assign(function).walk():
        assert function.provenance.ancestors([op.uid]) & known


WALKED = """\
kernel @walk(%x: ptr<f32>, %y: ptr<f32>, %n: i32) {num_warps = 4} {
  %1 = range {start = 0, end = 128} : tile<128xi32>
  %2 = constant {value = 0, type = type<i32>} : i32
  %3 = constant {value = 128, type = type<i32>} : i32
  %4.0, %4.1 = for %2, %n, %3, %x, %OTHER : ptr<f32>, ptr<f32> {
  ^(%4.i: i32, %4.a: ptr<f32>, %4.b: ptr<f32>):
    %5 = load %4.a, distance=%1 : tile<128xf32>
    store %4.b, %5, distance=%1
    %6 = offset %4.a, %3 : ptr<f32>
    %7 = offset %4.b, %3 : ptr<f32>
    yield %6, %7
  }
}
"""


@pytest.mark.parametrize(("other", "waits"), [("y", False), ("x", True)])
def test_pointers_that_walk_keep_their_array(other: str, waits: bool):
    function = parse_function(WALKED.replace("OTHER", other), OPS)
    final = [laid_out for _, laid_out in run_layout_passes(function, TARGETS["sm_80"])][-1]
    assert ("barrier" in rows(final)) is waits


ROWS_IN_PLACE = """\
kernel @rows(%x: ptr<f32>, %n: i32) {num_warps = 4} {
  %1 = range {start = 0, end = 128} : tile<128xi32>
  %2 = constant {value = 0, type = type<i32>} : i32
  %3 = constant {value = STEP, type = type<i32>} : i32
  for %2, %n, %3 {
  ^(%4.i: i32):
    %5 = offset %x, %4.i : ptr<f32>
    %6 = load %5, distance=%1 : tile<128xf32>
    %7 = add %6, %6 : tile<128xf32>
    store %5, %7, distance=%1
    yield
  }
}
"""


@pytest.mark.parametrize(("step", "waits"), [(128, False), (-256, False), (64, True)])
def test_turns_that_share_elements_wait(step: int, waits: bool):
    function = parse_function(ROWS_IN_PLACE.replace("STEP", str(step)), OPS)
    final = [laid_out for _, laid_out in run_layout_passes(function, TARGETS["sm_80"])][-1]
    assert ("barrier" in rows(final)) is waits
