"""Integer, bit and logic instructions against Python's own integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.ptx import table
from tinyton_lab.ptx.isa import TwoResults, resolve

assert table.ROWS
WORDS = ("u16", "u32", "u64", "s16", "s32", "s64")


def function(opcode: str) -> Callable[..., Any]:
    form = resolve(opcode)
    assert form.row.run is not None
    run = form.row.run(form)
    return run.both if isinstance(run, TwoResults) else run


def bits_of(name: str) -> int:
    return int(name[1:])


def values(name: str, seed: int, count: int = 400) -> np.ndarray:
    """Lane values of an integer type: ends of the range, small numbers, random ones."""
    dtype = resolve(f"min.{name}").type.compute
    info, rng = np.iinfo(dtype), np.random.default_rng(seed)
    special = [info.min, info.max, 0, 1, 2, 3, info.max - 1, info.min + 1, 7, 31, 32, 33, 255]
    special += [-1, -2, -7] if info.min < 0 else []
    small = rng.integers(max(info.min, -20), 20, count // 2)
    random = rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
    return np.concatenate([np.array(special, dtype), small.astype(dtype), random])


def wrap(value: int, name: str) -> int:
    width = bits_of(name)
    value &= (1 << width) - 1
    return value - (1 << width) if name[0] == "s" and value >> width - 1 else value


def ints(result: Any, name: str) -> list[int]:
    return [wrap(int(v), name) for v in np.asarray(result).ravel()]


def raw(x: np.ndarray, opcode: str, position: int) -> np.ndarray:
    """Lanes in the dtype that an operand's role wants."""
    form = resolve(opcode)
    roles = [role for role in form.row.roles if not role.written]
    type_ = form.type_of(roles[position])
    return x.view(type_.compute) if type_ and x.dtype.itemsize == type_.compute.itemsize else x


