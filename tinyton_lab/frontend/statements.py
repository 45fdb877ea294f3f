"""Statements: assignment, branches, early return; what a kernel may not say is a located fault."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tinyton_lab.base.dtypes import int1
from tinyton_lab.base.protocol import Constexpr
from tinyton_lab.frontend import branches, loops
from tinyton_lab.frontend.expressions import apply_binary, evaluate, local_function, unpacked
from tinyton_lab.frontend.frame import BREAK, CONTINUE, Frame
from tinyton_lab.frontend.liveness import always_leaves, leaves, returns, stores
from tinyton_lab.language import core, semantic
from tinyton_lab.language.aggregates import Aggregate, Unfinished
from tinyton_lab.language.emission import number, static
from tinyton_lab.language.value import TileValue

_NAMES = {
    "Try": "try",
    "TryStar": "try",
    "With": "with",
    "AsyncWith": "async with",
    "AsyncFor": "async for",
    "Delete": "del",
    "Import": "import",
    "ImportFrom": "import",
    "Global": "global",
    "Nonlocal": "nonlocal",
    "AsyncFunctionDef": "an async function",
    "ClassDef": "a class",
    "Match": "match",
    "TypeAlias": "type",
}
_HINTS = {
    "import": "import at the top of the module",
    "a class": "define it beside the kernel and decorate it with @tt.aggregate",
    "match": "write if and elif",
    "del": "leave it out: what is not used any more takes no register",
    "assigning to a subscript": "tiles do not change: build a new one with tl.where, or store to memory",
    "try": "a program cannot raise, so there is nothing to catch",
}


@dataclass(frozen=True, slots=True)
class Returned:
    """The value that a ``return`` gave, and the statement that gave it."""

    value: Any
    node: ast.stmt


LEFT = Returned(None, ast.Pass())
"""Says that the turn of a loop ends here."""


def execute(frame: Frame, statements: Sequence[ast.stmt]) -> Returned | None:
    """Lower statements in order; gives what they return, None where they run through or the turn of a loop ends."""
    for place, statement in enumerate(statements):
        if isinstance(statement, ast.If):
            if returns(statement):
                return returning_branch(frame, statement, statements[place + 1 :])
            if leaves(statement, ast.Break, ast.Continue):
                return leaving_branch(frame, statement, statements[place + 1 :])
            branch(frame, statement)
            continue
        handler = _HANDLERS.get(type(statement))
        if handler is None:
            what = _NAMES.get(type(statement).__name__, type(statement).__name__)
            raise frame.fault("TT1002", statement, what=what, hint=_HINTS.get(what, ""))
        outcome = handler(frame, statement)
        if outcome is not None:
            return outcome
    return None


def branch(frame: Frame, node: ast.If) -> None:
    """Lower an ``if`` without a return."""
    test = branches.condition(frame, node.test, evaluate(frame, node.test))
    if isinstance(test, bool):
        execute(frame, node.body if test else node.orelse)
        return
    arms = [branches.arm(frame, lambda body=body: execute(frame, body)) for body in (node.body, node.orelse)]
    liveness = frame.parsed.liveness
    branches.merge_names(frame, node, test, arms, liveness.stored[node], liveness.after[node])


def returning_branch(frame: Frame, node: ast.If, rest: Sequence[ast.stmt]) -> Returned | None:
    """Lower an ``if`` that may return, and all that follows it: it belongs to the arms that do not return."""
    test = branches.condition(frame, node.test, evaluate(frame, node.test))
    if isinstance(test, bool):
        return execute(frame, [*(node.body if test else node.orelse), *rest])
    if frame.loops:
        raise frame.fault("TT1003", next(n for n in ast.walk(node) if isinstance(n, ast.Return)))
    arms = [
        branches.arm(frame, lambda body=body: _returned(execute(frame, [*body, *rest])))
        for body in (node.body, node.orelse)
    ]
    value = branches.merge_values(frame, node, test, arms, "what this function returns")
    return Returned(value, node)


def leaving_branch(frame: Frame, node: ast.If, rest: Sequence[ast.stmt]) -> Returned | None:
    """Lower an ``if`` with a ``break`` or ``continue``, and the rest of the turn: it belongs to the arms that go on."""
    test = branches.condition(frame, node.test, evaluate(frame, node.test))
    if isinstance(test, bool):
        return execute(frame, [*(node.body if test else node.orelse), *rest])
    if always_leaves(node.body) or always_leaves(node.orelse):
        join_turn(frame, node, test, [([*node.body, *rest], True), ([*node.orelse, *rest], True)])
    else:
        join_turn(frame, node, went_on(frame, node, test), [(rest, True), ((), False)])
    return LEFT


def join_turn(frame: Frame, node: ast.If, test: TileValue, ends: Sequence[tuple[Sequence[ast.stmt], bool]]) -> None:
    """Lower two ends of a loop's turn of which one runs, each with whether it goes on; what is carried is merged."""
    own = {BREAK, CONTINUE} & frame.names.keys()

    def end(statements: Sequence[ast.stmt], going_on: bool) -> None:
        if CONTINUE in own:
            frame.names[CONTINUE] = number(going_on, int1)
        execute(frame, statements)

    arms = [branches.arm(frame, lambda given=given: end(*given)) for given in ends]
    loop, liveness = frame.loops[-1], frame.parsed.liveness
    branches.merge_names(frame, node, test, arms, liveness.stored[loop] | own, liveness.header[loop] | own)


