"""What a model of a multiprocessor says about a launch: cycles, and why warps waited. Data only."""

from __future__ import annotations

from dataclasses import dataclass

# What each reason means; the words are Nsight's (smsp__average_warps_issue_stalled_<reason>_per_issue_active).
STALLS = {
    "selected": "the warp issued",
    "wait": "a result of fixed latency",
    "short_scoreboard": "shared memory, shuffles, special functions",
    "long_scoreboard": "global or local memory",
    "barrier": "the other warps of the CTA",
    "branch_resolving": "where a branch goes",
    "math_pipe_throttle": "the pipe was busy",
    "mio_throttle": "shared memory was busy",
    "lg_throttle": "the path to global memory was busy",
    "not_selected": "another warp issued",
}


@dataclass(frozen=True, slots=True)
class Model:
    """What the scoreboard model says: an estimate from tables, labelled so wherever it is shown.

    `ctas` CTAs of `warps` warps each share one multiprocessor of `device` for `cycles`; the whole grid takes `waves`
    such rounds. `issued` counts instructions; `stalls` are cycles of warps by reason (`STALLS`), `per_line` the same by
    PTX line. `complete` is False where the trace was cut short.
    """

    device: str
    ctas: int
    warps: int
    waves: int
    cycles: int
    issued: int
    stalls: dict[str, int]
    per_line: dict[int, dict[str, int]]
    complete: bool = True

    @property
    def cycles_per_cta(self) -> float:
        return self.cycles / self.ctas

    def totals(self) -> dict[str, float]:
        """The numbers under their names among a launch's metrics: Nsight's, after ``model:``."""
        issued = max(self.issued, 1)
        ratios = {
            f"model:smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio": cycles / issued
            for reason, cycles in self.stalls.items()
        }
        return {
            "model:sm__cycles_active.sum": float(self.cycles),
            "model:cycles_per_cta": self.cycles_per_cta,
            "model:sm__inst_issued.avg.per_cycle_active": self.issued / max(self.cycles, 1),
            **ratios,
        }

    def __repr__(self) -> str:
        return f"<Model, not a measurement: {self.cycles} cycles for {self.ctas} CTAs on one SM of {self.device}>"
