"""Launch machine code through the CUDA driver: device, modules, copies of arrays, errors. Knows no tile IR.

Numpy arrays are copied to the device before a launch and back after it, overlapping ones as one piece of memory. CUDA
tensors of torch are passed by their pointers. Nothing of CUDA is loaded before it is asked for.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from tinyton_lab.base.diagnostics import TinytonError, error
from tinyton_lab.base.targets import TARGETS, Target
from tinyton_lab.runtime.buffers import Buffer, buffer_of, is_tensor

GRID_LIMITS = (2**31 - 1, 65535, 65535)
ALIGNMENT_BYTES = 256
LOSING = ("ILLEGAL", "LAUNCH_FAILED", "LAUNCH_TIMEOUT", "MISALIGNED", "ASSERT", "HARDWARE_STACK", "ECC", "INVALID_PC")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a launch: an array, a CUDA tensor, a number with its numpy dtype, or None for a null pointer."""

    name: str
    value: Any
    dtype: np.dtype[Any] | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """What is launched: a cubin and its entry, the threads of a CTA, dynamic shared memory in bytes."""

    cubin: bytes
    entry: str
    threads: int
    dynamic_shared_bytes: int = 0


@dataclass(slots=True)
class _Piece:
    """Host bytes ``first .. last - 1`` that live in one device allocation, and the buffers inside.

    A byte keeps its alignment: the allocation starts as far before `first` as the last multiple of 256.
    """

    first: int
    last: int
    buffers: list[Buffer] = field(default_factory=list[Buffer])
    allocation: Any = None

    @property
    def padding(self) -> int:
        return self.first % ALIGNMENT_BYTES

    def address(self, host: int) -> int:
        """Where a host byte lies on the device."""
        return int(self.allocation) + self.padding + host - self.first


