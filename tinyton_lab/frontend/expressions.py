"""Expressions: what each construct of Python means on compile-time values and on values of the kernel."""

from __future__ import annotations

import ast
import operator
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tinyton_lab.base.dtypes import DType
from tinyton_lab.base.protocol import Constexpr
from tinyton_lab.frontend import branches
from tinyton_lab.frontend.calls import LOOPS, call
from tinyton_lab.frontend.frame import Frame
from tinyton_lab.frontend.local_function import LocalFunction
from tinyton_lab.frontend.reached import MISSING
from tinyton_lab.frontend.rules import COMPARISONS, OPERATORS, UNARY
from tinyton_lab.language import core, semantic
from tinyton_lab.language.aggregates import Aggregate, operator_method
from tinyton_lab.language.builtin import is_device_function
from tinyton_lab.language.emission import is_number, static, static_int, to_value, unwrap
from tinyton_lab.language.structure import Structure
from tinyton_lab.language.types import spell
from tinyton_lab.language.value import TileValue

LARGEST_BITS = 1 << 16  # of a compile-time integer: far beyond any use, small enough to compute at once
_PYTHON_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    kind: getattr(operator, {"and": "and_", "or": "or_"}.get(name, name)) for kind, name in OPERATORS.items()
}
_PYTHON_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda x, y: x in y,
    ast.NotIn: lambda x, y: x not in y,
}
_PYTHON_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_SYMBOLS: dict[type[ast.AST], str] = {ast.MatMult: "@", ast.In: "in", ast.NotIn: "not in"}
_NAMES = {
    "SetComp": "a set comprehension",
    "DictComp": "a dict comprehension",
    "Dict": "a dict",
    "Set": "a set",
    "Await": "await",
    "Yield": "yield",
    "YieldFrom": "yield",
    "Starred": "a starred expression",
}
_HINTS = {
    "a dict": "use one variable for each value",
}


def evaluate(frame: Frame, node: ast.expr) -> Any:
    """The value of an expression: a compile-time value, a value of the kernel, or a tuple of both."""
    handler = _HANDLERS.get(type(node))
    if handler is None:
        what = _NAMES.get(type(node).__name__, type(node).__name__)
        raise frame.fault("TT1002", node, what=what, hint=_HINTS.get(what, ""))
    return handler(frame, node)


def name(frame: Frame, node: ast.Name) -> Any:
    return usable(frame, node, node.id, frame.lookup(node))


def usable(frame: Frame, node: ast.expr, spelling: str, value: Any) -> Any:
    """A value that came from outside, if a kernel may use it. Raises TT1008."""
    value = unwrap(value)
    if isinstance(value, list):
        raise frame.fault("TT1008", node, name=spelling, kind="a list", hint="make it a tuple")
    plain = (TileValue, Structure, int, float, str, tuple, type(None), DType, types.ModuleType, type, Constexpr)
    if isinstance(value, plain) or callable(value) or is_device_function(value) or _is_language(value):
        return value
    kind = f"a {type(value).__module__}.{type(value).__name__}".replace("a builtins.", "a ")
    raise frame.fault("TT1008", node, name=spelling, kind=kind, hint="pass it as an argument")


def _is_language(value: Any) -> bool:
    return type(value).__module__.startswith("tinyton_lab.") or isinstance(value, (core.PropagateNan, slice))


def constant(frame: Frame, node: ast.Constant) -> Any:
    if isinstance(node.value, (bytes, complex)):
        raise frame.fault("TT1002", node, what=f"a {type(node.value).__name__} literal", hint="")
    return node.value


def sequence(frame: Frame, node: ast.Tuple | ast.List) -> tuple[Any, ...]:
    items: list[Any] = []
    for item in node.elts:
        if isinstance(item, ast.Starred):
            items += static_items(frame, item.value)
        else:
            items.append(evaluate(frame, item))
    return tuple(items)


