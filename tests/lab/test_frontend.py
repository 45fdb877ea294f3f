"""The front end's own tests, run by Node: the viewer core without a browser."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

EXTENSIONS = Path(__file__).parent.parent.parent / "extensions"


def test_the_viewer_core():
    npm = shutil.which("npm")
    if npm is None or not (EXTENSIONS / "node_modules").is_dir():
        pytest.skip("the front end is not built: no Node.js")
    seen = subprocess.run([npm, "test"], cwd=EXTENSIONS, capture_output=True, text=True)
    assert seen.returncode == 0, seen.stdout + seen.stderr
