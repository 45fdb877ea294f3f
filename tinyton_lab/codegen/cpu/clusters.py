"""What is computed where: each block becomes steps in order, and each step names the tiles it must leave in memory.

Tiles are computed where they are needed, again and again while that is cheap. They are materialised where it is not
(an expensive value that several steps need, a value from outside a loop), where elements must change places (reshape),
where loops carry them, and where a store would overtake a load. Knows no registers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tinyton_lab.base.dtypes import DType
from tinyton_lab.codegen.cpu import exchanges
from tinyton_lab.codegen.cpu.orientation import Orientation, swapped, untransposed
from tinyton_lab.codegen.cpu.products import Product, summed_in
from tinyton_lab.codegen.cpu.schedule import VIEWS, address_of, same_axes
from tinyton_lab.codegen.cpu.strides import Strides
from tinyton_lab.ir.core import Block, Function, Op, Value
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.ir.types import Tile
from tinyton_lab.ops import atomic, collective, control, elementwise, memory, message, product, reduction, shape, shared
from tinyton_lab.ops.roots import Roots, pointer_roots

EXPENSIVE = 8  # cost above which a value shared by several steps is kept instead of computed again
_COSTS = {
    elementwise.div: 4,
    elementwise.div_rn: 4,
    elementwise.idiv: 16,
    elementwise.mod: 16,
    shape.constant: 0,
    shape.range_: 0,
}
_LOAD, _GATHER = 2, 12
REGIONS = (control.for_, control.while_, control.if_)
LANEWISE = (collective.gather, collective.scan, collective.histogram, collective.map_)
MESSAGES = (message.print_, message.check)
ATOMIC = (atomic.atomic, atomic.compare_exchange)
_BLOCKS = (*REGIONS, collective.map_)
_LOOPS = (control.for_, control.while_, collective.map_)
Pairs = frozenset[tuple[int, int]]


@dataclass(slots=True)
class Step:
    """One op that does something at its place: a store, a reduction, a scalar op, a region, a terminator.

    `before` are tiles to materialise ahead of it, `along` those that may be written in the same loops. `copies` are
    loads to copy ahead of it where the given pairs of parameters overlap. `joined` are reductions computed with it.
    `product` says what a product of matrices multiplies and adds.
    """

    op: Op
    before: list[Value] = field(default_factory=list[Value])
    along: list[Value] = field(default_factory=list[Value])
    copies: list[tuple[Op, Pairs]] = field(default_factory=list["tuple[Op, Pairs]"])
    joined: list[Op] = field(default_factory=list[Op])
    product: Product | None = None


@dataclass(slots=True)
class Plan:
    """The steps of every block, and the steps that read each tile where it is not computed in passing."""

    steps: dict[Block, list[Step]]
    readers: dict[Value, list[Step]]
    roots: dict[Value, Roots]
    costs: dict[Value, int]
    strides: Strides


@dataclass(frozen=True, slots=True)
class _Place:
    """A step, seen from the block a value is defined in; `repeated` when a loop stands between."""

    number: int
    repeated: bool


def plan(function: Function) -> Plan:
    """Decide for a whole function."""
    return _Planner(function).run()


def is_deferred(op: Op) -> bool:
    """Whether an op's tile is computed where it is needed instead of where it stands."""
    tile = len(op.results) == 1 and bool(op.results[0].type.shape)
    pure = op.row.pure and op.row not in (reduction.reduce, product.dot, *LANEWISE)
    return tile and (pure or op.row is memory.load)


