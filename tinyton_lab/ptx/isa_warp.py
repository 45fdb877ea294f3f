"""Rows of table T7: instructions between the lanes of a warp. Their functions see arrays of shape (warps, 32)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyton_lab.ptx.isa import Form, LaneFunction, Slot, row

Array = Any
_LANES = np.arange(32, dtype=np.int64)
_BITS = np.uint32(1) << np.arange(32, dtype=np.uint32)
_SYNC = Slot("sync", ("sync",), True)


def ballot(flags: Array) -> Array:
    """The bit mask of the true lanes, in every lane's column: (warps, 1) u32."""
    return (flags * _BITS).sum(axis=1, dtype=np.uint32, keepdims=True)


def named(mask: Array) -> Array:
    """Whether each lane is named by a member mask (warps, 32) -> (warps, 32)."""
    return (mask >> np.arange(32, dtype=np.uint32)) & np.uint32(1) != 0


def _shuffle(form: Form) -> LaneFunction:
    mode = form["mode"]

    def run(active: Array, a: Array, b: Array, c: Array, *_: Array) -> Array:
        # Constant b and c arrive as single values: then every warp reads the same lanes.
        width, clamp = ((c >> np.uint32(8)) & np.uint32(31)).astype(np.int64), (c & np.uint32(31)).astype(np.int64)
        distance = (b & np.uint32(31)).astype(np.int64)
        top, bottom = (_LANES & width) | (clamp & ~width), _LANES & width
        if mode == "up":
            source = _LANES - distance
            valid = source >= top
        elif mode == "down":
            source = _LANES + distance
            valid = source <= top
        elif mode == "bfly":
            source = _LANES ^ distance
            valid = source <= top
        else:
            source = bottom | (distance & ~width)
            valid = source <= top
        source = np.where(valid, source, _LANES)
        source = source & 31
        moved = a.take(source, axis=1) if source.ndim == 1 else np.take_along_axis(a, source, axis=1)
        return moved, np.broadcast_to(valid, a.shape)

    return run


def _vote(form: Form) -> LaneFunction:
    mode = form["mode"]

    def run(active: Any, p: Any, *_: Array) -> Array:
        if mode == "ballot":
            return np.broadcast_to(ballot(p & active), p.shape)
        if mode == "any":
            result = (p & active).any(axis=1, keepdims=True)
        elif mode == "all":
            result = (p | ~active).all(axis=1, keepdims=True)
        else:
            result = (p | ~active).all(axis=1, keepdims=True) | (~p | ~active).all(axis=1, keepdims=True)
        return np.broadcast_to(result, p.shape)

    return run


def _match(form: Form) -> LaneFunction:
    every = form["mode"] == "all"

    def run(active: Array, a: Array, *_: Array) -> Array:
        same = (a[:, :, None] == a[:, None, :]) & active[:, None, :]
        masks = (same * _BITS).sum(axis=2, dtype=np.uint32)
        if not every:
            return masks, masks != 0
        whole = masks == ballot(active)
        agreed = (whole | ~active).all(axis=1, keepdims=True)
        return np.where(agreed, masks, np.uint32(0)), np.broadcast_to(agreed, a.shape)

    return run


_NEUTRAL: dict[str, Any] = {
    "add": lambda t: 0,
    "or": lambda t: 0,
    "xor": lambda t: 0,
    "and": lambda t: -1,
    "min": lambda t: np.inf if t.kind == "f" else np.iinfo(t).max,
    "max": lambda t: -np.inf if t.kind == "f" else np.iinfo(t).min,
}
_REDUCE: dict[str, Any] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _reduce(form: Form) -> LaneFunction:
    word, dtype = form["op"], form.type.compute
    neutral = np.array(_NEUTRAL[word](dtype)).astype(dtype)
    function = _REDUCE[word]
    if form.type.kind == "float" and not form.has("nan"):
        function = np.fmin if word == "min" else np.fmax

    def run(active: Array, a: Array, *_: Array) -> Array:
        a = np.abs(a) if form.has("abs") else a
        total = function.reduce(np.where(active, a, neutral), axis=1, keepdims=True)
        return np.broadcast_to(total.astype(dtype), a.shape)

    return run


def _elect(form: Form) -> LaneFunction:
    def run(active: Array, *_: Array) -> Array:
        leader = np.argmax(active, axis=1)[:, None]
        return np.broadcast_to(leader.astype(np.uint32), active.shape), _LANES == leader

    return run


def _activemask(form: Form) -> LaneFunction:
    return lambda active: np.broadcast_to(ballot(active), active.shape)


row(
    "shfl",
    ">d|p=T0|pred a=T0 b=b32 c=b32 mask=b32",
    ("b32",),
    (_SYNC, Slot("mode", ("up", "down", "bfly", "idx"), True)),
    _shuffle,
    pipe="warp",
    section="9.7.9.6",
    effect="warp",
    doc="Read another lane's register.",
)
row(
    "shfl",
    ">d|p=T0|pred a=T0 b=b32 c=b32",
    ("b32",),
    (Slot("mode", ("up", "down", "bfly", "idx"), True),),
    _shuffle,
    pipe="warp",
    section="9.7.9.5",
    effect="warp",
    doc="Read another lane's register.",
)
row(
    "vote",
    ">d=T0 a=pred mask=b32",
    ("pred b32",),
    (_SYNC, Slot("mode", ("all", "any", "uni", "ballot"), True)),
    _vote,
    pipe="warp",
    section="9.7.13.8",
    effect="warp",
    doc="Combine a predicate over the warp.",
)
row(
    "match",
    ">d|p=b32|pred a=T0 mask=b32",
    ("b32 b64",),
    (Slot("mode", ("any", "all"), True), _SYNC),
    _match,
    pipe="warp",
    section="9.7.13.9",
    effect="warp",
    doc="Find the lanes that hold the same value.",
)
row(
    "redux",
    ">d=T0 a=T0 mask=b32",
    ("u32 s32 b32 f32",),
    (_SYNC, Slot("op", tuple(_REDUCE), True), Slot("abs", ("abs",)), Slot("nan", ("NaN",))),
    _reduce,
    pipe="warp",
    section="9.7.13.11",
    effect="warp",
    doc="Reduce a value over the warp.",
)
row(
    "activemask",
    ">d=T0",
    ("b32",),
    (),
    _activemask,
    pipe="warp",
    section="9.7.13.10",
    effect="warp",
    doc="The lanes executing now.",
)
row(
    "elect",
    ">d|p=b32|pred mask=b32",
    (),
    (_SYNC,),
    _elect,
    pipe="warp",
    section="9.7.13.15",
    effect="warp",
    doc="Choose one lane of the warp.",
)
