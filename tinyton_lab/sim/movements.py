"""What copy engines moved, for a recording: addresses of elements become runs of bytes. Copies nothing itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tinyton_lab.record.events import Movement
from tinyton_lab.sim.lanes import Array, Chunk

_LANES = 32


class Moved(NamedTuple):
    """A movement and the warp it was made for: `cta` counts from the chunk's first."""

    cta: int
    warp: int
    movement: Movement


def move(
    chunk: Chunk,
    cta: int,
    thread: int,
    origin: tuple[str, Array],
    target: tuple[str, Array],
    data: Array,
    inside: Array | None = None,
    combines: bool = False,
) -> None:
    """Note that elements went from the addresses of one space to those of another, if the CTA is recorded.

    `data` has what the elements are at the target; those that are not `inside` came from nowhere.
    """
    if cta >= chunk.recorded or not data.size:
        return
    (here, first), (there, last) = (_named(chunk, space, address, inside) for space, address in (origin, target))
    if inside is not None:
        first = np.where(inside, first, -1)
    runs = _runs(first, last, data.dtype.itemsize)
    moved = Movement(thread % _LANES, here, there, runs, np.ascontiguousarray(data).tobytes(), combines)
    chunk.movements.append(Moved(cta, thread // _LANES, moved))


def _named(chunk: Chunk, space: str, address: Array, inside: Array | None) -> tuple[tuple[str, str], Array]:
    """The (space, name) of a memory and offsets in it."""
    if space != "global":
        return (space, space), address.astype(np.int64)
    used = address if inside is None else address[inside]
    region = chunk.launch.space.find(int(used.flat[0])) if used.size else None
    if region is None:
        return (space, space), address.astype(np.int64)
    part = region.part_of(int(used.flat[0]))
    return (space, part.name), address.astype(np.int64) - part.first


def _runs(first: Array, last: Array, size: int) -> tuple[tuple[int, int, int], ...]:
    """Elements whose neighbours lie side by side at both ends, joined."""
    follows = (last[1:] == last[:-1] + size) & (
        (first[1:] == first[:-1] + size) & (first[:-1] >= 0) | (first[1:] < 0) & (first[:-1] < 0)
    )
    starts = np.concatenate([[0], np.flatnonzero(~follows) + 1])
    counts = np.diff(np.append(starts, len(last))) * size
    return tuple(zip(first[starts].tolist(), last[starts].tolist(), counts.tolist(), strict=True))
