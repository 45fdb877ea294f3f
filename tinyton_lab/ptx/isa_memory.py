"""Rows of table T7: moving data, addresses, atomics, fences (PTX ISA 9.7.9, 9.7.13). Memory itself is the machine's."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyton_lab.ptx.isa import Form, LaneFunction, Slot, pure, row
from tinyton_lab.ptx.isa_float import half

Array = Any
SPACES = (
    "global",
    "shared",
    "shared::cta",
    "shared::cluster",
    "local",
    "param",
    "param::entry",
    "param::func",
    "const",
)
SPACE = Slot("space", SPACES)
_SEMANTICS = Slot("semantics", ("weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "sc", "mmio"))
_SCOPE = Slot("scope", ("cta", "cluster", "gpu", "sys"))
_CACHE = (
    Slot("cop", ("ca", "cg", "cs", "lu", "cv", "wb", "wt")),
    Slot("nc", ("nc",)),
    Slot(
        "l1", tuple(f"L1::{w}" for w in ("evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate"))
    ),
    Slot("hint", ("L2::cache_hint",)),
    Slot("l2", tuple(f"L2::{w}" for w in ("evict_last", "evict_normal", "evict_first"))),
    Slot("prefetch", ("L2::64B", "L2::128B", "L2::256B")),
    Slot("unified", ("unified",)),
)
_VECTOR = Slot("vector", ("v2", "v4", "v8"))
_ANY = "b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 bf16 f32 f64"
_BITS = "b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 bf16 f32 f64 pred f16x2 bf16x2"
_TO = Slot("to", ("to",))


def _identity(x: Array) -> Array:
    return x


row(
    "mov",
    ">d=U0 a=U0",
    (_BITS,),
    (),
    pure(_identity),
    section="9.7.9.2",
    effect="move",
    doc="Copy a register, an address, a special register, or pack and unpack a vector.",
)
row(
    "ld",
    ">d=T0+ a=address policy?=b64",
    (_ANY,),
    (SPACE, _SEMANTICS, _SCOPE, _VECTOR, *_CACHE),
    None,
    pipe="lsu",
    section="9.7.9.8",
    effect="load",
    doc="Load from memory.",
)
row(
    "ldu",
    ">d=T0+ a=address",
    (_ANY,),
    (SPACE, _VECTOR),
    None,
    pipe="lsu",
    section="9.7.9.10",
    effect="load",
    doc="Load from an address that is the same for all lanes.",
)
row(
    "st",
    "a=address b=T0+ policy?=b64",
    (_ANY,),
    (SPACE, _SEMANTICS, _SCOPE, _VECTOR, *_CACHE),
    None,
    pipe="lsu",
    section="9.7.9.11",
    effect="store",
    doc="Store to memory.",
)
row(
    "cvta",
    ">d=T0 a=T0",
    ("u32 u64",),
    (_TO, Slot("space", SPACES, True)),
    None,
    section="9.7.9.20",
    effect="convert_address",
    doc="Convert an address between a state space and generic.",
)
row(
    "isspacep",
    ">p=pred a=any",
    (),
    (Slot("space", SPACES, True),),
    None,
    section="9.7.9.19",
    effect="test_address",
    doc="Test whether a generic address lies in a state space.",
)
row(
    "mapa",
    ">d=T0 a=T0 b=u32",
    ("u32 u64",),
    (SPACE,),
    None,
    section="9.7.9.23",
    effect="map_address",
    doc="The address of the same shared variable in another CTA of the cluster.",
)
row(
    "getctarank",
    ">d=u32 a=T0",
    ("u32 u64",),
    (SPACE,),
    None,
    section="9.7.9.24",
    effect="rank_of_address",
    doc="Which CTA of the cluster a shared address belongs to.",
)
row(
    "prefetch",
    "a=address",
    (),
    (SPACE, Slot("level", ("L1", "L2", "L2::evict_last", "L2::evict_normal", "tensormap"), True)),
    None,
    pipe="lsu",
    section="9.7.9.15",
    effect="nothing",
    doc="A hint to bring a line into a cache.",
)
row(
    "prefetchu",
    "a=address",
    (),
    (Slot("level", ("L1",), True),),
    None,
    pipe="lsu",
    section="9.7.9.15",
    effect="nothing",
    doc="A hint to bring a line into the uniform cache.",
)
row(
    "applypriority",
    "a=address size=any",
    (),
    (SPACE, Slot("level", ("L2::evict_normal",), True)),
    None,
    pipe="lsu",
    section="9.7.9.16",
    effect="nothing",
    doc="A hint about eviction.",
)
row(
    "discard",
    "a=address size=any",
    (),
    (SPACE, Slot("level", ("L2",), True)),
    None,
    pipe="lsu",
    section="9.7.9.17",
    effect="nothing",
    doc="A hint that data will not be read.",
)
row(
    "createpolicy",
    ">d=b64 a?=f32",
    ("b64",),
    (
        Slot("kind", ("fractional",), True),
        Slot(
            "primary", tuple(f"L2::{w}" for w in ("evict_last", "evict_normal", "evict_first", "evict_unchanged")), True
        ),
        Slot("secondary", ("L2::evict_first", "L2::evict_unchanged")),
    ),
    lambda form: lambda *_: np.uint64(0),
    section="9.7.9.18",
    doc="Make a cache eviction policy.",
)
row(
    "alloca",
    ">d=T0 size=T0 align?=any",
    ("u32 u64",),
    (),
    None,
    section="9.7.17.3",
    effect="stack_allocate",
    doc="Reserve bytes on the thread's stack.",
)
row(
    "stacksave", ">d=T0", ("u32 u64",), (), None, section="9.7.17.1", effect="stack_save", doc="Read the stack pointer."
)
row(
    "stackrestore",
    "a=T0",
    ("u32 u64",),
    (),
    None,
    section="9.7.17.2",
    effect="stack_restore",
    doc="Set the stack pointer.",
)


# Atomics: (old, b) -> new, applied lane after lane.
def _increment(old: Array, b: Array) -> Array:
    return np.where(old >= b, old.dtype.type(0), old + old.dtype.type(1))


def _decrement(old: Array, b: Array) -> Array:
    return np.where((old == 0) | (old > b), b, old - old.dtype.type(1))


def _exchange(old: Array, b: Array) -> Array:
    return b


def _float_pick(word: str) -> LaneFunction:
    return np.fmin if word == "min" else np.fmax


_COMBINE: dict[str, LaneFunction] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "inc": _increment,
    "dec": _decrement,
    "exch": _exchange,
}


def _atomic(form: Form) -> LaneFunction:
    if form.type.name in ("f16", "bf16", "f16x2", "bf16x2"):
        return half({"add": np.add, "min": np.fmin, "max": np.fmax}[form["op"]])(form)
    if form.type.kind == "float" and form["op"] in ("min", "max"):
        return _float_pick(form["op"])
    return _COMBINE[form["op"]]


def _cas(form: Form) -> LaneFunction:
    return lambda old, b, c: np.where(old == b, c, old)


_ORDER = (
    SPACE,
    Slot("semantics", ("relaxed", "acquire", "release", "acq_rel")),
    _SCOPE,
    Slot("noftz", ("noftz",)),
    Slot("hint", ("L2::cache_hint",)),
)
_ATOMIC_TYPES = "b32 b64 u32 u64 s32 s64 f32 f64 f16 bf16 f16x2 bf16x2 b128"
_ARITHMETIC = Slot("op", ("add", "min", "max", "and", "or", "xor", "inc", "dec", "exch"), True)
row(
    "atom",
    ">d=T0 a=address b=T0 policy?=b64",
    (_ATOMIC_TYPES,),
    (*_ORDER, _ARITHMETIC),
    _atomic,
    pipe="lsu",
    section="9.7.13.4",
    effect="atomic",
    doc="Read, change and write memory in one step.",
)
row(
    "atom",
    ">d=T0 a=address b=T0 c=T0 policy?=b64",
    ("b16 b32 b64 b128 u32 u64 s32 s64",),
    (*_ORDER, Slot("op", ("cas",), True)),
    _cas,
    pipe="lsu",
    section="9.7.13.4",
    effect="atomic",
    doc="Compare memory and swap when equal.",
)
row(
    "red",
    "a=address b=T0 policy?=b64",
    (_ATOMIC_TYPES,),
    (*_ORDER, Slot("async", ("async",)), _ARITHMETIC),
    _atomic,
    pipe="lsu",
    section="9.7.13.5",
    effect="atomic",
    doc="Change memory in one step, without reading back.",
)
row(
    "fence",
    "",
    (),
    (Slot("semantics", ("sc", "acq_rel", "acquire", "release")), _SCOPE),
    None,
    pipe="barrier",
    section="9.7.13.3",
    effect="nothing",
    doc="Order this thread's memory accesses.",
)
row(
    "fence",
    "",
    (),
    (Slot("proxy", ("proxy",), True), Slot("kind", ("alias", "async", "async::generic")), SPACE),
    None,
    pipe="barrier",
    section="9.7.13.3",
    effect="nothing",
    doc="Order accesses of different proxies.",
)
row(
    "fence",
    "",
    (),
    (Slot("init", ("mbarrier_init",), True), Slot("semantics", ("release",), True), _SCOPE),
    None,
    pipe="barrier",
    section="9.7.13.3",
    effect="nothing",
    doc="Make barrier initialisations visible to the cluster.",
)
row(
    "fence",
    "a?=address size?=any",
    (),
    (
        Slot("proxy", ("proxy",), True),
        Slot("kind", ("tensormap::generic",), True),
        Slot("semantics", ("acquire", "release"), True),
        _SCOPE,
    ),
    None,
    pipe="barrier",
    section="9.7.13.3",
    effect="map_fence",
    doc="Order tensor map changes and uses.",
)
row(
    "membar",
    "",
    (),
    (Slot("scope", ("cta", "gl", "sys"), True),),
    None,
    pipe="barrier",
    section="9.7.13.3",
    effect="nothing",
    doc="Order this thread's memory accesses.",
)
row(
    "nanosleep",
    "a=u32",
    ("u32",),
    (),
    None,
    pipe="branch",
    section="9.7.13.6",
    effect="nothing",
    doc="Pause this thread.",
)
