"""Decide where each tile lives: homes given by anchors, layouts demanded by users. Knows rows by how layouts follow.

Layouts are decided at anchors: memory accesses, reductions, values that loops carry. Everything else is realised in the
layouts that its users ask for: what is free to compute is emitted once per layout, a value with a home of its own (the
layout its anchor gave it) is converted. Homes are found forward, demands backward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tinyton_lab.ir.core import Block, Function, Op, Value
from tinyton_lab.layout.anchors import Anchors, conversion_cost
from tinyton_lab.layout.linear import Layout
from tinyton_lab.layout.reduce import in_order
from tinyton_lab.ops import assembly, atomic, collective, contract, control, memory, message, reduction, shared
from tinyton_lab.passes.axis_info import analyse


class Plan:
    """Where each tile lives: its home, the layouts its users demand, the layout its op is emitted in."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.anchors = Anchors(function, analyse(function), function.attrs.get("num_warps", 4))
        self.homes: dict[Value, Layout] = {}
        self.rigid: set[Value] = set()
        self.demands: dict[Value, list[Layout]] = {}
        self.chosen: dict[Op, Layout] = {}
        self.sources: dict[Op, Layout] = {}
        self._settle()

    def _settle(self) -> None:
        """Repeat until loops agree with themselves: a value carried around a loop has one layout all the way.

        It ends: every round but the last gives at least one more value its home, for good.
        """
        while True:
            known = len(self.homes)
            self._find_homes(self.function.body)
            if len(self.homes) > known:
                continue
            self.demands.clear()
            self._ask_block(self.function.body)
            if not self._house_variables(self.function.body) and not self._house_reductions():
                return

    # -- homes, forward -----------------------------------------------------------------------------------------------
    def _find_homes(self, block: Block) -> None:
        for op in block.ops:
            for inner in op.blocks:
                self._find_homes(inner)
            self._find_home(op)

    def _find_home(self, op: Op) -> None:
        for variable in variables(op):
            self._share_home(variable)
        if grouped(op):
            self._reduced_homes(op)
        elif op.row is collective.gather:
            self._follow(op.result, op.operands[1])
        elif op.row is collective.histogram:
            self._set_home(op.result, self.anchors.default(op.result.type.shape))
            self.rigid.add(op.result)
        elif op.row is memory.load and op.result.type.shape:
            self._set_home(op.result, self.anchors.preferred(op))
        elif op.row.layout in ("same", "expand", "reshape", "transpose"):
            self._derived_home(op)

    def _derived_home(self, op: Op) -> None:
        known = [value for value in op.inputs if value in self.homes]
        first = next((value for value in known if value in self.rigid), known[0] if known else None)
        if first is not None and op.result.type.shape:
            self._set_home(op.result, result_layout(op, self.homes[first]))
            if first in self.rigid:
                self.rigid.add(op.result)

    def _follow(self, result: Value, operand: Value | None) -> None:
        """A result lives where that operand does."""
        if operand in self.homes:
            self._set_home(result, self.homes[operand])
            if operand in self.rigid:
                self.rigid.add(result)

    def placed(self, value: Value) -> Layout:
        """Where a tile is taken from whose elements other threads will ask for."""
        return self.homes.get(value) or self.anchors.default(value.type.shape)

    def _reduced_homes(self, op: Op) -> None:
        """A reduction takes its inputs in the home of the first that has one."""
        known = [self.homes[value] for value in op.inputs if value in self.homes]
        if known:
            self._set_source(op, known[0])

    def _set_source(self, op: Op, layout: Layout) -> None:
        if op.row is reduction.reduce and not reduction.commutes(op):
            layout = in_order(layout, op.attrs["axis"])
        source = self.sources.setdefault(op, layout)
        for result in op.results:
            if result.type.shape:
                self._set_home(result, grouped_result(op, source))
                self.rigid.add(result)

    def _house_reductions(self) -> bool:
        """Give the first reduction of tiles without a home the layout their shape gets by itself."""
        for op in self.function.walk():
            if grouped(op) and op not in self.sources:
                tile = next(value.type for value in op.inputs if value.type.shape)
                self._set_source(op, self.anchors.default(tile.shape))
                return True
        return False

    def _share_home(self, variable: Variable) -> None:
        """The places of one variable share the home that any of them has."""
        known = [self.homes[value] for value in (*variable.own, *variable.passed) if value in self.homes]
        if known:
            for value in variable.own:
                self._set_home(value, known[0])
                self.rigid.add(value)

    def _set_home(self, value: Value, layout: Layout) -> None:
        self.homes.setdefault(value, layout)

    def _house_variables(self, block: Block) -> bool:
        """Give variables without a home the layout that is demanded of them; True where that changed anything."""
        changed = False
        for op in block.ops:
            for inner in op.blocks:
                changed |= self._house_variables(inner)
            for variable in variables(op):
                if variable.own[0].type.shape and variable.own[0] not in self.homes:
                    asked = [layout for value in variable.own for layout in self.demands.get(value, ())]
                    self._set_home(variable.own[0], (asked or [self.anchors.default(variable.own[0].type.shape)])[0])
                    self._share_home(variable)
                    changed = True
        return changed

    # -- demands, backward --------------------------------------------------------------------------------------------
    def _ask_block(self, block: Block) -> None:
        for op in reversed(block.ops):
            self._ask(op)

    def ask(self, value: Value | None, layout: Layout) -> None:
        """Demand `value` in `layout`."""
        if value is not None and value.type.shape:
            wanted = self.demands.setdefault(value, [])
            if layout not in wanted:
                wanted.append(layout)

    def _ask(self, op: Op) -> None:
        if op.row is contract.promise:
            return
        if op.row is memory.store:
            self._ask_all(op, self._layout_of_store(op))
        elif op.row is memory.load:
            self._ask_all(op, self._layout_of_load(op))
        elif grouped(op):
            for value in op.inputs if op in self.sources else ():
                self.ask(value, self.sources[op])
        elif op.row is collective.gather:
            for layout in self.realised(op):
                self.ask(op.operands[0], self.placed(tile_value(op.operands[0])))
                self.ask(op.operands[1], layout)
        elif op.row is collective.histogram:
            for value in op.inputs:
                self.ask(value, self.placed(tile_value(op.operands[0])))
        elif op.blocks:
            self._ask_control(op)
        elif not op.row.terminator:
            for layout in self.realised(op):
                for value in op.inputs:
                    self.ask(value, operand_layout(op, value, layout))

    def _ask_all(self, op: Op, layout: Layout | None) -> None:
        if layout is not None:
            self.chosen[op] = layout
            for value in op.inputs:
                self.ask(value, layout)

    def _ask_control(self, op: Op) -> None:
        for variable in variables(op):
            home = self.homes.get(variable.own[0])
            if home is not None:
                for value in variable.passed:
                    self.ask(value, home)
        for block in reversed(op.blocks):
            self._ask_block(block)

    def realised(self, op: Op) -> tuple[Layout, ...]:
        """The layouts an op is emitted in: every one demanded where it has no home, else its home."""
        wanted = self.demands.get(op.results[0], []) if op.results else []
        home = self.homes.get(op.results[0]) if op.results else None
        passes_on = op.row.layout in ("free", "expand", "broadcast", "reshape", "transpose")
        return tuple(wanted) if home is None or passes_on or not wanted else (home,)

    def _layout_of_store(self, op: Op) -> Layout | None:
        """A store in the layout of its value, unless converting the value first costs less."""
        if op not in self.anchors.accesses:
            return None
        best = self.anchors.preferred(op)
        value = op.operand("value")
        home = self.homes.get(value) if value is not None else None
        if home is None or home == best:
            return best
        converted = conversion_cost(home, best) + self.anchors.cost(op, best)
        return home if self.anchors.cost(op, home) <= converted else best

    def _layout_of_load(self, op: Op) -> Layout | None:
        """A load straight in the one layout demanded, unless loading coalesced and converting costs less."""
        if op not in self.anchors.accesses:
            return None
        best = self.anchors.preferred(op)
        wanted = self.demands.get(op.result, [])
        if len(wanted) != 1 or wanted[0] == best:
            return best
        converted = self.anchors.cost(op, best) + conversion_cost(best, wanted[0])
        return wanted[0] if self.anchors.cost(op, wanted[0]) <= converted else best


