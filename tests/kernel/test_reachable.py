"""Arrays that a kernel reaches through addresses in memory: listed at the launch, checked like arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl
from tinyton_lab.base.diagnostics import TinytonError

ENGINES: list[dict[str, Any]] = [
    {"backend": "eager"},
    {"backend": "interpreter"},
    {"backend": "cpu"},
    {"backend": "sim"},
    {"backend": "sim", "simulator": "fast"},
]


@tt.jit
def grouped(addresses, sizes, K: tl.constexpr, B: tl.constexpr):
    """Products of square matrices of several sizes, each at addresses of its own: one program per matrix."""
    group = tl.program_id(0)
    a, b, c = (tl.load(addresses + 3 * group + part).to(tl.pointer_type(tl.float32)) for part in tl.static_range(3))
    n = tl.load(sizes + group)
    i, j = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    inside = (i < n) & (j < n)
    x = tl.load(a + i * n + j, mask=inside, other=0.0)
    y = tl.load(b + i * n + j, mask=inside, other=0.0)
    product = tl.sum(x[:, :, None] * y[None, :, :], axis=1)
    tl.store(c + i * n + j, product, mask=inside)


def matrices() -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    arrays = [draw.integers(-4, 5, (n, n)).astype(np.float32) for n in (3, 16, 7) for _ in range(3)]
    return arrays, np.array([x.ctypes.data for x in arrays], np.int64), np.array([3, 16, 7], np.int32)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: "-".join(engine.values()))
def test_a_table_of_addresses_is_followed(engine: dict[str, Any]):
    arrays, addresses, sizes = matrices()
    grouped[(3,)](addresses, sizes, 16, 16, reachable=arrays, **engine)
    for a, b, c in zip(*[iter(arrays)] * 3):
        assert (c == a @ b).all()


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: "-".join(engine.values()))
def test_what_is_not_listed_is_out_of_bounds(engine: dict[str, Any]):
    arrays, addresses, sizes = matrices()
    before = arrays[5].copy()
    with pytest.raises(TinytonError) as caught:
        grouped[lambda _: (3,)](addresses, sizes, 16, 16, reachable=arrays[:5] + arrays[6:], **engine)
    assert caught.value.code in ("TT4001", "TT6011") and caught.value.span is not None
    assert "tl.store(c" in str(caught.value) and (arrays[5] == before).all()


def test_read_only_arrays_stay_so():
    arrays, addresses, sizes = matrices()
    arrays[2].flags.writeable = False
    with pytest.raises(TinytonError) as caught:
        grouped[(3,)](addresses, sizes, 16, 16, reachable=arrays, backend="cpu")
    assert caught.value.code == "TT3009"


def test_a_record_is_made_for_arguments_that_come_apart():
    arrays, addresses, sizes = matrices()
    compilation = tt.inspect(grouped, addresses, sizes, 16, 16, reachable=arrays)
    assert compilation.stages["ptx"].text and not compilation.diagnostics


@tt.jit
def summed(xs, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(xs[0] + i) + tl.load(xs[1] + i))


def test_tuples_can_be_inspected_and_traced():
    x = np.ones(8, np.float32)
    assert tt.inspect(summed, (x, x), x.copy(), 8).stages["ptx"].text
    assert tt.trace(summed, (x, x), x.copy(), 8, grid=(1,)).steps


PTX = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry follow(.param .u64 table)
{
    .reg .b32 %r; .reg .b64 %a;
    ld.param.u64 %a, [table];
    ld.global.u64 %a, [%a];
    ld.global.u32 %r, [%a+4];
    add.u32 %r, %r, 1;
    st.global.u32 [%a+4], %r;
    ret;
}
"""


@pytest.mark.parametrize("engine", ["trace", "fast"])
def test_ptx_of_others_follows_addresses(engine: str):
    x = np.array([5, 6], np.uint32)
    table = np.array([x.ctypes.data], np.uint64)
    tt.sim.load(PTX).launch("follow", 1, 1, [table], reachable=[x], engine=engine)
    assert x.tolist() == [5, 7]
