"""Loads, stores and atomics of a chunk: addresses to allocations, with every lane checked. Knows no syntax."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tinyton_lab.ptx.isa import LaneFunction
from tinyton_lab.ptx.numerics import canonical
from tinyton_lab.sim import faults
from tinyton_lab.sim.lanes import Array, Chunk, bits
from tinyton_lab.sim.memory import LOCAL_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW, Region, dtype_of, shift_of

_ZERO = np.array(0, np.uint64)
_WINDOW_SHIFT = np.array(48, np.uint64)
I64 = np.dtype(np.int64)
# Shared addresses of another CTA of the cluster hold its rank plus one above these bits.
RANK_SHIFT = 24


class Site(NamedTuple):
    """One memory instruction: its number in the program, line, access size in bytes, and what a fault calls the access.

    A launch remembers, by number, the allocation that a site last touched. `order` is a memory order of PTX (weak,
    relaxed, acquire ...), or says who accesses: ``copy`` is cp.async, ``async`` a copy engine, ``multiply`` a
    warpgroup's matrix unit, ``map`` whoever reads or copies a tensor map,
    ``barrier`` and ``make_barrier`` a barrier object, ``part`` a byte of a larger access.
    """

    number: int
    line: int
    size: int
    action: str
    order: str = "weak"
    scope: str = "gpu"


def _either(offsets: Array) -> int:
    """The bitwise or of all offsets: its low bits tell alignment, and it bounds every offset from above."""
    return int(np.bitwise_or.reduce(offsets, axis=None)) if offsets.ndim else int(offsets)


def _inside(chunk: Chunk, region: Region, offsets: Array, size: int) -> bool:
    """Whether all offsets are inside the region, aligned, and on bytes that belong to it."""
    either = _either(offsets)
    if either & (size - 1):
        return False
    limit = region.size - size
    if either > limit and int(offsets.max() if offsets.ndim else offsets) > limit:
        return False
    return region.member is None or _belongs(region, offsets, size)


def _belongs(region: Region, offsets: Array, size: int) -> bool:
    return all(bool(np.all(region.member[offsets.astype(I64) + byte])) for byte in range(size))


def split(data: Array, count: int, dtype: np.dtype[Any]) -> list[Array]:
    """The components of vector elements, as one array each."""
    if count == 1:
        return [bits(data, dtype)]
    parts = np.ascontiguousarray(data).view(dtype).reshape((*data.shape, count))
    return [np.ascontiguousarray(parts[..., k]) if data.ndim else parts[k] for k in range(count)]


def combine(values: list[Array], size: int, shape: tuple[int, ...]) -> Array:
    """One array of vector elements of `size` bytes from their components."""
    if len(values) == 1:
        return values[0]
    packed = np.empty((*shape, len(values)), values[0].dtype)
    for k, value in enumerate(values):
        packed[..., k] = value
    return packed.view(dtype_of(size))[..., 0]


# Global memory.
def _guess(chunk: Chunk, site: Site, address: Array, mask: Array | None) -> Region | None:
    """The allocation of the first active lane's address: most accesses stay in one."""
    if address.ndim == 0:
        first = address
    elif mask is None:
        first = address.flat[0]
    else:
        lane = int(np.broadcast_to(mask, chunk.shape).argmax())
        first = np.broadcast_to(address, chunk.shape)[divmod(lane, chunk.threads)]
    region = chunk.launch.hints[site.number] = chunk.launch.space.find(int(first))
    return region


def load_global(chunk: Chunk, site: Site, address: Array, mask: Array | None) -> Array:
    """Elements of the site's size at u64 addresses; lanes outside `mask` get anything."""
    for observer in chunk.observers:
        observer.touch(chunk, site, "global", "load", address, mask, None)
    region = chunk.launch.hints[site.number]
    for attempt in (0, 1):
        if region is not None and (mask is None or (region.size >= site.size and region.member is None)):
            offsets = address - region.base64
            if mask is not None:
                offsets = np.where(mask, offsets, _ZERO)
            if _inside(chunk, region, offsets, site.size):
                if chunk.recording:
                    chunk.accesses.append(("global", "load", region, site.size, offsets, None, mask))
                return region.view(site.size).take((offsets >> shift_of(site.size)).view(I64))
        if attempt == 0:
            region = _guess(chunk, site, address, mask)
    return _load_slowly(chunk, site, address, mask)


