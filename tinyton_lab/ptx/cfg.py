"""Control flow of a PTX function: names by scope, basic blocks, their order and post-dominators. Knows no values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tinyton_lab.base.diagnostics import error
from tinyton_lab.ptx.syntax import Function, Instruction, Label, Module, Name, Scope, Statement, Table, Variable

# No family of registers has more than 10^9 members.
_NUMBERED = re.compile(r"(.*?)(0|[1-9][0-9]{0,8})$")
_ENDS = ("bra", "brx", "ret", "exit", "call", "bar", "barrier")
_DEEPEST_LOOP = 64
# Warp instructions start a block of their own, so that lanes named by their mask can be waited for there.
MEETS = ("shfl", "vote", "match", "redux", "mma", "wmma", "ldmatrix", "stmatrix", "elect", "wgmma", "movmatrix")


@dataclass(slots=True)
class Names:
    """The declarations of one scope; `lookup` continues in the enclosing one. Mutable while a function is flattened."""

    number: int
    parent: Names | None = None
    variables: dict[str, Variable] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)

    def lookup(self, name: str) -> tuple[Names, Variable] | None:
        """The scope and declaration of a register, parameter or variable."""
        scope: Names | None = self
        numbered = _NUMBERED.fullmatch(name)
        while scope is not None:
            found = scope.variables.get(name)
            if found is not None and not found.count:
                return scope, found
            if numbered:
                family = scope.variables.get(numbered[1] + "<>")
                if family is not None and int(numbered[2]) < family.count:
                    return scope, family
            scope = scope.parent
        return None

    def label(self, name: str) -> int | None:
        scope: Names | None = self
        while scope is not None:
            if name in scope.labels:
                return scope.labels[name]
            scope = scope.parent
        return None

    def table(self, name: str) -> tuple[Names, Table] | None:
        scope: Names | None = self
        while scope is not None:
            if name in scope.tables:
                return scope, scope.tables[name]
            scope = scope.parent
        return None

    def declare(self, variable: Variable) -> bool:
        """Add a declaration; whether its name was free in this scope."""
        name = variable.name + ("<>" if variable.count else "")
        free = name not in self.variables
        self.variables[name] = variable
        return free


@dataclass(frozen=True, slots=True)
class Flat:
    """A function as one list of instructions, each with the scope its names are looked up in."""

    function: Function
    instructions: tuple[Instruction, ...]
    scopes: tuple[Names, ...]
    outer: Names
    every_scope: tuple[Names, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions ``first`` to ``last`` (exclusive), always executed together, and where control goes next.

    `index` is the place in the order of `blocks`.
    """

    index: int
    first: int
    last: int
    successors: tuple[int, ...]


def flatten(module: Module, function: Function) -> Flat:
    """Lay a function's nested scopes out as one list; parameters and module variables are the outermost names."""
    world = Names(0)
    for item in module.items:
        if isinstance(item, Variable):
            world.declare(item)
    outer = Names(1, world)
    for variable in (*function.results, *function.parameters):
        outer.declare(variable)
    instructions: list[Instruction] = []
    scopes: list[Names] = []
    every = [outer]
    _walk(module, function.body or (), outer, instructions, scopes, every)
    return Flat(function, tuple(instructions), tuple(scopes), outer, tuple(every))


def _walk(
    module: Module,
    body: tuple[Statement, ...],
    names: Names,
    instructions: list[Instruction],
    scopes: list[Names],
    every: list[Names],
) -> None:
    for statement in body:
        if isinstance(statement, Instruction):
            instructions.append(statement)
            scopes.append(names)
        elif isinstance(statement, Label):
            if statement.name in names.labels:
                raise error("TT6009", module.line_span(statement.line), name=statement.name)
            names.labels[statement.name] = len(instructions)
        elif isinstance(statement, Variable):
            if not names.declare(statement):
                raise error("TT6009", module.line_span(statement.line), name=statement.name)
        elif isinstance(statement, Table):
            names.tables[statement.label] = statement
        elif isinstance(statement, Scope):
            inner = Names(len(every) + 1, names)
            every.append(inner)
            _walk(module, statement.body, inner, instructions, scopes, every)


