"""Where things lie in the memory block a native launch works from. Knows numbers only: no kernel and no LLVM.

A frame is an array of 8-byte slots: first what belongs to one thread, then the job that all threads of a launch share,
then the arguments. The code generator writes loads from these slots; `runtime/cpu.py` fills them.
"""

from __future__ import annotations

SLOT_BYTES = 8

# Of one thread.
SCRATCH = 0  # address of the thread's scratch memory
BUDGET = 1  # work left until the thread looks for an interrupt
STATE = 2  # the interpreter's thread state while the lock is released; 0: this thread never handles signals
SAVE_THREAD, RESTORE_THREAD, CHECK_SIGNALS = 3, 4, 5  # addresses of the interpreter's own functions
FAULT_OP = 6  # number of the op that went out of bounds; 0: none did
FAULT_ARGUMENT, FAULT_ADDRESS, FAULT_PROGRAM = 7, 8, 9  # parameter its pointer is from, address, linear program number
MAIL, ASLEEP, LOCK = 10, 11, 12  # of a thread that waits for jobs: the job offered, whether it sleeps, where it does
MEMORY, MEMORY_BYTES = 13, 14  # its scratch memory as it was allocated, and how much of it can be used
THREAD_SLOTS = 16

# Of the job; relative to its own start.
NEXT, TOTAL, CHUNK = 0, 1, 2  # next program to run (atomic), their number, how many a thread takes at once
STOP = 3  # non-zero asks every thread to stop
GRID = 4  # three slots
PRINT = 7  # address of the function that prints; 0: none is called
RUN, SCRATCH_BYTES = 8, 9  # address of the machine code, scratch memory that each thread needs
ACTIVE = 10  # threads that were offered the job and are not done with it
RECORDING = 11  # held while a thread writes down its fault
FIRST_FAULT = 12  # four slots, like those of a thread: the fault of the lowest program among other threads
ARGUMENTS = 16

# Slots of one pointer argument; a scalar has one, with its own bits at the start of the slot.
ADDRESS, FIRST, LIMIT, VIEW = 0, 1, 2, 3  # address given; first byte; bytes from there on; view table or 0
POINTER_SLOTS = 4

# What a native entry returns.
DONE, FAULT, STOPPED, MISALIGNED = 0, 1, 2, 3

BUDGET_UNITS = 1 << 25  # lane operations between two looks for an interrupt: some milliseconds


def view_levels(shape: tuple[int, ...], strides: tuple[int, ...], item_bytes: int) -> tuple[int, ...] | None:
    """Describe which bytes of a view's range belong to its elements, or None when all of them do.

    The result is ``(run, levels, stride, count, stride, count, ...)``, outermost level first: a byte offset from the
    first byte belongs to the view when taking whole strides off leaves less than `run` bytes. Views whose levels
    interleave (windows over windows) are described as gapless.

    >>> view_levels((10,), (8,), 4), view_levels((4, 6), (24, 4), 4), view_levels((4, 3), (24, 4), 4)
    ((4, 1, 8, 10), None, (12, 1, 24, 4))
    """
    run, extent, levels = item_bytes, item_bytes, []
    for stride, count in sorted((abs(stride), count) for stride, count in zip(strides, shape) if count > 1):
        if not levels and stride <= run:
            run = extent = run + stride * (count - 1)
        elif stride >= extent:
            levels.append((stride, count))
            extent += stride * (count - 1)
        elif stride:
            return None
    if not levels:
        return None
    return (run, len(levels), *(number for level in reversed(levels) for number in level))
