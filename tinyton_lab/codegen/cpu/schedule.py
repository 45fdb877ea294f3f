"""Which values a loop nest must compute, for which index, at which loop level: the plan that `nests.py` writes out.

A key is a value with an index: per axis of its tile a loop of the nest, `FIXED` (element 0) or `BEYOND` (any element
past the end of a clamped loop). Views (splat, expand, broadcast, transpose) are resolved into the index.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tinyton_lab.base.dtypes import DType
from tinyton_lab.codegen.cpu.strides import constant_of, operand_axis
from tinyton_lab.codegen.cpu.values import Values
from tinyton_lab.ir.core import Op, Value
from tinyton_lab.ops import elementwise, memory, shape

FIXED, BEYOND = -1, -2
Index = tuple[int, ...]
Key = tuple[Value, Index]
VIEWS = (shape.splat, shape.expand, shape.broadcast, shape.transpose)


class NotUniform(Exception):
    """Raised while planning: the elements past a clamped loop's end are not all the same."""


@dataclass(frozen=True, slots=True)
class Below:
    """Part of a mask that holds for the first elements of a row only: ``start + i < bound``, plus `extra` of them."""

    start: Key
    bound: Key
    extra: int
    signed: bool


@dataclass(frozen=True, slots=True)
class Prefix:
    """A mask that turns on the first elements of each row: where all `uniform` hold, as many as all `below` allow."""

    uniform: tuple[Key, ...] = ()
    below: tuple[Below, ...] = ()


@dataclass(slots=True)
class Access:
    """A load or store in a nest.

    `row` is its address for element 0 of a row if it steps by one along the innermost loop (then `contiguous`), else
    the address of each element. `mask` is None where everything in the loop is on; `prefix` describes the mask if it
    has that form; `other` the value of masked-off elements.
    """

    op: Op
    index: Index
    contiguous: bool
    pointer: Key
    distance: Key | None
    mask: Key | None
    prefix: Prefix | None
    other: Key | None
    covered: bool


@dataclass(slots=True)
class Node:
    """One value to compute: `operands` are the keys it needs; `access` describes a load."""

    key: Key
    level: int
    operands: tuple[Key, ...] = ()
    access: Access | None = None


