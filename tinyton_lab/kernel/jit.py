"""The kernel object that `@jit` makes: finds or makes the code for a launch's arguments and runs it."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

from tinyton_lab.base import events
from tinyton_lab.base.diagnostics import TinytonError, error
from tinyton_lab.base.source import Source
from tinyton_lab.frontend import parse
from tinyton_lab.frontend.signature import Bundle
from tinyton_lab.kernel.arguments import launch_key
from tinyton_lab.kernel.bundles import Plan, flattened, is_bundle, plan
from tinyton_lab.kernel.grid import Grid, read_grid
from tinyton_lab.kernel.launch import Launch, Launchable, choose_engine
from tinyton_lab.kernel.options import read_options
from tinyton_lab.kernel.parameters import REACHABLE, Binder, KernelParameter, read_parameters
from tinyton_lab.kernel.specialisation import Specialisation
from tinyton_lab.record.stage import Compilation

DEFAULTS = "num_warps", "num_stages", "debug", "math"
"""Launch options that a decorator may give: what a launch says goes before it."""


class Kernel(Launchable):
    """A function in the kernel language, ready to be launched: ``kernel[grid](*args, **kwargs)``.

    `function` is the Python function, `dialect` what language it speaks, `compilations` every record made so far (the
    latest last). Safe to launch from several threads.
    """

    bundles: tuple[tuple[str, Bundle], ...] = ()

    def __init__(self, function: Callable[..., Any], dialect: str = "triton", **options: Any) -> None:
        self.function, self.dialect = function, dialect
        self.options = options
        self.name: str = function.__name__
        self.compilations: list[Compilation] = []
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__
        self.__doc__, self.__module__ = function.__doc__, function.__module__
        self.parameters = read_parameters(
            function, options.get("do_not_specialize") or (), options.get("do_not_specialize_on_alignment") or ()
        )
        self._binder = Binder(self.name, self.parameters)
        self._constexprs = tuple(parameter.constexpr for parameter in self.parameters)
        self._cache: dict[Hashable, Specialisation] = {}
        self._flat: dict[Hashable, FlatKernel] = {}
        self._lock = threading.RLock()
        events.kernel_defined(self)

    # What Triton's host code asks a kernel for.
    @property
    def fn(self) -> Callable[..., Any]:
        return self.function

    @property
    def arg_names(self) -> list[str]:
        return list(self._binder.names)

    @property
    def source(self) -> Source:
        """The kernel's source text under its label. Raises TT3012 when there is none."""
        return parse(self.function).source

    def __repr__(self) -> str:
        return f"<kernel {self.name}({', '.join(self._binder.names)})>"

    def __getitem__(self, grid: Any) -> Callable[..., Launch]:
        """Fix the grid; call the result with the arguments."""
        return partial(self._launch, grid)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Only from inside a kernel that runs line by line (eager mode); elsewhere TT3011."""
        raise error("TT3011", kernel=self.name)

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Launch | Compilation:
        """Launch, or only compile with ``warmup=True``."""
        return self.warmup(*args, grid=grid, **kwargs) if warmup else self._launch(grid, *args, **kwargs)

    def warmup(self, *args: Any, grid: Any = (1,), **kwargs: Any) -> Compilation:
        """Compile for these arguments without running."""
        return self.compiled(args, kwargs)

    def compiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Compilation:
        """The record for the arguments of a launch; compiles if need be. A parameter may have any name."""
        kernel, values, options = self.taken_apart(*self._binder.bind(args, kwargs))
        return kernel._specialise(values, options, choose_engine(options.get("backend"))).compilation

    def _launch(self, grid: Any, /, *args: Any, **kwargs: Any) -> Launch:
        values, options = self._binder.bind(args, kwargs)
        return self._launch_bound(grid, values, options)

    def _launch_bound(self, grid: Any, values: Sequence[Any], options: dict[str, Any]) -> Launch:
        engine = choose_engine(options.get("backend") if options else None)
        key, addresses = launch_key(self.name, self.parameters, self._constexprs, values, engine)
        if key is None or REACHABLE in options:
            grid = grid(self._meta(values, options)) if callable(grid) else grid
            kernel, values, options = self.taken_apart(values, options)
            return kernel._launch_bound(grid, values, options)
        specialisation = self._cache.get(key if not options else (key, _options_key(options)))
        if specialisation is None or not specialisation.fresh():
            specialisation = self._specialise(values, options, engine)
        if type(grid) is not tuple or len(grid) != 1 or type(grid[0]) is not int or not 0 <= grid[0] < 2**31:
            grid = read_grid(self.name, grid, self._meta(values, options) if callable(grid) else None)
        else:
            grid = grid[0], 1, 1
        result = specialisation.run(grid, values, addresses, options)
        if events.LISTENERS:
            events.kernel_launched(self, result)
        return result

    def taken_apart(
        self, values: Sequence[Any], options: Mapping[str, Any]
    ) -> tuple[Kernel, Sequence[Any], dict[str, Any]]:
        """The kernel that takes arrays and numbers only, with its arguments and options.

        Tuples and descriptors come apart; the arrays of the option ``reachable`` become arguments.
        """
        rest = {name: value for name, value in options.items() if name != REACHABLE}
        arrays = list(options.get(REACHABLE) or ())
        if not arrays and not any(map(is_bundle, self.parameters, values)):
            return self, values, rest
        return self._flattened(values, len(arrays)), [*flat_values(self.parameters, values), *arrays], rest

    def _flattened(self, values: Sequence[Any], reachable: int) -> FlatKernel:
        """The kernel that takes the parts of these arguments instead of tuples and descriptors, and more arrays."""
        plans = [
            plan(parameter.name, value) if is_bundle(parameter, value) else Plan((parameter,), (), None)
            for parameter, value in zip(self.parameters, values, strict=True)
        ]
        # No name of the kernel's text has a dot.
        more = tuple(KernelParameter(f"{REACHABLE}.{number}", False) for number in range(reachable))
        plans.append(Plan(more, (), reachable))
        key = tuple(each.key for each in plans)
        with self._lock:
            found = self._flat.get(key)
            if found is None:
                found = self._flat[key] = FlatKernel(self, plans)
        return found

    def _meta(self, values: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
        return {**options, **dict(zip(self._binder.names, values, strict=True))}

    def _specialise(self, values: Sequence[Any], options: dict[str, Any], engine: str) -> Specialisation:
        """The code for a launch, made if need be: by one thread while others wait for it."""
        key: Hashable = launch_key(self.name, self.parameters, self._constexprs, values, engine)[0]
        key = (key, _options_key(options)) if options else key
        with self._lock:
            found = self._cache.get(key)
            if found is None or not found.fresh():
                found = self._cache[key] = self._make(values, options, engine)
        return found

    def _make(self, values: Sequence[Any], options: dict[str, Any], engine: str) -> Specialisation:
        read = read_options(self.name, {**self.defaults(), **options}, engine)
        specialisation = Specialisation(self, dict(zip(self._binder.names, values, strict=True)), read, engine)
        self.keep(specialisation.compilation)
        if specialisation.fault is not None:
            raise specialisation.fault
        return specialisation

    def defaults(self) -> dict[str, Any]:
        """The launch options that the decorator gave."""
        return {name: value for name, value in self.options.items() if name in DEFAULTS}

    def keep(self, compilation: Compilation) -> None:
        """Add a record to `compilations` and tell listeners."""
        self.compilations.append(compilation)
        events.kernel_compiled(self, compilation)

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Kernel, dict[str, Any], dict[str, Any]]:
        """The kernel that takes what these arguments come apart into, those by name, and the launch options."""
        kernel, values, options = self.taken_apart(*self._binder.bind(args, kwargs))
        return kernel, dict(zip(kernel._binder.names, values, strict=True)), options


class FlatKernel(Kernel):
    """A kernel whose tuples and descriptors are taken apart: the parts are parameters of their own."""

    def __init__(self, kernel: Kernel, plans: Sequence[Plan]) -> None:
        vars(self).update(vars(kernel))
        self.parameters = tuple(parameter for each in plans for parameter in each.parameters)
        self.bundles = tuple(bundle for each in plans for bundle in each.bundles)
        self._binder = Binder(self.name, self.parameters)
        self._constexprs = tuple(parameter.constexpr for parameter in self.parameters)
        self._cache = {}


def flat_values(parameters: Sequence[KernelParameter], values: Sequence[Any]) -> list[Any]:
    """One value per parameter of the flat kernel."""
    found: list[Any] = []
    for parameter, value in zip(parameters, values, strict=True):
        found += flattened(value) if is_bundle(parameter, value) else [value]
    return found


def _options_key(options: Mapping[str, Any]) -> Hashable:
    return tuple(sorted((name, repr(value)) for name, value in options.items()))


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a kernel of a Python function in Triton's language.

    Use it plain (``@tt.jit``) or with options (``@tt.jit(do_not_specialize=["n"])``). The function's text is read at
    the first launch; nothing of it runs as Python.

    >>> import numpy as np
    >>> import tinyton_lab as tt, tinyton_lab.language as tl
    >>> @tt.jit
    ... def double(x, BLOCK: tl.constexpr):
    ...     i = tl.arange(0, BLOCK)
    ...     tl.store(x + i, tl.load(x + i) * 2)
    >>> x = np.arange(4, dtype=np.float32)
    >>> double[(1,)](x, BLOCK=4)
    <Launch of double on cpu>
    >>> x
    array([0., 2., 4., 6.], dtype=float32)
    """
    if function is None:
        return lambda decorated: jit(decorated, **options)
    if isinstance(function, Launchable):
        return function
    if not inspect.isfunction(function):
        raise error("TT3005", kernel="jit", name="function", what=f"a {type(function).__name__}")
    return Kernel(function, "triton", **options)


__all__ = ["Grid", "Kernel", "TinytonError", "jit"]
