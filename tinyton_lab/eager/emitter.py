"""Carry out the language on numpy arrays, one op at a time, by the interpreter's definition of each op."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any

import numpy as np

from tinyton_lab.base.diagnostics import TinytonError, error
from tinyton_lab.base.source import Source, Span
from tinyton_lab.interpreter import Frame, Interpreter
from tinyton_lab.ir.build import complete, infer
from tinyton_lab.ir.core import Block, Op, Value
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.ir.types import Tile
from tinyton_lab.language.value import Branching, TileValue, make
from tinyton_lab.ops.roots import Roots

Array = Any
NO_ROOTS: Roots = frozenset()


class ArrayHandle:
    """A value of a running kernel: its type, and an array with a leading axis of length 1 (one program)."""

    __slots__ = ("array", "roots", "value")

    def __init__(self, value: Value, array: Array, roots: Roots = NO_ROOTS) -> None:
        self.value, self.array, self.roots = value, array, roots

    @property
    def type(self) -> Tile:
        return self.value.type

    def number(self) -> Any:
        """The value of a scalar, as Python's."""
        return self.array.reshape(-1)[0].item()

    def shown(self) -> Array:
        """The elements, for people to look at."""
        return np.broadcast_to(self.array, (1, *self.type.shape))[0] if self.type.shape else self.array.reshape(-1)[0]


