"""Why a value is what it is: the recorded steps that led to it, back to arguments. Knows no single instruction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from tinyton_lab.base.diagnostics import error
from tinyton_lab.ptx.syntax import Instruction
from tinyton_lab.record.events import Argument, Step
from tinyton_lab.record.recording import Recording
from tinyton_lab.record.timeline import Timeline, scope
from tinyton_lab.sim import causes
from tinyton_lab.sim.causes import Memory, Register, Unknown
from tinyton_lab.sim.launch import Launch
from tinyton_lab.sim.module import load

_SHOWN, _DEEP = 60, 40


@dataclass(frozen=True, slots=True)
class Cause:
    """One value of a slice: `name` in `lane` is `value`, made by `step` (None: not by a recorded step).

    `place` is the source the step came from; `causes` are numbers of other causes in the slice.
    """

    name: str
    lane: int
    value: Any
    step: Step | None
    place: str
    causes: tuple[int, ...]

    def __str__(self) -> str:
        value = "" if self.value is None else f" = {self.value}"
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
        stack, seen = [(0, 0)], set[int]()
        while stack and len(text) < _SHOWN:
            number, depth = stack.pop()
            cause = self.causes[number]
            again = number in seen and bool(cause.causes)
            text.append("  " * min(depth, _DEEP) + str(cause) + ("  (see above)" if again else ""))
            if not again:
                stack += [(each, depth + 1) for each in reversed(cause.causes)]
            seen.add(number)
        return "\n".join([*text, "..."] if stack or not self.complete else text)


def why(source: Launch | Recording, name: str, index: Any, most: int = 2000) -> Slice:
    """Follow an element of an argument back through stores, registers, shuffles, shared memory, mma and atomics.

    `index` is the element's index (a tuple, or one number in row-major order); at most `most` values are followed. A
    NaN is followed through the operands that are NaN, where there are any. Addresses, guards and branches are not
    followed. Raises TT6061 when no recorded step wrote the element.
    """
    recording = source if isinstance(source, Recording) else source.recording
    if recording is None:
        raise error("TT6061", None, what=f"{name}[{index}]")
    argument = next((argument for argument in recording.arguments if argument.name == name), None)
    offset = None if argument is None else _offset(argument, index)
    if argument is None or offset is None:
        raise error("TT6061", None, what=f"{name}[{index}]")
    return _Tracer(recording, most).trace(argument, offset, f"{name}[{index}]")


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

    def __init__(self, recording: Recording, most: int) -> None:
        self.recording, self.most = recording, most
        self.timeline: Timeline = recording.timeline()
        self.arguments = {argument.name: argument for argument in recording.arguments}
        self.numbers: dict[Any, int] = {}
        self.found: list[Cause] = []
        self.poisoned: set[int] = set()
        self.wanted: dict[int, list[causes.Cause]] = {}
        self.queue: dict[int, None] = {}
        program = load(recording.ptx).program(recording.kernel)
        every = [details for code in program.code for details in code.details]
        self.instructions: dict[tuple[int, str], Instruction] = {(d.line, d.text): d.instruction for d in every}

    def trace(self, argument: Argument, offset: int, shown: str) -> Slice:
        writer = self.timeline.last_store((argument.name,), offset, len(self.timeline.steps))
        if writer is None:
            raise error("TT6061", None, what=shown)
        size = np.dtype(argument.dtype).itemsize
        self._stored(writer, offset, size, argument.dtype)
        self.poisoned = {0} if _is_nan(self.found[0].value) else set()
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
        return Slice(tuple(replace(c, causes=tuple(numbers[n] for n in c.causes)) for c in found), complete)

    def _follow(self, number: int) -> None:
        cause = self.found[number]
        each = [n for one in self.wanted.get(number, []) for n in self._resolve(one, cause)]
        each = [*dict.fromkeys(each)]
        if number in self.poisoned:
            each = [n for n in each if _is_nan(self.found[n].value)] or each
            # A packed register does not tell what is in it.
            self.poisoned.update(n for n in each if not isinstance(self.found[n].value, float))
        self.poisoned.update(n for n in each if _is_nan(self.found[n].value))
        self.found[number] = replace(cause, causes=tuple(each))
        self.queue.update(dict.fromkeys(each))

    def _resolve(self, wanted: causes.Cause, reader: Cause) -> list[int]:
        """The causes that something wanted is: made on first sight."""
        if isinstance(wanted, Unknown):
            return [self._leaf(wanted.text, None)]
        if reader.step is None:
            raise RuntimeError("slice: a leaf has no causes")
        if isinstance(wanted, Register):
            return [self._register(wanted, reader.step)]
        return self._memory(wanted, reader)

    def _add(self, key: Any, cause: Cause, wanted: list[causes.Cause]) -> int:
        number = self.numbers[key] = len(self.found)
        self.found.append(cause)
        self.wanted[number] = wanted
        return number

    def _leaf(self, name: str, value: Any) -> int:
        key = (name, repr(value))
        return self.numbers[key] if key in self.numbers else self._add(key, Cause(name, -1, value, None, "", ()), [])

    def _register(self, wanted: Register, reader: Step) -> int:
        place = self.timeline.writer_place(wanted.name, reader.cta, reader.warp, wanted.lane, wanted.step)
        if place is None:
            return self._leaf(f"{wanted.name} lane {wanted.lane} (never written)", None)
        key = (place, wanted.lane, wanted.name)
        if key in self.numbers:
            return self.numbers[key]
        step = self.timeline.steps[place]
        now = causes.moment(self.timeline, place, self.instructions, self.arguments)
        follow = causes.of_register(now, wanted.name, wanted.lane) if now else []
        value = self.timeline.value(wanted.name, step.cta, step.warp, wanted.lane, place)
        source = self.recording.places.get(step.line, "")
        return self._add(key, Cause(wanted.name, wanted.lane, value, step, source, ()), follow)

    def _memory(self, wanted: Memory, reader: Cause) -> list[int]:
        step = reader.step
        if step is None:
            raise RuntimeError("slice: a leaf has no causes")
        where = scope(wanted.space, wanted.name, step.cta, step.warp, wanted.lane)
        writers: dict[tuple[int, int] | None, int] = {}
        for byte in range(wanted.offset, wanted.offset + wanted.size):
            writers.setdefault(self.timeline.last_store(where, byte, wanted.step), byte)
        dtype = _dtype_of(reader.value, wanted.size)
        found: list[int] = []
        for writer, byte in writers.items():
            if writer is None:
                value = reader.value if len(writers) == 1 and wanted.carried else None
                found.append(self._leaf(self._place_name(wanted.name, byte), value))
            else:
                size = wanted.size if len(writers) == 1 else 1
                found.append(self._stored(writer, byte, size, dtype))
        return found

    def _stored(self, writer: tuple[int, int], offset: int, size: int, dtype: str) -> int:
        place, lane = writer
        key = (place, lane, offset, size)
        if key in self.numbers:
            return self.numbers[key]
        step = self.timeline.steps[place]
        access = step.access
        if access is None:
            raise RuntimeError("slice: a store has an access")
        value = None
        if access.data:
            raw = access.data[lane] >> 8 * (offset - access.offsets[lane]) & (1 << 8 * size) - 1
            fits = np.dtype(dtype).itemsize == size
            value = np.frombuffer(raw.to_bytes(size, "little"), dtype)[0].item() if fits else raw
        now = causes.moment(self.timeline, place, self.instructions, self.arguments)
        follow = causes.of_memory(now, lane, offset, size) if now else []
        name = self._place_name(access.name, offset)
        source = self.recording.places.get(step.line, "")
        return self._add(key, Cause(name, lane, value, step, source, ()), follow)

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


def _dtype_of(value: Any, size: int) -> str:
    return (
        f"<f{size}" if isinstance(value, float) and size in (2, 4, 8) else f"<u{size}" if size in (1, 2, 4, 8) else "u1"
    )


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value
