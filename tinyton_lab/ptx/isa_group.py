"""Rows of table T7: barriers in memory, bulk and tensor copies, warpgroup matrices (PTX ISA 9.7.9, 9.7.13, 9.7.15)."""

from __future__ import annotations

from tinyton_lab.ptx.isa import Slot, row

_SHARED = Slot("space", ("shared", "shared::cta", "shared::cluster"))
_ORDER = (Slot("semantics", ("release", "acquire", "relaxed")), Slot("scope", ("cta", "cluster", "gpu", "sys")))
_COUNT = Slot("noComplete", ("noComplete", "noinc"))


def _barrier(operands: str, doc: str, *slots: Slot) -> None:
    row(
        "mbarrier",
        operands,
        ("b64",),
        (*slots, *_ORDER, _SHARED),
        None,
        pipe="barrier",
        section="9.7.13.15",
        effect="memory_barrier",
        doc=doc,
    )


_barrier("a=address count=u32", "Make a barrier of a number of arrivals.", Slot("action", ("init",), True))
_barrier("a=address", "End the use of a barrier.", Slot("action", ("inval",), True))
_barrier(
    ">d=b64 a=address count?=u32",
    "Arrive and announce bytes.",
    Slot("action", ("arrive", "arrive_drop"), True),
    Slot("expect", ("expect_tx",), True),
)
_barrier(">d=b64 a=address count?=u32", "Arrive.", Slot("action", ("arrive", "arrive_drop"), True), _COUNT)
_barrier("a=address count=u32", "Announce or deliver bytes.", Slot("action", ("expect_tx", "complete_tx"), True))
_barrier(
    ">p=pred a=address state=any hint?=u32",
    "Test whether a phase is over.",
    Slot("action", ("test_wait", "try_wait"), True),
    Slot("parity", ("parity",)),
)
row(
    "mbarrier",
    ">d=u32 state=b64",
    ("b64",),
    (Slot("action", ("pending_count",), True),),
    None,
    pipe="barrier",
    section="9.7.13.15.17",
    effect="pending_count",
    doc="The arrivals that a state was short of.",
)
_ASYNC, _BULK = Slot("async", ("async",), True), Slot("bulk", ("bulk",), True)
_HINT = Slot("hint", ("L2::cache_hint",))
_LOAD = (
    Slot("to", ("shared::cluster", "shared::cta"), True),
    Slot("from", ("global", "shared::cta"), True),
    Slot("done", ("mbarrier::complete_tx::bytes",), True),
    Slot("multicast", ("multicast::cluster",)),
    _HINT,
)
_STORE = (
    Slot("to", ("global",), True),
    Slot("from", ("shared::cta",), True),
    Slot("done", ("bulk_group",), True),
    _HINT,
)
_DIMENSIONS = Slot("dimensions", ("1d", "2d", "3d", "4d", "5d"), True)
_TENSOR, _MODE = Slot("tensor", ("tensor",), True), Slot("mode", ("tile",))
_REDUCE = Slot("reduce", ("reduce",), True)
_OP = Slot("op", ("add", "min", "max", "inc", "dec", "and", "or", "xor"), True)


def _copy(operands: str, effect: str, doc: str, *slots: Slot, types: tuple[str, ...] = ()) -> None:
    row("cp", operands, types, slots, None, pipe="lsu", section="9.7.9.27", effect=effect, doc=doc)