class _Planner:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.roots = pointer_roots(function)
        self.steps: dict[Block, list[Step]] = {}
        self.place: dict[Op, tuple[Block, int]] = {}
        self.home: dict[Block, Op] = {}
        self.needs: dict[Value, dict[tuple[Block, int], None]] = {}
        self.forced: set[Value] = set()
        self.deferred: list[Op] = []
        self.costs: dict[Value, int] = {}
        self.strides = Strides()
        self.orientation = Orientation(self.strides, is_deferred)
        self.sums = _sums(function)
        self.added = set(self.sums.values())

    def run(self) -> Plan:
        self._steps_of(self.function.body)
        self._join_reductions()
        for block, steps in self.steps.items():
            for number, step in enumerate(steps):
                for value in self._direct(step):
                    self._need(value, (block, number))
        for op in reversed(self.deferred):
            self._settle(op)
        order = {op: number for number, op in enumerate(self.deferred)}
        for step in (step for steps in self.steps.values() for step in steps):
            step.before.sort(key=lambda value: -1 if value.op is None else order[value.op])
        for block, steps in self.steps.items():
            for number, step in enumerate(steps):
                if step.product is not None:
                    step.product.in_place = self._in_place(step.product, block, number)
        readers = {v: [self.steps[block][n] for block, n in places] for v, places in self.needs.items()}
        return Plan(self.steps, readers, self.roots, self.costs, self.strides)

    # -- steps --------------------------------------------------------------------------------------------------------
    def _steps_of(self, block: Block) -> None:
        steps = self.steps.setdefault(block, [])
        for op in block.ops:
            self.place[op] = (block, len(steps))
            if op in self.added:
                continue
            if op in self.sums or op.row is product.dot:
                steps.append(Step(op, product=self._product(op)))
                continue
            if is_deferred(op):
                self.deferred.append(op)
                self._cost(op)
                continue
            steps.append(Step(op))
            if exchanges.distance_of(op) is not None:
                self.forced.add(next(op.inputs))  # the index is never read
            elif op.row in (*LANEWISE, *ATOMIC, *MESSAGES, *shared.ROWS):
                self.forced.update(op.inputs)
            for inner in op.blocks if op.row in _BLOCKS else ():
                self.home[inner] = op
                self._steps_of(inner)

    def _direct(self, step: Step) -> Iterator[Value]:
        """Values that a step itself reads."""
        if step.product is not None:
            yield from step.product.operands
            return
        for op in (step.op, *step.joined):
            yield from op.inputs

    # -- products -----------------------------------------------------------------------------------------------------
    def _product(self, op: Op) -> Product:
        """What a product, or the sum of a product and a tile, has to read: operands packed, in the sums' dtype."""
        dot = self.sums.get(op, op)
        added = None if dot is op else next(value for value in op.inputs if value.op is not dot)
        a, b, start = dot.operands
        if a is None or b is None:
            raise RuntimeError(f"cpu: dot #{dot.uid} lacks an operand")
        wide = summed_in(dot)
        if wide.kind != dot.attrs["out"].kind:
            start, added = None, added if start is None else start
        down = self.orientation.runs_down(a), self.orientation.runs_down(b) and self._made_beside(b, dot)
        x, y = (self._packed(value, wide, turned, dot) for value, turned in zip((a, b), down, strict=True))
        found = Product(dot, x, y, *down, start, added, op.result)
        self.forced.update(found.operands)
        return found

    def _made_beside(self, value: Value, dot: Op) -> bool:
        """Whether a value is made as often as a product, not once ahead of the loop that the product is in."""
        return value.op is not None and self.place[value.op][0] is self.place[dot][0]

    def _packed(self, value: Value, dtype: DType, turned: bool, dot: Op) -> Value:
        """An operand as it is packed: in the sums' dtype, converted where it is made; transposed if it is `turned`."""
        if turned:
            type = value.type
            order = swapped(len(type.shape))
            type = type.with_shape(tuple(type.shape[axis] for axis in order))
            value = untransposed(value) or self._made(shape.transpose, value, type, {"order": order}, dot)
        if value.type.element is dtype:
            return value
        return self._made(elementwise.cast, value, value.type.with_element(dtype), {"to": dtype}, dot)

    def _made(self, row: OpDef, value: Value, type: Tile, attrs: dict[str, Any], dot: Op) -> Value:
        """The result of a new op on a value, computed in passing at the value's place."""
        op = Op(row, (value,), (type,), attrs, (), dot.uid, dot.span)
        self.place[op] = self.place[dot if value.op is None else value.op]
        self.deferred.append(op)
        self._cost(op)
        return op.result

    def _in_place(self, found: Product, block: Block, number: int) -> bool:
        """Whether the accumulator is a tile of this block with memory of its own that only this step reads."""
        tile = found.accumulator
        if tile is None or tile in (found.a, found.b) or list(self.needs[tile]) != [(block, number)]:
            return False
        if tile.op is None:
            return tile.owner is block and block in self.home and self.home[block].row is control.for_
        return self.place[tile.op][0] is block and tile.op.row is not control.while_

    def _join_reductions(self) -> None:
        """Compute reductions over one shape in the same loops where the later one depends on nothing between."""
        for steps in self.steps.values():
            first: tuple[int, Step] | None = None
            for number, step in enumerate(steps):
                if step.op.row is not reduction.reduce:
                    if step.op.row in REGIONS or step.op.row.effect != "none":
                        first = None
                    continue
                if first is not None and self._joins(step.op, first[1].op, first[0]):
                    first[1].joined.append(step.op)
                else:
                    first = number, step
            joined = {op for step in steps for op in step.joined}
            for step in steps:
                if step.op in joined:
                    step.op = _nothing(step.op)

    def _joins(self, op: Op, first: Op, number: int) -> bool:
        if next(op.inputs).type.shape != next(first.inputs).type.shape:
            return False
        block = self.place[first][0]
        pending, seen = list(op.inputs), set[Value]()
        while pending:
            value = pending.pop()
            if value in seen or value.op is None:
                continue
            seen.add(value)
            if is_deferred(value.op):
                pending += value.op.inputs
            elif self.place[value.op][0] is block and self.place[value.op][1] >= number:
                return False
        return True

    # -- costs --------------------------------------------------------------------------------------------------------
    def _cost(self, op: Op) -> None:
        """Lane operations to compute an element from values in memory."""
        below = sum(self.costs.get(value, 0) for value in op.inputs if value.type.shape)
        if op.row is memory.load:
            own = _LOAD if _steps_by_one(op, self.strides) else _GATHER
        else:
            own = 0 if op.row in VIEWS or op.row is shape.reshape else _COSTS.get(op.row, 1)
        self.costs[op.result] = own + below

    # -- needs --------------------------------------------------------------------------------------------------------
    def _need(self, value: Value, place: tuple[Block, int]) -> None:
        if value.type.shape:
            self.needs.setdefault(value, {})[place] = None

    def _seen_from(self, block: Block, place: tuple[Block, int]) -> _Place:
        """A place as a step of an enclosing block."""
        inside, number = place
        repeated = False
        while inside is not block:
            holder = self.home[inside]
            repeated |= holder.row in _LOOPS
            inside, number = self.place[holder]
        return _Place(number, repeated)

    def _settle(self, op: Op) -> None:
        """With all needs of an op's result known: keep it, or hand its needs down to its operands."""
        value = op.result
        if value not in self.needs:
            return
        block, start = self.place[op]
        places = [self._seen_from(block, place) for place in self.needs[value]]
        kept = self._keep(op, block, start, places)
        own = self.needs[value] if kept is None else {(block, kept): None}
        if op.row is shape.reshape and same_axes(op) is None:
            self.forced.update(op.inputs)
        for operand in op.inputs:
            for place in own:
                self._need(operand, place)

    def _keep(self, op: Op, block: Block, start: int, places: list[_Place]) -> int | None:
        """Decide whether an op's tile goes to memory; gives the step at which it is computed."""
        value = op.result
        first = min(place.number for place in places)
        shared = len({place.number for place in places}) > 1 or any(place.repeated for place in places)
        wanted = value in self.forced or (shared and self.costs[value] > EXPENSIVE)
        if op.row is memory.load:
            hazard = self._hazard(op, block, start, max(place.number for place in places))
            if hazard is not None:
                number, pairs = hazard
                if pairs is None or (wanted and number <= first):
                    early = number if number <= first else first
                    step = self.steps[block][early]
                    ahead = number <= first or value in self.forced
                    (step.before if ahead else step.along).append(value)
                    return early
                if not wanted:
                    self.steps[block][number].copies.append((op, pairs))
                    for operand in op.inputs:
                        self._need(operand, (block, number))
                    return None
        if not wanted:
            return None
        step = self.steps[block][first]
        (step.before if value in self.forced else step.along).append(value)
        return first

    # -- order of memory effects --------------------------------------------------------------------------------------
    def _hazard(self, load: Op, block: Block, start: int, last: int) -> tuple[int, Pairs | None] | None:
        """The first step that may overwrite what a load reads before the load's last use.

        With it the pairs of parameters (read, written) that would have to overlap; None: it cannot be told.
        """
        found: int | None = None
        pairs: set[tuple[int, int]] = set()
        certain = True
        for number in range(start, last + 1):
            for store in _stores(self.steps[block][number].op):
                if number == last and store is self.steps[block][number].op and _same_places(load, store, self.strides):
                    continue
                clash = self._clash(load, store)
                if clash is not None and not clash:
                    continue
                found = number if found is None else found
                certain &= clash is not None
                pairs |= clash or frozenset()
        if found is None:
            return None
        return found, frozenset(pairs) if certain else None

    def _clash(self, load: Op, store: Op) -> Pairs | None:
        """Pairs of parameters through which a load and a store could meet; None where they may be the same."""
        read, written = (self.roots.get(address_of(op)[0]) for op in (load, store))
        if read is None or written is None or read & written:
            return None
        return frozenset((min(a, b), max(a, b)) for a in read for b in written)


