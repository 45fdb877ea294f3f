"""Register values of many lanes at once: what a chunk of CTAs is, how values are read and merged. No opcodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyton_lab.ptx.numerics import canonical

Array = Any
_UNSIGNED = {n: np.dtype(f"uint{n * 8}") for n in (1, 2, 4, 8)}


class Chunk:
    """Mutable: the lanes of `ctas` CTAs of `threads` lanes (a multiple of 32), executed together.

    A value broadcasts to (ctas, threads): what is the same for all lanes is stored once. `mask` is
    None when all lanes take part; `merge` is the mask under which registers must keep other lanes' values (None: no
    other lane has any).
    """

    __slots__ = (
        "accesses",
        "ctas",
        "impatient",
        "first",
        "launch",
        "local",
        "mask",
        "merge",
        "movements",
        "observers",
        "recorded",
        "recording",
        "registers",
        "shape",
        "shared",
        "steps",
        "threads",
    )
    shared: Any
    local: Any

    def __init__(self, launch: Any, first: int, ctas: int, threads: int) -> None:
        self.launch, self.first, self.ctas, self.threads = launch, first, ctas, threads
        self.shape = (ctas, threads)
        self.registers: list[Array] = []
        self.mask: Array | None = None
        self.merge: Array | None = None
        self.recording, self.recorded = False, 0
        self.accesses: list[Any] = []
        self.movements: list[Any] = []
        self.observers: tuple[Any, ...] = ()
        self.steps = 0
        self.impatient = False

    def full(self, value: Array) -> Array:
        """A value with one element per lane, as (warps, 32)."""
        if value.shape == self.shape:
            return value.reshape(-1, 32)
        return np.ascontiguousarray(np.broadcast_to(value, self.shape)).reshape(-1, 32)

    def active(self) -> Array:
        """The active lanes as a (ctas, threads) array."""
        if self.mask is None:
            return np.ones(self.shape, np.bool_)
        return np.broadcast_to(self.mask, self.shape)

    def write(self, register: int, value: Array) -> None:
        """Give a register new values in the active lanes; the old array is never changed."""
        if self.merge is not None:
            value = blend(self.merge, value, self.registers[register])
        self.registers[register] = value


def bits(x: Array, dtype: np.dtype[Any]) -> Array:
    """Reinterpret lanes as `dtype`; a wider register gives its low part. NaN becomes canonical when seen as bits."""
    source = x.dtype
    if source is dtype or source == dtype:
        return x
    if dtype.kind == "b" or source.kind == "b":
        return x.astype(dtype)
    if source.kind == "f":
        x = canonical(x)
        if x.dtype == dtype:
            return x
    if x.dtype.itemsize == dtype.itemsize:
        return x.view(dtype)
    return x.astype(_UNSIGNED[dtype.itemsize]).view(dtype)


def blend(mask: Array, new: Array, old: Array) -> Array:
    """`new` where the mask holds, else `old`, in `new`'s dtype, or as bits where `old` may be no float at all."""
    if old.dtype is not new.dtype:
        # Integers that look like NaN must stay what they are when the other lanes' floats are seen as bits.
        if new.dtype.kind == "f" and new.dtype.itemsize < 8 and old.dtype.kind != "f" and _may_be_nan(old, new.dtype):
            new = bits(new, _UNSIGNED[new.dtype.itemsize])
        old = bits(old, new.dtype)
    return np.where(mask, new, old)


def _may_be_nan(x: Array, dtype: np.dtype[Any]) -> bool:
    return x.ndim > 0 or bool(np.isnan(bits(x, dtype)))
