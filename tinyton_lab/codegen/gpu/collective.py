"""Reductions in three levels: registers as a tree, lanes by butterflies, warps by one shared round. And `map`."""

from __future__ import annotations

from tinyton_lab.codegen.gpu.exchange import read_shared, wait, write_shared
from tinyton_lab.codegen.gpu.state import State
from tinyton_lab.ir.core import Op
from tinyton_lab.ir.types import Tile
from tinyton_lab.layout.reduce import Steps, item_bytes, regions, steps_of_op
from tinyton_lab.llvm.text import Register
from tinyton_lab.ops.reduction import commutes

Element = list[Register]  # one register per input of the reduction


def lower_reduce(state: State, op: Op) -> None:
    """Combine along the axis: in registers, then lanes, then warps.

    Neighbours come first everywhere, and the lower stays to the left; far lanes come first where order is free.
    """
    steps, free = steps_of_op(op), commutes(op)
    columns = [state.get(value) for value in op.operands]
    combined = [_tree(state, op, [[c[r] for c in columns] for r in group]) for group in steps.groups]
    for lane in reversed(steps.lanes) if free else steps.lanes:
        combined = [_across_lanes(state, op, element, lane, free) for element in combined]
    if steps.warps:
        combined = _across_warps(state, op, steps, combined)
    for result, column in zip(op.results, zip(*combined, strict=True), strict=True):
        state.values[result] = list(column)


def lower_map(state: State, op: Op) -> None:
    """Run the block on one register after the other."""
    (block,) = op.blocks
    made: list[list[Register]] = []
    for scalars in zip(*(state.get(value) for value in op.operands), strict=True):
        for value, register in zip(block.args, scalars, strict=True):
            state.values[value] = [register]
        made.append(state.run(block))
        state.builder.uid = op.uid
    for result, column in zip(op.results, zip(*made, strict=True), strict=True):
        state.values[result] = list(column)


def _combine(state: State, op: Op, x: Element, y: Element) -> Element:
    """Run the block of the reduction on two elements; its instructions belong to the reduction too."""
    (block,) = op.blocks
    for value, register in zip(block.args, (*x, *y), strict=True):
        state.values[value] = [register]
    made = state.run(block)
    state.builder.uid = op.uid
    return made


def _tree(state: State, op: Op, elements: list[Element]) -> Element:
    while len(elements) > 1:
        pairs = range(0, len(elements), 2)
        elements = [_combine(state, op, elements[at], elements[at + 1]) for at in pairs]
    return elements[0]


def _across_lanes(state: State, op: Op, element: Element, lane: int, free: bool) -> Element:
    """Combine with the lane whose number differs in one bit; unless order is `free`, the lower lane's comes first."""
    other = [shuffle(state, x, 1 << lane) for x in element]
    if free:
        return _combine(state, op, element, other)
    b = state.builder
    bit = b.emit(f"and i32 {state.lane.text}, {1 << lane}", "i32")
    lower = b.compare("icmp eq", bit, Register("0", "i32"))
    pairs = list(zip(element, other, strict=True))
    return _combine(state, op, [b.select(lower, x, y) for x, y in pairs], [b.select(lower, y, x) for x, y in pairs])


def _across_warps(state: State, op: Op, steps: Steps, combined: list[Element]) -> list[Element]:
    """Leave each warp's partial results in shared memory, wait, and let every thread combine those it needs."""
    b = state.builder
    quiet = b.emit(f"and i32 {state.thread.text}, {steps.silent}", "i32")
    writes = b.compare("icmp eq", quiet, Register("0", "i32")) if steps.silent else None
    starts = [op.attrs["scratch"] + region for region in regions(op)[:-1]]
    tiles = [value.type for value in op.inputs]
    for input, (tile, start) in enumerate(zip(tiles, starts, strict=True)):
        own = state.thread_image([image * item_bytes(tile) for image in steps.place])
        for group, element in enumerate(combined):
            at = start + group * steps.slots * item_bytes(tile)
            write_shared(state, tile, own, at, [element[input]], writes)
    wait(state)
    partials: list[list[Element]] = [[[] for _ in range(steps.partials)] for _ in combined]
    for tile, start in zip(tiles, starts, strict=True):
        own = state.thread_image([image * item_bytes(tile) for image in steps.start])
        for group in range(len(combined)):
            at = start + group * steps.slots * item_bytes(tile)
            for partial, register in zip(partials[group], _row(state, tile, own, at, steps.partials), strict=True):
                partial.append(register)
    return [_tree(state, op, row) for row in partials]


def _row(state: State, tile: Tile, own: Register, at: int, count: int) -> list[Register]:
    """Read `count` elements side by side, in vectors of up to 16 bytes."""
    width = min(count, 16 // item_bytes(tile))
    found: list[Register] = []
    for first in range(0, count, width):
        found += read_shared(state, tile, own, at + first * item_bytes(tile), width)
    return found


def shuffle(state: State, x: Register, distance: int) -> Register:
    """The register of the lane whose number differs by exclusive-or with `distance`."""
    b = state.builder
    if x.type == "float":
        return _bfly(state, x, distance, "f32")
    if x.type == "i32":
        return _bfly(state, x, distance, "i32")
    if x.type in ("double", "i64"):
        halves = b.unpack(b.recast(x, "<2 x i32>"))
        moved = b.pack([_bfly(state, half, distance, "i32") for half in halves])
        return b.recast(moved, x.type)
    if x.type.startswith("ptr"):
        return b.convert("inttoptr", shuffle(state, b.convert("ptrtoint", x, "i64"), distance), x.type)
    bits = {"half": "i16", "bfloat": "i16"}.get(x.type, x.type)
    raw = x if bits == x.type else b.convert("bitcast", x, bits)
    narrow = b.convert("trunc", _bfly(state, b.convert("zext", raw, "i32"), distance, "i32"), bits)
    return narrow if bits == x.type else b.convert("bitcast", narrow, x.type)


def _bfly(state: State, x: Register, distance: int, kind: str) -> Register:
    everyone, last = Register("-1", "i32"), Register(str(state.target.warp_lanes - 1), "i32")
    args = (everyone, x, Register(str(distance), "i32"), last)
    return state.builder.intrinsic(f"llvm.nvvm.shfl.sync.bfly.{kind}", *args, type=x.type, overloads=())
