"""Constructs of Python and helper names that a kernel may use: on every engine, each with the elements it stores."""

from __future__ import annotations

import collections
import linecache
from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl
from tinyton_lab.base.diagnostics import TinytonError

ENGINES = ["eager", "interpreter", "cpu", "sim"]
START = np.int32([3, 1, 4, 1, 5, 9, 2, 6])
Pair = collections.namedtuple("Pair", "a b")

CASES: dict[str, tuple[str, Any]] = {
    "list comprehension": ("vs = [x + i for i in (1, 2, 3)]\nr = vs[0] + vs[2]", 2 * START + 4),
    "condition of a comprehension": ("vs = [x + i for i in (1, 2, 3) if i > 1]\nr = vs[0] + len(vs)", START + 4),
    "nested comprehension": ("vs = [x + i * k for i in (1, 2) for k in (1, 2)]\nr = vs[3]", START + 4),
    "comprehension over a range": ("vs = [x + i for i in range(1, 4)]\nr = vs[2]", START + 3),
    "comprehension over static_range": ("vs = [x + i for i in tl.static_range(3)]\nr = vs[2]", START + 2),
    "comprehension over pairs": ("vs = [a * b for a, b in ((x, 2), (x, 3))]\nr = vs[0] + vs[1]", 5 * START),
    "a comprehension's names stay inside": ("i = 7\nvs = [i for i in (1, 2)]\nr = x + i + len(vs)", START + 9),
    "named tuple": ("p = Pair(x, b=x + 1)\nr = p.a + p[1]", 2 * START + 1),
    "named tuple in a loop": (
        "p = Pair(x, x + 1)\nfor i in range(tl.num_programs(0) + 2):\n    p = Pair(p.b, p.a)\nr = p.a - p.b",
        START * 0 + 1,
    ),
    "parts of tuples": ("p = ((x,) + (x + 1, x + 2))[1:] * 2\nr = p[0] + p[3]", 2 * START + 3),
    "tuples compare": ("r = x + (1 if (1, 2) == (1, 2) and 3 in (1, 3) else 0)", START + 1),
    "item of a scalar": ("r = x + tl.sum(x, 0).item()", START + 31),
    "item of a tile": ("r = x + tl.full((1,), 4, tl.int32).item()", START + 4),
    "value of a constexpr": ("c: tl.constexpr = tl.constexpr(4)\nr = x + c.value + c", START + 8),
    "get_int_dtype": ("r = (x.to(tl.get_int_dtype(8, True)) + 127).to(tl.int32)", (START + 127).astype(np.int8)),
    "_log2": ("r = x + tl._log2(8) + tl.standard._log2(4)", START + 5),
    "core": (
        "r = tl.core.add(x, 1) + tl.core._unwrap_if_constexpr(tl.CONSTEXPR_0) + tl.standard.cdiv(5, 2)",
        START + 4,
    ),
    "facts of dtypes": (
        "r = x + x.to(tl.float16).dtype.exponent_bias + (1 if x.dtype.is_const() else 0) + x.dtype.exponent_bias",
        START + 15,
    ),
    "types compare": (
        "r = x + (1 if x.type == tl.block_type(tl.int32, (8,)) and o.type == tl.pointer_type(tl.int32) else 0)",
        START + 1,
    ),
    "the target": (
        "t = tl.target_info.current_target()\n"
        "r = x + (1 if t.backend == 'cpu' and t is not None and not tl.target_info.is_hip_cdna4() else 0)",
        START + 1,
    ),
    "slice": ("r = (x, x + 1)[tl.slice(1, 2)][0]", START + 1),
}


def store(body: str, engine: str) -> np.ndarray:
    """What a kernel makes of `START`: its body binds `r`, given the tile `x`."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    at = "o + tl.arange(0, 8)"
    text = f"def kernel(o):\n    x = tl.load({at})\n{lines}    tl.store({at}, r)\n"
    label = "constructs.py"
    linecache.cache[label] = (len(text), None, text.splitlines(keepends=True), label)
    space: dict[str, Any] = {"tl": tl, "Pair": Pair}
    exec(compile(text, label, "exec", dont_inherit=True), space)
    out = START.copy()
    tt.jit(space["kernel"])[(1,)](out, backend=engine)
    return out


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CASES)
def test_construct(name: str, engine: str):
    body, wanted = CASES[name]
    np.testing.assert_array_equal(store(body, engine), wanted)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("r = [x for i in range(tl.load(o))][0]", "TT1006"),
        ("r = [x for i in (1, 2) if tl.load(o) > i][0]", "TT1006"),
        ("r = [x for i in x][0]", "TT1022"),
        ("r = [x for i in range(1, 2, 0)][0]", "TT1018"),
        ("r = [x for i in range(1 << 40)][0]", "TT1023"),
        ("r = [a for a, b in ((x, 1, 2),)][0]", "TT1019"),
        ("r = Pair(x).a", "TT1018"),
        ("r = x.item()", "TT2001"),
        ("r = x.to(tl.get_int_dtype(7, True))", "TT1018"),
    ],
)
def test_what_a_construct_cannot_say_is_a_located_fault(body: str, code: str):
    with pytest.raises(TinytonError) as caught:
        store(body, "interpreter")
    assert caught.value.code == code, str(caught.value)
    assert caught.value.span is not None and caught.value.span.line == 3
