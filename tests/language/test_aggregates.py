"""Classes that authors write: fields, methods, operators, in loops, branches and helpers, on every engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.samples import run_sample
from tinyton_lab import triton_compat
from tinyton_lab.base.diagnostics import TinytonError

ENGINES = ["eager", "interpreter", "cpu", "sim"]
START = np.int32([3, 1, 4, 1, 5, 9, 2, 6])

CLASSES = """
@tt.aggregate
class Pair:
    a: tl.tensor
    b: tl.tensor

    def swapped(self):
        return Pair(self.b, self.a)

    def __add__(self, other):
        return Pair(self.a + other.a, self.b + other.b)

    def __radd__(self, other):
        return Pair(other + self.a, other + self.b)

    def __neg__(self):
        return Pair(-self.a, -self.b)

    def __lt__(self, other):
        return self.a < other.a

    def __eq__(self, other):
        return self.a == other.a

    def __getitem__(self, index: tl.constexpr):
        return self.a if index == 0 else self.b


@tt.aggregate
class Scaled:
    value: tl.tensor
    FACTOR: tl.constexpr = 3

    @tt.jit
    def times(self, more=1):
        return self.value * self.FACTOR * more

    @tt.constexpr_function
    def twice_the_factor(self):
        return 2 * self.FACTOR

    @staticmethod
    @tt.jit
    def of(value):
        return Scaled(value, 5)

    @property
    def negative(self):
        return -self.value


@tt.aggregate
class Running:
    pair: Pair
    scaled: Scaled
    parts: tl.tuple
    kind: tl.constexpr

    @tt.jit
    def __init__(self, x, kind: tl.constexpr = "sum"):
        self.kind = kind
        self.pair = Pair(x, x)
        total = x
        if tl.program_id(0) < 1:
            total += 2
        else:
            total = x * 7
        for i in range(3):
            total = total + i
        self.scaled = Scaled(total, FACTOR=2)
        self.parts = (x, total)

    def step(self, i):
        pair = Pair(self.pair.a + i, self.pair.b)
        return tl.aggregate_replace(self, pair=pair, parts=(self.parts[1], self.parts[0]))


@tt.aggregate
class Counted:
    n: tl.tensor
    LIMIT: tl.constexpr

    def __init__(self, n):
        self.n = n
        self.n += 1
        self.LIMIT = 4
        if self.LIMIT > 3:
            return
        self.n = n * 100


@tt.aggregate
class Named(Scaled):
    bias: tl.tensor = 7

    def biased(self):
        return self.times() + self.bias


@tt.aggregate
class Sizes:
    ROWS: tl.constexpr
    COLUMNS: tl.constexpr

    @tt.constexpr_function
    def __init__(self, n):
        rows = [k for k in range(1, n) if k * k <= n][-1]
        self.ROWS, self.COLUMNS = rows, n // rows


@tt.jit
def turned(pair, flag):
    if flag:
        return pair.swapped()
    return pair


FIXED = Sizes(9)
"""

CASES: dict[str, tuple[str, Any]] = {
    "fields": ("r = Pair(x, b=x + 1).b", START + 1),
    "numbers become scalars": ("r = x + Pair(1, 2).b", START + 2),
    "method": ("p = Pair(x, x + 1).swapped()\nr = p.a - p.b", 0 * START + 1),
    "default of a field": ("r = Scaled(x).times()", START * 3),
    "jitted method with a default": ("r = Scaled(x, FACTOR=2).times(more=5)", START * 10),
    "static method": ("r = Scaled.of(x).times()", START * 5),
    "constexpr method": ("r = x + tl.arange(0, 4 * Scaled(x, 1).twice_the_factor())", START + np.arange(8)),
    "property": ("r = Scaled(x).negative", -START),
    "operators": ("p = Pair(x, 2) + Pair(1, x)\np = -(x + p)\nr = p[0] + p[1]", -(4 * START + 3)),
    "comparisons": ("p = Pair(x, 0)\nr = tl.where(p < Pair(4, 0), 1, 0) + tl.where(p == p, 2, 0)",
                    np.where(START < 4, 3, 2)),
    "nested, with an initialiser that branches": (
        "q = Running(x)\nr = q.pair.a + q.scaled.times() + q.parts[1] + len(q.kind)",
        START + 2 * (START + 5) + START + 8,
    ),
    "carried by a loop": (
        "q = Running(x)\nfor i in range(tl.num_programs(0) + 2):\n    q = q.step(i)\nr = q.pair.a + q.parts[0]",
        2 * START + 8,
    ),
    "carried by while": (
        "p = Pair(x, x * 0)\ni = 0\nwhile i < tl.num_programs(0) + 3:\n    p = p.swapped() + p\n    i += 1\n"
        "r = p.a - p.b",
        0 * START,
    ),
    "merged by branches": (
        "p = Pair(x, x + 1)\nif tl.program_id(0) == 0:\n    p = p.swapped()\nelse:\n    p = Pair(x, x)\nr = p.a",
        START + 1,
    ),
    "chosen by an expression": ("p = Pair(x, 1) if tl.program_id(0) > 0 else Pair(x, 2)\nr = p.b + x", START + 2),
    "returned by a helper": ("r = turned(Pair(x, x + 3), tl.program_id(0) == 0).a", START + 3),
    "early return in an initialiser": ("c = Counted(x)\nr = c.n + c.LIMIT", START + 5),
    "inheritance": ("r = Named(x).biased() + Named(x, 1, bias=x).biased()", 3 * START + 7 + 2 * START),
    "sizes": ("s = Sizes(8)\nr = x + tl.arange(0, s.ROWS * s.COLUMNS)", START + np.arange(8)),
    "constant aggregate in a loop": (
        "s = Sizes(8)\nfor i in range(2):\n    s = Sizes(8)\n    x += s.ROWS\nr = x", START + 4
    ),
    "made outside": ("r = x + FIXED.ROWS * FIXED.COLUMNS", START + 9),
    "replaced": ("r = tl.aggregate_replace(Counted(x), n=x).n + tl.aggregate_replace(Scaled(x), FACTOR=9).times()",
                 10 * START),
    "asked for": ("r = x + (1 if isinstance(Pair(x, x), Pair) and not isinstance(x, Pair) else 0)", START + 1),
    "in a comprehension": ("ps = [Pair(x, i) for i in (1, 2)]\nr = ps[0].b + ps[1].b + x", START + 3),
}  # fmt: skip


def store(body: str, engine: str, classes: str = CLASSES) -> np.ndarray:
    """What a kernel makes of `START`: its body binds `r`, given the tile `x`."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    at = "o + tl.arange(0, 8)"
    text = f"{classes}\n@tt.jit\ndef kernel(o):\n    x = tl.load({at})\n{lines}    tl.store({at}, r)\n"
    space: dict[str, Any] = {"tl": tl, "tt": tt}
    run_sample(text, "aggregates.py", space)
    out = START.copy()
    space["kernel"][(1,)](out, backend=engine)
    return out


