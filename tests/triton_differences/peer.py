"""Asks Triton's interpreter, in a process of its own, for its answers to all cases and for its public names."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pickle
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.triton_differences import sides
from tests.triton_differences.sides import Answer
from tests.triton_differences.table import keys


def installed() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("triton", "torch"))


def answers() -> tuple[dict[str, Answer], dict[str, Any]]:
    """Triton's answers by key; versions and public names."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers"
        environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", f"from {__name__} import write; write({str(path)!r})"]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        return pickle.loads(path.read_bytes())


def write(path: str) -> None:
    """Run every case in Triton's interpreter, and keep the answers in a file."""
    import triton.language as tl

    found = {key: sides.theirs(case, dtype) for key, case, dtype in keys()}
    versions = {name: importlib.metadata.version(name) for name in ("triton", "torch", "numpy", "ml_dtypes")}
    names = [name for name in dir(tl) if not name.startswith("_")]
    names += [f"tensor.{name}" for name in dir(tl.tensor) if not name.startswith("_")]
    names += [f"math.{name}" for name in dir(tl.math) if _is_word(tl, name)]
    Path(path).write_bytes(pickle.dumps((found, {"python": platform.python_version(), **versions, "names": names})))


def _is_word(language: Any, name: str) -> bool:
    """Whether a name of ``tl.math`` is a function of the language and not one that the module imports."""
    return not name.startswith("_") and hasattr(language, name) and callable(getattr(language.math, name))
