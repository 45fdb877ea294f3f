"""Let ``import triton`` resolve to this package: which module and name of Triton is what here. Knows no meaning itself.

`install` puts modules into `sys.modules`, `uninstall` takes them out again; nothing else of the process is changed.
``python -m tinyton_lab.triton_compat script.py`` runs a script with them.

>>> from tinyton_lab import triton_compat
>>> triton_compat.install()
>>> import triton, triton.language as tl
>>> triton.__version__, triton.cdiv(10, 4), tl.float32
('3.9.0', 3, tl.float32)
>>> triton_compat.uninstall()
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from tinyton_lab import language, tune
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.base.targets import DEFAULT_GPU
from tinyton_lab.kernel import Kernel, Launch, Launchable, jit
from tinyton_lab.kernel.bundles import TensorDescriptor
from tinyton_lab.language.builtin import constexpr_function
from tinyton_lab.language.library import next_power_of_2
from tinyton_lab.language.target_info import EVERY_ENGINE, GPUTarget
from tinyton_lab.runtime.buffers import tensor_array

VERSION = "3.9.0"


# Errors. Every fault of a kernel or a launch is a TinytonError; the others are there to be named, none is raised.
class OutOfResources(TinytonError):
    """A kernel that needs more of a GPU than it has."""


class InterpreterError(TinytonError):
    """A failure inside an interpreted kernel."""


class CompileTimeAssertionFailure(TinytonError):
    """A failed `static_assert`."""


class UnsupportedLanguageConstruct(TinytonError):
    """Python that the language does not have."""


class PTXASError(TinytonError):
    """A failure of the assembler."""


# The machine
class DriverBase:
    """What answers for a machine."""


class CpuUtilities:
    """Facts of the machine under the names that host code asks for."""

    def get_device_properties(self, device: Any = None) -> dict[str, int]:
        """Cores as multiprocessors; shared memory and registers of the GPU that code is shown for by default.

        Host code chooses block sizes by them.
        """
        return {
            "multiprocessor_count": os.cpu_count() or 1,
            "max_shared_mem": DEFAULT_GPU.shared_bytes_opt_in,
            "max_num_regs": DEFAULT_GPU.registers_per_sm,
            "warpSize": DEFAULT_GPU.warp_lanes,
            "sm_clock_rate": 0,
            "mem_clock_rate": 0,
            "mem_bus_width": 0,
        }


class CpuDriver(DriverBase):
    """The CPU as host code asks for a device: one, with one stream, both number 0."""

    utils = CpuUtilities()

    def is_active(self) -> bool:
        return True

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: Any) -> None:
        """Do nothing: there is one device."""

    def get_current_stream(self, device: Any = None) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return EVERY_ENGINE

    def get_device_properties(self, device: Any = None) -> dict[str, int]:
        return self.utils.get_device_properties(device)

    def get_device_capability(self, device: Any = None) -> tuple[int, int]:
        return 0, 0

    def get_active_torch_device(self) -> Any:
        """torch's name of the CPU; loads torch."""
        return importlib.import_module("torch").device("cpu")

    def get_device_interface(self) -> Any:
        """torch's functions for the CPU as a device; loads torch."""
        return importlib.import_module("torch").cpu

    def get_benchmarker(self) -> Callable[..., Any]:
        return tune.do_bench

    def get_empty_cache_for_benchmark(self) -> Any:
        """An array to be written between measurements, larger than most caches."""
        return np.empty(1 << 23, np.int32)

    def clear_cache(self, cache: Any) -> None:
        tune.zero(cache)


class DriverChoice:
    """Which driver answers: `active` is the CPU's until another one is set."""

    def __init__(self) -> None:
        self.default = self.active = CpuDriver()

    def set_active(self, driver: Any) -> None:
        self.active = driver

    def reset_active(self) -> None:
        self.active = self.default


class BaseBackend:
    """What compiles for a target."""

    def __init__(self, target: GPUTarget) -> None:
        self.target = target


class CpuBackend(BaseBackend):
    """The engine `cpu`."""

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == "cpu"

    def hash(self) -> str:
        """What compiled code depends on besides its source."""
        return f"tinyton_lab-{VERSION}-{self.target.backend}"

    def parse_options(self, options: Mapping[str, Any]) -> SimpleNamespace:
        return SimpleNamespace(**options)


