"""The simulator's door: open PTX, launch its entries on numpy arrays. Knows neither syntax nor semantics."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyton_lab.base.diagnostics import error
from tinyton_lab.ptx import syntax
from tinyton_lab.ptx.tensor_cores import TENSOR_CORES
from tinyton_lab.ptx.text import parse
from tinyton_lab.record.events import Argument
from tinyton_lab.record.machines import machine
from tinyton_lab.record.metrics import Metrics
from tinyton_lab.record.model import Model
from tinyton_lab.record.recording import Recording
from tinyton_lab.sim.build import Builder
from tinyton_lab.sim.fast import engine as fast
from tinyton_lab.sim.launch import Launch, SourceMap, State, bind, extent
from tinyton_lab.sim.metrics import Meter
from tinyton_lab.sim.recorder import Recorder
from tinyton_lab.sim.sanitizer import Sanitizer
from tinyton_lab.sim.specials import Extent
from tinyton_lab.sim.timing import Timer

_GRID_LIMIT, _BLOCK_LIMIT = (2**31 - 1, 65535, 65535), (1024, 1024, 64)
_RECORDED_CTAS, _MOST_STEPS = 4, 200_000
_CACHE: OrderedDict[str, Module] = OrderedDict()
_LOCK = threading.Lock()


class Module:
    """A PTX module ready to launch.

    >>> module = load(".version 8.0 .target sm_80 .address_size 64 .visible .entry k() { ret; }")
    >>> module.entries
    ('k',)
    >>> module.launch("k", (1,), (32,), []).counts["warp_instructions"]
    1
    """

    def __init__(self, text: str, label: str = "ptx") -> None:
        self.text = text
        self.syntax: syntax.Module = parse(text, label)
        self._programs: dict[str, Builder] = {}
        self._lock = threading.Lock()

    @property
    def entries(self) -> tuple[str, ...]:
        """Names of the entries, in text order."""
        return tuple(f.name for f in self.syntax.functions.values() if f.kind == "entry" and f.body is not None)

    def program(self, entry: str) -> Builder:
        """The lowered program of an entry; raises for anything the simulator does not know."""
        with self._lock:
            found = self._programs.get(entry)
            if found is None:
                function = self.syntax.functions.get(entry)
                if function is None or function.kind != "entry" or function.body is None:
                    raise error("TT6006", None, name=entry, known=", ".join(self.entries) or "none")
                found = self._programs[entry] = Builder(self.syntax, function)
            return found

    def verify(self) -> None:
        """Lower every entry: raises the first fault of form, operand or name."""
        for entry in self.entries:
            self.program(entry)

    def launch(
        self,
        entry: str,
        grid: Any,
        block: Any,
        args: Sequence[Any],
        shared: int = 0,
        cluster: Any = (1, 1, 1),
        engine: str = "trace",
        record: str | None = None,
        metrics: bool = False,
        sanitize: bool = False,
        names: Sequence[str] | None = None,
        recorded_ctas: int = _RECORDED_CTAS,
        most_steps: int = _MOST_STEPS,
        source_map: SourceMap | None = None,
        uninitialised: Sequence[str] = (),
        schedule: int | None = None,
        tensor_cores: str = "exact",
        threads: int | None = None,
        model: str | None = None,
        reachable: Sequence[Any] = (),
    ) -> Launch:
        """Run an entry over a grid.

        `args` are in PTX parameter order: numpy arrays are global buffers (any strides, changed in place), numpy
        scalars by value, ``bytes`` for structs, None a null pointer. `shared` is the dynamic shared memory in bytes.
        `record` ``"warp"`` records the first `recorded_ctas` CTAs, up to `most_steps` steps; `metrics` counts
        sectors, bank conflicts and the like (`tinyton_lab.record.metrics.METRICS`). `names` are the
        arguments' names for messages; `sanitize` looks for races, uninitialised reads and data used too early, also in
        the arguments that `uninitialised` names, and notes them in the launch's findings. `source_map` maps PTX lines
        to (op number, source span). `schedule` is the seed of a random schedule: warps, and the sides of a branch, run
        in a random order, one block at a time; what a kernel without races computes does not depend on it.
        `tensor_cores` says how products of matrices are summed: ``"exact"``, rounded once, or cut off as an
        architecture does (``"sm_80"``, see `tinyton_lab.ptx.tensor_cores`). `model` is the target (``"sm_80"``) on
        whose scoreboard cycles are estimated: `tinyton_lab.record.model`. `reachable` are arrays at their own
        addresses, for kernels that load addresses. `engine` ``"trace"`` interprets, and can tell everything; ``"fast"``
        runs machine code on `threads` threads (all processors by default) and gives results and faults only; what it
        lacks runs on the trace engine, and the launch's `remark` says why. Raises TinytonError for every fault.
        """
        _check_words(engine, record, tensor_cores)
        program = self.program(entry)
        grid3, block3 = extent(grid, "grid", _GRID_LIMIT), _block(block)
        state = State(program, grid3, block3, self._cluster(program.entry, cluster, grid3), shared, source_map)
        state.schedule, state.tensor_core = schedule, TENSOR_CORES[tensor_cores]
        bind(state, args, names, reachable)
        arguments = _arrays(state, args, names) if record else []
        state.recorder = Recorder(state, most_steps) if record else None
        meter = Meter(state) if metrics else None
        watch = Sanitizer(state, uninitialised) if sanitize else None
        timer = Timer(state, machine(model)) if model else None
        state.observers = tuple(observer for observer in (meter, watch, timer) if observer)
        reason = "" if engine == "trace" else fast.reason_against(state) or fast.run(state, threads)
        if engine == "fast" and not reason:
            return Launch(entry, grid3, block3, engine="fast")
        state.run(min(recorded_ctas, int(np.prod(grid3))) if record else 0)
        launch = self._result(state, entry, meter, arguments, timer.model() if timer else None)
        launch.remark = f"only the trace engine has {reason}" if reason else ""
        return launch

    @staticmethod
    def _cluster(function: syntax.Function, cluster: Any, grid: Extent) -> Extent:
        """The cluster's shape: the launch's, or the one the entry requires."""
        given = extent(cluster, "cluster", (16, 16, 16))
        required = dict(function.directives).get("reqnctapercluster")
        shape = extent(required, "cluster", (16, 16, 16)) if required and given == (1, 1, 1) else given
        if any(g % c for g, c in zip(grid, shape)) or shape[0] * shape[1] * shape[2] > 16:
            raise error(
                "TT6008",
                None,
                what="cluster",
                value=shape,
                reason=f"it must divide the grid {grid}, and have at most 16",
            )
        return shape

    def _result(
        self, state: State, entry: str, meter: Meter | None, arguments: list[Argument], model: Model | None
    ) -> Launch:
        counts, findings = state.counts(), list(state.findings.values())
        totals = {**counts, **(model.totals() if model else {})}
        metrics = Metrics(totals) if meter is None else meter.metrics(totals)
        launch = Launch(entry, state.grid, state.block, findings, counts, state.output, metrics, model=model)
        recorder = state.recorder
        if recorder is not None:
            types, registers = state.program.shown_types(), state.program.register_names

            def expand() -> Recording:
                steps, places = list(recorder.steps(types, registers)), state.places()
                found, totals = launch.findings, launch.counts
                return Recording(
                    entry, self.text, state.grid, state.block, steps, found, totals, "warp", arguments, places
                )

            launch.expand = expand
        return launch


def _block(block: Any) -> Extent:
    """The shape of a CTA. Raises TT6008 for too many threads."""
    found = extent(block, "block", _BLOCK_LIMIT)
    if int(np.prod(found)) > 1024:
        raise error("TT6008", None, what="block", value=found, reason="a CTA has at most 1024 threads")
    return found


def _check_words(engine: str, record: str | None, tensor_cores: str) -> None:
    """Refuse options that are none; raises TT6030."""
    if engine not in ("trace", "fast"):
        raise error("TT6030", None, what=f"engine {engine!r}", cure="use engine='trace' or engine='fast'")
    if record not in (None, "warp"):
        raise error("TT6030", None, what=f"recording level {record!r}", cure="use record='warp'")
    if tensor_cores not in TENSOR_CORES:
        known = ", ".join(map(repr, TENSOR_CORES))
        raise error("TT6030", None, what=f"tensor_cores={tensor_cores!r}", cure=f"use one of {known}")


def _arrays(state: State, args: Sequence[Any], names: Sequence[str] | None) -> list[Argument]:
    """The arrays among the arguments, under the names that accesses have in a recording."""
    found: list[Argument] = []
    for number, (offset, variable) in enumerate(state.program.parameter_offsets.values()):
        value = args[number]
        if isinstance(value, np.ndarray):
            label = names[number] if names and number < len(names) else variable.name
            address = int.from_bytes(state.parameters[offset : offset + 8].tobytes(), "little")
            found.append(Argument(label, value.dtype.str, value.shape, value.strides, address))
    return found


def load(text: str, label: str = "ptx") -> Module:
    """Open PTX text from any compiler; the last texts are kept parsed. Raises a located TinytonError."""
    with _LOCK:
        found = _CACHE.get(text)
        if found is not None:
            _CACHE.move_to_end(text)
            return found
    module = Module(text, label)
    with _LOCK:
        _CACHE[text] = module
        while len(_CACHE) > 64:
            _CACHE.popitem(last=False)
    return module