@dataclass(slots=True)
class Schedule:
    """The nodes of a nest in order, per loop level (the last is the innermost; `outside` needs no loop)."""

    values: Values
    axes: tuple[int, ...]  # loops from the outside in
    clamp: Key | None = None
    outside: list[Node] = field(default_factory=list[Node])
    levels: list[list[Node]] = field(default_factory=list[list[Node]])
    seen: dict[Key, Node] = field(default_factory=dict[Key, Node])
    decided: tuple[Key, ...] = ()  # the mask that ends the innermost loop: on within it, off beyond

    def __post_init__(self) -> None:
        self.levels = [[] for _ in self.axes]
        if self.clamp is not None:
            self.decided = self.clamp, self.beyond(self.clamp)

    @property
    def inner(self) -> int | None:
        return self.axes[-1] if self.axes else None

    # -- keys ---------------------------------------------------------------------------------------------------------
    def canonical(self, value: Value, index: Index) -> Key:
        """Follow views down to what has to be computed."""
        while True:
            index = tuple(FIXED if n == 1 else axis for axis, n in zip(index, value.type.shape))
            op = value.op
            if value in self.values.buffers or op is None or not value.type.shape:
                return value, index
            source = op.operands[0] if op.operands else None
            if source is None or not self._is_view(op):
                if op.row is shape.reshape and source in self.values.buffers:
                    self.values.buffers[value] = self.values.buffers[source].reshaped(value.type.shape)
                return value, index
            value, index = source, view_index(op, index)

    def _is_view(self, op: Op) -> bool:
        return op.row in VIEWS or (op.row is shape.reshape and same_axes(op) is not None)

    def level(self, index: Index) -> int:
        """The innermost loop an index depends on; -1 for none."""
        return max((self.axes.index(axis) for axis in index if axis >= 0), default=-1)

    def fixed(self, key: Key) -> Key:
        """The same value for element 0 of the innermost loop."""
        value, index = key
        return self.canonical(value, tuple(FIXED if axis == self.inner else axis for axis in index))

    def beyond(self, key: Key) -> Key:
        value, index = key
        return self.canonical(value, tuple(BEYOND if axis == self.inner else axis for axis in index))

    def step(self, key: Key) -> int | None:
        """How the value steps along the innermost loop."""
        value, index = key
        if self.inner not in index:
            return 0
        if value in self.values.buffers:
            return None
        return self.values.strides.of(value, index.index(self.inner))

    # -- needs --------------------------------------------------------------------------------------------------------
    def need(self, value: Value, index: Index) -> Key:
        """Plan to compute a value for an index; gives its canonical key."""
        key = self.canonical(value, index)
        pending = [key]
        while pending:
            missing = self._missing(pending[-1])
            if missing:
                pending += reversed(missing)  # the first operand first, as the other engines have it
            else:
                self._plan_node(pending.pop())
        return key

    def _missing(self, key: Key) -> list[Key]:
        """Operands of an elementwise op that are not planned yet: long chains are walked without recursion."""
        value, index = key
        if key in self.seen or value in self.values.buffers or value.op is None or not value.op.row.elementwise:
            return []
        if not value.type.shape or key in self.decided:
            return []
        keys = [self.canonical(operand, index) for operand in value.op.inputs]
        return [each for each in keys if each not in self.seen]

    def _plan_node(self, key: Key) -> None:
        if key in self.seen:
            return
        value, index = key
        node = Node(key, self.level(index))
        op = value.op
        if value in self.values.buffers and BEYOND in index:
            if self.clamp is None or self.values.ends.get(value) is not self.clamp[0]:
                raise NotUniform
        elif value in self.values.buffers or not value.type.shape or op is None:
            pass
        elif key in self.decided:
            pass
        elif op.row is memory.load:
            if BEYOND in index and (replaced := self._beyond_load(op, index)) is not None:
                node.operands = replaced
            else:
                self._plan_load(node, op, index)
        elif op.row.elementwise:
            node.operands = tuple(self.need(operand, index) for operand in op.inputs)
        elif op.row is shape.range_:
            if BEYOND in index:
                raise NotUniform
        elif op.row is not shape.constant:
            raise RuntimeError(f"cpu: {op.row.name} #{op.uid} was not materialised")
        self._add(node)

    def single(self, op: Op) -> Key:
        """Plan a scalar load, or the only element of a tile."""
        if op.row is not memory.load:
            (source,) = op.inputs
            return self.need(source, (FIXED,) * source.type.rank)
        node = Node((op.result, ()), -1)
        self._plan_load(node, op, ())
        self._add(node)
        return node.key

    def _add(self, node: Node) -> None:
        self.seen[node.key] = node
        (self.outside if node.level < 0 else self.levels[node.level]).append(node)

    def _beyond_load(self, op: Op, index: Index) -> tuple[Key, ...] | None:
        """Past the clamp a load under the clamp's mask gives `other`, or zero (no operand)."""
        mask, other = op.operand("mask"), op.operand("other")
        if mask is None or self.clamp is None or self.canonical(mask, index) != self.beyond(self.clamp):
            raise NotUniform
        return () if other is None else (self.need(other, index),)

    def _plan_load(self, node: Node, op: Op, index: Index) -> None:
        if BEYOND in index:
            raise NotUniform
        node.access = self.access(op, index)
        unmasked = op.operand("mask") is None
        if self.inner in index and unmasked and self._address_step(op, index) == 0:
            node.level = self.level(tuple(axis for axis in index if axis != self.inner))
            node.access = self.access(op, tuple(FIXED if axis == self.inner else axis for axis in index))
        node.operands = access_keys(node.access)

    def _address_step(self, op: Op, index: Index) -> int | None:
        """Elements between the addresses of neighbours along the innermost loop."""
        steps = [self.step(self.canonical(value, index)) for value in address_of(op) if value.type.shape]
        return None if any(step is None for step in steps) else sum(step or 0 for step in steps)

    def access(self, op: Op, index: Index) -> Access:
        """Plan a load or store; its keys are needed from here on."""
        contiguous = self.inner in index and self._address_step(op, index) == 1
        contiguous = contiguous and (op not in self.values.copies or index[-1] == self.inner)  # copies are row-major
        at = tuple(FIXED if axis == self.inner else axis for axis in index) if contiguous else index
        parts = [self.need(value, at if value.type.shape else ()) for value in address_of(op)]
        mask, covered, prefix, other = op.operand("mask"), False, None, op.operand("other") if _loads(op) else None
        mask_key = None
        if mask is not None and constant_of(mask) != 1:
            mask_key = self.canonical(mask, index)
            covered = mask_key == self.clamp
            prefix = self.prefix(mask_key) if contiguous and not covered else None
            mask_key = None if covered else self.need(mask, index)
        other_key = self.need(other, index) if other is not None and mask_key is not None else None
        distance = parts[1] if len(parts) > 1 else None
        return Access(op, index, contiguous, parts[0], distance, mask_key, prefix, other_key, covered)

    # -- masks --------------------------------------------------------------------------------------------------------
    def prefix(self, key: Key) -> Prefix | None:
        """Read a mask as one that turns on the first elements of each row, needing what its count is made of."""
        found = self.match_prefix(key)
        if found is not None:
            for wanted in (*found.uniform, *(k for part in found.below for k in (part.start, part.bound))):
                self.need(*wanted)
        return found

    def match_prefix(self, key: Key) -> Prefix | None:
        value, index = key
        op = value.op
        if self.inner not in index or self.step(key) == 0:
            return Prefix((self.fixed(key),))
        if op is None or value in self.values.buffers:
            return None
        if op.row is elementwise.and_:
            parts = [self.match_prefix(self.canonical(operand, index)) for operand in op.inputs]
            if parts[0] is None or parts[1] is None:
                return None
            return Prefix(parts[0].uniform + parts[1].uniform, parts[0].below + parts[1].below)
        return self._match_below(op, index)

    def _match_below(self, op: Op, index: Index) -> Prefix | None:
        if op.row not in _COMPARISONS:
            return None
        swapped, extra = _COMPARISONS[op.row]
        operands = list(op.inputs)
        start, bound = (self.canonical(value, index) for value in (reversed(operands) if swapped else operands))
        element = operands[0].type.element
        if not isinstance(element, DType) or not element.is_integer:
            return None
        if self.step(start) != 1 or self.step(bound) != 0:
            return None
        return Prefix((), (Below(self.fixed(start), self.fixed(bound), extra, element.signed),))


