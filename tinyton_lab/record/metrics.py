"""What a launch cost, under the names of Nsight Compute. Plain numbers and how they add up; measures nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tinyton_lab.base.diagnostics import error

SECTOR_BYTES = 32
GLOBAL_OPERATIONS = ("ld", "st", "atom", "red", "ldgsts")
SHARED_OPERATIONS = ("ld", "st", "atom", "ldgsts")
PIPES = ("alu", "fma", "fp64", "xu", "lsu", "tensor", "cbu")


@dataclass(slots=True)
class Traffic:
    """Mutable: accesses added up. `requests` counts warps with an active lane, `bytes` what the active lanes asked for.

    Global accesses fill `sectors`, shared ones `wavefronts` and `conflicts`.
    """

    requests: int = 0
    bytes: int = 0
    sectors: int = 0
    wavefronts: int = 0
    conflicts: int = 0

    def add(self, other: Traffic) -> None:
        self.requests += other.requests
        self.bytes += other.bytes
        self.sectors += other.sectors
        self.wavefronts += other.wavefronts
        self.conflicts += other.conflicts


@dataclass(frozen=True, slots=True)
class InstructionCounts:
    """What one PTX instruction cost. `warps` executed it with `lanes` active lanes; for `lanes_on` its guard held.

    `traffic` is by space and operation; `arguments` is the global part of it by operation and argument name. `branches`
    and `divergent` count warps; `line` is the PTX line, `uid` the op number behind it (0: none), `source` the line of
    the source behind that (0: unknown).
    """

    line: int
    uid: int
    text: str
    pipe: str
    warps: int
    lanes: int
    lanes_on: int
    branches: int = 0
    divergent: int = 0
    barriers: int = 0
    traffic: Mapping[tuple[str, str], Traffic] = field(default_factory=dict[tuple[str, str], Traffic])
    arguments: Mapping[tuple[str, str], Traffic] = field(default_factory=dict[tuple[str, str], Traffic])
    source: int = 0


Program = Sequence[InstructionCounts]
Count = Callable[[Program], float]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: Nsight's `name`, its unit, what it says, and how it follows from the counts of some lines.

    `exact` tells whether a device must show the same number for the same PTX accesses; else the number is a model.
    """

    name: str
    unit: str
    doc: str
    count: Count
    exact: bool = True


def _traffic(space: str, operation: str, what: str) -> Count:
    """The sum of one field of `Traffic`; an empty operation means all of them."""

    def count(program: Program) -> float:
        return sum(
            getattr(traffic, what)
            for counts in program
            for (place, kind), traffic in counts.traffic.items()
            if place == space and operation in ("", kind)
        )

    return count


def _sum(what: str, pipe: str = "") -> Count:
    return lambda program: sum(getattr(counts, what) for counts in program if pipe in ("", counts.pipe))


def _scaled(count: Count, factor: float) -> Count:
    return lambda program: count(program) * factor


def _ratio(above: Count, below: Count, nothing: float = 0.0) -> Count:
    def count(program: Program) -> float:
        divisor = below(program)
        return above(program) / divisor if divisor else nothing

    return count


def _difference(first: Count, second: Count) -> Count:
    return lambda program: first(program) - second(program)


def _global(operation: str) -> Iterator[Metric]:
    what = f"mem_global_op_{operation}"
    sectors = _traffic("global", operation, "sectors")
    requests = _traffic("global", operation, "requests")
    told = _OPERATIONS[operation]
    yield Metric(f"l1tex__t_requests_pipe_lsu_{what}.sum", "requests", f"warps that made global {told}", requests)
    yield Metric(
        f"l1tex__t_sectors_pipe_lsu_{what}.sum", "sectors", f"distinct 32-byte sectors per warp of {told}", sectors
    )
    yield Metric(
        f"l1tex__average_t_sectors_per_request_pipe_lsu_{what}.ratio",
        "sectors/request",
        f"sectors per request of {told}",
        _ratio(sectors, requests),
    )
    if operation in ("ld", "st"):
        asked = _traffic("global", operation, "bytes")
        yield Metric(
            f"smsp__sass_data_bytes_{what}.sum", "bytes", f"bytes that active lanes asked for in {told}", asked
        )
        yield Metric(
            f"l1tex__t_bytes_pipe_lsu_{what}.sum",
            "bytes",
            f"sectors of {told}, in bytes",
            _scaled(sectors, SECTOR_BYTES),
        )
        yield Metric(
            f"smsp__sass_average_data_bytes_per_sector_{what}.pct",
            "%",
            f"bytes asked for of bytes moved by {told}; above 100 where lanes share",
            _ratio(_scaled(asked, 100 / SECTOR_BYTES), sectors),
        )


def _shared(operation: str) -> Iterator[Metric]:
    what = f"mem_shared_op_{operation}" if operation else "mem_shared"
    told = _OPERATIONS[operation] if operation else "all accesses"
    exact = operation in ("ld", "st")
    yield Metric(
        f"l1tex__data_pipe_lsu_wavefronts_{what}.sum",
        "wavefronts",
        f"passes over the banks of shared memory for {told}",
        _traffic("shared", operation, "wavefronts"),
        exact,
    )
    yield Metric(
        f"l1tex__data_bank_conflicts_pipe_lsu_{what}.sum",
        "conflicts",
        f"passes beyond those that {told} need without conflicts",
        _traffic("shared", operation, "conflicts"),
        exact,
    )


