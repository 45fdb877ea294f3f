"""Kernels with random changes to their syntax tree lower, or are refused by a located fault: nothing else happens."""

from __future__ import annotations

import ast
import copy
import linecache
import random
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import tinyton_lab.language as tl
from tests.frontend import kernels
from tests.frontend.lowering import Device, argument
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.frontend import lower, parse
from tinyton_lab.ir.verify import verify

EXPRESSIONS = [
    "None", "0", "1", "-1", "2.5", "'text'", "True", "(1, 2)", "()", "x", "out", "i", "n", "N", "BLOCK", "acc", "tl",
    "tl.float32", "tl.load", "tl.arange(0, 8)", "tl.zeros((4, 4), tl.int32)", "tl.program_id(0)", "1 // 0", "1 << 70",
    "x[0]", "i[:, None]", "i[None]", "lambda v: v", "[k for k in (1, 2)]", "{}", "min(1, n)", "max(i, 2)", "len(i)",
    "abs(-1.5)", "float('inf')", "range(3)", "i.shape", "i.dtype", "x.dtype.element_ty", "n.to(tl.int8)", "not i",
    "i and n", "1 < 2 < n", "n is None", "n if n > 0 else 1", "n if True else 'a'", "tl.sum(i)", "tl.max(i, 5)",
    "print", "int('x')", "missing", "tl.missing", "i @ i", "x + x", "x - 1", "~x", "-x", "2 ** 200", "'a' * 10**9",
    "tl.cast(i, 'f')", "tl.where(i, 1, 'a')", "tl.reduce(i, 0, 3)", "tl.full((8,), n, tl.float16)", "f'{i} {n}'",
    "tl.softmax(i * 1.0)", "tl.expand_dims(i, 7)", "tl.reshape(i, (3,))", "tl.trans(i)", "tl.load(*x)",
    "isinstance(i, tl.tensor)",
]  # fmt: skip
STATEMENTS = [
    "pass", "break", "return", "return 1", "i = None", "acc = 1", "acc = 'a'", "n += 1", "del i", "x = i", "a, b = i",
    "for n in range(3):\n    pass", "while n:\n    n = n - 1", "if i:\n    pass", "if n > 1:\n    acc = 5",
    "raise ValueError()", "assert n", "assert i > 0", "import os", "global n", "def f():\n    pass",
    "with x:\n    pass",
    "i: tl.constexpr = n", "x.y = 3", "x[0] = 3", "try:\n    pass\nexcept Exception:\n    pass", "tl.static_assert(0)",
    "for a in (1, 2):\n    n = n + a", "tl.device_print('a', n)", "tl.assume(n > 0)", "acc = (1, (n, i))",
    "n = acc = 3",
    "tl.debug_barrier()", "(a, b), c = (1, n), i",
]  # fmt: skip


class Mutation(ast.NodeTransformer):
    """Change the node number `target`, counted in the order of visits."""

    def __init__(self, chance: random.Random, target: int) -> None:
        self.chance, self.left = chance, target

    def visit(self, node: ast.AST) -> Any:
        self.left -= 1
        if self.left == 0:
            return self.changed(node)
        return self.generic_visit(node)

    def changed(self, node: ast.AST) -> Any:
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef):
            new = ast.parse(self.chance.choice(STATEMENTS)).body
            return self.chance.choice([new, [*new, node], [node, *new], [node, node]])
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return ast.parse(self.chance.choice(EXPRESSIONS), mode="eval").body
        if isinstance(node, ast.operator):
            kinds = [ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.MatMult]
            return self.chance.choice(kinds)()
        if isinstance(node, ast.cmpop):
            return self.chance.choice([ast.Lt, ast.Is, ast.IsNot, ast.In, ast.NotEq])()
        return node


def mutants(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Texts of mutated kernels, each with the name of what it came from."""
    chance = random.Random(seed)
    names = sorted(kernels.CASES)
    for _ in range(count):
        name = chance.choice(names)
        tree = copy.deepcopy(parse(kernels.CASES[name][0].function).node)
        tree.decorator_list = []
        for _ in range(chance.choice([1, 1, 2, 3])):
            size = sum(1 for _ in ast.walk(tree))
            mutation = Mutation(chance, chance.randrange(1, size))
            tree.body = [mutation.visit(statement) for statement in tree.body]
            tree.body = [s for part in tree.body for s in (part if isinstance(part, list) else [part])]
        try:
            text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        except ValueError:  # not every tree is a text
            continue
        if is_python(text):
            yield name, text


def is_python(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def outcome(name: str, text: str) -> str:
    """The code of the fault, or "" where the mutant lowers."""
    label = "mutant.py"
    linecache.cache[label] = (len(text), None, text.splitlines(keepends=True), label)
    space = {"tl": tl, "scaled": kernels.scaled, "pair": kernels.pair}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, label, "exec", dont_inherit=True), space)
    _, given = kernels.CASES[name]
    kernel = Device(space[kernels.CASES[name][0].function.__name__])
    try:
        function = lower(kernel, {key: argument(spec) for key, spec in given.items()}).function
    except TinytonError as fault:
        assert fault.span is not None, text
        assert str(fault)
        return fault.code
    verify(function)
    return ""


@pytest.mark.parametrize("seed", range(4))
def test_mutants_lower_or_are_refused(seed: int):
    codes: set[str] = set()
    for name, text in mutants(150, seed):
        try:
            codes.add(outcome(name, text))
        except TinytonError as fault:
            pytest.fail(f"{fault}\n{text}")
    assert len(codes) > 10
