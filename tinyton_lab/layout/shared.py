"""Shared memory of a program: which conversions go through it, and where each piece lies. Knows no barriers."""

from __future__ import annotations

from collections.abc import Set

from tinyton_lab.base.targets import Target
from tinyton_lab.ir.core import Function, Op, Value
from tinyton_lab.ir.rewrite import Rewriter
from tinyton_lab.ir.types import Tile
from tinyton_lab.layout.convert import movement
from tinyton_lab.layout.linear import Layout
from tinyton_lab.layout.reduce import ALIGNMENT_BYTES, item_bytes, regions
from tinyton_lab.layout.swizzle import row_major, swizzle
from tinyton_lab.ops import collective, local, reduction, shape, shared

RING_BYTES = 16384
SLOTS = (shared.shared_store, shared.shared_load)


def lower_conversions(function: Function) -> Function:
    """Send conversions that leave their thread through swizzled shared memory; the others stay renumberings."""
    return Rewriter(function).run(_lower_conversion)


def _lower_conversion(rewriter: Rewriter, op: Op) -> Value | None:
    if op.row is collective.gather:
        return _lower_gather(rewriter, op)
    if op.row is collective.histogram:
        return _lower_histogram(rewriter, op)
    if op.row is not local.convert_layout:
        return None
    (value,) = op.inputs
    source, target = value.type.layout, op.result.type.layout
    if not isinstance(source, Layout) or not isinstance(target, Layout) or movement(source, target) in _IN_THREAD:
        return None
    bytes = item_bytes(value.type)
    memory = value.type.with_layout(swizzle(source, target, bytes))
    builder = rewriter.builder
    piece = builder.emit(local.local_alloc, (), {"bytes": value.type.elements * bytes}, [memory]).result
    builder.emit(local.local_store, (piece, value))
    return builder.emit(local.local_load, (piece,), {}, [op.result.type]).result


def _lower_gather(rewriter: Rewriter, op: Op) -> Value:
    """Put the source into shared memory in row-major order and read it by index."""
    source, index = op.inputs
    layout = source.type.layout
    if not isinstance(layout, Layout):
        raise RuntimeError(f"layout: gather #{op.uid} of a tile without a layout")
    bytes, b = item_bytes(source.type), rewriter.builder
    memory = source.type.with_layout(row_major(layout, bytes))
    piece = b.emit(local.local_alloc, (), {"bytes": source.type.elements * bytes}, [memory]).result
    b.emit(local.local_store, (piece, source))
    return b.emit(local.local_gather, (piece, index), {"axis": op.attrs["axis"]}, [op.result.type]).result


def _lower_histogram(rewriter: Rewriter, op: Op) -> Value:
    """Set counters in shared memory to 0, count, and read them."""
    type, b = op.result.type, rewriter.builder
    layout = type.layout
    if not isinstance(layout, Layout):
        raise RuntimeError(f"layout: histogram #{op.uid} without a layout")
    memory = type.with_layout(row_major(layout, item_bytes(type)))
    piece = b.emit(local.local_alloc, (), {"bytes": type.elements * item_bytes(type)}, [memory]).result
    b.emit(local.local_store, (piece, b.emit(shape.constant, (), {"value": 0, "type": type}, [type]).result))
    b.emit(local.local_count, (piece, *op.operands))
    return b.emit(local.local_load, (piece,), {}, [type]).result


_IN_THREAD = ("none", "register")


def allocate(function: Function, target: Target) -> Function:
    """Give each piece of shared memory its offset, and the function its total as the attribute ``shared_bytes``.

    Pieces live for one exchange only. They are dealt round a ring, so that neighbours differ and need no barrier
    between them, while the ring stays small. The slots of tiny-ton's kernels lie behind it, for the whole program.
    """
    used = {value for op in function.walk() for value in op.inputs}
    needs = {op.uid: need for op in function.walk() if (need := _need(op, used))}
    ring = max(RING_BYTES, *needs.values()) if needs else 0
    offsets: dict[int, int] = {}
    at = total = 0
    for uid, need in needs.items():
        at = 0 if at + need > ring else at
        offsets[uid] = at
        at += need
        total = max(total, at)

    slots = total
    total += shared.slots_of([op.attrs for op in function.walk() if op.row in SLOTS]) * shared.SLOT_BYTES

    def place(rewriter: Rewriter, op: Op) -> None:
        if op.row in SLOTS:
            op.attrs = {**op.attrs, "offset": slots}
        if op.uid in offsets:
            op.attrs = {**op.attrs, "offset" if op.row is local.local_alloc else "scratch": offsets[op.uid]}

    placed = Rewriter(function).run(place)
    if total:
        placed.attrs["shared_bytes"] = total
    return placed


def _need(op: Op, used: Set[Value]) -> int:
    """Bytes of shared memory that an op needs for itself."""
    if op.row is reduction.reduce:
        return regions(op)[-1]
    if op.row.effect == "atomic" and op.result in used and _has_copies(op.result.type):
        return -(-op.result.type.elements * item_bytes(op.result.type) // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    if op.row is local.local_alloc:
        return -(-op.attrs["bytes"] // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    return 0


def _has_copies(tile: Tile) -> bool:
    """Whether several threads hold one element."""
    layout = tile.layout
    return not isinstance(layout, Layout) or bool(layout.free("lane") or layout.free("warp"))
