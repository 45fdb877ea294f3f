"""A compilation as static HTML that survives any sanitiser: no script, no style element, no id, no inline SVG."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tinyton_lab.record import text
from tinyton_lab.record.markup import Markup, element, join
from tinyton_lab.record.recording import Recording
from tinyton_lab.record.schema import Graph
from tinyton_lab.record.stage import Compilation, Stage

MAXIMUM_BYTES = 60_000
MONOSPACE = "font-family:monospace;font-size:12px"
QUIET = "color:#767676"
COMMENT, KEYWORD, NAME = "color:#6f7d6f", "color:#8a5fc0", "color:#3b7fae"
PANEL = f"{MONOSPACE};line-height:1.45;margin:4px 0 8px 0;padding:6px 10px;border-left:2px solid #9aa0a6"
CELL = "padding:2px 12px 2px 0;text-align:left;vertical-align:top"
CHIP = f"{MONOSPACE};padding:1px 7px;margin-right:6px;border:1px solid #9aa0a6"
CLOSING = "Interactive view needs the tinyton_lab JupyterLab extension; everything essential is above."

_PYTHON = r"(?P<comment>#.*)|\b(?P<keyword>and|as|def|elif|else|for|if|in|is|not|or|pass|return|while)\b"
_IR = r"(?P<comment>//.*)|(?<=[=] )(?P<keyword>[a-z_][\w.]*)|^\s*(?P<verb>[a-z_][\w.]*)(?= )|(?P<name>%[\w.]+)"
_ASM = (
    r"(?P<comment>//.*|/\*.*?\*/)|^\s*(?P<keyword>[A-Za-z][\w.]*)(?=[ ;])"
    r"|(?<=\*/ )(?P<verb>[A-Z][\w.]*)|(?P<name>%\w+)"
)
_TOKENS = {"source": re.compile(_PYTHON), "ir": re.compile(_IR), "asm": re.compile(_ASM)}
_LANGUAGES = {"cpu_llvm": "ir"}
_STYLES = {"comment": COMMENT, "keyword": KEYWORD, "verb": KEYWORD, "name": NAME}


@dataclass(frozen=True, slots=True)
class Detail:
    """How much a card shows: lines per stage, lines of the passes, whether pictures and colours are drawn."""

    lines: int
    pass_lines: int
    pictures: bool
    colours: bool


_OPEN = ("python", "tile")
# Native code is a branch of its own, and long.
_SIDE_LINES = 20
_DETAILS = (
    Detail(150, 60, True, True),
    Detail(60, 30, True, True),
    Detail(60, 0, True, False),
    Detail(30, 0, True, False),
    Detail(80, 0, False, False),
    Detail(30, 0, False, False),
    Detail(8, 0, False, False),
    Detail(0, 0, False, False),
)


def card(compilation: Compilation, recording: Recording | None = None, graphs: Sequence[Graph] = ()) -> str:
    """Draw a compilation as HTML of at most `MAXIMUM_BYTES`, in less detail where it would be too long."""
    drawn = ""
    for detail in _DETAILS:
        drawn = str(_card(compilation, recording, graphs, detail))
        if len(drawn.encode("utf-8", "replace")) <= MAXIMUM_BYTES:
            return drawn
    return str(element("pre", text.fingerprint(compilation)[:1000]))


def picture(svg: str, sentence: str) -> Markup:
    """Draw SVG text as an image, which cannot run anything, with its sentence for those who do not see it."""
    untitled = re.sub(r"<title>[^<]*</title>\n?", "", svg)
    data = base64.b64encode(untitled.encode("utf-8", "replace")).decode("ascii")
    return element("img", src=f"data:image/svg+xml;base64,{data}", alt=_cut(sentence, 400), style="max-width:100%")


def _card(compilation: Compilation, recording: Recording | None, graphs: Sequence[Graph], detail: Detail) -> Markup:
    blocks = [_header(compilation, recording), *_errors(compilation), *_stages(compilation, graphs, detail)]
    blocks += [*_remarks(compilation), *_resources(compilation)]
    if recording:
        blocks.append(_recording(recording, detail))
    blocks.append(element("div", CLOSING, style=f"{QUIET};font-size:11px;margin-top:6px"))
    return element("div", *blocks, style="margin:4px 0")


def _header(compilation: Compilation, recording: Recording | None) -> Markup:
    chips = [compilation.target, *(f"{name}={value}" for name, value in compilation.constants + compilation.options)]
    mark = "\u2715" if not compilation.ok else "\u25b2" if text.remarks(compilation) else "\u2713"
    return join(
        [
            element(
                "div",
                element("b", _cut(compilation.kernel, 80), style="font-family:monospace;font-size:14px"),
                " ",
                *(element("span", _cut(chip, 40), style=CHIP) for chip in chips[:12]),
            ),
            element("div", f"{mark} {_cut(text.verdict(compilation, recording), 400)}", style="margin:4px 0 6px 0"),
        ]
    )


def _errors(compilation: Compilation) -> Iterator[Markup]:
    for diagnostic in compilation.diagnostics[:5]:
        if diagnostic.severity == "error":
            yield element("pre", _cut(diagnostic.rendered, 2000), style=f"{PANEL};border-left:2px solid #c04a3a")


def _stages(compilation: Compilation, graphs: Sequence[Graph], detail: Detail) -> Iterator[Markup]:
    sources = text.source_lines(compilation)
    for family in text.families(compilation):
        stages = text.passes(compilation, family)
        pictures = [graph for graph in graphs if family == "tile" == graph.stage.split("/")[0] and graph.svg]
        inner = [element("div", stages[0].doc, style=QUIET)] if stages[0].doc else []
        lines = min(detail.lines, _SIDE_LINES) if family.startswith("cpu_") else detail.lines
        inner.append(_listing(stages[0], sources, lines, detail.colours))
        if detail.pictures:
            inner += [_folded(graph.title, picture(graph.svg, graph.sentence)) for graph in pictures]
        changed = [stage for stage in stages[1:] if stage.changed]
        inner += [_pass(stage, sources, detail, stage is changed[-1] if changed else False) for stage in stages[1:]]
        extent = text.extent(compilation, family, " \u2192 ")
        title = f"{text.TITLES.get(family, family)} \u2013 {extent} {text.unit(family)}"
        yield _folded(title, *inner, open_="open" if family in _OPEN else "")


def _pass(stage: Stage, sources: dict[int, int], detail: Detail, final: bool) -> Markup:
    """One pass; what the last pass left is listed even where little is shown."""
    limit = max(detail.pass_lines, min(detail.lines, 60) if final else 0)
    title = f"{stage.name} \u2013 {'changed' if stage.changed else 'no change'}. {stage.doc}"
    if not stage.changed or not limit:
        return element("div", _cut(title, 200), style="margin-left:14px")
    return _folded(title, _listing(stage, sources, limit, detail.colours), inset="14px")


def _folded(title: str, *inner: str, open_: str = "", inset: str = "0") -> Markup:
    summary = element("summary", _cut(title, 200), style="cursor:pointer")
    return element("details", summary, *inner, open=open_, style=f"margin:2px 0 2px {inset}")


def _listing(stage: Stage, sources: dict[int, int], limit: int, colours: bool) -> Markup:
    """One stage's lines; at the left of each the source line it came from (of the source itself: its number)."""
    lines = stage.text.rstrip("\n").split("\n")
    language = _LANGUAGES.get(stage.family, stage.kind)
    shown = [
        join([_gutter(stage, i, sources), _line(lines[i], language, colours)]) for i in range(min(limit, len(lines)))
    ]
    if len(lines) > limit:
        shown.append(element("span", f"\u2026 {len(lines) - limit} more lines", style=QUIET))
    return element("pre", join(shown, "\n"), style=PANEL)


