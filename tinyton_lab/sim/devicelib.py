"""What the device runtime offers without PTX bodies: printf, assertions, the heap. Knows memory, not control flow."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyton_lab.sim import faults
from tinyton_lab.sim.lanes import Array, Chunk
from tinyton_lab.sim.memory import HEAP_BASE, LOCAL_WINDOW, SHARED_WINDOW, named_region

_MOST_TEXT = 4096
_CONVERSION = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+))?(hh|h|ll|l|z|j|t)?([diouxXeEfFgGaAcsp%])")


def _argument(chunk: Chunk, index: int, dtype: Any) -> Array:
    """Argument number `index` of the call as one value per lane, (ctas, threads)."""
    data = chunk.registers[chunk.launch.program.slot_register("argument", index)]
    size = np.dtype(dtype).itemsize
    value = np.ascontiguousarray(data[..., :size]).view(dtype)[..., 0]
    return np.broadcast_to(value, chunk.shape)


def _result(chunk: Chunk, value: Array) -> None:
    from_lanes = np.ascontiguousarray(np.broadcast_to(value, chunk.shape))
    data = from_lanes.reshape((*chunk.shape, 1)).view(np.uint8)
    register = chunk.launch.program.slot_register("result", 0)
    if chunk.merge is not None:
        old = np.broadcast_to(chunk.registers[register], (*chunk.shape, chunk.registers[register].shape[-1]))
        padded = np.zeros(data.shape, np.uint8)
        padded[..., : min(old.shape[-1], data.shape[-1])] = old[..., : data.shape[-1]]
        data = np.where(np.broadcast_to(chunk.merge, chunk.shape)[..., None], data, padded)
    chunk.registers[register] = data


def peek(chunk: Chunk, cta: int, thread: int, address: int, size: int) -> bytes:
    """Bytes at a generic address as one lane sees them; fewer where memory ends."""
    window, offset = address >> 48 << 48, address & (1 << 48) - 1
    if window in (SHARED_WINDOW, LOCAL_WINDOW):
        rows = chunk.shared if window == SHARED_WINDOW else chunk.local
        first = rows.first.ravel()[cta if window == SHARED_WINDOW else cta * chunk.threads + thread]
        return rows.data[first + offset : first + min(offset + size, rows.limit)].tobytes()
    region = chunk.launch.space.find(address)
    if region is None:
        return b""
    return region.data[address - region.base : address - region.base + size].tobytes()


def _text(chunk: Chunk, cta: int, thread: int, address: int) -> str:
    return peek(chunk, cta, thread, address, _MOST_TEXT).split(b"\0")[0].decode("utf-8", "replace")


def _print(chunk: Chunk, line: int) -> None:
    """``vprintf(format, arguments)``: each lane's text, in lane order."""
    formats, arguments = _argument(chunk, 0, np.uint64), _argument(chunk, 1, np.uint64)
    for cta, thread in zip(*np.nonzero(chunk.active())):
        text = _text(chunk, cta, thread, int(formats[cta, thread]))
        chunk.launch.output.append(_format(chunk, cta, thread, text, int(arguments[cta, thread])))
    _result(chunk, np.uint32(1))


def _format(chunk: Chunk, cta: int, thread: int, text: str, address: int) -> str:
    position = 0

    def take(size: int) -> bytes:
        nonlocal position
        position = -(-position // size) * size
        data = peek(chunk, cta, thread, address + position, size)
        position += size
        return data.ljust(size, b"\0")

    def one(match: re.Match[str]) -> str:
        flags, width, precision, length, kind = match.groups()
        if kind == "%":
            return "%"
        if width == "*":
            width = str(int.from_bytes(take(4), "little", signed=True))
        if precision == "*":
            precision = str(int.from_bytes(take(4), "little", signed=True))
        head = "%" + flags + (width or "") + (f".{precision}" if precision is not None else "")
        if kind in "eEfFgGaA":
            value = float(np.frombuffer(take(8), np.float64)[0])
            return value.hex() if kind in "aA" else (head + kind) % value
        if kind == "s":
            return (head + "s") % _text(chunk, cta, thread, int.from_bytes(take(8), "little"))
        if kind == "p":
            return hex(int.from_bytes(take(8), "little"))
        size = 8 if length in ("l", "ll", "z", "j", "t") else 4
        value = int.from_bytes(take(size), "little", signed=kind in "di")
        return (head + "c") % chr(value & 255) if kind == "c" else (head + ("d" if kind in "iu" else kind)) % value

    return _CONVERSION.sub(one, text)


def _fail(chunk: Chunk, line: int) -> None:
    """``__assertfail(message, file, line, function, size)``."""
    active = chunk.active()
    if not active.any():
        return
    cta, thread = (int(n) for n in np.argwhere(active)[0])
    message, file, function = (
        _text(chunk, cta, thread, int(_argument(chunk, n, np.uint64)[cta, thread])) for n in (0, 1, 3)
    )
    source = int(_argument(chunk, 2, np.uint32)[cta, thread])
    raise faults.fault(
        chunk,
        "TT6023",
        line,
        message=f"{message} ({file}:{source}, {function})",
        where=faults.where(chunk, cta, thread),
    )


def _allocate(chunk: Chunk, line: int) -> None:
    """``malloc``: an allocation of its own per lane."""
    sizes, pointers = _argument(chunk, 0, np.uint64), np.zeros(chunk.shape, np.uint64)
    launch = chunk.launch
    for cta, thread in zip(*np.nonzero(chunk.active())):
        size = int(sizes[cta, thread])
        if 0 < size <= launch.heap_left:
            launch.heap_left -= size
            pointers[cta, thread] = launch.heap_next
            launch.space.add(named_region(launch.heap_next, np.zeros(size, np.uint8), "malloc"))
            launch.heap_next = (launch.heap_next + size + 255) & ~255
    _result(chunk, pointers)


def _free(chunk: Chunk, line: int) -> None:
    """``free``: memory lives until the launch ends."""


FUNCTIONS: dict[str, Callable[[Chunk, int], None]] = {
    "vprintf": _print,
    "__assertfail": _fail,
    "malloc": _allocate,
    "free": _free,
}
FIRST_HEAP_ADDRESS = HEAP_BASE
