"""A recorded execution of PTX: what each warp did at each step, lane by lane. Plain data, made by the simulator."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from tinyton_lab.base.diagnostics import error
from tinyton_lab.record import columns
from tinyton_lab.record.divergence import Divergence, first_divergence
from tinyton_lab.record.events import Argument, Finding, Step
from tinyton_lab.record.timeline import Timeline


@dataclass(slots=True)
class Recording:
    """The steps of a launch in execution order, the PTX they belong to, and what was found.

    `counts` are totals over the whole launch, also when only some CTAs were recorded. `arguments` are the arrays that
    the launch was given; `places` says for a PTX line which source it came from (``softmax.py:7:9: x / total``).
    """

    kernel: str
    ptx: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    steps: list[Step] = field(default_factory=list[Step])
    findings: list[Finding] = field(default_factory=list[Finding])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    level: str = "warp"
    arguments: list[Argument] = field(default_factory=list[Argument], compare=False)
    places: dict[int, str] = field(default_factory=dict[int, str], compare=False)

    def warps(self) -> list[tuple[tuple[int, int, int], int]]:
        """The (cta, warp) pairs that have steps, in order of first appearance."""
        return list(dict.fromkeys((step.cta, step.warp) for step in self.steps))

    def timeline(self) -> Timeline:
        """Look at any value of any lane at any step, step forward and backward, find writers and readers."""
        return Timeline(self.steps)

    def first_divergence(self, other: Recording) -> Divergence | None:
        """The first step that does something else than in another recording of the kernel; None if all agree."""
        return first_divergence(self.steps, other.steps)

    def save(self, path: str | PathLike[str]) -> int:
        """Write a ``.ttrec`` file; returns its bytes."""
        head = {
            "kernel": self.kernel,
            "ptx": self.ptx,
            "grid": self.grid,
            "block": self.block,
            "level": self.level,
            "findings": [asdict(finding) for finding in self.findings],
            "counts": self.counts,
            "arguments": [asdict(argument) for argument in self.arguments],
            "places": list(self.places.items()),
        }
        return Path(path).write_bytes(columns.pack(head, self.steps))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Recording:
        """Read a ``.ttrec`` file; raises TT6060 for anything else."""
        try:
            return cls._of(*columns.unpack(Path(path).read_bytes()))
        except columns.Damaged as fault:
            raise error("TT6060", None, path=str(path), reason=fault.reason, at=fault.at) from None
        except OSError as fault:
            raise error("TT6060", None, path=str(path), reason=fault.strerror or "it cannot be read", at=0) from None

    @classmethod
    def _of(cls, head: dict[str, Any], steps: list[Step]) -> Recording:
        try:
            return cls(
                str(head["kernel"]),
                str(head["ptx"]),
                _triple(head["grid"]),
                _triple(head["block"]),
                steps,
                [_finding(finding) for finding in head["findings"]],
                {str(name): int(count) for name, count in head["counts"].items()},
                str(head["level"]),
                [_argument(argument) for argument in head["arguments"]],
                {int(line): str(place) for line, place in head["places"]},
            )
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as fault:
            raise columns.Damaged(f"its head does not fit together ({type(fault).__name__})") from None

    def __repr__(self) -> str:
        return f"<Recording {self.kernel}: {len(self.steps)} steps, {len(self.findings)} findings>"


def _finding(found: dict[str, Any]) -> Finding:
    severity, code, message, where = (str(found[key]) for key in ("severity", "code", "message", "where"))
    return Finding(severity, code, message, where, int(found["line"]), int(found["uid"]))


def _argument(found: dict[str, Any]) -> Argument:
    shape, strides = (tuple(int(n) for n in found[key]) for key in ("shape", "strides"))
    return Argument(str(found["name"]), str(found["dtype"]), shape, strides, int(found["address"]))


def _triple(values: Any) -> tuple[int, int, int]:
    x, y, z = (int(value) for value in values)
    return x, y, z
