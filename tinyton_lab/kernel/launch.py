"""What a launch gives back, and the options it was made with."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tinyton_lab.base import knobs
from tinyton_lab.base.diagnostics import error
from tinyton_lab.record.events import Finding
from tinyton_lab.record.metrics import Metrics
from tinyton_lab.record.model import Model
from tinyton_lab.record.recording import Recording
from tinyton_lab.record.stage import Compilation
from tinyton_lab.runtime import cuda

_from_environment = knobs.BACKEND.text
ENGINES = ("cpu", "cuda", "sim", "interpreter", "eager")
_recorded: contextvars.ContextVar[str | None] = contextvars.ContextVar("recording", default=None)
_chosen: contextvars.ContextVar[str | None] = contextvars.ContextVar("backend", default=None)
_observed: contextvars.ContextVar[frozenset[str]] = contextvars.ContextVar("observed", default=frozenset())


class Launchable:
    """What ``kernel[grid](...)`` launches: a kernel, or something around one that has a method `run`."""

    run: Callable[..., Any]

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """Fix the grid; call the result with the arguments."""
        return partial(self.run, grid=grid, warmup=False)


@dataclass(slots=True)
class Launch:
    """The handle of a finished launch.

    `compilation` is the record of the code that ran, `engine` what ran it, `findings` what the engine noticed (in the
    simulator with ``sanitize=True`` also races, uninitialised reads and data used too early), `metrics` the simulator's
    counts (all of them with the launch option ``metrics=True``), `recording` the simulator's trace when one was asked
    for; `model` the model of cycles (``model="sm_80"``). Triton's names (`asm`, `n_regs`, `metadata`) are answered too.
    """

    compilation: Compilation
    engine: str
    findings: tuple[Finding, ...] = ()
    metrics: Metrics = field(default_factory=Metrics)
    recording: Recording | None = None
    model: Model | None = None

    @property
    def asm(self) -> Mapping[str, str]:
        return self.compilation.asm

    @property
    def n_regs(self) -> int | None:
        return self._resource("registers")

    @property
    def n_spills(self) -> int | None:
        return self._resource("spills")

    @property
    def metadata(self) -> Mapping[str, Any]:
        return {"name": self.compilation.kernel, "target": self.compilation.target, **dict(self.compilation.options)}

    def _resource(self, name: str) -> int | None:
        value = self.compilation.resources.get(name)
        return value if isinstance(value, int) else None

    def __repr__(self) -> str:
        noticed = f", {len(self.findings)} findings" if self.findings else ""
        unchecked = ", unchecked" if ("checked", "False") in self.compilation.options else ""
        return f"<Launch of {self.compilation.kernel} on {self.engine}{unchecked}{noticed}>"


@contextlib.contextmanager
def backend(name: str) -> Iterator[None]:
    """Run the launches of a ``with`` block on one engine: ``cpu``, ``cuda``, ``sim``, ``interpreter`` or ``eager``.

    A launch's own ``backend=`` argument wins. Raises TT3014 for an unknown engine.
    """
    token = _chosen.set(_known(name))
    try:
        yield
    finally:
        _chosen.reset(token)


@contextlib.contextmanager
def recording(level: str) -> Iterator[None]:
    """Record what the simulator does in a ``with`` block: `level` is ``warp`` or ``mem``, as for `trace`."""
    token = _recorded.set(level)
    try:
        yield
    finally:
        _recorded.reset(token)


def recording_level() -> str | None:
    """The level of the ``with recording(...)`` around a launch, if any."""
    return _recorded.get()


@contextlib.contextmanager
def observed(metrics: bool = False, sanitize: bool = False) -> Iterator[None]:
    """Launch with ``metrics=True`` or ``sanitize=True`` wherever the simulator runs a kernel in a ``with`` block."""
    asked = {"metrics": metrics, "sanitize": sanitize}
    token = _observed.set(_observed.get() | {name for name, wanted in asked.items() if wanted})
    try:
        yield
    finally:
        _observed.reset(token)


def is_asked(name: str, options: Mapping[str, Any]) -> bool:
    """Whether ``metrics`` or ``sanitize`` is asked for by the launch's option, else by `observed` around it."""
    given = options.get(name)
    return name in _observed.get() if given is None else bool(given)


def choose_engine(asked: str | None) -> str:
    """The engine of a launch: its argument, the ``with tt.backend(...)`` around it, TINYTON_BACKEND, or the default."""
    name = asked or _chosen.get() or _from_environment()
    return _known(name) if name else default_engine()


def default_engine() -> str:
    """``cuda`` where a device is present, else ``cpu``."""
    return "cuda" if cuda.device_count() else "cpu"


def _known(name: str) -> str:
    if name not in ENGINES:
        raise error("TT3014", name=name, known=", ".join(ENGINES))
    return name