def comprehension(frame: Frame, node: ast.ListComp | ast.GeneratorExp) -> tuple[Any, ...]:
    """A list comprehension or generator expression over what is known at compile time: the tuple of its values."""
    with frame.branch():
        return tuple(comprehended(frame, node, node.generators))


def comprehended(
    frame: Frame, node: ast.ListComp | ast.GeneratorExp, generators: Sequence[ast.comprehension]
) -> Iterator[Any]:
    """The values that the remaining ``for`` parts of a comprehension give. Raises TT1006 for other conditions."""
    if not generators:
        yield evaluate(frame, node.elt)
        return
    first, *others = generators
    starred = next((part for part in ast.walk(first.target) if isinstance(part, ast.Starred)), None)
    if starred is not None:
        raise frame.fault("TT1002", starred, what="a starred target in a comprehension", hint="name every part")
    for item in comprehension_items(frame, first.iter):
        assign_item(frame, first.target, item)
        tests = (static(evaluate(frame, test), "the condition of a comprehension") for test in first.ifs)
        if all(tests):
            yield from comprehended(frame, node, others)


def comprehension_items(frame: Frame, node: ast.expr) -> Sequence[Any]:
    """What a part of a comprehension runs over. Raises TT1022 for anything but ranges and tuples."""
    if isinstance(node, ast.Call):
        callee = evaluate(frame, node.func)
        if callee in LOOPS:
            frame.at(node)
            bounds = [static_int(evaluate(frame, bound), "a bound of a comprehension") for bound in node.args]
            turns = at_compile_time(frame, node, range, *bounds)
            if len(turns) > LARGEST_BITS:
                raise frame.fault("TT1023", node, turns=len(turns), limit=LARGEST_BITS)
            return turns
    items = evaluate(frame, node)
    if not isinstance(items, tuple):
        raise frame.fault("TT1022", node, name=branches.kind_of(items))
    return tuple(items)


def assign_item(frame: Frame, target: ast.expr, item: Any) -> None:
    """Give the target of a loop or comprehension an item. Raises TT1019 where it does not fit."""
    if isinstance(target, ast.Name):
        return frame.bind(target.id, item, target)
    for part, value in unpacked(frame, target, item):
        assign_item(frame, part, value)
    return None


def unpacked(frame: Frame, target: ast.expr, value: Any) -> Iterator[tuple[ast.expr, Any]]:
    """The parts of a target with the value of each; a starred one takes what is left. Raises TT1019."""
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
    starred = [place for place, part in enumerate(parts) if isinstance(part, ast.Starred)]
    items = tuple(value) if isinstance(value, tuple) else ()
    left = len(items) - len(parts) + 1
    if not isinstance(value, tuple) or not parts or (left < 0 if starred else left != 1):
        raise frame.fault("TT1019", target, targets=ast.unparse(target), values=branches.kind_of(value))
    place = 0
    for part in parts:
        if isinstance(part, ast.Starred):
            yield part.value, items[place : place + left]
            place += left
        else:
            yield part, items[place]
            place += 1


def named(frame: Frame, node: ast.NamedExpr) -> Any:
    """``(x := y)``. Raises TT1002 where the assignment may not happen, or not in the name's own scope."""
    if node in frame.parsed.misplaced:
        hint = "assign on a line of its own"
        raise frame.fault("TT1002", node, what="an assignment expression (:=) that may be skipped", hint=hint)
    value = frame.context.rules.assigned(evaluate(frame, node.value))
    frame.bind(node.target.id, value, node.target)
    return value


def anonymous(frame: Frame, node: ast.Lambda) -> LocalFunction:
    """A lambda, as a function that only returns."""
    body = ast.copy_location(ast.Return(node.body), node.body)
    return local_function(frame, node, ast.FunctionDef("lambda", node.args, [body], []))


