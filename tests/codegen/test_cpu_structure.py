"""Native nests: reductions along any axis with any combination, views, and control flow that carries tiles."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

from tests.codegen.native_runs import ONE, agree, parse, run_natively
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.base.dtypes import DTYPES
from tinyton_lab.codegen.cpu import compile


def spell(shape: tuple[int, ...], dtype: str) -> str:
    return f"tile<{''.join(f'{n}x' for n in shape)}{dtype}>" if shape else dtype


def dense(shape: tuple[int, ...], first: int, name: str) -> tuple[str, str]:
    """Lines that compute row-major offsets of a shape, and the value that holds them."""
    lines: list[str] = []
    total = ""
    value = first
    step = 1
    for axis in reversed(range(len(shape))):
        n = shape[axis]
        at = f"%{value}"
        lines.append(f"  {at} = range {{start = 0, end = {n}}} : {spell((n,), 'i32')}")
        current: tuple[int, ...] = (n,)
        for other in range(len(shape)):
            if other != axis:
                value += 1
                current = (*current[:other], 1, *current[other:])
                lines.append(f"  %{value} = expand {at} {{axis = {other}}} : {spell(current, 'i32')}")
                at = f"%{value}"
        value += 3
        lines.append(
            f"  %{value - 2} = broadcast {at} {{shape = [{', '.join(map(str, shape))}]}} : {spell(shape, 'i32')}"
        )
        lines.append(
            f"  %{value - 1} = constant {{value = {step}, type = type<{spell(shape, 'i32')}>}} : {spell(shape, 'i32')}"
        )
        lines.append(f"  %{value} = mul %{value - 2}, %{value - 1} : {spell(shape, 'i32')}")
        if total:
            value += 1
            lines.append(f"  %{value} = add {total}, %{value - 1} : {spell(shape, 'i32')}")
        total = f"%{value}"
        value += 1
        step *= n
    text = "\n".join(lines).replace("%", f"%{name}.")
    return text + "\n", total.replace("%", f"%{name}.")


def kernel(shape: tuple[int, ...], result: tuple[int, ...], body: str, dtype: str = "f32", out: str = "") -> str:
    """Load a dense tile as %x, compute %y of shape `result` in `body`, store it densely."""
    load, at = dense(shape, 1, "p")
    store, to = dense(result, 1, "q") if result else ("", "")
    out = out or dtype
    where = f", distance={to}" if result else ""
    return (
        f"kernel @k(%in: ptr<{dtype}>, %out: ptr<{out}>) {{\n{load}"
        f"  %x = load %in, distance={at} : {spell(shape, dtype)}\n{body}{store}  store %out, %y{where}\n}}\n"
    )


def numbers(count: int, dtype: str) -> np.ndarray:
    random = np.random.default_rng(count)
    kind = DTYPES[dtype].kind
    if kind == "bool":
        return random.random(count) < 0.7
    values = random.integers(-9 if kind != "uint" else 0, 10, count)
    return values.astype(DTYPES[dtype].numpy)


def reduce(axis: int, combine: str, result: str, dtype: str) -> str:
    lines = f"    %c = {combine} %a, %b : {dtype}\n    yield %c\n"
    return f"  %y = reduce %x {{axis = {axis}}} : {result} {{\n  ^(%a: {dtype}, %b: {dtype}):\n{lines}  }}\n"


SHAPES = [(1,), (5,), (16,), (100,), (256,), (3, 40), (16, 16), (40, 3), (1, 33), (33, 1), (3, 5, 32), (4, 20, 2)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reductions_along_every_axis(shape: tuple[int, ...]) -> None:
    for axis in range(len(shape)):
        result = (*shape[:axis], *shape[axis + 1 :])
        for combine, dtype in (("add", "f32"), ("max", "f16"), ("xor", "u8"), ("mul", "i64")):
            body = reduce(axis, combine, spell(result, dtype), dtype)
            x = numbers(prod(shape), dtype)
            agree(kernel(shape, result, body, dtype), ONE, x, np.zeros(max(prod(result), 1), x.dtype))


@pytest.mark.parametrize("combine", ["min", "max_nan", "min_nan", "and", "or", "add", "mul", "max"])
@pytest.mark.parametrize("dtype", ["i1", "i8", "u32", "f32", "f64", "bf16"])
def test_each_combination_of_each_dtype(combine: str, dtype: str) -> None:
    kind = DTYPES[dtype].kind
    if (combine in ("and", "or")) == (kind == "float") or (combine.endswith("nan") and kind != "float"):
        return
    x = numbers(67, dtype)
    if kind == "float" and combine not in ("add", "mul"):
        x[3], x[40] = np.nan, -0.0
    if combine == "mul":
        x[x == 0] = 1
        x[6:] = 1
    agree(kernel((67,), (), reduce(0, combine, dtype, dtype), dtype), ONE, x, np.zeros(1, x.dtype))


def test_maximum_of_nothing_but_nan() -> None:
    x = np.full(40, np.nan, np.float32)
    agree(kernel((40,), (), reduce(0, "max", "f32", "f32")), ONE, x, np.zeros(1, np.float32))


LAST = """\
  %i = range {start = 0, end = 64} : tile<64xi32>
  %h = constant {value = 41, type = type<tile<64xi32>>} : tile<64xi32>
  %v = lt %i, %h : tile<64xi1>
  %y, %w = reduce %x, %v {axis = 0} : f32, i1 {
  ^(%a: f32, %av: i1, %b: f32, %bv: i1):
    %c = select %bv, %b, %a : f32
    %d = or %av, %bv : i1
    yield %c, %d
  }
