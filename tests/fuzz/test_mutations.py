"""Broken kernels end in located faults of this package: ten thousand of them, none with another exception."""

from __future__ import annotations

import importlib
import linecache
import pkgutil
import sys
import traceback
import warnings
from functools import cache
from typing import Any

import pytest

import tests.kernels as corpus
import tinyton_lab as tt
from tests.fuzz.mutations import mutant, source_of
from tinyton_lab import tiny_ton

COUNT, CHUNK = 10_000, 500


@cache
def kernels() -> list[Any]:
    """One case of each kernel of the corpus."""
    names = sorted(name for _, name, _ in pkgutil.iter_modules(corpus.__path__) if name != "case")
    cases = [case for name in names for case in importlib.import_module(f"tests.kernels.{name}").cases()]
    return list({case.kernel.name: case for case in cases}.values())


def complaint(seed: int) -> str:
    """What is wrong with the answer to a mutant, in words; nothing if it compiles, or ends in a located fault."""
    case = kernels()[seed % len(kernels())]
    text, label = mutant(source_of(case.kernel.function), seed), f"mutant-{seed}.py"
    names = dict(vars(sys.modules[case.kernel.function.__module__]))
    linecache.cache[label] = (len(text), None, text.splitlines(keepends=True), label)
    try:
        with warnings.catch_warnings(action="ignore"):
            exec(compile(text, label, "exec", dont_inherit=True), names)
    except Exception:  # no Python any more, or an annotation that is none
        return ""
    try:
        jit = tt.jit if case.kernel.dialect == "triton" else tiny_ton.jit
        jit(names[case.kernel.name]).compiled(
            (), {**case.arguments, **case.options, "backend": ("cpu", "sim")[seed % 2]}
        )
    except tt.TinytonError as fault:
        located = fault.span is not None or fault.code.startswith("TT3")
        return "" if located else f"seed {seed}: {fault.code} has no place\n{text}"
    except Exception:
        return f"seed {seed}:\n{text}\n{traceback.format_exc(limit=-3)}"
    finally:
        linecache.cache.pop(label, None)
    return ""


@pytest.mark.parametrize("first", range(0, COUNT, CHUNK))
def test_broken_kernels_are_told_as_faults(first: int) -> None:
    assert [words for words in map(complaint, range(first, first + CHUNK)) if words] == []