def local_function(frame: Frame, node: ast.AST, definition: ast.FunctionDef) -> LocalFunction:
    """A function that a kernel makes; its defaults are evaluated here."""
    given = definition.args
    values = [evaluate(frame, default) for default in given.defaults]
    named = {
        argument.arg: evaluate(frame, default)
        for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
        if default is not None
    }
    starred = given.vararg or given.kwarg
    if starred is not None:
        raise frame.fault("TT1002", starred, what="a local function with starred parameters", hint="name each of them")
    definition = ast.copy_location(definition, node)
    return LocalFunction(frame, frame.parsed.inner(definition), values, named, frame.context.rules.dialect)


def static_items(frame: Frame, node: ast.expr) -> tuple[Any, ...]:
    """The items of a tuple that is unpacked with a star. Raises TT1002."""
    value = evaluate(frame, node)
    if not isinstance(value, tuple):
        raise frame.fault("TT1002", node, what="unpacking anything but a tuple", hint="")
    return tuple(value)


def attribute(frame: Frame, node: ast.Attribute) -> Any:
    base = evaluate(frame, node.value)
    if isinstance(base, types.ModuleType):
        return module_attribute(frame, node, base)
    if node.attr == "value" and not isinstance(base, (TileValue, Structure)) and not hasattr(base, "_fields"):
        return base
    if is_number(base) and hasattr(TileValue.made_as, node.attr):
        frame.at(node)
        base = to_value(base)
    hidden = node.attr.startswith("__" if isinstance(base, Aggregate) else "_")
    found = MISSING if hidden else getattr_of(frame, node, base)
    if found is MISSING:
        listed = isinstance(base, (TileValue, Structure))
        known = ", ".join(n for n in dir(base) if not n.startswith("_")) if listed else ""
        kind = spell(base.tile) if isinstance(base, TileValue) else f"a {type(base).__name__}"
        raise frame.fault("TT1013", node, type=kind, name=node.attr, close=close_to(node.attr, known))
    outside = not str(getattr(base, "__module__", "tinyton_lab")).startswith("tinyton_lab")
    if outside and not isinstance(base, Structure):
        frame.context.reached.read(node.attr, base, found)
    return found


def close_to(name: str, known: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, known.split(", "), 1)
    return close[0] if close else "its documented attributes"


def getattr_of(frame: Frame, node: ast.Attribute, base: Any) -> Any:
    frame.at(node)
    return getattr(base, node.attr, MISSING)


def module_attribute(frame: Frame, node: ast.Attribute, module: types.ModuleType) -> Any:
    """An attribute of a module; those of other modules than the language are noted as read."""
    value = getattr(module, node.attr, MISSING)
    if value is MISSING:
        hint = close_to(node.attr, ", ".join(n for n in dir(module) if not n.startswith("_")))
        raise frame.fault("TT1013", node, type=f"the module {module.__name__}", name=node.attr, close=hint)
    if not module.__name__.startswith("tinyton_lab"):
        frame.context.reached.read(node.attr, module, value)
    return usable(frame, node, f"{module.__name__}.{node.attr}", value)


def binary(frame: Frame, node: ast.BinOp) -> Any:
    """A sum of many terms leans to the left as deep as it is long, so it is no recursion here."""
    spine = [node]
    while isinstance(spine[-1].left, ast.BinOp):
        spine.append(spine[-1].left)
    value = evaluate(frame, spine[-1].left)
    for inner in reversed(spine):
        value = apply_binary(frame, inner, inner.op, value, evaluate(frame, inner.right))
    return value


def apply_binary(frame: Frame, node: ast.AST, kind: ast.operator, x: Any, y: Any) -> Any:
    """An operator on evaluated operands; also of augmented assignments."""
    frame.at(node)
    own = operator_method(f"__{OPERATORS.get(type(kind), '')}__", x, y)
    if own is not None:
        return own()
    if isinstance(x, TileValue) or isinstance(y, TileValue):
        rule = frame.context.rules.binary.get(type(kind))
        if rule is None:
            raise frame.fault(
                "TT1002", node, what=f"the operator {_SYMBOLS.get(type(kind), type(kind).__name__)}", hint=""
            )
        return rule(x, y)
    python = frame.context.rules.constant.get(type(kind)) or _PYTHON_BINARY.get(type(kind))
    if python is None:
        raise frame.fault("TT1002", node, what="operator @", hint="use tl.dot")
    if (isinstance(kind, (ast.Pow, ast.LShift, ast.Mult))) and too_large(kind, x, y):
        raise frame.fault("TT1018", node, what=ast.unparse(node), why="the result is too large")
    return at_compile_time(frame, node, python, x, y)