"""


def test_combinations_that_do_not_commute_keep_the_order() -> None:
    x = np.arange(64, dtype=np.float32)
    _, out = agree(kernel((64,), (), LAST), ONE, x, np.zeros(1, np.float32))
    assert out[0] == 40


ARGMAX = """\
  %i = range {start = 0, end = N} : tile<NxI>
  %v, %y = reduce %x, %i {axis = 0} : f32, i32 {
  ^(%a: f32, %ai: i32, %b: f32, %bi: i32):
    %g = gt %a, %b : i1
    %e = eq %a, %b : i1
    %f = lt %ai, %bi : i1
    %t = and %e, %f : i1
    %c = or %g, %t : i1
    %m = select %c, %a, %b : f32
    %k = select %c, %ai, %bi : i32
    yield %m, %k
  }
"""


@pytest.mark.parametrize("n", [1, 3, 16, 100, 512])
def test_argmax(n: int) -> None:
    x = numbers(n, "f32")
    body = ARGMAX.replace("NxI", f"{n}xi32").replace("end = N", f"end = {n}")
    _, out = agree(kernel((n,), (), body, out="i32"), ONE, x, np.zeros(1, np.int32))
    assert out[0] == np.argmax(x)


def test_views() -> None:
    body = """\
  %t = transpose %x {order = [1, 0]} : tile<24x10xf32>
  %r = reshape %t {shape = [6, 40]} : tile<6x40xf32>
  %s = add %r, %r : tile<6x40xf32>
  %u = transpose %s {order = [1, 0]} : tile<40x6xf32>
  %m = reduce %u {axis = 0} : tile<6xf32> {
  ^(%a: f32, %b: f32):
    %c = max %a, %b : f32
    yield %c
  }
  %n = expand %m {axis = 0} : tile<1x6xf32>
  %o = broadcast %n {shape = [40, 6]} : tile<40x6xf32>
  %y = sub %u, %o : tile<40x6xf32>
"""
    x = numbers(240, "f32")
    _, out = agree(kernel((10, 24), (40, 6), body), ONE, x, np.zeros(240, np.float32))
    u = (2 * x.reshape(10, 24).T.reshape(6, 40)).T
    np.testing.assert_array_equal(out.reshape(40, 6), u - u.max(axis=0))


def test_reshape_of_what_is_not_in_memory_yet() -> None:
    body = """\
  %b = reshape %x {shape = [3, 1, 8]} : tile<3x1x8xf32>
  %c = broadcast %b {shape = [3, 4, 8]} : tile<3x4x8xf32>
  %y = reshape %c {shape = [12, 8]} : tile<12x8xf32>
