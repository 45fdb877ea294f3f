"""A compilation as text: the fingerprint, one comparable line, and a card for a terminal. Knows no HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tinyton_lab.record.recording import Recording
from tinyton_lab.record.stage import Compilation, Miss, Stage
from tinyton_lab.record.visible import visible

TITLES = {
    "python": "Python",
    "ast": "AST",
    "tile": "Tile IR",
    "layout": "Layout IR",
    "llvm": "LLVM IR",
    "ptx": "PTX",
    "sass": "SASS",
    "cpu_llvm": "CPU LLVM IR",
    "cpu_asm": "CPU assembly",
}
UNITS = {"python": "lines", "ast": "nodes", "tile": "ops", "layout": "ops"}
_INSTRUCTION = {
    "llvm": re.compile(r"  +[%a-z]"),
    "cpu_llvm": re.compile(r"  +[%a-z]"),
    "cpu_asm": re.compile(r"\s+[a-z]"),
    "ptx": re.compile(r"\s*(@!?%\w+\s+)?[a-z][\w.:]*(\s.*)?;"),
    "sass": re.compile(r"\s*/\*[0-9a-f]+\*/\s+[^/\s]|.*;"),
}


def fingerprint(compilation: Compilation) -> str:
    """Tell a compilation in one stable line: sizes of the stages, resources, and how many remarks there are.

    >>> fingerprint(Compilation("vadd", "cpu", stages={"ast": Stage("ast", "tree", "Module\\n  Expr")}))
    'vadd[cpu] ast:2 remarks:0'
    """
    words = [f"{compilation.kernel}[{compilation.target}]"]
    words += [f"{family}:{extent(compilation, family, '->')}" for family in families(compilation) if family != "python"]
    words += [
        f"{word}:{compilation.resources[name]}"
        for word, name in (("regs", "registers"), ("spills", "spills"), ("smem", "shared_bytes"))
        if name in compilation.resources
    ]
    words.append(f"remarks:{len(remarks(compilation))}")
    words += [f"error:{diagnostic.code}" for diagnostic in compilation.diagnostics if diagnostic.severity == "error"]
    return visible(" ".join(words))


def families(compilation: Compilation) -> list[str]:
    """The main stages in order, passes counted to the stage they work on."""
    return list(dict.fromkeys(stage.family for stage in compilation.stages.values()))


def passes(compilation: Compilation, family: str) -> list[Stage]:
    """The stage called `family` and the passes after it."""
    return [stage for stage in compilation.stages.values() if stage.family == family]


def extent(compilation: Compilation, family: str, arrow: str) -> str:
    """How big a stage is; before and after its passes where that differs."""
    stages = passes(compilation, family)
    first, last = size(stages[0]), size(stages[-1])
    return str(last) if first == last else f"{first}{arrow}{last}"


def size(stage: Stage) -> int:
    """Count the instructions of a stage; its ops where lines carry op numbers; else its lines."""
    lines = stage.text.splitlines()
    instruction = _INSTRUCTION.get(stage.family)
    if instruction:
        return sum(bool(instruction.match(line)) for line in lines)
    if stage.kind == "ir" and stage.lines:
        return sum(bool(uids) for uids in stage.lines)
    return sum(bool(line.strip()) for line in lines)


def unit(family: str) -> str:
    return UNITS.get(family, "instructions")


def remarks(compilation: Compilation) -> list[tuple[str, Miss]]:
    """What did not happen, as (stage name, miss), once per rule and op."""
    found: dict[tuple[str, int], tuple[str, Miss]] = {}
    for stage in compilation.stages.values():
        for miss in stage.misses:
            found.setdefault((miss.rule, miss.uid), (stage.name, miss))
    return list(found.values())


def source_line(compilation: Compilation, uid: int) -> int:
    """The line of the source, counted as in the stage ``python``, that op `uid` came from; 0 where none is known."""
    return source_lines(compilation).get(uid, 0)


def source_lines(compilation: Compilation) -> dict[int, int]:
    """For each op that has a source range: the 1-based line of the stage ``python`` it starts at."""
    python = compilation.stages.get("python")
    if python is None:
        return {}
    ranges = [range_ for stage in compilation.stages.values() for range_ in stage.ranges]
    own = {r.uid: r.line - python.first_line + 1 for r in ranges if not python.label or r.label == python.label}
    for index, uids in enumerate(python.lines):
        for uid in uids:
            own.setdefault(uid, index + 1)
    for child, parent, _ in compilation.provenance.edges:
        if child and parent in own:
            own.setdefault(child, own[parent])
    return own


def verdict(compilation: Compilation, recording: Recording | None = None) -> str:
    """One sentence that opens every card: what went wrong, or what is worth knowing first."""
    errors = [diagnostic for diagnostic in compilation.diagnostics if diagnostic.severity == "error"]
    if errors:
        return f"{errors[0].code}: {errors[0].message}"
    if recording and any(finding.severity == "error" for finding in recording.findings):
        return next(f"{f.code}: {f.message}" for f in recording.findings if f.severity == "error")
    missed = remarks(compilation)
    if not missed:
        return f"{len(families(compilation))} stages, no remarks"
    line = source_line(compilation, missed[0][1].uid)
    more = f" (and {len(missed) - 1} more)" if len(missed) > 1 else ""
    return f"{missed[0][1].rule}{f' at line {line}' if line else ''}: {missed[0][1].reason}{more}"


def card(compilation: Compilation, recording: Recording | None = None) -> str:
    """Draw a compilation for a terminal: verdict, one line per stage, resources, remarks."""
    return visible("\n".join(_card_lines(compilation, recording)))


def resources(compilation: Compilation) -> list[str]:
    """Registers, spills, shared bytes and their like in words, with their source."""
    named = [f"{name.replace('_', ' ')} {value}" for name, value in compilation.resources.items() if name != "source"]
    source = compilation.resources.get("source")
    return [*named, f"(from {source})"] if named and source else named


def _card_lines(compilation: Compilation, recording: Recording | None) -> Iterator[str]:
    constants = [f"{name}={value}" for name, value in compilation.constants + compilation.options]
    yield "  ".join([f"{compilation.kernel}[{compilation.target}]", *constants])
    yield f"  {verdict(compilation, recording)}"
    for number, family in enumerate(families(compilation), 1):
        stages = passes(compilation, family)
        count = f"{extent(compilation, family, ' -> ')} {unit(family)}"
        yield f"  {number} {TITLES.get(family, family):<13} {count:<18} {_pass_names(stages)}".rstrip()
    if compilation.resources:
        yield "  " + ", ".join(resources(compilation))
    if recording:
        yield f"  recording of {len(recording.steps)} steps, {len(recording.findings)} findings"
    for stage, miss in remarks(compilation):
        yield f"  why not {miss.rule} ({stage}): {miss.reason}"
        yield from (f"      because {fact}" for fact in miss.facts)


def _pass_names(stages: Sequence[Stage]) -> str:
    return " ".join(f"{stage.name.split('/')[1]}{'*' if stage.changed else ''}" for stage in stages[1:])