@pytest.mark.parametrize("engine", ENGINES)
def test_aggregates(engine: str):
    for name, (body, wanted) in CASES.items():
        np.testing.assert_array_equal(store(body, engine), wanted, err_msg=name)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("r = Pair(x).a", "TT1007"),
        ("r = Pair(x, x, x).a", "TT1007"),
        ("r = Pair(x, c=x).a", "TT1007"),
        ("r = Pair(x, x).c", "TT1013"),
        ("p = Pair(x, x)\np.a = x\nr = p.a", "TT1034"),
        ("p = Pair(x, x)\np.a += x\nr = p.a", "TT1034"),
        ("p = Pair(x, x)\np.c = x\nr = p.a", "TT1013"),
        ("r = Pair(x, None).a", "TT1035"),
        ("r = Scaled(x, tl.load(o)).value", "TT1006"),
        ("r = tl.aggregate_replace(Pair(x, x), c=x).a", "TT1013"),
        ("r = tl.aggregate_replace(x, c=x)", "TT2005"),
        ("p = Scaled(x)\nfor i in range(3):\n    p = Scaled(x, 2)\nr = p.value", "TT2024"),
        ("p = Scaled(x)\nif tl.program_id(0) == 0:\n    p = Scaled(x, 2)\nr = p.value", "TT2026"),
        ("p = Scaled(x)\nif tl.program_id(0) == 0:\n    p = Pair(x, x)\nr = p.a", "TT2026"),
        ("r = Scaled(x) + 1", "TT1013"),
        ("r = Scaled(x) == Scaled(x)", "TT1013"),
        ("tl.store(o, Pair(x, x))\nr = x", "TT2005"),
    ],
)
def test_what_an_aggregate_cannot_do_is_a_located_fault(body: str, code: str):
    with pytest.raises(TinytonError) as caught:
        store(body, "interpreter")
    assert caught.value.code == code, str(caught.value)
    assert caught.value.span is not None


BROKEN = {
    "field: 3": "TT1033",
    "field: 'Nothing'": "TT1033",
    "field: tl.tensor\n    def __init__(self, x):\n        self.other = x": "TT1013",
    "field: tl.tensor\n    def __init__(self, x):\n        self.field = x\n        x = self.method(x)": "TT1013",
    "field: tl.tensor\n    def __init__(self, x):\n        if x > 0:\n            self.field = x": "TT1009",
    "field: tl.tensor\n    def __init__(self, x):\n        self.field = x\n        return x": "TT1033",
    "field: tl.constexpr\n    def __init__(self, x):\n        self.field = x": "TT1006",
    "field: tl.constexpr\n    @tt.constexpr_function\n    def __init__(self, x):\n        self.other = x": "TT1013",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_class_that_is_no_aggregate_is_a_located_fault(text: str):
    with pytest.raises(TinytonError) as caught:
        store("r = Broken(tl.load(o)).field", "interpreter", f"@tt.aggregate\nclass Broken:\n    {text}\n")
    assert caught.value.code == BROKEN[text], str(caught.value)
    assert caught.value.span is not None


def test_a_base_that_is_no_aggregate_is_refused():
    with pytest.raises(TinytonError, match="its base dict is none"):
        tt.aggregate(type("Broken", (dict,), {}))


def test_triton_has_it_by_its_own_names():
    triton_compat.install()
    try:
        space: dict[str, Any] = {}
        run_sample(
            "import triton, triton.language as tl\nfrom triton.language.core import _aggregate as aggregate\n"
            "assert aggregate is triton.aggregate\n"
            "@aggregate\nclass Pair:\n    a: tl.tensor\n    N: tl.constexpr\n"
            "    @triton.constexpr_function\n    def __init__(self, a, N):\n"
            "        self.a, self.N = a, tl.constexpr(N)\n"
            "@triton.jit\ndef kernel(o):\n"
            "    p = tl.aggregate_replace(Pair(tl.load(o), 4), N=8)\n    tl.store(o, p.a + p.N.value)\n",
            "triton_aggregates.py",
            space,
        )
        out = np.int32([1])
        space["kernel"][(1,)](out)
        assert out.tolist() == [9]
    finally:
        triton_compat.uninstall()
