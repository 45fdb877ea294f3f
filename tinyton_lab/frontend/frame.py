"""One function while it is lowered: its names, where they were bound, and why some of them cannot be read."""

from __future__ import annotations

import ast
import builtins
import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from keyword import kwlist as KEYWORDS
from typing import Any, Protocol

from tinyton_lab.base.diagnostics import Note, TinytonError, error
from tinyton_lab.base.dtypes import int1
from tinyton_lab.base.source import Span
from tinyton_lab.frontend.emitter import IrEmitter
from tinyton_lab.frontend.reached import MISSING, Reached
from tinyton_lab.frontend.rules import Rules
from tinyton_lab.frontend.source_ast import ParsedFunction
from tinyton_lab.language.emission import number


class Context(Protocol):
    """What all functions of one kernel share while it is lowered."""

    emitter: IrEmitter
    rules: Rules
    reached: Reached

    def remark(self, code: str, span: Span | None) -> None:
        """Note something that the kernel's author should know."""
        ...

    def inline(self, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Lower a call of a function written in the language; gives what it returns."""
        ...


BREAK = "break"
"""The name, which no variable can have, of the condition that the loop at work has been left."""
CONTINUE = "continue"
"""The like of the condition that the turn at work goes on; it is there while a branch is lowered that asks for it."""


@dataclass(slots=True)
class Frame:
    """The state of one function: `names` hold values, `bound` where each got its value, `lost` why one has none.

    `around` is the function in which this one was made, whose names it sees.
    """

    context: Context
    parsed: ParsedFunction
    call_site: Span | None
    names: dict[str, Any] = field(default_factory=dict[str, Any])
    bound: dict[str, Span] = field(default_factory=dict[str, Span])
    lost: dict[str, tuple[str, Span]] = field(default_factory=dict[str, "tuple[str, Span]"])
    loops: list[ast.For | ast.While] = field(default_factory=list[ast.For | ast.While])
    around: Frame | None = None

    def span(self, node: ast.AST) -> Span:
        return self.parsed.span(node, self.call_site)

    def at(self, node: ast.AST) -> None:
        """From here on, ops come from this node."""
        self.context.emitter.span = self.parsed.span(node, self.call_site)

    def fault(self, code: str, node: ast.AST, notes: tuple[Note, ...] = (), **fields: object) -> TinytonError:
        return error(code, self.span(node), notes, **fields)

    def bind(self, name: str, value: Any, node: ast.AST) -> None:
        self.names[name] = value
        self.bound[name] = self.span(node)
        self.lost.pop(name, None)

    def lose(self, name: str, why: str, node: ast.AST) -> None:
        """From here on the name has no value; `why` says so to whoever reads it."""
        self.names.pop(name, None)
        self.lost[name] = (why, self.span(node))

    def note(self, name: str, message: str) -> tuple[Note, ...]:
        """A note at the place where a name got its value."""
        return (Note(message, self.bound[name]),) if name in self.bound else ()

    @contextmanager
    def branch(self) -> Iterator[None]:
        """Names bound inside are forgotten at the end; the caller merges what is needed."""
        saved = self.names, self.bound, self.lost
        self.names, self.bound, self.lost = dict(self.names), dict(self.bound), dict(self.lost)
        try:
            yield
        finally:
            self.names, self.bound, self.lost = saved

    @contextmanager
    def looping(self, loop: ast.For | ast.While) -> Iterator[None]:
        """Inside, ``break`` and ``continue`` belong to this loop, and the function cannot be left by ``return``."""
        outer = {name: self.names.pop(name) for name in (BREAK, CONTINUE) if name in self.names}
        self.names[BREAK] = number(False, int1)
        self.loops.append(loop)
        try:
            yield
        finally:
            self.loops.pop()
            del self.names[BREAK]
            self.names.update(outer)

    def lookup(self, node: ast.Name) -> Any:
        """The value of a name: own names, then closure, globals and Python's builtins. Raises TT1001, TT1009."""
        found = self.names.get(node.id, MISSING)
        if found is not MISSING:
            return found
        if node.id in self.lost:
            why, where = self.lost[node.id]
            raise self.fault("TT1009", node, (Note("here", where),), name=node.id, why=why)
        return self._outer(node) if self.around is None else self.around.lookup(node)

    def _outer(self, node: ast.Name) -> Any:
        function, name = self.parsed.function, node.id
        if name in function.__code__.co_freevars:
            cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
            try:
                value = cell.cell_contents
            except ValueError:
                raise self.fault("TT1001", node, name=name, hint="it has no value yet") from None
            self.context.reached.read(name, cell, value)
            return value
        value = function.__globals__.get(name, MISSING)
        if value is not MISSING:
            self.context.reached.read(name, function.__globals__, value)
            return value
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise self.fault("TT1001", node, name=name, hint=self._hint(name))

    def _hint(self, name: str) -> str:
        function = self.parsed.function
        known = [*self.names.keys() - set(KEYWORDS), *function.__code__.co_freevars, *function.__globals__]
        known.sort()
        close = difflib.get_close_matches(name, known, 1)
        return f"did you mean {close[0]!r}?" if close else "a kernel sees its own names and its module's globals"
