"""The stages of the source: a tree with types and op numbers, and for each op the exact expression it came from."""

from __future__ import annotations

from collections.abc import Callable

from tests.frontend import kernels
from tests.frontend.lowering import lowered
from tinyton_lab.frontend import located, source_stages
from tinyton_lab.record.stage import Stage


def numbered(stage: Stage) -> str:
    lines = zip(stage.text.splitlines(), stage.lines, strict=True)
    return "".join(f"{text}{'  ;' + ' '.join(map(str, uids)) if uids else ''}\n" for text, uids in lines)


def test_tree_with_types_and_op_numbers(golden: Callable[[str], object]):
    kernel, arguments = kernels.CASES["row_sum"]
    stages = located(source_stages(kernel), lowered(kernel, **arguments).function)
    assert numbered(stages["ast"]) == golden("ast/row_sum.txt")
    assert numbered(stages["python"]) == golden("ast/row_sum.py.txt")


def test_tree_before_lowering_has_no_ops():
    stages = source_stages(kernels.row_sum)
    assert list(stages) == ["python", "ast"]
    assert not any(stages["ast"].lines) and stages["ast"].text.startswith("FunctionDef row_sum(x, out, stride, n,")


def test_every_op_has_the_range_of_its_expression():
    kernel, arguments = kernels.CASES["vector_add"]
    function = lowered(kernel, **arguments).function
    python = located(source_stages(kernel), function)["python"]
    lines = python.text.splitlines()
    seen = {r.uid: lines[r.line - python.first_line][r.column : r.end_column] for r in python.ranges}
    wanted = {
        "program_id": "tl.program_id(0)",
        "mul": "tl.program_id(0) * BLOCK",
        "range": "tl.arange(0, BLOCK)",
        "lt": "i < n",
    }
    by_name = {op.row.name: seen[op.uid] for op in function.walk()}
    assert {name: by_name[name] for name in wanted} == wanted
    assert [seen[op.uid] for op in function.walk() if op.row.name == "load"] == [
        "tl.load(x + i, mask=inside)",
        "tl.load(y + i, mask=inside)",
    ]
    assert by_name["store"].startswith("tl.store(out + i, ")


def test_inlined_ops_belong_to_the_call_and_know_both_places():
    kernel, arguments = kernels.CASES["calls"]
    function = lowered(kernel, **arguments).function
    first = next(op for op in function.walk() if op.row.name == "mul")
    assert first.span is not None
    assert [span.text for span in first.span.frames()] == ["value * factor", "scaled(tl.load(x + i))"]
    second = next(op for op in reversed(list(function.walk())) if op.row.name == "mul")
    assert second.span is not None
    assert [span.text for span in second.span.frames()] == [
        "value * factor",
        "scaled(value, factor=3)",
        "pair(scaled(tl.load(x + i)))",
    ]