def targets(module: Module, flat: Flat, index: int) -> tuple[int, ...]:
    """The instruction numbers that the branch at `index` may go to, apart from the next one."""
    instruction, names = flat.instructions[index], flat.scopes[index]
    kind = instruction.opcode.partition(".")[0]
    if kind == "bra":
        wanted = [operand.text for operand in instruction.operands if isinstance(operand, Name)]
        return tuple(_label(module, names, name, instruction) for name in wanted)
    if kind == "brx" and len(instruction.operands) == 2 and isinstance(instruction.operands[1], Name):
        found = names.table(instruction.operands[1].text)
        if found is None:
            raise error("TT6005", module.span(instruction.start, instruction.end), name=instruction.operands[1].text)
        return tuple(_label(module, found[0], name, instruction) for name in found[1].names)
    return ()


def _label(module: Module, names: Names, name: str, instruction: Instruction) -> int:
    found = names.label(name)
    if found is None:
        raise error("TT6005", module.span(instruction.start, instruction.end), name=name)
    return found


def blocks(module: Module, flat: Flat) -> tuple[Block, ...]:
    """Cut a function into basic blocks, numbered so that loops stay together and joins come after what they join.

    Barriers and calls end a block, so that threads can wait or leave between blocks only.
    """
    count = len(flat.instructions)
    starts = {0, count}
    jumps: dict[int, tuple[int, ...]] = {}
    for index, instruction in enumerate(flat.instructions):
        kind = instruction.opcode.partition(".")[0]
        if kind in _ENDS:
            starts.add(index + 1)
            jumps[index] = targets(module, flat, index)
            starts.update(jumps[index])
        elif kind in MEETS:
            starts.add(index)
    bounds = sorted(starts)
    first_of = {start: number for number, start in enumerate(bounds)}
    edges: list[tuple[int, ...]] = []
    for number, start in enumerate(bounds):
        end = bounds[number + 1] if number + 1 < len(bounds) else start
        edges.append(_successors(flat, jumps, first_of, start, end))
    order = _weak_order(edges)
    place = {old: new for new, old in enumerate(order)}
    ordered = [tuple(place[s] for s in edges[old]) for old in order]
    found = []
    for new, old in enumerate(order):
        last = bounds[old + 1] if old + 1 < len(bounds) else bounds[old]
        found.append(Block(new, bounds[old], last, ordered[new]))
    return tuple(found)


def _successors(
    flat: Flat, jumps: dict[int, tuple[int, ...]], first_of: dict[int, int], start: int, end: int
) -> tuple[int, ...]:
    """Successor blocks: the one that follows comes first, then branch targets."""
    if end == start:
        return ()
    last = flat.instructions[end - 1]
    kind = last.opcode.partition(".")[0]
    goes_on = kind not in ("bra", "brx", "ret", "exit") or bool(last.guard)
    follow = (first_of[end],) if goes_on else ()
    return tuple(dict.fromkeys([*follow, *(first_of[t] for t in jumps.get(end - 1, ()))]))


def _weak_order(edges: list[tuple[int, ...]]) -> list[int]:
    """A topological order in which each loop's blocks stay together, its header first (Bourdoncle's weak order).

    Lanes that left a loop therefore wait behind it for those still inside. Blocks that nothing reaches come last.
    """
    order: list[int] = []
    groups = _components(list(range(len(edges))), edges)
    work = [(component, 0) for group in reversed(groups) for component in reversed(group)]
    while work:
        (header, *rest), depth = work.pop()
        order.append(header)
        if depth >= _DEEPEST_LOOP:
            order += rest
        elif rest:
            inner = [component for group in reversed(_components(rest, edges)) for component in group]
            work += [(component, depth + 1) for component in reversed(inner)]
    return order


