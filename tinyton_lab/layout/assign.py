"""Rewrite tile IR into layout IR, as planned: every tile gets its layout, conversions become ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tinyton_lab.ir.core import Block, Function, Op, Value
from tinyton_lab.layout.linear import Layout
from tinyton_lab.layout.plan import Plan, grouped, grouped_result, operand_layout, tile_value, variables
from tinyton_lab.ops import collective, contract, control, local, memory


def assign(function: Function) -> Function:
    """Give every tile of a function a layout; a new function whose ops record which ops they come from.

    ``function.attrs["num_warps"]`` (4 by default) is the number of warps of a program. Tile sizes are powers of two.
    """
    return _Emitter(function, Plan(function)).run()


class _Emitter:
    """Emit a planned function. `values` holds what a tile-level value has become, by layout (None: a scalar)."""

    def __init__(self, old: Function, plan: Plan) -> None:
        self.old, self.plan, self.new = old, plan, old.empty_copy()
        self.target = self.new.body
        self.values: dict[tuple[Value, Layout | None], Value] = {}
        self.copied: set[int] = set()
        self.passed: dict[Op, list[Layout | None]] = {}

    def run(self) -> Function:
        for before, after in zip(self.old.body.args, self.new.body.args, strict=True):
            self.values[before, None] = after
        for op in self.old.body.ops:
            self._op(op)
        return self.new

    def _get(self, value: Value | None, layout: Layout | None) -> Value | None:
        """What `value` has become, in `layout` if it is a tile."""
        return None if value is None else self.values[value, layout if value.type.shape else None]

    def _op(self, op: Op) -> None:
        if op.row is contract.promise:
            return  # the plan has read it
        if op.row in (memory.load, memory.store):
            self._access(op)
        elif grouped(op):
            self._group(op)
        elif op.row is collective.gather:
            source, index = op.operands
            for layout in self.plan.realised(op):
                place = self.plan.placed(tile_value(source))
                self._copy(op, [self._get(source, place), self._get(index, layout)], layout)
            self._convert_results(op)
        elif op.row is collective.histogram:
            if self.plan.demands.get(op.result):
                place = self.plan.placed(tile_value(op.operands[0]))
                self._copy(op, [self._get(value, place) for value in op.operands], self.plan.homes[op.result])
                self._convert_results(op)
        elif op.blocks:
            self._control(op)
        elif op.row.terminator or not op.results or op.result.type.is_scalar:
            homes = self.passed.get(op, [None] * len(op.operands))
            self._copy(op, [self._get(v, home) for v, home in zip(op.operands, homes, strict=True)], None)
        else:
            for layout in self.plan.realised(op):
                operands = [self._get(v, operand_layout(op, v, layout)) if v else None for v in op.operands]
                self._copy(op, operands, layout)
            self._convert_results(op)

    def _access(self, op: Op) -> None:
        layout = self.plan.chosen.get(op)
        attrs = dict(op.attrs)
        if layout is not None:
            width = self.plan.anchors.vector(op, layout)
            attrs |= {"vector": width if width > 1 else None, "run": self.plan.anchors.run(op)}
        self._copy(op, [self._get(value, layout) for value in op.operands], layout, attrs)
        self._convert_results(op)

    def _group(self, op: Op) -> None:
        wanted = any(self.plan.demands.get(result) or result.type.is_scalar for result in op.results)
        if wanted or not op.row.pure:
            source = self.plan.sources[op]
            result = grouped_result(op, source)
            blocks = [self._inner(block, op) for block in op.blocks]
            self._copy(op, [self._get(value, source) for value in op.operands], result, blocks=blocks)
            self._convert_results(op)

    def _control(self, op: Op) -> None:
        homes = [self.plan.homes.get(variable.own[0]) for variable in variables(op)]
        blank: list[Layout | None] = [None] * len(op.operands)
        entering = blank
        if op.row is control.for_:
            entering = [None, None, None, *homes]
            self.passed[op.blocks[0].terminator] = homes
        elif op.row is control.while_:
            entering, onward = homes[: len(op.operands)], homes[len(op.operands) :]
            self.passed[op.blocks[0].terminator] = [None, *onward]
            self.passed[op.blocks[1].terminator] = entering
        else:
            for block in op.blocks:
                self.passed[block.terminator] = homes
        operands = [self._get(value, home) for value, home in zip(op.operands, entering, strict=True)]
        blocks = [self._inner(block, op) for block in op.blocks]
        self._copy(op, operands, None, blocks=blocks)
        self._convert_results(op)

    def _inner(self, source: Block, owner: Op) -> Block:
        outer, self.target = self.target, Block()
        for value in source.args:
            home = self.plan.homes.get(value)
            self.values[value, home] = self.target.add_argument(value.type.with_layout(home), value.name)
            self._convert(value, home, owner)
        for op in source.ops:
            self._op(op)
        made, self.target = self.target, outer
        return made

    def _copy(
        self,
        op: Op,
        operands: Sequence[Value | None],
        layout: Layout | None,
        attrs: Mapping[str, Any] | None = None,
        blocks: Sequence[Block] = (),
    ) -> None:
        """Emit `op` with its tiles in `layout` (None: each result in its home). The first copy keeps its number."""
        layouts = [layout or self.plan.homes.get(result) if result.type.shape else None for result in op.results]
        types = tuple(result.type.with_layout(own) for result, own in zip(op.results, layouts, strict=True))
        uid = op.uid
        if op.uid in self.copied:
            uid = self.new.new_uid()
            self.new.provenance.add(uid, op.uid, "derived")
        self.copied.add(op.uid)
        full = dict(op.attrs if attrs is None else attrs)
        made = Op(op.row, tuple(operands), types, full, tuple(blocks), uid, op.span)
        if uid == op.uid:
            for old, new in zip(op.results, made.results, strict=True):
                new.name = old.name
        self.target.ops.append(made)
        for old, own, new in zip(op.results, layouts, made.results, strict=True):
            self.values[old, own] = new

    def _convert_results(self, op: Op) -> None:
        """Convert the results of `op` to the layouts demanded that they do not have yet."""
        for result in op.results:
            candidates = (self.plan.chosen.get(op), self.plan.homes.get(result), *self.plan.demands.get(result, ()))
            have = next((layout for layout in candidates if layout and (result, layout) in self.values), None)
            self._convert(result, have, op)

    def _convert(self, value: Value, have: Layout | None, owner: Op) -> None:
        for wanted in self.plan.demands.get(value, ()) if have is not None else ():
            if (value, wanted) not in self.values:
                uid = self.new.new_uid()
                self.new.provenance.add(uid, owner.uid, "derived")
                type = value.type.with_layout(wanted)
                op = Op(local.convert_layout, (self.values[value, have],), (type,), {}, (), uid, owner.span)
                self.target.ops.append(op)
                self.values[value, wanted] = op.result