class EagerEmitter:
    """An emitter whose handles are arrays. `call_function` runs functions written in the language."""

    def __init__(self, machine: Interpreter, dialect: str, call_function: Callable[..., Any]) -> None:
        self.machine, self.dialect, self._call = machine, dialect, call_function
        self.sanitize_overflow = bool(machine.function.attrs.get("sanitize_overflow"))
        self.memory: dict[str, Any] = {}
        self.frame = machine.frame(0, 1)
        self.sources: dict[CodeType, Source] = {}

    def start(self, program: int) -> None:
        """From here on, ops belong to this program of the grid."""
        self.frame = self.machine.frame(program, program + 1)

    def call(self, function: Any, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        return self._call(function, tuple(args), dict(keywords))

    def value(self, row: OpDef, operands: Sequence[Any], attrs: Mapping[str, Any]) -> ArrayHandle:
        op, array = self._run(row, operands, attrs)
        roots = union(handle.roots for handle in operands if handle is not None and handle.type.is_pointer)
        return ArrayHandle(op.results[0], array[0], roots if row.name != "int_to_pointer" else None)

    def results(self, row: OpDef, operands: Sequence[Any], attrs: Mapping[str, Any]) -> Sequence[ArrayHandle]:
        op, arrays = self._run(row, operands, attrs)
        return [ArrayHandle(result, array) for result, array in zip(op.results, arrays)]

    def effect(self, row: OpDef, operands: Sequence[Any], attrs: Mapping[str, Any]) -> None:
        self._run(row, operands, attrs)

    def _run(self, row: OpDef, operands: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[Op, list[Array]]:
        handles: list[ArrayHandle | None] = list(operands)
        values = complete(row, [None if handle is None else handle.value for handle in handles])
        span = self.span if row.effect != "none" or row.unsupported else None
        op = Op(row, values, infer(row, values, attrs), attrs, (), 0, span)
        frame = Frame(1, self.frame)
        for handle in handles:
            if handle is not None:
                frame.values[handle.value] = handle.array
                self.machine.roots[handle.value] = handle.roots
        with np.errstate(all="ignore"):
            self.machine.op(op, frame)
        self.machine.roots.clear()
        return op, [frame.values[result] for result in op.results]

    def reduce(
        self, inputs: Sequence[Any], axis: int, combine: Callable[..., Sequence[TileValue]], commutes: bool = False
    ) -> Sequence[Any]:
        """Combine neighbours, then neighbours of the results ...: the interpreter's tree, with any function."""
        handles: list[ArrayHandle] = list(inputs)
        shape = handles[0].type.shape
        parts = [np.moveaxis(np.broadcast_to(h.array, (1, *shape)), axis + 1, -1) for h in handles]
        while (length := parts[0].shape[-1]) > 1:
            even = length - length % 2
            sides = [self._wrap(h, x[..., start:even:2]) for start in (0, 1) for h, x in zip(handles, parts)]
            combined = [np.broadcast_to(x.handle.array, (1, *x.shape)) for x in _straight(combine, sides)]
            rest = [x[..., even:] for x in parts]
            parts = [np.concatenate(pair, axis=-1) for pair in zip(combined, rest)] if length % 2 else combined
        return [ArrayHandle(new_value(Tile(h.type.element, x.shape[1:-1])), x[..., 0]) for h, x in zip(handles, parts)]

    def scan(
        self, inputs: Sequence[Any], axis: int, reverse: bool, combine: Callable[..., Sequence[TileValue]]
    ) -> Sequence[Any]:
        """One element after the other, in order."""
        handles: list[ArrayHandle] = list(inputs)
        shape = handles[0].type.shape
        parts = [np.moveaxis(np.broadcast_to(h.array, (1, *shape)), axis + 1, -1) for h in handles]
        parts = [x[..., ::-1] for x in parts] if reverse else parts
        results = [np.array(x) for x in parts]
        for at in range(1, shape[axis]):
            before = [self._wrap(h, x[..., at - 1 : at]) for h, x in zip(handles, results)]
            now = [self._wrap(h, x[..., at : at + 1]) for h, x in zip(handles, parts)]
            for result, combined in zip(results, _straight(combine, [*before, *now])):
                result[..., at : at + 1] = combined.handle.array
        results = [x[..., ::-1] for x in results] if reverse else results
        return [ArrayHandle(new_value(h.type), np.moveaxis(x, -1, axis + 1)) for h, x in zip(handles, results)]

    def map(self, inputs: Sequence[Any], function: Callable[..., Sequence[TileValue]]) -> Sequence[Any]:
        """One call after the other, each on scalars."""
        handles: list[ArrayHandle] = list(inputs)
        shape = handles[0].type.shape
        flat = [np.broadcast_to(h.array, (1, *shape)).reshape(-1) for h in handles]
        calls: list[list[ArrayHandle]] = []
        for at in range(len(flat[0])):
            scalars = [wrapped(Tile(h.type.element), x[at : at + 1]) for h, x in zip(handles, flat)]
            calls.append([x.handle for x in function(*scalars)])
        columns: list[list[ArrayHandle]] = [list(column) for column in zip(*calls)]
        return [
            ArrayHandle(
                new_value(Tile(column[0].type.element, shape)),
                np.concatenate([handle.array.reshape(1) for handle in column]).reshape(1, *shape),
            )
            for column in columns
        ]

    def _wrap(self, handle: ArrayHandle, array: Array) -> TileValue:
        return wrapped(Tile(handle.type.element, array.shape[1:]), array)

    def message(self, kind: str, text: str, values: Sequence[TileValue], hex: bool = False) -> None:
        """Print whole tiles, or raise TT4011 for an assertion that fails."""
        arrays = [x.known if x.known is not None else x.handle.shown() for x in values]
        if kind == "print":
            print(text, *arrays)
        elif kind == "assert" and not all(np.all(array) for array in arrays):
            number = int(next(iter(self.frame.values.values()))[0])
            raise error(
                "TT4011", self.span, message=f": {text}" if text else "", program=self.machine.coordinates(number)
            )

    def remark(self, code: str, span: Span | None) -> None:
        """Nothing: eager mode has no compilation that remarks belong to."""

    @property
    def span(self) -> Span | None:
        """The expression at work in the innermost function of the kernel, with its chain of calls."""
        frame = inspect.currentframe()
        places: list[Span] = []
        while frame is not None:
            source = self.sources.get(frame.f_code)
            if source is not None:
                places.append(place(frame, source))
            frame = frame.f_back
        chain: Span | None = None
        for span in reversed(places):
            chain = span.at(chain)
        return chain


def _straight(combine: Callable[..., Sequence[TileValue]], values: Sequence[TileValue]) -> Sequence[TileValue]:
    """Combine tiles. Raises `Branching` where the function asks for one truth of many elements."""
    try:
        return combine(*values)
    except TinytonError as failure:
        if failure.code == "TT2025":
            raise Branching from None
        raise


def place(frame: FrameType, source: Source) -> Span:
    """The expression that a Python frame is carrying out."""
    positions = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    line, end_line, column, end_column = (position or 0 for position in positions)
    text = source.line(line)
    return Span(source, line, characters(text, column), end_line or line, characters(source.line(end_line), end_column))


def characters(line: str, offset: int) -> int:
    """The column in characters of a column in UTF-8 bytes."""
    return len(line.encode()[:offset].decode(errors="ignore"))


def new_value(type: Tile) -> Value:
    return Value(type, "eager", Block(), 0)


def wrapped(type: Tile, array: Array, roots: Roots = NO_ROOTS) -> TileValue:
    """A value of the kernel over an array with a leading axis of programs."""
    handle = ArrayHandle(new_value(type), array, roots)
    return make(type, handle)


def union(parts: Any) -> Roots:
    """The arguments that a pointer may come from, given those of the pointers it was made of."""
    found: frozenset[int] = frozenset()
    for part in parts:
        if part is None:
            return None
        found |= part
    return found
