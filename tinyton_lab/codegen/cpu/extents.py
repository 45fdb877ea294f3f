"""Checks of accesses against the arrays they may touch, and the fault they end in. Knows addresses, no tiles."""

from __future__ import annotations

from collections.abc import Mapping

from tinyton_lab.codegen.cpu.code import Code
from tinyton_lab.codegen.cpu.values import Values
from tinyton_lab.ir.core import Op, Value
from tinyton_lab.llvm.text import Register
from tinyton_lab.runtime import frame

_ZERO = Register("0", "i64")
_JOB, _THREAD = Register("%job", "ptr"), Register("%thread", "ptr")
_POINTERS = (_JOB, _THREAD)


class Extents:
    """Writes checks. The common case (one array, gapless, in range) is a few instructions; all else calls support code.

    The first array a pointer may come from is tried inline; support code looks at all of them and at a view's gaps.
    """

    def __init__(self, values: Values) -> None:
        self.values, self.code = values, values.code
        self.tables: dict[tuple[int, ...], str] = {}
        self._fast: dict[int, tuple[Register, Register]] = {}
        self._room: dict[tuple[int, int], Register] = {}

    def candidates(self, pointer: Value) -> tuple[int, ...]:
        """The parameters a pointer may come from, in order."""
        roots = self.values.roots.get(pointer)
        return tuple(sorted(self.values.pointers if roots is None else roots))

    def fast(self, parameter: int) -> tuple[Register, Register]:
        """First byte of an array and the bytes that are surely its own: none for a view with gaps."""
        if parameter not in self._fast:
            slot = self.values.pointers[parameter] + frame.ARGUMENTS
            first, limit, view = (self.code.job_slot(slot + k) for k in (frame.FIRST, frame.LIMIT, frame.VIEW))
            with self.code.hoisted():
                gapless = self.code.compare("icmp eq", view, _ZERO)
                self._fast[parameter] = first, self.code.select(gapless, limit, _ZERO)
        return self._fast[parameter]

    def room(self, parameter: int, size: int) -> tuple[Register, Register]:
        """First byte, and how many offsets from there hold a whole element of `size` bytes."""
        first, limit = self.fast(parameter)
        if (parameter, size) not in self._room:
            with self.code.hoisted():
                above = self.code.add(limit, self.code.i64(1))
                self._room[parameter, size] = self.code.intrinsic("llvm.usub.sat", above, self.code.i64(size))
        return first, self._room[parameter, size]

    def check_run(self, op: Op, start: Register, count: Register, size: int) -> None:
        """Check `count` elements in a row from address `start` on."""
        b = self.code
        candidates = self._candidates_of(op)
        length = b.i64(int(count.text) * size) if not count.text.startswith("%") else _times(b, count, size)
        table, many = self._table(candidates)
        arguments = (*_POINTERS, table, many, start, length, b.i64(size))
        if not candidates:
            self._unless(op, b.compare("icmp sle", count, _ZERO), "check.run", arguments)
            return
        first, limit = self.fast(candidates[0])
        relative = b.binary("sub", start, first)
        fits = b.compare("icmp ule", relative, limit)
        enough = b.compare("icmp ule", length, b.binary("sub", limit, relative))
        good = b.binary("and", fits, enough)
        if count.text.startswith("%"):
            good = b.binary("or", good, b.compare("icmp sle", count, _ZERO))
        self._unless(op, good, "check.run", arguments)

    def check_lanes(self, op: Op, addresses: Register, mask: Register | None, size: int) -> None:
        """Check one element per lane (or one element, for a scalar address) where the mask holds."""
        b = self.code
        candidates = self._candidates_of(op)
        lanes = addresses.lanes
        if candidates:
            first, room = self.room(candidates[0], size)
            relative = b.binary("sub", addresses, b.lanes_of(first, lanes) if lanes else first)
            bad = b.compare("icmp uge", relative, b.lanes_of(room, lanes) if lanes else room)
        else:
            bad = Register("splat (i1 true)" if lanes else "true", f"<{lanes} x i1>" if lanes else "i1")
        if mask is not None:
            bad = b.binary("and", bad, mask)
        if not lanes:
            good = b.binary("xor", bad, Register("true", "i1"))
            table, many = self._table(candidates)
            arguments = (*_POINTERS, table, many, addresses, b.i64(size), b.i64(size))
            self._unless(op, good, "check.run", arguments)
            return
        bits = b.emit(f"bitcast {bad} to i{lanes}", f"i{lanes}")
        good = b.compare("icmp eq", bits, Register("0", bits.type))
        self._lanes_slowly(op, good, addresses, bits, size, candidates)

    def _lanes_slowly(
        self, op: Op, good: Register, addresses: Register, bits: Register, size: int, candidates: tuple[int, ...]
    ) -> None:
        b = self.code
        table, many = self._table(candidates)
        cold, after = b.label("cold"), b.label("checked")
        b.branch_if(good, after, cold)
        b.place(cold)
        spill = b.variable(addresses)
        wide = bits if addresses.lanes == 64 else b.convert("zext", bits, "i64")
        arguments = (*_POINTERS, table, many, spill, wide, b.i64(size))
        self._report(op, b.call("check.lanes", arguments, "i1"), candidates, after)
        b.place(after)

    def _unless(self, op: Op, good: Register, function: str, arguments: tuple[Register, ...]) -> None:
        b = self.code
        cold, after = b.label("cold"), b.label("checked")
        b.branch_if(good, after, cold)
        b.place(cold)
        self._report(op, b.call(function, arguments, "i1"), self._candidates_of(op), after)
        b.place(after)

    def _report(self, op: Op, fine: Register, candidates: tuple[int, ...], after: str) -> None:
        """End the launch with a fault, whose address support code has noted, unless all is fine."""
        b = self.code
        report = b.label("report")
        b.branch_if(fine, after, report)
        b.place(report)
        self._note(frame.FAULT_OP, b.i64(op.uid))
        self._note(frame.FAULT_ARGUMENT, b.i64(candidates[0] if candidates else -1))
        b.branch("fault")

    def fail_unless(self, op: Op, good: Register, notes: Mapping[int, Register] | None = None) -> None:
        """End the launch with the fault of an op unless a condition holds; `notes` go to slots of the frame."""
        b = self.code
        report, after = b.label("report"), b.label("checked")
        b.branch_if(good, after, report)
        b.place(report)
        for slot, value in {frame.FAULT_OP: b.i64(op.uid), **(notes or {})}.items():
            self._note(slot, value)
        b.branch("fault")
        b.place(after)

    def _note(self, slot: int, value: Register) -> None:
        self.code.store(value, self.code.offset(_THREAD, slot * frame.SLOT_BYTES))

    def _candidates_of(self, op: Op) -> tuple[int, ...]:
        pointer = op.operand("pointer")
        return () if pointer is None else self.candidates(pointer)

    def _table(self, candidates: tuple[int, ...]) -> tuple[Register, Register]:
        """A constant list of the frame slots of some parameters, and its length."""
        if candidates not in self.tables:
            self.tables[candidates] = f"@extents.{len(self.tables)}"
        return Register(self.tables[candidates], "ptr"), self.code.i64(len(candidates))

    def globals(self) -> list[str]:
        """The lists that checks refer to."""
        found: list[str] = []
        for candidates, name in self.tables.items():
            slots = [self.values.pointers[parameter] + frame.ARGUMENTS for parameter in candidates]
            numbers = ", ".join(f"i64 {slot}" for slot in slots)
            found.append(f"{name} = private constant [{len(slots)} x i64] {f'[{numbers}]' if slots else '[]'}")
        return found


