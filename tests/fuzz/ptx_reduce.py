"""Makes a generated PTX kernel small while something stays true of it: drops lines, more of them at once first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.fuzz.ptx_kernels import Kernel

Holds = Callable[[Kernel], bool]
# Lines that only declare, and labels, cost nothing: they stay.
_KEPT = (".", "}", "{")


def _movable(line: str) -> bool:
    text = line.strip()
    return text.endswith(";") and not text.startswith(_KEPT) and ".param" not in text and ".branchtargets" not in text


def reduced(kernel: Kernel, holds: Holds, tries: int = 2000) -> Kernel:
    """The kernel with as few instructions as still let `holds` be true; fewer CTAs too."""
    best, left = kernel, tries
    single = replace(kernel, grid=1)
    if kernel.grid > 1 and _still(holds, single):
        best = single
    size = max(len(best.text.split("\n")) // 2, 1)
    while size and left > 0:
        smaller = False
        lines = best.text.split("\n")
        places = [n for n, line in enumerate(lines) if _movable(line)]
        first = 0
        while first < len(places) and left > 0:
            gone = set(places[first : first + size])
            candidate = replace(best, text="\n".join(line for n, line in enumerate(lines) if n not in gone))
            left -= 1
            if _still(holds, candidate):
                best, smaller = candidate, True
                lines = best.text.split("\n")
                places = [n for n, line in enumerate(lines) if _movable(line)]
            else:
                first += size
        size = size if smaller and size == 1 else size // 2
    return replace(best, text=_without_unused_labels(best.text))


def _still(holds: Holds, candidate: Kernel) -> bool:
    try:
        return holds(candidate)
    except Exception:  # a text that is no kernel any more shows nothing
        return False


def _without_unused_labels(text: str) -> str:
    lines = text.split("\n")
    used = {
        word for line in lines if not line.strip().endswith(":") for word in line.strip(" ;").replace(",", "").split()
    }
    return "\n".join(line for line in lines if not line.endswith(":") or line[:-1] in used)
