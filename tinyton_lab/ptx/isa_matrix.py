"""Rows of table T7: matrices in a warp's registers (PTX ISA 9.7.14). Functions see lists of (warps, 32) arrays."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tinyton_lab.ptx.fragments import (
    PER_REGISTER,
    Fragment,
    accumulator,
    decode,
    encode,
    left,
    opaque,
    quad_pairs,
    right,
)
from tinyton_lab.ptx.isa import Form, LaneFunction, Slot, row
from tinyton_lab.ptx.tensor_cores import EXACT, TensorCore, multiply, rule

Array = Any
Registers = list[Array]
_SYNC, _ALIGNED = Slot("sync", ("sync",), True), Slot("aligned", ("aligned",), True)
_SHAPES = (
    "m8n8k4",
    "m8n8k16",
    "m8n8k32",
    "m8n8k128",
    "m16n8k4",
    "m16n8k8",
    "m16n8k16",
    "m16n8k32",
    "m16n8k64",
    "m16n8k128",
    "m16n8k256",
)
_INPUTS = "f16 bf16 tf32 f64 s8 u8 e4m3 e5m2"
_SATURATE = Slot("satfinite", ("satfinite",))


def shape_of(form: Form) -> tuple[int, int, int]:
    """m, n, k of a matrix instruction."""
    found = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", form["shape"])
    if found is None:
        raise RuntimeError(f"matrix shape {form['shape']!r}")
    return int(found[1]), int(found[2]), int(found[3])


def _accumulate(type_: str, fragment: Fragment, registers: Registers) -> Array:
    return fragment.gather(decode(registers, type_))


def _mma(form: Form) -> LaneFunction:
    m, n, k = shape_of(form)
    d, a, b, c = (t.name for t in form.types)
    if form["shape"] == "m8n8k4" and a == "f16":
        return _quad_pairs(form)
    left_side, right_side, result = left(m, k, a), right(k, n, b), accumulator(m, n)
    saturate = form.has("satfinite")

    def run(
        active: Array, a_registers: Registers, b_registers: Registers, c_registers: Registers, core: TensorCore = EXACT
    ) -> Registers:
        x, y = left_side.gather(decode(a_registers, a)), right_side.gather(decode(b_registers, b))
        total = multiply(x, y, _accumulate(c, result, c_registers), a, saturate, rule(core, "mma", a, d))
        return encode(result.scatter(total), d)

    return run


def _quad_pairs(form: Form) -> LaneFunction:
    """m8n8k4 of f16: each pair of quads multiplies matrices of its own."""
    d, a, _, c = (t.name for t in form.types)
    left_side, right_side = quad_pairs("a", form["a_layout"]), quad_pairs("b", form["b_layout"])
    old, result = (quad_pairs("c" if name == "f16" else "d", "") for name in (c, d))

    def run(
        active: Array, a_registers: Registers, b_registers: Registers, c_registers: Registers, core: TensorCore = EXACT
    ) -> Registers:
        x, y = left_side.gather(decode(a_registers, a)), right_side.gather(decode(b_registers, a))
        start = _accumulate(c, old, c_registers).reshape(-1, 8, 8)
        how = rule(core, "mma", a, d)
        total = multiply(x.reshape(-1, 8, 4), y.reshape(-1, 4, 8), start, a, how=how)
        return encode(result.scatter(total.reshape(-1, 32, 8)), d)

    return run


def _sparse(form: Form) -> LaneFunction:
    """2:4 sparse f16/bf16 A: of each 4 values of k, two are stored, their places in the metadata."""
    m, n, k = shape_of(form)
    d, a, b, c = (t.name for t in form.types)
    compact, right_side, result = left(m, k // 2, a), right(k, n, b), accumulator(m, n)

    def run(
        active: Array,
        a_registers: Registers,
        b_registers: Registers,
        c_registers: Registers,
        metadata: Registers,
        selector: Registers,
        core: TensorCore = EXACT,
    ) -> Registers:
        values = compact.gather(decode(a_registers, a))
        dense = np.zeros((len(values), m, k))
        places = stored_places(metadata[0], int(selector[0].flat[0]), m, k)
        np.put_along_axis(dense, places, values, axis=2)
        # Half of the places are zeros that no multiplier sees.
        how = rule(core, "mma", a, d)
        how = None if how is None else how._replace(group=2 * how.group)
        old = _accumulate(c, result, c_registers)
        total = multiply(dense, right_side.gather(decode(b_registers, b)), old, a, how=how)
        return encode(result.scatter(total), d)

    return run


def stored_places(metadata: Array, selector: int, m: int, k: int) -> Array:
    """The column of each stored value of a sparse A: (warps, m, k / 2).

    Two lanes of each quad hold 16 two-bit indices each.
    """
    lanes = metadata.reshape(-1, 8, 4)
    indices = np.arange(k // 2)
    columns = np.zeros((len(lanes), m, k // 2), np.int64)
    for row_number in range(m):
        if k == 32:
            # Lane selector*2 holds row g, the next lane row g + 8: 8 groups of two indices.
            word = lanes[:, row_number % 8, 2 * selector + row_number // 8]
            columns[:, row_number, :] = (word[:, None] >> (2 * indices).astype(np.uint32)) & 3
        else:
            word = lanes[:, row_number % 8, selector]
            shift = (2 * indices + 16 * (row_number // 8)).astype(np.uint32)
            columns[:, row_number, :] = (word[:, None] >> shift) & 3
    return columns + 4 * (indices // 2)


def _transpose(form: Form) -> LaneFunction:
    def run(active: Array, a: Array) -> Array:
        halves = np.ascontiguousarray(a).view(np.uint16).reshape(-1, 8, 8)
        return np.ascontiguousarray(halves.transpose(0, 2, 1)).view(np.uint32).reshape(-1, 32)

    return run


# wmma: fragments are opaque, so every producer and consumer here uses one layout of our own.
_WMMA = ("m16n16k16", "m8n32k16", "m32n8k16", "m16n16k8", "m8n8k4", "m8n8k32", "m8n8k128")


def wmma_registers(shape: tuple[int, int, int], side: str, type_: str) -> int:
    """How many registers a ``wmma`` fragment has (PTX ISA 9.7.14.4.1)."""
    if type_ == "f16":
        return 8 if side in "ab" else 4
    m, n, k = shape
    elements = {"a": m * k, "b": k * n, "c": m * n, "d": m * n}[side]
    return max(elements // 32 // PER_REGISTER[type_], 1)


def wmma_fragment(shape: tuple[int, int, int], side: str, type_: str) -> Fragment:
    m, n, k = shape
    rows, columns = {"a": (m, k), "b": (k, n), "c": (m, n), "d": (m, n)}[side]
    return opaque(rows, columns, wmma_registers(shape, side, type_) * PER_REGISTER[type_])


def _wmma(form: Form) -> LaneFunction:
    shape, names = shape_of(form), [t.name for t in form.types]
    d, a, b, c = names if len(names) == 4 else (names[0], "f16", "f16", names[1])
    sides = {side: wmma_fragment(shape, side, type_) for side, type_ in zip("dabc", (d, a, b, c))}

    def run(
        active: Array, a_registers: Registers, b_registers: Registers, c_registers: Registers, core: TensorCore = EXACT
    ) -> Registers:
        x, y = sides["a"].gather(decode(a_registers, a)), sides["b"].gather(decode(b_registers, b))
        old = sides["c"].gather(decode(c_registers, c))
        total = multiply(x, y, old, a, form.has("satfinite"), rule(core, "mma", a, d))
        return encode(sides["d"].scatter(total), d)

    return run


_LAYOUTS = (Slot("a_layout", ("row", "col"), True), Slot("b_layout", ("row", "col"), True))
_MMA = (_SYNC, _ALIGNED, Slot("shape", _SHAPES, True), *_LAYOUTS, _SATURATE)
row(
    "mma",
    ">d=any a=any b=any c=any",
    ("f16 f32 f64 s32", _INPUTS, _INPUTS, "f16 f32 f64 s32"),
    _MMA,
    _mma,
    pipe="tensor",
    section="9.7.14.5",
    effect="matrix",
    doc="Multiply and add matrices held by a warp.",
)
row(
    "mma",
    ">d=any a=any b=any c=any e=any f=any",
    ("f16 f32", "f16 bf16", "f16 bf16", "f16 f32"),
    (Slot("sparse", ("sp", "sp::ordered_metadata"), True), *_MMA),
    _sparse,
    pipe="tensor",
    section="9.7.14.6",
    effect="matrix",
    doc="Multiply a 2:4 sparse matrix.",
)
_NUMBER = Slot("number", ("x1", "x2", "x4"), True)
_SPACE = Slot("space", ("shared", "shared::cta"))
_TRANS = Slot("trans", ("trans",))
row(
    "ldmatrix",
    ">d=any a=address",
    ("b16",),
    (_SYNC, _ALIGNED, Slot("shape", ("m8n8",), True), _NUMBER, _TRANS, _SPACE),
    None,
    pipe="lsu",
    section="9.7.14.5.15",
    effect="matrix_load",
    doc="Load 8x8 matrices of 16-bit elements.",
)
row(
    "stmatrix",
    "a=address b=any",
    ("b16",),
    (_SYNC, _ALIGNED, Slot("shape", ("m8n8",), True), _NUMBER, _TRANS, _SPACE),
    None,
    pipe="lsu",
    section="9.7.14.5.16",
    effect="matrix_store",
    doc="Store 8x8 matrices of 16-bit elements.",
)
row(
    "movmatrix",
    ">d=b32 a=b32",
    ("b16",),
    (_SYNC, _ALIGNED, Slot("shape", ("m8n8",), True), Slot("trans", ("trans",), True)),
    _transpose,
    pipe="warp",
    section="9.7.14.5.17",
    effect="warp",
    doc="Transpose an 8x8 matrix in registers.",
)
_TYPES = "f16 bf16 tf32 f64 s8 u8"
_GENERAL = (
    _SYNC,
    _ALIGNED,
    Slot("shape", _WMMA, True),
    Slot("layout", ("row", "col"), True),
    Slot("space", ("global", "shared", "shared::cta")),
)
row(
    "wmma",
    ">d=any a=address stride?=u32",
    (f"{_TYPES} f32 s32",),
    (Slot("load", ("load",), True), Slot("side", ("a", "b", "c"), True), *_GENERAL),
    None,
    pipe="lsu",
    section="9.7.14.4.3",
    effect="fragment_load",
    doc="Load a matrix fragment.",
)
row(
    "wmma",
    "a=address d=any stride?=u32",
    ("f16 f32 f64 s32",),
    (Slot("store", ("store",), True), Slot("side", ("d",), True), *_GENERAL),
    None,
    pipe="lsu",
    section="9.7.14.4.4",
    effect="fragment_store",
    doc="Store a matrix fragment.",
)
_WMMA_SLOTS = (
    Slot("mma", ("mma",), True),
    _SYNC,
    _ALIGNED,
    *_LAYOUTS,
    Slot("shape", _WMMA, True),
    Slot("rounding", ("rn", "rz", "rm", "rp")),
    _SATURATE,
)
row(
    "wmma",
    ">d=any a=any b=any c=any",
    ("f16 f32 f64 s32", _TYPES, _TYPES, "f16 f32 f64 s32"),
    _WMMA_SLOTS,
    _wmma,
    pipe="tensor",
    section="9.7.14.4.5",
    effect="matrix",
    doc="Multiply and add fragments.",
)
row(
    "wmma",
    ">d=any a=any b=any c=any",
    ("f16 f32", "f16 f32"),
    _WMMA_SLOTS,
    _wmma,
    pipe="tensor",
    section="9.7.14.4.5",
    effect="matrix",
    doc="Multiply and add f16 fragments.",
)
