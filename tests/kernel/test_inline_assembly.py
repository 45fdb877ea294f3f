"""PTX in a kernel: packed operands, several results, and a located refusal where there is no PTX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl


@tt.jit
def reverse(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    y = tl.inline_asm_elementwise("brev.b32 $0, $1;", "=r,r", [tl.load(x + i)], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out + i, y)


@tt.jit
def nibbles(x, low, high, N: tl.constexpr):
    i = tl.arange(0, N)
    least, most = tl.inline_asm_elementwise(
        asm="""{
            and.b32 $0, $2, 0x0f0f0f0f;
            and.b32 $1, $2, 0xf0f0f0f0;
        }""",
        constraints="=r,=r,r",
        args=[tl.load(x + i)],
        dtype=(tl.uint8, tl.uint8),
        is_pure=True,
        pack=4,
    )
    tl.store(low + i, least)
    tl.store(high + i, most)


@tt.jit
def halves(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, tl.inline_asm_elementwise("add.rn.f16x2 $0, $1, $1;", "=r,r", [a], tl.float16, False, 2))


def test_a_word_at_a_time():
    x, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    reverse[(1,)](x, out, 64, backend="sim")
    assert out.view(np.uint32).tolist() == [int(f"{n:032b}"[::-1], 2) for n in range(64)]


@pytest.mark.parametrize("length", [2, 256])
def test_four_bytes_at_a_time(length: int):
    x = np.arange(length).astype(np.uint8)
    low, high = np.zeros(length, np.uint8), np.zeros(length, np.uint8)
    nibbles[(1,)](x, low, high, length, backend="sim")
    assert low.tolist() == (x & 15).tolist() and high.tolist() == (x & 240).tolist()


@pytest.mark.parametrize("length", [1, 2, 256])
def test_two_halves_at_a_time(length: int):
    x, out = np.arange(length).astype(np.float16), np.zeros(length, np.float16)
    halves[(1,)](x, out, length, backend="sim")
    assert out.tolist() == (x + x).tolist()


@pytest.mark.parametrize("engine", ["cpu", "interpreter", "eager"])
def test_without_ptx_it_is_refused(engine: str):
    x: Any = np.zeros(64, np.int32)
    with pytest.raises(tt.TinytonError, match="assembly of i32 does not run on the engine") as caught:
        reverse[(1,)](x, x, 64, backend=engine)
    assert caught.value.code == "TT5012" and "sim" in caught.value.hint and caught.value.span is not None
