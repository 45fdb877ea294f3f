"""Run machine code over a grid: pack arguments, share programs among threads, turn a bad access into a fault.

It knows the frame a native entry works from and nothing of how the code was made.
"""

from __future__ import annotations

import ctypes
import os
import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import Any

from tinyton_lab.base import knobs
from tinyton_lab.base.access import misaligned, out_of_bounds
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.base.dtypes import DType
from tinyton_lab.base.source import Span
from tinyton_lab.llvm import native
from tinyton_lab.llvm.text import with_debug_lines
from tinyton_lab.runtime import frame
from tinyton_lab.runtime.buffers import Buffer
from tinyton_lab.runtime.messages import Message, printer
from tinyton_lab.runtime.threads import THREADS

PARALLEL_UNITS = 1 << 21  # lane operations below which waking a thread costs more than it saves
_CHUNKS_PER_THREAD = 16
_SCALAR_CODES = {("float", 64): "d", ("float", 32): "f4x", ("float", 16): "H6x", ("float", 8): "B7x"}


@dataclass(frozen=True, slots=True)
class CpuParameter:
    """One run-time parameter: a scalar of `dtype`, or a pointer to elements of it."""

    name: str
    dtype: DType
    pointer: bool

    @property
    def struct_code(self) -> str:
        """How it lies in the frame, in the words of `struct`: four slots for a pointer, one for a scalar."""
        if self.pointer:
            return "4Q"
        return _SCALAR_CODES.get((self.dtype.kind, self.dtype.bits), "q" if self.dtype.signed else "Q")


@dataclass(frozen=True, slots=True)
class Access:
    """An op that touches memory: where it was written, ``load`` or ``store``, and how many bytes an element has.

    `parameters` are those its pointer may come from.
    """

    span: Span | None
    action: str
    element_bytes: int
    parameters: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Extent:
    """An argument as a fault needs it, read back from its slots."""

    name: str
    address: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class CpuCode:
    """What the code generator makes of one kernel.

    `text` is the LLVM module, `line_uids` the op of each of its lines (0: none). `work` estimates the lane operations
    of one program, `scratch_bytes` is what each thread needs. `accesses` maps the number of each op that touches memory
    to what a fault says of it, `messages` that of each `print` and `check` to what it says.
    """

    name: str
    text: str
    line_uids: tuple[int, ...]
    parameters: tuple[CpuParameter, ...]
    scratch_bytes: int
    work: int
    checked: bool
    machine: native.Machine
    accesses: Mapping[int, Access] = field(default_factory=dict[int, Access])
    messages: Mapping[int, Message] = field(default_factory=dict[int, Message])

    def assembly(self) -> tuple[str, tuple[int, ...]]:
        """The machine code as assembler text, and the op of each of its lines (0: none); made when asked for."""
        marked = (
            f"{line}, !dbg !{{{uid}}}" if uid else line for line, uid in zip(self.text.splitlines(), self.line_uids)
        )
        module = with_debug_lines("\n".join(marked) + "\n", self.name, "run")
        return _listing(native.session(self.machine).assembly(module))


def _listing(assembly: str) -> tuple[str, tuple[int, ...]]:
    """Read the op numbers off the line directives, and leave out what only a debugger wants."""
    lines: list[str] = []
    uids: list[int] = []
    current = 0
    for line in assembly.splitlines():
        located = _LOCATION.match(line)
        if located is not None:
            current = int(located[1])
        elif not _NOISE.match(line):
            lines.append(line)
            current = 0 if line.startswith(("enter:", "poll:", "check.", "extent.")) else current
            uids.append(current if line.startswith("\t") and not line.startswith("\t.") else 0)
    return "\n".join(lines) + "\n", tuple(uids)


_LOCATION = re.compile(r"\s+\.loc\s+\d+\s+(\d+)")
_NOISE = re.compile(r"\s+\.(cfi_|file|ident)|\.Ltmp|\.Lfunc_(begin|end)|\s*$")


_VIEWS: dict[tuple[int, ...], array[int]] = {}  # tables stay: a running kernel may read them


def pointer_slots(buffer: Buffer) -> tuple[int, int, int, int]:
    """The four slots of a pointer argument."""
    levels = frame.view_levels(buffer.shape, buffer.strides, buffer.dtype.bytes)
    table = 0
    if levels is not None and buffer.last > buffer.first:
        table = _VIEWS.setdefault(levels, array("q", levels)).buffer_info()[0]
    return buffer.address, buffer.first, buffer.last - buffer.first, table


