"""Emission of instructions between the lanes of a warp: shuffles, votes, matches, reductions (PTX ISA 9.7.13)."""

from __future__ import annotations

from collections.abc import Callable

from tinyton_lab.llvm.text import Register, vector
from tinyton_lab.sim.fast.accesses import Accesses
from tinyton_lab.sim.fast.context import LANES
from tinyton_lab.sim.fast.emission import Unsupported, const, inverted
from tinyton_lab.sim.fast.registers import MASK, Registers
from tinyton_lab.sim.fast.steps import Step

_WORDS = vector("i32", LANES)
_LANE = Register(f"<{', '.join(f'i32 {n}' for n in range(LANES))}>", _WORDS)


def _constant(x: Register) -> int | None:
    """The number behind a constant operand."""
    digits = x.text.removeprefix(f"splat ({x.element} ").removesuffix(")")
    return int(digits) if digits.isdigit() else None


def _places(values: list[int]) -> Register:
    return Register(f"<{', '.join(f'i32 {v}' for v in values)}>", _WORDS)


def _shuffle_map(mode: str, distance: int, control: int) -> tuple[list[int], list[bool]]:
    """Which lane each lane reads, and whether that is within bounds, for a shuffle with constant operands."""
    width, clamp, distance = control >> 8 & 31, control & 31, distance & 31
    sources: list[int] = []
    inside: list[bool] = []
    for lane in range(LANES):
        top = lane & width | clamp & ~width
        source = {"up": lane - distance, "down": lane + distance, "bfly": lane ^ distance}.get(
            mode, lane & width | distance & ~width
        )
        valid = source >= top if mode == "up" else source <= top
        sources.append((source if valid else lane) & 31)
        inside.append(valid)
    return sources, inside


def shuffle(a: Accesses, r: Registers, step: Step) -> tuple[Register, ...]:
    b = a.b
    value, distance, control = (r.read(source) for source in step.sources[:3])
    value, mode = r.spread(value), step.form["mode"]
    fixed, bounds = _constant(distance), _constant(control)
    if fixed is not None and bounds is not None:
        sources, inside = _shuffle_map(mode, fixed, bounds)
        moved = b.emit(f"shufflevector {value}, {value.type} poison, {_places(sources)}", _WORDS)
        flags = ", ".join(f"i1 {'true' if valid else 'false'}" for valid in inside)
        return moved, Register(f"<{flags}>", MASK)
    distance, control = r.spread(distance), r.spread(control)
    width = b.binary("and", b.binary("lshr", control, const(8, control)), const(31, control))
    clamp = b.binary("and", control, const(31, control))
    distance = b.binary("and", distance, const(31, distance))
    bottom = b.binary("and", _LANE, width)
    top = b.binary("or", bottom, b.binary("and", clamp, inverted(b, width)))
    if mode in ("up", "down", "bfly"):
        source = b.binary({"up": "sub", "down": "add", "bfly": "xor"}[mode], _LANE, distance)
    else:
        source = b.binary("or", bottom, b.binary("and", distance, inverted(b, width)))
    valid = b.compare("icmp sge" if mode == "up" else "icmp sle", source, top)
    source = b.binary("and", b.select(valid, source, _LANE), const(31, source))
    b.effect(f"store {value}, ptr %xs, align 8")
    b.effect(f"store {source}, ptr %ys, align 8")
    function = a.function(("take", TAKE))
    b.effect(f"call void {function}(ptr %data, ptr %xs, ptr %ys)")
    return b.emit(f"load {_WORDS}, ptr %data, align 8", _WORDS), valid


TAKE = """define void @take(ptr %to, ptr %from, ptr %places) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %place.p = getelementptr i32, ptr %places, i64 %i
  %place = load i32, ptr %place.p
  %place64 = zext i32 %place to i64
  %from.p = getelementptr i32, ptr %from, i64 %place64
  %value = load i32, ptr %from.p
  %to.p = getelementptr i32, ptr %to, i64 %i
  store i32 %value, ptr %to.p
  %j = add i64 %i, 1
  %end = icmp eq i64 %j, 32
  br i1 %end, label %done, label %next
done:
  ret void
}
"""


