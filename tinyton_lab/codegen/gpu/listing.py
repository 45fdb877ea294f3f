"""Which ops each line of generated text belongs to, read from its debug locations. Knows no op."""

from __future__ import annotations

import re

Lines = tuple[tuple[int, ...], ...]

_ATTACHED = re.compile(r", !dbg !(\d+)$")
_LOCATION = re.compile(r"^!(\d+) = !DILocation\(line: (\d+),", re.MULTILINE)
_PLACE = re.compile(r"\s*\.loc\s+\d+\s+(\d+)\s")
_LABEL = re.compile(r"\s*[$\w.]+:")


def llvm_lines(text: str) -> Lines:
    """Op numbers of each line of an LLVM module."""
    numbers = {match[1]: int(match[2]) for match in _LOCATION.finditer(text)}
    lines: list[tuple[int, ...]] = []
    for line in text.splitlines():
        attached = _ATTACHED.search(line)
        uid = numbers.get(attached[1], 0) if attached else 0
        lines.append((uid,) if uid else ())
    return tuple(lines)


def ptx_lines(text: str) -> Lines:
    """Op numbers of each line of PTX: a `.loc` holds for the instructions up to the next one."""
    lines: list[tuple[int, ...]] = []
    uids: tuple[int, ...] = ()
    inside = False
    for line in text.splitlines():
        place = _PLACE.match(line)
        if place is not None:
            uids = (int(place[1]),) if place[1] != "0" else ()
        inside = line.startswith("{") or (inside and not line.startswith("}"))
        instruction = inside and line.strip() and not _LABEL.match(line) and not line.strip().startswith((".", "//"))
        lines.append(uids if instruction or place is not None else ())
        if not inside:
            uids = ()
    return tuple(lines)
