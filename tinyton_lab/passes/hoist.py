"""Move what does not change in a loop in front of it: pure ops only, which cannot fail, so that running one is safe."""

from __future__ import annotations

from tinyton_lab.ir.core import Block, Function, Op, Value
from tinyton_lab.ir.rewrite import Rewriter, Rule
from tinyton_lab.ops import control
from tinyton_lab.passes.outcome import Options, Outcome


def hoist(function: Function, options: Options) -> Outcome:
    """Empty loops of their invariant ops, inner loops first, so that one op may leave several loops."""
    hoister = _Hoister(function)
    facts: list[tuple[int, str]] = []

    def rule(rewriter: Rewriter, op: Op) -> None:
        if op.row is control.for_ or op.row is control.while_:
            for block in op.blocks:
                _empty(rewriter, op, block, facts)

    return Outcome(hoister.run(rule), tuple(hoister.misses), tuple(facts))


class _Hoister(Rewriter):
    """A rewriter that sees through values that a loop carries without ever changing them."""

    def _step(self, op: Op, rule: Rule) -> None:
        super()._step(op, rule)
        for index in _unchanged(op):
            self.renewed[op.results[index]] = self.renewed[op.blocks[0].args[1 + index]]

    def _copy_block(self, block: Block, rule: Rule) -> Block:
        fresh = Block()
        for arg in block.args:
            self.renewed[arg] = fresh.add_argument(arg.type, arg.name)
        if isinstance(block.owner, Op):
            for index in _unchanged(block.owner):
                start = self.lookup(block.owner.operands[3 + index])
                if start is not None:
                    self.renewed[block.args[1 + index]] = start
        self._fill(block, fresh, rule)
        return fresh


def _unchanged(op: Op) -> list[int]:
    """The values that a `for` carries and yields as they came."""
    if op.row is not control.for_:
        return []
    body = op.blocks[0]
    pairs = zip(body.terminator.operands, body.args[1:], strict=True)
    return [index for index, (value, argument) in enumerate(pairs) if value is argument]


def _empty(rewriter: Rewriter, loop: Op, block: Block, facts: list[tuple[int, str]]) -> None:
    """Move the invariant ops of a loop's block to where the loop will stand."""
    varying: set[Value] = set(block.args)
    staying: list[Op] = []
    for op in block.ops:
        invariant = varying.isdisjoint(_used(op))
        if invariant and op.row.pure:
            rewriter.builder.block.ops.append(op)
            facts.append((op.uid, f"does not change in {loop.row.name} #{loop.uid}"))
            continue
        if invariant and op.row.effect == "read":
            rewriter.miss("hoist", op, "what it reads may be written in the loop")
        varying.update(op.results)
        staying.append(op)
    block.ops = staying


def _used(op: Op) -> set[Value]:
    """Values an op uses, those used in its blocks included."""
    used = set(op.inputs)
    for block in op.blocks:
        for inner in block.walk():
            used.update(inner.inputs)
    return used
