"""Races in a recorded execution: threads that touch the same bytes between two barriers, one of them writing.

Two atomic accesses do not race with each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tinyton_lab.record.recording import Recording, Step

BARRIER = re.compile(r"\bbar(rier)?\.(cta\.|warp\.)?sync")
Byte = tuple[str, str, int]


def races(recording: Recording) -> list[str]:
    """What races, in words: space and name of the memory, the byte, and the two instructions."""
    found: dict[str, None] = {}
    for cta in dict.fromkeys(step.cta for step in recording.steps):
        steps = [step for step in recording.steps if step.cta == cta]
        for epoch in _epochs(steps):
            for message in _conflicts(epoch):
                found.setdefault(message)
    return list(found)


def _epochs(steps: list[Step]) -> list[list[Step]]:
    """The steps between barriers: those of each warp up to its first barrier, up to its second ..."""
    epochs: list[list[Step]] = [[]]
    at: dict[int, int] = {}
    for step in steps:
        if BARRIER.search(step.text):
            at[step.warp] = at.get(step.warp, 0) + 1
            continue
        while len(epochs) <= at.get(step.warp, 0):
            epochs.append([])
        epochs[at.get(step.warp, 0)].append(step)
    return epochs


def _conflicts(steps: list[Step]) -> Iterator[str]:
    writers: dict[Byte, tuple[int, Step]] = {}
    readers: dict[Byte, tuple[int, Step]] = {}
    for step in steps:
        for thread, byte in _touched(step):
            mine = (thread, step)
            others = [writers.get(byte)] + ([readers.get(byte)] if _writes(step) else [])
            for other in others:
                if other is not None and other[0] != thread and not (_atomic(step) and _atomic(other[1])):
                    yield f"{byte[0]} {byte[1]}+{byte[2]}: {other[1].text} | {step.text}"
            (writers if _writes(step) else readers)[byte] = mine


def _writes(step: Step) -> bool:
    return step.access is not None and step.access.kind != "load"


def _atomic(step: Step) -> bool:
    return step.access is not None and step.access.kind == "atomic"


def _touched(step: Step) -> Iterator[tuple[int, Byte]]:
    """Every byte that a step touches in shared or global memory, with the thread."""
    access = step.access
    if access is not None and access.space in ("shared", "global"):
        for lane, offset in enumerate(access.offsets):
            if offset >= 0 and step.mask >> lane & 1:
                for byte in range(offset, offset + access.bytes):
                    yield step.warp * 32 + lane, (access.space, access.name, byte)