def went_on(frame: Frame, node: ast.If, test: TileValue) -> TileValue:
    """Lower an ``if`` of which neither arm always leaves; gives whether the turn goes on after it."""
    outer = frame.names.get(CONTINUE)

    def body(statements: Sequence[ast.stmt]) -> None:
        frame.names[CONTINUE] = number(True, int1)
        execute(frame, statements)

    arms = [branches.arm(frame, lambda part=part: body(part)) for part in (node.body, node.orelse)]
    liveness, own = frame.parsed.liveness, {BREAK, CONTINUE}
    needed = liveness.after[node] | liveness.header[frame.loops[-1]] | own
    branches.merge_names(frame, node, test, arms, liveness.stored[node] | own, needed)
    frame.at(node)
    going_on = semantic.truth(frame.names.pop(CONTINUE))
    if outer is not None:
        frame.names[CONTINUE] = outer
    return going_on


def leave(frame: Frame, node: ast.Break | ast.Continue) -> Returned:
    """End the turn; after a ``break`` the loop takes no other."""
    frame.context.remark("TT1031", frame.span(node))
    if isinstance(node, ast.Break):
        frame.names[BREAK] = number(True, int1)
    if CONTINUE in frame.names:
        frame.names[CONTINUE] = number(False, int1)
    return LEFT


def _returned(outcome: Returned | None) -> Any:
    return None if outcome is None else outcome.value


def return_(frame: Frame, node: ast.Return) -> Returned:
    if frame.loops:
        raise frame.fault("TT1003", node)
    return Returned(None if node.value is None else evaluate(frame, node.value), node)


def assign(frame: Frame, node: ast.Assign) -> None:
    value = frame.context.rules.assigned(evaluate(frame, node.value))
    for target in node.targets:
        store(frame, target, value)


def store(frame: Frame, target: ast.expr, value: Any) -> None:
    """Give a target its value. Raises TT1019 where a tuple does not fit, TT1002 for other targets."""
    if isinstance(target, ast.Name):
        frame.bind(target.id, value, target)
        return
    if isinstance(target, ast.Attribute):
        store_attribute(frame, target, value)
    if not isinstance(target, (ast.Tuple, ast.List)):
        what = "assigning to a subscript" if isinstance(target, ast.Subscript) else "assigning to an attribute"
        raise frame.fault("TT1002", target, what=what, hint=_HINTS.get(what, ""))
    for part, item in unpacked(frame, target, value):
        store(frame, part, item)


def store_attribute(frame: Frame, target: ast.Attribute, value: Any) -> None:
    """Aggregates do not change: say so. Does nothing for what is none."""
    owner = evaluate(frame, target.value)
    frame.at(target)
    if isinstance(owner, (Aggregate, Unfinished)):
        setattr(owner, target.attr, value)


