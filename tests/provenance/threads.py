"""Follow each memory and math instruction of a compilation back to the Python expressions it came from."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.provenance.instructions import kind_of, opcode_of
from tinyton_lab.record.stage import Compilation, SourceRange, Stage

Place = tuple[int, int, int, int]
READS, WRITES = ("ld.global", "LDG"), ("st.global", "STG")


@dataclass(frozen=True, slots=True)
class Expression:
    """A node of the kernel's syntax tree: its text, and for a call the name of what is called."""

    text: str
    node: str
    called: str


@dataclass(frozen=True, slots=True)
class Thread:
    """An instruction and the expressions it ends at; none when its thread breaks on the way."""

    stage: str
    instruction: str
    opcode: str
    kind: str
    expressions: tuple[Expression, ...]

    @property
    def texts(self) -> set[str]:
        return {expression.text for expression in self.expressions}

    @property
    def holds(self) -> bool:
        """Whether it ends at expressions that an instruction of its kind can come from."""
        return bool(self.expressions) and all(self._fits(expression) for expression in self.expressions)

    def _fits(self, expression: Expression) -> bool:
        if self.opcode.startswith(READS):
            return expression.called == "load"
        if self.opcode.startswith(WRITES):
            return expression.called == "store"
        if self.kind == "collective":
            return expression.node == "Call" and expression.called not in ("load", "store")
        return True


def threads(compilation: Compilation, stage: str) -> Iterator[Thread]:
    """The threads of all memory and math instructions of the stage ``ptx`` or ``sass``, in order."""
    expressions = _expressions(compilation.stages["python"])
    listing = compilation.stages[stage]
    for line, uids in zip(listing.text.splitlines(), listing.lines, strict=True):
        opcode = opcode_of(stage, line)
        kind = kind_of(stage, opcode)
        if opcode and not kind:
            raise LookupError(f"{opcode} is in no class")
        if opcode and kind != "none":
            reached = sorted(compilation.provenance.ancestors(uids) & expressions.keys())
            ends = tuple(dict.fromkeys(expressions[uid] for uid in reached))
            yield Thread(stage, line.strip(), opcode, kind, ends)


def _expressions(python: Stage) -> Mapping[int, Expression]:
    """The expression of each op whose range is that of a node of the tree: not more, not less."""
    shift = python.first_line - 1
    indent = len(python.text) - len(python.text.lstrip())
    tree = ast.parse("if True:\n" + python.text if indent else python.text)
    shift -= 1 if indent else 0
    nodes = {place: node for node in ast.walk(tree) if (place := _place(node, shift)) is not None}
    lines = python.text.splitlines()
    return {
        range.uid: _expression(nodes[place], _cut(lines, range, python.first_line))
        for range in python.ranges
        if (place := (range.line, range.column, range.end_line, range.end_column)) in nodes
    }


def _place(node: ast.AST, shift: int) -> Place | None:
    """Where a node stands that gives ops: an expression, the update ``x += y``, the header of a loop or an ``if``."""
    end = node.iter if isinstance(node, ast.For) else node.test if isinstance(node, ast.While | ast.If) else node
    if not isinstance(node, ast.expr | ast.AugAssign | ast.For | ast.While | ast.If):
        return None
    assert end.end_lineno is not None and end.end_col_offset is not None
    return node.lineno + shift, node.col_offset, end.end_lineno + shift, end.end_col_offset


def _cut(lines: list[str], range: SourceRange, first_line: int) -> str:
    chosen = lines[range.line - first_line : range.end_line - first_line + 1]
    chosen[-1] = chosen[-1][: range.end_column]
    chosen[0] = chosen[0][range.column :]
    return " ".join(line.strip() for line in chosen)


def _expression(node: ast.AST, text: str) -> Expression:
    called = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    return Expression(text, type(node).__name__, called)