def _components(nodes: list[int], edges: list[tuple[int, ...]]) -> list[list[list[int]]]:
    """Strongly connected components among `nodes` (Tarjan), each from its first-reached block.

    One group per node from which the search started, each in topological order; later groups may lead to earlier ones.
    """
    inside = set(nodes)
    number: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    waiting: set[int] = set()
    groups: list[list[list[int]]] = []
    calls: list[tuple[int, Iterator[int]]] = []

    def enter(node: int) -> None:
        number[node] = lowest[node] = len(number)
        stack.append(node)
        waiting.add(node)
        calls.append((node, iter(edges[node])))

    for root in nodes:
        if root in number:
            continue
        found: list[list[int]] = []
        enter(root)
        while calls:
            node, rest = calls[-1]
            following = next((n for n in rest if n in inside and (n not in number or n in waiting)), None)
            if following is None:
                calls.pop()
                if calls:
                    lowest[calls[-1][0]] = min(lowest[calls[-1][0]], lowest[node])
                if lowest[node] == number[node]:
                    found.append(_pop_to(stack, node, waiting))
            elif following in number:
                lowest[node] = min(lowest[node], number[following])
            else:
                enter(following)
        groups.append(found[::-1])
    return groups


def _pop_to(stack: list[int], node: int, waiting: set[int]) -> list[int]:
    """Take the top of the stack down to `node`: a finished component, first-reached block first."""
    component: list[int] = []
    while not component or component[-1] != node:
        component.append(stack.pop())
        waiting.discard(component[-1])
    return component[::-1]


def post_dominators(cut: tuple[Block, ...]) -> list[int]:
    """The block where lanes that diverged in each block meet again at the latest; -1 is the exit.

    Immediate post-dominators by Cooper, Harvey and Kennedy's iteration on the reversed graph.
    """
    edges = [block.successors for block in cut]
    count = len(edges)
    exit_ = count
    forward = [tuple(e) if e else (exit_,) for e in edges] + [()]
    backward: list[list[int]] = [[] for _ in range(count + 1)]
    for node, successors in enumerate(forward):
        for successor in successors:
            backward[successor].append(node)
    order = _reverse_post_order_from(backward, exit_)
    place = {node: number for number, node in enumerate(order)}
    parent: dict[int, int] = {exit_: exit_}
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            known = [s for s in forward[node] if s in parent]
            best = known[0] if known else exit_
            for other in known[1:]:
                best = _meet(best, other, parent, place)
            if parent.get(node) != best:
                parent[node] = best
                changed = True
    return [-1 if parent.get(n, exit_) == exit_ else parent[n] for n in range(count)]


def deciding_blocks(flat: Flat, cut: tuple[Block, ...]) -> list[tuple[int, ...]]:
    """For each block the blocks whose last instruction decides whether it runs (its control dependence).

    A guarded ``ret`` or ``exit`` decides about what follows it.
    """
    end = len(cut)
    leaving = [_may_leave(flat, block) for block in cut]
    open_ends = [(*block.successors, end) if leaves else block.successors for block, leaves in zip(cut, leaving)]
    extended = [Block(block.index, block.first, block.last, after) for block, after in zip(cut, open_ends)]
    meeting = post_dominators((*extended, Block(end, 0, 0, ())))
    found: list[dict[int, None]] = [{} for _ in cut]
    for block in extended:
        for successor in block.successors if len(block.successors) > 1 else ():
            while successor not in (meeting[block.index], end, -1):
                found[successor][block.index] = None
                successor = meeting[successor]
    return [tuple(each) for each in found]


def _may_leave(flat: Flat, block: Block) -> bool:
    last = flat.instructions[block.last - 1] if block.last > block.first else None
    return last is not None and bool(last.guard) and last.opcode.partition(".")[0] in ("ret", "exit")


def _reverse_post_order_from(edges: list[list[int]], root: int) -> list[int]:
    seen, order = {root}, []
    stack = [(root, iter(edges[root]))]
    while stack:
        node, rest = stack[-1]
        following = next((n for n in rest if n not in seen), None)
        if following is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(edges[following])))
    return order[::-1]


def _meet(a: int, b: int, parent: dict[int, int], place: dict[int, int]) -> int:
    while a != b:
        while place[a] > place[b]:
            a = parent[a]
        while place[b] > place[a]:
            b = parent[b]
    return a