def annotated(frame: Frame, node: ast.AnnAssign) -> None:
    """``x: tl.constexpr = ...`` stays a compile-time value; other annotations say nothing."""
    if node.value is None:
        return
    value = evaluate(frame, node.value)
    if is_constexpr(frame, node.annotation):
        frame.at(node)
        value = static(value, f"the constexpr {ast.unparse(node.target)}")
    else:
        value = frame.context.rules.assigned(value)
    store(frame, node.target, value)


def is_constexpr(frame: Frame, annotation: ast.expr) -> bool:
    """Whether an annotation, also a quoted one, means `constexpr`."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value.split(".")[-1].lower() == "constexpr"
    if not isinstance(annotation, (ast.Name, ast.Attribute)):
        return False
    return evaluate(frame, annotation) is Constexpr


def augmented(frame: Frame, node: ast.AugAssign) -> None:
    """``x += y`` is ``x = x + y``."""
    if not isinstance(node.target, ast.Name):
        if isinstance(node.target, ast.Attribute):
            store_attribute(frame, node.target, None)
        what = "assigning to a subscript" if isinstance(node.target, ast.Subscript) else "assigning to an attribute"
        raise frame.fault("TT1002", node.target, what=what, hint=_HINTS.get(what, ""))
    read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
    value = apply_binary(frame, node, node.op, frame.lookup(read), evaluate(frame, node.value))
    frame.bind(node.target.id, frame.context.rules.assigned(value), node)


def expression(frame: Frame, node: ast.Expr) -> None:
    """A call for its effect; a docstring or any other expression does nothing."""
    if not isinstance(node.value, ast.Constant):
        evaluate(frame, node.value)


def assert_(frame: Frame, node: ast.Assert) -> None:
    """Check at compile time what is known then; the rest where the engine checks."""
    test = evaluate(frame, node.test)
    message = "" if node.msg is None else evaluate(frame, node.msg)
    frame.at(node)
    if isinstance(test, TileValue) and test.known is None:
        core.device_assert(test, message)
    else:
        core.static_assert(test, message)


def raise_(frame: Frame, node: ast.Raise) -> None:
    message = "" if node.exc is None else ast.unparse(node.exc)
    raise frame.fault("TT1024", node, what=message)


def for_(frame: Frame, node: ast.For) -> Returned | None:
    return otherwise(frame, node, loops.lower_for(frame, node, lambda body: execute(frame, body)))


def while_(frame: Frame, node: ast.While) -> Returned | None:
    return otherwise(frame, node, loops.lower_while(frame, node, lambda body: execute(frame, body)))


def otherwise(frame: Frame, node: ast.For | ast.While, left: Any) -> Returned | None:
    """Lower the ``else`` of a loop: it runs unless a break has `left` the loop. Raises TT1002, TT1003."""
    if not node.orelse:
        return None
    jump = next((part for part in node.orelse if leaves(part, ast.Break, ast.Continue)), None)
    if jump is not None:
        raise frame.fault("TT1002", jump, what="a break or continue in the else of a loop", hint="")
    if left.known is not None:
        return None if left.known else execute(frame, node.orelse)
    if any(returns(part) for part in node.orelse):
        raise frame.fault("TT1003", node)
    arms = [branches.arm(frame, lambda body=body: execute(frame, body)) for body in ((), node.orelse)]
    branches.merge_names(frame, node, left, arms, stores(node.orelse), frame.parsed.liveness.after[node])
    return None


def function(frame: Frame, node: ast.FunctionDef) -> None:
    """A function inside a function: a value that can be called and passed on."""
    if node.decorator_list:
        hint = "leave the decorator out: what stands in a kernel is written in its language"
        raise frame.fault("TT1002", node, what="a decorated function inside a function", hint=hint)
    frame.bind(node.name, local_function(frame, node, node), node)


_HANDLERS: dict[type[ast.stmt], Callable[[Frame, Any], Returned | None]] = {
    ast.Assign: assign,
    ast.AnnAssign: annotated,
    ast.AugAssign: augmented,
    ast.Expr: expression,
    ast.Assert: assert_,
    ast.Raise: raise_,
    ast.Return: return_,
    ast.Break: leave,
    ast.Continue: leave,
    ast.Pass: lambda frame, node: None,
    ast.FunctionDef: function,
    ast.For: for_,
    ast.While: while_,
}
