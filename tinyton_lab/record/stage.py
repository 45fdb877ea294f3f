"""One stage of a compilation as frozen text, and the compilation that holds them all. Never live IR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tinyton_lab.base.diagnostics import error
from tinyton_lab.record.provenance import Provenance

KINDS = ("source", "tree", "ir", "graph", "asm")


@dataclass(frozen=True, slots=True)
class SourceRange:
    """The source text an op came from: 1-based lines, 0-based columns, end exclusive; `label` names the source."""

    uid: int
    label: str
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Miss:
    """An optimisation that did not happen, and why: `rule` at op `uid`, `reason` in words, the `facts` behind it."""

    rule: str
    uid: int
    reason: str
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: `text`, and for each of its lines the numbers of the ops that the line belongs to.

    `name` is ``tile``, ``tile/03-cse``, ``llvm``, ``sass`` ...; `kind` one of `KINDS`; `changed` is False when a pass
    did nothing; `doc` one sentence about what this stage is; `facts` what an analysis found, as (uid, text) pairs;
    `graph` its picture in DOT, if the stage brings one. `label` and `first_line` say where `text` starts in its source
    (stage ``python``), in the terms of `ranges`. `seconds` is left out of every stored output.
    """

    name: str
    kind: str
    text: str
    lines: tuple[tuple[int, ...], ...] = ()
    changed: bool = True
    doc: str = ""
    facts: tuple[tuple[int, str], ...] = ()
    misses: tuple[Miss, ...] = ()
    graph: str = ""
    ranges: tuple[SourceRange, ...] = ()
    seconds: float = 0.0
    label: str = ""
    first_line: int = 1

    @property
    def family(self) -> str:
        """The stage this one is a step of: ``tile`` for ``tile/03-cse``."""
        return self.name.split("/")[0]

    def __repr__(self) -> str:
        return f"<Stage {self.name}: {len(self.text.splitlines())} lines>"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A fault or remark as data: severity ``error``, ``warning`` or ``remark``."""

    severity: str
    code: str
    message: str
    rendered: str
    range: SourceRange | None = None


@dataclass(slots=True)
class Compilation:
    """Everything that happened when one kernel was compiled for one signature and target; also when it failed.

    `stages` is ordered: ``python ast tile tile/<nn>-<pass> layout layout/<nn>-<pass> llvm ptx sass`` (and ``cpu_llvm``,
    ``cpu_asm``). `resources` holds registers, spills and shared bytes with their source; `artifacts` what an engine
    runs (never shown, never serialised).
    """

    kernel: str
    target: str
    signature: tuple[tuple[str, str], ...] = ()
    constants: tuple[tuple[str, str], ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    stages: dict[str, Stage] = field(default_factory=dict[str, Stage])
    provenance: Provenance = field(default_factory=Provenance)
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    resources: dict[str, int | str] = field(default_factory=dict[str, int | str])
    artifacts: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)

    @property
    def ok(self) -> bool:
        return not any(d.severity == "error" for d in self.diagnostics)

    def stage(self, name: str) -> Stage:
        """The stage of that name. Raises TT5002 for one that is not there."""
        if name not in self.stages:
            known = ", ".join(name for name in self.stages if "/" not in name)
            raise error("TT5002", kernel=self.kernel, name=name, known=known)
        return self.stages[name]

    @property
    def asm(self) -> Mapping[str, str]:
        """Stage texts by Triton's names (``ttir``, ``llir``, ``ptx``, ``sass``) and by ours."""
        names = {"ttir": "tile", "ttgir": "layout", "llir": "llvm"}
        texts = {name: stage.text for name, stage in self.stages.items()}
        return texts | {theirs: texts[ours] for theirs, ours in names.items() if ours in texts}

    def __repr__(self) -> str:
        return f"<Compilation {self.kernel}[{self.target}]: {' '.join(self.stages)}>"
