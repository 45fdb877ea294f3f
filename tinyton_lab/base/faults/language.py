"""Faults TT1xxx: reading a kernel's source."""

from __future__ import annotations

from tinyton_lab.base.faults.row import Fault

ROWS: tuple[Fault, ...] = (
    Fault(
        "TT1001",
        "Undefined name",
        "the name {name!r} is not defined here",
        "did you mean {close!r}?",
        "A kernel sees its parameters, its own variables, and the module's globals.",
        """
@tt.jit
def kernel(x):
    tl.store(x, lenght)
kernel[(1,)](np.zeros(1, np.float32))
""",
    ),
)