"""
    x = numbers(24, "f32")
    _, out = agree(kernel((24,), (12, 8), body), ONE, x, np.zeros(96, np.float32))
    np.testing.assert_array_equal(out.reshape(3, 4, 8), np.repeat(x.reshape(3, 1, 8), 4, axis=1))


LOOP = """\
  %lo = constant {value = 0, type = type<i32>} : i32
  %hi = constant {value = 5, type = type<i32>} : i32
  %st = constant {value = 1, type = type<i32>} : i32
  %z = add %x, %x : T
  %y, %w = for %lo, %hi, %st, %x, %z : T, T {
  ^(%i: i32, %a: T, %b: T):
BODY  }
"""


def loop(body: str) -> str:
    return LOOP.replace("BODY", body).replace("T", "tile<6x6xf32>")


@pytest.mark.parametrize(
    "body",
    [
        "    yield %b, %a\n",
        "    %c = add %a, %b : T\n    yield %b, %c\n",
        "    %c = transpose %a {order = [1, 0]} : T\n    %d = add %b, %c : T\n    yield %d, %a\n",
        "    %c = transpose %a {order = [1, 0]} : T\n    %d = sub %b, %c : T\n    yield %c, %d\n",
        "    yield %a, %a\n",
        "    %f = cast %i {to = f32} : f32\n    %g = splat %f {shape = [6, 6]} : T\n    yield %g, %b\n",
    ],
)
def test_loops_carry_tiles_all_at_once(body: str) -> None:
    x = numbers(36, "f32")
    agree(kernel((6, 6), (6, 6), loop(body)), ONE, x, np.zeros(36, np.float32))


MIXED = """\
  %lo = constant {value = 0, type = type<i32>} : i32
  %hi = constant {value = 4, type = type<i32>} : i32
  %st = constant {value = 1, type = type<i32>} : i32
  %m0 = reduce %x {axis = 1} : tile<6xf32> {
  ^(%ra: f32, %rb: f32):
    %rc = max %ra, %rb : f32
    yield %rc
  }
  %y, %m = for %lo, %hi, %st, %x, %m0 : tile<6x8xf32>, tile<6xf32> {
  ^(%i: i32, %a: tile<6x8xf32>, %b: tile<6xf32>):
    %e = expand %b {axis = 1} : tile<6x1xf32>
    %f = broadcast %e {shape = [6, 8]} : tile<6x8xf32>
    %c = add %a, %f : tile<6x8xf32>
    %s = reduce %c {axis = 1} : tile<6xf32> {
    ^(%sa: f32, %sb: f32):
      %sc = add %sa, %sb : f32
      yield %sc
    }
    %h = constant {value = 0.125, type = type<tile<6xf32>>} : tile<6xf32>
    %g = mul %s, %h : tile<6xf32>
    yield %c, %g
  }
"""


def test_loops_carry_tiles_of_several_shapes() -> None:
    x = numbers(48, "f32")
    agree(kernel((6, 8), (6, 8), MIXED), ONE, x, np.zeros(48, np.float32))


CHOICE = """\
  %s = reduce %x {axis = 0} : f32 {
  ^(%a: f32, %b: f32):
    %c = add %a, %b : f32
    yield %c
  }
  %z = constant {value = 0.0, type = type<f32>} : f32
  %t = gt %s, %z : i1
  %y, %n = if %t : tile<50xf32>, i32 {
    %d = add %x, %x : tile<50xf32>
    %one = constant {value = 1, type = type<i32>} : i32
    yield %d, %one
  } {
    %two = constant {value = 2, type = type<i32>} : i32
    yield %x, %two
  }
  %o = constant {value = 50, type = type<i32>} : i32
  %p = offset %out, %o : ptr<f32>
  %f = cast %n {to = f32} : f32
  store %p, %f
"""


@pytest.mark.parametrize("sign", [1, -1])
def test_branches_yield_tiles(sign: int) -> None:
    x = np.abs(numbers(50, "f32")) * sign
    agree(kernel((50,), (50,), CHOICE), ONE, x, np.zeros(51, np.float32))


WHILE = """\
  %k0 = constant {value = 0, type = type<i32>} : i32
  %one = constant {value = 1, type = type<i32>} : i32
  %lim = constant {value = 40.0, type = type<f32>} : f32
  %y, %k = while %x, %k0 : tile<20xf32>, i32 {
  ^(%a: tile<20xf32>, %n: i32):
    %s = reduce %a {axis = 0} : f32 {
    ^(%p: f32, %q: f32):
      %r = max %p, %q : f32
      yield %r
    }
    %c = lt %s, %lim : i1
    condition %c, %a, %n
  } {
  ^(%a2: tile<20xf32>, %n2: i32):
    %d = add %a2, %a2 : tile<20xf32>
    %n3 = add %n2, %one : i32
    yield %d, %n3
  }
"""


def test_while_loops_carry_tiles() -> None:
    x = np.abs(numbers(20, "f32")) + 1
    agree(kernel((20,), (20,), WHILE), ONE, x, np.zeros(20, np.float32))


@pytest.mark.parametrize(
    ("lower", "upper", "step"),
    [(0, 10, 3), (0, 0, 1), (5, 0, 1), (10, 0, -4), (0, 10, -1), (3, 3, 0), (0, 5, 0), (2**31 - 9, 2**31 - 1, 5),
     (-(2**31), -(2**31) + 5, 2), (-(2**31), 2**31 - 1, 2**30)],
)  # fmt: skip
def test_trip_counts(lower: int, upper: int, step: int) -> None:
    text = """\
