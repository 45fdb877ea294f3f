"""One entry cut for code generation: nodes, what is uniform, what diverges, what lives where. Emits nothing.

A node is a run of instructions that ends where lanes may part or wait; an instruction between lanes begins one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tinyton_lab.ptx.cfg import Block, post_dominators
from tinyton_lab.ptx.types import TYPES
from tinyton_lab.sim.control import Branch, Jump, Leave, Switch
from tinyton_lab.sim.fast.emission import Unsupported
from tinyton_lab.sim.fast.steps import Reader, Source, Step
from tinyton_lab.sim.program import Program, Routine

COLLECTIVE = ("warp", "matrix", "matrix_load", "matrix_store")
_NEWS = ("volatile", "relaxed", "acquire")
_LANE_SPECIALS = ("%tid.x", "%tid.y", "%tid.z", "%laneid", "%stack")
MOST_NODES = 60_000


@dataclass(slots=True)
class Node:
    """Mutable while planned: `steps`, then `ending`. `collective` is the instruction between lanes that comes first.

    `taken` and `follow` are node numbers (-1: none). A `branch` register decides between them: a predicate, or a number
    that is compared with `case`. `leaves` ends the lanes for which it holds (all without one), `barrier` makes them
    wait before `follow`.
    """

    number: int
    collective: Step | None = None
    steps: list[Step] = field(default_factory=list[Step])
    branch: Source | None = None
    case: int | None = None
    taken: int = -1
    follow: int = -1
    leaves: bool = False
    barrier: Step | None = None
    line: int = 1
    divergent: bool = False
    live: frozenset[int] = frozenset()
    blended: frozenset[int] = frozenset()

    @property
    def successors(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(n for n in (self.follow, self.taken) if n >= 0))

    def every(self) -> list[Step]:
        """All instructions, the ending included."""
        first = [self.collective] if self.collective else []
        return [*first, *self.steps, *([self.barrier] if self.barrier else [])]


@dataclass(slots=True)
class Plan:
    """Mutable while planned: the nodes of an entry in program order, and the registers that are one value per warp."""

    program: Program
    nodes: list[Node]
    uniform: frozenset[int] = frozenset()
    lazy: frozenset[int] = frozenset()


def plan(program: Program) -> Plan:
    """Plan the entry of a program; raises Unsupported for what only the trace engine runs."""
    if len(program.routines) > 1 and program.sites:
        raise Unsupported("calls of functions")
    routine = program.routines[program.entry.name]
    found = Plan(program, _nodes(program, routine))
    if len(found.nodes) > MOST_NODES:
        raise Unsupported("so many blocks")
    _skip_exits(found.nodes)
    _refuse_waits(found.nodes)
    _liveness(found.nodes)
    _diverge(found)
    if any(node.barrier is not None and node.divergent for node in found.nodes):
        raise Unsupported("a barrier where lanes may have parted")
    _find_blends(found.nodes)
    found.lazy = _lazy(found)
    return found


# Cutting.
def _nodes(program: Program, routine: Routine) -> list[Node]:
    reader = Reader(program, routine)
    nodes: list[Node] = []
    first_of: dict[int, int] = {}
    endings: list[tuple[Node, Block]] = []
    chains: list[tuple[list[Node], Step, Block]] = []
    for block in routine.blocks:
        first_of[block.index] = len(nodes)
        node = Node(len(nodes))
        nodes.append(node)
        for index in range(block.first, block.last):
            instruction = routine.flat.instructions[index]
            step = reader.step(instruction, routine.flat.scopes[index])
            node.line = node.line if node.steps or node.collective else instruction.line
            if step.effect in COLLECTIVE:
                if node.steps or node.collective:
                    node.follow = len(nodes)
                    node = Node(len(nodes), line=instruction.line)
                    nodes.append(node)
                node.collective = step
            elif step.effect == "barrier":
                node.barrier = step
            elif step.effect == "branch_table":
                chains.append((_chain(nodes, node, step, program, routine, block), step, block))
            elif step.effect not in ("branch", "return", "exit", "nothing", "copy_commit", "copy_wait", "warp_barrier"):
                node.steps.append(step)
        endings.append((node, block))
    first_nodes = {routine.first_block + block: number for block, number in first_of.items()}
    for chain, step, block in chains:
        _choose(chain, step, _switch(program, routine, block), first_nodes)
    for node, block in endings:
        if not any(node is chain[0] for chain, _, _ in chains):
            _end(node, program, routine, block, first_of)
    return nodes


def _switch(program: Program, routine: Routine, block: Block) -> Switch:
    found = program.code[routine.first_block + block.index].terminator
    if not isinstance(found, Switch):
        raise RuntimeError("fast engine: a branch table that does not branch")
    return found


def _chain(nodes: list[Node], node: Node, step: Step, program: Program, routine: Routine, block: Block) -> list[Node]:
    """The nodes that ask for the entries of a branch table, one after the other; the last entry needs no question."""
    questions = len(_switch(program, routine, block).targets) - 1 + (step.guard is not None)
    more = [Node(len(nodes) + n, line=step.instruction.line) for n in range(questions - 1)]
    nodes += more
    return [node, *more]


def _choose(chain: list[Node], step: Step, switch: Switch, first_of: dict[int, int]) -> None:
    """Let a chain of nodes find the entry of an index. What no entry has goes where the last one goes."""
    targets = [first_of[target] for target in switch.targets]
    ways: list[tuple[Source, int | None, int]] = [(step.sources[0], n, to) for n, to in enumerate(targets[:-1])]
    if step.guard is not None:
        guard = step.guard
        past = Source(guard.type, guard.register, inverted=not guard.inverted)
        ways.insert(0, (past, None, first_of[switch.follow]))
    if not ways:
        chain[0].follow = targets[0]
    for node, following, (register, case, target) in zip(chain, [*chain[1:], None], ways):
        node.branch, node.case, node.taken = register, case, target
        node.follow = targets[-1] if following is None else following.number
        if node.taken == node.follow:
            node.branch = None


def _end(node: Node, program: Program, routine: Routine, block: Block, first_of: dict[int, int]) -> None:
    """Where a block's last node goes, as the trace engine's terminator says."""
    terminator, base = program.code[routine.first_block + block.index].terminator, routine.first_block
    if isinstance(terminator, Jump):
        node.follow = first_of[terminator.target - base]
    elif isinstance(terminator, Branch):
        node.branch = Source(TYPES["pred"], terminator.register, inverted=terminator.negated)
        node.taken, node.follow = first_of[terminator.taken - base], first_of[terminator.follow - base]
    elif isinstance(terminator, Leave):
        node.leaves = True
        if terminator.guard is not None:
            node.branch = Source(TYPES["pred"], terminator.guard[0], inverted=terminator.guard[1])
            node.follow = first_of[terminator.follow - base]
    elif node.barrier is not None:
        if node.barrier.guard is not None:
            raise Unsupported("a guarded barrier")
        node.follow = first_of[block.successors[0]]
    else:
        raise Unsupported("this way of ending a block")


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


def _refuse_waits(nodes: list[Node]) -> None:
    """A loop that goes on until memory changes needs turns for the others: only the trace engine gives them."""
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
                raise Unsupported("a loop that waits for memory")


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
    found.uniform = frozenset(range(len(found.program.register_types))) - various


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
    types, other, seen = found.program.register_types, set[int](), set[int]()
    for node in found.nodes:
        for step in node.every():
            for target in step.targets:
                if target is None:
                    continue
                seen.add(target.register)
                if step.effect or target.type.name != "f32" or types[target.register].bits != 32:
                    other.add(target.register)
    return frozenset(seen - other)
