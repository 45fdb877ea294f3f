"""Loops: what they run over, what they carry from turn to turn, and what they leave behind."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tinyton_lab.base.diagnostics import Note
from tinyton_lab.base.dtypes import DType, int1, int32, promote
from tinyton_lab.frontend.branches import agree, condition, kind_of, same_constant
from tinyton_lab.frontend.expressions import assign_item, evaluate
from tinyton_lab.frontend.frame import BREAK, Frame
from tinyton_lab.frontend.liveness import breaks
from tinyton_lab.ir.core import Block, Value
from tinyton_lab.ir.types import Tile
from tinyton_lab.language import core, semantic
from tinyton_lab.language.emission import is_number, number, static, to_value, unwrap
from tinyton_lab.language.shapes import broadcast_to
from tinyton_lab.language.structure import parts_of, remade, same_form
from tinyton_lab.language.types import spell
from tinyton_lab.language.value import TileValue, make
from tinyton_lab.ops import control

INDEX = "in"
"""The name, which no variable can have, of the index of a loop that may be left."""
UNROLL_LIMIT = 1 << 14  # turns of a loop that is unrolled
Body = Callable[[], None]


class Carried:
    """The names that a loop carries, flattened to scalars and tiles."""

    def __init__(self, frame: Frame, loop: ast.For | ast.While, own: tuple[str, ...] = ()) -> None:
        self.frame, self.loop = frame, loop
        liveness = frame.parsed.liveness
        needed = liveness.stored[loop] & liveness.header[loop] & frame.names.keys() | set(own)
        self.names = sorted(name for name in needed if carries(frame.names[name]))
        self.constant = {name: frame.names[name] for name in sorted(needed) if not carries(frame.names[name])}
        self.starts = {name: frame.names[name] for name in self.names}
        self.spans = {name: frame.bound[name] for name in self.names if name in frame.bound}
        self.wider: dict[str, Tile] = {}
        self.shapes: list[tuple[str, int]] = []
        self.values: list[TileValue] = []
        for name in self.names:
            leaves = flatten(self.starts[name])
            self.shapes.append((name, len(leaves)))
            self.values += leaves

    @property
    def types(self) -> list[Tile]:
        return [value.tile for value in self.values]

    @property
    def argument_names(self) -> list[str]:
        return [name if n == 1 else f"{name}{i}" for name, n in self.shapes for i in range(n)]

    def handles(self) -> list[Value]:
        """The values before the loop; a known number becomes an op at the place where its name got it."""
        emitter, found = self.frame.context.emitter, []
        for (name, _), value in zip(self._spread(), self.values):
            emitter.span = self.spans.get(name, self.frame.span(self.loop))
            found.append(value.handle)
        emitter.span = self.frame.span(self.loop)
        return found

    def _spread(self) -> list[tuple[str, int]]:
        return [(name, i) for name, n in self.shapes for i in range(n)]

    def bind(self, values: Sequence[TileValue]) -> None:
        """Give the names these values: the arguments of the loop's block, or its results."""
        place = 0
        for name, n in self.shapes:
            leaves = iter(values[place : place + n])
            self.frame.names[name] = rebuild(self.starts[name], leaves)
            self.frame.lost.pop(name, None)
            place += n

    def turned(self) -> list[Value]:
        """The values after a turn. Raises TT2024 where a name changed its type, `Widening` where it may."""
        found: list[Value] = []
        place = 0
        for name, n in self.shapes:
            after = self.frame.names.get(name)
            for first, leaf in zip(self.values[place : place + n], self._leaves(name, after, n), strict=True):
                found.append(self._same_type(name, first, leaf).handle)
            place += n
        if self.wider:
            raise Widening(self.wider)
        for name, before in self.constant.items():
            after = self.frame.names.get(name)
            if after is not before and not (not carries(after) and same_constant(before, after)):
                raise self._changed(name, before, after)
        return found

    def _leaves(self, name: str, after: Any, count: int) -> list[Any]:
        fits = carries(after) and same_form(self.starts[name], after)
        leaves = flatten(after, weak=True) if fits else []
        if len(leaves) != count:
            raise self._changed(name, self.starts[name], after)
        return leaves

    def _same_type(self, name: str, first: TileValue, leaf: Any) -> TileValue:
        _, value = agree(first, leaf)
        if value.tile == first.tile:
            return value
        if not self._may_widen(name, first, value):
            raise self._changed(name, self.starts[name], self.frame.names.get(name))
        self.wider[name] = value.tile
        return value

    def _may_widen(self, name: str, first: TileValue, value: TileValue) -> bool:
        """Whether a scalar may become a tile of the same dtype, and a number written in the kernel of any."""
        if not self.frame.context.rules.widens or first.shape or value.tile.is_pointer:
            return False
        return first.tile.element == value.tile.element or is_number(self.starts[name])

    def _changed(self, name: str, before: Any, after: Any) -> Exception:
        bound = self.frame.bound.get(name, self.frame.span(self.loop))
        notes = tuple(Note("its value before the loop", span) for span in [self.spans.get(name)] if span is not None)
        fields = {"name": name, "before": kind_of(before), "after": kind_of(after)}
        fault = self.frame.fault("TT2024", self.loop, notes, **fields)
        fault.span = bound
        return fault

    def forget_others(self, why: str) -> None:
        """Names that only live inside the loop have no value after it."""
        liveness = self.frame.parsed.liveness
        for name in sorted(liveness.stored[self.loop] - set(self.names) - self.constant.keys()):
            self.frame.lose(name, why, self.loop)


