"""Draws the tree and the dataflow of a compilation: DOT from the text of its stages, SVG where Graphviz is."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import graphviz

from tinyton_lab.record.schema import Graph
from tinyton_lab.record.stage import Compilation, Stage
from tinyton_lab.record.text import TITLES, passes
from tinyton_lab.record.visible import visible

MAXIMUM_NODES = {"ast": 120, "tile": 120, "llvm": 60}
LAYOUT_SECONDS = 5
_LABEL = 48
_OPERATION = re.compile(r"\s*(?:(?P<results>%[\w.]+(?:, *%[\w.]+)*) = )?(?P<op>[a-z_][\w.]*)(?P<rest>.*)")
_VALUE = re.compile(r"%[\w.]+")
_TYPE = re.compile(r": ([^:{}]+?)(?: \{)?$")
_HEAD = re.compile(r"\s*(?:kernel|func|define)\b.*?\((?P<arguments>.*)\)")
_BLOCK = re.compile(r"\s*\^\w*\(?(?P<arguments>[^)]*)\)?")
_GRAPH = {"rankdir": "TB", "bgcolor": "#f6f7f9", "nodesep": "0.25", "ranksep": "0.3", "pad": "0.15"}
_NODE = {
    "shape": "box",
    "style": "rounded,filled",
    "fillcolor": "#ffffff",
    "color": "#aab2bd",
    "fontname": "Courier",
    "fontsize": "10",
    "height": "0.28",
    "margin": "0.10,0.04",
}
_FONT = 'font-family="Courier,monospace" font-size="10" text-anchor="middle"'
_NUMBER = re.compile(r"-?\d+\.\d+")
_EDGE = {"arrowsize": "0.55", "color": "#7d8794"}


def graphs(compilation: Compilation) -> tuple[Graph, ...]:
    """Draw what is worth drawing: the tree of the AST, and the dataflow of the last tile stage."""
    found = [_tree_graph(compilation), *(_flow_graph(compilation, family) for family in ("tile", "llvm"))]
    return tuple(graph for graph in found if graph is not None)


def tree_dot(stage: Stage) -> str:
    """The DOT text of an indented tree: one node per line, an edge to each child."""
    drawing = graphviz.Digraph("tree", graph_attr=_GRAPH, node_attr=_NODE, edge_attr=_EDGE)
    open_nodes: list[tuple[int, str]] = []
    for index, (depth, text, uids) in enumerate(_tree_lines(stage)):
        name = f"n{index}"
        _node(drawing, name, text, uids)
        while open_nodes and open_nodes[-1][0] >= depth:
            open_nodes.pop()
        if open_nodes:
            drawing.edge(open_nodes[-1][1], name)
        open_nodes.append((depth, name))
    return str(drawing.source)


def flow_dot(stage: Stage) -> str:
    """The DOT text of the dataflow of a stage in SSA form: one node per op, an edge from each value to its uses."""
    drawing = graphviz.Digraph("dataflow", graph_attr=_GRAPH, node_attr=_NODE, edge_attr=_EDGE)
    made: dict[str, str] = {}
    for index, line in enumerate(stage.text.splitlines()):
        head = _HEAD.match(line) or _BLOCK.match(line)
        if head:
            for value in _VALUE.findall(head["arguments"]):
                made[value] = f"v{len(made)}"
                drawing.node(made[value], graphviz.escape(value), shape="plain", style="", fontcolor="#5c6672")
            continue
        operation = _OPERATION.fullmatch(line)
        if operation is None:
            continue
        name = f"n{index}"
        _node(drawing, name, _operation_label(operation), _uids(stage, index))
        for operand in dict.fromkeys(_VALUE.findall(operation["rest"])):
            if operand in made:
                drawing.edge(made[operand], name)
        for value in _VALUE.findall(operation["results"] or ""):
            made[value] = name
    return str(drawing.source)


def render_svg(dot: str) -> str:
    """Lay out DOT text with the wheel's Graphviz, else with the system's; "" without one or where it takes too long."""
    return _render(dot, *(str(binary) for binary in _binaries()))


@lru_cache(maxsize=256)
def _render(dot: str, *binaries: str) -> str:
    for binary in binaries:
        try:
            done = subprocess.run(
                [binary, "-Tsvg"], input=dot.encode("utf-8", "replace"), capture_output=True, timeout=LAYOUT_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return _bare(done.stdout.decode("utf-8", "replace"))
    return ""


def _binaries() -> Iterator[Path]:
    wheel = Path(sysconfig.get_path("scripts")) / "graphviz-pure"
    if wheel.exists():
        yield wheel
    for name in ("graphviz-pure", "dot"):
        found = shutil.which(name)
        if found and Path(found) != wheel:
            yield Path(found)


def _bare(svg: str) -> str:
    """The drawing alone and small: without prologue, comments and ids, what every text repeats said once."""
    bare = re.sub(r"<!--.*?-->\n?", "", svg[svg.find("<svg") :], flags=re.DOTALL).strip()
    bare = re.sub(
        r' id="\w+"| font-family="[^"]*"| font-size="[^"]*"| text-anchor="\w+"| xmlns:xlink="[^"]*"', "", bare
    )
    bare = re.sub(r' (?:d|points|x|y)="[^"]*"', lambda place: _NUMBER.sub(_rounded, place[0]), bare)
    return bare.replace('<g class="graph"', f'<g {_FONT} class="graph"', 1)


def _rounded(number: re.Match[str]) -> str:
    """A coordinate in tenths of a point, which nobody can see."""
    return f"{float(number[0]):.1f}".removesuffix(".0")


def _tree_graph(compilation: Compilation) -> Graph | None:
    stage = compilation.stages.get("ast")
    if stage is None:
        return None
    count = sum(1 for _ in _tree_lines(stage))
    sentence = f"The syntax tree of {compilation.kernel}: {count} nodes, a child below its parent."
    return _graph(stage, "AST", sentence, stage.graph or tree_dot(stage), count)


def _flow_graph(compilation: Compilation, family: str) -> Graph | None:
    if family not in compilation.stages:
        return None
    stage = passes(compilation, family)[-1]
    dot = stage.graph or flow_dot(stage)
    count = dot.count("[label=")
    title = f"{TITLES[family]} dataflow"
    sentence = f"The dataflow of {compilation.kernel}: {count} values and ops, an arrow from each value to its uses."
    return _graph(stage, title, sentence, dot, count)


def _graph(stage: Stage, title: str, sentence: str, dot: str, count: int) -> Graph | None:
    if not 1 < count <= MAXIMUM_NODES[stage.family]:
        return None
    svg = render_svg(dot)
    return Graph(stage.name, title, sentence, "" if svg else dot, svg)


def _tree_lines(stage: Stage) -> Iterator[tuple[int, str, tuple[int, ...]]]:
    for index, line in enumerate(stage.text.splitlines()):
        text = line.lstrip(" \t│├└─")
        if text:
            yield len(line) - len(text), text, _uids(stage, index)


def _uids(stage: Stage, index: int) -> tuple[int, ...]:
    return stage.lines[index] if index < len(stage.lines) else ()


def _node(drawing: graphviz.Digraph, name: str, text: str, uids: tuple[int, ...]) -> None:
    label = visible(text if len(text) <= _LABEL else text[: _LABEL - 1] + "\u2026")
    marks = " ".join(f"u{uid}" for uid in uids)
    drawing.node(name, graphviz.escape(label), **({"class": marks} if marks else {}))


def _operation_label(operation: re.Match[str]) -> str:
    """Result, op and type: ``%3 add : tile<128xi32>``."""
    kind = _TYPE.search(operation["rest"])
    words = [operation["results"] or "", operation["op"]]
    return " ".join(word for word in words if word) + (f" : {kind[1]}" if kind else "")
