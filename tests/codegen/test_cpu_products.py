"""Native products of matrices: the interpreter's bits for every dtype, shape and way to add; no memory but tiles."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.codegen.native_runs import ONE, agree, kernel, machines, parse
from tinyton_lab.base.dtypes import DTYPES
from tinyton_lab.codegen.cpu import clusters, compile, products
from tinyton_lab.llvm import native
from tinyton_lab.ops import product

RANDOM = np.random.default_rng(4)
ROUTES = {
    "f32": (np.float32, "f32", np.float32),
    "f64": (np.float64, "f64", np.float64),
    "f16": (np.float16, "f32", np.float32),
    "bf16": (ml_dtypes.bfloat16, "f32", np.float32),
    "f8e4nv": (ml_dtypes.float8_e4m3fn, "f32", np.float32),
    "f8e5": (ml_dtypes.float8_e5m2, "f16", np.float16),
    "i8": (np.int8, "i32", np.int32),
}


def places(number: int, rows: int, columns: int) -> str:
    """Row-major offsets of a matrix as the value ``%at<number>``."""
    n = number * 10
    shape = f"{rows}x{columns}"
    return f"""\
  %{n + 1} = range {{start = 0, end = {rows * columns}}} : tile<{rows * columns}xi32>
  %{n + 2} = reshape %{n + 1} {{shape = [{rows}, {columns}]}} : tile<{shape}xi32>
"""


def program(source: str, out: str, m: int, n: int, k: int, form: str) -> str:
    """A kernel that multiplies once (``plain``, ``start``, ``sum``) or in a loop of three turns (``loop`` ...)."""
    head = f"kernel @product(%a: ptr<{source}>, %b: ptr<{source}>, %c: ptr<{out}>, %o: ptr<{out}>) {{\n"
    head += places(1, m, k) + places(2, k, n) + places(3, m, n)
    head += f"  %41 = load %c, distance=%32 : tile<{m}x{n}x{out}>\n"
    loads = f"""\
  %51 = load %a, distance=%12 : tile<{m}x{k}x{source}>
  %52 = load %b, distance=%22 : tile<{k}x{n}x{source}>
