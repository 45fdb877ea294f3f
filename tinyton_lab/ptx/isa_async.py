"""Rows of table T7: copies that complete later, and what waits for them (PTX ISA 9.7.9.25, 9.7.13.15)."""

from __future__ import annotations

from tinyton_lab.ptx.isa import Slot, row

_CACHE = (Slot("hint", ("L2::cache_hint",)), Slot("prefetch", ("L2::64B", "L2::128B", "L2::256B")))
_TO = Slot("to", ("shared", "shared::cta"), True)
_FROM = Slot("from", ("global",), True)
_ASYNC = Slot("async", ("async",), True)
row(
    "cp",
    "dst=address src=address size=any source?=any policy?=any",
    (),
    (_ASYNC, Slot("cop", ("ca", "cg"), True), _TO, _FROM, *_CACHE),
    None,
    pipe="lsu",
    section="9.7.9.25.3.1",
    effect="copy_async",
    doc="Copy 4, 8 or 16 bytes to shared memory, asynchronously.",
)
row(
    "cp",
    "",
    (),
    (_ASYNC, Slot("group", ("commit_group",), True)),
    None,
    pipe="lsu",
    section="9.7.9.25.3.2",
    effect="copy_commit",
    doc="Close a group of copies.",
)
row(
    "cp",
    "n=any",
    (),
    (_ASYNC, Slot("group", ("wait_group",), True)),
    None,
    pipe="lsu",
    section="9.7.9.25.3.3",
    effect="copy_wait",
    doc="Wait until at most n groups are pending.",
)
row(
    "cp",
    "",
    (),
    (_ASYNC, Slot("group", ("wait_all",), True)),
    None,
    pipe="lsu",
    section="9.7.9.25.3.3",
    effect="copy_wait",
    doc="Wait for all copies.",
)