_GROUPED = (
    reduction.reduce,
    collective.map_,
    atomic.atomic,
    atomic.compare_exchange,
    message.print_,
    message.check,
    shared.shared_store,
    shared.shared_load,
    assembly.assembly,
    assembly.assembly_with_effects,
)


def grouped(op: Op) -> bool:
    """Whether an op takes all its tiles in one layout, which it decides on."""
    return op.row in _GROUPED and any(value.type.shape for value in op.inputs)


def grouped_result(op: Op, source: Layout) -> Layout:
    """The layout of the results of such an op, given the layout it works in."""
    if op.row is reduction.reduce:
        return source.drop_axis(op.attrs["axis"]).without_register_copies()
    return source


def tile_value(value: Value | None) -> Value:
    if value is None:
        raise RuntimeError("layout: an operand is absent")
    return value


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable of a structured op: its `own` values (results, block arguments) and those `passed` to it."""

    own: tuple[Value, ...]
    passed: tuple[Value, ...]


def variables(op: Op) -> list[Variable]:
    """The variables that a loop carries or that the arms of a branch agree on."""
    if op.row is control.for_:
        (body,) = op.blocks
        return _variables((op.results, body.args[1:]), (op.operands[3:], body.terminator.operands))
    if op.row is control.if_:
        return _variables((op.results,), [block.terminator.operands for block in op.blocks])
    if op.row is control.while_:
        before, body = op.blocks
        going_round = _variables((before.args,), (op.operands, body.terminator.operands))
        return going_round + _variables((op.results, body.args), (before.terminator.operands[1:],))
    return []


def _variables(own: Sequence[Sequence[Value]], passed: Sequence[Sequence[Value | None]]) -> list[Variable]:
    return [
        Variable(owned, tuple(value for value in given if value is not None))
        for owned, given in zip(zip(*own), zip(*passed), strict=True)
    ]


def result_layout(op: Op, layout: Layout) -> Layout:
    """The layout of an op's result, given that of its operand."""
    match op.row.layout:
        case "expand":
            return layout.expand_axis(op.attrs["axis"])
        case "reshape":
            return layout.reshape(op.attrs["shape"])
        case "transpose":
            return layout.transpose(op.attrs["order"])
        case _:
            return layout


def operand_layout(op: Op, value: Value, layout: Layout) -> Layout:
    """The layout an operand must have for the result to come out in `layout`."""
    match op.row.layout:
        case "expand":
            return layout.drop_axis(op.attrs["axis"]).without_register_copies()
        case "broadcast":
            for axis, (old, new) in enumerate(zip(value.type.shape, op.attrs["shape"], strict=True)):
                layout = layout.collapse_axis(axis) if old != new else layout
            return layout.without_register_copies()
        case "reshape":
            return layout.reshape(value.type.shape)
        case "transpose":
            order = op.attrs["order"]
            return layout.transpose(tuple(order.index(axis) for axis in range(len(order))))
        case _:
            return layout
