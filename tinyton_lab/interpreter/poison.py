"""Finds whether a launch depends on elements that masks turned off: it runs with 0 there, and again with poison."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from tinyton_lab.base.diagnostics import Note, TinytonError, error
from tinyton_lab.interpreter.machine import NUMBER, Access, Frame, Interpreter, storage, tiled
from tinyton_lab.ir.core import Block, Function, Op
from tinyton_lab.ops import atomic, control, memory, message

Array = Any
Poison = Callable[[np.dtype[Any]], Any]
Witness = Callable[[Op, Frame, dict[str, Array]], None]

READS = (memory.load, atomic.atomic, atomic.compare_exchange)
"""Rows whose results hold nothing of memory where the mask is off."""
SEEN: dict[Any, dict[str, str]] = {
    memory.load: {},
    memory.store: {"value": "the value stored"},
    atomic.atomic: {"value": "the operand of an atomic"},
    atomic.compare_exchange: {"expected": "the value expected", "value": "the operand of an atomic"},
    control.if_: {"condition": "the branch taken"},
    control.for_: {"lower": "the range of a loop", "upper": "the range of a loop", "step": "the range of a loop"},
    control.condition: {"test": "how often a loop runs"},
    message.check: {"condition": "an assertion"},
    message.print_: {"value": "what is printed"},
}
"""What others can see of an op, besides where it accesses memory and where its mask is on."""


def run(function: Function, grid: tuple[int, int, int], arguments: Sequence[Any]) -> None:
    """Execute `function` as `interpreter.run` does; raise TT4015 if it matters what masked-off elements hold.

    `function` is the front end's output: passes may rely on zeros. Memory is left as the first run leaves it, and so is
    what it prints.
    """
    before = _Snapshot(World(function, grid, arguments))
    seen: list[bytes] = []
    first = World(function, grid, arguments, witness=lambda *event: seen.append(_digest(*event)))
    first.complete()
    after = _Snapshot(first)

    def differs(poison: Poison, poisoned: Collection[int] | None = None) -> Difference | None:
        """Run again with poison from some reads (None: from all): the first event that is not as it was."""
        before.restore()
        steps = iter(seen)

        def compare(op: Op, frame: Frame, arrays: dict[str, Array]) -> None:
            if next(steps, None) != _digest(op, frame, arrays):
                raise _Found(op, frame, arrays)

        world = World(function, grid, arguments, compare, poison, poisoned, silent=True)
        try:
            world.complete()
        except _Found as found:
            return Difference(found, world, sum(1 for _ in steps))
        return None

    try:
        for poison in (not_a_number, as_great_as_can_be):
            found = differs(poison)
            if found is None:
                continue
            reads = [op for op in function.walk() if op.row in READS]
            culprit = next((op for op in reads if differs(poison, {op.uid}) is not None), None)
            before.restore()
            raise found.told(_replayed(function, grid, arguments, len(seen) - found.left), culprit)
    finally:
        after.restore()


class World(Interpreter):
    """An interpreter that tells a `witness` what others can see of each op, before it happens.

    Masked-off results of the reads numbered in `poisoned` (None: of all) are what `poison` gives for their dtype; a
    `silent` one prints nothing.
    """

    def __init__(
        self, function: Function, grid: tuple[int, int, int], arguments: Sequence[Any],
        witness: Witness | None = None, poison: Poison | None = None, poisoned: Collection[int] | None = None,
        silent: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(function, grid, arguments)
        self.witness, self.poison, self.poisoned, self.silent = witness, poison, poisoned, silent

    def complete(self) -> None:
        with np.errstate(all="ignore"):
            for first in range(0, self.programs, self.batch):
                self.run(first, min(first + self.batch, self.programs))

    def op(self, op: Op, frame: Frame) -> None:
        self._tell(op, frame)
        if self.silent and op.row is message.print_:
            return
        super().op(op, frame)
        if self.poison and op.row in READS and (self.poisoned is None or op.uid in self.poisoned):
            self._spoil(op, frame, self.poison(storage(op.result.type)))

    def block(self, block: Block, frame: Frame, args: Sequence[Array] = ()) -> list[Array]:
        results = super().block(block, frame, args)
        if block.ops and block.ops[-1].row is control.condition and self.witness:
            self.witness(block.ops[-1], frame, {"test": results[0]})
        return results

    def _tell(self, op: Op, frame: Frame) -> None:
        if self.witness is None or op.row not in SEEN:
            return
        arrays: dict[str, Array] = {}
        mask = _mask(op, frame)
        if op.row in READS or op.row is memory.store:
            access = Access(self, op, frame)
            arrays["mask"] = np.broadcast_to(True if mask is None else mask, access.shape)
            addresses = np.zeros(access.shape, np.int64)
            addresses[arrays["mask"]] = access.chosen
            arrays["address"] = addresses
        for role in SEEN[op.row]:
            value = op.operand(role)
            if value is not None:
                array = tiled(frame.get(value), value.type.shape)
                arrays[role] = array if mask is None else np.where(mask, array, np.zeros((), array.dtype))
        self.witness(op, frame, arrays)

    def _spoil(self, op: Op, frame: Frame, poison: Any) -> None:
        mask = _mask(op, frame)
        if mask is None or (op.row is memory.load and op.operand("other") is not None):
            return
        result = np.array(frame.values[op.result])
        result[~np.broadcast_to(mask, result.shape)] = poison
        frame.values[op.result] = result


def not_a_number(dtype: np.dtype[Any]) -> Any:
    """NaN, which sums keep and comparisons hide; for integers the least, for booleans True.

    >>> not_a_number(np.dtype(np.float32)), not_a_number(np.dtype(np.int8)), not_a_number(np.dtype(bool))
    (np.float32(nan), np.int8(-128), np.True_)
    """
    return _element(dtype, np.nan) if dtype.kind not in "iu" else dtype.type(np.iinfo(dtype).min or 1)


def as_great_as_can_be(dtype: np.dtype[Any]) -> Any:
    """Infinity or the greatest integer, which comparisons and indices show; for booleans True.

    >>> as_great_as_can_be(np.dtype(np.float16)), as_great_as_can_be(np.dtype(np.uint8))
    (np.float16(inf), np.uint8(255))
    """
    return _element(dtype, np.inf) if dtype.kind not in "iu" else dtype.type(np.iinfo(dtype).max)


def _element(dtype: np.dtype[Any], value: float) -> Any:
    return np.array(value, np.float32).astype(dtype)[()]


class Difference:
    """The first event that poison changed: what was to happen, in which world, and how many events were `left`."""

    def __init__(self, found: _Found, world: World, left: int) -> None:
        self.op, self.frame, self.arrays, self.world, self.left = found.op, found.frame, found.arrays, world, left

    def told(self, usual: dict[str, Array], culprit: Op | None) -> TinytonError:
        """The fault, with the first element whose arrays differ from the `usual` ones."""
        name, place = self._first(usual)
        numbers = np.broadcast_to(self.frame.get(NUMBER), (self.frame.count,))
        program = self.world.coordinates(int(numbers[place[0] if place[0] < len(numbers) else 0]))
        what = {"mask": "the mask of an access", "address": "the address of an access"} | SEEN[self.op.row]
        index = f" in element {list(place[1:])}" if len(place) > 1 else ""
        notes = () if culprit is None or culprit.span is None else (Note("it comes from here", culprit.span),)
        return error("TT4015", self.op.span, notes, what=what[name], index=index, program=program)

    def _first(self, usual: dict[str, Array]) -> tuple[str, tuple[int, ...]]:
        for name, array in self.arrays.items():
            wrong = np.argwhere(_bits(array) != _bits(usual[name]))
            if len(wrong):
                return name, tuple(int(each) for each in wrong[0][: array.ndim])
        raise RuntimeError("interpreter: poison changed an event and none of its arrays")


class _Found(Exception):
    def __init__(self, op: Op, frame: Frame, arrays: dict[str, Array]) -> None:
        super().__init__(op, frame, arrays)
        self.op, self.frame, self.arrays = op, frame, arrays


class _Snapshot:
    """The bytes of all arguments of a launch."""

    def __init__(self, world: World) -> None:
        flats = [(each, each.flat(np.dtype(np.uint8))[1]) for each in world.buffers.values() if each.first < each.last]
        self.kept = [(each, flat, flat.copy()) for each, flat in flats]

    def restore(self) -> None:
        for _, flat, bytes_ in self.kept:
            flat[:] = bytes_


def _replayed(
    function: Function, grid: tuple[int, int, int], arguments: Sequence[Any], number: int
) -> dict[str, Array]:
    """The arrays of an event of the run without poison, by its number from 1."""
    count = 0

    def stop(op: Op, frame: Frame, arrays: dict[str, Array]) -> None:
        nonlocal count
        count += 1
        if count == number:
            raise _Found(op, frame, arrays)

    try:
        World(function, grid, arguments, stop, silent=True).complete()
    except _Found as found:
        return found.arrays
    raise RuntimeError("interpreter: a launch does not repeat itself")


def _mask(op: Op, frame: Frame) -> Array | None:
    masked = any(role.name == "mask" for role in op.row.roles)
    value = op.operand("mask") if masked else None
    return None if value is None else tiled(frame.get(value), value.type.shape)


def _bits(array: Array) -> Array:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def _digest(op: Op, frame: Frame, arrays: dict[str, Array]) -> bytes:
    digest = hashlib.blake2b(str(op.uid).encode(), digest_size=16)
    for array in arrays.values():
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()
