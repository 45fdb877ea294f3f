"""What a type checker says of kernels: nothing, on the corpus and on the words of the language; and what it infers."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PYRIGHT = Path(sys.executable).parent / "pyright"
SAMPLE = """
import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl


@tt.aggregate
class Scaled:
    value: tl.tensor
    FACTOR: tl.constexpr

    @tt.jit
    def times(self, more):
        return self.value * self.FACTOR * more


@tt.jit
def larger(a, b):
    return tl.maximum(a, b)


@tt.jit
def kernel(x, out, n, BLOCK: tl.constexpr, WIDE: tl.constexpr = tl.constexpr(4)):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (i >= 0) & ~(i >= n) | (i == -1)
    a = tl.load(x + i, mask=mask, other=0.0)
    reveal_type(a)
    reveal_type(a[:, None] * 2.0 - 1 / a)
    reveal_type(a.to(tl.float16).sum(0))
    reveal_type(tl.math.exp(a))
    total = tl.zeros((BLOCK, BLOCK // 2), dtype=tl.float32)
    for k in range(0, n, BLOCK):
        total += k
    for k in tl.range(0, n, num_stages=2):
        total *= k
    for k in tl.static_range(2):
        total = tl.dot(total, total.T, acc=None) + k
    if tl.max(a, 0) > min(tl.sum(a), WIDE):
        a = -a
    half: tl.constexpr = BLOCK // 2
    values, at = tl.max(total, 1, return_indices=True)
    scaled = Scaled(tl.reduce(a, 0, larger), half)
    tl.static_assert(BLOCK >= 16, "too small")
    tl.atomic_add(out, scaled.times(2) + values + at, sem="relaxed")
    tl.store(out + i, tl.where(mask, a, 0).to(out.dtype.element_ty), mask=mask)


x = np.zeros(8, np.float32)
kernel[(1,)](x, x, 8, BLOCK=8)
kernel[lambda meta: (tt.cdiv(8, meta["BLOCK"]),)](x, x, 8, BLOCK=8, num_warps=4)
"""


@pytest.mark.skipif(not PYRIGHT.exists() or shutil.which("node") is None, reason="no pyright, or no Node.js to run it")
def test_kernels_have_types(tmp_path: Path):
    for path in sorted((ROOT / "tests" / "kernels").glob("*.py")):
        shutil.copy(path, tmp_path)
    (tmp_path / "sample.py").write_text(SAMPLE, encoding="utf-8")
    settings = f'{{"extraPaths": ["{ROOT.as_posix()}"], "reportMissingImports": "warning"}}'
    (tmp_path / "pyrightconfig.json").write_text(settings, encoding="utf-8")
    command = [str(PYRIGHT), "--pythonpath", sys.executable, "--project", str(tmp_path)]
    seen = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert re.search(r"^0 errors", seen.stdout, re.MULTILINE), seen.stdout + seen.stderr
    revealed = re.findall(r'Type of ".*" is "(\w+)"', seen.stdout)
    assert revealed == ["tensor"] * 4, seen.stdout
