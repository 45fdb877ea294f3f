"""Structured control flow as LLVM blocks; carried tiles are one phi per register. All threads take the same way."""

from __future__ import annotations

from collections.abc import Sequence

from tinyton_lab.codegen.gpu.arithmetic import element_dtype
from tinyton_lab.codegen.gpu.state import State, register_count
from tinyton_lab.ir.core import Op, Value
from tinyton_lab.llvm.text import Register

Open = list[tuple[Register, int]]


def lower_for(state: State, op: Op) -> None:
    """A counted loop, tested at its end, right up to the ends of the index's type."""
    b, (body,) = state.builder, op.blocks
    lower, upper, step = (state.scalar(value) for value in op.operands[:3])
    signed = element_dtype(op.operands[0]).signed
    starts = _registers(state, op.operands[3:])
    before, turn, after = b.current_label, b.label("loop"), b.label("after")
    b.branch_if(_enters(state, lower, upper, step, signed), turn, after)
    b.place(turn)
    (index, *phis) = _open(state, [lower, *starts], before)
    state.values[body.args[0]] = [index[0]]
    _bind(state, body.args[1:], [register for register, _ in phis])
    passed = state.run(body)
    b.uid = op.uid
    following = b.binary("add", index[0], step)
    if signed and _counts_up(lower, step):
        goes_on = b.compare("icmp ult", following, upper)
    else:
        goes_on = _goes_on(state, index[0], upper, step, signed)
    end = b.current_label
    b.branch_if(goes_on, turn, after)
    _close(state, [index, *phis], [following, *passed], end)
    b.place(after)
    ends = zip(starts, passed, strict=True)
    _bind(state, op.results, [b.phi(x.type, [(x, before), (y, end)]) for x, y in ends])


def _enters(state: State, lower: Register, upper: Register, step: Register, signed: bool) -> Register:
    b, s, zero = state.builder, "s" if signed else "u", Register("0", step.type)
    up, down = (b.compare(f"icmp {s}{way}", lower, upper) for way in ("lt", "gt"))
    if not signed:
        return b.binary("and", up, b.compare("icmp ne", step, zero))
    if not step.text.startswith("%"):
        return up if int(step.text) > 0 else down if int(step.text) < 0 else Register("false", "i1")
    falling = b.binary("and", down, b.compare("icmp slt", step, zero))
    return b.select(b.compare("icmp sgt", step, zero), up, falling)


def _counts_up(lower: Register, step: Register) -> bool:
    """Whether the loop surely starts at 0 or above and rises: past the upper bound no unsigned step then wraps."""
    known = not lower.text.startswith("%") and not step.text.startswith("%")
    return known and int(lower.text) >= 0 and int(step.text) > 0


def _goes_on(state: State, index: Register, upper: Register, step: Register, signed: bool) -> Register:
    """Whether more than a step is left to the upper bound, as an unsigned difference."""
    b, zero = state.builder, Register("0", step.type)
    left = b.binary("sub", upper, index)
    rising = b.compare("icmp ugt", left, step)
    if not signed or (not step.text.startswith("%") and int(step.text) > 0):
        return rising
    falling = b.compare("icmp ugt", b.binary("sub", index, upper), b.binary("sub", zero, step))
    return b.select(b.compare("icmp sgt", step, zero), rising, falling)


def lower_while(state: State, op: Op) -> None:
    b, (before, body) = state.builder, op.blocks
    entry, head, turn, after = b.current_label, b.label("while"), b.label("turn"), b.label("after")
    b.branch(head)
    b.place(head)
    phis = _open(state, _registers(state, op.operands), entry)
    _bind(state, before.args, [register for register, _ in phis])
    test, *passed = state.run(before)
    b.uid = op.uid
    b.branch_if(test, turn, after)
    b.place(turn)
    _bind(state, body.args, passed)
    following = state.run(body)
    b.uid = op.uid
    b.branch(head)
    _close(state, phis, following, b.current_label)
    b.place(after)
    _bind(state, op.results, passed)


def lower_if(state: State, op: Op) -> None:
    b = state.builder
    labels, after = (b.label("then"), b.label("else")), b.label("after")
    b.branch_if(state.scalar(op.operands[0]), *labels)
    ends: list[tuple[list[Register], str]] = []
    for label, block in zip(labels, op.blocks, strict=True):
        b.place(label)
        passed = state.run(block)
        b.uid = op.uid
        ends.append((passed, b.current_label))
        b.branch(after)
    b.place(after)
    (yes, then), (no, otherwise) = ends
    _bind(state, op.results, [b.phi(x.type, [(x, then), (y, otherwise)]) for x, y in zip(yes, no, strict=True)])


def _registers(state: State, values: Sequence[Value | None]) -> list[Register]:
    return [register for value in values for register in state.get(value)]


def _bind(state: State, values: Sequence[Value], registers: Sequence[Register]) -> None:
    """Share out registers among values, each as many as its layout needs."""
    at = 0
    for value in values:
        count = register_count(value.type)
        state.values[value] = list(registers[at : at + count])
        at += count


def _open(state: State, starts: Sequence[Register], label: str) -> Open:
    return [state.builder.open_phi(start.type, start, label) for start in starts]


def _close(state: State, phis: Open, following: Sequence[Register], label: str) -> None:
    for (_, line), register in zip(phis, following, strict=True):
        state.builder.close_phi(line, register, label)
