"""Choose compile-time values of a kernel: by functions of its arguments, or by timing. Knows no engine's inside.

>>> import numpy as np
>>> import tinyton_lab as tt, tinyton_lab.language as tl
>>> @tt.autotune([tt.Config({"BLOCK": 64}), tt.Config({"BLOCK": 128})], key=["n"])
... @tt.jit
... def double(x, n, BLOCK: tl.constexpr):
...     i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
...     tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
>>> x = np.arange(200, dtype=np.float32)
>>> double[lambda meta: tt.cdiv(200, meta["BLOCK"])](x, 200)
<Launch of double on cpu>
>>> float(x[100]), double.best_config in double.configs
(200.0, True)
"""

from __future__ import annotations

import math
import threading
import time
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from tinyton_lab.base.diagnostics import TinytonError, error
from tinyton_lab.kernel import Kernel, Launchable, jit
from tinyton_lab.kernel.launch import choose_engine, default_engine
from tinyton_lab.kernel.parameters import MISSING
from tinyton_lab.record.stage import Compilation
from tinyton_lab.runtime import cuda
from tinyton_lab.runtime.buffers import is_tensor

Hook = Callable[..., Any]
_OPTIONS = ("num_warps", "num_ctas", "num_stages", "maxnreg", "ir_override")
_ON_GPU = ("cuda", "sim")


@dataclass
class Config:
    """One choice of `kwargs` (compile-time arguments) and launch options. `pre_hook` is called before each launch.

    `num_warps`, `num_stages`, `num_ctas` and `maxnreg` steer code for GPUs and nothing else.

    >>> Config({"BLOCK": 64}, num_warps=8)
    Config(BLOCK=64, num_warps=8, num_stages=3)
    """

    kwargs: dict[str, Any]
    num_warps: int = 4
    num_stages: int = 3
    num_ctas: int = 1
    maxnreg: int | None = None
    pre_hook: Hook | None = None
    ir_override: str | None = None

    def all_kwargs(self) -> dict[str, Any]:
        """The arguments and the options that are set, as a launch takes them."""
        options = {name: getattr(self, name) for name in _OPTIONS}
        return {**self.kwargs, **{name: value for name, value in options.items() if value is not None}}

    def __repr__(self) -> str:
        options = {"num_warps": self.num_warps, "num_stages": self.num_stages}
        shown = ", ".join(f"{name}={value!r}" for name, value in {**self.kwargs, **options}.items())
        return f"Config({shown})"

    def __hash__(self) -> int:
        return hash((tuple(sorted(self.kwargs)), self.num_warps, self.num_stages, self.num_ctas, self.maxnreg))