def truncating(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


BINARY: dict[str, Callable[[int, int, str], int]] = {
    "add.{}": lambda a, b, t: wrap(a + b, t),
    "sub.{}": lambda a, b, t: wrap(a - b, t),
    "mul.lo.{}": lambda a, b, t: wrap(a * b, t),
    "mul.hi.{}": lambda a, b, t: wrap(a * b >> bits_of(t), t),
    "div.{}": lambda a, b, t: wrap(-1, t) if b == 0 else wrap(truncating(a, b), t),
    "rem.{}": lambda a, b, t: a if b == 0 else wrap(a - truncating(a, b) * b, t),
    "min.{}": lambda a, b, t: min(a, b),
    "max.{}": lambda a, b, t: max(a, b),
}


@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("pattern", sorted(BINARY))
def test_binary(pattern: str, name: str):
    a, b = values(name, 1), np.random.default_rng(3).permutation(values(name, 2))
    opcode = pattern.format(name)
    with np.errstate(all="ignore"):
        got = ints(function(opcode)(raw(a, opcode, 0), raw(b, opcode, 1)), name)
    assert got == [BINARY[pattern](x, y, name) for x, y in zip(a.tolist(), b.tolist())]


@pytest.mark.parametrize("name", ["u16", "u32", "s16", "s32"])
def test_wide(name: str):
    a, b = values(name, 1), values(name, 2)
    wide = f"{name[0]}{2 * bits_of(name)}"
    assert ints(function(f"mul.wide.{name}")(a, b), wide) == [x * y for x, y in zip(a.tolist(), b.tolist())]
    c = np.arange(len(a), dtype=f"{'int' if name[0] == 's' else 'uint'}{2 * bits_of(name)}")
    got = function(f"mad.wide.{name}")(a, b, c)
    assert ints(got, wide) == [wrap(x * y + z, wide) for x, y, z in zip(a.tolist(), b.tolist(), c.tolist())]


@pytest.mark.parametrize("name", WORDS)
def test_multiply_add(name: str):
    a, b, c = values(name, 1), values(name, 2), values(name, 3)
    for part, shift in (("lo", 0), ("hi", bits_of(name))):
        opcode = f"mad.{part}.{name}"
        got = function(opcode)(raw(a, opcode, 0), raw(b, opcode, 1), raw(c, opcode, 2))
        assert ints(got, name) == [
            wrap((x * y >> shift) + z, name) for x, y, z in zip(a.tolist(), b.tolist(), c.tolist())
        ]


def test_saturating_addition():
    a = np.array([2**31 - 1, -(2**31), 5], np.int32)
    b = np.array([1, -1, 6], np.int32)
    assert function("add.sat.s32")(a, b).tolist() == [2**31 - 1, -(2**31), 11]
    assert function("sub.sat.s32")(a, -b).tolist() == [2**31 - 1, -(2**31), 11]


@pytest.mark.parametrize("name", ["b16", "b32", "b64", "s16", "s32", "s64", "u16", "u32", "u64"])
def test_shifts_clamp(name: str):
    width = bits_of(name)
    a = values(name.replace("b", "u"), 4, 200)
    for amount in (0, 1, width - 1, width, width + 1, 2**31, 2**32 - 1):
        for count in (np.full(len(a), amount, np.uint32), np.asarray(np.uint32(amount))):
            right = function(f"shr.{name}")(a, count)
            sign = name[0] == "s"
            assert ints(right, name.replace("b", "u")) == [
                (x >> min(amount, width - 1) if sign else x >> amount if amount < width else 0) for x in a.tolist()
            ]
            if name[0] == "b":
                left = function(f"shl.{name}")(a, count)
                assert ints(left, "u" + name[1:]) == [
                    wrap(x << amount, "u" + name[1:]) if amount < width else 0 for x in a.tolist()
                ]


@pytest.mark.parametrize("direction", ["l", "r"])
@pytest.mark.parametrize("mode", ["wrap", "clamp"])
def test_funnel_shift(direction: str, mode: str):
    a, b = values("u32", 1), values("u32", 2)
    for amount in (0, 1, 31, 32, 33, 200):
        n = min(amount, 32) if mode == "clamp" else amount & 31
        got = function(f"shf.{direction}.{mode}.b32")(a, b, np.full(len(a), amount, np.uint32))
        whole = [y << 32 | x for x, y in zip(a.tolist(), b.tolist())]
        want = [(w << n) >> 32 & 0xFFFFFFFF if direction == "l" else w >> n & 0xFFFFFFFF for w in whole]
        assert got.tolist() == want


@pytest.mark.parametrize("name", ["u32", "s32", "u64", "s64"])
def test_bit_fields(name: str):
    width, a = bits_of(name), values(name, 5, 100)
    for position, length in ((0, 0), (0, 1), (3, 5), (0, width), (width - 4, 8), (width, 4), (5, 200), (255, 255)):
        p, n = np.full(len(a), position, np.uint32), np.full(len(a), length, np.uint32)
        got = ints(function(f"bfe.{name}")(a, p, n), name)
        for x, field in zip(a.tolist(), got):
            cut = (x >> position if name[0] == "s" else (x & (1 << width) - 1) >> position) if length else 0
            want = cut & (1 << length) - 1
            if name[0] == "s" and length and length < width and want >> length - 1:
                want -= 1 << length
            assert field == wrap(want, name), (x, position, length)
        if name[0] == "u":
            b = values(name, 6, 100)
            inserted = function(f"bfi.b{width}")(a, b, p, n).tolist()
            mask = ((1 << length) - 1) << position & (1 << width) - 1
            assert inserted == [(y & ~mask) | (x << position & mask) for x, y in zip(a.tolist(), b.tolist())]


@pytest.mark.parametrize("width", [32, 64])
def test_counting_bits(width: int):
    a = values(f"u{width}", 7)
    assert function(f"popc.b{width}")(a).tolist() == [x.bit_count() for x in a.tolist()]
    assert function(f"clz.b{width}")(a).tolist() == [width - x.bit_length() for x in a.tolist()]
    assert function(f"brev.b{width}")(a).tolist() == [int(f"{x:0{width}b}"[::-1], 2) for x in a.tolist()]
    top = [x.bit_length() - 1 if x else 2**32 - 1 for x in a.tolist()]
    assert function(f"bfind.u{width}")(a).tolist() == top
    assert function(f"bfind.shiftamt.u{width}")(a).tolist() == [width - 1 - t if t < 64 else t for t in top]
    signed = a.view(f"int{width}")
    want = [(~x if x < 0 else x).bit_length() - 1 for x in signed.tolist()]
    assert function(f"bfind.s{width}")(signed).tolist() == [w & 2**32 - 1 for w in want]


@pytest.mark.parametrize("table_number", [0x00, 0x80, 0xFE, 0x96, 0xE8, 0xCA, 0xFF, 0x1D])
def test_lop3(table_number: int):
    a, b, c = (values("u32", seed, 50) for seed in (1, 2, 3))
    got = function("lop3.b32")(a, b, c, np.uint32(table_number)).tolist()
    for x, y, z, result in zip(a.tolist(), b.tolist(), c.tolist(), got):
        want = sum((table_number >> (4 * (x >> n & 1) + 2 * (y >> n & 1) + (z >> n & 1)) & 1) << n for n in range(32))
        assert result == want


def test_permute():
    a, b = np.array([0x33221100], np.uint32), np.array([0x77665584], np.uint32)
    assert [hex(v) for v in function("prmt.b32")(a, b, np.array([0x7531], np.uint32))] == ["0x77553311"]
    assert [hex(v) for v in function("prmt.b32")(a, b, np.array([0xC4F0], np.uint32))] == ["0xff840000"]
    assert hex(int(function("prmt.b32.f4e")(a, b, np.array([1], np.uint32))[0])) == "0x84332211"
    assert hex(int(function("prmt.b32.rc16")(a, b, np.array([1], np.uint32))[0])) == "0x33223322"


def test_carries():
    a, b = np.array([0xFFFFFFFF, 5], np.uint32), np.array([1, 6], np.uint32)
    total, carry = function("add.cc.u32")(a, b)
    assert (total.tolist(), carry.tolist()) == ([0, 11], [True, False])
    total, carry = function("addc.cc.u32")(a, a, np.array([True, True]))
    assert (total.tolist(), carry.tolist()) == ([0xFFFFFFFF, 11], [True, False])
    rest, borrow = function("sub.cc.u32")(b, a)
    assert (rest.tolist(), borrow.tolist()) == ([2, 1], [True, False])
    assert function("subc.u32")(b, a, np.array([True, True])).tolist() == [1, 0]


def test_dot_products():
    a = np.array([0x01FF7F80], np.uint32)
    b = np.array([0x02020202], np.uint32)
    c = np.array([10], np.int32)
    assert function("dp4a.s32.s32")(a, b, c).view(np.int32).tolist() == [10 + 2 * (1 - 1 + 127 - 128)]
    assert function("dp4a.u32.u32")(a, b, c).tolist() == [10 + 2 * (1 + 255 + 127 + 128)]
    assert function("dp2a.lo.s32.s32")(a, b, c).view(np.int32).tolist() == [10 + 2 * (0x7F80 + 0x01FF)]


@pytest.mark.parametrize("word", ["eq", "ne", "lt", "le", "gt", "ge"])
@pytest.mark.parametrize("name", WORDS)
def test_comparisons(word: str, name: str):
    import operator

    a, b = values(name, 1), np.random.default_rng(1).permutation(values(name, 1))
    yes, no = function(f"setp.{word}.{name}")(a, b)
    want = [getattr(operator, word)(x, y) for x, y in zip(a.tolist(), b.tolist())]
    assert yes.tolist() == want and no.tolist() == [not w for w in want]


@pytest.mark.parametrize(
    "word, expected",
    [
        ("eq", "1000"),
        ("ne", "0110"),
        ("lt", "0100"),
        ("ge", "1010"),
        ("equ", "1001"),
        ("neu", "0111"),
        ("ltu", "0101"),
        ("leu", "1101"),
        ("gtu", "0011"),
        ("geu", "1011"),
        ("num", "1110"),
        ("nan", "0001"),
    ],
)
@pytest.mark.parametrize("name", ["f16", "f32", "f64", "bf16"])
def test_float_comparisons(word: str, expected: str, name: str):
    a, b = np.array([1, 1, 2, np.nan], np.float32), np.array([1, 2, 1, 1], np.float32)
    if name == "bf16":
        a, b = ((x.view(np.uint32) >> 16).astype(np.uint16) for x in (a, b))
    else:
        a, b = a.astype(f"float{name[1:]}"), b.astype(f"float{name[1:]}")
    yes, _ = function(f"setp.{word}.{name}")(a, b)
    assert "".join(str(int(y)) for y in yes) == expected


def test_combined_predicates():
    a, b, c = np.array([1, 1, 2, 2]), np.array([1, 2, 1, 2]), np.array([True, True, False, False])
    yes, no = function("setp.eq.and.s64")(a, b, c)
    assert (yes.tolist(), no.tolist()) == ([True, False, False, False], [False, True, False, False])
    assert function("set.lt.u32.s64")(a, b).tolist() == [0, 2**32 - 1, 0, 0]
    assert function("set.lt.f32.s64")(a, b).tolist() == [0.0, 1.0, 0.0, 0.0]


# Forms.
@pytest.mark.parametrize(
    "opcode, code",
    [
        ("frobnicate", "TT6002"),
        ("add.rn.s32", "TT6003"),
        ("add", "TT6003"),
        ("mul.s32", "TT6003"),
        ("add.f32.f32", "TT6003"),
        ("setp.s32", "TT6003"),
        ("ld.b33", "TT6003"),
        ("shfl.sync.b32", "TT6003"),
        ("add.s32.ftz", "TT6003"),
    ],
)
def test_unknown_forms(opcode: str, code: str):
    with pytest.raises(TinytonError) as caught:
        resolve(opcode)
    assert caught.value.code == code and opcode in str(caught.value)


def test_modifiers_in_any_order():
    one, two = resolve("atom.global.gpu.acq_rel.add.f32"), resolve("atom.add.acq_rel.gpu.global.f32")
    assert one.words == two.words and one.row is two.row


def test_every_row_is_described():
    for rows in table.ROWS.values():
        for row in rows:
            assert row.doc.endswith(".") and row.section.startswith("9.7") and row.syntax.startswith(row.mnemonic)
            assert row.run is not None or row.effect, row.mnemonic
            assert row.pipe in ("alu", "fma", "xu", "lsu", "tensor", "branch", "barrier", "warp")
