"""One entry cut into nodes, with the functions it calls put in where they are called. Plans and emits nothing.

A node is a run of instructions that ends where lanes may part or wait; an instruction between lanes begins one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tinyton_lab.ptx.cfg import Block
from tinyton_lab.ptx.syntax import Group, Name
from tinyton_lab.ptx.types import TYPES, PtxType
from tinyton_lab.sim.control import Branch, Call, Jump, Leave, Switch
from tinyton_lab.sim.fast.emission import Unsupported
from tinyton_lab.sim.fast.steps import Passed, Reader, Source, Step
from tinyton_lab.sim.program import Program, Routine

COLLECTIVE = ("warp", "matrix", "matrix_load", "matrix_store", "fragment_load", "fragment_store")
MOST_NODES = 60_000
_FINAL = ("__assertfail",)
_SILENT = ("branch", "return", "exit", "nothing", "copy_commit", "copy_wait", "warp_barrier", "call")


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
class _Ending:
    """How a block ends: its last node, and the nodes that follow it where it asks for the entries of a table.

    Of a call, `returns` are the nodes in which the function returns; `before` asks for the guard of a barrier.
    """

    node: Node
    block: Block
    step: Step | None = None
    chain: list[Node] = field(default_factory=list[Node])
    returns: list[Node] = field(default_factory=list[Node])
    before: Node | None = None


def cut(program: Program) -> tuple[list[Node], list[PtxType]]:
    """The nodes of a program's entry, and the types of all registers; raises Unsupported."""
    cutter = _Cutter(program)
    cutter.routine(program.routines[program.entry.name], (), {})
    return cutter.nodes, cutter.passed.types


class _Cutter:
    """Mutable: the nodes so far, and the registers that stand for what calls pass."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.nodes: list[Node] = []
        self.passed = Passed(list(program.register_types))
        self.instances = 0

    def node(self, line: int = 1) -> Node:
        found = Node(len(self.nodes), line=line)
        self.nodes.append(found)
        if len(self.nodes) > MOST_NODES:
            raise Unsupported("so many blocks")
        return found

    def routine(self, routine: Routine, callers: tuple[Routine, ...], given: dict[str, str]) -> tuple[int, list[Node]]:
        """Put in a function, called from within `callers`, whose parameters and results are the variables `given`.

        Gives its first node and those in which it returns.
        """
        if routine in callers:
            raise Unsupported("recursive calls")
        self.instances += 1
        reader = Reader(self.program, routine, self.passed, self.instances, given)
        first_of: dict[int, int] = {}
        endings: list[_Ending] = []
        for block in routine.blocks:
            first_of[routine.first_block + block.index] = len(self.nodes)
            endings.append(self.block(reader, routine, block, (*callers, routine)))
        returns: list[Node] = []
        for ending in endings:
            self.end(ending, routine, first_of, returns, inside=bool(callers))
        return first_of[routine.first_block], returns

    def block(self, reader: Reader, routine: Routine, block: Block, callers: tuple[Routine, ...]) -> _Ending:
        node = self.node()
        found = _Ending(node, block)
        for index in range(block.first, block.last):
            instruction, names = routine.flat.instructions[index], routine.flat.scopes[index]
            node.line = node.line if node.steps or node.collective else instruction.line
            for step in reader.steps(instruction, names):
                if step.effect in COLLECTIVE:
                    if node.steps or node.collective:
                        node.follow = len(self.nodes)
                        node = self.node(instruction.line)
                    node.collective = step
                elif step.effect == "barrier":
                    found.before = node if step.guard is not None else None
                    node = node if step.guard is None else self.node(instruction.line)
                    node.barrier = step
                elif step.effect in ("branch_table", "call"):
                    found.step = step
                elif step.effect not in _SILENT:
                    node.steps.append(step)
        found.node = node
        terminator = self.program.code[routine.first_block + block.index].terminator
        if isinstance(terminator, Switch) and found.step is not None:
            questions = len(terminator.targets) - 1 + (found.step.guard is not None)
            found.chain = [self.node(found.step.instruction.line) for _ in range(questions - 1)]
        elif found.step is not None:
            self.call(reader, found, terminator, callers)
        return found

    def call(self, reader: Reader, ending: _Ending, terminator: object, callers: tuple[Routine, ...]) -> None:
        """Put in the function that a block calls at its end; what ends the launch is a step of the block."""
        step = ending.step
        if step is not None and any(isinstance(o, Name) and o.text in _FINAL for o in step.instruction.operands):
            ending.node.steps.append(step)
            return
        if step is None or not isinstance(terminator, Call) or terminator.routine is None:
            raise Unsupported("calls of the system, and of functions by their address")
        operands, function = step.instruction.operands, terminator.routine.function
        groups = [list(operand.items) for operand in operands if isinstance(operand, Group)]
        results = groups.pop(0) if groups and isinstance(operands[0], Group) else []
        wanted = [*function.results, *function.parameters]
        items = [*results, *(groups[0] if groups else [])]
        if len(items) != len(wanted) or any(variable.space != "param" for variable in wanted):
            raise Unsupported("calls that pass registers")
        names = reader.routine.flat.scopes[ending.block.last - 1]
        given = {
            variable.name: reader.passed_key(names, item.text)
            for variable, item in zip(wanted, items)
            if isinstance(item, Name)
        }
        first, ending.returns = self.routine(terminator.routine, callers, given)
        if terminator.guard is not None:
            ending.node.branch = Source(TYPES["pred"], terminator.guard[0], inverted=terminator.guard[1])
            ending.node.taken = first
        else:
            ending.node.follow = first

    def end(
        self, ending: _Ending, routine: Routine, first_of: dict[int, int], returns: list[Node], inside: bool
    ) -> None:
        """Where a block's last node goes, as the trace engine's terminator says."""
        node, terminator = ending.node, self.program.code[routine.first_block + ending.block.index].terminator
        if isinstance(terminator, Jump):
            node.follow = first_of[terminator.target]
        elif isinstance(terminator, Branch):
            node.branch = Source(TYPES["pred"], terminator.register, inverted=terminator.negated)
            node.taken, node.follow = first_of[terminator.taken], first_of[terminator.follow]
        elif isinstance(terminator, Switch) and ending.step is not None:
            _choose([node, *ending.chain], ending.step, terminator, first_of)
        elif isinstance(terminator, Call):
            if terminator.follow < 0:
                raise Unsupported("functions that do not return")
            for each in ending.returns:
                _go(each, first_of[terminator.follow])
            if node.branch is not None:
                node.follow = first_of[terminator.follow]
        elif isinstance(terminator, Leave):
            node.leaves = terminator.whole or not inside
            if terminator.guard is not None:
                node.branch = Source(TYPES["pred"], terminator.guard[0], inverted=terminator.guard[1])
                node.follow = first_of[terminator.follow]
            if not node.leaves:
                returns.append(node)
        elif node.barrier is not None:
            node.follow = first_of[routine.first_block + ending.block.successors[0]]
            if ending.before is not None:
                asking, guard = ending.before, node.barrier.guard
                asking.branch, asking.taken, asking.follow = guard, node.number, node.follow
        else:
            raise Unsupported("this way of ending a block")


def _go(returning: Node, target: int) -> None:
    """Let a node that returns, maybe under a guard, go on behind the call."""
    if returning.branch is not None:
        returning.taken = target
    else:
        returning.follow = target


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
