"""Memory of a launch: allocations with their byte ranges, and checked gathers and scatters. Knows no instruction."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, NamedTuple

import numpy as np

Array = Any
ARGUMENT_BASE = 0x10_0000_0000
VARIABLE_BASE = 0x1000_0000
FUNCTION_BASE = 0x0100_0000
HEAP_BASE = 0x4000_0000_0000
GRID_WORKSPACE = 0x0200_0000
_SPACING, _MOST_SPACED = 1 << 36, 900
SHARED_WINDOW, LOCAL_WINDOW, PARAMETER_WINDOW = 1 << 48, 2 << 48, 3 << 48
WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAMETER_WINDOW}
_DTYPES = {
    1: np.dtype(np.uint8),
    2: np.dtype(np.uint16),
    4: np.dtype(np.uint32),
    8: np.dtype(np.uint64),
    16: np.dtype(np.complex128),
}
_SHIFTS = {n: np.array(n.bit_length() - 1, np.uint64) for n in _DTYPES}


Placed = tuple[int, int, int]
"""The lowest and highest + 1 host address of an array, and its number."""


class _Bytes:
    """Gives numpy a byte range of another array's memory, and keeps that array alive."""

    def __init__(self, owner: object, address: int, size: int, writable: bool) -> None:
        self.owner = owner
        self.__array_interface__ = {"data": (address, not writable), "shape": (size,), "typestr": "|u1", "version": 3}


class Part(NamedTuple):
    """One argument or variable in an allocation: where its pointer points, its bytes ``first <= address < last``."""

    name: str
    address: int
    first: int
    last: int
    element_bytes: int


class Region:
    """One allocation: bytes `base` to `base` + `size`, named for people by its `parts`."""

    __slots__ = ("base", "base64", "data", "member", "parts", "size", "views", "writable")

    def __init__(
        self,
        base: int,
        data: Array,
        parts: tuple[Part, ...],
        writable: bool = True,
        member: Any = None,
    ) -> None:
        self.base, self.data, self.parts, self.writable, self.member = base, data, parts, writable, member
        self.size = len(data)
        self.base64 = np.array(base, np.uint64)
        self.views: dict[int, Array] = {}

    def view(self, size: int) -> Array:
        """The bytes as elements of `size` bytes, the first at the first address divisible by `size`."""
        found = self.views.get(size)
        if found is None:
            count = self.size // size
            found = self.views[size] = self.data[: count * size].view(_DTYPES[size])
        return found

    def part_of(self, address: int) -> Part:
        """The argument that an address belongs to, or the nearest."""
        return min(self.parts, key=lambda p: (max(p.first - address, address - p.last + 1, 0), p.first))


def named_region(base: int, data: Array, name: str, writable: bool = True) -> Region:
    """An allocation that is one thing."""
    return Region(base, data, (Part(name, base, base, base + len(data), 1),), writable)


def dtype_of(size: int) -> np.dtype[Any]:
    return _DTYPES[size]


def shift_of(size: int) -> Array:
    return _SHIFTS[size]


class Space:
    """All allocations of a launch, by address."""

    def __init__(self, regions: list[Region]) -> None:
        self.regions = sorted(regions, key=lambda r: r.base)
        self.bases = [r.base for r in self.regions]

    def find(self, address: int) -> Region | None:
        """The allocation that holds an address."""
        at = bisect_right(self.bases, address) - 1
        if at < 0:
            return None
        region = self.regions[at]
        return region if address < region.base + max(region.size, 1) else None

    def nearest(self, address: int) -> Region | None:
        """The allocation that an address was meant for: arguments lie too far apart for offsets to reach the next."""
        best, distance = None, 1 << 62
        for region in self.regions:
            gap = max(region.base - address, address - (region.base + region.size) + 1, 0)
            if gap < min(distance, _SPACING >> 1 if region.base >= ARGUMENT_BASE else 64):
                best, distance = region, gap
        return best

    def add(self, region: Region) -> None:
        at = bisect_right(self.bases, region.base)
        self.regions.insert(at, region)
        self.bases.insert(at, region.base)


