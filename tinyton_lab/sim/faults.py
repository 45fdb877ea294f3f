"""Faults of memory accesses: which lane, which argument, which byte, which line. Raises; decides nothing else."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from tinyton_lab.base import access
from tinyton_lab.base.diagnostics import TinytonError, error
from tinyton_lab.sim.lanes import Array, Chunk
from tinyton_lab.sim.memory import Region


def place(chunk: Chunk, flags: Array, mask: Array | None) -> tuple[int, int, int]:
    """The first flagged lane: its position in `flags`, its CTA in the chunk, its thread."""
    at = int(np.flatnonzero(flags)[0]) if np.ndim(flags) else 0
    if np.ndim(flags) == 1 and mask is not None:
        lane = int(np.flatnonzero(np.broadcast_to(mask, chunk.shape))[at])
        return at, lane // chunk.threads, lane % chunk.threads
    if np.shape(flags) == chunk.shape:
        return at, at // chunk.threads, at % chunk.threads
    fits = np.ndim(flags) == 2 or np.size(flags) == 1
    active = (np.broadcast_to(flags, chunk.shape) if fits else True) & chunk.active()
    lane = int(np.flatnonzero(active)[0]) if active.any() else 0
    return at, lane // chunk.threads, lane % chunk.threads


def where(chunk: Chunk, cta: int, thread: int) -> str:
    """Name one thread as people do: ``program id (3, 0, 0), thread 17 (warp 0, lane 17)``."""
    launch = chunk.launch
    index = launch.cta_index(chunk.first + cta)
    return f"program id {index}, thread {thread} (warp {thread // 32}, lane {thread % 32})"


def fault(chunk: Chunk, code: str, line: int, **fields: object) -> TinytonError:
    """Make the exception of fault `code` at a PTX line, or at the source expression behind it."""
    return error(code, chunk.launch.span(line), notes=chunk.launch.notes(line), **fields)


def outside_everything(chunk: Chunk, site: Any, address: Array, flags: Array, mask: Array | None) -> NoReturn:
    """No allocation holds these addresses."""
    at, cta, thread = place(chunk, flags, mask)
    value = int(np.ravel(address)[at])
    region = chunk.launch.space.nearest(value)
    if region is not None:
        _out_of_bounds(chunk, site, region, value, cta, thread)
    text = where(chunk, cta, thread)
    raise fault(chunk, "TT6011", site.line, action=site.action, bytes=site.size, address=f"{value:#x}", where=text)


def _out_of_bounds(chunk: Chunk, site: Any, region: Region, address: int, cta: int, thread: int) -> NoReturn:
    """In the words of the kernel language when the source expression is known, else in those of PTX."""
    part, launch = region.part_of(address), chunk.launch
    if launch.has_source(site.line):
        if address < part.last < address + site.size:
            address = part.last
        program, span = launch.cta_index(chunk.first + cta), launch.span(site.line)
        told = access.out_of_bounds(span, site.action, address, part.element_bytes, program, part, launch.parts())
        told.notes = launch.notes(site.line)
        raise told
    raise fault(
        chunk,
        "TT6010",
        site.line,
        action=site.action,
        bytes=site.size,
        offset=address - part.first,
        name=part.name,
        size=part.last - part.first,
        where=where(chunk, cta, thread),
    )


def check_region(chunk: Chunk, site: Any, region: Region, address: Array, here: Array, mask: Array | None) -> None:
    """Raise for the first lane of `here` that is misaligned, crosses the end, or touches foreign bytes of a view."""
    offsets = (address - region.base64).astype(np.int64)
    size = site.size
    wrong = here & ((offsets & (size - 1)) != 0)
    if np.any(wrong):
        at, cta, thread = place(chunk, wrong, mask)
        _misaligned(chunk, site, region, region.base + int(np.ravel(offsets)[at]), cta, thread)
    wrong = here & (offsets > region.size - size)
    if np.any(wrong):
        at, cta, thread = place(chunk, wrong, mask)
        _out_of_bounds(chunk, site, region, region.base + int(np.ravel(offsets)[at]), cta, thread)
    if region.member is not None:
        _check_members(chunk, site, region, np.where(here, offsets, 0), here, mask)


def _misaligned(chunk: Chunk, site: Any, region: Region, address: int, cta: int, thread: int) -> NoReturn:
    part, launch = region.part_of(address), chunk.launch
    if launch.has_source(site.line):
        told = access.misaligned(launch.span(site.line), site.action, address, site.size, part)
        told.notes = launch.notes(site.line)
        raise told
    text, offset = where(chunk, cta, thread), address - part.first
    raise fault(
        chunk, "TT6012", site.line, action=site.action, bytes=site.size, offset=offset, name=part.name, where=text
    )


def _check_members(chunk: Chunk, site: Any, region: Region, offsets: Array, here: Array, mask: Array | None) -> None:
    good = np.ones(np.shape(offsets), np.bool_)
    for byte in range(site.size):
        good &= region.member[np.minimum(offsets + byte, region.size - 1)]
    wrong = here & ~good
    if not np.any(wrong):
        return
    at, cta, thread = place(chunk, wrong, mask)
    address = region.base + int(np.ravel(offsets)[at])
    part = region.part_of(address)
    if not part.first <= address <= part.last - site.size or chunk.launch.has_source(site.line):
        _out_of_bounds(chunk, site, region, address, cta, thread)
    text, offset = where(chunk, cta, thread), address - part.first
    raise fault(
        chunk, "TT6015", site.line, action=site.action, bytes=site.size, offset=offset, name=part.name, where=text
    )


def read_only(chunk: Chunk, site: Any, region: Region, address: Array, here: Array, mask: Array | None) -> NoReturn:
    at, cta, thread = place(chunk, here, mask)
    name = region.part_of(int(np.ravel(address)[at])).name
    raise fault(chunk, "TT6014", site.line, name=name, where=where(chunk, cta, thread))


def outside_rows(chunk: Chunk, site: Any, space: str, limit: int, address: Array, mask: Array | None) -> NoReturn:
    """An offset into shared, local or parameter memory is misaligned or too large."""
    offsets = np.asarray(address).astype(np.int64)
    active = (
        np.ones(offsets.shape, np.bool_)
        if mask is None
        else np.broadcast_to(mask, np.broadcast_shapes(np.shape(mask), offsets.shape))
    )
    offsets = np.broadcast_to(offsets, active.shape)
    late = active & (offsets > limit - site.size)
    wrong = late if late.any() else active & ((offsets & (site.size - 1)) != 0)
    at, cta, thread = place(chunk, wrong, None)
    text, offset = where(chunk, cta, thread), int(np.ravel(offsets)[at])
    if late.any():
        raise fault(
            chunk,
            "TT6013",
            site.line,
            action=site.action,
            bytes=site.size,
            offset=offset,
            space=space,
            size=limit,
            where=text,
        )
    raise fault(
        chunk,
        "TT6012",
        site.line,
        action=site.action,
        bytes=site.size,
        offset=offset,
        name=f"{space} memory",
        where=text,
    )
