"""The `__init__` of an aggregate as a function of the language that gives the fields. Knows syntax, no values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

FIELDS = "__tinyton_fields__"


def initialiser(function: FunctionType, fields: Mapping[str, bool]) -> FunctionType:
    """A copy of an `__init__` for a class with these fields, each with whether it is known at compile time."""
    made = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, function.__qualname__
    made.__module__, made.__annotations__ = function.__module__, function.__annotations__
    vars(made)[FIELDS] = dict(fields)
    return made


def read_fields(function: Callable[..., Any], node: ast.FunctionDef) -> None:
    """Where a function is an initialiser, let its tree treat ``self.x`` as a name and return the fields' tuple.

    So branches, loops and augmented assignments need no rule of their own. A field that gets no value is ``...``.
    """
    fields = vars(function).get(FIELDS)
    parameters = [*node.args.posonlyargs, *node.args.args]
    if fields is None or not parameters:
        return
    owner = parameters[0].arg
    stored = {
        n.attr
        for n in ast.walk(node)
        if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and _is_name(n.value, owner)
    }
    values: list[ast.expr] = [
        ast.Name(f"{owner}.{name}", ast.Load()) if name in stored else ast.Constant(...) for name in fields
    ]
    result = ast.Tuple(values, ast.Load())
    for part in (result, *values):
        _place_at_name(part, node)
    rewriting = _Fields(owner, fields, result)
    node.body = [rewriting.visit(statement) for statement in node.body]
    node.body.append(_placed(node.body[-1], ast.Return(result)))


class _Fields(ast.NodeTransformer):
    """Replaces fields by names, and returns by returns of the fields."""

    def __init__(self, owner: str, fields: Mapping[str, bool], result: ast.Tuple) -> None:
        self.owner, self.fields, self.result = owner, fields, result

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if _is_name(node.value, self.owner) and node.attr in self.fields:
            return _placed(node, ast.Name(f"{self.owner}.{node.attr}", node.ctx))
        self.generic_visit(node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """A field that is known at compile time takes no dtype."""
        wanted = node.targets[0]
        self.generic_visit(node)
        target: Any = node.targets[0]
        constant = isinstance(wanted, ast.Attribute) and target is not wanted and self.fields[wanted.attr]
        if len(node.targets) > 1 or not constant:
            return node
        return _placed(node, ast.AnnAssign(target, _placed(wanted, ast.Constant("constexpr")), node.value, 1))

    def visit_Return(self, node: ast.Return) -> ast.AST:
        return node if node.value is not None else _placed(node, ast.Return(self.result))


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _placed(node: ast.AST, new: Any) -> Any:
    return ast.copy_location(new, node)


def _place_at_name(new: Any, node: ast.FunctionDef) -> None:
    column = node.col_offset + len("def ")
    new.lineno = new.end_lineno = node.lineno
    new.col_offset, new.end_col_offset = column, column + len(node.name)