class Layer(Launchable):
    """Something around a kernel that completes the arguments of its launches; it is launched as the kernel is.

    `fn` is the next layer or the kernel, `kernel` the kernel itself; what a kernel answers, its layers answer.
    """

    def __init__(self, fn: Any) -> None:
        self.fn: Any = fn if isinstance(fn, Launchable) else jit(fn)
        inner = self.fn
        while not isinstance(inner, Kernel):
            inner = inner.fn
        self.kernel: Kernel = inner
        self.__name__, self.__doc__, self.__module__ = inner.__name__, inner.__doc__, inner.__module__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("fn", "kernel"):
            raise AttributeError(name)
        return getattr(self.fn, name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} around {self.fn!r}>"

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """Fix the grid; call the result with the arguments."""
        if type(self).run not in (Autotuner.run, Heuristics.run):
            return super().__getitem__(grid)
        return partial(self._launch, grid)

    def _launch(self, grid: Any, /, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def named(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """What is known of a launch's arguments by name: defaults, positions, keywords; options as well."""
        defaults = {p.name: p.default for p in self.kernel.parameters if p.default is not MISSING}
        return {**defaults, **dict(zip(self.kernel.arg_names, args)), **kwargs}


class Heuristics(Layer):
    """A kernel some of whose arguments are functions of the others: `values` maps their names to the functions."""

    def __init__(self, fn: Any, values: Mapping[str, Callable[[dict[str, Any]], Any]]) -> None:
        super().__init__(fn)
        _check_names(self.kernel, "heuristics", values)
        self.values = dict(values)

    def complete(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The keywords with the computed ones; each function sees the results of those before it."""
        found = dict(kwargs)
        for name, value in self.values.items():
            found[name] = value(self.named(args, found))
        return found

    def _launch(self, grid: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self.fn[grid](*args, **self.complete(args, kwargs))

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """Launch, or only compile with ``warmup=True``."""
        return self.fn.run(*args, grid=grid, warmup=warmup, **self.complete(args, kwargs))

    def warmup(self, *args: Any, grid: Any = (1,), **kwargs: Any) -> Any:
        """Compile for these arguments without running."""
        return self.fn.warmup(*args, grid=grid, **self.complete(args, kwargs))

    def compiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Compilation:
        """The record for the arguments of a launch; compiles if need be."""
        return self.fn.compiled(args, self.complete(args, kwargs))

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Kernel, dict[str, Any], dict[str, Any]]:
        """Bind arguments by name, as a kernel does."""
        return self.fn.bound(args, self.complete(args, kwargs))


class Autotuner(Layer):
    """A kernel with several configs: the first launch of each key times all of them once and keeps the fastest.

    The arguments are those of `autotune`, and `arg_names`, the names of the kernel's parameters. `cache` maps keys to
    chosen configs, `best_config` is the latest, `configs_timings` its rivals' times in milliseconds, `skipped` the
    configs that did not compile, with their faults. A subclass may have a `run` of its own, and set the hooks.
    """

    def __init__(
        self,
        fn: Any,
        arg_names: Sequence[str],
        configs: Sequence[Config],
        key: Sequence[str],
        reset_to_zero: Sequence[str] | None,
        restore_value: Sequence[str] | None,
        pre_hook: Hook | None = None,
        post_hook: Hook | None = None,
        prune_configs_by: Mapping[str, Any] | None = None,
        warmup: float | None = None,
        rep: float | None = None,
        use_cuda_graph: bool = False,
        do_bench: Callable[..., Any] | None = None,
        cache_results: bool = False,
    ) -> None:
        super().__init__(fn)
        self.arg_names, self.configs, self.keys = list(arg_names), list(configs) or [Config({})], list(key)
        self.reset_to_zero, self.restore_value = list(reset_to_zero or ()), list(restore_value or ())
        _check_names(self.kernel, "reset_to_zero", self.reset_to_zero)
        _check_names(self.kernel, "restore_value", self.restore_value)
        self.user_defined_pre_hook, self.user_defined_post_hook = pre_hook is not None, post_hook is not None
        self.pre_hook: Hook = pre_hook or _nothing
        self.post_hook: Hook = post_hook or _nothing
        by = prune_configs_by or {}
        self.early_config_prune: Hook | None = by.get("early_config_prune")
        self.perf_model: Hook | None = by.get("perf_model")
        self.configs_top_k: int | float = by.get("top_k", 1.0)
        self.do_bench = do_bench
        self.cache: dict[Hashable, Config] = {}
        self.best_config = self.configs[0]
        self.configs_timings: dict[Config, float] = {}
        self.skipped: dict[Config, TinytonError] = {}
        self._lock = threading.RLock()

    def _launch(self, grid: Any, /, *args: Any, **kwargs: Any) -> Any:
        self._check_keywords(kwargs)
        config = self._choice(grid, args, kwargs)
        chosen = {**kwargs, **config.all_kwargs()}
        if config.pre_hook is not None:
            config.pre_hook(self.named(args, chosen))
        return self.fn[grid](*args, **chosen)

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """Launch, or only compile every config with ``warmup=True``."""
        return self.warmup(*args, grid=grid, **kwargs) if warmup else self._launch(grid, *args, **kwargs)

    def warmup(self, *args: Any, grid: Any = (1,), **kwargs: Any) -> list[Compilation]:
        """Compile every config for these arguments without running; one record each."""
        self._check_keywords(kwargs)
        configs = self._candidates(args, kwargs)
        return [self.fn.compiled(args, {**kwargs, **config.all_kwargs()}) for config in configs]

    def compiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Compilation:
        """The record for the arguments of a launch, with the config of their key; before it is tuned, the first."""
        return self.fn.compiled(args, {**kwargs, **self._known(args, kwargs).all_kwargs()})

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Kernel, dict[str, Any], dict[str, Any]]:
        """Bind arguments by name with the config of their key; before it is tuned, with the first one."""
        return self.fn.bound(args, {**self._known(args, kwargs).all_kwargs(), **kwargs})

    def _known(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Config:
        return self.cache.get(self._key(args, kwargs), self.configs[0])

    def _check_keywords(self, kwargs: Mapping[str, Any]) -> None:
        """What the configs give, a launch does not give as well. Raises TT3003."""
        twice = sorted(kwargs.keys() & {name for config in self.configs for name in config.kwargs})
        if twice:
            raise error("TT3003", kernel=self.kernel.name, what=f"got {', '.join(twice)} from the launch and a config")

    def _key(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Hashable:
        """The values of the key's arguments, the dtypes of all arrays, and the engine if it is not the default one."""
        named = self.named(args, kwargs)
        values = [named[name] for name in self.keys if name in named]
        arrays = [str(value.dtype) for value in named.values() if hasattr(value, "dtype")]
        engine = choose_engine(kwargs.get("backend"))
        return (*values, *arrays) if engine == default_engine() else (*values, *arrays, engine)

    def _choice(self, grid: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Config:
        if len(self.configs) == 1:
            return self.configs[0]
        key = self._key(args, kwargs)
        with self._lock:
            if key not in self.cache:
                self.cache[key] = self._tune(grid, args, kwargs)
            self.best_config = self.cache[key]
        return self.best_config

    def _tune(self, grid: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Config:
        """Time each config once and give the fastest. Raises the first one's fault where none compiles."""
        compiled, written = self._compile(args, kwargs)
        named = self.named(args, kwargs)
        self.configs_timings = {}
        with _restored([named[name] for name in sorted(written) if name in named]) as restore:
            for config in compiled:
                self.configs_timings[config] = self._time(config, grid, args, kwargs)
                restore()
        best = min(compiled, key=self.configs_timings.__getitem__)
        self._reset({**named, **best.all_kwargs()}, reset_only=True)
        return best

    def _compile(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[list[Config], set[str]]:
        """The configs that compile, and the names of the arguments that one of them may write."""
        compiled: list[Config] = []
        written = set(self.restore_value)
        skipped: dict[Config, TinytonError] = {}
        for config in self._candidates(args, kwargs):
            try:
                record = self.fn.compiled(args, {**kwargs, **config.all_kwargs()})
            except TinytonError as fault:
                skipped[config] = fault
                continue
            compiled.append(config)
            written |= record.artifacts["written"]
        if not compiled:
            raise next(iter(skipped.values()))
        self.skipped |= skipped
        for config, fault in skipped.items():
            text = (
                f"autotune of {self.kernel.name} skips {config}, which does not compile: {fault.code}: {fault.message}"
            )
            warnings.warn(text, RuntimeWarning, stacklevel=2)
        return compiled, written

    def _candidates(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Config]:
        """The configs worth a trial: pruned as asked, and on a CPU one of those that differ in GPU options only."""
        named = self.named(args, {})
        found = self.prune(named, kwargs)
        if choose_engine(kwargs.get("backend")) in _ON_GPU:
            return found
        distinct: dict[Hashable, Config] = {}
        for config in found:
            distinct.setdefault((repr(sorted(config.kwargs.items())), config.pre_hook), config)
        return list(distinct.values())

    def _time(self, config: Config, grid: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> float:
        """Milliseconds of one launch, or what the caller's own `do_bench` says."""
        given = {**kwargs, **config.all_kwargs()}
        named = self.named(args, given)
        launch = self.fn[grid]

        def trial() -> None:
            if config.pre_hook is not None:
                config.pre_hook(named)
            self._reset(named, reset_only=False)
            launch(*args, **given)
            self.post_hook(named, exception=None)

        if self.do_bench is not None:
            found = self.do_bench(trial, quantiles=(0.5, 0.2, 0.8))
            return float(found[0] if isinstance(found, (list, tuple)) else found)
        return milliseconds(trial)

    def _reset(self, named: Mapping[str, Any], reset_only: bool) -> None:
        self.pre_hook(named, reset_only=reset_only)
        for name in self.reset_to_zero:
            zero(named[name])

    def prune(self, named: dict[str, Any], kwargs: Mapping[str, Any]) -> list[Config]:
        """The configs left by `early_config_prune`, then the `top_k` ones that `perf_model` expects to be fastest.

        `named` are the arguments given by position, `kwargs` those by keyword. Raises TT3019 where none is left.
        """
        early, model, top = self.early_config_prune, self.perf_model, self.configs_top_k
        found = list(self.configs) if early is None else list(early(list(self.configs), named, **kwargs))
        if model is not None:
            keep = int(len(self.configs) * top) if isinstance(top, float) and top <= 1.0 else int(top)
            found.sort(key=lambda config: model(**{**named, **kwargs, **config.all_kwargs()}))
            found = found[:keep]
        if not found:
            raise error("TT3019", what="early_config_prune" if model is None else "top_k")
        return found


def _nothing(named: Mapping[str, Any], **situation: Any) -> None:
    """The hook of those who have none."""


def _check_names(kernel: Kernel, what: str, names: Iterator[str] | Sequence[str] | Mapping[str, Any]) -> None:
    """Raises TT3018 for a name that is no parameter of the kernel."""
    for name in names:
        if name not in kernel.arg_names:
            raise error("TT3018", kernel=kernel.name, name=name, what=what, known=", ".join(kernel.arg_names))


# Arrays: numpy's and torch's
@contextmanager
def _restored(values: Sequence[Any]) -> Iterator[Callable[[], None]]:
    """Keep copies of arrays; the function given puts the values back, and so does the end of a block that fails."""
    arrays = [value for value in values if hasattr(value, "dtype") and hasattr(value, "shape")]
    kept = [array.detach().clone() if is_tensor(array) else array.copy() for array in arrays]

    def restore() -> None:
        for array, values_before in zip(arrays, kept, strict=True):
            if is_tensor(array):
                array.detach().copy_(values_before)
            else:
                array[...] = values_before

    try:
        yield restore
    except BaseException:
        restore()
        raise


def zero(array: Any) -> None:
    """Set every element of an array or tensor to 0."""
    if is_tensor(array):
        array.detach().zero_()
    elif array is not None:
        array[...] = 0


# Time
def milliseconds(call: Callable[[], Any]) -> float:
    """Milliseconds that a call takes, until a device has done its work."""
    start = time.perf_counter()
    call()
    if cuda.device_count():
        cuda.session().call("cuCtxSynchronize")
    return (time.perf_counter() - start) * 1e3


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """Time a function: call it for about `warmup`, then for about `rep` milliseconds, at least once.

    Gives the times in milliseconds: their `quantiles` (a list; one number for one quantile), else, by `return_mode`,
    their ``mean``, ``median``, ``min``, ``max`` or ``all`` of them. The gradients of `grad_to_none` are dropped before
    each call. Raises TT3013 for another mode.
    """
    _repeat(fn, warmup, ())
    times = _repeat(fn, rep, grad_to_none or ())
    if quantiles is not None:
        found = [_quantile(times, quantile) for quantile in quantiles]
        return found[0] if len(found) == 1 else found
    summary = SUMMARIES.get(return_mode)
    if summary is None:
        why = f"it must be one of {', '.join(SUMMARIES)}"
        raise error("TT3013", kernel="do_bench", name="return_mode", value=return_mode, why=why)
    return summary(times)


SUMMARIES: dict[str, Callable[[list[float]], Any]] = {
    "mean": lambda times: math.fsum(times) / len(times),
    "median": lambda times: _quantile(times, 0.5),
    "min": min,
    "max": max,
    "all": list,
}


def _repeat(fn: Callable[[], Any], budget: float, tensors: Sequence[Any]) -> list[float]:
    times: list[float] = []
    while sum(times) < budget or not times:
        for tensor in tensors:
            tensor.grad = None
        times.append(milliseconds(fn))
    return times


def _quantile(times: Sequence[float], quantile: float) -> float:
    """A quantile, between neighbours in proportion."""
    ordered = sorted(times)
    place = quantile * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


# Decorators
def autotune(
    configs: Sequence[Config],
    key: Sequence[str],
    prune_configs_by: Mapping[str, Any] | None = None,
    reset_to_zero: Sequence[str] | None = None,
    restore_value: Sequence[str] | None = None,
    pre_hook: Hook | None = None,
    post_hook: Hook | None = None,
    warmup: float | None = None,
    rep: float | None = None,
    use_cuda_graph: bool = False,
    do_bench: Callable[..., Any] | None = None,
    cache_results: bool = False,
) -> Callable[[Any], Autotuner]:
    """Let the first launch for each value of the `key` arguments try all `configs` on the data and keep the fastest.

    Every config runs once, on the launch's own engine; whatever it writes is put back before the next one and before
    the launch itself, so kernels that work in place stay right. Arrays in `reset_to_zero` are zeroed before each trial
    and before the launch after the trials. A config that does not compile is skipped with a warning.

    `prune_configs_by` may hold ``early_config_prune``, ``perf_model`` and ``top_k``; `pre_hook` and `post_hook` are
    called around each trial with the arguments by name; `do_bench` replaces the single trial. `warmup`, `rep`,
    `use_cuda_graph` and `cache_results` have no effect. Raises TT3018 for names that are no parameters.
    """

    def tuned(fn: Any) -> Autotuner:
        kernel: Any = fn if isinstance(fn, Launchable) else jit(fn)
        return Autotuner(
            kernel, kernel.arg_names, configs, key, reset_to_zero, restore_value, pre_hook, post_hook,
            prune_configs_by, do_bench=do_bench,
        )  # fmt: skip

    return tuned


def heuristics(values: Mapping[str, Callable[[dict[str, Any]], Any]]) -> Callable[[Any], Heuristics]:
    """Compute some arguments of a kernel from the others: `values` maps names to functions of all arguments by name.

    Raises TT3018 for names that are no parameters.

    >>> import numpy as np
    >>> import tinyton_lab as tt, tinyton_lab.language as tl
    >>> @tt.heuristics({"BLOCK": lambda given: tt.next_power_of_2(given["n"])})
    ... @tt.jit
    ... def fill(x, n, BLOCK: tl.constexpr):
    ...     i = tl.arange(0, BLOCK)
    ...     tl.store(x + i, i, mask=i < n)
    >>> x = np.zeros(5, np.int32)
    >>> _ = fill[(1,)](x, 5)
    >>> x
    array([0, 1, 2, 3, 4], dtype=int32)
    """
    return lambda fn: Heuristics(fn, values)
