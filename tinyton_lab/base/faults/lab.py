"""Faults TT8xxx: the notebook side."""

from __future__ import annotations

from tinyton_lab.base.faults.row import Fault

ROWS: tuple[Fault, ...] = (
    Fault(
        "TT8001",
        "Bad magic option",
        "the option {option} is {value!r}; it must be {wanted}",
        "`%%ttkernel?` lists the options and what they take",
        "The options of a magic are checked before the cell runs.",
    ),
    Fault(
        "TT8002",
        "Unknown kernel",
        "there is no kernel {name!r} in this notebook",
        "did you mean {close!r}?",
        "The line magics look a kernel up in the notebook's variables.",
    ),
    Fault(
        "TT8003",
        "The cell did not raise",
        "the cell was to raise {wanted}, but {seen}",
        "remove `--raises`, or make the cell raise the fault that it is to show",
        "`--raises` is for cells that show an error on purpose; they must keep showing it.",
    ),
)
