"""Programs that only know Triton run here: each in a process of its own, started by the command or by the knob."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import tinyton_lab as tt
from tinyton_lab import language, triton_compat, tune

ROOT = Path(__file__).parent.parent
PROGRAMS = sorted((ROOT / "tests" / "data" / "triton").glob("*.py"))


def run(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, timeout=120)


def needs(program: Path) -> set[str]:
    """The top modules that a program imports."""
    nodes = [node for node in ast.walk(ast.parse(program.read_bytes())) if isinstance(node, ast.Import)]
    return {alias.name.partition(".")[0] for node in nodes for alias in node.names}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_programs_for_triton_run(program: Path):
    imported = needs(program)
    assert "triton" in imported and "tinyton_lab" not in imported
    if "torch" in imported:
        pytest.importorskip("torch")
    seen = run("-W", "error", "-m", "tinyton_lab.triton_compat", str(program), "one", "two")
    assert (seen.returncode, seen.stderr) == (0, ""), seen.stderr
    assert seen.stdout.splitlines()[-1] == "done ['one', 'two']"


def test_the_knob_installs_it():
    program = "import tinyton_lab, triton; print(triton.__version__, triton.jit is tinyton_lab.jit)"
    assert run("-c", program, TINYTON_AS_TRITON="1").stdout == "3.9.0 True\n"
    program = "import sys, tinyton_lab; print('triton' in sys.modules)"
    assert run("-c", program, TINYTON_AS_TRITON="0").stdout == "False\n"


def test_a_module_runs_with_it(tmp_path: Path):
    (tmp_path / "asks.py").write_text("import sys, triton\nprint(__name__, sys.argv[1:], triton.cdiv(9, 4))\n")
    seen = run("-m", "tinyton_lab.triton_compat", "-m", "asks", "--flag", PYTHONPATH=f"{ROOT}{os.pathsep}{tmp_path}")
    assert seen.stdout == "__main__ ['--flag'] 3\n", seen.stderr
    assert run("-m", "tinyton_lab.triton_compat").returncode == 2


def triton_modules() -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "triton"}


@pytest.fixture
def installed():
    before, finders = triton_modules(), list(sys.meta_path)
    triton_compat.install()
    yield
    triton_compat.uninstall()
    assert triton_modules() == before and sys.meta_path == finders


def test_install_and_uninstall_leave_no_trace(monkeypatch: pytest.MonkeyPatch):
    other = ModuleType("triton")
    monkeypatch.setitem(sys.modules, "triton", other)
    monkeypatch.setitem(sys.modules, "triton.special", other)
    finders = list(sys.meta_path)
    triton_compat.install()
    triton_compat.install()  # a second call does nothing
    assert triton_compat.installed() and sys.modules["triton"] is not other
    assert "triton.special" not in sys.modules
    triton_compat.uninstall()
    triton_compat.uninstall()
    assert triton_modules() == {"triton": other, "triton.special": other}
    assert sys.meta_path == finders and not triton_compat.installed()


@pytest.mark.usefixtures("installed")
def test_every_module_is_found_from_its_parent():
    for name, module in triton_modules().items():
        parent, _, last = name.rpartition(".")
        assert importlib.import_module(name) is module
        if parent and parent != "triton.language" and name != "triton.runtime.driver":  # that is what chooses a driver
            assert getattr(sys.modules[parent], last) is module, name


@pytest.mark.usefixtures("installed")
def test_no_module_of_the_language_is_loaded_twice():
    folder = ROOT / "tinyton_lab" / "language"
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        own = importlib.import_module(".".join(filter(None, ["tinyton_lab.language", name])))
        if name not in ("core",):
            assert importlib.import_module(".".join(filter(None, ["triton.language", name]))) is own


@pytest.mark.usefixtures("installed")
def test_packages_find_an_installed_triton():
    assert importlib.metadata.version("triton") == "3.9.0"
    found = importlib.util.find_spec("triton")
    assert found is not None and found.name == "triton"
    assert importlib.metadata.version("numpy") != "3.9.0"
    for name in ("triton.ops", "triton.language.nothing", "triton.backends.nvidia"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)


@pytest.mark.usefixtures("installed")
def test_names_are_the_packages_own():
    triton = importlib.import_module("triton")
    assert triton.language is language and importlib.import_module("triton.language.core") is language
    assert triton.language.core.float32 is tt.float32 and triton.language.core.tensor is language.tensor
    assert triton.language.core.CONSTEXPR_0 == 0 and not hasattr(triton.language.core, "nothing")
    assert triton.jit is tt.jit and triton.runtime.jit.JITFunction is tt.Kernel
    assert triton.autotune is tune.autotune and triton.runtime.autotuner.Autotuner is tune.Autotuner
    assert triton.CompilationError is triton.compiler.errors.CompilationError is tt.TinytonError
    assert importlib.import_module("triton.language.extra.cuda.libdevice") is language.extra.libdevice
    names = (ROOT / "tests" / "data" / "triton_names.json").read_text(encoding="utf-8")
    missing = {
        module: sorted(name for name in wanted if not hasattr(importlib.import_module(module), name))
        for module, wanted in json.loads(names).items()
    }
    assert {module: names for module, names in missing.items() if names} == {}


@pytest.mark.usefixtures("installed")
def test_the_driver_answers_for_the_cpu():
    active = importlib.import_module("triton.runtime").driver.active
    target = active.get_current_target()
    assert (target.backend, target.arch, target.warp_size) == ("cpu", 0, 1)
    assert (active.get_current_device(), active.get_current_stream(0)) == (0, 0)
    for properties in (active.utils.get_device_properties(0), active.get_device_properties()):
        assert properties["multiprocessor_count"] == os.cpu_count()
        assert properties["max_shared_mem"] > 48 * 1024 and properties["warpSize"] == 32
    choice = importlib.import_module("triton.runtime.driver").driver
    choice.set_active("another")
    assert importlib.import_module("triton").runtime.driver.active == "another"
    choice.reset_active()
    assert choice.active is active


@pytest.mark.usefixtures("installed")
def test_faults_are_caught_as_tritons_errors():
    triton = importlib.import_module("triton")
    kernel = tt.jit(test_faults_are_caught_as_tritons_errors)
    with pytest.raises(triton.CompilationError):
        kernel[1]()
    assert not issubclass(tt.TinytonError, triton.OutOfResources)
