"""Which names a statement stores and which are still needed after it: a backward walk over the syntax tree.

From these sets the front end knows what a loop carries and what a branch must merge, without a trial run of the body.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

Names = frozenset[str]
NOTHING: Names = frozenset()


def reads(node: ast.AST | None) -> Names:
    """All names that a tree reads."""
    if node is None:
        return NOTHING
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


def stores(nodes: Iterable[ast.AST]) -> Names:
    """All names that trees store."""
    found = [n for node in nodes for n in walk(node)]
    names = frozenset(n.id for n in found if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    return names | frozenset(n.name for n in found if isinstance(n, ast.FunctionDef))


def returns(node: ast.AST) -> bool:
    """Whether a statement contains a ``return``."""
    return any(isinstance(n, ast.Return) for n in walk(node))


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """A tree's nodes but for the insides of functions that it makes."""
    yield node
    if not isinstance(node, ast.FunctionDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from walk(child)


def captured(function: ast.FunctionDef) -> Names:
    """The names that the functions made in a function may read whenever they are called."""
    made = (n for n in ast.walk(function) if n is not function and isinstance(n, ast.FunctionDef | ast.Lambda))
    return frozenset[str]().union(*(reads(n) for n in made))


def leaves(node: ast.AST, *kinds: type[ast.stmt]) -> bool:
    """Whether a statement contains a ``break`` or ``continue`` of the loop it stands in."""
    if isinstance(node, kinds):
        return True
    if isinstance(node, ast.For | ast.While):
        return False
    return any(leaves(child, *kinds) for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt))


def always_leaves(statements: Sequence[ast.stmt]) -> bool:
    """Whether statements end the turn of their loop whatever happens."""
    return any(
        isinstance(s, ast.Break | ast.Continue)
        or (isinstance(s, ast.If) and always_leaves(s.body) and always_leaves(s.orelse))
        for s in statements
    )


def breaks(loop: ast.For | ast.While) -> bool:
    """Whether a loop may be left by ``break``."""
    return any(leaves(statement, ast.Break) for statement in loop.body)


class Liveness:
    """Names needed after each branch and loop (`after`), and at each turn of a loop (`header`)."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.after: dict[ast.stmt, Names] = {}
        self.header: dict[ast.stmt, Names] = {}
        self.stored: dict[ast.stmt, Names] = {}
        self._loops: list[tuple[Names, Names]] = []
        self._always = captured(function)
        self._block(function.body, self._always)

    def _block(self, statements: Sequence[ast.stmt], live: Names) -> Names:
        for statement in reversed(statements):
            live = self._statement(statement, live) | self._always
        return live

    def _statement(self, statement: ast.stmt, live: Names) -> Names:
        match statement:
            case ast.Return():
                return reads(statement.value)
            case ast.Break() if self._loops:
                return self._loops[-1][0]
            case ast.Continue() if self._loops:
                return self._loops[-1][1]
            case ast.Assign() | ast.AnnAssign():
                return (live - stores([statement])) | reads(statement)
            case ast.AugAssign():
                return live | reads(statement) | stores([statement.target])
            case ast.If():
                self.after[statement] = live
                self.stored[statement] = stores([*statement.body, *statement.orelse])
                arms = self._block(statement.body, live) | self._block(statement.orelse, live)
                return arms | reads(statement.test)
            case ast.For():
                return self._loop(statement, stores([statement.target]), reads(statement.iter), NOTHING, live)
            case ast.While():
                return self._loop(statement, NOTHING, NOTHING, reads(statement.test), live)
            case _:
                return live | reads(statement)

    def _loop(self, loop: ast.For | ast.While, bound: Names, before: Names, each: Names, live: Names) -> Names:
        self.after[loop] = live
        live = self._block(loop.orelse, live) | live
        self.stored[loop] = stores(loop.body) | bound
        header = live | each
        while True:  # a name read at the top of the body is needed at its end
            self._loops.append((live, header))
            again = ((self._block(loop.body, header) | each) - bound) | live
            self._loops.pop()
            if again == header:
                break
            header = again | header
        self.header[loop] = header
        return header | before