@dataclass(frozen=True)
class Backend:
    """A backend: its compiler and its driver."""

    compiler: type[BaseBackend]
    driver: type[DriverBase]


# Functions of the host
def reinterpret(tensor: Any, dtype: Any) -> Any:
    """An array or CPU tensor with its bits taken as another dtype of the language; shares the memory."""
    array = tensor if isinstance(tensor, np.ndarray) else tensor_array(tensor)
    return array.view(dtype.numpy)


def set_allocator(allocator: Any) -> None:
    """Do nothing: kernels need no scratch memory from their host."""


def must_use_result(function: Any, message: str | None = None) -> Any:
    """Give the function back: the language says itself which results matter."""
    return function


def make_backend(target: GPUTarget) -> CpuBackend:
    """The backend for a target."""
    return CpuBackend(target)


def triton_key() -> str:
    """What names this compiler among others."""
    return f"tinyton_lab-{VERSION}"


def assert_close(x: Any, y: Any, atol: float = 1e-2, rtol: float = 1e-2, err_msg: str = "") -> None:
    """Raise AssertionError unless two arrays or tensors agree, element by element."""
    seen, wanted = (np.asarray(each.tolist() if hasattr(each, "tolist") else each) for each in (x, y))
    np.testing.assert_allclose(seen, wanted, rtol=rtol, atol=atol, err_msg=err_msg, equal_nan=True)


# Settings that host code reads; setting them changes nothing.
KNOBS: dict[str, dict[str, Any]] = {
    "autotuning": {"cache": False, "print": False},
    "build": {},
    "cache": {"dir": "", "dump_dir": None, "override_dir": None},
    "compilation": {
        "always_compile": False, "allow_non_constexpr_globals": False, "disable_line_info": False, "dump_ir": False,
        "instrumentation_mode": "", "listener": None, "override": False, "use_ir_loc": None,
    },
    "language": {"default_fp_fusion": False, "fp32_default": None, "fp_fusion_enabled": False},
    "runtime": {
        "debug": False, "interpret": False, "override_arch": None, "add_stages_inspection_hook": None,
        "jit_cache_hook": None, "jit_post_compile_hook": None, "launch_enter_hook": None, "launch_exit_hook": None,
    },
    "nvidia": {},
    "amd": {},
    "proton": {},
}  # fmt: skip

DRIVER = DriverChoice()
TUNING = {
    "Autotuner": tune.Autotuner,
    "Config": tune.Config,
    "Heuristics": tune.Heuristics,
    "autotune": tune.autotune,
    "heuristics": tune.heuristics,
}
ERRORS = {
    "CompilationError": TinytonError,
    "CompileTimeAssertionFailure": CompileTimeAssertionFailure,
    "UnsupportedLanguageConstruct": UnsupportedLanguageConstruct,
}
LIMITS = {"InterpreterError": InterpreterError, "OutOfResources": OutOfResources, "PTXASError": PTXASError}
FUNCTIONS = {
    "JITFunction": Kernel,
    "KernelInterface": Launchable,
    "TensorWrapper": np.ndarray,
    "reinterpret": reinterpret,
}
DECORATORS = {"constexpr_function": constexpr_function, "jit": jit}
COMPILER = {
    "CompilationError": TinytonError,
    "CompiledKernel": Launch,
    "GPUTarget": GPUTarget,
    "make_backend": make_backend,
    "triton_key": triton_key,
}
MODULES: dict[str, Mapping[str, Any]] = {
    "triton": {
        **TUNING,
        **FUNCTIONS,
        **DECORATORS,
        "CompilationError": TinytonError,
        "InterpreterError": InterpreterError,
        "OutOfResources": OutOfResources,
        "TritonError": TinytonError,
        "__version__": VERSION,
        "aggregate": language.aggregate,
        "cdiv": language.cdiv,
        "must_use_result": must_use_result,
        "next_power_of_2": next_power_of_2,
        "set_allocator": set_allocator,
    },
    "triton.backends": {"Backend": Backend, "backends": {"cpu": Backend(CpuBackend, CpuDriver)}},
    "triton.backends.compiler": {"BaseBackend": BaseBackend, "GPUTarget": GPUTarget},
    "triton.backends.driver": {"DriverBase": DriverBase, "GPUDriver": CpuDriver},
    "triton.compiler": COMPILER,
    "triton.compiler.compiler": COMPILER,
    "triton.compiler.errors": ERRORS,
    "triton.errors": {"TritonError": TinytonError},
    "triton.knobs": {name: SimpleNamespace(**values) for name, values in KNOBS.items()},
    "triton.runtime": {**TUNING, **FUNCTIONS, **LIMITS, "driver": DRIVER},
    "triton.runtime.autotuner": {**TUNING, **LIMITS, "JITFunction": Kernel, "KernelInterface": Launchable},
    "triton.runtime.cache": {"triton_key": triton_key},
    "triton.runtime.driver": {"driver": DRIVER},
    "triton.runtime.errors": LIMITS,
    "triton.runtime.jit": {**FUNCTIONS, **DECORATORS},
    "triton.testing": {"assert_close": assert_close, "do_bench": tune.do_bench},
    "triton.tools": {},
    "triton.tools.tensor_descriptor": {"TensorDescriptor": TensorDescriptor},
}


