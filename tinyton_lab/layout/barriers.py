"""Where threads must wait for each other: before an access that conflicts with one since the last barrier.

Shared memory conflicts by byte ranges. Global memory conflicts when two accesses start from the same parameter, or from
an address of unknown origin, and may reach the same element from different threads; different parameters are taken to
overlap only element by element.
"""

from __future__ import annotations

from dataclasses import dataclass

from tinyton_lab.ir.core import Block, Function, Op, Value
from tinyton_lab.ir.rewrite import Rewriter
from tinyton_lab.layout.linear import Layout
from tinyton_lab.layout.reduce import regions, steps_of_op
from tinyton_lab.ops import control, local, memory, reduction

Pending = frozenset["Touch"]


@dataclass(frozen=True, slots=True)
class Touch:
    """One access since the last barrier: a byte range of shared memory, or `root` and `place` of a global access.

    `place` is what tells the element of each thread: the operands that make its address; None: any.
    """

    writes: bool
    first: int = 0
    last: int = 0
    root: Value | None = None
    place: tuple[Value | None, ...] | None = None
    shared: bool = True

    def conflicts(self, other: Touch) -> bool:
        if self.shared != other.shared or not (self.writes or other.writes):
            return False
        if self.shared:
            return self.first < other.last and other.first < self.last
        if self.root is not None and other.root is not None and self.root is not other.root:
            return False
        return self.place is None or self.place != other.place

    def later(self) -> Touch:
        """The same access in the turn of a loop before: the same operands have other values now."""
        return Touch(self.writes, self.first, self.last, self.root, None, self.shared)


def place_barriers(function: Function) -> Function:
    """Put a `barrier` before every access that needs one."""
    finder = _Finder()
    finder.block(function.body, frozenset())

    def before(rewriter: Rewriter, op: Op) -> None:
        if op.uid in finder.needed:
            rewriter.builder.emit(local.barrier)

    return Rewriter(function).run(before)


class _Finder:
    def __init__(self) -> None:
        self.needed: set[int] = set()
        self.pieces: dict[Value, tuple[int, int]] = {}

    def block(self, block: Block, pending: Pending) -> Pending:
        for op in block.ops:
            pending = self.op(op, pending)
        return pending

    def op(self, op: Op, pending: Pending) -> Pending:
        if op.row is control.if_:
            return self.block(op.blocks[0], pending) | self.block(op.blocks[1], pending)
        if op.row in (control.for_, control.while_):
            return self._loop(op, pending)
        if op.row is reduction.reduce and steps_of_op(op).warps:
            return self._reduce(op, pending)
        if op.row is local.local_alloc:
            self.pieces[op.result] = (op.attrs["offset"], op.attrs["offset"] + op.attrs["bytes"])
        touch = self._touch(op)
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

    def _loop(self, op: Op, pending: Pending) -> Pending:
        """A turn follows what came before the loop or the turn before it; two rounds see all of that."""
        after = pending
        for _ in range(2):
            entering = after
            for block in op.blocks:
                entering = self.block(block, entering)
            after = pending | frozenset(touch.later() for touch in entering)
        return after

    def _touch(self, op: Op) -> Touch | None:
        if op.row in (local.local_store, local.local_load):
            piece = op.operands[0]
            first, last = self.pieces[piece] if piece is not None else (0, 0)
            return Touch(op.row is local.local_store, first, last)
        if op.row in (memory.load, memory.store):
            pointer, distance = op.operand("pointer"), op.operand("distance")
            place = (pointer, distance) if _one_thread_each(distance or pointer) else None
            return Touch(op.row is memory.store, root=root_of(pointer), place=place, shared=False)
        return None


def _one_thread_each(place: Value | None) -> bool:
    """Whether each element is accessed by one thread: of copies one thread writes what all of them read."""
    layout = place.type.layout if place is not None else None
    return isinstance(layout, Layout) and not layout.free("lane") and not layout.free("warp")


def root_of(pointer: Value | None) -> Value | None:
    """The parameter that an address is computed from, or None where that is not plain to see."""
    while pointer is not None and pointer.op is not None and pointer.op.row.layout in ("same", "free", *_VIEWS):
        addresses = [value for value in pointer.op.inputs if value.type.is_pointer]
        if len(addresses) != 1:
            return None
        pointer = addresses[0]
    if pointer is None or isinstance(pointer.owner, Op) or pointer.owner.owner is not None:
        return None
    return pointer


_VIEWS = ("expand", "broadcast", "reshape", "transpose", "convert")