"""
    result = f"tile<{m}x{n}x{out}>"
    attrs = "{out = " + out + "}"
    steps = {
        "plain": f"  %61 = dot %51, %52 {attrs} : {result}\n",
        "start": f"  %61 = dot %51, %52, acc=%old {attrs} : {result}\n",
        "sum": f"  %60 = dot %51, %52 {attrs} : {result}\n  %61 = add %old, %60 : {result}\n",
    }
    if not form.startswith("loop"):
        return head + loads + steps[form].replace("%old", "%41") + "  store %o, %61, distance=%32\n}\n"
    step = steps[form.removeprefix("loop ")].replace("%old", "%70.acc")
    inner = "".join(f"  {line}\n" for line in (loads + step).splitlines())
    return (
        head
        + f"""\
  %42 = constant {{value = 0, type = type<i32>}} : i32
  %43 = constant {{value = 3, type = type<i32>}} : i32
  %44 = constant {{value = 1, type = type<i32>}} : i32
  %71 = for %42, %43, %44, %41 : {result} {{
  ^(%70.i: i32, %70.acc: {result}):
{inner}    yield %61
  }}
  store %o, %71, distance=%32
}}
"""
    )


def numbers(dtype: type, *shape: int) -> np.ndarray:
    if np.dtype(dtype).kind == "i":
        return RANDOM.integers(-128, 128, shape).astype(dtype)
    return (RANDOM.standard_normal(shape) * 3).astype(dtype)


def check(route: str, m: int, n: int, k: int, form: str, machine: native.Machine | None = None) -> None:
    dtype, out, result = ROUTES[route]
    arrays = numbers(dtype, m, k), numbers(dtype, k, n), numbers(result, m, n), np.zeros((m, n), result)
    agree(program(route, out, m, n, k, form), ONE, *arrays, machine=machine)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("form", ["plain", "start", "sum", "loop start", "loop sum"])
def test_every_dtype_and_way_to_add_has_the_interpreters_bits(route: str, form: str):
    for machine in machines():
        check(route, 16, 16, 16, form, machine)


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 64, 2), (2, 4, 8), (4, 2, 1), (16, 1, 16), (32, 8, 64), (64, 128, 4)])
def test_shapes_that_fill_no_block_or_many(shape: tuple[int, int, int]):
    for machine in machines():
        check("f32", *shape, "start", machine)
        check("f64", *shape, "sum", machine)


@pytest.mark.parametrize("form", ["plain", "start", "sum", "loop start"])
@pytest.mark.parametrize("depth", [products.EXACT_DEPTH, 2 * products.EXACT_DEPTH])
def test_the_greatest_sums_of_small_integers_are_exact_and_wrap(depth: int, form: str):
    """Sums of -128 * -128, one more than of 127 * 127, and an accumulator at the end of i32."""
    a, b = np.full((4, depth), -128, np.int8), np.full((depth, 2), -128, np.int8)
    a[1], a[2, 1:], b[1:, 1] = 127, 1, 127
    c = np.full((4, 2), 2**31 - 1, np.int32)
    c[:, 1] = [-(2**31), 0, 1, -1]
    for machine in machines():
        agree(program("i8", "i32", 4, 2, depth, form), ONE, a, b, c, np.zeros_like(c), machine=machine)


@pytest.mark.parametrize(("depth", "instruction"), [(products.EXACT_DEPTH, "fma"), (2 * products.EXACT_DEPTH, "mul")])
def test_small_integers_are_summed_in_f32_where_that_is_exact(depth: int, instruction: str):
    text = compile(parse(program("i8", "i32", 4, 2, depth, "plain"))).text
    assert ("@llvm.fma" in text) == (instruction == "fma")


def test_special_values_pass_through():
    a, b = numbers(np.float32, 16, 16), numbers(np.float32, 16, 16)
    a[0, :3], a[1, 0], b[:, 2] = [np.inf, np.nan, -0.0], np.inf, 0.0
    agree(program("f32", "f32", 16, 16, 16, "start"), ONE, a, b, np.full((16, 16), -0.0, np.float32), np.zeros_like(a))


@pytest.mark.parametrize("form", ["loop start", "loop sum"])
def test_an_accumulator_stays_where_it_is(form: str):
    """A loop keeps its accumulator in one place: the scratch is the three tiles, and the offsets that reshapes keep."""
    text = program("f32", "f32", 64, 32, 16, form)
    plan = clusters.plan(parse(text))
    (step,) = [step for steps in plan.steps.values() for step in steps if step.product is not None]
    assert step.product is not None and step.product.in_place
    offsets = tiles = 4 * (64 * 16 + 16 * 32 + 64 * 32)
    assert kernel(text).code.scratch_bytes == 64 + tiles + offsets


def test_an_accumulator_that_is_read_again_is_kept():
    text = program("f32", "f32", 16, 16, 16, "start").replace(
        "store %o, %61,", "%81 = add %61, %41 : tile<16x16xf32>\n  store %o, %81,"
    )
    plan = clusters.plan(parse(text))
    assert [s.product.in_place for steps in plan.steps.values() for s in steps if s.product is not None] == [False]
    agree(text, ONE, *(numbers(np.float32, 16, 16) for _ in range(3)), np.zeros((16, 16), np.float32))


def test_a_matrix_times_itself_on_itself():
    text = program("f32", "f32", 16, 16, 16, "loop start").replace("dot %51, %52,", "dot %70.acc, %52,")
    agree(text, ONE, *(numbers(np.float32, 16, 16) for _ in range(3)), np.zeros((16, 16), np.float32))


def test_the_code_does_not_grow_with_the_tile():
    small, large = (
        len(compile(parse(program("f32", "f32", size, size, size, "loop start"))).text) for size in (32, 256)
    )
    assert large < 1.2 * small


def test_every_dtype_that_has_a_product_is_tried():
    wide = {dtype.name for dtype in DTYPES.values() if product.product_dtypes(dtype) and not dtype.storage_only}
    assert wide <= set(ROUTES)