kernel @k(%o: ptr<i32>, %a: i32, %b: i32, %c: i32) {
  %1 = constant {value = 0, type = type<i32>} : i32
  %2 = constant {value = 1, type = type<i32>} : i32
  %3, %4 = for %a, %b, %c, %1, %1 : i32, i32 {
  ^(%i: i32, %n: i32, %s: i32):
    %5 = add %n, %2 : i32
    %6 = add %s, %i : i32
    yield %5, %6
  }
  store %o, %3
  %7 = offset %o, %2 : ptr<i32>
  store %7, %4
}
"""
    out = np.zeros(2, np.int32)
    run_natively(text, ONE, out, lower, upper, step)
    turns = range(lower, upper, step) if step else range(0)
    assert out[0] == len(turns) and out[1] == np.array(sum(turns), object).astype(object) % 2**32 - (
        2**32 if sum(turns) % 2**32 >= 2**31 else 0
    )


def test_expensive_values_are_kept_and_shared() -> None:
    chain = "".join(f"  %e{k + 1} = mul %e{k}, %e{k} : tile<40x30xf32>\n" for k in range(12))
    body = f"""\
  %e0 = add %x, %x : tile<40x30xf32>
{chain}  %m = reduce %e12 {{axis = 1}} : tile<40xf32> {{
  ^(%a: f32, %b: f32):
    %c = add %a, %b : f32
    yield %c
  }}
  %n = expand %m {{axis = 1}} : tile<40x1xf32>
  %o = broadcast %n {{shape = [40, 30]}} : tile<40x30xf32>
  %y = sub %e12, %o : tile<40x30xf32>
"""
    x: Any = np.where(numbers(1200, "f32") > 0, 0.5, -0.5).astype(np.float32)
    agree(kernel((40, 30), (40, 30), body), ONE, x, np.zeros(1200, np.float32))


def test_the_same_function_gives_the_same_text() -> None:
    text = kernel((6, 8), (6, 8), MIXED)
    first, second = (compile(parse(text)) for _ in range(2))
    assert first.text == second.text and first.line_uids == second.line_uids


def test_assembly_knows_the_ops_of_its_lines() -> None:
    text = kernel((6, 8), (6, 8), MIXED)
    code = compile(parse(text))
    assembly, uids = code.assembly()
    lines = assembly.splitlines()
    assert len(lines) == len(uids)
    ops = {op.uid for op in parse(text).walk()}
    assert set(uids) - {0} <= ops
    sums = [line for line, uid in zip(lines, uids) if uid in ops and ("addps" in line or "fadd" in line)]
    assert sums


def test_products_are_fused_only_on_request() -> None:
    text = """\
kernel @k(%x: ptr<f32>, %o: ptr<f32>) {
  %1 = range {start = 0, end = 64} : tile<64xi32>
  %2 = load %x, distance=%1 : tile<64xf32>
  %3 = mul %2, %2 : tile<64xf32>
  %4 = add %3, %2 : tile<64xf32>
  store %o, %4, distance=%1
}
"""
    x = np.random.default_rng(1).random(64, np.float32)
    plain, fused = np.zeros_like(x), np.zeros_like(x)
    run_natively(text, ONE, x, plain)
    run_natively(text.replace(") {\n", ") {fp_fusion = true} {\n", 1), ONE, x, fused)
    exact = (x.astype(np.float64) * x + x).astype(np.float32)
    np.testing.assert_array_equal(plain, x * x + x)
    assert np.abs(fused - exact).max() <= np.abs(plain - exact).max() and (fused != plain).any()


@pytest.mark.parametrize("combine", ["add", "xor"])
def test_long_chains_that_share_their_operands(combine: str) -> None:
    chain = "".join(f"  %e{k + 1} = {combine} %e{k}, %e{k} : tile<64xi32>\n" for k in range(1500))
    body = f"  %e0 = add %x, %x : tile<64xi32>\n{chain}"
    body += "  %z = constant {value = 63, type = type<tile<64xi32>>} : tile<64xi32>\n"
    body += "  %i = and %e1500, %z : tile<64xi32>\n  %y = load %in, distance=%i : tile<64xi32>\n"
    x = numbers(64, "i32")
    _, out = agree(kernel((64,), (64,), body, "i32"), ONE, x, np.zeros(64, np.int32))
    assert (out == x[0]).all()


SUMMED = """\
  %y = reduce %x {axis = 0} : f32 {
  ^(%a: f32, %b: f32):
    %c = add %a, %b : f32
    yield %c
  }
