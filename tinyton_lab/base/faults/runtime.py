"""Faults TT4xxx: while a kernel runs."""

from __future__ import annotations

from tinyton_lab.base.faults.row import Fault

ROWS: tuple[Fault, ...] = (
    Fault(
        "TT4001",
        "Access out of bounds",
        "program {program} would {access} element {index} of {argument}, which has {extent}{neighbour}",
        "mask the access so that every element it leaves on is inside, or check the grid and the sizes passed",
        "Every element that a load or store touches must lie in the array that its pointer was derived from; elements "
        "that the mask turns off are never touched. Elements are counted from the one the argument points to; the gaps "
        "of a strided view are outside. The fault is raised before anything of that access is read or written.",
        """
@tt.jit
def kernel(x, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(x + offsets, offsets)
kernel[(1,)](np.zeros(5, np.int32), N=8)
""",
    ),
    Fault(
        "TT4002",
        "Misaligned access",
        "this would {access} at byte {offset} of {argument}, whose address is no multiple of {element_bytes} there",
        "derive the pointer from one whose elements are as large",
        "An element of n bytes lies at an address that n divides; GPUs refuse anything else.",
        """
@tt.jit
def kernel(x):
    tl.store((x + 1).to(tl.pointer_type(tl.float32)), 1.0)
kernel[(1,)](np.zeros(16, np.uint8), backend="interpreter")
""",
    ),
    Fault(
        "TT4011",
        "Assertion at run time",
        "the assertion does not hold in program {program}{message}",
        "",
        "device_assert, and assert on values of a kernel, check on every engine; the native engine in checked mode "
        "only. On a GPU a failed assertion ends the process' use of the device, as in CUDA.",
        """
@tt.jit
def kernel(x):
    i = tl.arange(0, 8)
    assert tl.load(x + i) > 0, "x must be positive"
kernel[(1,)](np.zeros(8, np.float32), backend="eager")
""",
    ),
)