_COMPARISONS = {
    elementwise.lt: (False, 0),
    elementwise.le: (False, 1),
    elementwise.gt: (True, 0),
    elementwise.ge: (True, 1),
}


def _loads(op: Op) -> bool:
    return op.row is memory.load


def address_of(op: Op) -> list[Value]:
    """The pointer of an access, and its distance where pointers are split."""
    return [value for role in ("pointer", "distance") if (value := op.operand(role)) is not None]


def access_keys(access: Access) -> tuple[Key, ...]:
    parts = (access.pointer, access.distance, access.mask, access.other)
    return tuple(key for key in parts if key is not None)


def view_index(op: Op, index: Index) -> Index:
    """The index of a view's operand for an index of its result."""
    (source,) = op.operands
    if source is None or op.row is shape.splat:
        return ()
    if op.row is shape.reshape:
        pairs = same_axes(op)
        found = [FIXED] * source.type.rank
        for inner, outer in pairs or ():
            found[inner] = index[outer]
        return tuple(found)
    found = [FIXED] * source.type.rank
    for axis in range(len(index)):
        at = operand_axis(op, axis)
        if at is not None and source.type.shape[at] > 1:
            found[at] = index[axis]
    return tuple(found)


def same_axes(op: Op) -> list[tuple[int, int]] | None:
    """Pairs of axes (operand, result) of a reshape that only adds or drops axes of length 1; else None."""
    (source,) = op.operands
    if source is None:
        return None
    inside = [axis for axis, n in enumerate(source.type.shape) if n > 1]
    outside = [axis for axis, n in enumerate(op.result.type.shape) if n > 1]
    lengths = [source.type.shape[axis] for axis in inside]
    return list(zip(inside, outside)) if lengths == [op.result.type.shape[axis] for axis in outside] else None
