"""Which parameters of a function a pointer may be derived from. Knows how pointers flow through ops, no address."""

from __future__ import annotations

from tinyton_lab.ir.core import Function, Op, Value
from tinyton_lab.ops import control, elementwise, shape

Roots = frozenset[int] | None
_PASS_ON = frozenset(
    (
        elementwise.offset,
        elementwise.pointer_cast,
        shape.splat,
        shape.expand,
        shape.broadcast,
        shape.reshape,
        shape.transpose,
    )
)


def pointer_roots(function: Function) -> dict[Value, Roots]:
    """Map each pointer to the indices of the parameters it may come from; None where any memory may be meant.

    Pointers made from integers have no root. Carried pointers take the roots of all values that reach them.
    """
    roots: dict[Value, Roots] = {}
    for index, argument in enumerate(function.body.args):
        if argument.type.is_pointer:
            roots[argument] = frozenset((index,))
    for op in function.walk():
        if op.row is elementwise.int_to_pointer:
            roots[op.result] = None
    changed = True
    while changed:
        changed = False
        for op in function.walk():
            for target, sources in _flows(op):
                found = _union([roots.get(source, frozenset()) for source in sources])
                if roots.get(target, frozenset()) != found:
                    roots[target], changed = found, True
    return roots


def written_parameters(function: Function) -> frozenset[int]:
    """The parameters that a store may write through; all pointers where a store's root is unknown."""
    roots = pointer_roots(function)
    written: set[int] = set()
    for op in function.walk():
        if op.row.effect in ("write", "atomic"):
            pointer = next(value for value in op.inputs if value.type.is_pointer)
            found = roots.get(pointer)
            written.update(_all_pointers(function) if found is None else found)
    return frozenset(written)


def _all_pointers(function: Function) -> list[int]:
    return [index for index, parameter in enumerate(function.parameters) if parameter.type.is_pointer]


def _union(parts: list[Roots]) -> Roots:
    known = [part for part in parts if part is not None]
    return frozenset().union(*known) if len(known) == len(parts) else None


def _flows(op: Op) -> list[tuple[Value, list[Value]]]:
    """Pairs of a pointer and the pointers that flow into it at this op."""
    if op.row in _PASS_ON:
        source = op.operands[0]
        return [(op.result, [source])] if source is not None and op.result.type.is_pointer else []
    if op.row is elementwise.select and op.result.type.is_pointer:
        return [(op.result, [v for v in op.operands[1:] if v is not None])]
    if op.row is control.if_:
        return _pointers(list(zip(op.results, *(list(b.terminator.operands) for b in op.blocks))))
    if op.row is control.for_:
        (body,) = op.blocks
        edges = list(zip(op.results, op.operands[3:], body.terminator.operands))
        carried = [(argument, a, b) for argument, (_, a, b) in zip(body.args[1:], edges)]
        return _pointers(carried + edges)
    if op.row is control.while_:
        before, body = op.blocks
        passed = list(before.terminator.operands[1:])
        into = list(zip(before.args, op.operands, body.terminator.operands))
        return _pointers([*into, *zip(body.args, passed), *zip(op.results, passed)])
    return []


def _pointers(flows: list[tuple[Value | None, ...]]) -> list[tuple[Value, list[Value]]]:
    found: list[tuple[Value, list[Value]]] = []
    for target, *sources in flows:
        if target is not None and target.type.is_pointer:
            found.append((target, [source for source in sources if source is not None]))
    return found
