"""Common subexpression elimination: an op that says what an op in sight said already is replaced by that one."""

from __future__ import annotations

from collections.abc import Hashable

from tinyton_lab.ir.core import Block, Function, Op, Value
from tinyton_lab.ir.rewrite import Rewriter, Rule
from tinyton_lab.ops.reduction import combiner
from tinyton_lab.passes.outcome import Options, Outcome


def cse(function: Function, options: Options) -> Outcome:
    """Merge equal pure ops; what a block computes is seen by the blocks inside it, not outside."""
    rewriter = _ScopedRewriter(function)
    return Outcome(rewriter.run(_rule), tuple(rewriter.misses))


class _ScopedRewriter(Rewriter):
    """A rewriter that knows the ops in sight; leaving a block forgets what it said."""

    def __init__(self, old: Function) -> None:
        super().__init__(old)
        self.said: list[dict[Hashable, tuple[Value, ...]]] = [{}]

    def _copy_block(self, block: Block, rule: Rule) -> Block:
        self.said.append({})
        copy = super()._copy_block(block, rule)
        self.said.pop()
        return copy


def _rule(rewriter: Rewriter, op: Op) -> tuple[Value, ...] | None:
    if not isinstance(rewriter, _ScopedRewriter) or not op.row.pure or not op.results:
        return None
    key = _meaning(op)
    if key is None:
        return None
    for scope in reversed(rewriter.said):
        if key in scope:
            return scope[key]
    rewriter.said[-1][key] = op.results
    return None


def _meaning(op: Op) -> Hashable:
    """What two ops share exactly when they compute the same; None where that is not known."""
    inner = combiner(op) if op.blocks else ""
    if inner is None:
        return None
    operands = tuple(map(id, op.operands))
    if "commutative" in op.row.laws:
        operands = tuple(sorted(operands))
    # By spelling: 0.0 is not -0.0, True is not 1.
    attrs = tuple((name, repr(value)) for name, value in op.attrs.items())
    return op.row.name, operands, attrs, inner, op.results[0].type
