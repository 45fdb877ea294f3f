"""How the lanes of a warp hold a matrix: which lane and slot has which element. Index arithmetic, no opcodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tinyton_lab.ptx.numerics import F32, F64, canonical, from_bf16, from_fp8, narrow, to_f16

Array = Any
_LANE = np.arange(32)[:, None]
GROUP, QUAD = _LANE >> 2, _LANE & 3
# Elements in one 32-bit register (64-bit for f64).
PER_REGISTER = {
    "f64": 1,
    "f32": 1,
    "s32": 1,
    "tf32": 1,
    "f16": 2,
    "bf16": 2,
    "s8": 4,
    "u8": 4,
    "e4m3": 4,
    "e5m2": 4,
    "s4": 8,
    "u4": 8,
    "b1": 32,
}


@dataclass(frozen=True, slots=True, eq=False)
class Fragment:
    """A (rows, columns) matrix over 32 lanes of `slots` elements each.

    `source[row * columns + column]` is the place ``lane * slots + slot`` of an element; `target` the
    element of each place.
    """

    rows: int
    columns: int
    slots: int
    source: Array
    target: Array

    def gather(self, values: Array) -> Array:
        """(warps, 32, slots) values to (warps, rows, columns)."""
        flat = values.reshape(len(values), -1)
        return flat[:, self.source].reshape(-1, self.rows, self.columns)

    def scatter(self, matrix: Array) -> Array:
        """(warps, rows, columns) to (warps, 32, slots)."""
        return matrix.reshape(len(matrix), -1)[:, self.target].reshape(-1, 32, self.slots)


def fragment(row: Array, column: Array, rows: int, columns: int) -> Fragment:
    """A fragment from the row and column of each (lane, slot)."""
    row, column = np.broadcast_arrays(row, column)
    target = (row * columns + column).ravel()
    source = np.zeros(rows * columns, np.int64)
    source[target[::-1]] = np.arange(target.size)[::-1]
    return Fragment(rows, columns, row.shape[1], source, target)


@lru_cache(maxsize=256)
def left(m: int, k: int, type_: str) -> Fragment:
    """A of ``mma`` (PTX ISA 9.7.14.5): m x k, row-major."""
    per = PER_REGISTER[type_]
    slot = np.arange(m * k // 32)[None, :]
    register, e = slot // per, slot % per
    if type_ == "f64":
        if m == 8:
            return fragment(GROUP, QUAD + 0 * slot, m, k)
        return fragment(GROUP + 8 * (slot & 1), QUAD + 4 * (slot >> 1), m, k)
    halves = m // 8
    return fragment(GROUP + 8 * (register % halves), (register // halves) * 4 * per + QUAD * per + e, m, k)


@lru_cache(maxsize=256)
def right(k: int, n: int, type_: str) -> Fragment:
    """B of ``mma``: k x n, column-major."""
    per = PER_REGISTER[type_]
    slot = np.arange(k * n // 32)[None, :]
    register, e = slot // per, slot % per
    return fragment(register * 4 * per + QUAD * per + e, GROUP + 0 * slot, k, n)


@lru_cache(maxsize=256)
def accumulator(m: int, n: int) -> Fragment:
    """C and D of ``mma``: m x n, two neighbours of a row in a lane."""
    slot = np.arange(m * n // 32)[None, :]
    return fragment(GROUP + 8 * ((slot >> 1) % (m // 8)), 2 * QUAD + (slot & 1) + 0 * GROUP, m, n)


@lru_cache(maxsize=16)
def quad_pairs(side: str, layout: str) -> Fragment:
    """A, B, or the f16 (``c``) or f32 (``d``) accumulator of ``mma.m8n8k4`` of f16 (PTX ISA 9.7.14.5.1).

    Four pairs of quads (lanes 4q.. and 16 + 4q..) multiply on their own: their matrices lie one below the other.
    """
    pair, half, lane = (_LANE >> 2) & 3, (_LANE >> 4) * 4, _LANE & 3
    if side in ("a", "b"):
        slot = np.arange(4)[None, :]
        # A of rows and B of columns have k in the slots.
        inner, outer = (slot, lane + half) if layout == ("row" if side == "a" else "col") else (lane, slot + half)
        return fragment(outer + 8 * pair, inner, 32, 4) if side == "a" else fragment(inner + 4 * pair, outer, 16, 8)
    slot = np.arange(8)[None, :]
    if side == "c":
        return fragment(lane + half + 8 * pair, slot + 0 * lane, 32, 8)
    return fragment((lane & 1) + (slot & 2) + half + 8 * pair, (slot & 4) + (lane & 2) + (slot & 1), 32, 8)


@lru_cache(maxsize=64)
def group_accumulator(n: int) -> Fragment:
    """One warp's 16 rows of the D of ``wgmma`` (m64nN): neighbours of a row, then 8 rows down, then 8 columns on."""
    slot = np.arange(n // 2)[None, :]
    return fragment(GROUP + 8 * ((slot >> 1) & 1), 8 * (slot >> 2) + 2 * QUAD + (slot & 1), 16, n)


@lru_cache(maxsize=64)
def opaque(rows: int, columns: int, slots: int) -> Fragment:
    """The layout of ``wmma`` fragments, which PTX leaves open: element 32 * slot + lane, repeated if there is room."""
    slot = np.arange(slots)[None, :]
    number = (32 * slot + _LANE) % (rows * columns)
    return fragment(number // columns, number % columns, rows, columns)


def decode(registers: list[Array], type_: str) -> Array:
    """Registers (each (warps, 32)) to element values (warps, 32, slots), f64 or int64, exactly."""
    if type_ == "f64":
        return np.stack([r.view(F64) for r in registers], axis=-1)
    if type_ == "f32":
        return np.stack([r.view(F32) for r in registers], axis=-1).astype(F64)
    if type_ == "s32":
        return np.stack([r.view(np.int32) for r in registers], axis=-1).astype(np.int64)
    if type_ == "tf32":
        # Inputs that were not converted lose their low 13 bits.
        return np.stack([(r & np.uint32(0xFFFFE000)).view(F32) for r in registers], axis=-1).astype(F64)
    words = np.stack(registers, axis=-1)
    per = PER_REGISTER[type_]
    if per == 8 or per == 32:
        width = 32 // per
        parts = (words[..., None] >> (np.arange(per, dtype=np.uint32) * np.uint32(width))) & np.uint32((1 << width) - 1)
        values = parts.reshape(*words.shape[:-1], -1).astype(np.int64)
        return np.where(values > 7, values - 16, values) if type_ == "s4" else values
    narrow_type = {2: np.uint16, 4: np.uint8}[per]
    raw = np.ascontiguousarray(words).view(narrow_type)
    if type_ == "f16":
        return raw.view(np.float16).astype(F64)
    if type_ == "bf16":
        return from_bf16(raw).astype(F64)
    if type_ in ("e4m3", "e5m2"):
        return from_fp8(raw, type_).astype(F64)
    return (raw.view(np.int8) if type_ == "s8" else raw).astype(np.int64)


def encode(values: Array, type_: str) -> list[Array]:
    """Element values (warps, 32, slots) to registers, rounded once."""
    if type_ == "f16":
        words = np.ascontiguousarray(canonical(to_f16(values))).view(np.uint32)
    elif type_ == "f32":
        words = canonical(narrow(values))
    elif type_ == "s32":
        words = values.astype(np.int64).astype(np.uint32)
    else:
        words = np.ascontiguousarray(values).view(np.uint64)
    return [np.ascontiguousarray(words[..., slot]) for slot in range(words.shape[-1])]
