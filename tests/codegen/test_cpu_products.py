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


def places(number: int, rows: int, columns: int, down: int, across: int) -> str:
    """Offsets of a matrix whose elements are so far apart, as the value ``%<number>2``."""
    n, shape = number * 10, f"{rows}x{columns}"
    return f"""\
  %{n + 3} = range {{start = 0, end = {rows}}} : tile<{rows}xi32>
  %{n + 4} = constant {{value = {down}, type = type<tile<{rows}xi32>>}} : tile<{rows}xi32>
  %{n + 5} = mul %{n + 3}, %{n + 4} : tile<{rows}xi32>
  %{n + 6} = expand %{n + 5} {{axis = 1}} : tile<{rows}x1xi32>
  %{n + 7} = broadcast %{n + 6} {{shape = [{rows}, {columns}]}} : tile<{shape}xi32>
  %{n + 8} = range {{start = 0, end = {columns}}} : tile<{columns}xi32>
  %{n + 9} = constant {{value = {across}, type = type<tile<{columns}xi32>>}} : tile<{columns}xi32>
  %{n}0 = mul %{n + 8}, %{n + 9} : tile<{columns}xi32>
  %{n}1 = expand %{n}0 {{axis = 0}} : tile<1x{columns}xi32>
  %{n}3 = broadcast %{n}1 {{shape = [{rows}, {columns}]}} : tile<{shape}xi32>
  %{n + 2} = add %{n + 7}, %{n}3 : tile<{shape}xi32>
"""


def operand(name: str, number: int, rows: int, columns: int, source: str, lies: str) -> tuple[str, str]:
    """Offsets, and the load of a matrix that lies in ``rows``, or in columns: by its ``steps``, or ``turned`` after."""
    value, at = f"%{50 + number}", f"distance=%{10 * number + 2}"
    if lies == "turned":
        loaded = f"{value}0 = load %{name}, {at} : tile<{columns}x{rows}x{source}>"
        made = f"{value} = transpose {value}0 {{order = [1, 0]}} : tile<{rows}x{columns}x{source}>"
        return places(number, columns, rows, rows, 1), f"  {loaded}\n  {made}\n"
    apart = (1, rows) if lies == "steps" else (columns, 1)
    return places(number, rows, columns, *apart), f"  {value} = load %{name}, {at} : tile<{rows}x{columns}x{source}>\n"


def program(source: str, out: str, m: int, n: int, k: int, form: str, a: str = "rows", b: str = "rows") -> str:
    """A kernel that multiplies once (``plain``, ``start``, ``sum``) or in a loop of three turns (``loop`` ...).

    `a` and `b` say how the operands lie.
    """
    head = f"kernel @product(%a: ptr<{source}>, %b: ptr<{source}>, %c: ptr<{out}>, %o: ptr<{out}>) {{\n"
    (a_places, a_load), (b_places, b_load) = operand("a", 1, m, k, source, a), operand("b", 2, k, n, source, b)
    head += a_places + b_places + places(3, m, n, n, 1)
    head += f"  %41 = load %c, distance=%32 : tile<{m}x{n}x{out}>\n"
    loads = a_load + b_load
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
    """A loop keeps its accumulator in one place: the scratch is the three tiles."""
    text = program("f32", "f32", 64, 32, 16, form)
    plan = clusters.plan(parse(text))
    (step,) = [step for steps in plan.steps.values() for step in steps if step.product is not None]
    assert step.product is not None and step.product.in_place
    tiles = 4 * (64 * 16 + 16 * 32 + 64 * 32)
    assert kernel(text).code.scratch_bytes == 64 + tiles


@pytest.mark.parametrize("a", ["rows", "steps", "turned"])
@pytest.mark.parametrize("b", ["rows", "steps", "turned"])
@pytest.mark.parametrize("route", ["f32", "f64"])
def test_operands_that_lie_in_columns_have_the_interpreters_bits(route: str, a: str, b: str):
    dtype, out, result = ROUTES[route]
    for m, n, k in ((16, 32, 64), (4, 64, 2), (2, 2, 16), (1, 8, 8), (8, 1, 4), (8, 4, 1)):
        arrays = numbers(dtype, m, k), numbers(dtype, k, n), numbers(result, m, n), np.zeros((m, n), result)
        for machine in machines():
            agree(program(route, out, m, n, k, "loop start", a, b), ONE, *arrays, machine=machine)


@pytest.mark.parametrize("lies", ["steps", "turned"])
def test_columns_are_read_as_they_lie_or_turned_in_registers(lies: str):
    """No element is moved on its own: what would be taken out of vectors is written as vectors."""
    text = compile(parse(program("f32", "f32", 32, 32, 32, "plain", lies, lies))).text
    assert "extractelement" not in text and "shufflevector" in text


def test_the_transpose_of_a_product_is_read_where_the_product_lies():
    text = program("f32", "f32", 16, 32, 16, "plain").replace(
        "store %o, %61, distance=%32",
        """\
%62 = constant {value = 0.5, type = type<tile<16x32xf32>>} : tile<16x32xf32>
  %63 = mul %52, %62 : tile<16x32xf32>
  %64 = transpose %61 {order = [1, 0]} : tile<32x16xf32>
  %65 = dot %64, %63 {out = f32} : tile<32x32xf32>
  %66 = dot %61, %65 {out = f32} : tile<16x32xf32>
  store %o, %66, distance=%32""",
    )
    plan = clusters.plan(parse(text))
    first, second, third = (s.product for steps in plan.steps.values() for s in steps if s.product is not None)
    assert second.a is third.a is first.result and second.a_turned and not third.a_turned
    arrays = [numbers(np.float32, *shape) for shape in ((16, 16), (16, 32), (16, 32))]
    for machine in machines():
        agree(text, ONE, *arrays, np.zeros((16, 32), np.float32), machine=machine)


def test_what_is_made_ahead_of_a_loop_is_turned_there():
    text = program("f32", "f32", 16, 16, 16, "loop start", b="turned")
    made = [line for line in text.splitlines(keepends=True) if line.strip().startswith("%52")]
    ahead = "".join(line for line in text.splitlines(keepends=True) if line not in made)
    ahead = ahead.replace("  %71 = for", "".join(made) + "  %71 = for")
    for source, turns in ((text, True), (ahead, False)):
        plan = clusters.plan(parse(source))
        (step,) = [step for steps in plan.steps.values() for step in steps if step.product is not None]
        assert step.product is not None and step.product.b_turned == turns
        agree(source, ONE, *(numbers(np.float32, 16, 16) for _ in range(3)), np.zeros((16, 16), np.float32))


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
