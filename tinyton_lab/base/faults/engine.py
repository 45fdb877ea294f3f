"""Faults TT5xxx: engines, targets and tools."""

from __future__ import annotations

from tinyton_lab.base.faults.row import Fault

ROWS: tuple[Fault, ...] = (
    Fault(
        "TT5001",
        "Unknown target",
        "there is no target {name!r}",
        "use one of {known}",
        "A target names the machine to compile for: `cpu`, or a GPU architecture.",
        """
@tt.jit
def kernel(x):
    tl.store(x, 1.0)
tt.inspect(kernel, np.zeros(1, np.float32), target="sm_12345")
""",
    ),
)
