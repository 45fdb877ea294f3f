"""The plan of one nest: loop order, what its roots need, whether a mask can end the innermost loop, vector width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tinyton_lab.base.dtypes import DType
from tinyton_lab.codegen.cpu import arithmetic, reductions
from tinyton_lab.codegen.cpu.schedule import FIXED, Access, Index, Key, Node, NotUniform, Prefix, Schedule
from tinyton_lab.codegen.cpu.values import Buffer, Values
from tinyton_lab.ir.core import Op, Value
from tinyton_lab.ir.types import Pointer

_LANES_APART = 16  # at most so many lanes where each has an address of its own
CHEAP_NODES, MODERATE_NODES = 12, 28  # up to so many nodes a body is unrolled as below; twice
_SUMS = 8  # independent partial results of a reduction: an addition takes longer than a load
_TURN_BYTES = 128  # of a row, that one turn of a loop without a reduction takes
_STREAM_BITS = 256  # vectors of this width read memory faster than wider ones


@dataclass(frozen=True, slots=True)
class Fill:
    """Write the tile of a value into a buffer."""

    value: Value
    buffer: Buffer
    readers_mask: Value | None = None  # the mask under which alone the tile is read, if there is one


@dataclass(frozen=True, slots=True)
class Store:
    """Write a value to global memory."""

    op: Op


@dataclass(frozen=True, slots=True)
class Reduce:
    """Combine along an axis; results go to buffers, or to registers where they are scalars."""

    op: Op
    buffers: tuple[Buffer, ...] = ()


@dataclass(frozen=True, slots=True)
class Single:
    """Compute one scalar of memory: a load, or the only element of a tile."""

    op: Op


Root = Fill | Store | Reduce | Single


@dataclass(slots=True)
class Planned:
    """A root with what it needs."""

    root: Root
    keys: tuple[Key, ...]
    access: Access | None = None
    beyond: tuple[Key, ...] = ()


class Blueprint:
    """Everything that is decided about a nest before its code is written."""

    def __init__(self, values: Values, shape: tuple[int, ...], roots: Sequence[Root]) -> None:
        self.values, self.shape, self.roots = values, shape, roots
        self.whole: Index = tuple(FIXED if n == 1 else axis for axis, n in enumerate(shape))
        self.planned: list[Planned] = []
        self.clamp: Prefix | None = None
        inner = self._choose_inner()
        axes = [axis for axis, n in enumerate(self.shape) if n > 1 and axis != inner]
        self._plan(tuple(axes) + (() if inner is None else (inner,)))

    @property
    def only_reduces(self) -> bool:
        return all(isinstance(root, Reduce) for root in self.roots)

    # -- planning -----------------------------------------------------------------------------------------------------
    def _choose_inner(self) -> int | None:
        """The axis along which most accesses step by one; the last long one if none does."""
        axes = [axis for axis, n in enumerate(self.shape) if n > 1]
        if not axes:
            return None
        weight = dict.fromkeys(axes, 0)
        for axis in axes:
            trial = Schedule(self.values, (*(other for other in axes if other != axis), axis))
            self._need_roots(trial)
            accesses = [node.access for level in trial.levels for node in level if node.access is not None]
            accesses += [planned.access for planned in self.planned if planned.access is not None]
            weight[axis] = sum(access.contiguous for access in accesses)
            if len(axes) == 1:
                break
        return max(reversed(axes), key=lambda axis: weight[axis])

    def _need_roots(self, schedule: Schedule) -> None:
        """Plan what the roots need, in `schedule`."""
        self.planned = []
        for root in self.roots:
            if isinstance(root, Fill):
                self.planned.append(Planned(root, (schedule.need(root.value, self.whole),)))
            elif isinstance(root, Reduce):
                self.planned.append(Planned(root, tuple(schedule.need(value, self.whole) for value in root.op.inputs)))
            elif isinstance(root, Single):
                self.planned.append(Planned(root, (schedule.single(root.op),)))
            else:
                value = root.op.operand("value")
                keys = () if value is None else (schedule.need(value, self.whole),)
                self.planned.append(Planned(root, keys, schedule.access(root.op, self.whole)))

    def _plan(self, loops: tuple[int, ...]) -> None:
        for candidate in self._clamps(loops):
            schedule = Schedule(self.values, loops, candidate)
            try:
                self.clamp = schedule.prefix(candidate)
                self._need_roots(schedule)
                self._need_beyond(schedule)
            except NotUniform:
                continue
            self.schedule = schedule
            return
        self.clamp, self.schedule = None, Schedule(self.values, loops)
        self._need_roots(self.schedule)

    def _clamps(self, loops: tuple[int, ...]) -> list[Key]:
        """Masks that could end the innermost loop early: those that change within a row."""
        trial = Schedule(self.values, loops)
        inner = trial.inner
        if inner is None:
            return []
        stores = [root.op.operand("mask") for root in self.roots if isinstance(root, Store)]
        if any(mask is None for mask in stores):
            return []
        reduces = [root for root in self.roots if isinstance(root, Reduce)]
        if any(root.op.attrs["axis"] != inner or not reductions.clampable(root.op) for root in reduces):
            return []
        masks = [trial.canonical(mask, self.whole) for mask in stores if mask is not None]
        if not masks:
            self._need_roots(trial)
            accesses = [node.access for level in trial.levels for node in level if node.access is not None]
            masks = [access.mask for access in accesses if access.mask is not None and access.prefix is not None]
        found = [mask for mask in dict.fromkeys(masks) if inner in mask[1] and trial.match_prefix(mask) is not None]
        return found if len(dict.fromkeys(masks)) == len(found) == 1 or not stores else []

    def _need_beyond(self, schedule: Schedule) -> None:
        """Plan the value of the elements that the clamped loop leaves out, for roots that look at them."""
        for planned in self.planned:
            root = planned.root
            if isinstance(root, Reduce) or (isinstance(root, Fill) and not self._only_within(root, schedule)):
                keys = [schedule.beyond(key) for key in planned.keys]
                planned.beyond = tuple(schedule.need(*key) for key in keys)

    def _only_within(self, root: Fill, schedule: Schedule) -> bool:
        """Whether all readers of a tile stop where the clamped loop stops."""
        if root.readers_mask is None or schedule.clamp is None:
            return False
        return schedule.canonical(root.readers_mask, self.whole) == schedule.clamp

    # -- widths -------------------------------------------------------------------------------------------------------
    def width(self, length: int, compact: bool) -> tuple[int, int]:
        """Lanes of a vector (0: scalars) and how many vectors one turn of the loop takes."""
        bits = self.values.code.machine.vector_bits
        if self.values.light and self.only_reduces:
            bits = min(bits, _STREAM_BITS)
        lanes = bits // self._widest()
        while lanes > length:
            lanes //= 2
        if any(access is not None and not access.contiguous for access in self._accesses()):
            lanes, compact = min(lanes, _LANES_APART), True
        unroll = 1 if compact else self._unroll(bits)
        while unroll > 1 and unroll * lanes > length:
            unroll //= 2
        if any(isinstance(root, Reduce) and reductions.identities(root.op) is None for root in self.roots):
            while lanes > 1 and length % lanes:
                lanes //= 2
            while length % (lanes * unroll):
                unroll //= 2
        return (lanes, unroll) if lanes > 1 else (0, 1)

    def _unroll(self, bits: int) -> int:
        nodes = len(self.schedule.levels[-1])
        if nodes <= CHEAP_NODES:
            return _SUMS if self.only_reduces else min(8 * _TURN_BYTES // bits, 4)
        return 2 if nodes <= MODERATE_NODES else 1

    def _widest(self) -> int:
        """Bits of the widest element that fills vectors (64-bit indices do not count: they rarely dominate)."""
        widths = [8]
        for node in self.schedule.levels[-1]:
            value = node.key[0]
            element, stored = value.type.element, value in self.values.buffers or node.access is not None
            if (
                isinstance(element, DType)
                and element.bits > 1
                and (stored or element.bits < 64 or not element.is_integer)
            ):
                widths.append(max(element.bits, 32) if element.kind == "float" else element.bits)
        for planned in self.planned:
            widths += [_bits(key[0].type.element) for key in planned.keys]
        return max(widths)

    def _accesses(self) -> list[Access | None]:
        return [each.access for each in (*self.schedule.levels[-1], *self.planned)]

    def memory_types(self) -> list[str]:
        """LLVM types of the elements that the innermost loop reads or writes as vectors."""
        elements = [node.key[0].type.element for node in self.schedule.levels[-1] if self._touches(node)]
        elements += [key[0].type.element for planned in self.planned for key in planned.keys]
        return [arithmetic.memory_type(element) for element in elements]

    def _touches(self, node: Node) -> bool:
        return node.access is not None or node.key[0] in self.values.buffers


def uid_of(root: Root) -> int:
    if isinstance(root, Fill):
        return 0 if root.value.op is None else root.value.op.uid
    return root.op.uid


def _bits(element: DType | Pointer) -> int:
    return max(element.bits, 32) if isinstance(element, DType) and element.kind == "float" else element.bits