def too_large(kind: ast.operator, x: Any, y: Any) -> bool:
    """Whether a compile-time result would take long to compute."""
    if isinstance(x, (str, tuple)) or isinstance(y, (str, tuple)):
        size = max((len(v) for v in (x, y) if isinstance(v, (str, tuple))), default=0)
        return any(isinstance(v, int) and v * size > LARGEST_BITS for v in (x, y))
    if not (isinstance(x, int) and isinstance(y, int)):
        return False
    if isinstance(kind, ast.Pow):
        return x.bit_length() * max(y, 0) > LARGEST_BITS
    return x.bit_length() + (y if isinstance(kind, ast.LShift) else y.bit_length()) > LARGEST_BITS


def at_compile_time(frame: Frame, node: ast.AST, function: Callable[..., Any], *operands: Any) -> Any:
    """Carry out Python's own operation. Raises TT1018 where Python does."""
    try:
        return function(*operands)
    except (ArithmeticError, TypeError, ValueError, IndexError, KeyError) as failure:
        raise frame.fault("TT1018", node, what=ast.unparse(node), why=str(failure)) from None


def unary(frame: Frame, node: ast.UnaryOp) -> Any:
    x = evaluate(frame, node.operand)
    frame.at(node)
    own = operator_method(UNARY[type(node.op)], x) if type(node.op) in UNARY else None
    if own is not None:
        return own()
    if isinstance(x, TileValue):
        return frame.context.rules.unary[type(node.op)](x)
    return at_compile_time(frame, node, _PYTHON_UNARY[type(node.op)], x)


def compare(frame: Frame, node: ast.Compare) -> Any:
    """A chain of comparisons: all of them must hold."""
    left, result = evaluate(frame, node.left), True
    for kind, comparator in zip(node.ops, node.comparators, strict=True):
        right = evaluate(frame, comparator)
        outcome = compare_pair(frame, node, kind, left, right)
        result = outcome if result is True else logical(frame, node, semantic.logical_and, result, outcome)
        if result is False:
            return False
        left = right
    return result


def compare_pair(frame: Frame, node: ast.Compare, kind: ast.cmpop, x: Any, y: Any) -> Any:
    frame.at(node)
    if isinstance(kind, (ast.Is, ast.IsNot)):
        same = x is y or (is_number(x) and is_number(y) and type(x) is type(y) and x == y)
        return same if isinstance(kind, ast.Is) else not same
    on_tiles = isinstance(x, TileValue) or isinstance(y, TileValue)
    if on_tiles and (x is None or y is None) and isinstance(kind, (ast.Eq, ast.NotEq)):
        return isinstance(kind, ast.NotEq)
    own = operator_method(f"__{COMPARISONS[type(kind)]}__", x, y) if type(kind) in COMPARISONS else None
    if own is not None:
        return own()
    if on_tiles:
        rule = frame.context.rules.compare.get(type(kind))
        if rule is None:
            raise frame.fault("TT1002", node, what=f"operator {_SYMBOLS.get(type(kind))} on values", hint="")
        return rule(x, y)
    return at_compile_time(frame, node, _PYTHON_COMPARE[type(kind)], x, y)