def _sums(function: Function) -> dict[Op, Op]:
    """Additions of a tile to a product that nothing else reads: addition to product. They are computed together."""
    uses = Counter(value for op in function.walk() for value in op.inputs)
    found: dict[Op, Op] = {}
    for block in (function.body, *(inner for op in function.walk() for inner in op.blocks)):
        dots = {op.result: op for op in block.ops if op.row is product.dot and op.operand("acc") is None}
        for op in block.ops:
            for value in op.inputs if op.row is elementwise.add else ():
                exact = value in dots and product.accumulator(value.type.dtype) is value.type.dtype
                if exact and uses[value] == 1:
                    found[op] = dots[value]
    return found


def _steps_by_one(op: Op, strides: Strides) -> bool:
    """Whether some axis of a load steps by one or not at all."""
    parts = [value for value in address_of(op) if value.type.shape]
    for axis, length in enumerate(op.result.type.shape):
        steps = [strides.of(value, axis) for value in parts]
        if length > 1 and None not in steps and sum(step or 0 for step in steps) in (0, 1):
            return True
    return op.result.type.elements == 1


def _stores(op: Op) -> Iterator[Op]:
    """The stores that a step performs."""
    if op.row.effect in ("write", "atomic"):
        yield op
    if op.row in REGIONS:
        for block in op.blocks:
            yield from (inner for inner in block.walk() if inner.row.effect in ("write", "atomic"))


def _same_places(load: Op, store: Op, strides: Strides) -> bool:
    """Whether element for element a load and a store touch one place, and no two elements share one."""
    if address_of(load) != address_of(store):
        return False
    parts = [value for value in address_of(store) if value.type.shape]
    long = [axis for axis, n in enumerate(load.result.type.shape) if n > 1]
    if not long:
        return True
    if len(long) > 1:
        return False
    steps = [strides.of(value, long[0]) for value in parts]
    return None not in steps and sum(step or 0 for step in steps) != 0


def _nothing(op: Op) -> Op:
    """A step that does nothing, in the place of one that was joined to another."""
    return Op(shape.constant, (), (), {}, (), op.uid, op.span)
