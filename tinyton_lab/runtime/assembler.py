"""Machine code from PTX and its listing, by NVIDIA's linker and disassembler. Needs no GPU and no driver."""

from __future__ import annotations

import importlib
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from tinyton_lab.base.diagnostics import TinytonError, error
from tinyton_lab.base.targets import Target

SECONDS_TO_LIVE = 60
Lines = list[tuple[str, tuple[int, ...]]]


@dataclass(frozen=True, slots=True)
class Assembled:
    """A cubin and what the assembler says about its kernel: `spill_bytes` counts stores and loads together."""

    cubin: bytes
    registers: int
    spill_bytes: int
    stack_bytes: int
    shared_bytes: int
    barriers: int


@dataclass(frozen=True, slots=True)
class Listing:
    """A listing, and for each of its lines the op numbers behind it."""

    text: str
    lines: tuple[tuple[int, ...], ...]


@lru_cache(maxsize=256)
def assemble(ptx: str, target: Target) -> Assembled:
    """Link PTX into a cubin for `target`, keeping its line numbers; the same text is linked once per process.

    Raises TT5010 where the packages of the extra ``cuda`` are missing, TT5011 with the assembler's words for bad PTX.
    """
    linker = _linker()
    options = [f"-arch={target.name}", "-O3", "-lineinfo", "-verbose"]
    handle = linker.create(len(options), options)
    try:
        return _linked(linker, handle, ptx.encode())
    finally:
        linker.destroy(handle)


def _linked(linker: Any, handle: int, ptx: bytes) -> Assembled:
    try:
        linker.add_data(handle, linker.InputType.PTX, ptx, len(ptx), "kernel.ptx")
        linker.complete(handle)
    except linker.nvJitLinkError:
        size = linker.get_error_log_size(handle)
        raise error("TT5011", what=_complaint(_text(linker.get_error_log, handle, size))) from None
    cubin = bytearray(linker.get_linked_cubin_size(handle))
    linker.get_linked_cubin(handle, cubin)
    log = _text(linker.get_info_log, handle, linker.get_info_log_size(handle))
    return Assembled(
        bytes(cubin),
        registers=_number(r"Used (\d+) registers", log),
        spill_bytes=_number(r"(\d+) bytes spill stores", log) + _number(r"(\d+) bytes spill loads", log),
        stack_bytes=_number(r"(\d+) bytes stack frame", log),
        shared_bytes=_number(r"(\d+) bytes smem", log),
        barriers=_number(r"used (\d+) barriers, \d", log) or _number(r"used (\d+) barriers", log),
    )


@cache
def available() -> bool:
    """Whether PTX can be assembled and listed here."""
    try:
        _linker()
        _disassembler()
    except TinytonError:
        return False
    return True


def _linker() -> Any:
    try:
        linker = importlib.import_module("cuda.bindings.nvjitlink")
        linker.version()
    except (ImportError, RuntimeError, OSError):
        raise error("TT5010", tool="NVIDIA's linker") from None
    return linker


def _text(read: Any, handle: int, size: int) -> str:
    buffer = bytearray(size)
    read(handle, buffer)
    return buffer.rstrip(b"\0").decode(errors="replace")


def _complaint(log: str) -> str:
    """The assembler's first complaints, without its own postscript."""
    lines = [line.removeprefix("ptxas application ptx input, ").strip() for line in log.splitlines()]
    told = [line for line in lines if line and not line.startswith(("ptxas fatal", "ERROR NVJITLINK"))]
    return "; ".join(re.sub(r"\s*:\s*", ": ", line, count=1) for line in told[:3]) or log.strip()


def _number(pattern: str, log: str) -> int:
    found = re.search(pattern, log)
    return int(found[1]) if found else 0


# -- the listing ------------------------------------------------------------------------------------------------------
_SECTION = re.compile(r"\s*\.section\s+\.text\.([^,\s]+)")
_PLACE = re.compile(r'\s*//## File "(?:[^"]*/)?([^"/]*)", line (\d+)')
_CODE = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;?\s*$")
_LABEL = re.compile(r"(\.L_x_\d+):")
_CALLEE = re.compile(r"CALL\S*.*?`\((\w+)\)")


def disassemble(cubin: bytes, entry: str, file: str) -> Listing:
    """List the SASS of `entry` and of the subroutines it calls. Op numbers are the line numbers of `file`.

    The instructions of a subroutine (a division's slow path) belong to the ops that call it. Raises TT5010 where the
    disassembler is missing.
    """
    sections = _sections(_disassembled(cubin), file)
    listed: Lines = []
    for name, callers in _reached(sections, entry).items():
        listed.append((f"{name}:", ()))
        listed += [(text, uids or callers) for text, uids in sections[name]]
    return Listing("".join(text + "\n" for text, _ in listed), tuple(uids for _, uids in listed))


def instructions(listing: Listing) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The instructions of a listing with their op numbers: no labels, no padding."""
    for text, uids in zip(listing.text.splitlines(), listing.lines, strict=True):
        if text.startswith("  /*"):
            yield text.partition("*/")[2].strip(), uids


def _reached(sections: Mapping[str, Lines], entry: str) -> dict[str, tuple[int, ...]]:
    """The functions that a kernel reaches by calls, with the op numbers of their callers.

    A cubin also holds subroutines that the assembler provided for and then expanded in place: they are left out.
    """
    reached: dict[str, set[int]] = {entry: set()}
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        for text, uids in sections[name]:
            called = _CALLEE.search(text)
            if called and called[1] in sections:
                callers = {*uids} or reached[name]
                if called[1] not in reached or not callers <= reached[called[1]]:
                    reached.setdefault(called[1], set()).update(callers)
                    waiting.append(called[1])
    return {name: tuple(sorted(reached[name])) for name in sorted(reached, key=lambda name: (name != entry, name))}


def _sections(text: str, file: str) -> dict[str, Lines]:
    """Per function its lines with their op numbers. A line number holds until the next one of the section."""
    sections: dict[str, Lines] = {}
    lines: Lines = []
    uids: tuple[int, ...] = ()
    for line in text.splitlines():
        if match := _SECTION.match(line):
            lines, uids = sections.setdefault(match[1], []), ()
        elif match := _PLACE.match(line):
            uids = (int(match[2]),) if match[1] == file and int(match[2]) else ()
        elif (match := _CODE.match(line)) and match[2] != "NOP":
            lines.append((f"  /*{match[1]}*/ {match[2]}", uids))
        elif match := _LABEL.match(line):
            lines.append((f"{match[1]}:", ()))
    return {name: _without_last_labels(lines) for name, lines in sections.items()}


def _without_last_labels(lines: Lines) -> Lines:
    end = len(lines)
    while end and lines[end - 1][0].startswith(".L"):
        end -= 1
    return lines[:end]


@lru_cache(maxsize=64)
def _disassembled(cubin: bytes) -> str:
    tool = _disassembler()
    with tempfile.TemporaryDirectory(prefix="tinyton-") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        command = [tool, "-c", "-g", str(path)]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_TO_LIVE, check=False)
    if ran.returncode:
        raise RuntimeError(f"sass: the disassembler failed: {ran.stderr.strip()}")
    return ran.stdout


def _disassembler() -> str:
    try:
        from cuda.pathfinder import find_nvidia_binary_utility
    except ImportError:
        raise error("TT5010", tool="NVIDIA's disassembler") from None
    found = find_nvidia_binary_utility("nvdisasm")
    if found is None:
        raise error("TT5010", tool="NVIDIA's disassembler")
    return found
