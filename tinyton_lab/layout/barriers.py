"""Where threads must wait for each other: before an access that conflicts with one since the last barrier.

Shared memory conflicts by byte ranges. Global memory conflicts when two accesses start from the same parameter, or from
an address of unknown origin, and may reach the same element from different threads; different parameters are taken to
overlap only element by element.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tinyton_lab.ir.core import Block, Function, Op, Value
from tinyton_lab.ir.rewrite import Rewriter
from tinyton_lab.layout.linear import Layout
from tinyton_lab.layout.reduce import item_bytes, regions, steps_of_op
from tinyton_lab.ops import control, elementwise, local, memory, reduction, shape, shared
from tinyton_lab.ops.roots import pointer_roots
from tinyton_lab.passes.constants import constant_of

Pending = frozenset["Touch"]


@dataclass(frozen=True, slots=True)
class Touch:
    """One access since the last barrier: a byte range of shared memory, or `roots` and `place` of a global access.

    `roots` are the parameters that its addresses may be computed from (None: any memory), `place` is what tells the
    element of each thread: the operands that make its address (None: any). `alone`: one and the same thread does it.
    """

    writes: bool
    first: int = 0
    last: int = 0
    roots: frozenset[int] | None = None
    place: tuple[Value | None, ...] | None = None
    shared: bool = True
    alone: bool = False

    def conflicts(self, other: Touch) -> bool:
        if self.shared != other.shared or not (self.writes or other.writes) or (self.alone and other.alone):
            return False
        if self.shared:
            return self.first < other.last and other.first < self.last
        if self.roots and other.roots and not self.roots & other.roots:
            return False
        return self.place is None or self.place != other.place

    def before(self, loop: Op) -> Touch:
        """The same access in an earlier turn of `loop`: its operands had other values then.

        It keeps its place where every turn accesses elements of its own.
        """
        if self.place is not None and advances(loop, *self.place):
            return self
        return replace(self, place=None)


def place_barriers(function: Function) -> Function:
    """Put a `barrier` before every access that needs one."""
    finder = _Finder(pointer_roots(function))
    finder.block(function.body, frozenset())

    def before(rewriter: Rewriter, op: Op) -> None:
        if op.uid in finder.needed:
            rewriter.builder.emit(local.barrier)

    return Rewriter(function).run(before)


class _Finder:
    def __init__(self, roots: Mapping[Value, frozenset[int] | None]) -> None:
        self.roots = roots
        self.needed: set[int] = set()
        self.pieces: dict[Value, tuple[int, int]] = {}

    def block(self, block: Block, pending: Pending) -> Pending:
        for op in block.ops:
            pending = self.op(op, pending)
        return pending

    def op(self, op: Op, pending: Pending) -> Pending:
        if op.row is shared.sync:
            return frozenset()
        if op.row is control.if_:
            return self.block(op.blocks[0], pending) | self.block(op.blocks[1], pending)
        if op.row in (control.for_, control.while_):
            return self._loop(op, pending)
        if op.row is reduction.reduce and steps_of_op(op).warps:
            return self._reduce(op, pending)
        if op.row is local.local_alloc:
            self.pieces[op.result] = (op.attrs["offset"], op.attrs["offset"] + op.attrs["bytes"])
        touch = self._touch(op)
        if touch is not None and "scratch" in op.attrs:
            return self._told(op, touch, pending)
        return pending if touch is None else self._access(op, touch, pending)

    def _access(self, op: Op, touch: Touch, pending: Pending) -> Pending:
        if op.uid in self.needed or any(touch.conflicts(earlier) for earlier in pending):
            self.needed.add(op.uid)
            return frozenset([touch])
        return pending | {touch}

    def _reduce(self, op: Op, pending: Pending) -> Pending:
        """A reduction writes its scratch memory, waits, and reads it."""
        first = op.attrs["scratch"]
        last = first + regions(op)[-1]
        self._access(op, Touch(True, first, last), pending)
        return frozenset([Touch(False, first, last)])

    def _told(self, op: Op, touch: Touch, pending: Pending) -> Pending:
        """An atomic access whose threads tell each other what they found: they wait before they read that."""
        first = op.attrs["scratch"]
        last = first + op.result.type.elements * item_bytes(op.result.type)
        self._access(op, touch, pending)
        self._access(op, Touch(True, first, last), pending)
        return frozenset([Touch(False, first, last)])

    def _loop(self, op: Op, pending: Pending) -> Pending:
        """A turn follows what came before the loop or the turn before it; two rounds see all of that.

        A `for` is left where a turn may begin, a `while` after its test.
        """
        entering = pending
        for _ in range(2):
            leaving = entering
            for block in op.blocks:
                leaving = self.block(block, leaving)
            entering = pending | frozenset(touch.before(op) for touch in leaving)
        return self.block(op.blocks[0], entering) if op.row is control.while_ else entering

    def _touch(self, op: Op) -> Touch | None:
        if op.row in (local.local_store, local.local_load, local.local_gather, local.local_count):
            piece = op.operands[0]
            first, last = self.pieces[piece] if piece is not None else (0, 0)
            return Touch(op.row in (local.local_store, local.local_count), first, last)
        if op.row.effect == "atomic":  # several threads may change one element: only a barrier makes the others see it
            pointer = op.operand("pointer")
            return Touch(True, roots=self.roots.get(pointer) if pointer is not None else None, shared=False)
        if op.row in (memory.load, memory.store):
            pointer, distance = op.operand("pointer"), op.operand("distance")
            place = (pointer, distance) if _one_thread_each(distance or pointer) else None
            roots = self.roots.get(pointer) if pointer is not None else None
            writes = op.row is memory.store
            alone = writes and distance is None and pointer is not None and pointer.type.is_scalar
            return Touch(writes, roots=roots, place=place, shared=False, alone=alone)
        return None


def _one_thread_each(place: Value | None) -> bool:
    """Whether each element is accessed by one thread: of copies one thread writes what all of them read."""
    layout = place.type.layout if place is not None else None
    return isinstance(layout, Layout) and not layout.free("lane") and not layout.free("warp")


def advances(loop: Op, pointer: Value | None, distance: Value | None) -> bool:
    """Whether each turn of a `for` moves a split access by its whole range, so that no two turns share an element."""
    if loop.row is not control.for_ or pointer is None or distance is None or distance.op is None:
        return False
    if distance.op.row is not shape.range_:
        return False
    step = _step(loop, pointer)
    return step is not None and abs(step) >= distance.op.attrs["end"] - distance.op.attrs["start"]


def _step(loop: Op, pointer: Value) -> int | None:
    """How many elements a pointer moves from one turn of a `for` to the next; None where that is not plain to see."""
    (body,) = loop.blocks
    if pointer in body.args[1:]:  # carried: the pointer itself plus a constant comes next
        following = body.terminator.operands[pointer.index - 1]
        moved = following.op if following is not None else None
        return _integer(moved.operands[1]) if moved is not None and _moves(moved, pointer) else None
    moved = pointer.op
    if moved is None or moved.row is not elementwise.offset or moved.operands[1] is not body.args[0]:
        return None
    start = moved.operands[0]
    inside = start is None or start in body.args or (start.op is not None and start.op in set(body.walk()))
    return None if inside else _integer(loop.operands[2])


def _integer(value: Value | None) -> int | None:
    known = constant_of(value)
    return known if isinstance(known, int) else None


def _moves(op: Op, pointer: Value) -> bool:
    return op.row is elementwise.offset and op.operands[0] is pointer
