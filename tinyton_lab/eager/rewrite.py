"""Turn a kernel's syntax tree into Python that runs on tiles: the few constructs whose meaning Python cannot override.

Lines and columns stay, so that debuggers and tracebacks show the text that was written.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any

from tinyton_lab.base.diagnostics import depth_limited
from tinyton_lab.base.protocol import Constexpr
from tinyton_lab.base.source import Source, Span
from tinyton_lab.language.initialisers import read_fields

RUNTIME = "_tinyton_"
_LIFTED = frozenset(("to", "dtype", "shape", "type", "numel", "cast"))


def compile_function(function: Callable[..., Any], source: Source, operators: bool) -> CodeType:
    """Code that defines the rewritten function under its own name.

    With `operators`, arithmetic and comparisons go through the runtime as well: a dialect gives them its own meaning.
    """
    indented = source.text[:1].isspace()
    tree: Any = ast.parse("if 1:\n" + source.text if indented else source.text)
    definition: Any = tree.body[0].body[0] if indented else tree.body[0]
    ast.increment_lineno(definition, source.first_line - (2 if indented else 1))
    definition.decorator_list = []
    read_fields(function, definition)
    _strip_annotations(definition.args)
    definition.returns = None
    line, column = definition.lineno, definition.col_offset + len("def ")
    name = Span(source, line, column, line, column + len(definition.name))
    with depth_limited(name, definition.name):
        rewritten = _Rewriter(function.__globals__, operators).visit(definition)
        module = ast.fix_missing_locations(ast.Module([rewritten], []))
        return compile(module, function.__code__.co_filename, "exec", dont_inherit=True)


def _strip_annotations(arguments: ast.arguments) -> None:
    """Leave only names: defaults and annotations were evaluated when the function was defined."""
    for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
        argument.annotation = None
    none = ast.Constant(None)
    arguments.defaults = [none for _ in arguments.defaults]
    arguments.kw_defaults = [default and none for default in arguments.kw_defaults]


class _Rewriter(ast.NodeTransformer):
    """The rewriting itself; each method says what its construct becomes."""

    def __init__(self, names: dict[str, Any], operators: bool) -> None:
        self.names, self.operators = names, operators

    def call(self, node: ast.AST, name: str, *args: ast.expr) -> Any:
        """A call of the runtime in place of a node."""
        function = ast.Attribute(ast.Name(RUNTIME, ast.Load()), name, ast.Load())
        return _placed(node, ast.Call(function, list(args), []))

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        """``a and b`` -> ``logical_and(a, lambda: b)``."""
        name = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        values: Sequence[ast.expr] = [self.visit(value) for value in node.values]
        result = values[0]
        for value in values[1:]:
            result = self.call(node, name, result, _thunk(value))
        return result

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        """``not a`` -> ``logical_not(a)``."""
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return self.call(node, "logical_not", node.operand)
        if self.operators:
            return self.call(node, "unary", ast.Constant(type(node.op).__name__), node.operand)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        if self.operators:
            return self.call(node, "binary", ast.Constant(type(node.op).__name__), node.left, node.right)
        return node

    def visit_Compare(self, node: ast.Compare) -> Any:
        """``a < b < c`` -> ``compare(("Lt", "Lt"), a, b, c)``; one comparison stays where Python can override it."""
        self.generic_visit(node)
        if len(node.ops) == 1 and (not self.operators or isinstance(node.ops[0], ast.Is | ast.IsNot)):
            return node
        kinds = ast.Tuple([ast.Constant(type(op).__name__) for op in node.ops], ast.Load())
        return self.call(node, "compare", kinds, node.left, *node.comparators)

    def visit_Assign(self, node: ast.Assign) -> Any:
        """A number gets a dtype where a name takes it."""
        node.value = self.call(node.value, "assigned", self.visit(node.value))
        return [node, *(self._tuple_of(node, name) for target in node.targets for name in _rests(target))]

    def _tuple_of(self, node: ast.AST, name: str) -> ast.stmt:
        """``name = (*name,)``: what a starred target took is a tuple, as every list of a kernel is."""
        value = self.call(node, "listed", _placed(node, ast.Name(name, ast.Load())))
        return _placed(node, ast.Assign([ast.Name(name, ast.Store())], value))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """``x: tl.constexpr = v`` stays a compile-time value."""
        if node.value is None:
            return _placed(node, ast.Pass())
        value = self.visit(node.value)
        if not self._is_constexpr(node.annotation):
            value = self.call(node.value, "assigned", value)
        return _placed(node, ast.Assign([node.target], value))

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """``x += y`` -> ``x = x + y``."""
        if not isinstance(node.target, ast.Name):
            return node
        left = _placed(node.target, ast.Name(node.target.id, ast.Load()))
        total = self.visit_BinOp(_placed(node, ast.BinOp(left, node.op, self.visit(node.value))))
        return _placed(node, ast.Assign([node.target], self.call(node, "assigned", total)))

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        node.iter = self.call(node.iter, "turns", node.iter)
        node.body = [*(self._tuple_of(node, name) for name in _rests(node.target)), *node.body]
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        return self.visit_ListComp(_placed(node, ast.ListComp(node.elt, node.generators)))

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        node.value = self.call(node.value, "assigned", self.visit(node.value))
        return node

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        """``[f(x) for x in items]`` is a tuple, as every list of a kernel is."""
        self.generic_visit(node)
        for part in node.generators:
            part.iter = self.call(part.iter, "turns", part.iter)
        return self.call(node, "listed", node)

    def visit_Assert(self, node: ast.Assert) -> Any:
        self.generic_visit(node)
        message = node.msg or ast.Constant("")
        return _placed(node, ast.Expr(self.call(node, "check", node.test, message)))

    def visit_Call(self, node: ast.Call) -> Any:
        """``f(x)`` -> ``call(f, x)``: helpers, Python's own functions and plain ones are told apart when it runs."""
        self.generic_visit(node)
        replaced = self.call(node, "call", node.func, *node.args)
        replaced.keywords = node.keywords
        return replaced

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """``(N + 1).to`` works on numbers too."""
        self.generic_visit(node)
        if node.attr in _LIFTED and isinstance(node.ctx, ast.Load):
            node.value = self.call(node.value, "lifted", node.value)
        if node.attr == "value" and isinstance(node.ctx, ast.Load):
            return self.call(node, "value_of", node.value)
        return node

    def _is_constexpr(self, annotation: ast.expr) -> bool:
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            return annotation.value.split(".")[-1].lower() == "constexpr"
        head, *rest = ast.unparse(annotation).strip("'\"").split(".")
        found = self.names.get(head)
        for attribute in rest:
            found = getattr(found, attribute, None)
        return found is Constexpr


def _rests(target: ast.expr) -> Iterator[str]:
    """The names that take what is left of a tuple."""
    for part in ast.walk(target):
        if isinstance(part, ast.Starred) and isinstance(part.value, ast.Name):
            yield part.value.id


def _placed(node: ast.AST, new: Any) -> Any:
    return ast.copy_location(new, node)


def _thunk(value: ast.expr) -> ast.expr:
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return _placed(value, ast.Lambda(nothing, value))