def vote(a: Accesses, r: Registers, step: Step) -> tuple[Register, ...]:
    b = a.b
    mode, flags = step.form["mode"], r.spread(r.read(step.sources[0]))
    active = r.active(step)
    holds = r.bits(b.binary("and", flags, active))
    if mode == "ballot":
        return (holds,)
    every = b.compare("icmp eq", holds, r.bits(active))
    some = b.compare("icmp ne", holds, const(0, holds))
    return ({"any": some, "all": every}.get(mode) or b.binary("or", every, inverted(b, some)),)


def match(a: Accesses, r: Registers, step: Step) -> tuple[Register, ...]:
    b = a.b
    value, active = r.spread(r.read(step.sources[0])), r.active(step)
    masks = Register("zeroinitializer", _WORDS)
    for lane in range(LANES):
        one = b.emit(f"extractelement {value}, i64 {lane}", value.element)
        same = r.bits(b.binary("and", b.compare("icmp eq", value, b.splat(one, LANES)), active))
        masks = b.emit(f"insertelement {masks}, {same}, i64 {lane}", _WORDS)
    if step.form["mode"] != "all":
        return masks, b.compare("icmp ne", masks, const(0, masks))
    whole = b.compare("icmp eq", masks, b.splat(r.bits(active), LANES))
    agreed = r.bits(b.binary("or", whole, inverted(b, active)))
    every = b.compare("icmp eq", agreed, const(-1, agreed))
    total = b.select(every, r.bits(active), Register("0", "i32"))
    return total, every


def reduce(a: Accesses, r: Registers, step: Step) -> tuple[Register, ...]:
    b = a.b
    form, value = step.form, r.spread(r.read(step.sources[0]))
    word, signed = form["op"], form.type.kind == "signed"
    if form.type.kind == "float":
        raise Unsupported(form.opcode)
    least, most = (1 << 31, (1 << 31) - 1) if signed else (0, (1 << 32) - 1)
    neutral = {"and": -1, "min": most, "max": least}.get(word, 0)
    chosen = b.select(r.active(step), value, const(neutral, value))
    name = ("s" if signed else "u") + word if word in ("min", "max") else word
    return (b.intrinsic(f"llvm.vector.reduce.{name}", chosen, type="i32"),)


def elect(a: Accesses, r: Registers, step: Step) -> tuple[Register, ...]:
    b = a.b
    leader = b.call("llvm.cttz.i32", (r.active_bits(step), Register("false", "i1")), "i32")
    return leader, b.compare("icmp eq", _LANE, b.splat(leader, LANES))


def active_lanes(a: Accesses, r: Registers, step: Step) -> tuple[Register, ...]:
    return (r.active_bits(step),)


def transpose(a: Accesses, r: Registers, step: Step) -> tuple[Register, ...]:
    """``movmatrix``: lane l holds columns 2 (l % 4) and the next of row l // 4."""
    b = a.b
    value, halves = r.spread(r.read(step.sources[0])), vector("i16", 64)
    places = ", ".join(f"i32 {(n % 8) * 8 + n // 8}" for n in range(64))
    parts = b.emit(f"bitcast {value} to {halves}", halves)
    turned = b.emit(f"shufflevector {halves} {parts.text}, {halves} poison, <64 x i32> <{places}>", halves)
    return (b.emit(f"bitcast {turned} to {_WORDS}", _WORDS),)


EXCHANGES: dict[str, Callable[[Accesses, Registers, Step], tuple[Register, ...]]] = {
    "shfl": shuffle,
    "vote": vote,
    "match": match,
    "redux": reduce,
    "elect": elect,
    "activemask": active_lanes,
    "movmatrix": transpose,
}