def _times(b: Code, x: Register, factor: int) -> Register:
    return x if factor == 1 else b.binary("mul", x, b.i64(factor))


def support() -> str:
    """Functions that look at every candidate array and at the gaps of views; called only when the quick test fails."""
    return _SUPPORT


_COLD = "noinline optnone cold nounwind"
_SUPPORT = f"""
define internal i64 @extent.span(ptr %job, i64 %slot, i64 %address) {_COLD} {{
  %at = getelementptr i64, ptr %job, i64 %slot
  %first.at = getelementptr i64, ptr %at, i64 {frame.FIRST}
  %limit.at = getelementptr i64, ptr %at, i64 {frame.LIMIT}
  %view.at = getelementptr i64, ptr %at, i64 {frame.VIEW}
  %first = load i64, ptr %first.at
  %limit = load i64, ptr %limit.at
  %view = load ptr, ptr %view.at
  %offset = sub i64 %address, %first
  %inside = icmp ult i64 %offset, %limit
  br i1 %inside, label %within, label %none
within:
  %gapless = icmp eq ptr %view, null
  br i1 %gapless, label %plain, label %levels
plain:
  %rest = sub i64 %limit, %offset
  ret i64 %rest
levels:
  %run = load i64, ptr %view
  %many.at = getelementptr i64, ptr %view, i64 1
  %many = load i64, ptr %many.at
  %stop = shl i64 %many, 1
  br label %level
level:
  %k = phi i64 [ 0, %levels ], [ %k.next, %take ]
  %left = phi i64 [ %offset, %levels ], [ %left.next, %take ]
  %more = icmp ult i64 %k, %stop
  br i1 %more, label %take, label %end
take:
  %stride.index = add i64 %k, 2
  %count.index = add i64 %k, 3
  %stride.at = getelementptr i64, ptr %view, i64 %stride.index
  %count.at = getelementptr i64, ptr %view, i64 %count.index
  %stride = load i64, ptr %stride.at
  %count = load i64, ptr %count.at
  %quotient = udiv i64 %left, %stride
  %last = sub i64 %count, 1
  %clamped = call i64 @llvm.umin.i64(i64 %quotient, i64 %last)
  %taken = mul i64 %clamped, %stride
  %left.next = sub i64 %left, %taken
  %k.next = add i64 %k, 2
  br label %level
end:
  %in.run = icmp ult i64 %left, %run
  br i1 %in.run, label %covered, label %none
covered:
  %available = sub i64 %run, %left
  ret i64 %available
none:
  ret i64 0
}}

define internal i64 @extent.best(ptr %job, ptr %table, i64 %many, i64 %address) {_COLD} {{
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %k.next, %body ]
  %best = phi i64 [ 0, %entry ], [ %better, %body ]
  %more = icmp ult i64 %k, %many
  br i1 %more, label %body, label %end
body:
  %slot.at = getelementptr i64, ptr %table, i64 %k
  %slot = load i64, ptr %slot.at
  %span = call i64 @extent.span(ptr %job, i64 %slot, i64 %address)
  %better = call i64 @llvm.umax.i64(i64 %span, i64 %best)
  %k.next = add i64 %k, 1
  br label %head
end:
  ret i64 %best
}}

define internal i1 @check.run(ptr %job, ptr %thread, ptr %table, i64 %many,
    i64 %start, i64 %bytes, i64 %size) {_COLD} {{
entry:
  %positive = icmp sgt i64 %bytes, 0
  br i1 %positive, label %head, label %good
head:
  %address = phi i64 [ %start, %entry ], [ %next, %body ]
  %left = phi i64 [ %bytes, %entry ], [ %left.next, %body ]
  %span = call i64 @extent.best(ptr %job, ptr %table, i64 %many, i64 %address)
  %bad = icmp ult i64 %span, %size
  br i1 %bad, label %found, label %body
body:
  %odd = urem i64 %span, %size
  %whole = sub i64 %span, %odd
  %step = call i64 @llvm.umin.i64(i64 %whole, i64 %left)
  %next = add i64 %address, %step
  %left.next = sub i64 %left, %step
  %more = icmp ne i64 %left.next, 0
  br i1 %more, label %head, label %good
found:
  %blame = getelementptr i64, ptr %thread, i64 {frame.FAULT_ADDRESS}
  store i64 %address, ptr %blame
  ret i1 false
good:
  ret i1 true
}}

define internal i1 @check.lanes(ptr %job, ptr %thread, ptr %table, i64 %many,
    ptr %addresses, i64 %mask, i64 %size) {_COLD} {{
entry:
  br label %head
head:
  %bits = phi i64 [ %mask, %entry ], [ %bits.next, %next ]
  %none = icmp eq i64 %bits, 0
  br i1 %none, label %good, label %body
body:
  %lane = call i64 @llvm.cttz.i64(i64 %bits, i1 true)
  %below = sub i64 %bits, 1
  %bits.next = and i64 %bits, %below
  %at = getelementptr i64, ptr %addresses, i64 %lane
  %address = load i64, ptr %at
  %span = call i64 @extent.best(ptr %job, ptr %table, i64 %many, i64 %address)
  %bad = icmp ult i64 %span, %size
  br i1 %bad, label %found, label %next
next:
  br label %head
found:
  %blame = getelementptr i64, ptr %thread, i64 {frame.FAULT_ADDRESS}
  store i64 %address, ptr %blame
  ret i1 false
good:
  ret i1 true
}}
"""
DECLARATIONS = (
    "declare i64 @llvm.umin.i64(i64, i64)",
    "declare i64 @llvm.umax.i64(i64, i64)",
    "declare i64 @llvm.cttz.i64(i64, i1)",
)
