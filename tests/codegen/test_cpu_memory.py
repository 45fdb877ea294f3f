"""Native accesses: any length, mask, stride and dtype; overlapping arrays; nothing outside an array is ever touched."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.codegen.native_runs import ONE, agree, machines, parse, run_natively, slots
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.base.dtypes import DTYPES
from tinyton_lab.codegen.cpu import compile, nests
from tinyton_lab.llvm import native
from tinyton_lab.runtime.cpu import CpuKernel

BLOCK = 64


def copy(body: str, dtype: str = "f32", block: int = BLOCK) -> str:
    """A kernel over `offsets` (%6) = program * block + range, with `n` lanes on (%8)."""
    return (
        f"""\
kernel @k(%x: ptr<T>, %o: ptr<T>, %n: i32, %s: i32) {{
  %1 = program_id {{axis = 0}} : i32
  %2 = constant {{value = {block}, type = type<i32>}} : i32
  %3 = mul %1, %2 : i32
  %4 = range {{start = 0, end = {block}}} : tile<BxI>
  %5 = splat %3 {{shape = [{block}]}} : tile<BxI>
  %6 = add %5, %4 : tile<BxI>
  %7 = splat %n {{shape = [{block}]}} : tile<BxI>
  %8 = lt %6, %7 : tile<Bxi1>
{body}}}
""".replace("BxI", f"{block}xi32")
        .replace("tile<B", f"tile<{block}")
        .replace("xT>", f"x{dtype}>")
        .replace("ptr<T>", f"ptr<{dtype}>")
    )


PLUS_ITSELF = """\
  %9 = load %x, distance=%6, mask=%8 : tile<BxT>
  %10 = add %9, %9 : tile<BxT>
  store %o, %10, distance=%6, mask=%8
"""


@pytest.mark.parametrize("dtype", [name for name in DTYPES if not DTYPES[name].storage_only])
def test_any_length_of_any_dtype(dtype: str) -> None:
    numpy = DTYPES[dtype].numpy
    for n in (0, 1, 7, 15, 16, 17, 63, 64, 65, 200):
        x = np.arange(n).astype(numpy)
        agree(copy(PLUS_ITSELF, dtype), (max(math.ceil(n / BLOCK), 1), 1, 1), x, np.zeros_like(x), n, 0)


def test_blocks_that_are_no_power_of_two() -> None:
    for block in (1, 3, 17, 100):
        x = np.arange(250, dtype=np.float32)
        agree(copy(PLUS_ITSELF, block=block), (math.ceil(250 / block), 1, 1), x, np.zeros_like(x), 250, 0)


ODD_ONES = """\
  %9 = constant {value = 2, type = type<tile<BxI>>} : tile<BxI>
  %10 = mod %6, %9 : tile<BxI>
  %11 = cast %10 {to = i1} : tile<Bxi1>
  %12 = and %11, %8 : tile<Bxi1>
  %13 = constant {value = 3, type = type<tile<BxT>>} : tile<BxT>
  %14 = load %x, distance=%6, mask=%12, other=%13 : tile<BxT>
  store %o, %14, distance=%6, mask=%8
  store %x, %13, distance=%6, mask=%12
"""


@pytest.mark.parametrize("dtype", ["i8", "i16", "f16", "f32", "i64", "f64", "i1"])
def test_arbitrary_masks(dtype: str) -> None:
    body = ODD_ONES if DTYPES[dtype].kind != "float" else ODD_ONES.replace("value = 3", "value = 3.0")
    x = np.arange(150).astype(DTYPES[dtype].numpy)
    agree(copy(body, dtype), (3, 1, 1), x, np.zeros_like(x), 150, 0)


STRIDED = """\
  %9 = splat %s {shape = [BLOCK]} : tile<BxI>
  %10 = mul %6, %9 : tile<BxI>
  %11 = splat %x {shape = [BLOCK]} : tile<Bxptr<T>>
  %12 = offset %11, %10 : tile<Bxptr<T>>
  %13 = load %12, mask=%8 : tile<BxT>
  store %o, %13, distance=%6, mask=%8
""".replace("BLOCK", str(BLOCK))


@pytest.mark.parametrize("step", [1, 2, 3, -1, -2, 0])
def test_strides_known_at_run_time(step: int) -> None:
    base = np.arange(400, dtype=np.float32)
    view = base[::step][:100] if step else base[5:6]
    grid = (2, 1, 1)
    ours = np.zeros(100, np.float32)
    run_natively(copy(STRIDED), grid, view, ours, 100, step)
    np.testing.assert_array_equal(ours, view if step else np.full(100, 5, np.float32))


def gather(block: int = BLOCK) -> str:
    return f"""\