def store_global(chunk: Chunk, site: Site, address: Array, value: Array, mask: Array | None) -> None:
    size, region = site.size, chunk.launch.hints[site.number]
    for observer in chunk.observers:
        observer.touch(chunk, site, "global", "store", address, mask, value)
    whole = value
    if mask is not None:
        address, value = _chosen(chunk, address, value, mask)
    for attempt in (0, 1):
        if region is not None and region.writable:
            offsets = address - region.base64
            if _inside(chunk, region, offsets, size):
                if chunk.recording:
                    where = offsets if mask is None else _spread(chunk, offsets, mask)
                    chunk.accesses.append(("global", "store", region, size, where, whole, mask))
                _put(region.view(size), (offsets >> shift_of(size)).view(I64), value)
                return
        if attempt == 0 and address.size:
            region = _guess(chunk, site, address, None)
    _store_slowly(chunk, site, address, value, mask)


def _put(view: Array, index: Array, value: Array) -> None:
    if index.ndim == 0 and value.ndim:
        index = np.broadcast_to(index, value.shape)
    elif index.ndim and value.ndim and index.shape != value.shape:
        index = np.broadcast_to(index, np.broadcast_shapes(index.shape, value.shape))
    view[index] = value


def _chosen(chunk: Chunk, address: Array, value: Array, mask: Array) -> tuple[Array, Array]:
    """The addresses and values of the active lanes, in lane order."""
    mask = np.broadcast_to(mask, chunk.shape)
    return np.broadcast_to(address, chunk.shape)[mask], np.broadcast_to(value, chunk.shape)[mask]


def _spread(chunk: Chunk, values: Array, mask: Array) -> Array:
    """Values of active lanes back in their lanes (others: anything)."""
    result = np.zeros(chunk.shape, values.dtype)
    result[np.broadcast_to(mask, chunk.shape)] = values
    return result


def _groups(
    chunk: Chunk, site: Site, address: Array, mask: Array | None, chosen: Array | None = None
) -> list[tuple[Region, Array]]:
    """The allocations that the given addresses lie in, each with the flags of its lanes; faults are raised.

    `chosen` is the mask by which one-dimensional addresses were taken from the lanes.
    """
    found: list[tuple[Region, Array]] = []
    rest = np.ones(address.shape, np.bool_) if mask is None else np.broadcast_to(mask, address.shape).copy()
    while rest.any():
        first = int(address[rest][0])
        region = chunk.launch.space.find(first)
        if region is None:
            faults.outside_everything(chunk, site, address, rest, chosen)
        offsets = address - region.base64
        here = rest & (offsets < np.uint64(max(region.size, 1)))
        faults.check_region(chunk, site, region, address, here, chosen)
        found.append((region, here))
        rest &= ~here
    return found


def _load_slowly(chunk: Chunk, site: Site, address: Array, mask: Array | None) -> Array:
    address = np.asarray(address) if mask is None else np.broadcast_to(address, chunk.shape)
    result = np.zeros(address.shape, dtype_of(site.size))
    for region, here in _groups(chunk, site, address, mask):
        chunk.launch.hints[site.number] = region
        offsets = address - region.base64
        result[here] = region.view(site.size)[(offsets[here] >> shift_of(site.size)).astype(I64)]
        if chunk.recording:
            chunk.accesses.append(("global", "load", region, site.size, offsets, None, here))
    return result if result.ndim else result[()]


def _store_slowly(chunk: Chunk, site: Site, address: Array, value: Array, mask: Array | None) -> None:
    shape = np.broadcast_shapes(np.shape(address), np.shape(value))
    address, value = np.broadcast_to(address, shape), np.broadcast_to(value, shape)
    for region, here in _groups(chunk, site, address, None, mask):
        if not region.writable:
            faults.read_only(chunk, site, region, address, here, mask)
        chunk.launch.hints[site.number] = region
        offsets = address - region.base64
        region.view(site.size)[(offsets[here] >> shift_of(site.size)).astype(I64)] = value[here]
        if chunk.recording:
            parts = (
                (offsets, value, here) if mask is None else (_spread(chunk, x, mask) for x in (offsets, value, here))
            )
            where, what, lanes = parts
            chunk.accesses.append(("global", "store", region, site.size, where, what, lanes))


