"""What a recording consists of: steps, memory accesses, findings, arguments. Plain data, made by the simulator."""

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
    """The memory side of a step: state space, argument or symbol name, and each lane's byte offset (-1: inactive).

    `data` is what each lane stored, or what stands there after an atomic, as an unsigned number (0 where inactive);
    empty for loads, and where it is not known. Of lanes that store to one place the last one wins.
    """

    space: str
    kind: str
    name: str
    bytes: int
    offsets: tuple[int, ...]
    data: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Movement:
    """Bytes that a copy engine moved for a lane, from a (space, name) to another.

    `runs` are (offset at the origin, offset at the target, bytes); the first is -1 for bytes that were filled in.
    `data` is what stands at the target afterwards, run after run. With `combines` its old content went into that.
    """

    lane: int
    origin: tuple[str, str]
    target: tuple[str, str]
    runs: tuple[tuple[int, int, int], ...]
    data: bytes
    combines: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction executed by one warp.

    `mask` has bit l set when lane l took part; `line` is the 1-based PTX line, `uid` the op number behind it (0: none);
    `writes` maps a register to its 32 new lane values (as Python numbers, in the register's type); `reads` names the
    registers that the instruction reads, its guard among them. `access` is the step's last access to memory, `more`
    are those before it, `movements` what copy engines did for it.
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
    reads: tuple[str, ...] = field(default=(), compare=False)
    more: tuple[Access, ...] = ()
    movements: tuple[Movement, ...] = field(default=(), compare=False)

    @property
    def accesses(self) -> tuple[Access, ...]:
        """All accesses to memory, in their order."""
        return self.more if self.access is None else (*self.more, self.access)


@dataclass(frozen=True, slots=True)
class Argument:
    """An array that a launch was given: its name, numpy dtype (``<f4``), shape, strides in bytes, simulated address."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int
