"""One launch: arguments become memory, the grid is cut into chunks, results are collected. Knows no instruction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tinyton_lab.base.diagnostics import Note, error
from tinyton_lab.base.faults import FAULTS
from tinyton_lab.base.knobs import STEP_LIMIT
from tinyton_lab.base.source import Span
from tinyton_lab.ptx.syntax import Module, Variable
from tinyton_lab.ptx.tensor_cores import EXACT
from tinyton_lab.ptx.text import locations
from tinyton_lab.ptx.types import TYPES
from tinyton_lab.record.events import Finding
from tinyton_lab.record.metrics import Metrics
from tinyton_lab.record.model import Model
from tinyton_lab.record.recording import Recording
from tinyton_lab.sim import faults
from tinyton_lab.sim.access import Rows
from tinyton_lab.sim.build import Builder
from tinyton_lab.sim.devicelib import FIRST_HEAP_ADDRESS
from tinyton_lab.sim.lanes import Array, Chunk
from tinyton_lab.sim.lowering import SPECIAL
from tinyton_lab.sim.machine import Machine, start
from tinyton_lab.sim.memory import GRID_WORKSPACE, Part, Region, Space, named_region, place_arguments, place_at_home
from tinyton_lab.sim.observers import Observer
from tinyton_lab.sim.program import CodeBlock, size_of
from tinyton_lab.sim.recorder import Recorder
from tinyton_lab.sim.specials import Extent, coordinates, special_registers

_CHUNK_LANES, _CHUNK_BYTES = 16384, 1 << 26
# What observers may keep for each byte of shared memory.
_OBSERVED_BYTES = 32
_ASKED = frozenset(SPECIAL)
SourceMap = Mapping[int, tuple[int, Span | None]]


@dataclass(slots=True)
class Launch:
    """What a launch did: `findings`, `counts` (totals), `output` (what it printed) and `metrics`.

    `recording` is there if it was asked for; so are the memory metrics, `metrics` holds the totals in any case. `model`
    is what a model of a device says of cycles, when one was asked for.
    """

    entry: str
    grid: Extent
    block: Extent
    findings: list[Finding] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    output: list[str] = field(default_factory=list)
    metrics: Metrics = field(default_factory=Metrics)
    engine: str = "trace"
    remark: str = ""
    model: Model | None = None
    expand: Callable[[], Recording] | None = field(default=None, repr=False)
    _recording: Recording | None = field(default=None, repr=False)

    @property
    def recording(self) -> Recording | None:
        """What each warp did, when it was asked for; written out on first use."""
        if self._recording is None and self.expand is not None:
            self._recording = self.expand()
        return self._recording

    def __repr__(self) -> str:
        return f"<Launch {self.entry} grid={self.grid} block={self.block}: {len(self.findings)} findings>"


class State:
    """Mutable: everything that a launch's chunks share."""

    def __init__(
        self, program: Builder, grid: Extent, block: Extent, cluster: Extent, dynamic: int, source_map: SourceMap | None
    ) -> None:
        self.program, self.grid, self.block = program, grid, block
        self.module: Module = program.module
        self.source_map = source_map or {}
        self.space = Space([])
        self.parameters: Array = np.zeros(0, np.uint8)
        self.dynamic_bytes = dynamic
        self.shared_limit = program.shared_bytes + dynamic
        self.output: list[str] = []
        self.findings: dict[tuple[str, int], Finding] = {}
        self.heap_next, self.heap_left = FIRST_HEAP_ADDRESS, 1 << 28
        self.hints: list[Region | None] = [None] * program.access_sites
        self.recorder: Recorder | None = None
        self.observers: tuple[Observer, ...] = ()
        self.tensor_core = EXACT
        self.cluster, self.cluster_size = cluster, cluster[0] * cluster[1] * cluster[2]
        self.steps, self.limit = 0, STEP_LIMIT.integer()
        self.schedule: int | None = None
        self.block_runs = [0] * len(program.code)
        self.block_lanes = [0] * len(program.code)
        self.block_warps = [0] * len(program.code)

    # What faults and recordings ask.
    def cta_index(self, position: int) -> Extent:
        """The program id of the CTA at a position in launch order."""
        x, y, z = coordinates(np.asarray(position), self.grid, self.cluster)[0]
        return int(x), int(y), int(z)

    def span(self, line: int) -> Span:
        """The source expression behind a PTX line, or that line itself."""
        found = self.source_map.get(line)
        return found[1] if found and found[1] is not None else self.module.line_span(line)

    def places(self) -> dict[int, str]:
        """Which source each PTX line came from, with its text."""
        spans = {line: span for line, (_, span) in sorted(self.source_map.items()) if span is not None}
        return {line: f"{span}: {span.text}" for line, span in spans.items()}

    def has_source(self, line: int) -> bool:
        """Whether the expression behind a PTX line is known."""
        found = self.source_map.get(line)
        return found is not None and found[1] is not None

    def parts(self) -> list[Part]:
        """All arguments and variables of the launch."""
        return [part for region in self.space.regions for part in region.parts]

    def notes(self, line: int) -> tuple[Note, ...]:
        found = self.source_map.get(line)
        return (Note("the PTX instruction", self.module.line_span(line)),) if found and found[1] is not None else ()

    def uid(self, line: int) -> int:
        found = self.source_map.get(line)
        return found[0] if found else 0

    def source_line(self, line: int) -> int:
        """The line of the source behind a PTX line, by the map or by ``.loc``; 0 where it is unknown."""
        if self.has_source(line):
            return self.span(line).line
        return 0 if self.source_map else self._located.get(line, (0, 0, 0))[1]

    @cached_property
    def _located(self) -> dict[int, tuple[int, int, int]]:
        return locations(self.module)

    def find(self, severity: str, code: str, line: int, where: str, **fields: object) -> None:
        """Note a finding once per code and line."""
        message = FAULTS[code].message.format(**{"where": where, **fields})
        self.findings.setdefault((code, line), Finding(severity, code, message, where, line, self.uid(line)))

    def count(self, code: CodeBlock, lanes: int, mask: Array | None, chunk: Chunk) -> None:
        """Account for one block about to run."""
        number, steps = code.number, len(code.details) or 1
        self.steps += steps
        chunk.steps += steps
        self.block_runs[number] += 1
        self.block_lanes[number] += lanes
        if mask is None:
            self.block_warps[number] += chunk.ctas * chunk.threads >> 5
        else:
            self.block_warps[number] += int(
                np.count_nonzero(np.broadcast_to(mask, chunk.shape).reshape(-1, 32).any(axis=1))
            )
        if self.steps > self.limit:
            line = code.details[0].line if code.details else 1
            _, cta, thread = faults.place(chunk, chunk.active(), None)
            raise faults.fault(chunk, "TT6020", line, steps=self.steps, where=faults.where(chunk, cta, thread))

    # Running.
    def run(self, recorded: int) -> None:
        """Run all CTAs in order, as many at once as fit, recording the first `recorded` ones."""
        total, threads = int(np.prod(self.grid)), int(np.prod(self.block))
        padded = (threads + 31) & ~31
        per_cta = max(self.shared_limit, 1) + padded * (self.program.local_bytes + self.program.stack_bytes)
        per_cta *= _OBSERVED_BYTES if self.observers else 1
        most = max(1, min(_CHUNK_LANES // padded, _CHUNK_BYTES // per_cta))
        # Clusters stay together.
        most = max(most // self.cluster_size, 1) * self.cluster_size
        # A grid that synchronises as a whole must be there as a whole.
        most = total if "%envreg2" in self.program.specials else most
        first = 0
        with np.errstate(all="ignore"):
            while first < total:
                count = min(most, total - first)
                self.run_chunk(first, count, padded, threads, min(max(recorded - first, 0), count))
                first += count

    def run_chunk(self, first: int, count: int, padded: int, threads: int, recorded: int) -> None:
        chunk = Chunk(self, first, count, padded)
        chunk.recording, chunk.recorded = recorded > 0, recorded
        chunk.observers = self.observers
        chunk.shared = Rows((count, 1), self.shared_limit)
        shared, wanted = (self.dynamic_bytes, self.shared_limit), _ASKED & self.program.specials.keys()
        for observer in self.observers:
            observer.enter(chunk)
        start(
            self.program,
            chunk,
            special_registers(wanted, first, count, padded, self.grid, self.block, self.cluster, shared),
        )
        Machine(self.program, chunk, threads).run()
        for observer in self.observers:
            observer.leave(chunk)

    def counts(self) -> dict[str, int]:
        """Totals over the launch, from the number of runs of each block."""
        totals = {"steps": self.steps, "warp_instructions": 0, "lane_instructions": 0}
        for code, warps, lanes in zip(self.program.code, self.block_warps, self.block_lanes):
            totals["warp_instructions"] += warps * len(code.details)
            totals["lane_instructions"] += lanes * len(code.details)
            for details in code.details:
                key = f"warp_instructions.{details.pipe}"
                totals[key] = totals.get(key, 0) + warps
        if self.recorder is not None:
            totals["recorded_steps"], totals["steps_of_recorded_ctas"] = (
                min(self.recorder.kept, self.recorder.most),
                self.recorder.total,
            )
        return totals

    def lines(self) -> dict[int, int]:
        """How many warps executed each PTX line."""
        found: dict[int, int] = {}
        for code, warps in zip(self.program.code, self.block_warps):
            for details in code.details:
                found[details.line] = found.get(details.line, 0) + warps
        return found


def bind(state: State, arguments: Sequence[Any], names: Sequence[str] | None, reachable: Sequence[Array] = ()) -> None:
    """Place the arguments in memory and pack the parameter buffer; raises TT6007 where one does not fit."""
    parameters = list(state.program.parameter_offsets.values())
    if len(arguments) != len(parameters):
        raise error(
            "TT6007",
            None,
            index=len(arguments),
            name="-",
            entry=state.program.entry.name,
            reason=f"{len(parameters)} arguments are wanted, {len(arguments)} were given",
        )
    labels = [names[n] if names and n < len(names) else variable.name for n, (_, variable) in enumerate(parameters)]
    arrays = [(labels[n], value) for n, value in enumerate(arguments) if isinstance(value, np.ndarray)]
    regions, pointers = place_arguments(arrays)
    pieces: list[tuple[int, bytes]] = []
    remaining = iter(pointers)
    for index, (value, (offset, variable)) in enumerate(zip(arguments, parameters)):
        pointer = next(remaining) if isinstance(value, np.ndarray) else None
        piece = _piece(value, pointer, variable)
        if isinstance(piece, str):
            raise error("TT6007", None, index=index, name=labels[index], entry=state.program.entry.name, reason=piece)
        pieces.append((offset, piece))
    state.parameters = state.program.pack(pieces)
    workspace = named_region(GRID_WORKSPACE, np.zeros(64, np.uint8), "the grid's barrier")
    regions += place_at_home([(f"reachable.{number}", array) for number, array in enumerate(reachable)])
    state.space = Space([*regions, *state.program.variable_regions(), workspace])


def _piece(value: Any, pointer: int | None, variable: Variable) -> bytes | str:
    """The bytes of one argument, or why it does not fit."""
    size = size_of(variable)
    if pointer is not None or value is None:
        if size != 8 or variable.shape is not None:
            return f"is .{variable.type} of {size} bytes, not a pointer"
        return (pointer or 0).to_bytes(8, "little")
    if isinstance(value, (bytes, bytearray)):
        return bytes(value) if len(value) == size else f"has {size} bytes, but {len(value)} were given"
    type_ = TYPES[variable.type]
    if isinstance(value, (bool, int, float)):
        dtype = type_.compute if isinstance(value, float) or type_.kind == "float" else None
        if isinstance(value, float) and (dtype is None or dtype.kind != "f"):
            dtype = np.dtype(f"float{max(size * 8, 16)}")
        return (
            np.asarray(value, dtype).tobytes()
            if dtype is not None
            else (int(value) & (1 << 8 * size) - 1).to_bytes(size, "little")
        )
    if isinstance(value, np.generic):
        return (
            value.tobytes()
            if value.dtype.itemsize == size
            else f"has {size} bytes, but a {value.dtype} has {value.dtype.itemsize}"
        )
    return f"cannot take a {type(value).__name__}"


def extent(value: Any, what: str, limits: Extent) -> Extent:
    """Normalise a grid or block to three positive numbers; raises TT6008."""
    parts = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(parts) <= 3 or not all(isinstance(p, (int, np.integer)) for p in parts):
        raise error("TT6008", None, what=what, value=value, reason="one to three integers are wanted")
    full = (*(int(p) for p in parts), 1, 1)[:3]
    for part, limit in zip(full, limits):
        if not 1 <= part <= limit:
            raise error("TT6008", None, what=what, value=full, reason=f"each part must be from 1 to {limit}")
    return full[0], full[1], full[2]


__all__ = ["Launch", "Region", "SourceMap", "State", "bind", "extent"]