class CpuKernel:
    """A compiled kernel, ready to launch from any thread.

    ``launch(grid, values)`` runs it: `grid` is three positive ints, `values` the arguments' slots in order, flat: for a
    pointer ``address, first, limit, view`` (see `pointer_slots`; for a gapless array ``address, address, bytes, 0``),
    for a scalar its value (a float as a Python float; f16, bf16 and fp8 as their bits). The caller keeps the arrays
    alive. Raises TT4001 for an access outside its array, TT4002 for an array whose elements are not aligned;
    KeyboardInterrupt ends a launch within a second.
    """

    def __init__(self, code: CpuCode) -> None:
        self.code = code
        self._module = native.session(code.machine).link(code.text, ("enter", "run"))
        self._enter: Any = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self._module.addresses["enter"])
        layout = Struct(_JOB + "".join(parameter.struct_code for parameter in code.parameters))
        self._pack = layout.pack_into
        self._slots = frame.THREAD_SLOTS + layout.size // frame.SLOT_BYTES
        self._frames: list[Frame] = []
        self._print = printer(code.messages) if code.messages else None
        printed = ctypes.cast(self._print, ctypes.c_void_p).value if self._print else None
        self._job = printed or 0, self._module.addresses["run"], code.scratch_bytes

    def launch(self, grid: tuple[int, int, int], values: Sequence[int | float]) -> None:
        """Run all programs of the grid and wait for them."""
        frames = self._frames
        current = frames.pop() if frames else Frame(self._slots, self.code.scratch_bytes)
        x, y, z = grid
        total = chunk = x * y * z
        threads = 1
        if total > 1 and total * self.code.work >= PARALLEL_UNITS and (threads := thread_count()) > 1:
            chunk = max(total // (threads * _CHUNKS_PER_THREAD), 1)
        self._pack(current.slots, _JOB_AT, 0, total, chunk, 0, x, y, z, *self._job, *values)
        code = THREADS.share(current.address, threads - 1) if threads > 1 else self._enter(current.address)
        faults = self._faults(code, current, values) if code or threads > 1 else None
        frames.append(current)
        if faults:
            raise self._fault(min(faults), grid, values)

    def _faults(self, code: int, current: Frame, values: Sequence[Any]) -> list[tuple[int, ...]]:
        """What a run that ended with `code` has to report. Raises TT4002 for an argument that is not aligned."""
        if code == frame.MISALIGNED:
            raise self._misaligned(values)
        found = [current.fault(frame.FAULT_OP)] if code == frame.FAULT else []
        if current.slots[_FIRST_FAULT]:
            found.append(current.fault(_FIRST_FAULT))
        return found

    def _misaligned(self, values: Sequence[Any]) -> TinytonError:
        extents = self._extents(values)
        for access in self.code.accesses.values():
            for parameter in access.parameters:
                address, size = extents[parameter].address, access.element_bytes
                if address % size:
                    return misaligned(access.span, access.action, address, size, extents[parameter])
        raise RuntimeError("cpu: an argument is misaligned, and none is")

    def _fault(self, record: tuple[int, ...], grid: tuple[int, int, int], values: Sequence[Any]) -> TinytonError:
        program, uid, argument, address = record
        x, y, _ = grid
        if uid in self.code.messages:
            return self.code.messages[uid].failure(
                (program % x, program // x % y, program // (x * y)), argument, address
            )
        access = self.code.accesses[uid]
        extents = self._extents(values)
        return out_of_bounds(
            access.span,
            access.action,
            address,
            access.element_bytes,
            (program % x, program // x % y, program // (x * y)),
            extents.get(argument) or _Extent("memory of no argument", 0, 0, 0),
            tuple(extents.values()),
        )

    def _extents(self, values: Sequence[Any]) -> dict[int, _Extent]:
        extents: dict[int, _Extent] = {}
        at = 0
        for index, parameter in enumerate(self.code.parameters):
            if parameter.pointer:
                address, first, limit = values[at : at + 3]
                extents[index] = _Extent(parameter.name, address, first, first + limit)
            at += frame.POINTER_SLOTS if parameter.pointer else 1
        return extents


_JOB_AT = frame.THREAD_SLOTS * frame.SLOT_BYTES
_FIRST_FAULT = frame.THREAD_SLOTS + frame.FIRST_FAULT
_JOB = f"={frame.ACTIVE}q{frame.SLOT_BYTES * (frame.ARGUMENTS - frame.ACTIVE)}x"  # the rest of the job starts as zeros
_SCRATCH_ALIGNMENT = 64


class Frame:
    """The memory block of a thread that launches, and of its job. Used by one launch at a time."""

    __slots__ = ("_scratch", "address", "slots")

    def __init__(self, slots: int, scratch_bytes: int) -> None:
        self.slots: Any = (ctypes.c_int64 * slots)()
        self.address = ctypes.addressof(self.slots)
        self._scratch: Any = ctypes.create_string_buffer(scratch_bytes + _SCRATCH_ALIGNMENT)
        start = ctypes.addressof(self._scratch)
        self.slots[frame.SCRATCH] = start + -start % _SCRATCH_ALIGNMENT
        for slot, name in _INTERPRETER:
            self.slots[slot] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value

    def fault(self, at: int) -> tuple[int, int, int, int]:
        """The access that failed, from its four slots: linear program number, op, parameter, address."""
        op, argument, address, program = self.slots[at : at + 4]
        return program, op, argument, address


_INTERPRETER = (
    (frame.SAVE_THREAD, "PyEval_SaveThread"),
    (frame.RESTORE_THREAD, "PyEval_RestoreThread"),
    (frame.CHECK_SIGNALS, "PyErr_CheckSignals"),
)


def thread_count() -> int:
    """Threads that a launch may use: ``TINYTON_CPU_THREADS``, or one per core of this process."""
    wanted = knobs.CPU_THREADS.integer()
    if wanted > 0:
        return wanted
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