"""


CENTRED = (
    SUMMED.replace("%y", "%sum")
    + """\
  %m = splat %sum {shape = [LENGTH]} : tile<LENGTHxf32>
  %d = sub %m, %x : tile<LENGTHxf32>
"""
    + SUMMED.replace("reduce %x", "reduce %d")
)


@pytest.mark.parametrize("n, body, ahead", [(2048, CENTRED, True), (64, CENTRED, False), (2048, SUMMED, False)])
def test_rows_that_are_reduced_again_ask_for_those_to_come(n: int, body: str, ahead: bool) -> None:
    text = kernel((n,), (), body.replace("LENGTH", str(n)))
    assert ("call void @llvm.prefetch" in compile(parse(text)).text) == ahead
    x = np.ones(n, np.float32)
    _, out = agree(text, ONE, x, np.zeros(1, np.float32))  # what lies ahead of the last row is nobody's
    assert out[0] == (n if body is SUMMED else n * (n - 1))


MASKED = """\
kernel @k(%x: ptr<f32>, %out: ptr<f32>, %n: i32) {
  %i = range {start = 0, end = 256} : tile<256xi32>
  %s = splat %n {shape = [256]} : tile<256xi32>
  %m = lt %i, %s : tile<256xi1>
  %v = load %x, distance=%i, mask=%m : tile<256xf32>
  %one = constant {value = 1.0, type = type<tile<256xf32>>} : tile<256xf32>
  %w = sub %v, %one : tile<256xf32>
  %z = constant {value = 0.5, type = type<tile<256xf32>>} : tile<256xf32>
  %c = select %m, %w, %z : tile<256xf32>
  %y = reduce %c {axis = 0} : f32 {
  ^(%a: f32, %b: f32):
    %d = add %a, %b : f32
    yield %d
  }
  store %out, %y
}
"""


@pytest.mark.parametrize("n", [0, 1, 100, 256, 300])
def test_what_a_mask_chooses_is_known_beyond_its_end(n: int) -> None:
    assert "i1> splat (i1 true), <" in compile(parse(MASKED)).text  # within its end every lane is on
    x = np.arange(300, dtype=np.float32)
    _, out, _ = agree(MASKED, ONE, x, np.zeros(1, np.float32), n)
    assert out[0] == sum(x[: min(n, 256)] - 1) + 0.5 * (256 - min(n, 256))


def test_a_row_that_several_steps_read_is_checked_once() -> None:
    text = compile(parse(kernel((64,), (), CENTRED.replace("LENGTH", "64")))).text
    assert text.count("call i1 @check.run(") == 2  # the row, and the place of the result


IN_A_BRANCH = """\
kernel @k(%in: ptr<f32>, %out: ptr<f32>, %c: i1) {
  %i = range {start = 0, end = 64} : tile<64xi32>
  %x = load %in, distance=%i : tile<64xf32>
  if %c {
    %y = reduce %x {axis = 0} : f32 {
    ^(%a: f32, %b: f32):
      %s = add %a, %b : f32
      yield %s
    }
    store %out, %y
    yield
  } {
    yield
  }
  %z = reduce %x {axis = 0} : f32 {
  ^(%d: f32, %e: f32):
    %t = max %d, %e : f32
    yield %t
  }
  store %out, %z
}
"""


@pytest.mark.parametrize("taken", [0, 1])
def test_a_check_in_a_branch_does_not_count_after_it(taken: int) -> None:
    out = np.zeros(1, np.float32)
    with pytest.raises(TinytonError) as raised:
        run_natively(IN_A_BRANCH, ONE, np.ones(63, np.float32), out, taken)
    assert raised.value.code == "TT4001"
    run_natively(IN_A_BRANCH, ONE, np.ones(64, np.float32), out, taken)
    assert out[0] == 1


def test_scalars_are_spread_over_lanes_ahead_of_the_loop() -> None:
    lines = compile(parse(kernel((2048,), (), CENTRED.replace("LENGTH", "2048")))).text.splitlines()
    spread = [number for number, line in enumerate(lines) if "shufflevector" in line and "zeroinitializer" in line]
    (squares,) = [number for number, line in enumerate(lines) if " fsub " in line and "<" in line][:1]
    assert spread and max(spread) < squares
    assert any(line.endswith(":") for line in lines[max(spread) : squares])
