"""Rows of table T7: branches, calls, barriers and what ends a thread (PTX ISA 9.7.12, 9.7.13, 9.7.19)."""

from __future__ import annotations

from tinyton_lab.ptx.isa import Slot, row

_UNI = Slot("uni", ("uni",))
row(
    "bra",
    "target=label",
    (),
    (_UNI,),
    None,
    pipe="branch",
    section="9.7.12.3",
    effect="branch",
    doc="Continue at a label.",
)
row(
    "brx",
    "index=u32 table=label",
    (),
    (Slot("idx", ("idx",), True), _UNI),
    None,
    pipe="branch",
    section="9.7.12.4",
    effect="branch_table",
    doc="Continue at a label of a list.",
)
row("call", "any=any", (), (_UNI,), None, pipe="branch", section="9.7.12.5", effect="call", doc="Call a function.")
row(
    "ret",
    "",
    (),
    (_UNI,),
    None,
    pipe="branch",
    section="9.7.12.6",
    effect="return",
    doc="Return from a function; ends a kernel.",
)
row("exit", "", (), (), None, pipe="branch", section="9.7.12.7", effect="exit", doc="End this thread.")
row("trap", "", (), (), None, pipe="branch", section="9.7.19.3", effect="trap", doc="End the launch with an error.")
row("brkpt", "", (), (), None, pipe="branch", section="9.7.19.1", effect="nothing", doc="Stop in a debugger.")
row(
    "pmevent",
    "a=any",
    (),
    (Slot("mask", ("mask",)),),
    None,
    pipe="branch",
    section="9.7.19.2",
    effect="nothing",
    doc="Trigger a performance monitor.",
)
row(
    "setmaxnreg",
    "a=any",
    ("u32",),
    (Slot("action", ("inc", "dec"), True), Slot("sync", ("sync",), True), Slot("aligned", ("aligned",), True)),
    None,
    pipe="branch",
    section="9.7.19.5",
    effect="nothing",
    doc="Change the warpgroup's share of registers.",
)
row(
    "griddepcontrol",
    "",
    (),
    (Slot("action", ("launch_dependents", "wait"), True),),
    None,
    pipe="barrier",
    section="9.7.13.13",
    effect="nothing",
    doc="Order this grid after the one before it.",
)
_ALIGNED = Slot("aligned", ("aligned",))
_CTA = Slot("cta", ("cta",))
for _name in ("bar", "barrier"):
    row(
        _name,
        "a=u32 b?=u32",
        (),
        (_CTA, Slot("action", ("sync",), True), _ALIGNED),
        None,
        pipe="barrier",
        section="9.7.13.1",
        effect="barrier",
        doc="Wait for the CTA's threads at a barrier.",
    )
    row(
        _name,
        "a=u32 b=u32",
        (),
        (_CTA, Slot("action", ("arrive",), True), _ALIGNED),
        None,
        pipe="barrier",
        section="9.7.13.1",
        effect="barrier",
        doc="Arrive at a barrier without waiting.",
    )
    row(
        _name,
        ">d=u32 a=u32 b?=any c?=pred",
        ("u32",),
        (_CTA, Slot("action", ("red",), True), Slot("op", ("popc",), True), _ALIGNED),
        None,
        pipe="barrier",
        section="9.7.13.1",
        effect="barrier",
        doc="Wait, and count the threads whose predicate holds.",
    )
    row(
        _name,
        ">d=pred a=u32 b?=any c?=pred",
        ("pred",),
        (_CTA, Slot("action", ("red",), True), Slot("op", ("and", "or"), True), _ALIGNED),
        None,
        pipe="barrier",
        section="9.7.13.1",
        effect="barrier",
        doc="Wait, and combine the threads' predicates.",
    )
row(
    "bar",
    "mask=b32",
    (),
    (Slot("warp", ("warp",), True), Slot("action", ("sync",), True)),
    None,
    pipe="barrier",
    section="9.7.13.2",
    effect="warp_barrier",
    doc="Wait for the named lanes of the warp.",
)
row(
    "barrier",
    "",
    (),
    (
        Slot("cluster", ("cluster",), True),
        Slot("action", ("arrive", "wait"), True),
        Slot("semantics", ("release", "acquire", "relaxed")),
        _ALIGNED,
    ),
    None,
    pipe="barrier",
    section="9.7.13.4",
    effect="cluster_barrier",
    doc="Arrive or wait at the cluster's barrier.",
)
