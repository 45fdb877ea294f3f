"""Two arms of which one runs: conditions, lowering of the arms, and merging what they leave behind."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tinyton_lab.base.diagnostics import Note
from tinyton_lab.base.source import Span
from tinyton_lab.frontend.frame import Frame
from tinyton_lab.ir.core import Block
from tinyton_lab.ir.types import Pointer
from tinyton_lab.language import semantic
from tinyton_lab.language.emission import describe, is_number, number, to_value
from tinyton_lab.language.structure import Structure, alike, is_hollow, parts_of, remade, same_form, spelled
from tinyton_lab.language.types import spell
from tinyton_lab.language.value import TileValue, make
from tinyton_lab.ops import control


def condition(frame: Frame, node: ast.expr, value: Any) -> bool | TileValue:
    """A condition: known at compile time, or a scalar i1 of the kernel. Raises TT2025 for a tile."""
    frame.at(node)
    if not isinstance(value, TileValue):
        return bool(value)
    if value.known is not None:
        return bool(value.known)
    if value.shape:
        raise frame.fault("TT2025", node, type=spell(value.tile))
    return semantic.truth(value)


@dataclass(slots=True)
class Arm:
    """One lowered arm: its block, the names it left behind, and its value if it has one."""

    block: Block
    names: dict[str, Any]
    bound: dict[str, Span]
    lost: dict[str, tuple[str, Span]]
    value: Any


def arm(frame: Frame, lower: Callable[[], Any]) -> Arm:
    """Lower one arm into a block of its own."""
    emitter, block = frame.context.emitter, Block()
    with frame.branch(), emitter.builder.inside(block):
        value = lower()
        return Arm(block, frame.names, frame.bound, frame.lost, value)


class Merge:
    """Pairs of scalars and tiles that two arms (or a loop's start and its turn) must agree on."""

    def __init__(self, frame: Frame, node: ast.AST) -> None:
        self.frame, self.node = frame, node
        self.pairs: list[tuple[TileValue, TileValue]] = []

    def plan(self, what: str, x: Any, y: Any, notes: tuple[Note, ...] = ()) -> Callable[[Sequence[Any]], Any]:
        """Note what of two values must be merged; the result builds the merged value from handles.

        Raises TT2026 naming `what` where they do not fit.
        """
        if x is y:
            return lambda handles: x
        if alike(x, y):
            parts = [self.plan(what, a, b, notes) for a, b in zip(parts_of(x) or (), parts_of(y) or ())]
            return lambda handles: remade(x, [part(handles) for part in parts])
        if not isinstance(x, TileValue) and not isinstance(y, TileValue) and same_constant(x, y):
            return lambda handles: x
        if not all(isinstance(value, TileValue) or is_number(value) for value in (x, y)):
            raise self.fault(what, x, y, notes)
        a, b = agree(x, y)
        if a.tile != b.tile:
            raise self.fault(what, x, y, notes)
        if a.known is not None and same_constant(a.known, b.known):
            return lambda handles: a
        place = len(self.pairs)
        self.pairs.append((a, b))
        return lambda handles: make(a.tile, handles[place])

    def fault(self, what: str, x: Any, y: Any, notes: tuple[Note, ...]) -> Exception:
        return self.frame.fault("TT2026", self.node, notes, what=what, first=kind_of(x), second=kind_of(y))


def same_constant(x: Any, y: Any) -> bool:
    """Whether two compile-time values are the same, in type and bits."""
    if isinstance(x, Structure) or isinstance(y, Structure):
        return same_form(x, y) and is_hollow(x)
    return type(x) is type(y) and (x == y or repr(x) == repr(y)) and not (x == 0 and repr(x) != repr(y))


def agree(x: Any, y: Any) -> tuple[TileValue, TileValue]:
    """Two values, a Python number taking the dtype of a scalar on the other side where it can."""
    if isinstance(x, (int, float)) and isinstance(y, TileValue) and fits(x, y):
        return number(x, y.element), y
    if isinstance(y, (int, float)) and isinstance(x, TileValue) and fits(y, x):
        return x, number(y, x.element)
    return to_value(x), to_value(y)


def fits(value: Any, scalar: TileValue) -> bool:
    """Whether a Python number may become a scalar of that type: same kind or a lower one."""
    if scalar.shape or isinstance(scalar.tile.element, Pointer):
        return False
    kind = scalar.element.kind
    return kind == "float" or (isinstance(value, int) and isinstance(value, bool) == (kind == "bool"))


def kind_of(value: Any) -> str:
    """Say what a value is, for messages about two that differ."""
    spelling = spelled(value)
    if spelling is not None:
        return spelling
    if isinstance(value, tuple):
        return f"a tuple ({', '.join(kind_of(item) for item in value)})"
    return describe(value)


def emit_if(frame: Frame, node: ast.AST, test: TileValue, arms: Sequence[Arm], merge: Merge) -> Sequence[Any]:
    """End both arms with the values to merge and emit the op; gives its results."""
    emitter, span = frame.context.emitter, frame.span(node)
    for side, lowered in enumerate(arms):
        with emitter.builder.inside(lowered.block):
            emitter.span = span
            emitter.end(control.yield_, [pair[side].handle for pair in merge.pairs])
    emitter.span = span
    types = [first.tile for first, _ in merge.pairs]
    op = emitter.builder.emit(control.if_, [test.handle], types=types, blocks=[lowered.block for lowered in arms])
    return op.results


def merge_values(frame: Frame, node: ast.AST, test: TileValue, arms: Sequence[Arm], what: str) -> Any:
    """Merge the values of two arms."""
    merge = Merge(frame, node)
    build = merge.plan(what, arms[0].value, arms[1].value)
    return build(emit_if(frame, node, test, arms, merge))


def merge_names(
    frame: Frame, node: ast.stmt, test: TileValue, arms: Sequence[Arm], stored: frozenset[str], needed: frozenset[str]
) -> None:
    """Merge the names that two arms may have `stored` and that are `needed` afterwards."""
    merge, builds = Merge(frame, node), {}
    for name in sorted(stored):
        if not all(name in lowered.names for lowered in arms):
            missing = next(lowered for lowered in arms if name not in lowered.names)
            why = missing.lost[name][0] if name in missing.lost else "it gets a value on one branch only"
            frame.lose(name, why, node)
        elif name in needed:
            notes = tuple(Note("here", lowered.bound[name]) for lowered in arms if name in lowered.bound)
            first, second = (lowered.names[name] for lowered in arms)
            builds[name] = merge.plan(f"{name!r}", first, second, notes)
    results = emit_if(frame, node, test, arms, merge)
    for name, build in builds.items():
        frame.bind(name, build(results), node)
