"""The fundamental types of PTX and the numpy dtypes that hold them lane by lane. Knows no instruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class PtxType:
    """One fundamental type (PTX ISA 5.2).

    `kind` is ``bits``, ``unsigned``, ``signed``, ``float``, ``packed`` or ``pred``; `compute` the numpy dtype that
    arithmetic sees, `raw` the unsigned dtype of the same width. Formats numpy lacks (bf16, fp8, packed pairs) compute
    on their bit patterns.
    """

    name: str
    kind: str
    bits: int
    compute: np.dtype[Any]
    raw: np.dtype[Any]

    @property
    def bytes(self) -> int:
        return max(self.bits // 8, 1)

    def __str__(self) -> str:
        return self.name


_RAW = {
    1: np.dtype(np.bool_),
    4: np.dtype(np.uint8),
    8: np.dtype(np.uint8),
    16: np.dtype(np.uint16),
    32: np.dtype(np.uint32),
    64: np.dtype(np.uint64),
    128: np.dtype("V16"),
    1024: np.dtype("V128"),
}


def _type(name: str, kind: str, bits: int, compute: str = "") -> PtxType:
    raw = _RAW[bits]
    return PtxType(name, kind, bits, np.dtype(compute) if compute else raw, raw)


_ROWS = (
    _type("pred", "pred", 1),
    *(_type(f"b{n}", "bits", n) for n in (8, 16, 32, 64, 128, 1024)),
    *(_type(f"u{n}", "unsigned", n) for n in (8, 16, 32, 64)),
    *(_type(f"s{n}", "signed", n, f"int{n}") for n in (8, 16, 32, 64)),
    _type("f16", "float", 16, "float16"),
    _type("bf16", "float", 16),
    _type("tf32", "float", 32, "float32"),
    _type("f32", "float", 32, "float32"),
    _type("f64", "float", 64, "float64"),
    *(_type(name, "packed", 32) for name in ("f16x2", "bf16x2", "u16x2", "s16x2")),
    *(_type(name, "float", 8) for name in ("e4m3", "e5m2")),
    *(_type(name, "packed", 16) for name in ("e4m3x2", "e5m2x2")),
    *(_type(name, "packed", 32) for name in ("e4m3x4", "e5m2x4")),
)
TYPES: dict[str, PtxType] = {row.name: row for row in _ROWS}


def unsigned(type_: PtxType) -> PtxType:
    """The untyped bits of the same width (``b1`` is pred)."""
    return type_ if type_.kind == "pred" else TYPES[f"b{type_.bits}"]


def doubled(type_: PtxType) -> PtxType:
    """The same kind, twice as wide: what ``.wide`` produces."""
    return TYPES[f"{type_.name[0]}{type_.bits * 2}"]
