"""Split tiles of pointers into one scalar pointer and a tile of distances, so that addresses cost little everywhere.

Every pointer tile is ``base + distance``: a uniform step moves the base, a tile becomes the distance in its own integer
width. Two distances are added as i64 only: in their own width the sum could wrap where the sum of addresses does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tinyton_lab.base.dtypes import int32, int64
from tinyton_lab.ir.core import Block, Function, Op, Value
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.ir.rewrite import Rewriter, Rule
from tinyton_lab.ir.types import Pointer, Tile
from tinyton_lab.ops import control, elementwise, memory, shape
from tinyton_lab.passes.constants import as_scalar, constant_of, make_constant, uniform_source
from tinyton_lab.passes.outcome import Options, Outcome


def pointers(function: Function, options: Options) -> Outcome:
    """Rewrite the loads and stores whose pointers are understood; what they no longer need is left to `dce`."""
    splitter = _Splitter(function)
    return Outcome(splitter.run(_rule), tuple(splitter.misses))


@dataclass(frozen=True, slots=True)
class Split:
    """A pointer tile as a scalar pointer and the distances of its elements; None stands for no distance."""

    base: Value
    distance: Value | None


class _Splitter(Rewriter):
    """A rewriter that remembers how each new pointer tile splits, and carries split pointers through loops."""

    def __init__(self, old: Function) -> None:
        super().__init__(old)
        self.splits: dict[Value, Split] = {}

    def split_of(self, value: Value | None) -> Split | None:
        return None if value is None else self.splits.get(value)

    # -- building ------------------------------------------------------------------------------------------------------
    def joined(self, split: Split, type: Tile) -> Value:
        """The tile of pointers again, for those who need it whole."""
        tile = self.builder.value(shape.splat, split.base, shape=type.shape)
        if split.distance is not None:
            tile = self.builder.value(elementwise.offset, tile, split.distance)
        self.splits[tile] = split
        return tile

    def widened(self, distance: Value) -> Value:
        """A distance as i64, converted before it is spread over a larger tile."""
        if distance.type.element is int64:
            return distance
        made = distance.op
        if made is not None and made.row in (shape.broadcast, shape.expand) and made.operands[0] is not None:
            return self.builder.value(made.row, self.widened(made.operands[0]), **made.attrs)
        return self.builder.value(elementwise.cast, distance, to=int64, rounding=None)

    def distance_or_zero(self, split: Split, tile: tuple[int, ...]) -> Value:
        if split.distance is not None:
            return split.distance
        return make_constant(self.builder, Tile(int32, tile), 0)

    # -- loops ---------------------------------------------------------------------------------------------------------
    def _step(self, op: Op, rule: Rule) -> None:
        if op.row is control.if_ and any(map(_is_pointer_tile, op.results)):
            self._split_branch(op, rule)
            return
        if op.row is not control.for_ or not any(map(_is_pointer_tile, op.results)):
            super()._step(op, rule)
            return
        ops, edges, misses = len(self.builder.block.ops), len(self.new.provenance.edges), len(self.misses)
        if not _LoopSplit(self, op).run(rule):
            del self.builder.block.ops[ops:], self.new.provenance.edges[edges:], self.misses[misses:]
            self.miss("pointers", op, "a pointer tile that it carries is not one base and a distance per element")
            super()._step(op, rule)

    def _split_branch(self, op: Op, rule: Rule) -> None:
        """Copy a branch that gives bases and distances in place of those pointer tiles that split on both sides."""
        copy = self.copy(op, rule)
        self.builder.span, self.builder.parent = op.span, op.uid
        ends = [block.ops.pop() for block in copy.blocks]
        pairs = [[self.split_of(end.operands[index]) for end in ends] for index in range(len(op.results))]
        for block, end, side in zip(copy.blocks, ends, (0, 1)):
            values: list[Value | None] = []
            with self.builder.inside(block):
                for value, pair in zip(end.operands, pairs):
                    split = pair[side] if all(pair) else None
                    values += [value] if split is None or value is None else self.parts(split, value.type)
            block.ops.append(Op(end.row, tuple(values), (), end.attrs, (), end.uid, end.span))
        types = tuple(value.type for value in copy.blocks[0].terminator.inputs)
        branch = Op(op.row, copy.operands, types, op.attrs, copy.blocks, op.uid, op.span)
        self.builder.block.ops.append(branch)
        results = iter(branch.results)
        for old, pair in zip(op.results, pairs):
            first = next(results)
            self.renewed[old] = self.joined(Split(first, next(results)), old.type) if all(pair) else first
        self.builder.parent = 0

    def parts(self, split: Split, type: Tile) -> list[Value]:
        """The base, and the distances as i64."""
        return [split.base, self.widened(self.distance_or_zero(split, type.shape))]

    def fill(self, source: Block, target: Block, rule: Rule) -> None:
        """Rewrite the ops of a block into a new one."""
        self._fill(source, target, rule)


class _LoopSplit:
    """The copy of one loop that carries bases in place of pointer tiles, and distances where they change."""

    def __init__(self, splitter: _Splitter, loop: Op) -> None:
        self.splitter, self.loop, self.old = splitter, loop, loop.blocks[0]
        self.builder = splitter.builder
        self.body = Block()
        self.uniform = [
            _moves_uniformly(value, argument)
            for value, argument in zip(self.old.terminator.operands, self.old.args[1:])
        ]

    def run(self, rule: Rule) -> bool:
        """Build the loop; False, with leftovers in the block, when a carried pointer does not split."""
        splitter, builder = self.splitter, self.builder
        builder.span, builder.parent = self.loop.span, self.loop.uid
        starts = [self._start(index) for index in range(len(self.loop.results))]
        if any(start is None for start in starts):
            return False
        inits = [value for start in starts if start is not None for value in start]
        index = self.old.args[0]
        splitter.renewed[index] = self.body.add_argument(index.type, index.name)
        with builder.inside(self.body):
            for position, old in enumerate(self.old.args[1:]):
                parts = [self.body.add_argument(old.type.with_shape(()), old.name)] if _is_pointer_tile(old) else []
                parts = parts or [self.body.add_argument(old.type, old.name)]
                if _is_pointer_tile(old) and not self.uniform[position]:
                    parts.append(self.body.add_argument(old.type.with_element(int64), f"{old.name}.distance"))
                splitter.renewed[old] = self._whole(position, parts)
        splitter.fill(self.old, self.body, rule)
        builder.span, builder.parent = self.loop.span, self.loop.uid
        closed = self._close(inits)
        builder.parent = 0
        return closed

    def _start(self, index: int) -> list[Value] | None:
        """What stands for a carried value on entry: itself, or base and maybe distance; None if it did not split."""
        value = self.splitter.lookup(self.loop.operands[3 + index])
        return None if value is None else self._parts(index, value)

    def _parts(self, index: int, value: Value) -> list[Value] | None:
        if not _is_pointer_tile(value):
            return [value]
        split = self.splitter.split_of(value)
        if split is None:
            return None
        return [split.base] if self.uniform[index] else self.splitter.parts(split, value.type)

    def _whole(self, index: int, parts: list[Value]) -> Value:
        """The carried value again from what stands for it inside or behind the loop."""
        type = self.loop.results[index].type
        if not _is_pointer_tile(self.loop.results[index]):
            return parts[0]
        start = self.splitter.split_of(self.splitter.lookup(self.loop.operands[3 + index]))
        distance = start.distance if self.uniform[index] and start is not None else parts[1]
        return self.splitter.joined(Split(parts[0], distance), type)

    def _close(self, inits: list[Value]) -> bool:
        """Yield what stands for the carried values, make the loop, and put its results together behind it."""
        splitter, loop, end = self.splitter, self.loop, self.body.ops.pop()
        values: list[Value] = []
        counts: list[int] = []
        with self.builder.inside(self.body):
            for index, value in enumerate(end.operands):
                parts = None if value is None else self._parts(index, value)
                if parts is None:
                    return False
                values += parts
                counts.append(len(parts))
        self.body.ops.append(Op(end.row, tuple(values), (), end.attrs, (), end.uid, end.span))
        types = tuple(argument.type for argument in self.body.args[1:])
        bounds = tuple(splitter.lookup(value) for value in loop.operands[:3])
        copy = Op(loop.row, (*bounds, *inits), types, loop.attrs, (self.body,), loop.uid, loop.span)
        self.builder.block.ops.append(copy)
        results = iter(copy.results)
        for index, old in enumerate(loop.results):
            splitter.renewed[old] = self._whole(index, [next(results) for _ in range(counts[index])])
        return True


def _is_pointer_tile(value: Value) -> bool:
    return value.type.is_pointer and bool(value.type.shape)


def _moves_uniformly(value: Value | None, argument: Value) -> bool:
    """Whether a carried pointer only ever steps by one distance for all of its elements, in inner loops too."""
    while value is not None and value is not argument:
        op = value.op
        if op is not None and op.row is elementwise.offset and _is_uniform(op.operands[1]):
            value = op.operands[0]
        elif op is not None and op.row is control.for_:
            inner, index = op.blocks[0], value.index
            if not _moves_uniformly(inner.terminator.operands[index], inner.args[1 + index]):
                return False
            value = op.operands[3 + index]
        else:
            return False
    return value is argument


def _is_uniform(value: Value | None) -> bool:
    return uniform_source(value) is not None or constant_of(value) is not None


# -- rules -------------------------------------------------------------------------------------------------------------
def _rule(rewriter: Rewriter, op: Op) -> Value | tuple[Value, ...] | None:
    if not isinstance(rewriter, _Splitter):
        return None
    if op.row is memory.load or op.row is memory.store:
        return _split_access(rewriter, op)
    if len(op.results) == 1 and op.result.type.is_pointer and op.result.type.shape:
        follow = _FOLLOW.get(op.row)
        split = None if follow is None else follow(rewriter, op)
        if split is not None:
            rewriter.splits[op.result] = split
    return None


def _split_access(s: _Splitter, op: Op) -> Value | tuple[Value, ...] | None:
    pointer = op.operand("pointer")
    if pointer is None or pointer.type.is_scalar:
        return None
    split = s.split_of(pointer)
    if split is None:
        s.miss("pointers", op, "its tile of pointers is not one base and a distance per element")
        return None
    distance = s.distance_or_zero(split, pointer.type.shape)
    if op.row is memory.load:
        return s.builder.emit(op.row, (split.base, distance, *op.operands[2:]), op.attrs).result
    s.builder.emit(op.row, (split.base, op.operands[1], distance, *op.operands[3:]), op.attrs)
    return ()


def _from_splat(s: _Splitter, op: Op) -> Split | None:
    (base,) = op.operands
    return None if base is None else Split(base, None)


def _from_offset(s: _Splitter, op: Op) -> Split | None:
    pointer, step = op.operands
    split = s.split_of(pointer)
    if split is None or step is None:
        return None
    if _is_uniform(step):
        base = s.builder.value(elementwise.offset, split.base, as_scalar(s.builder, step))
        return Split(base, split.distance)
    if split.distance is None:
        return Split(split.base, step)
    return Split(split.base, s.builder.value(elementwise.add, s.widened(split.distance), s.widened(step)))


def _from_movement(s: _Splitter, op: Op) -> Split | None:
    """Reshape, broadcast, transpose ... the distances like the pointers."""
    split = s.split_of(op.operands[0])
    if split is None or split.distance is None:
        return split
    return Split(split.base, s.builder.value(op.row, split.distance, **op.attrs))


def _from_select(s: _Splitter, op: Op) -> Split | None:
    condition, x, y = op.operands
    left, right = s.split_of(x), s.split_of(y)
    if left is None or right is None or left.base is not right.base:
        s.miss("pointers", op, "the two sides start from different pointers")
        return None
    tile = op.result.type.shape
    distances = [s.widened(s.distance_or_zero(split, tile)) for split in (left, right)]
    return Split(left.base, s.builder.value(elementwise.select, condition, *distances))


def _from_cast(s: _Splitter, op: Op) -> Split | None:
    split = s.split_of(op.operands[0])
    if split is None or not isinstance(split.base.type.element, Pointer):
        return None
    if split.distance is not None and split.base.type.element.element.bytes != op.attrs["to"].bytes:
        s.miss("pointers", op, "elements of another size: the distances do not count them")
        return None
    return Split(s.builder.value(elementwise.pointer_cast, split.base, to=op.attrs["to"]), split.distance)


_FOLLOW: dict[OpDef, Callable[[_Splitter, Op], Split | None]] = {
    shape.splat: _from_splat,
    elementwise.offset: _from_offset,
    shape.expand: _from_movement,
    shape.broadcast: _from_movement,
    shape.reshape: _from_movement,
    shape.transpose: _from_movement,
    elementwise.select: _from_select,
    elementwise.pointer_cast: _from_cast,
}
