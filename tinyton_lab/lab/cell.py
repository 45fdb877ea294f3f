"""Runs the text of a cell as ordinary Python in the user's namespace, under a label that is the same in every run."""

from __future__ import annotations

import ast
import linecache
from typing import Any


def kernel_name(source: str) -> str:
    """The name a cell goes by: its first decorated function, else its first function; "" where there is none.

    >>> kernel_name("import x\\n@jit\\ndef vadd(x): ...")
    'vadd'
    """
    try:
        functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    except (SyntaxError, ValueError):
        return ""
    decorated = [node for node in functions if node.decorator_list]
    return (decorated or functions)[0].name if functions else ""


def register(label: str, source: str) -> None:
    """Let `linecache`, `inspect` and tracebacks find the text under `label`."""
    # No time of change: linecache then never looks for a file of that name.
    linecache.cache[label] = (len(source), None, source.splitlines(keepends=True), label)


def run(shell: Any, source: str, label: str, first_line: int = 1) -> None:
    """Run `source` in the namespace of an IPython shell; the value of a last expression is displayed as usual.

    `first_line` is the number that its first line has for the person who wrote it: 2 below a magic.
    """
    __tracebackhide__ = True
    # The shell takes empty lines off the start; they count for whoever looks for a line.
    empty = source[: len(source) - len(source.lstrip())].count("\n")
    python = "\n" * (first_line - 1 + empty) + shell.transform_cell(source)
    register(label, python)
    tree = shell.transform_ast(ast.parse(python, filename=label))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if tree.body:
        exec(shell.compile(tree, label, "exec"), shell.user_global_ns, shell.user_ns)
    if last is not None and not python.rstrip().endswith(";"):
        exec(shell.compile(ast.Interactive([last]), label, "single"), shell.user_global_ns, shell.user_ns)
    elif last is not None:
        exec(shell.compile(ast.Module([last], []), label, "exec"), shell.user_global_ns, shell.user_ns)
