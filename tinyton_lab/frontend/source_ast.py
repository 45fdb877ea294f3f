"""The syntax tree of a Python function and the source spans of its nodes. Knows Python's grammar, not the language."""

from __future__ import annotations

import ast
import inspect
import weakref
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from tinyton_lab.base.diagnostics import error
from tinyton_lab.base.protocol import Constexpr
from tinyton_lab.base.reading import read_source
from tinyton_lab.base.source import Source, Span
from tinyton_lab.frontend.liveness import Liveness
from tinyton_lab.language.initialisers import read_fields


class ParsedFunction:
    """A function's definition: `node` is its tree, `source` its text from the first decorator on."""

    def __init__(self, function: Callable[..., Any], node: ast.FunctionDef, source: Source, line_offset: int) -> None:
        self.function, self.node, self.source, self._line_offset = function, node, source, line_offset
        self.name = function.__name__ if node.name == function.__code__.co_name else node.name
        self._spans: dict[ast.AST, Span] = {}
        self._bytes = None if source.text.isascii() else [line.encode() for line in source.text.splitlines()]

    @cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @cached_property
    def signature_text(self) -> str:
        """The parameters as written: ``(x, n, BLOCK: tl.constexpr)``."""
        return f"({ast.unparse(self.node.args)})"

    @cached_property
    def constexprs(self) -> frozenset[str]:
        """The names of the parameters that are annotated as compile-time values."""
        return frozenset(name for name, node in self._arguments.items() if self._is_constexpr(node.annotation))

    @cached_property
    def _arguments(self) -> dict[str, ast.arg]:
        given = self.node.args
        return {a.arg: a for a in [*given.posonlyargs, *given.args, *given.kwonlyargs]}

    def _is_constexpr(self, annotation: ast.expr | None) -> bool:
        if annotation is None:
            return False
        head, *rest = ast.unparse(annotation).strip("'\"").split(".")
        found = self.names.get(head)
        for attribute in rest:
            found = getattr(found, attribute, None)
        return found is Constexpr

    @property
    def names(self) -> dict[str, Any]:
        """The globals and closure of the function, for reading annotations."""
        cells = zip(self.function.__code__.co_freevars, self.function.__closure__ or (), strict=False)
        return {**self.function.__globals__, **{name: cell.cell_contents for name, cell in cells if _filled(cell)}}

    @cached_property
    def misplaced(self) -> frozenset[ast.AST]:
        """The assignment expressions that may be skipped, or that bind a name in a scope of their own."""
        return frozenset(part for root in _skipped(self.node) for part in ast.walk(root) if _is_named(part))

    def inner(self, definition: ast.FunctionDef) -> ParsedFunction:
        """A function that stands in this one."""
        return ParsedFunction(self.function, definition, self.source, self._line_offset)

    def argument_node(self, name: str) -> ast.AST:
        """The node that declares a parameter."""
        return self._arguments.get(name, self.node)

    def argument_span(self, name: str) -> Span:
        return self.span(self.argument_node(name))

    @cached_property
    def liveness(self) -> Liveness:
        return Liveness(self.node)

    def span(self, node: ast.AST, call_site: Span | None = None) -> Span:
        """Where a node stands in the source; inlined at `call_site` where it is given."""
        found = self._spans.get(node)
        if found is None:
            found = self._spans[node] = self._make_span(node)
        return found if call_site is None else found.at(call_site)

    def _make_span(self, node: Any) -> Span:
        if isinstance(node, ast.FunctionDef):  # the name, not the whole body
            column = node.col_offset + len("def ")
            return self._range(node.lineno, column, node.lineno, column + len(node.name.encode()))
        if isinstance(node, ast.For | ast.While | ast.If):  # the header likewise
            end: Any = node.iter if isinstance(node, ast.For) else node.test
            return self._range(node.lineno, node.col_offset, end.end_lineno, end.end_col_offset)
        return self._range(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)

    def _range(self, line: int, column: int, end_line: int, end_column: int) -> Span:
        line, end_line = line + self._line_offset, end_line + self._line_offset
        return Span(self.source, line, self._character(line, column), end_line, self._character(end_line, end_column))

    def _character(self, line: int, offset: int) -> int:
        """The column in characters of a column in UTF-8 bytes."""
        if self._bytes is None:
            return offset
        return len(self._bytes[line - self.source.first_line][:offset].decode(errors="ignore"))


def _is_named(node: ast.AST) -> bool:
    return isinstance(node, ast.NamedExpr)


def _skipped(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The parts of a function that may run never, several times, or in a scope of their own."""
    for node in ast.walk(function):
        if isinstance(node, ast.IfExp):
            yield from (node.body, node.orelse)
        elif isinstance(node, ast.BoolOp):
            yield from node.values[1:]
        elif isinstance(node, ast.Compare):
            yield from node.comparators[1:]
        elif isinstance(node, ast.While):
            yield node.test
        elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.Lambda):
            yield node


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


_PARSED = "__tinyton_parsed__"  # kept in the function itself, which it refers to: a table would keep both alive
_BY_SOURCE: weakref.WeakValueDictionary[Source, ParsedFunction] = weakref.WeakValueDictionary()


def parse(function: Callable[..., Any]) -> ParsedFunction:
    """Read and parse a function's source, once. Raises TT3012 where there is none, TT1010 for what is no ``def``."""
    found: ParsedFunction | None = vars(function).get(_PARSED)
    if found is None or found.function is not function:  # a wrapper may have taken over what it wraps
        found = vars(function)[_PARSED] = _parse(function)
    return found


def parsed_from(source: Source) -> ParsedFunction | None:
    """The function that was parsed from a source, while it lives."""
    return _BY_SOURCE.get(source)


def _parse(function: Callable[..., Any]) -> ParsedFunction:
    source = read_source(function)
    indented = source.text[:1].isspace()
    try:
        tree: Any = ast.parse("if 1:\n" + source.text if indented else source.text)
    except SyntaxError:
        raise error("TT1010", _first_line(source), name=function.__name__) from None
    node = tree.body[0].body[0] if indented else tree.body[0]
    if not isinstance(node, ast.FunctionDef) or node.name != function.__code__.co_name:
        raise error("TT1010", _first_line(source), name=function.__name__)
    read_fields(function, node)
    parsed = ParsedFunction(function, node, source, source.first_line - (2 if indented else 1))
    _BY_SOURCE[source] = parsed
    return parsed


def _first_line(source: Source) -> Span:
    line = source.line(source.first_line)
    indent = len(line) - len(line.lstrip())
    return Span(source, source.first_line, indent, source.first_line, max(len(line.rstrip()), indent + 1))
