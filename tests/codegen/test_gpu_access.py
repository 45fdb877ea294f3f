"""Global memory on the GPU: widths, cache hints, null and byte-sized elements, and what a target cannot do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.codegen.simulation import simulate
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.base.targets import TARGETS
from tinyton_lab.codegen.gpu import GpuCode, compile
from tinyton_lab.ir.parse import parse_function
from tinyton_lab.ops import OPS

COPY = """\
kernel @copy(%x: ptr<TYPE> {divisibility = 16}, %o: ptr<TYPE> {divisibility = 16}, %n: i32) {num_warps = 1} {
  %1 = range {start = 0, end = 512} : tile<512xi32>
  %2 = splat %n {shape = [512]} : tile<512xi32>
  %3 = MASK %1, %2 : tile<512xi1>
  %4 = load %x, distance=%1, mask=%3 {LOAD} : tile<512xTYPE>
  store %o, %4, distance=%1 {STORE}
}
"""


def copied(
    type: str, mask: str = "lt", load: str = "vector = 0", store: str = "vector = 0", target: str = "sm_80"
) -> GpuCode:
    text = COPY.replace("TYPE", type).replace("MASK", mask).replace("LOAD", load).replace("STORE", store)
    return compile(parse_function(text, OPS), TARGETS[target])


@pytest.mark.parametrize(
    ("type", "store"),
    [("i1", "v4.b32"), ("i8", "v4.b32"), ("f16", "v4.b32"), ("f32", "v4.b32"), ("i64", "v2.b64"), ("f8e5", "v4.b32")],
)
def test_sixteen_bytes_go_at_once(type: str, store: str):
    code = copied(type)
    assert f"st.global.{store}" in code.ptx
    dtype = code.parameters[0][1].element.element.numpy  # type: ignore[union-attr]
    x = np.random.default_rng(0).integers(0, 2, 512).astype(np.float32).astype(dtype)
    arguments = {"x": x, "o": np.ones_like(x), "n": 300}
    simulate(code, (1,), arguments)
    wanted = np.where(np.arange(512) < 300, x.view(np.uint8 if x.itemsize == 1 else x.dtype), 0)
    assert (arguments["o"].view(wanted.dtype) == wanted).all()


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a"])
def test_hints_reach_the_instruction_where_the_target_has_them(target: str):
    cached = copied("f32", load='cache = ".cg"', store='cache = ".cs"', target=target)
    assert "ld.global.cg.b32" in cached.ptx and "st.global.cs.v4.b32" in cached.ptx
    evicting = copied("f32", load='eviction = "evict_first"', store='eviction = "evict_last"', target=target)
    assert ("L1::evict_first" in evicting.ptx) is (target != "sm_75")
    assert "ld.volatile.global" in copied("f32", load="volatile = true", target=target).ptx
    for code in (cached, evicting):
        assert code.assembled().cubin


SUM = """\
kernel @total(%x: ptr<f8e5>, %o: ptr<f8e5>) {num_warps = 1} {
  %1 = load %x : f8e5
  %2 = add %1, %1 : f8e5
  store %o, %2
}
"""


def test_what_has_no_code_is_told_before_code_is_made():
    with pytest.raises(TinytonError, match="add of f8e5 does not run on sm_80: .*not computed with") as caught:
        compile(parse_function(SUM, OPS), TARGETS["sm_80"])
    assert caught.value.code == "TT5012" and "on the engine" in caught.value.hint


BIG = """\
kernel @turn(%x: ptr<f64> {divisibility = 16}, %o: ptr<f64> {divisibility = 16}) {num_warps = 8} {
  %1 = range {start = 0, end = SIZE} : tile<SIZExi32>
  %2 = reshape %1 {shape = [ROWS, COLUMNS]} : tile<ROWSxCOLUMNSxi32>
  %3 = load %x, distance=%2 : tile<ROWSxCOLUMNSxf64>
  %4 = transpose %3 {order = [1, 0]} : tile<COLUMNSxROWSxf64>
  %5 = reshape %1 {shape = [COLUMNS, ROWS]} : tile<COLUMNSxROWSxi32>
  store %o, %4, distance=%5
}
"""


def turned(rows: int, columns: int, target: str) -> GpuCode:
    text = BIG.replace("SIZE", str(rows * columns)).replace("ROWS", str(rows)).replace("COLUMNS", str(columns))
    return compile(parse_function(text, OPS), TARGETS[target])


def test_much_shared_memory_is_asked_for_at_launch():
    code = turned(128, 64, "sm_80")
    assert (code.shared_bytes, code.dynamic_shared_bytes) == (65536, 65536)
    assert code.assembled().shared_bytes == 0
    x = np.random.default_rng(1).standard_normal((128, 64))
    arguments: dict[str, Any] = {"x": x, "o": np.zeros((64, 128))}
    simulate(code, (1,), arguments)
    assert (arguments["o"] == x.T).all()


def test_too_much_shared_memory_is_a_fault():
    with pytest.raises(TinytonError, match="needs 131072 bytes of shared memory, sm_75 has 65536") as caught:
        turned(128, 128, "sm_75")
    assert caught.value.code == "TT5013"