def _gutter(stage: Stage, index: int, sources: dict[int, int]) -> str:
    if stage.kind == "source":
        number = str(index + 1)
    else:
        uids = stage.lines[index] if index < len(stage.lines) else ()
        number = str(next((sources[uid] for uid in uids if uid in sources), ""))
    return f"{number:>3} \u2502 "


def _line(line: str, language: str, colours: bool) -> Markup:
    line = _cut(line, 400)
    pattern = _TOKENS.get(language)
    if pattern is None or not colours:
        return join([line])
    parts: list[str] = []
    place = 0
    for token in pattern.finditer(line):
        name = str(token.lastgroup)
        parts += [line[place : token.start(name)], element("span", token[name], style=_STYLES[name])]
        place = token.end(name)
    return join([*parts, line[place:]])


def _remarks(compilation: Compilation) -> Iterator[Markup]:
    missed = text.remarks(compilation)[:20]
    if missed:
        rows = [
            (miss.rule, str(text.source_line(compilation, miss.uid) or ""), f"{miss.reason}; {'; '.join(miss.facts)}")
            for _, miss in missed
        ]
        yield _table(("not done", "line", "because"), rows)


def _resources(compilation: Compilation) -> Iterator[Markup]:
    if compilation.resources:
        yield element("div", " \u00b7 ".join(text.resources(compilation)), style=f"{QUIET};margin-top:4px")


def _recording(recording: Recording, detail: Detail) -> Markup:
    """A filmstrip: the first steps as a table, instead of a slider."""
    limit = min(detail.lines, 40)
    rows = [
        (str(step.index), str(step.warp), step.text, f"{step.mask.bit_count()} of 32", step.waits)
        for step in recording.steps[:limit]
    ]
    title = f"Trace \u2013 {len(recording.steps)} steps, {len(recording.warps())} warps"
    findings = [(f.severity, f.code, f"{f.message} {f.where}") for f in recording.findings[:10]]
    return _folded(
        title,
        *([_table(("finding", "code", "what"), findings)] if findings else []),
        _table(("step", "warp", "instruction", "lanes", "waits"), rows),
        *([f"\u2026 {len(recording.steps) - limit} more steps"] if len(recording.steps) > limit else []),
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    titles = element("tr", *(element("th", title, style=CELL) for title in head))
    body = [element("tr", *(element("td", _cut(cell, 400), style=CELL) for cell in row)) for row in rows]
    return element("table", titles, *body, style=MONOSPACE)


def _cut(line: str, limit: int) -> str:
    return line if len(line) <= limit else line[: limit - 1] + "\u2026"
