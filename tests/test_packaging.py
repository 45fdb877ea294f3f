"""The wheel carries what an install needs and nothing else, the front end included."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tinyton_lab import _version

ROOT = Path(__file__).parent.parent
LAZY = ("llvmlite", "cuda", "IPython", "ipywidgets", "anywidget", "graphviz", "torch")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"SKIP_JUPYTER_BUILDER": "1"}, check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_the_wheel_holds_the_package_and_its_metadata(wheel: zipfile.ZipFile):
    names = wheel.namelist()
    info = f"tinyton_lab-{_version.__version__}.dist-info"
    metadata = Parser().parsestr(wheel.read(f"{info}/METADATA").decode())
    assert metadata["Version"] == _version.__version__
    assert f"{info}/licenses/LICENSE" in names and "tinyton_lab/py.typed" in names
    assert b"tinyton = tinyton_lab.cli:main" in wheel.read(f"{info}/entry_points.txt")
    assert {name.split("/")[0] for name in names} <= {"tinyton_lab", info, f"tinyton_lab-{_version.__version__}.data"}


def test_the_wheel_holds_the_front_end(wheel: zipfile.ZipFile):
    if not (ROOT / "tinyton_lab" / "labextension" / "package.json").is_file():
        pytest.skip("the front end is not built: no Node.js")
    folder = f"tinyton_lab-{_version.__version__}.data/data/share/jupyter/labextensions/jupyterlab-tinyton"
    names = wheel.namelist()
    assert f"{folder}/package.json" in names and f"{folder}/install.json" in names
    assert [name for name in names if name.startswith(f"{folder}/static/remoteEntry.")]
    assert [name for name in names if name.startswith("tinyton_lab/lab/static/")]
    assert not [name for name in names if name.startswith("tinyton_lab/labextension/")]


def test_all_that_is_pinned_is_asked_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(project["optional-dependencies"]) == set("lab cuda libdevice bench compat scale docs dev".split())
    pins = [line for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    assert pins and all("==" in pin for pin in pins)


def test_the_import_is_light():
    program = f"import sys, tinyton_lab; print([name for name in {LAZY} if name in sys.modules])"
    seen = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert seen.stdout == "[]\n"


def test_the_import_takes_little_time():
    """At most 150 ms of processor time beyond numpy's: the least of five tries each, as other work only adds."""
    program = "import numpy, time; t = time.process_time(); import tinyton_lab; print(time.process_time() - t)"
    command = [sys.executable, "-c", program]
    tries = [subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout for _ in range(5)]
    assert min(map(float, tries)) <= 0.150
