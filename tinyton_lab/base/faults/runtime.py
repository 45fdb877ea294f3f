"""Faults TT4xxx: while a kernel runs."""

from __future__ import annotations

from tinyton_lab.base.faults.row import Fault


def _lanes(body: str) -> str:
    """A specimen: a kernel of 8 lanes in tiny-ton's dialect over a float32 array with this body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    head = "from tinyton_lab import tiny_ton as tt4\n@tt4.jit\ndef kernel(x):\n    i = tt4.arange(0, 8)\n"
    return f'{head}{lines}kernel[(1,)](np.zeros(8, np.float32), backend="interpreter")\n'


ROWS: tuple[Fault, ...] = (
    Fault(
        "TT4001",
        "Access out of bounds",
        "program {program} would {access} element {index} of {argument}, which has {extent}{neighbour}",
        "mask the access so that every element it leaves on is inside, or check the grid and the sizes passed",
        "Every element that a load or store touches must lie in the array that its pointer was derived from; elements "
        "that the mask turns off are never touched. Elements are counted from the one the argument points to; the gaps "
        "of a strided view are outside. The fault is raised before anything of that access is read or written. A "
        "pointer made of an integer may point into any argument; list arrays that are none: reachable=[...].",
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
    Fault(
        "TT4012",
        "Shared memory that holds nothing",
        "{lane} of program {program} would {action} slot {slot} of shared memory, which nothing was stored to",
        "store to the slot first, in every program and every lane that it needs",
        "Shared memory is empty when a program starts; what a GPU would read there is left over from other programs. "
        "The interpreter and eager mode look; elsewhere sanitize=True of the simulator does.",
        _lanes("tt4.store(x + i, tt4.shared_load(i))"),
    ),
    Fault(
        "TT4013",
        "Lanes that do not wait for each other",
        "{lane} of program {program} would {action} slot {slot} of shared memory, which {did} with no sync between",
        "put tiny_ton.sync() between the two accesses",
        "Lanes go at their own pace. What one of them stores is there for the others after the next sync, and a slot "
        "that others may still read is stored to after one. In a loop that means two: one before the slots are read, "
        "one before the next turn stores to them again. The interpreter and eager mode look at every slot; a uniform "
        "slot is stored to by lane 0 and read by all lanes.",
        _lanes("tt4.shared_store(i, tt4.load(x + i))\ntt4.store(x + i, tt4.shared_load(7 - i))"),
    ),
    Fault(
        "TT4014",
        "Slot outside shared memory",
        "{lane} of program {program} would {action} slot {slot} of shared memory, which has {slots}",
        "state the slots that are needed: buffer_size=n",
        "Shared memory has as many slots as a program has lanes, or as many as buffer_size says, of 4 bytes each.",
        _lanes("tt4.shared_store(i + 1, i)"),
    ),
    Fault(
        "TT4015",
        "Use of masked-off elements",
        "in program {program} {what}{index} depends on an element that a mask turned off",
        "give the load an `other`, or choose with tl.where before the element is used",
        "Here masked-off elements are 0 where a load has no `other`; in Triton they are anything. With poison=True the "
        "interpreter runs a launch with 0, with NaN and with the greatest number there, and tells the first place "
        "where that makes a difference: an address, a value stored, a branch.",
        """
@tt.jit
def kernel(x, out, n):
    i = tl.arange(0, 8)
    tl.store(out, tl.sum(tl.load(x + i, mask=i < n)))
kernel[(1,)](np.ones(5, np.float32), np.zeros(1, np.float32), 5, backend="interpreter", poison=True)
""",
    ),
)