class Widening(Exception):
    """A loop's variables turned out to need wider types than they had before it."""

    def __init__(self, types: dict[str, Tile]) -> None:
        super().__init__("a loop's variables widen")
        self.types = types


def with_widening(frame: Frame, lower: Callable[[], TileValue]) -> TileValue:
    """Lower a loop; where its dialect lets variables widen, start over with wider ones, until they stay."""
    ops = frame.context.emitter.builder.block.ops
    while True:
        mark = len(ops)
        try:
            return lower()
        except Widening as widening:
            del ops[mark:]
            for name, tile in widening.types.items():
                start = semantic.converted(frame.names[name], tile.dtype)
                frame.names[name] = broadcast_to(start, tile.shape)


def carries(value: Any) -> bool:
    """Whether a loop can carry a value: scalars, tiles, numbers, and tuples and structures of those."""
    parts = parts_of(value)
    if parts is not None:
        return bool(parts) and all(carries(item) for item in parts)
    return isinstance(value, TileValue) or is_number(value)


def flatten(value: Any, weak: bool = False) -> list[Any]:
    parts = parts_of(value)
    if parts is not None:
        return [leaf for item in parts for leaf in flatten(item, weak)]
    return [value if weak or isinstance(value, TileValue) else to_value(value)]


def rebuild(like: Any, leaves: Iterator[Any]) -> Any:
    parts = parts_of(like)
    return next(leaves) if parts is None else remade(like, [rebuild(item, leaves) for item in parts])


@dataclass(frozen=True, slots=True)
class Turns:
    """What a ``for`` runs over: bounds, whether it is unrolled, and the options of `tl.range`."""

    start: Any
    end: Any
    step: Any
    unrolled: bool
    options: dict[str, Any]


def read_turns(frame: Frame, node: ast.For) -> Turns | tuple[Any, ...]:
    """What a ``for`` runs over: a range, or the items of a compile-time tuple. Raises TT1022 for anything else."""
    if isinstance(node.iter, ast.Call):
        callee = evaluate(frame, node.iter.func)
        if callee is range or callee is core.range or callee is core.static_range:
            return _read_range(frame, node.iter, callee)
    items = evaluate(frame, node.iter)
    if not isinstance(items, tuple):
        raise frame.fault("TT1022", node.iter, name=kind_of(items))
    return items


def _read_range(frame: Frame, node: ast.Call, callee: Any) -> Turns:
    args = [evaluate(frame, argument) for argument in node.args]
    keywords = {keyword.arg: evaluate(frame, keyword.value) for keyword in node.keywords if keyword.arg}
    name = "tl.range" if callee is core.range else callee.__name__
    frame.at(node)
    try:
        turns = (
            core.range(*args, **keywords) if callee is not core.static_range else core.static_range(*args, **keywords)
        )
    except TypeError as failure:
        raise frame.fault("TT1007", node, name=name, why=str(failure).split("() ")[-1], signature="") from None
    if callee is range and (keywords or not args):
        raise frame.fault("TT1007", node, name=name, why="it takes one to three positions", signature="")
    options = {key: static(value, f"the option {key}") for key, value in getattr(turns, "options", {}).items()}
    unknown = sorted(options.keys() - core.LOOP_OPTIONS)
    if unknown:
        raise frame.fault("TT1007", node, name=name, why=f"it has no option {unknown[0]!r}", signature="")
    return Turns(turns.start, turns.end, turns.step, callee is core.static_range, options)


