"""What is known of the elements of each value along each axis: runs that count up by one, divisors, runs of one value.

An analysis: it changes nothing, and knows no layout. Contiguity takes for granted that an index does not wrap inside a
run (it would be out of bounds).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd

from tinyton_lab.ir.core import Block, Function, Op, Value
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.ir.types import Pointer, Tile
from tinyton_lab.ops import contract, control, elementwise, memory, reduction, shape
from tinyton_lab.passes.constants import constant_of
from tinyton_lab.passes.outcome import Options, Outcome
from tinyton_lab.passes.promises import promises, split_pointers

LARGEST = 1 << 30


@dataclass(frozen=True, slots=True)
class Axis:
    """Facts along one axis; the runs start at multiples of their length.

    `contiguity`: every aligned run of so many elements counts up by one (pointers: by one element). `divisibility`: the
    first element of each such run is a multiple of it (pointers: in bytes). `constancy`: every aligned run of so many
    elements is one value.
    """

    contiguity: int = 1
    divisibility: int = 1
    constancy: int = 1

    def divisor_at(self, step: int) -> int:
        """What divides the elements at multiples of `step`."""
        if self.contiguity == 1 or step % self.contiguity == 0:
            return self.divisibility
        return gcd(self.divisibility, step, self.contiguity)


@dataclass(frozen=True, slots=True)
class AxisInfo:
    """Facts about a value, one `Axis` per axis of its tile (a scalar has one); `because` says where they come from."""

    axes: tuple[Axis, ...]
    because: str = ""

    @property
    def contiguity(self) -> tuple[int, ...]:
        return tuple(axis.contiguity for axis in self.axes)

    @property
    def divisibility(self) -> tuple[int, ...]:
        return tuple(axis.divisibility for axis in self.axes)

    @property
    def constancy(self) -> tuple[int, ...]:
        return tuple(axis.constancy for axis in self.axes)

    @property
    def divisor(self) -> int:
        """What divides every element."""
        return max(axis.divisor_at(1) for axis in self.axes)

    def __str__(self) -> str:
        def spell(numbers: tuple[int, ...]) -> str:
            return "x".join("any" if n >= LARGEST else str(n) for n in numbers)

        facts = ("contiguity", self.contiguity), ("divisibility", self.divisibility), ("constancy", self.constancy)
        text = ", ".join(f"{name} {spell(numbers)}" for name, numbers in facts)
        return f"{text}: {self.because}" if self.because else text


def analyse(function: Function) -> dict[Value, AxisInfo]:
    """Find the facts of every value. Loops are a fixpoint: what holds at the start and after each turn.

    >>> from tinyton_lab.ir.parse import parse_function
    >>> from tinyton_lab.ops import OPS
    >>> text = "kernel @k(%n: i32) {\\n %1 = range {start = 0, end = 64} : tile<64xi32>\\n}"
    >>> function = parse_function(text, OPS)
    >>> str(analyse(function)[function.body.ops[0].result])
    'contiguity 64, divisibility any, constancy 1: counts from 0'
    """
    return _Analysis(function).infos


def axis_info(function: Function, options: Options) -> Outcome:
    """Show the facts of every tile and of what memory is accessed through."""
    infos = analyse(function)
    facts: list[tuple[int, str]] = []
    for op in function.walk():
        facts += [(op.uid, str(infos[value])) for value in op.results if value.type.shape and value in infos]
    return Outcome(function, facts=tuple(facts))


class _Analysis:
    def __init__(self, function: Function) -> None:
        self.infos: dict[Value, AxisInfo] = {}
        self.assumed, self.promises = _assumed(function), promises(function)
        for parameter, value in zip(function.parameters, function.body.args, strict=True):
            divisor = max(parameter.divisibility, 1)
            self.set(value, AxisInfo((Axis(1, divisor, 1),), f"the parameter {parameter.name}"))
        self.block(function.body)

    def get(self, value: Value | None) -> AxisInfo:
        if value is None:
            raise RuntimeError("axis_info: an operand is absent")
        found = self.infos.get(value)
        return nothing(value.type) if found is None else found

    def set(self, value: Value, info: AxisInfo) -> None:
        divisor = self.assumed.get(value)
        if divisor is not None:
            axes = tuple(replace(a, divisibility=max(a.divisibility, divisor)) for a in info.axes)
            info = AxisInfo(axes, f"assumed to be a multiple of {divisor}")
        axes = promised(info.axes, [self._fact(value, op) for op in self.promises.get(value, ())])
        self.infos[value] = info if axes == info.axes else AxisInfo(axes, f"promised; {info.because}")

    def _fact(self, value: Value, promise: Op) -> Mapping[str, Sequence[int]]:
        """What an op promises about a value: itself, or as the distance of the pointers that the promise is about."""
        split = promise.operands[0] and split_pointers(promise.operands[0])
        if promise.operands[0] is value or split is None or "divisibility" not in promise.attrs:
            return promise.attrs
        base, _ = split
        item = base.type.element.element.bytes if isinstance(base.type.element, Pointer) else 1
        multiples = (gcd(number, self.get(base).divisor) for number in promise.attrs["divisibility"])
        return {"divisibility": [max(number // item, 1) for number in multiples]}

    def block(self, block: Block) -> list[AxisInfo]:
        """Analyse a block; give the facts of what its terminator passes."""
        for op in block.ops:
            if op.row.terminator:
                return [self.get(value) for value in op.operands]
            self.op(op)
        return []

    def op(self, op: Op) -> None:
        structured = _STRUCTURED.get(op.row)
        if structured is not None:
            for value, info in zip(op.results, structured(self, op), strict=True):
                self.set(value, info)
            return
        rule = _RULES.get(op.row, _constancy_only if op.row.elementwise else None)
        for result in op.results:
            self.set(
                result,
                nothing(result.type, op.row.name) if rule is None else rule(op, [self.get(v) for v in op.inputs]),
            )

    def arguments(self, values: list[Value], infos: list[AxisInfo]) -> None:
        for value, info in zip(values, infos, strict=True):
            self.set(value, info)


def _assumed(function: Function) -> dict[Value, int]:
    """Divisors promised by ``assume(x % n == 0)``."""
    assumed: dict[Value, int] = {}
    for op in function.body.ops:
        if op.row is not contract.assume:
            continue
        test = op.operands[0].op if op.operands[0] is not None else None
        if test is not None and test.row is elementwise.eq and constant_of(test.operands[1]) == 0:
            rest = test.operands[0].op if test.operands[0] is not None else None
            if rest is not None and rest.row is elementwise.mod and rest.operands[0] is not None:
                assumed[rest.operands[0]] = power_of_two_in(int(constant_of(rest.operands[1]) or 1))
    return assumed


def promised(axes: tuple[Axis, ...], facts: Sequence[Mapping[str, Sequence[int]]]) -> tuple[Axis, ...]:
    """Facts with promised ones added. A promised run counts from a promised multiple, or from any number."""
    for fact in facts:
        runs, multiples, equals = (fact.get(name) for name in ("contiguity", "divisibility", "constancy"))
        for number, axis in enumerate(axes):
            longer = max(axis.contiguity, power_of_two_in(runs[number])) if runs else axis.contiguity
            divisor = max(axis.divisor_at(longer), power_of_two_in(multiples[number]) if multiples else 1)
            constancy = max(axis.constancy, power_of_two_in(equals[number]) if equals else 1)
            axes = (*axes[:number], Axis(longer, divisor, constancy), *axes[number + 1 :])
    return axes


def power_of_two_in(number: int) -> int:
    """The largest power of two that divides `number`; `LARGEST` for 0."""
    return min(number & -number, LARGEST) if number else LARGEST


def nothing(type: Tile, because: str = "") -> AxisInfo:
    """No facts."""
    return AxisInfo((Axis(),) * max(type.rank, 1), because)


def meet(x: AxisInfo, y: AxisInfo, because: str = "") -> AxisInfo:
    """What holds for either of two values."""

    def axis(a: Axis, b: Axis) -> Axis:
        run = gcd(a.contiguity, b.contiguity)
        return Axis(run, gcd(a.divisor_at(run), b.divisor_at(run)), gcd(a.constancy, b.constancy))

    return AxisInfo(tuple(map(axis, x.axes, y.axes)), because or x.because)


# -- rules: what an op's result is, from its operands' facts -----------------------------------------------------------
def _capped(type: Tile, divisor: int) -> int:
    """Divisors survive wrapping only below the width of the type."""
    bits = 64 if isinstance(type.element, Pointer) else type.element.bits
    return min(divisor, LARGEST, 1 << max(bits - 1, 0))


def _constant(op: Op, _: list[AxisInfo]) -> AxisInfo:
    value, type = op.attrs["value"], op.attrs["type"]
    divisor = power_of_two_in(value) if isinstance(value, int) and not isinstance(value, bool) else 1
    return AxisInfo(tuple(Axis(1, divisor, n) for n in type.shape or (1,)), f"the constant {value}")


def _range(op: Op, _: list[AxisInfo]) -> AxisInfo:
    start, end = op.attrs["start"], op.attrs["end"]
    return AxisInfo((Axis(end - start, power_of_two_in(start), 1),), f"counts from {start}")


def _splat(op: Op, known: list[AxisInfo]) -> AxisInfo:
    (x,) = known
    return AxisInfo(tuple(Axis(1, x.divisor, n) for n in op.attrs["shape"]), f"one value; {x.because}")


def _expand(op: Op, known: list[AxisInfo]) -> AxisInfo:
    (x,) = known
    at = op.attrs["axis"]
    scalar = op.operands[0] is not None and op.operands[0].type.is_scalar
    axes = () if scalar else x.axes
    return AxisInfo((*axes[:at], Axis(1, x.divisor, 1), *axes[at:]), x.because)


def _broadcast(op: Op, known: list[AxisInfo]) -> AxisInfo:
    (x,) = known
    old, new = op.operands[0].type.shape if op.operands[0] is not None else (), op.attrs["shape"]
    axes = (replace(a, constancy=m) if n == 1 != m else a for a, n, m in zip(x.axes, old, new, strict=True))
    return AxisInfo(tuple(axes), x.because)


def _reshape(op: Op, known: list[AxisInfo]) -> AxisInfo:
    """Only the last axis of a tile of one axis keeps its runs, and axes of length 1 come and go."""
    (x,) = known
    old, new = op.operands[0].type.shape if op.operands[0] is not None else (), op.attrs["shape"]
    others = Axis(1, x.divisor, 1)
    if len(old) <= 1 and new:
        (axis,) = x.axes
        run = gcd(axis.contiguity, new[-1])
        last = Axis(run, axis.divisor_at(run), gcd(axis.constancy, new[-1]))
        return AxisInfo((*(others for _ in new[:-1]), last), x.because)
    wide = iter(axis for axis, n in zip(x.axes, old) if n > 1)
    if [n for n in old if n > 1] == [n for n in new if n > 1]:
        return AxisInfo(tuple(next(wide) if n > 1 else others for n in new or (1,)), x.because)
    return AxisInfo(tuple(others for _ in new or (1,)), x.because)


def _transpose(op: Op, known: list[AxisInfo]) -> AxisInfo:
    (x,) = known
    return AxisInfo(tuple(x.axes[axis] for axis in op.attrs["order"]), x.because)


def _pairwise(axis: Callable[[Op, Axis, Axis], Axis]) -> Callable[[Op, list[AxisInfo]], AxisInfo]:
    def rule(op: Op, known: list[AxisInfo]) -> AxisInfo:
        x, y = known
        axes = tuple(axis(op, a, b) for a, b in zip(x.axes, y.axes, strict=True))
        return AxisInfo(axes, _because(op, x, y))

    return rule


def _because(op: Op, x: AxisInfo, y: AxisInfo) -> str:
    """A derivation of bounded length."""
    text = f"{op.row.name} of ({x.because}) and ({y.because})"
    return text if len(text) <= 160 else f"{op.row.name} of {' and '.join(f'%{v.name}' for v in op.inputs)}"


def _sum(op: Op, a: Axis, b: Axis) -> Axis:
    pointer = op.operands[0]
    scale = 1
    if op.row is elementwise.offset and pointer is not None and isinstance(pointer.type.element, Pointer):
        scale = pointer.type.element.element.bytes
    runs = [gcd(a.contiguity, b.constancy)]
    if op.row is not elementwise.sub:
        runs.append(gcd(a.constancy, b.contiguity))
    run = max(runs)
    divisor = gcd(a.divisor_at(run), b.divisor_at(run) * scale)
    return Axis(run, _capped(op.result.type, divisor), gcd(a.constancy, b.constancy))


def _product(op: Op, a: Axis, b: Axis) -> Axis:
    return Axis(1, _capped(op.result.type, a.divisor_at(1) * b.divisor_at(1)), gcd(a.constancy, b.constancy))


def _quotient(op: Op, a: Axis, b: Axis) -> Axis:
    """By a constant power of two; rounding toward zero keeps runs for unsigned operands and shifts only."""
    constancy = gcd(a.constancy, b.constancy)
    by = _known_divisor(op)
    if by is None:
        return Axis(1, 1, constancy)
    divisor = a.divisor_at(1) // by if a.divisor_at(1) % by == 0 else 1
    if op.row is elementwise.shr or op.result.type.dtype.kind == "uint" or _counts_up_from_zero(op.operands[0]):
        run = gcd(a.contiguity, a.divisibility, by)
        constancy = max(constancy, run if a.contiguity > 1 else 1)
    return Axis(1, divisor, constancy)


def _known_divisor(op: Op) -> int | None:
    """The power of two that the second operand divides by."""
    number = constant_of(op.operands[1])
    if number is None or number < 0:
        return None
    by = 1 << int(number) if op.row in (elementwise.shr, elementwise.shl) else int(number)
    return by if by and by & (by - 1) == 0 else None


def _counts_up_from_zero(value: Value | None) -> bool:
    return value is not None and value.op is not None and value.op.row is shape.range_ and value.op.attrs["start"] >= 0


def _remainder(op: Op, a: Axis, b: Axis) -> Axis:
    """By a multiple of d, a run that starts at a multiple of d keeps counting for d elements."""
    run, constancy = 1, gcd(a.constancy, b.constancy)
    if op.result.type.dtype.kind == "uint" or _counts_up_from_zero(op.operands[0]):
        run = gcd(gcd(a.contiguity, b.constancy), a.divisibility, b.divisor_at(1))
    return Axis(run, gcd(a.divisor_at(run), b.divisor_at(1)), constancy)


def _and(op: Op, a: Axis, b: Axis) -> Axis:
    """With a mask of ones below a power of two this is the remainder, whatever the sign."""
    constancy = gcd(a.constancy, b.constancy)
    mask = constant_of(op.operands[1])
    if not isinstance(mask, int) or isinstance(mask, bool) or mask < 0 or mask & (mask + 1):
        return Axis(1, max(a.divisor_at(1), b.divisor_at(1)), constancy)
    run = gcd(a.contiguity, a.divisibility, mask + 1)
    return Axis(run, gcd(a.divisor_at(run), mask + 1), constancy)


def _either(op: Op, a: Axis, b: Axis) -> Axis:
    return Axis(1, gcd(a.divisor_at(1), b.divisor_at(1)), gcd(a.constancy, b.constancy))


def _shift_left(op: Op, a: Axis, b: Axis) -> Axis:
    by = _known_divisor(op)
    divisor = a.divisor_at(1) * (1 if by is None else by)
    return Axis(1, _capped(op.result.type, divisor), gcd(a.constancy, b.constancy))


def _comparison(op: Op, a: Axis, b: Axis) -> Axis:
    """i < n is one value on runs of g where i counts up from a multiple of g and n is a multiple of g."""
    constancy = gcd(a.constancy, b.constancy)
    if op.row in (elementwise.lt, elementwise.ge):
        varying, fixed = a, b
    elif op.row in (elementwise.gt, elementwise.le):
        varying, fixed = b, a
    else:
        return Axis(1, 1, constancy)
    run = gcd(varying.contiguity, fixed.constancy)
    return Axis(1, 1, max(constancy, gcd(run, varying.divisibility, fixed.divisor_at(1))))


def _select(op: Op, known: list[AxisInfo]) -> AxisInfo:
    condition, x, y = known
    axes: list[Axis] = []
    for c, either in zip(condition.axes, meet(x, y).axes, strict=True):
        run = gcd(either.contiguity, c.constancy)
        axes.append(Axis(run, either.divisor_at(run), gcd(either.constancy, c.constancy)))
    return AxisInfo(tuple(axes), _because(op, x, y))


def _cast(op: Op, known: list[AxisInfo]) -> AxisInfo:
    (x,) = known
    source, result = op.operands[0], op.result.type
    if source is None or "float" in (source.type.element.kind, result.element.kind) or result.element.bits == 1:
        return _constancy_only(op, known)
    return AxisInfo(tuple(replace(a, divisibility=_capped(result, a.divisibility)) for a in x.axes), x.because)


def _address(op: Op, known: list[AxisInfo]) -> AxisInfo:
    """Pointer to integer or back: counting by elements is counting by one for elements of one byte only."""
    (x,) = known
    pointer = next((t for t in (op.operands[0] and op.operands[0].type, op.result.type) if t and t.is_pointer), None)
    if pointer is not None and isinstance(pointer.element, Pointer) and pointer.element.element.bytes == 1:
        return x
    return AxisInfo(tuple(Axis(1, a.divisor_at(1), a.constancy) for a in x.axes), x.because)


def _negative(op: Op, known: list[AxisInfo]) -> AxisInfo:
    (x,) = known
    return AxisInfo(tuple(Axis(1, a.divisor_at(1), a.constancy) for a in x.axes), x.because)


def _constancy_only(op: Op, known: list[AxisInfo]) -> AxisInfo:
    """Equal operands give equal results."""
    axes = (Axis(1, 1, gcd(*(a.constancy for a in along))) for along in zip(*(x.axes for x in known)))
    return AxisInfo(tuple(axes), f"{op.row.name} of equal operands")


def _load(op: Op, known: list[AxisInfo]) -> AxisInfo:
    tiles = [info for value, info in zip(op.inputs, known) if value.type.shape == op.result.type.shape]
    return _constancy_only(op, tiles) if tiles else nothing(op.result.type)


def _reduce(op: Op, known: list[AxisInfo]) -> AxisInfo:
    at = op.attrs["axis"]
    kept = [[axis for index, axis in enumerate(info.axes) if index != at] or [Axis()] for info in known]
    axes = (Axis(1, 1, gcd(*(a.constancy for a in along))) for along in zip(*kept))
    return AxisInfo(tuple(axes), f"{op.row.name} of equal operands")


_Rule = Callable[[Op, list[AxisInfo]], AxisInfo]
_RULES: dict[OpDef, _Rule] = {
    shape.constant: _constant,
    shape.range_: _range,
    shape.splat: _splat,
    shape.expand: _expand,
    shape.broadcast: _broadcast,
    shape.reshape: _reshape,
    shape.transpose: _transpose,
    elementwise.offset: _pairwise(_sum),
    elementwise.add: _pairwise(_sum),
    elementwise.sub: _pairwise(_sum),
    elementwise.mul: _pairwise(_product),
    elementwise.idiv: _pairwise(_quotient),
    elementwise.shr: _pairwise(_quotient),
    elementwise.mod: _pairwise(_remainder),
    elementwise.and_: _pairwise(_and),
    elementwise.or_: _pairwise(_either),
    elementwise.xor: _pairwise(_either),
    elementwise.max_: _pairwise(_either),
    elementwise.min_: _pairwise(_either),
    elementwise.shl: _pairwise(_shift_left),
    elementwise.select: _select,
    elementwise.cast: _cast,
    elementwise.bitcast: _cast,
    elementwise.neg: _negative,
    elementwise.pointer_to_int: _address,
    elementwise.int_to_pointer: _address,
    elementwise.pointer_cast: _address,
    memory.load: _load,
    reduction.reduce: _reduce,
} | {
    row: _pairwise(_comparison)
    for row in (elementwise.lt, elementwise.le, elementwise.gt, elementwise.ge, elementwise.eq, elementwise.ne)
}


# -- control flow ------------------------------------------------------------------------------------------------------
def _if(analysis: _Analysis, op: Op) -> list[AxisInfo]:
    then, otherwise = (analysis.block(block) for block in op.blocks)
    return [meet(x, y, "either branch") for x, y in zip(then, otherwise, strict=True)]


def _for(analysis: _Analysis, op: Op) -> list[AxisInfo]:
    (body,) = op.blocks
    lower, _, step, *inits = (analysis.get(value) for value in op.operands)
    divisor = gcd(lower.divisor, step.divisor)
    index = AxisInfo((Axis(1, divisor, 1),), f"from {lower.because} by {step.because}")
    known = inits
    while True:
        analysis.arguments(body.args, [index, *known])
        following = [meet(x, y, "carried by the loop") for x, y in zip(known, analysis.block(body), strict=True)]
        if [info.axes for info in following] == [info.axes for info in known]:
            return following
        known = following


def _while(analysis: _Analysis, op: Op) -> list[AxisInfo]:
    before, body = op.blocks
    known = [analysis.get(value) for value in op.operands]
    while True:
        analysis.arguments(before.args, known)
        _, *passed = analysis.block(before)
        analysis.arguments(body.args, passed)
        following = [meet(x, y, "carried by the loop") for x, y in zip(known, analysis.block(body), strict=True)]
        if [info.axes for info in following] == [info.axes for info in known]:
            return passed
        known = following


_STRUCTURED: dict[OpDef, Callable[[_Analysis, Op], list[AxisInfo]]] = {
    control.if_: _if,
    control.for_: _for,
    control.while_: _while,
}
