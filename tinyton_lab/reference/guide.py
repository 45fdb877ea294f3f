"""The tables inside the page about the language's meaning, computed from the rows. The prose is the page's own.

A table stands between a line ``<!-- table: name -->`` and a line ``<!-- end -->``; `language` writes each anew.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyton_lab.base.dtypes import DTYPES, DType, integer_range, promote
from tinyton_lab.ops import OPS
from tinyton_lab.ops.accuracy import ACCURACY, NARROW
from tinyton_lab.ops.casts import cast_numpy
from tinyton_lab.reference.pages import code, table
from tinyton_lab.reference.regenerate import ROOT

COMPUTED = [dtype for dtype in DTYPES.values() if not dtype.storage_only]
PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def language() -> str:
    """The page ``docs/language.md`` with its tables as they should be."""
    text = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    return PLACE.sub(lambda found: f"{found[1]}\n{TABLES[found[2]]()}\n\n{found[3]}", text)


def promotion(division: bool = False) -> str:
    """Two values' dtypes and the dtype they meet in."""
    rows = [[code(a), *(_met(promote(a, b, division=division)) for b in COMPUTED)] for a in COMPUTED]
    return table(["", *map(code, COMPUTED)], rows)


def _met(dtype: DType | None) -> str:
    return "" if dtype is None else str(dtype)


def _shown(value: Any) -> str:
    """A number as a page shows it: short, with its sign of zero."""
    number = value.item() if hasattr(value, "item") else value
    whole = isinstance(number, float) and number.is_integer() and 0 < abs(number) < 1e6
    return str(int(number)) if whole else f"{number:.6g}" if isinstance(number, float) else str(number)


def _computed(name: str, *operands: Any, **attrs: Any) -> str:
    """What a row makes of scalars, by its definition."""
    row = OPS[name]
    if row.numpy is None:
        raise RuntimeError(f"{name} has no definition")
    with np.errstate(all="ignore"):
        return _shown(np.asarray(row.numpy(*(np.atleast_1d(x) for x in operands), **attrs))[0])


def division() -> str:
    """Integer quotients and remainders, also where there is none."""
    pairs = [(7, 2), (-7, 2), (7, -2), (-7, -2), (7, 0), (-7, 0), (-(2**31), -1)]
    rows = [
        [x, y, *(_computed(name, np.int32(x), np.int32(y)) for name in ("idiv", "mod")), _floored(x, y)]
        for x, y in pairs
    ]
    return table(["`x` (int32)", "`y`", "`x // y`", "`x % y`", "Python's"], rows)


def _floored(x: int, y: int) -> str:
    return f"{x // y}, {x % y}" if y else "an error"


def shifts() -> str:
    """Shifts by more than the width, which only run-time amounts can be."""
    cases = [("shl", np.int32, 1, 31), ("shl", np.int32, 1, 32), ("shr", np.int32, -8, 1), ("shr", np.int32, -8, 40)]
    cases += [("shr", np.uint32, 2**32 - 8, 1), ("shr", np.uint32, 2**32 - 8, 40)]
    rows = [
        [code(f"{x} {'<<' if name == 'shl' else '>>'} {by}"), dtype.__name__, _computed(name, dtype(x), dtype(by))]
        for name, dtype, x, by in cases
    ]
    return table(["shift", "of", "gives"], rows)


def extremes() -> str:
    """The lesser and the greater of numbers, NaN and zeros of both signs."""
    pairs = [(1.0, 2.0), (1.0, math.nan), (math.nan, math.nan), (-0.0, 0.0)]
    names = ("min", "max", "min_nan", "max_nan")
    rows = [
        [_shown(x), _shown(y), *(_computed(name, np.float32(x), np.float32(y)) for name in names)] for x, y in pairs
    ]
    header = ["`x`", "`y`", "`minimum`", "`maximum`", "`minimum`, NaN kept", "`maximum`, NaN kept"]
    return table(header, rows)


def casts() -> str:
    """What becomes of some floats in other dtypes."""
    numbers = [2.5, -1.5, 300.7, 70000.0, 1e10, math.inf, math.nan]
    targets = [DTYPES[name] for name in ("i8", "u8", "i32", "i1", "f16", "bf16", "f8e4nv", "f8e5", "f8e4b8")]
    rows = [[_shown(number), *(_cast(number, to) for to in targets)] for number in numbers]
    return table(["f32", *map(code, targets)], rows)


def _cast(number: float, to: DType) -> str:
    with np.errstate(all="ignore"):
        made = cast_numpy(np.array([number], np.float32), to=to)[0]
    return _shown(float(made) if to.kind == "float" else made)


def narrow() -> str:
    """The floats of 16 and 8 bits: their range, and what a larger number becomes."""
    rows: list[list[object]] = []
    for dtype in DTYPES.values():
        if dtype.kind == "float" and dtype.bits <= 16:
            with np.errstate(invalid="ignore"):
                every = np.arange(1 << dtype.bits, dtype=f"u{dtype.bytes}").view(dtype.numpy).astype(np.float64)
            finite = every[np.isfinite(every)]
            beyond = _cast(1e30 if dtype.bits == 8 or dtype.name == "f16" else 3.4e38 * 1.01, dtype)
            zero = "yes" if bool(np.any((every == 0) & np.signbit(every))) else "no"
            rows.append([code(f"tl.{dtype.public}"), dtype.exponent_bits, dtype.mantissa_bits, _shown(finite.max()),
                         _shown(finite[finite > 0].min()), beyond, zero])  # fmt: skip
    return table(["dtype", "exponent", "mantissa", "greatest", "least", "larger ones become", "-0"], rows)


def accuracy() -> str:
    """The stated bounds of the math functions."""
    rows = [
        [code(row.name), f"{row.single:g}", f"{row.double:g}", "of a result of size 1, near zeros" if row.flat else ""]
        for row in sorted(ACCURACY.values(), key=lambda row: row.name)
    ]
    header = ["function", "float32, ulp", "float64, ulp", ""]
    return table(header, rows) + f"\n\nOf float16 and bfloat16: within {NARROW:g} ulp, all of them."


def integers() -> str:
    """What a Python integer is typed as, and the ranges of the integer dtypes."""
    rows = [[code(f"tl.{d.public}"), *integer_range(d)] for d in DTYPES.values() if d.kind in ("int", "uint")]
    return table(["dtype", "least", "greatest"], rows)


TABLES: dict[str, Callable[[], str]] = {
    "promotion": promotion,
    "division": division,
    "shifts": shifts,
    "extremes": extremes,
    "casts": casts,
    "narrow": narrow,
    "accuracy": accuracy,
    "integers": integers,
}
