"""Python's syntax in kernels, row by row: what has a meaning has Python's on every engine, the rest is refused."""

from __future__ import annotations

import ast
import textwrap
from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.samples import run_sample
from tinyton_lab.base.diagnostics import TinytonError

ENGINES = ["eager", "interpreter", "cpu", "sim"]
START = np.int32([3, 1, 4, 1, 5, 9, 2, 6])

AROUND = """
SCALE = tl.constexpr(3)


@tt.jit
def affine(value, factor=2, *, offset=1):
    '''A helper with a default and a keyword.'''
    return value * factor + offset


@tt.jit
def both(value) -> tl.tensor:
    return value, value + 1


@tt.jit
def early(value, flag):
    if flag:
        return value
    value += 100
    return value


@tt.jit
def nothing(value):
    return
"""

# Each body binds `r`, given the tile `x` and the scalar `n`, which is 1 and not known at compile time.
MEANINGS: dict[str, tuple[str, Any]] = {
    "binary operators": (
        "r = ((x + 7 - 2) * 3 // 2 % 50 << 2 >> 1 | 64) & 127 ^ 5",
        ((START + 5) * 3 // 2 % 50 << 2 >> 1 | 64) & 127 ^ 5,
    ),
    "division": ("r = (x / 2 * 2).to(tl.int32)", START),
    "power": ("r = x ** 2 + 2 ** 3", START**2 + 8),
    "unary operators": ("r = -x + ~x + +x + (not n)", ~START),
    "comparisons": ("r = tl.where((x == 1) | (x != 1) & (x < 5) & (x <= 9) & (x > 0) & (x >= 1), x, 0)",
                    np.where(START < 5, START, 0)),
    "a chain of comparisons": ("r = tl.where(1 < x <= 5, x, 0)", np.where((START > 1) & (START <= 5), START, 0)),
    "is and is not": ("y = None\nr = x if y is None and x is not None else x + 1", START),
    "in and not in": ("r = x + (1 if 'a' in ('a', 'b') and 3 not in (1, 2) else 0)", START + 1),
    "and, or, not": ("r = tl.where(x > 1 and not x > 4 or x == 9, x, 0)",
                     np.where((START > 1) & (START <= 4) | (START == 9), START, 0)),
    "conditional expression": ("r = x + (1 if n > 0 else 2) + (3 if SCALE == 3 else 4)", START + 4),
    "if, elif, else": ("if n > 4:\n    r = x\nelif n > 0:\n    r = x + 1\nelse:\n    r = x + 2", START + 1),
    "pass": ("if n > 4:\n    pass\nr = x", START),
    "for over range": ("for i in range(4):\n    x += i\nr = x", START + 6),
    "for over tl.range": ("for i in tl.range(4, 0, -1, num_stages=2):\n    x += i\nr = x", START + 10),
    "for over static_range": ("for i in tl.static_range(3):\n    x += i * SCALE\nr = x", START + 9),
    "for over a tuple": ("for i, j in ((1, 2), (n, x)):\n    x = x * i + j\nr = x", 2 * START + 2),
    "while": ("i = 0\nwhile i < n + 2:\n    i += 1\n    x += i\nr = x", START + 6),
    "break": ("for i in range(10):\n    if i > n + 1:\n        break\n    x += i\nr = x", START + 3),
    "continue": ("for i in range(4):\n    if i == n:\n        continue\n    x += i\nr = x", START + 5),
    "for and else": ("for i in range(3):\n    x += i\nelse:\n    x *= 2\nr = x", (START + 3) * 2),
    "while and else": ("i = 0\nwhile i < 3:\n    i += n\nelse:\n    x += i\nr = x", START + 3),
    "else of a loop that is left": (
        "y = x\nfor i in range(5):\n    if i == n:\n        break\n    x += 1\nelse:\n    y = x * 100\nr = x + y",
        2 * START + 1,
    ),
    "else of a loop that might be left": (
        "y = x\nfor i in range(5):\n    if i > 5 * n:\n        break\n    x += 1\nelse:\n    y = x * 100\nr = x + y",
        (START + 5) * 101,
    ),
    "else of a while that might be left": (
        "i = 0\nwhile i < 4:\n    i += 1\n    if i == n + 1:\n        break\nelse:\n    i = 50\nr = x + i", START + 2
    ),
    "else of an unrolled loop": (
        "for i in tl.static_range(3):\n    if i == 1:\n        break\nelse:\n    x += 50\n"
        "for i in tl.static_range(3):\n    x += i\nelse:\n    x *= 2\nr = x",
        (START + 3) * 2,
    ),
    "augmented assignment": ("x -= 1\nx *= 2\nx //= 1\nx %= 100\nx <<= 1\nx >>= 1\nx &= 255\nx |= 0\nx ^= 0\nr = x",
                             (START - 1) * 2),
    "annotated assignment": ("c: tl.constexpr = 8\ny: tl.tensor = x\nr = y + tl.arange(0, c)", START + np.arange(8)),
    "quoted annotation": ("c: 'tl.constexpr' = 8\nr = x + tl.arange(0, c)", START + np.arange(8)),
    "annotation, then assignment": ("c: tl.constexpr\nc = 8\nr = x + tl.arange(0, c)", START + np.arange(8)),
    "two targets": ("a = b = x\nr = a + b", 2 * START),
    "tuple unpacking": ("a, (b, [c, d]) = (x, (1, (2, 3)))\nr = a + b + c + d", START + 6),
    "swap": ("a, b = x, x + 5\na, b = b, a\nr = a - b", 0 * START + 5),
    "starred target": ("a, *b, c = (x, 1, 2, 3)\nr = a + b[0] + b[1] * 10 + c * len(b)", START + 27),
    "starred target that gets nothing": ("a, *b = (x,)\nr = a + len(b + (1,))", START + 1),
    "starred target of a loop": ("for a, *b in ((1, 2, 3), (4, x)):\n    x = x + a + (b + (n,))[0]\nr = x",
                                 2 * START + 7),
    "starred items and arguments": ("t = (x, 3)\nu = (1, *t)\nr = tl.maximum(*t) + u[2] + max(*u[1:], n)",
                                    np.maximum(START, 3) * 2 + 3),
    "assignment expression": ("r = (y := x + 1) * 2 + y", 3 * (START + 1)),
    "assignment expression in a condition": ("if (m := n + 1) > 1:\n    r = x + m\nelse:\n    r = x - m", START + 2),
    "list": ("t = [x, 1]\nr = t[0] + t[1]", START + 1),
    "list comprehension": ("r = sum([x * i for i in range(4) if i != 2])", 4 * START),
    "generator expression": ("r = sum(x * i for i in (1, 2)) + max(i for i in (1, n + 4))", 3 * START + 5),
    "generator expression for a tuple": ("t = tuple(x + i for i in (1, 2))\nr = t[0] + t[-1]", 2 * START + 3),
    "subscripts": ("t = (x, 1, 2, 3)\nr = t[0] + t[-1] + t[1:3][1] + tl.sum(x[:, None], 1)", 2 * START + 5),
    "ellipsis": ("r = tl.reshape(x[..., None], (8,))", START),
    "f-string in an assertion": ("assert n == 1, f'{x.dtype} {x.shape[0]:>4} {SCALE!r}'\nr = x", START),
    "f-string": ("s = f'{SCALE + 1:02d}'\nr = x + (1 if s == '04' else 0)", START + 1),
    "string": ("s: tl.constexpr = 'ab' + 'c'\nr = x + (1 if s == 'abc' else 0)", START + 1),
    "docstring and other expressions": ("'a text'\nx + 1\nr = x", START),
    "helper with defaults and keywords": ("r = affine(x) + affine(x, 3) + affine(value=x, offset=n)", 7 * START + 3),
    "helper that returns a tuple": ("a, b = both(x)\nr = a + b", 2 * START + 1),
    "helper that returns early": ("r = early(x, n > 0) + early(x, n > 1)", 2 * START + 100),
    "helper that returns nothing": ("y = nothing(x)\nr = x if y is None else x + 1", START),
    "method": ("r = x.to(tl.float32).sum(0).to(tl.int32) + x", START + 31),
    "lambda": ("f = lambda a, b=2, *, c=n: a * b + c\nr = f(x) + f(x, 3, c=0)", 5 * START + 1),
    "lambda that combines": ("r = x + tl.reduce(x, 0, lambda a, b: a + b)", START + 31),
    "lambda that combines with a value from around it": (
        "r = tl.associative_scan(x, 0, lambda a, b: tl.minimum(a + b, 10 * n))", np.minimum(np.cumsum(START), 10)
    ),
    "function in a function": (
        "def f(a, b: tl.constexpr = 8):\n    if n > 1:\n        return a\n    return a + tl.arange(0, b) * SCALE\n"
        "r = f(x)",
        START + 3 * np.arange(8),
    ),
    "function in a function that combines and branches": (
        "def f(a, b):\n    s = a + b\n    if s > 10 * n:\n        s = 10\n    return s\nr = x + tl.reduce(x, 0, f)",
        START + 10,
    ),
    "function in a function in a loop": (
        "for i in range(3):\n    k = i * 2\n    def f(a):\n        return a + k + i\n    x = f(x)\nr = x", START + 9
    ),
    "function of scalars in a function": (
        "def f(a):\n    if a > 3 * n:\n        return a * 2\n    return a - n\nr = tl.map_elementwise(f, x)",
        np.where(START > 3, START * 2, START - 1),
    ),
    "names that a function sees change": (
        "k = 1\nf = lambda a: a + k\nfor i in range(2):\n    k = i * 10\nif n > 0:\n    k += 5\nr = f(x)", START + 15
    ),
    "function in a function in a function": (
        "def f(a):\n    def g(b):\n        return b * a\n    return g(a + n)\nr = f(x)", (START + 1) * START
    ),
    "builtins of Python": ("r = x + min(n, 2) + max(3, n) + abs(-n) + len((1, 2)) + int(2.7) + pow(2, 3)", START + 17),
    "raise that is not reached": ("if SCALE != 3:\n    raise ValueError('no')\nr = x", START),
    "type asked for": ("r = x + (1 if isinstance(SCALE, tl.constexpr) and isinstance(x, tl.tensor) else 0)", START + 1),
}  # fmt: skip

REFUSED: dict[str, tuple[str, str]] = {
    "try": ("try:\n    r = x\nexcept ValueError:\n    r = x", "TT1002"),
    "with": ("with x:\n    r = x", "TT1002"),
    "match": ("match n:\n    case 1:\n        r = x", "TT1002"),
    "del": ("y = x\ndel y\nr = x", "TT1002"),
    "import": ("import math\nr = x", "TT1002"),
    "global": ("global r\nr = x", "TT1002"),
    "class": ("class A:\n    pass\nr = x", "TT1002"),
    "dict": ("r = {1: x}[1]", "TT1002"),
    "set": ("r = x + len({1, 2})", "TT1002"),
    "dict comprehension": ("r = {i: x for i in (1, 2)}[1]", "TT1002"),
    "set comprehension": ("r = x + len({i for i in (1, 2)})", "TT1002"),
    "yield": ("r = (yield x)", "TT1002"),
    "bytes": ("r = x + len(b'ab')", "TT1002"),
    "complex": ("r = x + 1j", "TT1002"),
    "operator @": ("r = x @ x", "TT1002"),
    "keywords from a dict": ("r = tl.maximum(**both)", "TT1002"),
    "subscript assigned": ("x[0] = 1\nr = x", "TT1002"),
    "subscript augmented": ("x[0] += 1\nr = x", "TT1002"),
    "attribute assigned": ("x.y = 1\nr = x", "TT1002"),
    "return in a loop": ("for i in range(3):\n    return\nr = x", "TT1003"),
    "return in the else of a loop": (
        "for i in range(3):\n    if i > n:\n        break\nelse:\n    return\nr = x",
        "TT1003",
    ),
    "break in the else of a loop": (
        "for j in range(2):\n    for i in range(3):\n        x += 1\n    else:\n        break\nr = x",
        "TT1002",
    ),
    "raise": ("raise ValueError('no')\nr = x", "TT1024"),
    "recursion": ("def f(a):\n    return f(a)\nr = f(x)", "TT1004"),
    "async function": ("async def f(a):\n    return a\nr = x", "TT1002"),
    "decorated function in a function": ("@tt.jit\ndef f(a):\n    return a\nr = f(x)", "TT1002"),
    "starred parameters of a function in a function": ("f = lambda *a: a[0]\nr = f(x)", "TT1002"),
    "arguments that do not bind": ("f = lambda a: a\nr = f(x, x)", "TT1007"),
    "assignment expression that may be skipped": ("r = x if n > 1 else (y := x)", "TT1002"),
    "assignment expression in and": ("r = x if n > 0 and (y := n) else x", "TT1002"),
    "assignment expression in the condition of while": ("while (i := n) < 0:\n    x += i\nr = x", "TT1002"),
    "assignment expression in a comprehension": ("r = sum((y := x) * i for i in (1, 2))", "TT1002"),
    "starred target in a comprehension": ("r = sum(a for a, *b in ((x, 1), (x, 2)))", "TT1002"),
    "too few values for a starred target": ("a, b, *c = (x,)\nr = a", "TT1019"),
    "too many values": ("a, b = (x, 1, 2)\nr = a", "TT1019"),
    "unpacking a tile": ("a, b = x\nr = a", "TT1019"),
    "an assertion that fails": ("assert SCALE == 4, f'{SCALE} is no 4'\nr = x", "TT1012"),
    "name on one path only": ("if n > 0:\n    r = x\n", "TT1009"),
    "branch on a tile": ("r = x if x > 0 else x + 1", "TT2025"),
    "combining function of another type": ("r = x + tl.reduce(x, 0, lambda a, b: a + x)", "TT2023"),
    "plain Python function": ("r = ast_walk(x)", "TT1005"),
}


def store(body: str, engine: str) -> np.ndarray:
    """What a kernel makes of `START`: its body binds `r`, given `x` and `n`."""
    at = "o + tl.arange(0, 8)"
    head = f"{AROUND}\n@tt.jit\ndef kernel(o):\n    x = tl.load({at})\n    n = tl.num_programs(0)\n"
    space: dict[str, Any] = {"tl": tl, "tt": tt, "ast_walk": ast.walk}
    run_sample(f"{head}{textwrap.indent(body, '    ')}\n    tl.store({at}, r)\n", "syntax.py", space)
    out = START.copy()
    space["kernel"][(1,)](out, backend=engine)
    return out


@pytest.mark.parametrize("engine", ENGINES)
def test_what_has_a_meaning_has_that_of_python(engine: str):
    for name, (body, wanted) in MEANINGS.items():
        np.testing.assert_array_equal(store(body, engine), wanted, err_msg=name)


@pytest.mark.parametrize("name", REFUSED)
def test_the_rest_is_a_located_fault(name: str):
    body, code = REFUSED[name]
    for engine in ("interpreter", "eager"):
        with pytest.raises(TinytonError) as caught:
            store(body, engine)
        assert caught.value.code == code, str(caught.value)
        assert caught.value.span is not None
    first = AROUND.count("\n") + 6
    assert first <= caught.value.span.line <= first + body.count("\n") + 1


@tt.jit
def limited_sums(x, limits, out, N: tl.constexpr):
    i = tl.arange(0, N)
    limit = tl.load(limits + tl.program_id(0))
    total = tl.reduce(tl.load(x + i), 0, lambda a, b: tl.minimum(a + b, limit))
    tl.store(out + tl.program_id(0), total)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_combining_function_sees_values_of_its_program(engine: str):
    x, limits, out = np.ones(1024, np.int32), np.int32([7, 5000]), np.zeros(2, np.int32)
    limited_sums[(2,)](x, limits, out, N=1024, backend=engine)
    assert out.tolist() == [7, 1024]