# Shared and local memory: one row of bytes per CTA, or per lane.
class Rows:
    """Mutable: `count` rows of `width` bytes, of which `limit` may be used; shaped for broadcasting over lanes."""

    __slots__ = ("data", "first", "limit", "views", "width")

    def __init__(self, shape: tuple[int, int], limit: int) -> None:
        self.limit, self.width = limit, max((limit + 127) & ~127, 128)
        self.data = np.zeros(shape[0] * shape[1] * self.width, np.uint8)
        self.first = np.arange(shape[0] * shape[1], dtype=np.int64).reshape(shape) * self.width
        self.views: dict[int, tuple[Array, Array | None]] = {}

    def view(self, size: int) -> tuple[Array, Array | None]:
        """Elements of `size` bytes, and each row's first element (None for a single row)."""
        found = self.views.get(size)
        if found is None:
            first = None if self.first.size == 1 else self.first // size
            found = self.views[size] = (self.data.view(dtype_of(size)), first)
        return found


def _row_index(
    chunk: Chunk, site: Site, rows: Rows, space: str, address: Array, mask: Array | None
) -> tuple[Array, Array]:
    """(view, element index per lane) for byte offsets into each lane's row; lanes outside `mask` use offset 0."""
    size = site.size
    if mask is not None:
        address = np.where(mask, address, address.dtype.type(0))
    either = _either(address)
    if either >> RANK_SHIFT and space == "shared" and chunk.launch.cluster_size > 1:
        return _cluster_index(chunk, site, rows, address, mask)
    if either & (size - 1) or (either > rows.limit - size and int(np.max(address)) > rows.limit - size):
        faults.outside_rows(chunk, site, space, rows.limit, address, mask)
    view, first = rows.view(size)
    index = np.asarray(address >> shift_of(size).astype(address.dtype)).astype(I64)
    return view, index if first is None else index + first


