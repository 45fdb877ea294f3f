"""The syntax tree of a kernel as text, one node a line, with the types and op numbers that lowering gave to nodes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tinyton_lab.base.source import Span
from tinyton_lab.frontend.source_ast import ParsedFunction
from tinyton_lab.ir.core import Function, Op

Place = tuple[int, int, int, int]
_OPERATORS = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**", "MatMult": "@",
    "BitAnd": "&", "BitOr": "|", "BitXor": "^", "LShift": "<<", "RShift": ">>", "USub": "-", "UAdd": "+",
    "Invert": "~", "Not": "not", "And": "and", "Or": "or", "Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=",
    "Gt": ">", "GtE": ">=", "Is": "is", "IsNot": "is not", "In": "in", "NotIn": "not in",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TreeText:
    """A printed tree: its text, and the op numbers of each line."""

    text: str
    lines: tuple[tuple[int, ...], ...]


def place(span: Span) -> Place:
    return span.line, span.column, span.end_line, span.end_column


def own_span(op: Op, parsed: ParsedFunction) -> Span | None:
    """Where in the kernel's own text an op comes from: the innermost frame that lies in it."""
    frames = () if op.span is None else op.span.frames()
    return next((span for span in frames if span.source == parsed.source), None)


def ops_by_place(function: Function, parsed: ParsedFunction) -> dict[Place, list[Op]]:
    """The ops of each place in the kernel's own text."""
    found: dict[Place, list[Op]] = {}
    for op in function.walk():
        span = own_span(op, parsed)
        if span is not None:
            found.setdefault(place(span), []).append(op)
    return found


def tree_text(parsed: ParsedFunction, ops: Mapping[Place, Sequence[Op]]) -> TreeText:
    """Print the tree of a function; `ops` are those of each place, none before it is lowered."""
    texts: list[str] = []
    uids: list[tuple[int, ...]] = []
    for depth, node in _walk(parsed.node, 0):
        here = ops.get(place(parsed.span(node)), ()) if hasattr(node, "lineno") else ()
        texts.append("  " * depth + describe(node) + _type_of(node, here))
        uids.append(tuple(op.uid for op in here) if _owns(node) else ())
    return TreeText("\n".join(texts) + "\n", tuple(uids))


def _owns(node: ast.AST) -> bool:
    """Whether ops of a node's place belong to it: an expression statement leaves them to its expression."""
    return not isinstance(node, (ast.Expr, ast.FunctionDef))


def _type_of(node: ast.AST, ops: Sequence[Op]) -> str:
    if not isinstance(node, ast.expr) or not ops or not ops[-1].results:
        return ""
    return " : " + ", ".join(str(result.type) for result in ops[-1].results)


def _walk(node: ast.AST, depth: int) -> Iterator[tuple[int, ast.AST]]:
    yield depth, node
    for child in _children(node):
        yield from _walk(child, depth + 1)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """The statements and expressions below a node that its own line does not already say."""
    if isinstance(node, ast.FunctionDef):
        yield from (statement for statement in node.body if not _is_docstring(statement))
        return
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return
    for name, field in ast.iter_fields(node):
        items = field if isinstance(field, list) else [field]
        if name in ("targets", "target", "annotation", "ctx", "op", "ops") or _is_callee(node, name):
            continue
        for item in items:
            if isinstance(item, ast.keyword):
                yield item.value
            elif isinstance(item, (ast.expr, ast.stmt)) and not _is_docstring(item):
                yield item


def _is_callee(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and name == "func" and isinstance(node.func, ast.Name | ast.Attribute)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def describe(node: ast.AST) -> str:
    """One node in a line: its kind, then what tells it apart."""
    kind = type(node).__name__
    match node:
        case ast.FunctionDef():
            return f"{kind} {node.name}({ast.unparse(node.args)})"
        case ast.Assign():
            return f"{kind} {' = '.join(ast.unparse(target) for target in node.targets)}"
        case ast.AnnAssign():
            return f"{kind} {ast.unparse(node.target)}: {ast.unparse(node.annotation)}"
        case ast.AugAssign():
            return f"{kind} {ast.unparse(node.target)} {_symbol(node.op)}="
        case ast.For():
            return f"{kind} {ast.unparse(node.target)}"
        case ast.BinOp() | ast.UnaryOp() | ast.BoolOp():
            return f"{kind} {_symbol(node.op)}"
        case ast.Compare():
            return f"{kind} {' '.join(map(_symbol, node.ops))}"
        case ast.Call():
            return f"{kind} {ast.unparse(node.func)}"
        case ast.Name() | ast.Constant() | ast.Attribute():
            return f"{kind} {ast.unparse(node)}"
        case _:
            return kind


def _symbol(operator: ast.AST) -> str:
    return _OPERATORS[type(operator).__name__]
