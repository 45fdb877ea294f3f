"""Rewrite a function op by op into a new one, recording who came from whom. Every pass is built on this."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinyton_lab.ir.build import Builder
from tinyton_lab.ir.core import Block, Function, Op, Value
from tinyton_lab.record.stage import Miss

Rule = Callable[["Rewriter", Op], "Value | tuple[Value, ...] | None"]


class Rewriter:
    """Copy `old` into `new`, giving each op (operands already renewed, inner blocks already rewritten) to a rule.

    A rule returns None to keep the op, one value or a tuple to replace its results (``()`` drops a resultless op). Ops
    it emits through `builder` are recorded as derived from the op at hand, with its span. `miss` records why a rule
    declined.
    """

    def __init__(self, old: Function) -> None:
        self.old, self.new = old, old.empty_copy()
        self.builder = Builder(self.new)
        self.renewed: dict[Value, Value] = dict(zip(old.body.args, self.new.body.args, strict=True))
        self.misses: list[Miss] = []

    def run(self, rule: Rule) -> Function:
        """Rewrite everything with one rule; the old function is left as it was."""
        self._fill(self.old.body, self.new.body, rule)
        return self.new

    def miss(self, rule: str, op: Op, reason: str, *facts: str) -> None:
        """Say why `rule` did not apply to `op`."""
        self.misses.append(Miss(rule, op.uid, reason, facts))

    def lookup(self, value: Value | None) -> Value | None:
        return None if value is None else self.renewed.get(value, value)

    def _fill(self, source: Block, target: Block, rule: Rule) -> None:
        with self.builder.inside(target):
            for op in source.ops:
                self._step(op, rule)

    def _step(self, op: Op, rule: Rule) -> None:
        copy = self.copy(op, rule)
        self.builder.span, self.builder.parent = op.span, op.uid
        first_new = self.new.uids
        replacement = rule(self, copy)
        self.builder.parent = 0
        if replacement is None:
            self.builder.block.ops.append(copy)
            replacement = copy.results
        else:
            replacement = self._replaced(copy, replacement, first_new)
        self.renewed.update(zip(op.results, replacement, strict=True))

    def _replaced(self, op: Op, replacement: Value | Sequence[Value], first_new: int) -> Sequence[Value]:
        values = (replacement,) if isinstance(replacement, Value) else replacement
        for value in values:
            if value.op is not None and value.op.uid < first_new:  # an op that was there already takes this one's place
                self.new.provenance.add(value.op.uid, op.uid, "fused")
        if self.new.uids == first_new and not any(value.op for value in values):
            self.new.provenance.add(0, op.uid, "dropped")
        return values

    def copy(self, op: Op, rule: Rule) -> Op:
        """Renew an op: same row, number and span; renewed operands; inner blocks rewritten by `rule`."""
        blocks = tuple(self._copy_block(block, rule) for block in op.blocks)
        operands = tuple(self.lookup(value) for value in op.operands)
        return Op(op.row, operands, tuple(v.type for v in op.results), op.attrs, blocks, op.uid, op.span)

    def _copy_block(self, block: Block, rule: Rule) -> Block:
        fresh = Block()
        for arg in block.args:
            self.renewed[arg] = fresh.add_argument(arg.type, arg.name)
        self._fill(block, fresh, rule)
        return fresh
