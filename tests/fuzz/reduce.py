"""Makes a kernel small while something stays true of it: drops statements, replaces expressions by their parts."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

Holds = Callable[[str], bool]


def reduced(text: str, holds: Holds, tries: int = 3000) -> str:
    """The smallest text found for which `holds` is still true.

    >>> reduced("a = 1\\nb = f(2 + 3)\\nc = 4\\n", lambda text: "f(" in text)
    'b = f(2)'
    """
    best, left = ast.unparse(ast.parse(text)), tries
    shrunk = True
    while shrunk and left > 0:
        shrunk = False
        for candidate in candidates(best):
            left -= 1
            if left <= 0:
                break
            if len(candidate) < len(best) and _holds(holds, candidate):
                best, shrunk = candidate, True
                break
    return best


def _holds(holds: Holds, candidate: str) -> bool:
    try:
        return holds(candidate)
    except Exception:  # a candidate that is no kernel any more shows nothing
        return False


def candidates(text: str) -> Iterator[str]:
    """Smaller texts, the boldest cuts first."""
    tree = ast.parse(text)
    for number, node in enumerate(ast.walk(tree)):
        for name in ("body", "orelse"):
            for index in range(
                len(getattr(node, name, None) or ()) if isinstance(getattr(node, name, None), list) else 0
            ):
                yield from _edited(tree, number, lambda node, name=name, index=index: _drop(node, name, index))
    fixed = _addresses(tree)
    for number, node in enumerate(ast.walk(tree)):
        if node in fixed:
            continue
        for field, value in ast.iter_fields(node):
            values = value if isinstance(value, list) else [value]
            for index, inner in enumerate(values):
                if isinstance(inner, ast.expr) and inner not in fixed:
                    for place in range(len(_parts(inner))):
                        yield from _edited(
                            tree, number, lambda node, f=field, i=index, p=place: _replace(node, f, i, p)
                        )


def _addresses(tree: ast.AST) -> set[ast.AST]:
    """What says where accesses go: without it, elements of a store might overlap, and their order matter."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("load", "store"):
            for part in (node.args[0], *(keyword.value for keyword in node.keywords if keyword.arg == "mask")):
                found.update(ast.walk(part))
    return found


def _edited(tree: ast.Module, number: int, edit: Callable[[ast.AST], bool | None]) -> Iterator[str]:
    again = copy.deepcopy(tree)
    if edit(list(ast.walk(again))[number]) is not False:
        try:
            yield ast.unparse(ast.fix_missing_locations(again))
        except Exception:  # a tree without a text is no candidate
            return


def _drop(node: ast.AST, name: str, index: int) -> bool:
    statements = getattr(node, name)
    if len(statements) == 1 and name == "body" and not isinstance(node, ast.Module):
        return False
    del statements[index]
    return True


def _parts(node: ast.expr) -> list[ast.expr]:
    inner = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    return [part for part in inner if not (isinstance(part, ast.Attribute) and isinstance(node, ast.Call))]


def _replace(node: ast.AST, field: str, index: int, place: int) -> bool:
    value = getattr(node, field)
    target = value[index] if isinstance(value, list) else value
    part = _parts(target)[place]
    if isinstance(value, list):
        value[index] = part
    else:
        setattr(node, field, part)
    return True