kernel @k(%x: ptr<f32>, %i: ptr<i64>, %o: ptr<f32>) {{
  %1 = range {{start = 0, end = {block}}} : tile<{block}xi32>
  %2 = load %i, distance=%1 : tile<{block}xi64>
  %3 = load %x, distance=%2 : tile<{block}xf32>
  store %o, %3, distance=%2
  store %x, %3, distance=%1
}}
"""


def test_gather_and_scatter() -> None:
    random = np.random.default_rng(0)
    x = random.random(BLOCK, np.float32)
    agree(gather(), ONE, x, random.permutation(BLOCK), np.zeros_like(x))
    agree(gather(), ONE, x, random.integers(0, BLOCK, BLOCK), np.zeros_like(x))  # the last of equal indices stays


def shifted(source: np.ndarray, by: int) -> tuple[np.ndarray, np.ndarray]:
    return (source[by:], source[: len(source) - by]) if by >= 0 else (source[:by], source[-by:])


@pytest.mark.parametrize("by", [-40, -16, -1, 0, 1, 2, 16, 40])
def test_overlapping_arrays_are_read_before_they_are_written(by: int) -> None:
    base = np.arange(BLOCK + abs(by), dtype=np.float32)
    x, out = shifted(base, by)
    want = out.copy() if by == 0 else None
    expected = x + x
    run_natively(copy(PLUS_ITSELF), ONE, x, out, BLOCK, 0)
    np.testing.assert_array_equal(out, expected)
    assert want is None or (base[:BLOCK] == 2 * want).all()


TWICE = """\
  %9 = load %x, distance=%6, mask=%8 : tile<BxT>
  store %o, %9, distance=%6, mask=%8
  %10 = load %x, distance=%6, mask=%8 : tile<BxT>
  %11 = add %9, %10 : tile<BxT>
  store %o, %11, distance=%6, mask=%8
"""


@pytest.mark.parametrize("by", [-3, 0, 3])
def test_loads_stay_on_their_side_of_a_store(by: int) -> None:
    for name in ("ours", "theirs"):
        base = np.arange(BLOCK + 3, dtype=np.float32)
        x, out = shifted(base, by) if by else (base[:BLOCK], base[:BLOCK])
        first = x.copy()
        if name == "ours":
            run_natively(copy(TWICE), ONE, x, out, BLOCK, 0)
            got = out.copy()
        else:
            out[:BLOCK] = first[:BLOCK]
            out[:BLOCK] = first[:BLOCK] + x[:BLOCK].copy()
            np.testing.assert_array_equal(got, out)


SWAP = """\
kernel @k(%x: ptr<i32>) {
  %1 = range {start = 0, end = 64} : tile<64xi32>
  %2 = constant {value = 63, type = type<tile<64xi32>>} : tile<64xi32>
  %3 = sub %2, %1 : tile<64xi32>
  %4 = load %x, distance=%3 : tile<64xi32>
  store %x, %4, distance=%1
}
"""


def test_one_array_reversed_in_place() -> None:
    x = np.arange(64, dtype=np.int32)
    agree(SWAP, ONE, x)


def fenced(n: int, dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray]:
    """An array of `n` elements amid bytes that nobody may change."""
    whole = np.full(n + 512, 77, dtype)
    whole[256 : 256 + n] = 0
    return whole, whole[256 : 256 + n]


STORE_AT = """\
kernel @k(%x: ptr<f32>, %i: i64, %n: i64) {
  %1 = range {start = 0, end = 64} : tile<64xi32>
  %2 = cast %1 {to = i64} : tile<64xi64>
  %3 = splat %i {shape = [64]} : tile<64xi64>
  %4 = add %2, %3 : tile<64xi64>
  %5 = constant {value = 1.0, type = type<tile<64xf32>>} : tile<64xf32>
  %6 = splat %n {shape = [64]} : tile<64xi64>
  %7 = lt %2, %6 : tile<64xi1>
  store %x, %5, distance=%4, mask=%7
}
"""
STORE_ONE = """\
kernel @k(%x: ptr<f32>, %i: i64, %n: i64) {
  %1 = offset %x, %i : ptr<f32>
  %2 = constant {value = 1.0, type = type<f32>} : f32
  store %1, %2
}
"""
STORE_EACH = STORE_AT.replace(
    "  store %x, %5, distance=%4",
    "  %8 = mul %4, %4 : tile<64xi64>\n  %9 = mul %3, %3 : tile<64xi64>\n  %10 = sub %8, %9 : tile<64xi64>\n"
    "  %11 = add %10, %3 : tile<64xi64>\n  store %x, %5, distance=%11",
)


@pytest.mark.parametrize("text", [STORE_AT, STORE_ONE, STORE_EACH], ids=["contiguous", "scalar", "each lane"])
@pytest.mark.parametrize("index", [-1, -63, 100, 101, 1 << 20, 1 << 31, 1 << 40, -(1 << 40)])
def test_stores_outside_are_faults_that_touch_nothing(text: str, index: int) -> None:
    whole, x = fenced(100)
    with pytest.raises(TinytonError, match=f"TT4001: program .* would store element {index} of x"):
        run_natively(text, ONE, x, index, 64)
    assert (whole[:256] == 77).all() and (whole[356:] == 77).all()


def test_the_first_element_outside_is_named() -> None:
    _, x = fenced(100)
    with pytest.raises(TinytonError, match="element 100 of x, which has the elements 0 to 99"):
        run_natively(STORE_AT, ONE, x, 70, 64)
    run_natively(STORE_AT, ONE, x, 70, 30)
    run_natively(STORE_AT, ONE, x, 1 << 40, 0)


def test_a_fault_names_the_first_program_that_meets_it() -> None:
    x = np.zeros(1 << 16, np.float32)
    with pytest.raises(TinytonError, match=r"program \(700, 0, 0\) would load element 44800 of x"):
        run_natively(copy(PLUS_ITSELF), (1024, 1, 1), x[:44800], x, 1 << 16, 0)


@pytest.mark.parametrize("cut", [np.s_[::2], np.s_[::-3], np.s_[40:60], np.s_[90:10:-1]])
def test_gaps_of_views_are_outside(cut: slice) -> None:
    base = np.zeros(100, np.float32)
    view = base[cut]
    inside = {int(k) for k in np.flatnonzero(np.isin(np.arange(100), np.arange(100)[cut]))}
    start = int(np.arange(100)[cut][0])
    for index in range(100):
        base[:] = 0
        if index in inside:
            run_natively(STORE_ONE, ONE, view, index - start, 1)
            assert base[index] == 1
        else:
            with pytest.raises(TinytonError, match=f"element {index - start} of x"):
                run_natively(STORE_ONE, ONE, view, index - start, 1)
            assert not base.any()


def test_rows_of_a_view_run_in_one_check() -> None:
    base = np.zeros((8, 100), np.float32)
    view = base[:, 10:74]
    run_natively(STORE_AT, ONE, view, 300, 64)
    assert view[3].all() and base.sum() == 64
    with pytest.raises(TinytonError, match="element 364 of x"):
        run_natively(STORE_AT, ONE, view, 301, 64)
    assert base.sum() == 64


def test_pointers_made_of_integers_are_checked_against_all_arrays() -> None:
    text = """\