def boolean(frame: Frame, node: ast.BoolOp) -> Any:
    """``and`` and ``or``: Python's on compile-time values, element by element on values of the kernel."""
    conjunction = isinstance(node.op, ast.And)
    function = semantic.logical_and if conjunction else semantic.logical_or
    result = evaluate(frame, node.values[0])
    for operand in node.values[1:]:
        if not isinstance(result, TileValue) and bool(result) is not conjunction:
            return result
        value = evaluate(frame, operand)
        result = logical(frame, node, function, result, value)
    return result


def logical(frame: Frame, node: ast.AST, function: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Join two conditions; a compile-time one that decides nothing drops out."""
    frame.at(node)
    if not isinstance(x, TileValue):
        return y
    if not isinstance(y, TileValue) and not is_number(y):
        return x if bool(y) == (function is semantic.logical_and) else bool(y)
    return function(x, y)


def conditional(frame: Frame, node: ast.IfExp) -> Any:
    """``a if c else b``."""
    test = branches.condition(frame, node.test, evaluate(frame, node.test))
    if isinstance(test, bool):
        return evaluate(frame, node.body if test else node.orelse)
    arms = [branches.arm(frame, lambda arm=arm: evaluate(frame, arm)) for arm in (node.body, node.orelse)]
    return branches.merge_values(frame, node, test, arms, "the two values of this expression")


def subscript(frame: Frame, node: ast.Subscript) -> Any:
    base, key = evaluate(frame, node.value), evaluate(frame, node.slice)
    frame.at(node)
    if isinstance(base, TileValue):
        tile: Any = base  # its operators are those of the class that users see, `tensor`
        return tile[key]
    own = operator_method("__getitem__", base, key)
    if own is not None:
        return own()
    if isinstance(key, TileValue) and key.known is not None:
        key = key.known
    if isinstance(base, (tuple, str)) and isinstance(key, (int, slice)):
        return at_compile_time(frame, node, operator.getitem, base, key)
    raise frame.fault("TT1002", node, what=f"subscripting a {type(base).__name__}", hint="")


def slice_(frame: Frame, node: ast.Slice) -> slice:
    bounds = (None if part is None else evaluate(frame, part) for part in (node.lower, node.upper, node.step))
    return slice(*(x.known if isinstance(x, TileValue) and x.known is not None else x for x in bounds))


def formatted(frame: Frame, node: ast.JoinedStr) -> str:
    """An f-string: values of the kernel show as their types."""
    return "".join(str(evaluate(frame, part)) for part in node.values)


def formatted_value(frame: Frame, node: ast.FormattedValue) -> str:
    value = evaluate(frame, node.value)
    shown = core.shown(value) if isinstance(unwrap(value), TileValue) or node.format_spec is None else unwrap(value)
    spec = "" if node.format_spec is None else str(evaluate(frame, node.format_spec))
    text = repr(shown) if node.conversion == ord("r") else shown
    return at_compile_time(frame, node, format, text, spec)


def call_expression(frame: Frame, node: ast.Call) -> Any:
    callee = evaluate(frame, node.func)
    args: list[Any] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            args += static_items(frame, argument.value)
        else:
            args.append(evaluate(frame, argument))
    keywords: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise frame.fault("TT1002", keyword.value, what="a call with **keywords", hint="")
        keywords[keyword.arg] = evaluate(frame, keyword.value)
    return call(frame, node, callee, tuple(args), keywords)


_HANDLERS: dict[type[ast.expr], Callable[[Frame, Any], Any]] = {
    ast.Name: name,
    ast.Constant: constant,
    ast.Tuple: sequence,
    ast.List: sequence,
    ast.ListComp: comprehension,
    ast.GeneratorExp: comprehension,
    ast.NamedExpr: named,
    ast.Lambda: anonymous,
    ast.Attribute: attribute,
    ast.BinOp: binary,
    ast.UnaryOp: unary,
    ast.Compare: compare,
    ast.BoolOp: boolean,
    ast.IfExp: conditional,
    ast.Subscript: subscript,
    ast.Slice: slice_,
    ast.JoinedStr: formatted,
    ast.FormattedValue: formatted_value,
    ast.Call: call_expression,
}
