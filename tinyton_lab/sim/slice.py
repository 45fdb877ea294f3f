"""Why a value is what it is: the recorded steps that led to it, back to arguments. Knows no single instruction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from tinyton_lab.base.diagnostics import error
from tinyton_lab.ptx.syntax import Instruction
from tinyton_lab.record.events import Access, Argument, Step
from tinyton_lab.record.recording import Recording
from tinyton_lab.record.timeline import Timeline, Touch, scope
from tinyton_lab.sim import causes, products
from tinyton_lab.sim.calls import Calls
from tinyton_lab.sim.conditions import Conditions
from tinyton_lab.sim.launch import Launch
from tinyton_lab.sim.module import load
from tinyton_lab.sim.moments import Cause as Wanted
from tinyton_lab.sim.moments import Memory, Moment, Register, Unknown, moment

_SHOWN, _DEEP = 60, 40
_FLOATS = {"f16": "<f2", "f32": "<f4", "f64": "<f8"}


@dataclass(frozen=True, slots=True)
class Cause:
    """One value of a slice: `name` in `lane` is `value`, made by `step` (None: not by a recorded step).

    `place` is the source the step came from; `causes` are numbers of other causes in the slice, and `ways` says of each
    how it led here: as a ``value``, an ``address`` (or the lane that a shuffle reads), a ``guard``, or the condition of
    a ``branch``.
    """

    name: str
    lane: int
    value: Any
    step: Step | None
    place: str
    causes: tuple[int, ...]
    ways: tuple[str, ...] = ()
    type: str = ""
    """The PTX type that a register was read as, where one is known: registers of plain bits do not tell."""

    def __str__(self) -> str:
        value = "" if self.value is None else f" = {_as_float(self.value, _FLOATS.get(self.type, ''))}"
        if self.step is None:
            return f"{self.name}{value}"
        where = f"  ({self.place})" if self.place else f"  (line {self.step.line})"
        return f"{self.name} lane {self.lane}{value}  <- step {self.step.index}: {self.step.text}{where}"


@dataclass(frozen=True, slots=True)
class Slice:
    """The causes of a value, the value itself first; `complete` is False where the limit cut it off."""

    causes: tuple[Cause, ...]
    complete: bool

    def leaves(self) -> list[Cause]:
        """Where the value came from in the end: arguments, parameters, constants, special registers."""
        return [cause for cause in self.causes if not cause.causes]

    def steps(self) -> list[Step]:
        """The steps that took part, in execution order."""
        found = {cause.step.index: cause.step for cause in self.causes if cause.step is not None}
        return [found[index] for index in sorted(found)]

    def lines(self) -> list[int]:
        """The PTX lines that took part."""
        return sorted({step.line for step in self.steps()})

    def __repr__(self) -> str:
        text: list[str] = []
        stack, seen = [(0, 0, "value")], set[int]()
        while stack and len(text) < _SHOWN:
            number, depth, way = stack.pop()
            cause = self.causes[number]
            again = number in seen and bool(cause.causes)
            led = "" if way == "value" else f"{way}: "
            text.append("  " * min(depth, _DEEP) + led + str(cause) + ("  (see above)" if again else ""))
            if not again:
                stack += [(each, depth + 1, how) for each, how in zip(reversed(cause.causes), reversed(cause.ways))]
            seen.add(number)
        return "\n".join([*text, "..."] if stack or not self.complete else text)


def why(
    source: Launch | Recording,
    name: str,
    index: Any,
    most: int = 2000,
    addresses: bool = False,
    guards: bool = False,
    branches: bool = False,
) -> Slice:
    """Follow an element of an argument back through stores, registers, shuffles, shared memory, matrices and atomics.

    `index` is the element's index (a tuple, or one number in row-major order); at most `most` values are followed. A
    NaN is followed through the operands that are NaN, where there are any. With `addresses` the slice has what
    addresses and the lanes of shuffles came from too, with `guards` the predicates of instructions, with `branches`
    the conditions of the branches that led to them. Raises TT6061 when no recorded step wrote the element.
    """
    recording = source if isinstance(source, Recording) else source.recording
    if recording is None:
        raise error("TT6061", None, what=f"{name}[{index}]")
    argument = next((argument for argument in recording.arguments if argument.name == name), None)
    offset = None if argument is None else _offset(argument, index)
    if argument is None or offset is None:
        raise error("TT6061", None, what=f"{name}[{index}]")
    followed = {"address": addresses, "guard": guards, "branch": branches}
    return _Tracer(recording, most, followed).trace(argument, offset, f"{name}[{index}]")


def _offset(argument: Argument, index: Any) -> int | None:
    """The byte offset of an element; None outside the array."""
    if not isinstance(index, tuple):
        size = int(np.prod(argument.shape))
        if not 0 <= int(index) < size:
            return None
        index = np.unravel_index(int(index), argument.shape)
    parts = [int(i) for i in index]
    inside = len(parts) == len(argument.shape) and all(0 <= i < n for i, n in zip(parts, argument.shape))
    return sum(i * stride for i, stride in zip(parts, argument.strides)) if inside else None


class _Tracer:
    """Mutable: the causes found so far, by what they are."""

    def __init__(self, recording: Recording, most: int, followed: dict[str, bool]) -> None:
        self.recording, self.most, self.followed = recording, most, followed
        self.timeline: Timeline = recording.timeline()
        self.arguments = {argument.name: argument for argument in recording.arguments}
        self.numbers: dict[Any, int] = {}
        self.found: list[Cause] = []
        self.poisoned: set[int] = set()
        self.wanted: dict[int, list[tuple[str, Wanted]]] = {}
        self.queue: dict[int, None] = {}
        module = load(recording.ptx)
        every = [details for code in module.program(recording.kernel).code for details in code.details]
        self.instructions: dict[tuple[int, str], Instruction] = {(d.line, d.text): d.instruction for d in every}
        self.conditions = Conditions(module.syntax, self.timeline, self.instructions)
        self.calls = Calls(module.syntax, self.timeline, self._instruction)

    def _instruction(self, place: int) -> Instruction | None:
        step = self.timeline.steps[place]
        return self.instructions.get((step.line, step.text))

    def trace(self, argument: Argument, offset: int, shown: str) -> Slice:
        writer = self.timeline.last_store((argument.name,), offset, len(self.timeline.steps))
        if writer is None:
            raise error("TT6061", None, what=shown)
        size = np.dtype(argument.dtype).itemsize
        self._stored(writer, offset, size, argument.dtype)
        self.poisoned = {0} if products.is_nan(self.found[0].value, "") else set()
        self.queue[0] = None
        waiting = [0]
        done = 0
        while done < len(waiting) and len(self.queue) < self.most:
            self._follow(waiting[done])
            waiting += islice(self.queue, len(waiting), None)
            done += 1
        return self._slice(list(self.queue), done == len(self.queue))

    def _slice(self, kept: list[int], complete: bool) -> Slice:
        """Without the values that were looked at but led nowhere."""
        numbers = {number: n for n, number in enumerate(kept)}
        found = [self.found[number] for number in kept]
        return Slice(tuple(_renumbered(cause, numbers) for cause in found), complete)

    def _follow(self, number: int) -> None:
        cause = self.found[number]
        led = [(way, n, one) for way, one in self.wanted.get(number, []) for n in self._resolve(one, cause)]
        each = [*dict.fromkeys(n for way, n, _ in led if way == "value")]
        wrong = {n for way, n, one in led if way == "value" and self._is_nan(n, one)}
        if number in self.poisoned:
            each = [n for n in each if n in wrong] or each
            # A packed register does not tell what is in it.
            self.poisoned.update(n for n in each if not isinstance(self.found[n].value, float))
        self.poisoned.update(n for n in each if n in wrong)
        ways = dict.fromkeys(each, "value")
        for way, n, _ in led:
            if way != "value":
                ways.setdefault(n, way)
        self.found[number] = replace(cause, causes=tuple(ways), ways=tuple(ways.values()))
        self.queue.update(dict.fromkeys(ways))

    def _is_nan(self, number: int, wanted: Wanted) -> bool:
        """Whether a value is NaN, also one in bits that were read as a float."""
        value = self.found[number].value
        return products.is_nan(value, wanted.type if isinstance(wanted, Register) else "")

    def _resolve(self, wanted: Wanted, reader: Cause) -> list[int]:
        """The causes that something wanted is: made on first sight."""
        if isinstance(wanted, Unknown):
            return [self._leaf(wanted.text, None)]
        if reader.step is None:
            raise RuntimeError("slice: a leaf has no causes")
        if isinstance(wanted, Register):
            return [self._register(wanted, reader.step)]
        return self._memory(wanted, reader)

    def _ways(self, now: Moment | None, values: list[Wanted], lanes: list[int]) -> list[tuple[str, Wanted]]:
        """What led to a result, each with its way; `lanes` are those whose addresses count, the result's first."""
        found: list[tuple[str, Wanted]] = [("value", each) for each in values]
        if now is None:
            return found
        if self.followed["address"]:
            found += [("address", each) for each in causes.of_address(now, lanes)]
        if self.followed["guard"] and now.instruction.guard:
            found.append(("guard", now.register(now.instruction.guard, lanes[0])))
        condition = self.conditions.of(now.place, lanes[0]) if self.followed["branch"] else None
        return found if condition is None else [*found, ("branch", condition)]

    def _add(self, key: Any, cause: Cause, wanted: list[tuple[str, Wanted]]) -> int:
        number = self.numbers[key] = len(self.found)
        self.found.append(cause)
        self.wanted[number] = wanted
        return number

    def _leaf(self, name: str, value: Any) -> int:
        key = (name, repr(value))
        return self.numbers[key] if key in self.numbers else self._add(key, Cause(name, -1, value, None, "", ()), [])

    def _register(self, wanted: Register, reader: Step) -> int:
        warp = wanted.warp if wanted.warp >= 0 else reader.warp
        place = self.timeline.writer_place(wanted.name, reader.cta, warp, wanted.lane, wanted.step)
        if place is None:
            return self._leaf(f"{wanted.name} lane {wanted.lane} (never written)", None)
        key = (place, wanted.lane, wanted.name, wanted.first, wanted.size)
        if key in self.numbers:
            return self.numbers[key]
        step = self.timeline.steps[place]
        now = moment(self.timeline, place, self.instructions)
        now = None if now is None else now._replace(first=wanted.first, size=wanted.size)
        follow = causes.of_register(now, wanted.name, wanted.lane) if now else []
        passed = self.calls.of_parameter(now, wanted.name, wanted.lane) if now and step.access is None else None
        if passed is not None:
            follow = list[causes.Cause]([passed])
        value = wanted.part_of(self.timeline.value(wanted.name, step.cta, step.warp, wanted.lane, place))
        source = self.recording.places.get(step.line, "")
        shown = f"{wanted.name} bytes {wanted.first}-{wanted.first + wanted.size - 1}" if wanted.size else wanted.name
        lanes = [wanted.lane, *(causes.address_lanes(now, follow) if now else ())]
        cause = Cause(shown, wanted.lane, value, step, source, (), type="" if wanted.size else wanted.type)
        return self._add(key, cause, self._ways(now, follow, lanes))

    def _memory(self, wanted: Memory, reader: Cause) -> list[int]:
        step = reader.step
        if step is None:
            raise RuntimeError("slice: a leaf has no causes")
        where = scope(wanted.space, wanted.name, step.cta, step.warp, wanted.lane)
        writers: dict[Touch, list[int]] = {}
        unwritten: dict[str, None] = {}
        for byte in range(wanted.offset, wanted.offset + wanted.size):
            writer = self.timeline.last_store(where, byte, wanted.step)
            if writer is not None:
                writers.setdefault(writer, []).append(byte)
            elif not unwritten or wanted.name in self.arguments:
                unwritten[self._place_name(wanted.name, byte)] = None
        alone = len(writers) + len(unwritten) == 1
        value = reader.value if alone and wanted.carried else None
        argument = self.arguments.get(wanted.name)
        if argument is not None and np.dtype(argument.dtype).itemsize == wanted.size:
            value = _as_float(value, argument.dtype)
        found = [self._leaf(place, value) for place in unwritten]
        dtype = _dtype_of(reader.value, wanted.size)
        spans = [(writer, places[0], places[-1] - places[0] + 1) for writer, places in writers.items()]
        return found + [self._stored(writer, first, size, dtype) for writer, first, size in spans]

    def _stored(self, writer: Touch, offset: int, size: int, dtype: str) -> int:
        key = (writer, offset, size)
        if key in self.numbers:
            return self.numbers[key]
        place, lane = writer.step, writer.lane
        step = self.timeline.steps[place]
        target = step.movements[writer.part].target if writer.run >= 0 else _target(step.accesses[writer.part])
        value = self._content(step, target, offset, size, dtype, writer)
        now = moment(self.timeline, place, self.instructions, writer.part, writer.run)
        follow = causes.of_memory(now, lane, offset, size) if now else []
        name = self._place_name(target[1], offset)
        source = self.recording.places.get(step.line, "")
        return self._add(key, Cause(name, lane, value, step, source, ()), self._ways(now, follow, [lane]))

    def _content(self, step: Step, target: tuple[str, str], offset: int, size: int, dtype: str, writer: Touch) -> Any:
        """What stood at a place after a step stored there; None where it is not known."""
        if np.dtype(dtype).itemsize != size and size not in (1, 2, 4, 8):
            return None
        kind = dtype if np.dtype(dtype).itemsize == size else f"<u{size}"
        value = self.timeline.memory(target[1], offset, writer.step, kind, target[0], step.cta, step.warp, writer.lane)
        return None if value is None else value.item()

    def _place_name(self, name: str, offset: int) -> str:
        """An element of an argument by its index, else a byte."""
        argument = self.arguments.get(name)
        if argument is None or not argument.shape:
            return f"{name} byte {offset}"
        rest, index = offset, [0] * len(argument.shape)
        for axis in sorted(range(len(index)), key=lambda axis: -argument.strides[axis]):
            if argument.strides[axis] <= 0:
                return f"{name} byte {offset}"
            index[axis], rest = divmod(rest, argument.strides[axis])
        return f"{name}[{', '.join(map(str, index))}]"


def _target(access: Access) -> tuple[str, str]:
    return access.space, access.name


def _renumbered(cause: Cause, numbers: dict[int, int]) -> Cause:
    """Without the causes that were not kept."""
    kept = [(numbers[n], way) for n, way in zip(cause.causes, cause.ways) if n in numbers]
    return replace(cause, causes=tuple(n for n, _ in kept), ways=tuple(way for _, way in kept))


def _as_float(value: Any, dtype: str) -> Any:
    """The bits of a float as the number that they are; any other value as it is."""
    if not isinstance(value, int) or not dtype or np.dtype(dtype).kind != "f" or value < 0:
        return value
    bits = np.dtype(dtype).itemsize
    return np.array(value, f"<u{bits}").view(dtype).item() if value >> 8 * bits == 0 else value


def _dtype_of(value: Any, size: int) -> str:
    return (
        f"<f{size}" if isinstance(value, float) and size in (2, 4, 8) else f"<u{size}" if size in (1, 2, 4, 8) else "u1"
    )
