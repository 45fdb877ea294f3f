"""Random programs of nested branches, loops, returns and calls do as IR what they do as Python line by line."""

from __future__ import annotations

import linecache
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl
from tinyton_lab.base.diagnostics import TinytonError

NAMES = "abcde"
MAY_REFUSE = {"TT1032"}


class Writer:
    """Writes the body of one function."""

    def __init__(self, chance: random.Random, helpers: list[str], names: str = NAMES) -> None:
        self.chance, self.helpers, self.names = chance, helpers, names
        self.seen = names  # what it reads; `names` are what it binds
        self.loops = 0

    def expression(self, depth: int = 0) -> str:
        pick = self.chance.randrange(9 if depth < 3 else 3)
        if pick < 2:
            return self.chance.choice(self.seen)
        if pick == 2:
            return str(self.chance.randrange(-3, 8))
        left, right = self.expression(depth + 1), self.expression(depth + 1)
        if pick == 3 and self.helpers and self.loops < 2:
            return f"{self.chance.choice(self.helpers)}({left}, {right})"
        if pick == 4:
            return f"({left} if {self.condition(depth + 1)} else {right})"
        if pick == 5:
            return f"tl.where({self.condition(depth + 1)}, {left}, {right})"
        return f"({left} {self.chance.choice('+-*&|^')} {right})"

    def condition(self, depth: int = 0) -> str:
        left, right = self.expression(depth + 1), self.expression(depth + 1)
        simple = f"{left} {self.chance.choice(['<', '<=', '==', '!=', '>', '>='])} {right}"
        pick = self.chance.randrange(8)
        if depth < 2 and pick == 0:
            return f"({simple} and {self.condition(depth + 1)})"
        if depth < 2 and pick == 1:
            return f"({simple} or not {self.condition(depth + 1)})"
        if pick == 2:
            return f"0 <= {left} < 9"
        return self.chance.choice(["True", "False"]) if pick == 3 and depth == 0 else simple

    def block(self, indent: int, depth: int, returns: bool) -> Iterator[str]:
        for _ in range(self.chance.randrange(1, 4)):
            yield from self.statement(indent, depth, returns)

    def statement(self, indent: int, depth: int, returns: bool) -> Iterator[str]:
        pad = "    " * indent
        pick = self.chance.randrange(10 if depth < 3 else 4)
        if pick < 2:
            yield f"{pad}{self.chance.choice(self.names)} = {self.expression()}"
        elif pick == 2:
            yield f"{pad}{self.chance.choice(self.names)} {self.chance.choice('+-*^')}= {self.expression()}"
        elif pick == 3:
            first, second = self.chance.sample(self.names, 2)
            yield f"{pad}{first}, {second} = {self.expression()}, {first}"
        elif pick < 7:
            yield f"{pad}if {self.condition()}:"
            yield from self.block(indent + 1, depth + 1, returns)
            if returns and self.loops == 0 and self.chance.random() < 0.3:
                yield f"{pad}    return {self.expression()}"
            elif self.loops and self.chance.random() < 0.3:
                yield f"{pad}    {self.chance.choice(['break', 'continue'])}"
            if self.chance.random() < 0.6:
                yield f"{pad}else:"
                yield from self.block(indent + 1, depth + 1, returns)
        else:
            yield from self.loop(pad, indent, depth)

    def loop(self, pad: str, indent: int, depth: int) -> Iterator[str]:
        kind = self.chance.randrange(4)
        name = self.chance.choice(self.names if kind == 0 else "xyz")
        self.loops += 1
        if kind == 3:
            yield f"{pad}w{indent} = 0"
            yield f"{pad}while w{indent} < 3 and {self.condition(1)}:"
            yield f"{pad}    w{indent} += 1"
        else:
            count = self.chance.choice(
                ["range(3)", "range(4, 0, -2)", "range(a & 3)", "tl.static_range(2)", "range(0)"]
            )
            yield f"{pad}for {name} in {count}:"
            yield f"{pad}    {self.chance.choice(self.names)} += {name}"
        yield from self.block(indent + 1, depth + 1, False)
        self.loops -= 1
        if self.chance.random() < 0.2:
            yield f"{pad}else:"
            yield f"{pad}    {self.chance.choice(self.names)} = {self.expression(1)}"


def program(seed: int) -> str:
    """Two helpers, and a kernel with two functions of its own, which see its names."""
    chance = random.Random(seed)
    lines: list[str] = []
    for name in ("f", "g"):
        writer = Writer(chance, ["f"] if name == "g" else [], "ab")
        lines += ["@tt.jit", f"def {name}(a, b):", *writer.block(1, 1, True), f"    return {writer.expression()}", ""]
    body = Writer(chance, ["f", "g", "h", "k"])
    lines_inside = [f"    h = lambda a, b: {Writer(chance, ['f']).expression()}", "    def k(a, b):"]
    inner = Writer(chance, ["f", "h"], "ab")
    inner.seen = NAMES
    lines_inside += [*inner.block(2, 1, True), f"        return {inner.expression()}"]
    starts = [f"    {name} = tl.load(start + {index})" for index, name in enumerate(NAMES)]
    ends = [f"    tl.store(out + {index}, {name})" for index, name in enumerate(NAMES)]
    lines += ["@tt.jit", "def kernel(start, out):", *starts, *lines_inside]
    return "\n".join([*lines, *body.block(1, 0, False), *ends, ""])


def results(seed: int) -> dict[str, list[int]] | None:
    """What each engine computes; None where the program is refused for a reason that is fine."""
    text, label = program(seed), f"program{seed}.py"
    linecache.cache[label] = (len(text), None, text.splitlines(keepends=True), label)
    space: dict[str, Any] = {"tl": tl, "tt": tt}
    exec(compile(text, label, "exec", dont_inherit=True), space)
    found: dict[str, list[int]] = {}
    for engine in ("interpreter", "eager"):
        out = np.zeros(len(NAMES), np.int32)
        try:
            space["kernel"][(1,)](np.int32([1, 2, -3, 5, 7]), out, backend=engine)
        except TinytonError as fault:
            assert fault.code in MAY_REFUSE, f"{fault}\n{text}"
            return None
        found[engine] = out.tolist()
    return found


@pytest.mark.parametrize("first", range(17, 37, 5))
def test_random_programs(first: int):
    ran = 0
    for seed in range(first, first + 5):
        found = results(seed)
        if found is not None:
            ran += 1
            assert found["interpreter"] == found["eager"], program(seed)
    assert ran > 2