def _cluster_index(chunk: Chunk, site: Site, rows: Rows, address: Array, mask: Array | None) -> tuple[Array, Array]:
    """As `_row_index`, for shared addresses that carry a rank in the cluster."""
    size, count = site.size, chunk.launch.cluster_size
    rank = (address >> np.uint64(RANK_SHIFT)).astype(I64)
    offset = address & np.uint64((1 << RANK_SHIFT) - 1)
    if int(rank.max()) > count or int(offset.max()) > rows.limit - size or _either(offset) & (size - 1):
        faults.outside_rows(chunk, site, "shared", rows.limit, np.where(rank > count, address, offset), mask)
    own = np.arange(chunk.ctas, dtype=np.int64)[:, None]
    row = np.where(rank > 0, own - own % count + rank - 1, own)
    view, _ = rows.view(size)
    return view, (offset >> shift_of(size)).astype(I64) + row * (rows.width // size)


def _row_elements(chunk: Chunk, site: Site, cta: Any, address: Array) -> tuple[Array, Array]:
    """Shared memory as elements, and the element of each address in the rows of given CTAs."""
    rows, size = chunk.shared, site.size
    if int(address.max()) > rows.limit - size or _either(address) & (size - 1):
        faults.outside_rows(chunk, site, "shared", rows.limit, address.reshape(-1), None)
    return rows.view(size)[0], (address >> shift_of(size)).astype(I64) + cta * (rows.width // size)


def load_row(chunk: Chunk, site: Site, cta: Any, address: Array) -> Array:
    """Elements of shared memory at any number of addresses of CTA `cta` (or CTAs, broadcasting)."""
    view, index = _row_elements(chunk, site, cta, address)
    for observer in chunk.observers:
        observer.copy(chunk, site, cta, "load", address)
    return view.take(index)


def store_row(chunk: Chunk, site: Site, cta: int, address: Array, value: Array, barrier: int | None = None) -> None:
    """As `load_row`; `barrier` is the shared address of the barrier that a copy reports to."""
    view, index = _row_elements(chunk, site, cta, address)
    for observer in chunk.observers:
        observer.copy(chunk, site, cta, "store", address, barrier)
    view[index] = value


def load_rows(chunk: Chunk, site: Site, rows: Rows, space: str, address: Array, mask: Array | None) -> Array:
    if rows.limit < site.size and mask is not None and not np.any(mask):
        return np.zeros((), dtype_of(site.size))[()]
    for observer in chunk.observers:
        observer.touch(chunk, site, space, "load", address, mask, None)
    view, index = _row_index(chunk, site, rows, space, address, mask)
    if chunk.recording:
        chunk.accesses.append((space, "load", None, site.size, address, None, mask))
    return view.take(index)


def store_rows(
    chunk: Chunk, site: Site, rows: Rows, space: str, address: Array, value: Array, mask: Array | None
) -> None:
    for observer in chunk.observers:
        observer.touch(chunk, site, space, "store", address, mask, value)
    view, index = _row_index(chunk, site, rows, space, address, mask)
    if chunk.recording:
        chunk.accesses.append((space, "store", None, site.size, address, value, mask))
    if mask is not None:
        index, value = _chosen(chunk, index, value, mask)
    _put(view, index, value)


# Any space.
def window(chunk: Chunk, address: Array, mask: Array | None) -> int | None:
    """The number of the generic window that all active addresses lie in (0: global); None when they differ."""
    high = address >> _WINDOW_SHIFT
    if high.ndim == 0:
        return int(high)
    if mask is not None:
        high = np.broadcast_to(high, chunk.shape)[np.broadcast_to(mask, chunk.shape)]
    least, most = int(high.min()), int(high.max())
    return least if least == most else None


_SPACE_OF = {0: "global", SHARED_WINDOW >> 48: "shared", LOCAL_WINDOW >> 48: "local", PARAMETER_WINDOW >> 48: "param"}


def load(chunk: Chunk, site: Site, space: str, address: Array, mask: Array | None) -> Array:
    """Load elements of the site's size from any space; the result is in the raw dtype of that size."""
    if space == "global":
        return load_global(chunk, site, address, mask)
    if space == "shared":
        return load_rows(chunk, site, chunk.shared, space, address, mask)
    if space == "local":
        return load_rows(chunk, site, chunk.local, space, address, mask)
    if space == "param":
        return _load_parameter(chunk, site, address, mask)
    number = window(chunk, address, mask)
    if number is not None:
        inner = _SPACE_OF.get(number, "global")
        return load(chunk, site, inner, address if inner == "global" else address & np.uint64((1 << 48) - 1), mask)
    address, result = np.broadcast_to(address, chunk.shape), None
    for number, part in _by_window(chunk, address, mask):
        inner = _SPACE_OF.get(number, "global")
        value = load(chunk, site, inner, address if inner == "global" else address & np.uint64((1 << 48) - 1), part)
        result = value if result is None else np.where(part, value, result)
    return result


def _by_window(chunk: Chunk, address: Array, mask: Array | None) -> list[tuple[int, Array]]:
    high = address >> _WINDOW_SHIFT
    active = np.ones(chunk.shape, np.bool_) if mask is None else np.broadcast_to(mask, chunk.shape)
    return [(int(number), active & (high == number)) for number in np.unique(high[active])]


def store(chunk: Chunk, site: Site, space: str, address: Array, value: Array, mask: Array | None) -> None:
    if space == "global":
        store_global(chunk, site, address, value, mask)
    elif space == "shared":
        store_rows(chunk, site, chunk.shared, space, address, value, mask)
    elif space == "local":
        store_rows(chunk, site, chunk.local, space, address, value, mask)
    elif space == "param":
        faults.outside_rows(chunk, site, "param", 0, address, mask)
    else:
        address = np.broadcast_to(address, chunk.shape)
        for number, part in _by_window(chunk, address, mask):
            inner = _SPACE_OF.get(number, "global")
            store(chunk, site, inner, address if inner == "global" else address & np.uint64((1 << 48) - 1), value, part)


def _load_parameter(chunk: Chunk, site: Site, address: Array, mask: Array | None) -> Array:
    """Entry parameters are one read-only row of bytes."""
    data, size = chunk.launch.parameters, site.size
    if mask is not None:
        address = np.where(mask, address, address.dtype.type(0))
    if int(np.max(address)) > len(data) - size:
        faults.outside_rows(chunk, site, "param", len(data), address, mask)
    index = np.asarray(address).astype(I64)[..., None] + np.arange(size)
    raw = np.ascontiguousarray(data[index]).view(dtype_of(size))[..., 0]
    return raw if np.ndim(raw) else np.asarray(raw)[()]


# Atomics.
_ORDERLESS = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def atomic(
    chunk: Chunk,
    site: Site,
    space: str,
    address: Array,
    operands: list[Array],
    combine: LaneFunction,
    word: str,
    mask: Array | None,
    wanted: bool,
) -> Array | None:
    """Apply `combine(old, *operands)` lane after lane; returns the old values (None when not `wanted`)."""
    active = np.broadcast_to(mask, chunk.shape) if mask is not None else np.ones(chunk.shape, np.bool_)
    address = np.broadcast_to(address, chunk.shape)
    dtype = operands[0].dtype
    # What memory held comes back as the bits it was; what arithmetic leaves there is canonical.
    raw = np.dtype(f"u{dtype.itemsize}") if dtype.kind == "f" else dtype
    result = np.zeros(chunk.shape, raw)
    floats = dtype.kind == "f" and dtype.itemsize < 8
    change = _canonical_results(combine) if floats and wanted else combine
    for view, index, lanes in parts(chunk, site, space, address, active):
        chosen = [np.broadcast_to(operand, chunk.shape)[lanes] for operand in operands]
        elements = view.view(dtype)
        old = apply_atomic(elements, index, chosen, change, word, wanted)
        if wanted and old is not None:
            result[lanes] = old.view(raw)
        elif floats:
            elements.view(raw)[index] = canonical(elements[index])
    return result if wanted else None


def _canonical_results(combine: LaneFunction) -> LaneFunction:
    return lambda old, *operands: canonical(combine(old, *operands)).view(old.dtype)


def cells(chunk: Chunk, site: Site, space: str, address: Array, active: Array) -> list[tuple[Array, Array, Array]]:
    """(memory as elements, element index of each active lane, the active lanes) for every allocation touched."""
    for observer in chunk.observers:
        observer.touch(chunk, site, space, "atomic", address, active, None)
    if space in ("shared", "local"):
        view, index = _row_index(
            chunk, site, chunk.shared if space == "shared" else chunk.local, space, address, active
        )
        if chunk.recording:
            chunk.accesses.append((space, "atomic", None, site.size, address, None, active))
        return [(view, np.broadcast_to(index, chunk.shape)[active], active)]
    cells = []
    for region, here in _groups(chunk, site, address, active):
        if not region.writable:
            faults.read_only(chunk, site, region, address, here, None)
        offsets = address - region.base64
        if chunk.recording:
            chunk.accesses.append(("global", "atomic", region, site.size, offsets, None, here))
        cells.append((region.view(site.size), (offsets[here] >> shift_of(site.size)).astype(I64), here))
    return cells


def parts(chunk: Chunk, site: Site, space: str, address: Array, active: Array) -> list[tuple[Array, Array, Array]]:
    """The `cells` of addresses in any space."""
    found = []
    for inner, part, plain in _atomic_parts(chunk, space, address, active):
        found += cells(chunk, site, inner, plain, part)
    return found


def _atomic_parts(chunk: Chunk, space: str, address: Array, active: Array) -> list[tuple[str, Array, Array]]:
    if space != "generic":
        return [(space, active, address)]
    parts = []
    for number, part in _by_window(chunk, address, active):
        inner = _SPACE_OF.get(number, "global")
        parts.append((inner, part, address if inner == "global" else address & np.uint64((1 << 48) - 1)))
    return parts


def apply_atomic(
    view: Array, index: Array, operands: list[Array], combine: Any, word: str, wanted: bool
) -> Array | None:
    """One atomic on `view[index]` for each of the given lanes, in their order."""
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    first = np.ones(len(index), np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    if first.all():
        old = view[index]
        view[index] = combine(old, *operands)
        return old
    if not wanted and combine is _ORDERLESS.get(word) and view.dtype.kind != "f" or combine is np.add and not wanted:
        combine.at(view, index, operands[0])
        return None
    return _in_turn(view, index, operands, combine, order, ordered, first)


def _in_turn(
    view: Array, index: Array, operands: list[Array], combine: LaneFunction, order: Array, ordered: Array, first: Array
) -> Array:
    """Lanes of one cell take turns: round r serves every cell's r-th lane."""
    start = np.maximum.accumulate(np.where(first, np.arange(len(index)), 0))
    turn = np.arange(len(index)) - start
    old = np.empty(len(index), view.dtype)
    if combine is np.add and view.dtype.kind in "iu":
        values = operands[0][order]
        before = np.cumsum(values, dtype=view.dtype) - values
        old[order] = view[ordered] + (before - before[start])
        np.add.at(view, index, operands[0])
        return old
    by_turn = np.argsort(turn, kind="stable")
    ends = np.searchsorted(turn[by_turn], np.arange(int(turn.max()) + 2))
    for begin, end in zip(ends[:-1], ends[1:]):
        lanes = order[by_turn[begin:end]]
        cells = index[lanes]
        old[lanes] = view[cells]
        view[cells] = combine(old[lanes], *(operand[lanes] for operand in operands))
    return old
