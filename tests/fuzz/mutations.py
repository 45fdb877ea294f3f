"""Breaks the text of the corpus' kernels, token by token and node by node. Runs nothing."""

from __future__ import annotations

import ast
import copy
import inspect
import io
import random
import textwrap
import tokenize
from collections.abc import Callable
from typing import Any

WORDS = (
    "0", "1", "-1", "1e30", "None", "True", "'text'", "()", "[]", "{}", "tl", "x", "lambda: 0", "tl.load", "tl.float32",
    "tl.arange(0, 8)", "tl.arange(0, 3)", "+", "-", "*", "@", "**", "//", "%", "<<", "&", "|", "and", "or", "not", "is",
    "in", "if", "else", "for", "while", "return", "yield", "await", "del", "global", "pass", "break", "continue", "(",
    ")", "[", "]", ":", ",", ".", "=", "==", "<", ":=", "->", "import", "1 << 70", "x[0]", "tl.sum", "tl.dot", "f'{x}'",
)  # fmt: skip


def source_of(function: Callable[..., Any]) -> str:
    """The text of a kernel, from its ``def`` on."""
    text = textwrap.dedent(inspect.getsource(function))
    return text[text.index("def ") :]


def by_token(text: str, chance: random.Random) -> str:
    """One token dropped, doubled, exchanged with another, or replaced."""
    tokens = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.string.strip()]
    at = chance.randrange(5, len(tokens))
    lines = text.split("\n")
    (row, first), (last_row, last) = tokens[at].start, tokens[at].end
    if row != last_row:
        return text
    word = tokens[at].string
    new = chance.choice(("", f"{word} {word}", chance.choice(WORDS), chance.choice(tokens).string))
    line = lines[row - 1]
    lines[row - 1] = line[:first] + new + line[last:]
    return "\n".join(lines)


def by_node(text: str, chance: random.Random) -> str:
    """One expression replaced by another of the kernel, or one statement dropped or doubled."""
    tree = ast.parse(text)
    body: Any = tree.body[0]
    places = [
        (node, field, index)
        for node in ast.walk(body)
        for field, value in ast.iter_fields(node)
        if field not in ("args", "decorator_list", "ctx") or not isinstance(node, ast.FunctionDef)
        for index, part in enumerate(value if isinstance(value, list) else [value])
        if isinstance(part, (ast.expr, ast.stmt))
    ]
    node, field, index = chance.choice(places)
    value = getattr(node, field)
    part = value[index] if isinstance(value, list) else value
    if isinstance(part, ast.stmt):
        value[index : index + 1] = chance.choice(([part, part], [ast.Pass()]))
    else:
        others = [each for each in ast.walk(body) if isinstance(each, ast.expr)]
        new = copy.deepcopy(chance.choice(others)) if chance.random() < 0.6 else ast.parse(_word(chance)).body[0]
        new = new.value if isinstance(new, ast.Expr) else new
        if isinstance(value, list):
            value[index] = new
        else:
            setattr(node, field, new)
    return ast.unparse(ast.fix_missing_locations(tree))


def _word(chance: random.Random) -> str:
    while True:
        word = chance.choice(WORDS)
        try:
            ast.parse(word, mode="eval")
        except SyntaxError:
            continue
        return word


def mutant(text: str, seed: int) -> str:
    """A broken kernel; most are no kernels any more, many are no Python any more."""
    chance = random.Random(seed)
    for _ in range(chance.choice((1, 1, 2))):
        try:
            text = chance.choice((by_token, by_node))(text, chance)
        except (SyntaxError, tokenize.TokenError, ValueError, RecursionError, IndentationError):
            continue
    return text
