"""Lets pytest run kernels on an engine of choice and hold them to it: findings fail tests. Inert unless asked."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tinyton_lab.kernel.launch import Launch

FIXTURE = "tinyton_launches"
# Columns of the summary: what a metric is called there, and how it follows from several launches.
COLUMNS = (
    ("instructions", "smsp__inst_executed.sum"),
    ("sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    ("bank conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"),
)
_PROPERTY = "tinyton_lab"


@dataclass(slots=True)
class Watch:
    """Mutable: the launches of the test that runs, and what the session asked for."""

    engine: str | None
    sanitize: bool
    metrics: bool
    launches: list[Launch] = field(default_factory=list["Launch"])

    @property
    def asked(self) -> bool:
        return bool(self.engine or self.sanitize or self.metrics)

    @contextmanager
    def around(self, measured: bool) -> Iterator[None]:
        """Launch as asked and keep every launch while the block runs; `measured` asks for metrics in any case."""
        from tinyton_lab.base import events
        from tinyton_lab.kernel.launch import backend, observed

        def note(event: events.Event) -> None:
            if event.kind == "launched":
                self.launches.append(event.result)

        self.launches.clear()
        metrics = self.metrics or measured
        engine = self.engine or ("sim" if self.sanitize or metrics else None)
        with ExitStack() as stack:
            if engine:
                stack.enter_context(backend(engine))
            stack.enter_context(observed(metrics, self.sanitize))
            stack.enter_context(events.listening(note))
            yield

    def faults(self) -> list[str]:
        """The errors among the findings of the test's launches, each with the source line behind it."""
        return [
            located(launch, finding)
            for launch in self.launches
            for finding in launch.findings
            if finding.severity == "error"
        ]

    def measured(self) -> list[tuple[str, list[float]]]:
        """A row of numbers per measured launch, under its kernel's name."""
        return [
            (launch.compilation.kernel, [launch.metrics[name] for _, name in COLUMNS])
            for launch in self.launches
            if launch.metrics.measured
        ]


def located(launch: Launch, finding: Any) -> str:
    """A finding as text: kernel, code, message, and the source expression behind it."""
    from tinyton_lab.compiler import span_of

    span = span_of(launch.compilation, finding.uid) if finding.uid else None
    place = f"\n    {span}: {span.text}" if span is not None else f"\n    PTX line {finding.line}"
    return f"{launch.compilation.kernel}: {finding.code}: {finding.message}{place}"


class Summary:
    """Mutable: what kernels cost, added up over the tests of a session, also those that other processes ran."""

    def __init__(self) -> None:
        self.totals: dict[str, list[float]] = {}

    def add(self, kernel: str, numbers: list[float]) -> None:
        known = self.totals.setdefault(kernel, [0.0] * (1 + len(COLUMNS)))
        self.totals[kernel] = [a + b for a, b in zip(known, [1, *numbers])]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            for name, row in report.user_properties:
                if name == _PROPERTY and isinstance(row, (list, tuple)):
                    self.add(*row)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.section("what kernels cost")
        for line in self.lines():
            terminalreporter.write_line(line)

    def lines(self) -> list[str]:
        """A table: a row per kernel, columns of launches and metrics."""
        header = ["kernel", "launches", *(title for title, _ in COLUMNS)]
        rows = [[name, *(f"{number:g}" for number in row)] for name, row in sorted(self.totals.items())]
        widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
        return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [header, *rows]]


_WATCH = pytest.StashKey[Watch]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tinyton", "kernels of tinyton_lab")
    group.addoption("--tinyton-engine", help="run kernels on this engine: sim, cpu, cuda, interpreter or eager")
    group.addoption("--tinyton-sanitize", action="store_true", help="simulate; races and the like fail the test")
    group.addoption("--tinyton-metrics", action="store_true", help="simulate; print what kernels cost at the end")


def pytest_configure(config: pytest.Config) -> None:
    engine, sanitize, metrics = (config.getoption(f"tinyton_{name}") for name in ("engine", "sanitize", "metrics"))
    watch = config.stash[_WATCH] = Watch(engine, bool(sanitize), bool(metrics))
    if watch.metrics:
        config.pluginmanager.register(Summary(), "tinyton-summary")
    if watch.engine:
        from tinyton_lab.kernel.launch import ENGINES

        if watch.engine not in ENGINES or watch.engine != "sim" and (watch.sanitize or watch.metrics):
            raise pytest.UsageError(
                f"--tinyton-engine={watch.engine}: engines are {', '.join(ENGINES)}; only sim sanitizes and measures"
            )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    watch, wanted = item.config.stash[_WATCH], FIXTURE in getattr(item, "fixturenames", ())
    if not watch.asked and not wanted:
        return (yield)
    with watch.around(wanted):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    result = yield
    watch = item.config.stash[_WATCH]
    if watch.metrics:
        item.user_properties += [(_PROPERTY, row) for row in watch.measured()]
    if watch.sanitize and (faults := watch.faults()):
        pytest.fail("\n".join(faults), pytrace=False)
    return result


@pytest.fixture
def tinyton_launches(request: pytest.FixtureRequest) -> list[Launch]:
    """The launches of this test so far, in order; it runs in the simulator and measures (``launch.metrics``)."""
    return request.config.stash[_WATCH].launches