_copy(
    "dst=address src=address size=u32 bar=address mask?=any policy?=any",
    "bulk_copy",
    "Copy bytes, then deliver them to a barrier.",
    _ASYNC,
    _BULK,
    *_LOAD,
)
_copy(
    "dst=address src=address size=u32 policy?=any", "bulk_copy", "Copy bytes to global memory.", _ASYNC, _BULK, *_STORE
)
_copy(
    "src=address size=u32 policy?=any",
    "nothing",
    "A hint to fetch bytes.",
    _ASYNC,
    _BULK,
    Slot("prefetch", ("prefetch",), True),
    Slot("level", ("L2",), True),
    Slot("from", ("global",), True),
    _HINT,
)
_copy(
    "dst=address src=address size=u32 policy?=any",
    "bulk_reduce",
    "Combine bytes with global memory.",
    _REDUCE,
    _ASYNC,
    _BULK,
    *_STORE,
    _OP,
    types=("f16 bf16 b32 u32 s32 b64 u64 s64 f32 f64",),
)
_copy(
    "dst=address src=address bar=address mask?=any policy?=any",
    "tensor_load",
    "Load a box of a tensor.",
    _ASYNC,
    _BULK,
    _TENSOR,
    _DIMENSIONS,
    *_LOAD,
    _MODE,
)
_copy(
    "dst=address src=address policy?=any",
    "tensor_store",
    "Store a box of a tensor.",
    _ASYNC,
    _BULK,
    _TENSOR,
    _DIMENSIONS,
    *_STORE,
    _MODE,
)
_copy(
    "dst=address src=address policy?=any",
    "tensor_store",
    "Combine a box with a tensor.",
    _REDUCE,
    _ASYNC,
    _BULK,
    _TENSOR,
    _DIMENSIONS,
    *_STORE,
    _MODE,
    _OP,
)
_copy(
    "src=address policy?=any",
    "nothing",
    "A hint to fetch a box.",
    _ASYNC,
    _BULK,
    Slot("prefetch", ("prefetch",), True),
    _TENSOR,
    _DIMENSIONS,
    Slot("level", ("L2",), True),
    Slot("from", ("global",), True),
    _MODE,
    _HINT,
)
_copy("", "nothing", "Close a group of bulk copies.", _ASYNC, _BULK, Slot("group", ("commit_group",), True))
_copy(
    "n=any",
    "nothing",
    "Wait for groups of bulk copies.",
    _ASYNC,
    _BULK,
    Slot("group", ("wait_group",), True),
    Slot("read", ("read",)),
)
_copy(
    "a=address",
    "arrive_on_copies",
    "Arrive at a barrier when earlier copies are done.",
    _ASYNC,
    Slot("mbarrier", ("mbarrier",), True),
    Slot("arrive", ("arrive",), True),
    _COUNT,
    _SHARED,
    types=("b64",),
)
MAP_FIELDS = (
    "global_address",
    "rank",
    "box_dim",
    "global_dim",
    "global_stride",
    "element_stride",
    "elemtype",
    "interleave_layout",
    "swizzle_mode",
    "swizzle_atomicity",
    "fill_mode",
)
row(
    "tensormap",
    "a=address b=any c?=any",
    ("b1024", "b32 b64"),
    (
        Slot("action", ("replace",), True),
        Slot("mode", ("tile",), True),
        Slot("field", MAP_FIELDS, True),
        Slot("space", ("global", "shared::cta")),
    ),
    None,
    pipe="lsu",
    section="9.7.9.28",
    effect="tensormap_replace",
    doc="Set a field of a tensor map.",
)
row(
    "tensormap",
    "dst=address src=address size=any",
    (),
    (
        Slot("action", ("cp_fenceproxy",), True),
        Slot("to", ("global",), True),
        Slot("from", ("shared::cta",), True),
        Slot("proxy", ("tensormap::generic",), True),
        *_ORDER,
        Slot("sync", ("sync",), True),
        Slot("aligned", ("aligned",), True),
    ),
    None,
    pipe="lsu",
    section="9.7.13.14",
    effect="tensormap_copy",
    doc="Copy a tensor map and order it before its uses.",
)
_SYNC = (Slot("sync", ("sync",), True), Slot("aligned", ("aligned",), True))
row(
    "wgmma",
    "",
    (),
    (Slot("action", ("fence", "commit_group"), True), *_SYNC),
    None,
    pipe="tensor",
    section="9.7.15.7",
    effect="nothing",
    doc="Order or close a group of warpgroup multiplications.",
)
row(
    "wgmma",
    "n=any",
    (),
    (Slot("action", ("wait_group",), True), *_SYNC),
    None,
    pipe="tensor",
    section="9.7.15.7",
    effect="nothing",
    doc="Wait for groups of warpgroup multiplications.",
)
row(
    "wgmma",
    ">d=any a=any b=b64 scale=any sa?=any sb?=any ta?=any tb?=any",
    ("f16 f32 s32", "f16 bf16 tf32 e4m3 e5m2 s8 u8", "f16 bf16 tf32 e4m3 e5m2 s8 u8"),
    (
        Slot("action", ("mma_async",), True),
        *_SYNC,
        Slot("shape", tuple(f"m64n{n}k{k}" for k in (8, 16, 32) for n in range(8, 257, 8)), True),
        Slot("satfinite", ("satfinite",)),
    ),
    None,
    pipe="tensor",
    section="9.7.15.5",
    effect="warpgroup_matrix",
    doc="Multiply matrices of a warpgroup.",
)
