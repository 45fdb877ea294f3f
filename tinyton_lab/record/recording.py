"""A recorded execution of PTX: what each warp did at each step, lane by lane. Plain data, made by the simulator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong (``error``) or worth knowing (``note``) about a run.

    `code` is a fault code; `where` names program, warp and lanes; `line` the PTX line, `uid` the op.
    """

    severity: str
    code: str
    message: str
    where: str = ""
    line: int = 0
    uid: int = 0


@dataclass(frozen=True, slots=True)
class Access:
    """The memory side of a step: state space, argument or symbol name, and each lane's byte offset (-1: inactive)."""

    space: str
    kind: str
    name: str
    bytes: int
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction executed by one warp.

    `mask` has bit l set when lane l took part; `line` is the 1-based PTX line, `uid` the op number behind it (0: none);
    `writes` maps a register to its 32 new lane values (as Python numbers, in the register's type).
    """

    index: int
    cta: tuple[int, int, int]
    warp: int
    line: int
    uid: int
    text: str
    mask: int
    writes: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    access: Access | None = None
    waits: str = ""


@dataclass(slots=True)
class Recording:
    """The steps of a launch in execution order, the PTX they belong to, and what was found.

    `counts` are totals over the whole launch, also when only some CTAs were recorded.
    """

    kernel: str
    ptx: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    steps: list[Step] = field(default_factory=list[Step])
    findings: list[Finding] = field(default_factory=list[Finding])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    level: str = "warp"

    def warps(self) -> list[tuple[tuple[int, int, int], int]]:
        """The (cta, warp) pairs that have steps, in order of first appearance."""
        return list(dict.fromkeys((step.cta, step.warp) for step in self.steps))

    def __repr__(self) -> str:
        return f"<Recording {self.kernel}: {len(self.steps)} steps, {len(self.findings)} findings>"
