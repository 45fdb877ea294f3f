"""The text of a compared kernel from its case, the same for both sides. Runs nothing."""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.triton_differences.inputs import HALVES, LANES, indices, numpy_dtype, operands

HEAD = """\
def kernel(x_ptr, y_ptr, z_ptr, j_ptr, o, n):
    p = tl.program_id(0)
    i = tl.arange(0, 256)
    r = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    x_ptr += p * 256
    y_ptr += p * 256
    z_ptr += p * 256
    j_ptr += p * 256
    o += p * 256
    x, y, z, j = tl.load(x_ptr + i), tl.load(y_ptr + i), tl.load(z_ptr + i), tl.load(j_ptr + i)
    a, b = tl.load(x_ptr + r), tl.load(y_ptr + r)
"""


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that a name does, in some dtypes.

    `body` is an expression over `x`, `y`, `z` (256 lanes), `j` (a permutation of int32), `a`, `b` (16 x 16), `i` and
    `r` (the numbers of the lanes) and `n` (200); or lines that store to `o` themselves. ``{D}`` stands for the dtype,
    `out` is the dtype of `o` where it is not that one. `before` are helpers, ahead of the kernel.
    """

    name: str
    label: str
    body: str
    dtypes: tuple[str, ...]
    out: str = ""
    before: str = ""

    def key(self, dtype: str) -> str:
        return f"{self.name}: {self.label} [{dtype}]"

    def result(self, dtype: str) -> str:
        return self.out or dtype

    def text(self, dtype: str) -> str:
        """The module of the kernel."""
        body = self.body.replace("{D}", f"tl.{dtype}")
        lines = body.splitlines() if re.search(r"\(o\b", body) else [f"tl.store(o + i, {body})"]
        before = "".join(f"@tt.jit\n{part.strip()}\n\n\n" for part in self.before.split("---") if part.strip())
        return before + HEAD + "".join(f"    {line}\n" for line in lines)


def kernel(case: Case, dtype: str, jit: Any, language: Any) -> Any:
    """The kernel under the names of one side."""
    text, label = case.text(dtype), f"{case.key(dtype)}.py"
    linecache.cache[label] = (len(text), None, text.splitlines(keepends=True), label)
    names: dict[str, Any] = {"tt": jit, "tl": language}
    exec(compile(text, label, "exec", dont_inherit=True), names)
    return jit.jit(names["kernel"])


def arguments(case: Case, dtype: str) -> list[np.ndarray]:
    """Fresh arrays for one launch, the last of which takes the results."""
    size = LANES * len(HALVES)
    return [*operands(dtype), indices(), np.zeros(size, numpy_dtype(case.result(dtype)))]
