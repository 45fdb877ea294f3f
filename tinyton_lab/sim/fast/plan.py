"""One entry planned for code generation: what is uniform, what diverges, what lives where. Emits nothing."""

from __future__ import annotations

from dataclasses import dataclass

from tinyton_lab.ptx.cfg import Block, post_dominators
from tinyton_lab.ptx.types import PtxType
from tinyton_lab.sim.fast.cutting import COLLECTIVE, Node, cut
from tinyton_lab.sim.fast.steps import Source, Step
from tinyton_lab.sim.program import Program

ENDS = ("trap", "call")
_NEWS = ("volatile", "relaxed", "acquire")
_LANE_SPECIALS = ("%tid.x", "%tid.y", "%tid.z", "%laneid", "%stack")


@dataclass(slots=True)
class Plan:
    """Mutable while planned: the nodes of an entry in program order, and the types of all registers.

    `uniform` registers are one value per warp, `lazy` ones are written by f32 arithmetic only. `hope` is what the entry
    has that machine code may find it cannot do, while it runs.
    """

    program: Program
    nodes: list[Node]
    types: list[PtxType]
    uniform: frozenset[int] = frozenset()
    lazy: frozenset[int] = frozenset()
    waits: bool = False

    @property
    def hope(self) -> str:
        if self.waits:
            return "a loop that waits for memory"
        if any(step.effect in ENDS for node in self.nodes for step in node.steps):
            return "an assertion that fails, or a trap"
        parted = any(node.barrier is not None and node.divergent for node in self.nodes)
        return "a barrier where lanes have parted" if parted else ""


def plan(program: Program) -> Plan:
    """Plan the entry of a program; raises Unsupported for what only the trace engine runs."""
    found = Plan(program, *cut(program))
    _skip_exits(found.nodes)
    found.waits = _waits(found.nodes)
    _liveness(found.nodes)
    _diverge(found)
    _find_blends(found.nodes)
    found.lazy = _lazy(found)
    return found


def _skip_exits(nodes: list[Node]) -> None:
    """A branch to nothing but an exit ends its lanes on the spot: then nobody waits for them."""
    bare = {n.number for n in nodes if n.leaves and not n.steps and n.branch is None and n.collective is None}
    for node in nodes:
        if node.branch is None or node.leaves or node.case is not None:
            continue
        if node.taken in bare and node.follow not in bare:
            node.leaves, node.taken = True, -1
        elif node.follow in bare and node.taken not in bare:
            inverted = not node.branch.inverted
            node.branch = Source(node.branch.type, node.branch.register, inverted=inverted)
            node.leaves, node.follow, node.taken = True, node.taken, -1


def _waits(nodes: list[Node]) -> bool:
    """Whether a loop may go on until memory changes: it needs turns for the others, which the trace engine gives."""
    for node in nodes:
        for header in node.successors:
            if header > node.number:
                continue
            body = nodes[header : node.number + 1]
            asked = {r for member in body for step in member.every() if _asks(step) for r in step.writes()}
            changed = bool(asked)
            while changed:
                steps = [s for m in body for s in m.every() if asked.intersection(s.reads())]
                new = {r for step in steps for r in step.writes()} - asked
                asked |= new
                changed = bool(new)
            if any(member.branch is not None and member.branch.register in asked for member in body):
                return True
    return False


def _asks(step: Step) -> bool:
    """Whether an instruction may see, in a loop, what another thread does."""
    return step.effect == "atomic" or step.effect == "load" and step.form["semantics"] in _NEWS


# Registers.
def _liveness(nodes: list[Node]) -> None:
    """Which registers hold values that are still wanted, at the start of each node."""
    uses: list[set[int]] = []
    kills: list[set[int]] = []
    for node in nodes:
        read: set[int] = set()
        written: set[int] = set()
        for step in node.every():
            read.update(r for r in step.reads() if r not in written)
            if step.guard is None:
                written.update(step.writes())
            else:
                read.update(r for r in step.writes() if r not in written)
        if node.branch is not None and node.branch.register not in written:
            read.add(node.branch.register)
        uses.append(read)
        kills.append(written)
    live = [frozenset[int]()] * len(nodes)
    changed = True
    while changed:
        changed = False
        for node in reversed(nodes):
            out = frozenset[int]().union(*(live[s] for s in node.successors))
            now = frozenset(uses[node.number] | (out - kills[node.number]))
            if now != live[node.number]:
                live[node.number], changed = now, True
    for node in nodes:
        node.live = live[node.number]


def _diverge(found: Plan) -> None:
    """Find what is one value for all lanes of a warp, and where lanes of a warp may have parted."""
    nodes = found.nodes
    cut = tuple(Block(n.number, 0, 0, n.successors) for n in nodes)
    joins = post_dominators(cut)
    names = {register: name for name, register in found.program.specials.items()}
    various = {register for register, name in names.items() if name in _LANE_SPECIALS or name.startswith("%lanemask")}
    various.add(found.program.specials.get("%cc", -1))
    changed = True
    while changed:
        changed = False
        for node in nodes:
            for step in node.every():
                new = [r for r in step.writes() if r not in various]
                if new and (node.divergent or _varies(step, various)):
                    various.update(new)
                    changed = True
            if node.branch is not None and not node.leaves and node.branch.register in various:
                for member in _region(nodes, node, joins[node.number]):
                    changed |= not nodes[member].divergent
                    nodes[member].divergent = True
    found.uniform = frozenset(range(len(found.types))) - various


def _varies(step: Step, various: set[int]) -> bool:
    """Whether lanes may get different results."""
    if step.effect in ("atomic", *COLLECTIVE):
        return True
    if step.effect == "load" and step.places[0].space not in ("param", "global", "shared"):
        return True
    return any(register in various for register in step.reads())


def _region(nodes: list[Node], node: Node, join: int) -> set[int]:
    """The nodes that lanes may be in while others took the other way, up to where all have met again.

    Where the join does not come last in program order, lanes may pass it early: then there is no such place.
    """
    found = _influence(nodes, node, join)
    return found if join < 0 or max(found, default=-1) < join else _influence(nodes, node, -1)


def _influence(nodes: list[Node], node: Node, join: int) -> set[int]:
    """The nodes that lanes may be in while others took the other way."""
    found: set[int] = set()
    queue = list(node.successors)
    while queue:
        number = queue.pop()
        if number != join and number not in found:
            found.add(number)
            queue += nodes[number].successors
    return found


def _find_blends(nodes: list[Node]) -> None:
    """Registers that lanes outside the mask may still want keep those lanes' values."""
    wanted: list[frozenset[int]] = [frozenset()] * len(nodes)
    joins = post_dominators(tuple(Block(n.number, 0, 0, n.successors) for n in nodes))
    for node in nodes:
        if node.branch is None or node.leaves or not (nodes[node.follow].divergent or nodes[node.taken].divergent):
            continue
        region = _region(nodes, node, joins[node.number])
        others = region | ({joins[node.number]} if joins[node.number] >= 0 else set())
        live = frozenset[int]().union(*(nodes[n].live for n in others))
        for member in region:
            wanted[member] |= live
    for node in nodes:
        node.blended = wanted[node.number] if node.divergent else frozenset()


def _lazy(found: Plan) -> frozenset[int]:
    """Registers that only f32 arithmetic writes."""
    types, other, seen = found.types, set[int](), set[int]()
    for node in found.nodes:
        for step in node.every():
            for target in step.targets:
                if target is None:
                    continue
                seen.add(target.register)
                if step.effect or target.type.name != "f32" or types[target.register].bits != 32:
                    other.add(target.register)
    return frozenset(seen - other)