_OPERATIONS = {
    "ld": "loads",
    "st": "stores",
    "atom": "atomics",
    "red": "atomics without a result",
    "ldgsts": "asynchronous copies from global to shared memory",
}
_WARPS, _LANES, _BRANCHES = _sum("warps"), _sum("lanes"), _sum("branches")
_INSTRUCTIONS = (
    Metric("smsp__inst_executed.sum", "instructions", "PTX instructions that warps executed", _WARPS, False),
    Metric("smsp__thread_inst_executed.sum", "instructions", "the same per active lane", _LANES, False),
    Metric(
        "smsp__thread_inst_executed_per_inst_executed.ratio",
        "lanes",
        "active lanes per instruction",
        _ratio(_LANES, _WARPS),
        False,
    ),
    Metric(
        "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
        "lanes",
        "active lanes per instruction whose guard holds",
        _ratio(_sum("lanes_on"), _WARPS),
        False,
    ),
    *(
        Metric(
            f"smsp__inst_executed_pipe_{pipe}.sum",
            "instructions",
            f"instructions of pipe {pipe}",
            _sum("warps", pipe),
            False,
        )
        for pipe in PIPES
    ),
    Metric("smsp__sass_branch_targets.sum", "branches", "branches that warps executed", _BRANCHES, False),
    Metric(
        "smsp__sass_branch_targets_threads_divergent.sum",
        "branches",
        "branches at which active lanes of a warp went different ways",
        _sum("divergent"),
        False,
    ),
    Metric(
        "smsp__sass_average_branch_targets_threads_uniform.pct",
        "%",
        "branches at which all active lanes of a warp went the same way (100 without branches)",
        _ratio(_scaled(_difference(_BRANCHES, _sum("divergent")), 100), _BRANCHES, 100),
        False,
    ),
    Metric("barriers", "instructions", "barriers that warps reached (no counterpart in Nsight)", _sum("barriers")),
)
_ROWS = (
    *(metric for operation in GLOBAL_OPERATIONS for metric in _global(operation)),
    *(metric for operation in (*SHARED_OPERATIONS, "") for metric in _shared(operation)),
    *_INSTRUCTIONS,
)
METRICS: dict[str, Metric] = {row.name: row for row in _ROWS}


class Metrics(Mapping[str, float]):
    """Numbers by name: the launch's totals, and every row of `METRICS` when the launch was measured.

    >>> line = InstructionCounts(7, 0, "ld", "lsu", 1, 32, 32, traffic={("global", "ld"): Traffic(1, 128, 4)})
    >>> metrics = Metrics({"warp_instructions": 1}, [line])
    >>> metrics["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"], metrics.sectors_per_request(), len(Metrics())
    (4, 4.0, 0)
    """

    def __init__(self, totals: Mapping[str, float] | None = None, program: Program | None = None) -> None:
        self._program, self._totals = program, totals or {}
        self._values: dict[str, float] | None = None

    @property
    def measured(self) -> bool:
        """Whether the launch was made with ``metrics=True``."""
        return self._program is not None

    @property
    def instructions(self) -> Program:
        """The counts of each executed instruction, in text order. Raises TT6031 for a launch that was not measured."""
        if self._program is None:
            raise error("TT6031", None)
        return self._program

    def _all(self) -> dict[str, float]:
        if self._values is None:
            rows = {} if self._program is None else {row.name: row.count(self._program) for row in METRICS.values()}
            self._values = {**self._totals, **rows}
        return self._values

    def __getitem__(self, name: str) -> float:
        if name in METRICS and not self.measured:
            raise error("TT6031", None)
        return self._all()[name]

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return f"<Metrics: {len(self)} numbers{'' if self.measured else ', not measured'}>"

    def per_line(self) -> dict[int, Metrics]:
        """The metrics of each executed PTX line, by its number."""
        return self._grouped(lambda counts: counts.line)

    def per_source_line(self) -> dict[int, Metrics]:
        """The metrics of each line of the kernel's source, by its number in its file (0: instructions without one)."""
        return self._grouped(lambda counts: counts.source)

    def per_op(self) -> dict[int, Metrics]:
        """The metrics of each op of the kernel, by its number (0: instructions without one)."""
        return self._grouped(lambda counts: counts.uid)

    def _grouped(self, key: Callable[[InstructionCounts], int]) -> dict[int, Metrics]:
        grouped: dict[int, list[InstructionCounts]] = {}
        for counts in self.instructions:
            grouped.setdefault(key(counts), []).append(counts)
        return {number: Metrics(None, program) for number, program in sorted(grouped.items())}

    def arguments(self) -> tuple[str, ...]:
        """The names of the arguments and variables that global accesses reached."""
        return tuple(sorted({name for counts in self.instructions for _, name in counts.arguments}))

    def traffic(self, argument: str | None = None, operation: str | None = None) -> Traffic:
        """Global accesses added up: of one argument, of one operation (``ld``, ``st``, ``atom``, ``red``, ``ldgsts``).

        Raises TT6031 for a launch that was not measured, TT6032 for an argument that no global access reached.
        """
        total = Traffic()
        if argument is not None and argument not in self.arguments():
            raise error("TT6032", None, name=argument, known=", ".join(self.arguments()) or "none")
        for counts in self.instructions:
            if argument is None:
                found = [(kind, t) for (space, kind), t in counts.traffic.items() if space == "global"]
            else:
                found = [(kind, t) for (kind, name), t in counts.arguments.items() if name == argument]
            for kind, traffic in found:
                if operation in (None, kind):
                    total.add(traffic)
        return total

    def sectors_per_request(self, argument: str | None = None, operation: str | None = None) -> float:
        """The 32-byte sectors that a warp's global access touches on average; 0 without accesses. Raises as `traffic`.

        4 is the best for 4-byte elements in all lanes, 8 for 8-byte and 16 for 16-byte ones.
        """
        total = self.traffic(argument, operation)
        return total.sectors / total.requests if total.requests else 0.0

    def bank_conflicts(self) -> int:
        """Passes over the banks of shared memory that better addresses would save."""
        return int(self["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"])