class Session:
    """The driver with one device's primary context (the one that torch uses). `driver` is `cuda.bindings.driver`.

    After a fault that ends the context every launch raises TT5016; in a forked child every launch raises TT5014.
    """

    def __init__(self, driver: Any, number: int = 0) -> None:
        self.driver, self.number = driver, number
        self.process = os.getpid()
        self.lost: tuple[str, str] | None = None
        self._lock = threading.Lock()
        self._functions: dict[tuple[bytes, str], Any] = {}
        self.device = self.call("cuDeviceGet", number)
        self.context = self.call("cuDevicePrimaryCtxRetain", self.device)
        self.capability = tuple(
            self.call("cuDeviceGetAttribute", self._attribute(part), self.device) for part in ("MAJOR", "MINOR")
        )

    def _attribute(self, part: str) -> Any:
        return getattr(self.driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_{part}")

    def call(self, name: str, *args: Any) -> Any:
        """Call the driver; its result, or TT5015 with its own words."""
        status, *results = getattr(self.driver, name)(*args)
        if int(status) == 0:
            return results[0] if len(results) == 1 else tuple(results)
        raise error("TT5015", call=name, what=self._words(status))

    def _words(self, status: Any) -> str:
        failed, text = self.driver.cuGetErrorString(status)
        name = getattr(status, "name", str(int(status)))
        return f"{text.decode()} ({name})" if int(failed) == 0 and text else str(name)

    @property
    def target(self) -> Target | None:
        """The compilation target whose machine code this device runs; None where there is none."""
        major, minor = self.capability
        rows = [row for row in TARGETS.values() if row.is_gpu and row.capability // 10 == major]
        exact = [row for row in rows if row.capability == major * 10 + minor]
        older = [row for row in rows if row.capability < major * 10 + minor and not row.name.endswith("a")]
        return next(iter(exact or older[-1:]), None)

    def launch(
        self,
        program: Program,
        grid: Sequence[int],
        arguments: Sequence[Argument],
        written: Collection[str] | None = None,
    ) -> None:
        """Run a program over a grid and wait for it where arrays have to be copied back.

        `written` names the arguments that the kernel may write (None: any). Raises TT5014 to TT5016.
        """
        self._check_usable()
        extent = _extent(grid)
        if 0 in extent:
            return
        with self._lock, self._watched(program.entry):
            self.call("cuCtxSetCurrent", self.context)
            function = self._function(program)
            with self._on_device(arguments, written) as addresses:
                slots = [_slot(argument, addresses) for argument in arguments]
                pointers = np.array([slot.ctypes.data for slot in slots], np.uint64)
                block, shared = (program.threads, 1, 1), program.dynamic_shared_bytes
                stream = _stream(arguments)
                self.call("cuLaunchKernel", function, *extent, *block, shared, stream, pointers.ctypes.data, 0)

    def _check_usable(self) -> None:
        if os.getpid() != self.process:
            raise error("TT5014", why="CUDA does not survive a fork; start processes with the method 'spawn'")
        if self.lost is not None:
            raise error("TT5016", kernel=self.lost[0], what=self.lost[1])

    @contextmanager
    def _watched(self, kernel: str) -> Iterator[None]:
        """Remember a fault that ended the context."""
        try:
            yield
        except TinytonError as fault:
            if fault.code == "TT5015" and any(word in fault.message for word in LOSING):
                self.lost = (kernel, fault.message)
            raise

    def _function(self, program: Program) -> Any:
        key = (program.cubin, program.entry)
        if key not in self._functions:
            module = self.call("cuModuleLoadData", program.cubin)
            function = self.call("cuModuleGetFunction", module, program.entry.encode())
            if program.dynamic_shared_bytes:
                attribute = self.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                self.call("cuFuncSetAttribute", function, attribute, program.dynamic_shared_bytes)
            self._functions[key] = function
        return self._functions[key]

    @contextmanager
    def _on_device(self, arguments: Sequence[Argument], written: Collection[str] | None) -> Iterator[Mapping[str, int]]:
        """Device addresses of the host arrays among the arguments, for the duration of a launch."""
        pieces = _pieces_of([buffer_of(a.name, a.value) for a in arguments if on_host(a.value)])
        try:
            for piece in pieces:
                size = piece.last - piece.first
                piece.allocation = self.call("cuMemAlloc", size + piece.padding)
                self.call("cuMemcpyHtoD", piece.address(piece.first), piece.first, size)
            yield {buffer.name: piece.address(buffer.address) for piece in pieces for buffer in piece.buffers}
            if pieces:
                self.call("cuCtxSynchronize")
            for piece in pieces:
                for first, last in _returned(piece, written):
                    self.call("cuMemcpyDtoH", first, piece.address(first), last - first)
        finally:
            for piece in pieces:
                if piece.allocation is not None:
                    self.driver.cuMemFree(piece.allocation)


def on_host(value: Any) -> bool:
    """Whether an argument is an array in host memory."""
    return isinstance(value, np.ndarray) or (is_tensor(value) and not getattr(value, "is_cuda", False))


def _pieces_of(buffers: Sequence[Buffer]) -> list[_Piece]:
    """Group buffers that overlap in memory; empty arrays have no memory."""
    pieces: list[_Piece] = []
    for buffer in sorted((b for b in buffers if b.last > b.first), key=lambda b: (b.first, b.last)):
        if not pieces or buffer.first >= pieces[-1].last:
            pieces.append(_Piece(buffer.first, buffer.last))
        pieces[-1].last = max(pieces[-1].last, buffer.last)
        pieces[-1].buffers.append(buffer)
    return pieces


def _returned(piece: _Piece, written: Collection[str] | None) -> list[tuple[int, int]]:
    """The byte ranges of a piece to copy back: those of buffers that the kernel may have written."""
    changed = [b for b in piece.buffers if b.writable and (written is None or b.name in written)]
    return sorted({(b.first, b.last) for b in changed})


def _slot(argument: Argument, addresses: Mapping[str, int]) -> np.ndarray[Any, Any]:
    """The bytes of one kernel parameter."""
    value = argument.value
    if argument.dtype is not None:
        dtype = np.dtype(np.uint8) if argument.dtype == np.bool_ else argument.dtype
        return np.array([value]).astype(argument.dtype).astype(dtype)
    if value is None:
        return np.zeros(1, np.uint64)
    address = addresses.get(argument.name, 0) if on_host(value) else value.data_ptr()
    return np.array([address], np.uint64)


def _stream(arguments: Sequence[Argument]) -> int:
    """The stream to launch on: torch's current one where CUDA tensors are passed, else the default stream."""
    torch = sys.modules.get("torch")
    for argument in arguments:
        if torch is not None and is_tensor(argument.value) and not on_host(argument.value):
            return torch.cuda.current_stream(argument.value.device).cuda_stream
    return 0


def _extent(grid: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*grid, 1, 1)[:3]
    for axis, (size, limit) in enumerate(zip((x, y, z), GRID_LIMITS, strict=True)):
        if size > limit:
            raise error(
                "TT5015", call="cuLaunchKernel", what=f"axis {axis} of the grid is {size}, the limit is {limit}"
            )
    return x, y, z


# -- the device of this machine ---------------------------------------------------------------------------------------
_SESSIONS: dict[int, Session] = {}
_LOCK = threading.Lock()


def session(number: int = 0) -> Session:
    """The session of device `number`, opened at first use. Raises TT5014 where there is none."""
    with _LOCK:
        found = _SESSIONS.get(number)
        if found is None:
            driver, count = _opened()
            if number >= count:
                raise error("TT5014", why=f"the machine has {count} of them, number {number} was asked for")
            found = _SESSIONS[number] = Session(driver, number)
        return found


@cache
def device_count() -> int:
    """How many CUDA devices there are; 0 where anything is missing. Never raises, loads the driver at most once."""
    try:
        return _opened()[1]
    except TinytonError:
        return 0


def _opened() -> tuple[Any, int]:
    """The driver's module, initialised, and its number of devices."""
    try:
        driver = importlib.import_module("cuda.bindings.driver")
        (status,) = driver.cuInit(0)
    except ImportError:
        raise error("TT5014", why="the package cuda-python is not installed") from None
    except Exception as fault:  # the loader's own classes; all of them mean that no driver can be loaded
        raise error("TT5014", why=f"no CUDA driver was found ({type(fault).__name__})") from None
    if int(status) != 0:
        raise error("TT5014", why=getattr(status, "name", str(int(status))))
    status, count = driver.cuDeviceGetCount()
    return driver, count if int(status) == 0 else 0
