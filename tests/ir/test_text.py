"""The text form prints, parses back to the same bytes, verifies, and survives an empty rewrite."""

from __future__ import annotations

import pytest

from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.ir.parse import parse_function
from tinyton_lab.ir.rewrite import Rewriter
from tinyton_lab.ir.text import print_function
from tinyton_lab.ir.verify import verify
from tinyton_lab.ops import OPS

ROW_SUM = """\
kernel @row_sum(%x: ptr<f32> {divisibility = 16}, %y: ptr<f32>, %n: i32) {num_warps = 4} {
  %1 = range {start = 0, end = 128} : tile<128xi32>
  %2 = splat %n {shape = [128]} : tile<128xi32>
  %3 = lt %1, %2 : tile<128xi1>
  %4 = load %x, distance=%1, mask=%3 : tile<128xf32>
  %8 = reduce %4 {axis = 0} : f32 {
  ^(%7.a: f32, %7.b: f32):
    %5 = add %7.a, %7.b : f32
    yield %5
  }
  %9 = constant {value = -inf, type = type<f32>} : f32
  store %y, %8
}
"""


def test_text_round_trips() -> None:
    function = parse_function(ROW_SUM, OPS)
    verify(function)
    assert print_function(function).text == ROW_SUM


def test_each_line_knows_its_ops() -> None:
    printed = print_function(parse_function(ROW_SUM, OPS))
    lines = printed.text.splitlines()
    assert len(lines) == len(printed.lines)
    assert printed.lines[lines.index("  %3 = lt %1, %2 : tile<128xi1>")] == (3,)


def test_empty_rewrite_changes_nothing() -> None:
    function = parse_function(ROW_SUM, OPS)
    copy = Rewriter(function).run(lambda rewriter, op: None)
    assert print_function(copy).text == ROW_SUM
    assert copy.provenance.edges == []


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        ("%3 = lt %1, %9", "%9 is not defined"),
        ("%3 = less %1, %2", "there is no op 'less'"),
        ("%3 = lt %1; %2", "unexpected character"),
    ],
)
def test_faults_of_the_text_are_located(broken: str, what: str) -> None:
    with pytest.raises(TinytonError, match="TT9001") as caught:
        parse_function(ROW_SUM.replace("%3 = lt %1, %2", broken), OPS)
    assert what in str(caught.value)
    assert caught.value.span is not None and caught.value.span.line == 4


def test_verifier_names_the_op() -> None:
    function = parse_function(ROW_SUM.replace("store %y, %8", "store %y, %4"), OPS)
    with pytest.raises(TinytonError, match="store #10 cannot store"):
        verify(function)