def lower_for(frame: Frame, node: ast.For, run: Callable[[Sequence[ast.stmt]], Any]) -> TileValue:
    """Lower a ``for``; `run` lowers its body. Gives whether it was left by a ``break``, as a scalar i1."""
    turns = read_turns(frame, node)
    if isinstance(turns, tuple):
        return unroll(frame, node, turns, run)
    bounds = [known_bound(x) for x in (turns.start, turns.end, turns.step)]
    if bounds[2] == 0:
        raise frame.fault("TT1018", node.iter, what=ast.unparse(node.iter), why="the step is zero")
    if turns.unrolled:
        numbers = [static(x, "a bound of static_range") for x in (turns.start, turns.end, turns.step)]
        return unroll(frame, node, at_most(frame, node, numbers), run)
    known = [bound for bound in bounds if bound is not None]
    if len(known) == 3 and frame.context.rules.unroll(count_turns(*known), node):
        return unroll(frame, node, range(*known), run)
    return with_widening(frame, lambda: run_time_loop(frame, node, turns, run))


def known_bound(value: Any) -> int | None:
    value = unwrap(value)
    value = value.known if isinstance(value, TileValue) else value
    return value if isinstance(value, int) else None


def count_turns(start: int, end: int, step: int) -> int:
    """How many turns a range has, however large its bounds."""
    return max(0, -((start - end) // step))


def at_most(frame: Frame, node: ast.For, bounds: Sequence[Any]) -> range:
    """The turns of an unrolled loop. Raises TT1023 for too many."""
    if not all(isinstance(bound, int) for bound in bounds):
        raise frame.fault("TT1007", node.iter, name="static_range", why="its bounds must be integers", signature="")
    turns = count_turns(*bounds)
    if turns > UNROLL_LIMIT:
        raise frame.fault("TT1023", node.iter, turns=turns, limit=UNROLL_LIMIT)
    return range(*bounds)


def unroll(frame: Frame, node: ast.For, items: Sequence[Any], run: Callable[[Sequence[ast.stmt]], Any]) -> TileValue:
    """Lower the body once per item; the target is known at compile time in each turn."""
    with frame.looping(node):
        for item in items:
            assign_item(frame, node.target, item)
            run(node.body)
            left: TileValue = frame.names[BREAK]
            if left.known is None:
                raise frame.fault("TT1032", node)
            if left.known:
                return left
    return number(False, int1)


def run_time_loop(frame: Frame, node: ast.For, turns: Turns, run: Callable[[Sequence[ast.stmt]], Any]) -> TileValue:
    """Emit a ``for`` op; the names it carries are its block's arguments."""
    if not isinstance(node.target, ast.Name):
        raise frame.fault("TT1019", node.target, targets=ast.unparse(node.target), values="an integer")
    name = node.target.id
    emitter = frame.context.emitter
    frame.at(node.iter)
    bounds = loop_bounds(frame, node, turns)
    if breaks(node):
        return counted_while(frame, node, name, bounds, run)
    limits = [bound.handle for bound in bounds]
    carried = Carried(frame, node)
    starts = carried.handles()
    block, values = emitter.block([bounds[0].tile, *carried.types], [name, *carried.argument_names])

    def body() -> None:
        carried.bind(values[1:])
        frame.bind(name, values[0], node.target)
        run(node.body)

    lower_body(frame, node, block, carried, body)
    op = emitter.builder.emit(control.for_, [*limits, *starts], turns.options, carried.types, (block,))
    leave(frame, node, carried, op.results)
    return number(False, int1)


def counted_while(
    frame: Frame, node: ast.For, target: str, bounds: list[TileValue], run: Callable[[Sequence[ast.stmt]], Any]
) -> TileValue:
    """A ``for`` with a ``break``: a ``while`` op that carries the index."""
    start, end, step = bounds
    less, greater = semantic.COMPARE["lt"], semantic.COMPARE["gt"]
    frame.names[INDEX] = start

    def inside() -> TileValue:
        index = frame.names[INDEX]
        up = semantic.logical_and(semantic.compare(greater, step, 0), semantic.compare(less, index, end))
        down = semantic.logical_and(semantic.compare(less, step, 0), semantic.compare(greater, index, end))
        return semantic.logical_or(up, down)

    def turn() -> None:
        index = frame.names[INDEX]
        frame.bind(target, index, node.target)
        run(node.body)
        frame.at(node.iter)
        frame.names[INDEX] = semantic.add(index, step)

    left = emit_while(frame, node, (BREAK, INDEX), inside, turn)
    del frame.names[INDEX]
    return left


def lower_body(frame: Frame, node: ast.For | ast.While, block: Block, carried: Carried, body: Body) -> None:
    """Lower a loop's body into its block, which ends by yielding what is carried."""
    emitter = frame.context.emitter
    with frame.branch(), emitter.builder.inside(block), frame.looping(node):
        body()
        frame.at(node)
        emitter.end(control.yield_, carried.turned())
    frame.at(node)


def leave(frame: Frame, node: ast.For | ast.While, carried: Carried, results: Sequence[Value]) -> None:
    """Give the carried names the results of a loop; the other names of its body are lost."""
    carried.bind([make(value.type, value) for value in results])
    carried.forget_others("it gets a value inside this loop only, which may run no turn")


def loop_bounds(frame: Frame, node: ast.For, turns: Turns) -> list[TileValue]:
    """The bounds in their common integer type. Raises TT2027."""
    values = [to_value(x) for x in (turns.start, turns.end, turns.step)]
    dtype: DType | None = int32
    for value in values:
        if value.shape or value.tile.is_pointer or value.element.kind == "float":
            varies = ", which varies from element to element" if value.shape else ""
            raise frame.fault("TT2027", node.iter, type=spell(value.tile) + varies)
        dtype = promote(dtype, value.element) if dtype is not None else None
    wanted = dtype or int32
    return [semantic.convert(value, wanted) for value in values]


def lower_while(frame: Frame, node: ast.While, run: Callable[[Sequence[ast.stmt]], Any]) -> TileValue:
    """Lower a ``while``; `run` lowers its body. Raises TT1028 for one that never ends. Gives what `lower_for` does."""
    own = (BREAK,) if breaks(node) else ()

    def test() -> bool | TileValue:
        found = condition(frame, node.test, evaluate(frame, node.test))
        if found is True and not own:
            raise frame.fault("TT1028", node.test)
        return found

    return with_widening(frame, lambda: emit_while(frame, node, own, test, lambda: run(node.body)))


def emit_while(
    frame: Frame,
    node: ast.For | ast.While,
    own: tuple[str, ...],
    test: Callable[[], bool | TileValue],
    turn: Body,
) -> TileValue:
    """Emit a ``while`` op; the names it carries are its blocks' arguments, and `own` are the loop's own among them.

    Gives whether it was left by a ``break``.
    """
    emitter, outer = frame.context.emitter, frame.names.get(BREAK)
    frame.names[BREAK] = number(False, int1)
    carried = Carried(frame, node, own)
    starts = carried.handles()
    before, values = emitter.block(carried.types, carried.argument_names)
    with frame.branch(), emitter.builder.inside(before):
        carried.bind(values)
        found = test()
        frame.at(node)
        if BREAK in own:
            found = semantic.logical_and(found, semantic.logical_not(frame.names[BREAK]))
        emitter.end(control.condition, [to_value(found).handle, *(value.handle for value in values)])
    if found is False:
        restore(frame, outer)
        return number(False, int1)
    block, values = emitter.block(carried.types, carried.argument_names)

    def body() -> None:
        carried.bind(values)
        frame.names[BREAK] = number(False, int1)
        turn()

    lower_body(frame, node, block, carried, body)
    op = emitter.builder.emit(control.while_, starts, None, carried.types, (before, block))
    leave(frame, node, carried, op.results)
    left = frame.names[BREAK]
    restore(frame, outer)
    return left


def restore(frame: Frame, outer: Any) -> None:
    """Give the loop around back its own condition of being left."""
    del frame.names[BREAK]
    if outer is not None:
        frame.names[BREAK] = outer