kernel @k(%x: ptr<f32>, %a: i64) {
  %1 = int_to_pointer %a {to = f32} : ptr<f32>
  %2 = constant {value = 5.0, type = type<f32>} : f32
  store %1, %2
}
"""
    whole, x = fenced(4)
    run_natively(text, ONE, x, x.ctypes.data + 8)
    assert x.tolist() == [0, 0, 5, 0]
    with pytest.raises(TinytonError, match="TT4001"):
        run_natively(text, ONE, x, x.ctypes.data + 16)
    with pytest.raises(TinytonError, match="TT4001"):
        run_natively(text, ONE, x, 0)
    assert (whole[260:] == 77).all()


def test_unchecked_code_is_the_same_without_checks() -> None:
    x = np.arange(150, dtype=np.float32)
    out = np.zeros_like(x)
    run_natively(copy(PLUS_ITSELF), (3, 1, 1), x, out, 150, 0, checked=False)
    np.testing.assert_array_equal(out, 2 * x)


def test_misaligned_arrays_are_refused() -> None:
    raw = np.zeros(64, np.uint8)
    x = raw[raw.ctypes.data % 4 + 1 :][:40].view(np.float32)
    with pytest.raises(TinytonError, match="TT4002: this would store at byte 0 of x"):
        run_natively(STORE_ONE, ONE, x, 0, 1)
    assert not raw.any()


@pytest.mark.parametrize("machine", machines(), ids=lambda machine: machine.cpu)
@pytest.mark.parametrize("block", [64, 100, 256])
@pytest.mark.parametrize("mask", [", mask=%8", ""])
def test_rows_written_past_the_cache_are_whole(
    mask: str, block: int, machine: native.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nests, "STREAMING_BYTES", 1)
    text = copy(PLUS_ITSELF.replace("add", "mul").replace(", mask=%8", mask), block=block)
    code = compile(parse(text), machine=machine)
    assert "!nontemporal" in code.text
    kernel = CpuKernel(code)
    x = np.arange(3 * block, dtype=np.float32)
    for first in (0, 1, 4, 15):  # wherever a row begins within a line of the cache
        out = np.zeros(3 * block + 64, np.float32)
        begin = -out.ctypes.data % 64 // 4 + first
        view = out[begin : begin + 3 * block]
        kernel.launch((3, 1, 1), slots([x, view, 3 * block, 0]))
        np.testing.assert_array_equal(view, x * x)
        assert not out[:begin].any() and not out[begin + 3 * block :].any()
