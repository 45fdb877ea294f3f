"""Drawings: the DOT text is right and hostile text stays a label; an SVG comes out where Graphviz is."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.record import hostile
from tests.record.fixtures import vadd
from tinyton_lab.lab import graphs

HAS_GRAPHVIZ = any(True for _ in graphs._binaries())


def test_the_tree_of_the_vector_add(golden: Callable[[str], object]) -> None:
    assert graphs.tree_dot(vadd().stages["ast"]) == golden("record/vadd_tree.dot")


def test_the_dataflow_of_the_vector_add(golden: Callable[[str], object]) -> None:
    assert graphs.flow_dot(vadd().stages["tile/04-axis-info"]) == golden("record/vadd_flow.dot")


def test_every_use_of_a_value_is_an_edge() -> None:
    dot = graphs.flow_dot(vadd().stages["tile"])
    assert len(re.findall(r"->", dot)) == 26
    assert 'class="u17"' in dot or "class=u17" in dot


def test_values_of_inner_blocks_have_nodes() -> None:
    head = "kernel @k(%x: ptr<f32>) {\n  %8 = reduce %x {axis = 0} : f32 {\n"
    text = head + "  ^(%7.a: f32, %7.b: f32):\n    %5 = add %7.a, %7.b : f32\n    yield %5\n  }\n}"
    dot = graphs.flow_dot(replace(vadd().stages["tile"], text=text, lines=()))
    assert dot.count("->") == 4


@pytest.mark.skipif(not HAS_GRAPHVIZ, reason="no Graphviz")
@pytest.mark.parametrize("text", hostile.STRINGS)
def test_hostile_text_stays_a_label(text: str) -> None:
    for graph in graphs.graphs(hostile.compilation(text)):
        assert graph.svg.startswith("<svg") and "<script" not in graph.svg and "<img" not in graph.svg
        assert not re.search(r"<!--|\son\w+=(?!\S*&)", re.sub(r">[^<]*<", "><", graph.svg))


@pytest.mark.skipif(not HAS_GRAPHVIZ, reason="no Graphviz")
def test_the_drawings_of_a_compilation() -> None:
    drawn = graphs.graphs(vadd())
    assert [graph.title for graph in drawn] == ["AST", "Tile IR dataflow", "LLVM IR dataflow"]
    assert all(graph.svg.endswith("</svg>") and 'class="node u' in graph.svg for graph in drawn)
    assert drawn[0].sentence == "The syntax tree of vadd: 19 nodes, a child below its parent."


def test_without_graphviz_the_dot_text_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "_binaries", lambda: iter(()))
    drawn = graphs.graphs(vadd())
    assert [graph.svg for graph in drawn] == ["", "", ""] and all("digraph" in graph.dot for graph in drawn)


def test_a_kernel_too_big_to_see_is_not_drawn() -> None:
    big = vadd()
    big.stages["ast"] = replace(big.stages["ast"], text=big.stages["ast"].text * 20)
    assert "AST" not in [graph.title for graph in graphs.graphs(big)]


def test_a_layout_that_hangs_gives_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    sleeper = shutil.which("yes")
    if sleeper is None:
        pytest.skip("no `yes` on this system")
    monkeypatch.setattr(graphs, "LAYOUT_SECONDS", 0.2)
    assert graphs._render("digraph { hang }", sleeper) == ""
