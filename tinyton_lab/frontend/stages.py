"""The stages ``python`` and ``ast`` of a record: what the front end read, and which ops came from where."""

from __future__ import annotations

from collections.abc import Mapping

from tinyton_lab.base.diagnostics import depth_limited
from tinyton_lab.base.protocol import DeviceFunction
from tinyton_lab.base.source import Source
from tinyton_lab.frontend.ast_text import Place, ops_by_place, tree_text
from tinyton_lab.frontend.source_ast import ParsedFunction, parse, parsed_from
from tinyton_lab.ir.core import Function, Op
from tinyton_lab.record.stage import SourceRange, Stage


def source_stages(function: DeviceFunction) -> dict[str, Stage]:
    """The stages ``python`` and ``ast`` of a kernel, before any op is known."""
    return _stages(parse(function.function), {})


def located(stages: Mapping[str, Stage], function: Function) -> dict[str, Stage]:
    """The same two stages once the kernel is lowered: lines with op numbers, nodes with types, exact source ranges."""
    python = stages["python"]
    parsed = parsed_from(Source(python.label, python.text, python.first_line))
    return dict(stages) if parsed is None else _stages(parsed, ops_by_place(function, parsed))


def _stages(parsed: ParsedFunction, ops: Mapping[Place, list[Op]]) -> dict[str, Stage]:
    source = parsed.source
    lines: list[list[int]] = [[] for _ in source.text.splitlines()]
    ranges: list[SourceRange] = []
    for (line, column, end_line, end_column), here in ops.items():
        for op in here:
            ranges.append(SourceRange(op.uid, source.label, line, column, end_line, end_column))
            lines[line - source.first_line].append(op.uid)
    with depth_limited(parsed.span(parsed.node), parsed.name):
        tree = tree_text(parsed, ops)
    return {
        "python": Stage(
            "python",
            "source",
            source.text,
            tuple(tuple(sorted(uids)) for uids in lines),
            doc="The kernel as it was written.",
            ranges=tuple(sorted(ranges, key=lambda range: range.uid)),
            label=source.label,
            first_line=source.first_line,
        ),
        "ast": Stage("ast", "tree", tree.text, tree.lines, doc="Its syntax tree, as the front end read it."),
    }