def build() -> dict[str, ModuleType]:
    """New modules by name, each within its parent; the language is the package's own, under Triton's names."""
    found = {name: _module(name, names) for name, names in MODULES.items()}
    own, device_library = language.__name__, language.extra.cuda.libdevice
    # All of the language, also what only some kernels load: under its second name it would be found and loaded again.
    for part in pkgutil.walk_packages(language.__path__, f"{own}."):
        found["triton.language" + part.name.removeprefix(own)] = importlib.import_module(part.name)
    found |= dict.fromkeys(("triton.language", "triton.language.core", "triton.language.standard"), language)
    found["triton.language.extra.cuda.libdevice"] = device_library
    for name, module in found.items():
        parent, _, last = name.rpartition(".")
        if parent in MODULES and last not in MODULES[parent]:
            setattr(found[parent], last, module)
    return found


def _module(name: str, names: Mapping[str, Any]) -> ModuleType:
    module = ModuleType(name, f"Triton's `{name}`, answered by tinyton_lab.")
    module.__spec__ = ModuleSpec(name, None, origin="tinyton_lab", is_package=True)
    module.__path__ = []  # a package without files: what is not in MODULES does not exist
    module.__package__ = name
    module.__dict__.update(names)
    return module


class TritonDistribution(Distribution):
    """The installed package as `importlib.metadata` sees it: a name and a version."""

    def read_text(self, filename: str) -> str | None:
        return f"Metadata-Version: 2.1\nName: triton\nVersion: {VERSION}\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Path:
        return Path(path)


class TritonFinder(DistributionFinder):
    """Answers `importlib.metadata.version("triton")`; finds no module."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return None

    def find_distributions(self, context: Any = None) -> Iterator[Distribution]:
        if context is None or context.name in (None, "triton"):
            yield TritonDistribution()


_replaced: dict[str, ModuleType] | None = None
_finder = TritonFinder()


def installed() -> bool:
    """Whether ``import triton`` resolves here."""
    return _replaced is not None


def install() -> None:
    """Let ``import triton`` and its submodules resolve to this package; a second call does nothing.

    Modules of a Triton that was imported before are kept for `uninstall`; names bound to them stay as they are.
    """
    global _replaced
    if _replaced is None:
        _replaced = _taken()
        sys.modules.update(build())
        sys.meta_path.insert(0, _finder)


def uninstall() -> None:
    """Undo `install`: the modules that were there before are there again."""
    global _replaced
    if _replaced is not None:
        _taken()
        sys.modules.update(_replaced)
        sys.meta_path.remove(_finder)
        _replaced = None


def _taken() -> dict[str, ModuleType]:
    """The modules of Triton's name, taken out of `sys.modules`."""
    names = [name for name in sys.modules if name == "triton" or name.startswith("triton.")]
    return {name: sys.modules.pop(name) for name in names}


def main(arguments: Sequence[str]) -> int:
    """Run a script, or with ``-m`` a module, with its arguments; ``import triton`` in it resolves here."""
    as_module = arguments[:1] == ["-m"]
    rest = arguments[1:] if as_module else arguments
    if not rest:
        print("usage: python -m tinyton_lab.triton_compat [-m] SCRIPT [ARGUMENT ...]", file=sys.stderr)
        return 2
    install()
    sys.argv = list(rest)
    if as_module:
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(rest[0]))
        runpy.run_path(rest[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    # This file runs as a module of its own; the one that others import keeps the state.
    sys.exit(importlib.import_module("tinyton_lab.triton_compat").main(sys.argv[1:]))
