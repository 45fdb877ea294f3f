"""The syntax tree of PTX text: what was written and on which line. Knows nothing of what instructions do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from tinyton_lab.base.source import Source, Span


class Name(NamedTuple):
    """A register, symbol, label or special register; `offset` for ``symbol+4``."""

    text: str
    offset: int = 0


class Immediate(NamedTuple):
    """A literal: an integer `value`, or the value of a floating literal; `text` as written."""

    value: int | float
    text: str


class Negated(NamedTuple):
    """``!p``: a predicate source read inverted."""

    name: str


class Pair(NamedTuple):
    """``p|q``: two destinations of one instruction."""

    first: str
    second: str


class Vector(NamedTuple):
    """``{a, b, ...}``."""

    items: tuple[Operand, ...]


class Address(NamedTuple):
    """``[base+offset]``; a tensor address has further operands, ``[map, {x, y}]``."""

    base: Name | Immediate
    offset: int = 0
    rest: tuple[Operand, ...] = ()


class Group(NamedTuple):
    """``(a, b)``: the arguments or results of a call."""

    items: tuple[Operand, ...]


Operand: TypeAlias = "Name | Immediate | Negated | Pair | Vector | Address | Group"


class Instruction(NamedTuple):
    """One instruction: `opcode` with all its modifiers, its guard ``@p`` / ``@!p``, its operands, and its place."""

    opcode: str
    operands: tuple[Operand, ...]
    guard: str
    negated: bool
    line: int
    start: int
    end: int


class Label(NamedTuple):
    name: str
    line: int


class Location(NamedTuple):
    """``.loc``: the source position of what follows; `rest` is the text of the inlining part."""

    file: int
    line: int
    column: int
    rest: str


class Raw(NamedTuple):
    """A directive that only has to survive printing (``.file``, ``.section``, ``.pragma``)."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Variable:
    """A declaration. `count` is the N of ``%r<N>``; `shape` the array bounds (0: unsized); `initial` the initialiser's
    items, nested as written; `qualifiers` what else was said (``.ptr .global``)."""

    space: str
    type: str
    name: str
    line: int
    align: int = 0
    shape: tuple[int, ...] | None = None
    count: int = 0
    vector: int = 0
    initial: tuple[object, ...] | None = None
    linkage: str = ""
    qualifiers: str = ""


class Scope(NamedTuple):
    """A nested ``{ ... }`` with its own registers and labels."""

    body: tuple[Statement, ...]


class Table(NamedTuple):
    """A labelled list: ``.branchtargets``, ``.calltargets`` (`names`) or ``.callprototype`` (`text`)."""

    label: str
    directive: str
    names: tuple[str, ...]
    text: str
    line: int


Statement: TypeAlias = "Instruction | Label | Location | Raw | Variable | Scope | Table"


@dataclass(frozen=True, slots=True)
class Function:
    """An ``.entry`` or ``.func``; `body` is None for a declaration; `directives` are the performance directives."""

    kind: str
    name: str
    linkage: str
    results: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    directives: tuple[tuple[str, tuple[int, ...]], ...]
    body: tuple[Statement, ...] | None
    line: int


@dataclass(frozen=True, slots=True)
class Module:
    """One PTX text."""

    source: Source
    version: str
    targets: tuple[str, ...]
    address_size: int
    items: tuple[Variable | Function | Raw, ...]
    functions: dict[str, Function] = field(default_factory=dict)

    def span(self, start: int, end: int) -> Span:
        """The span of the characters from `start` to `end` of the text."""
        return text_span(self.source, start, end)

    def line_span(self, line: int) -> Span:
        """The span of one whole line, without its indentation."""
        text = self.source.line(line)
        return Span(self.source, line, len(text) - len(text.lstrip()), line, len(text.rstrip()))


def text_span(source: Source, start: int, end: int) -> Span:
    """Locate a character range of `source`."""
    text = source.text
    line, column = text.count("\n", 0, start) + 1, start - (text.rfind("\n", 0, start) + 1)
    end_line = line + text.count("\n", start, end)
    end_column = end - (text.rfind("\n", 0, end) + 1)
    return Span(source, line, column, end_line, end_column)
