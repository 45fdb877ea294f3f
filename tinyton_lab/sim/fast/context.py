"""What machine code and Python share: the slots of a thread's context, of an allocation, and of a warp's frame."""

from __future__ import annotations

from enum import IntEnum

LANES = 32
# An allocation: base address, bytes, where it really lies, whether it may be written, its bytes that count (or 0).
REGION_SLOTS = 5
# A frame begins with these; registers that live across a barrier follow.
FRAME_STATE, FRAME_STATUS, FRAME_BARRIER, FRAME_LIVE, FRAME_REGISTERS = 0, 4, 8, 12, 64
RUNNING, WAITING, FINISHED = 0, 1, 2


class Slot(IntEnum):
    """64-bit slots of the context; `SHARED`, `LOCAL`, `PARAMETERS` and `WINDOW` are allocations of five slots each."""

    REGIONS = 0
    REGION_COUNT = 1
    LOCAL_LIMIT = 2
    LOCAL_WIDTH = 3
    STOP = 4
    FUEL = 5
    FAULT = 6
    FAULT_SITE = 7
    FAULT_LANE = 8
    FAULT_ADDRESS = 9
    CTA = 10
    COORDINATES = 11
    FRAMES = 12
    FRAME_BYTES = 13
    WARPS = 14
    THREADS = 15
    NEXT_CTA = 16
    CTAS = 17
    GRID = 18
    PLACE = 21
    SHARED_CLEAR = 24
    LOCAL_CLEAR = 25
    FULL = 26
    SHARED = 30
    LOCAL = 35
    PARAMETERS = 40
    WINDOW = 45
    ARRIVED = 50
    EXPECTED = 66
    WARP = 89
    SPECIALS = 90
    FUNCTIONS = 160
    HOLDS = 320
    TOLD = 336
    END = 352


class Space(IntEnum):
    """How an address is understood."""

    GLOBAL = 0
    GENERIC = 1
    SHARED = 2
    LOCAL = 3
    PARAM = 4


class Fault(IntEnum):
    """Why machine code gave up."""

    NONE = 0
    MEMORY = 1
    DEADLOCK = 2
    STEPS = 3
    STOPPED = 4
    BEYOND = 5