def _extent(array: Array) -> tuple[int, int]:
    """The lowest and highest + 1 host address that a view touches."""
    low = high = array.__array_interface__["data"][0]
    for length, stride in zip(array.shape, array.strides):
        if length == 0:
            return low, low
        if stride < 0:
            low += (length - 1) * stride
        else:
            high += (length - 1) * stride
    return low, high + array.itemsize


def _members(array: Array, low: int, size: int) -> Array:
    """Which bytes of the extent belong to the view's elements."""
    start = array.__array_interface__["data"][0] - low
    offsets = np.zeros(array.shape, np.int64) + start
    for axis, (length, stride) in enumerate(zip(array.shape, array.strides)):
        shape = [1] * array.ndim
        shape[axis] = length
        offsets = offsets + (np.arange(length, dtype=np.int64) * stride).reshape(shape)
    member = np.zeros(size, np.bool_)
    for byte in range(array.itemsize):
        member[offsets.ravel() + byte] = True
    return member


def place_arguments(arrays: list[tuple[str, Array]]) -> tuple[list[Region], list[int]]:
    """Give arrays addresses: overlapping ones keep their distance, others lie apart. Returns regions and pointers.

    Addresses do not depend on the host, except for the alignment (modulo 16) that an array really has.
    """
    pointers = [0] * len(arrays)
    regions: list[Region] = []
    position, step = ARGUMENT_BASE, _SPACING if len(arrays) < _MOST_SPACED else 1 << 32
    for group in _overlapping(arrays):
        size = _place_group(group, arrays, position, regions, pointers)
        position += -(-max(size, 1) // step) * step
    return regions, pointers


def place_at_home(arrays: list[tuple[str, Array]]) -> list[Region]:
    """The allocations of arrays at their addresses in this process, for kernels that find those in memory."""
    regions: list[Region] = []
    for group in _overlapping(arrays):
        _place_group(group, arrays, min(low for low, _, _ in group) & ~15, regions, [0] * len(arrays))
    return regions


def _overlapping(arrays: list[tuple[str, Array]]) -> list[list[Placed]]:
    """The arrays in groups that share bytes, in the order of the first array of each."""
    extents = [(*_extent(array), index) for index, (_, array) in enumerate(arrays)]
    groups: list[list[Placed]] = []
    top = -1
    for low, high, index in sorted(extents, key=lambda e: (e[0], e[1])):
        if groups and low < top:
            groups[-1].append((low, high, index))
            top = max(top, high)
        else:
            groups.append([(low, high, index)])
            top = max(high, low)
    return sorted(groups, key=lambda g: min(index for _, _, index in g))


def _place_group(
    group: list[Placed],
    arrays: list[tuple[str, Array]],
    position: int,
    regions: list[Region],
    pointers: list[int],
) -> int:
    # The region begins on a 16-byte boundary, so that its elements line up with their addresses.
    low, high = min(g[0] for g in group) & ~15, max(g[1] for g in group)
    size = high - low
    arrays_here = [arrays[index][1] for _, _, index in group]
    writable = all(array.flags.writeable for array in arrays_here)
    data = np.asarray(_Bytes(arrays_here, low, size, writable)) if size else np.zeros(0, np.uint8)
    shift = position - low
    parts = []
    for first, last, index in sorted(group, key=lambda g: g[2]):
        name, array = arrays[index]
        pointers[index] = array.__array_interface__["data"][0] + shift
        parts.append(Part(name, pointers[index], first + shift, last + shift, array.itemsize))
    member = None
    if any(arrays[i][1].nbytes != last - first for first, last, i in group) or min(g[0] for g in group) != low:
        member = np.zeros(size, np.bool_)
        for first, last, index in group:
            member[first - low : last - low] |= _members(arrays[index][1], first, last - first)
    regions.append(Region(position, data, tuple(parts), writable, member))
    return size
