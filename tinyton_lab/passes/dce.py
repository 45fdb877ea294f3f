"""Dead code elimination: drop ops whose results nobody needs, and values that a loop or branch carries for nothing."""

from __future__ import annotations

from tinyton_lab.ir.core import Block, Function, Op, Value
from tinyton_lab.ir.rewrite import Rewriter, Rule
from tinyton_lab.ops import control
from tinyton_lab.passes.outcome import Options, Outcome


def dce(function: Function, options: Options) -> Outcome:
    """Keep what a store, an assumption or a `while` (it may never end) needs; an unused load goes too."""
    live = _Liveness(function)
    rewriter = _Pruner(function, live)
    return Outcome(rewriter.run(lambda rewriter, op: None))


class _Liveness:
    """Which ops have to run and which values are needed, found backwards from the effects."""

    def __init__(self, function: Function) -> None:
        self.values: set[Value] = set()
        self.ops: set[Op] = set()
        self.holder: dict[Block, Op] = {b: op for op in function.walk() for b in op.blocks}
        self.block_of = {op: block for block in [function.body, *self.holder] for op in block.ops}
        for op in function.walk():
            if _has_effect(op):
                self._keep(op)

    def _keep(self, op: Op) -> None:
        """Mark an op, the ops that hold it, and what it needs to know whether and on what it runs."""
        queue: list[Op | Value] = [op]
        while queue:
            item = queue.pop()
            if isinstance(item, Value):
                if item not in self.values:
                    self.values.add(item)
                    queue += self._sources(item)
            elif item not in self.ops:
                self.ops.add(item)
                queue += _controls(item)
                if (holder := self.holder.get(self.block_of[item])) is not None:
                    queue.append(holder)

    def _sources(self, value: Value) -> list[Op | Value]:
        """What a needed value needs."""
        owner = value.owner
        if isinstance(owner, Op):
            if owner.row is control.if_:
                return [owner, *(_present(block.terminator.operands[value.index]) for block in owner.blocks)]
            if owner.row is control.for_:
                return [owner, *_carried(owner, value.index)]
            return [owner]
        loop = self.holder.get(owner)
        if loop is not None and loop.row is control.for_ and value.index > 0:
            return [loop, *_carried(loop, value.index - 1)]
        return [] if loop is None else [loop]


def _has_effect(op: Op) -> bool:
    if op.row is control.if_ or op.row is control.for_ or op.row.terminator:
        return False
    return not op.row.pure and op.row.effect != "read" or bool(op.attrs.get("volatile"))


def _controls(op: Op) -> list[Op | Value]:
    """Operands that an op needs whenever it runs; those of `if` and `for` may be dropped one by one."""
    if op.row is control.if_:
        return [_present(op.operands[0])]
    if op.row is control.for_:
        return [_present(value) for value in op.operands[:3]]
    needed: list[Op | Value] = list(op.inputs)
    for block in op.blocks:
        needed += list(block.terminator.inputs)
    return needed


def _carried(loop: Op, index: int) -> list[Op | Value]:
    """What makes one carried value of a `for`: its start and its next."""
    return [_present(loop.operands[3 + index]), _present(loop.blocks[0].terminator.operands[index])]


def _present(value: Value | None) -> Value:
    if value is None:
        raise RuntimeError("dce: a carried value is absent")
    return value


class _Pruner(Rewriter):
    """Copies what is live; a branch or loop is copied without the results that nobody needs."""

    def __init__(self, old: Function, live: _Liveness) -> None:
        super().__init__(old)
        self.live = live

    def _step(self, op: Op, rule: Rule) -> None:
        if not op.row.terminator and op not in self.live.ops:
            self.new.provenance.add(0, op.uid, "dropped")
            return
        kept = self._kept(op)
        copy = self.copy(op, rule)
        if len(kept) < len(op.results):
            copy = _with_results(copy, kept)
        self.builder.block.ops.append(copy)
        self.renewed.update(zip((op.results[index] for index in kept), copy.results, strict=True))

    def _kept(self, op: Op) -> list[int]:
        """Indices of the results that stay."""
        needed = [value in self.live.values for value in op.results]
        if op.row is control.for_:
            arguments = op.blocks[0].args[1:]
            needed = [result or argument in self.live.values for result, argument in zip(needed, arguments)]
        elif op.row is not control.if_:
            return list(range(len(op.results)))
        return [index for index, need in enumerate(needed) if need]


def _with_results(op: Op, kept: list[int]) -> Op:
    """A `for` or `if` of a fresh copy with some of its results only."""
    operands = op.operands
    if op.row is control.for_:
        operands = (*operands[:3], *(operands[3 + index] for index in kept))
        body = op.blocks[0]
        body.args = [body.args[0], *(body.args[1 + index] for index in kept)]
        for index, argument in enumerate(body.args):
            argument.index = index
    for block in op.blocks:
        end = block.ops.pop()
        values = tuple(end.operands[index] for index in kept)
        block.ops.append(Op(end.row, values, (), end.attrs, (), end.uid, end.span))
    types = tuple(op.results[index].type for index in kept)
    return Op(op.row, operands, types, op.attrs, op.blocks, op.uid, op.span)
