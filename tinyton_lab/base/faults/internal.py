"""Faults TT9xxx: text of the IR itself, and faults of the lab's own making."""

from __future__ import annotations

from tinyton_lab.base.faults.row import Fault

ROWS: tuple[Fault, ...] = (
    Fault(
        "TT9001",
        "IR text that does not parse",
        "this is not tile IR: {what}",
        "print a kernel's `tile` stage to see the form",
        "The text of tile IR parses back into the IR it was printed from; text written by hand has to keep its form.",
    ),
    Fault(
        "TT9002",
        "IR that does not verify",
        "{what}",
        "this is a fault of the lab, not of your kernel: please report it",
        "A pass left IR that breaks a rule of its level. The verifier stops the compilation before anything runs.",
    ),
    Fault(
        "TT9003",
        "LLVM could not generate code",
        "LLVM could not generate code: {what}",
        "this is a fault of the lab, not of your kernel: please report it",
        "LLVM ends its process where it cannot select an instruction. Code for GPUs is generated in a process of its "
        "own, so that the session lives on; the message is LLVM's.",
    ),
)
