"""Faults TT6040 to TT6049: what the simulator's sanitizer finds. They are noted in a launch's findings, not raised."""

from __future__ import annotations

from tinyton_lab.base.faults.row import Fault

_ACCESS = "{action} of {bytes} bytes at byte {offset} of {name}"
ROWS: tuple[Fault, ...] = (
    Fault(
        "TT6040",
        "Race",
        _ACCESS + " is not ordered with {other}; {where}",
        "put a barrier (tl.debug_barrier, bar.sync) or a release and an acquire between the two accesses",
        "Two accesses of one place, at least one of them a store, happen in different warps without anything that "
        "orders them (PTX ISA 8.10): which of them comes first depends on the hardware's schedule.",
    ),
    Fault(
        "TT6041",
        "Several stores of one value",
        _ACCESS + " is made by several threads with the same value; {where}",
        "nothing, if it is meant: the result does not depend on the order",
        "Compilers let all threads store a value that all of them hold. It is a note, not an error.",
    ),
    Fault(
        "TT6042",
        "Read of memory that nobody has written",
        _ACCESS + " reads what was never written; {where}",
        "store to it first, or mask the load",
        "Shared and local memory hold anything when a CTA begins; so do the arguments named in `uninitialised`.",
    ),
    Fault(
        "TT6043",
        "Read of a register that was never written",
        "{instruction} reads {register}, which was never written; {where}",
        "write the register on every path that leads here",
        "Registers hold anything when a thread begins.",
    ),
    Fault(
        "TT6044",
        "Data of a copy used before the wait",
        _ACCESS + " comes before the wait for the copy of line {other}; {where}",
        "wait for the copy (cp.async.wait_group, or its barrier), then let the threads meet at a barrier",
        "An asynchronous copy may write its data at any time until it is waited for.",
    ),
    Fault(
        "TT6045",
        "Source of a copy overwritten before the wait",
        _ACCESS + " comes before the wait for {other}; {where}",
        "wait for the copy or multiplication (wait_group) before its source is written again",
        "An asynchronous copy or multiplication may read its source at any time until it is waited for.",
    ),
    Fault(
        "TT6046",
        "Shuffle from a lane that does not take part",
        "{mnemonic} takes a value from an inactive lane; {where}",
        "let all lanes that others read from execute the shuffle",
        "The value that a shuffle takes from an inactive lane is undefined (PTX ISA 9.7.9.6).",
    ),
    Fault(
        "TT6047",
        "Store hidden from the async proxy",
        _ACCESS + " by the async proxy may not see {other}; {where}",
        "put fence.proxy.async between the store and the copy or multiplication",
        "Copy engines and warpgroup multiplications see ordinary stores only after a proxy fence (PTX ISA 8.6).",
    ),
    Fault(
        "TT6048",
        "Accumulator used before the wait",
        "{instruction} touches {register} while a multiplication still writes it; {where}",
        "execute wgmma.wait_group before the accumulators are used",
        "A warpgroup multiplication may write its accumulators at any time until it is waited for.",
    ),
    Fault(
        "TT6049",
        "Misused barrier in memory",
        "the barrier at byte {offset} of shared memory {problem}; {where}",
        "make it once with mbarrier.init for the number of arrivals, and end its use with mbarrier.inval",
        "A barrier in memory must be initialised, and each phase gets as many arrivals as it was made for.",
    ),
)
