"""Emission of loads, stores, atomics and copies: addresses and masks go to the functions of `memory`. No registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tinyton_lab.llvm.text import Builder, Register, vector
from tinyton_lab.sim import memory as windows
from tinyton_lab.sim.fast import memory
from tinyton_lab.sim.fast.context import LANES, Slot, Space
from tinyton_lab.sim.fast.emission import Unsupported, const, resize
from tinyton_lab.sim.fast.registers import Registers
from tinyton_lab.sim.fast.steps import Place, Step
from tinyton_lab.sim.transfers import space_of

_SPACES = {
    "global": Space.GLOBAL,
    "generic": Space.GENERIC,
    "shared": Space.SHARED,
    "local": Space.LOCAL,
    "param": Space.PARAM,
}
# A local address out of range goes where no thread's row is.
BEYOND = 1 << 40


@dataclass(frozen=True, slots=True)
class Spot:
    """Where machine code may fault: what the trace engine calls the same access."""

    line: int
    size: int
    action: str
    space: str


class Accesses:
    """Mutable: emits accesses of one program, and collects the functions and fault spots they need."""

    def __init__(self, b: Builder, registers: Registers) -> None:
        self.b, self.registers = b, registers
        self.functions: dict[str, str] = {}
        self.constants: dict[str, str] = {}
        self.spots: list[Spot] = []

    def spot(self, step: Step, size: int, action: str, space: str) -> int:
        self.spots.append(Spot(step.instruction.line, size, action, space))
        return len(self.spots) - 1

    def function(self, made: tuple[str, str]) -> str:
        """A function that programs share, from its name and definition: its address stands in the context."""
        self.functions.setdefault(*made)
        place = Slot.FUNCTIONS + list(self.functions).index(made[0])
        if place >= Slot.END:
            raise Unsupported("so many kinds of access")
        at = self.b.emit(f"getelementptr i64, ptr %ctx, i64 {place}", "ptr")
        return self.b.emit(f"load ptr, ptr {at.text}", "ptr").text

    def fail_if(self, bad: Register) -> None:
        """Leave the warp when an access reported a fault."""
        go = self.b.label("go")
        self.b.branch_if(bad, "give.up", go)
        self.b.place(go)

    def slot(self, name: int) -> Register:
        """A context slot."""
        at = self.b.emit(f"getelementptr i64, ptr %ctx, i64 {int(name)}", "ptr")
        return self.b.emit(f"load i64, ptr {at.text}", "i64")

    # Addresses.
    def address(self, place: Place, size: int) -> Register:
        """64-bit addresses, one for all lanes or one each."""
        b, base = self.b, self.registers.read(place.base)
        if place.offset:
            base = b.binary("add", base, const(place.offset, base))
        wide = resize(b, base, 64)
        return self.flat(wide, size) if place.space == "local" else wide

    def flat(self, offset: Register, size: int) -> Register:
        """Offsets into each thread's local memory as offsets into that of all threads."""
        b = self.b
        offset = self.registers.spread(offset)
        last = b.binary("add", offset, const(size, offset))
        limit = b.splat(self.slot(Slot.LOCAL_LIMIT), LANES)
        over = b.binary("or", b.compare("icmp ugt", last, limit), b.compare("icmp ult", last, offset))
        width = b.splat(self.slot(Slot.LOCAL_WIDTH), LANES)
        rows = b.binary("mul", Register("%threads", vector("i64", LANES)), width)
        far = b.binary("or", b.binary("and", offset, const(BEYOND - 1, offset)), const(BEYOND, offset))
        return b.select(over, far, b.binary("add", rows, offset))

    # Whole warps.
    def warp(
        self, made: tuple[str, str], place: Place, spot: int, address: Register, mask: Register, more: str = ""
    ) -> None:
        """Call a function of `memory` for all lanes of a mask (32 bits)."""
        b = self.b
        b.effect(f"store {self.registers.spread(address)}, ptr %addresses, align 8")
        name, space = self.function(made), int(_SPACES[place.space])
        text = f"ptr %ctx, i32 {space}, i32 {spot}, i32 %thread, ptr %addresses, {mask}, ptr %data{more}"
        bad = b.emit(f"call i32 {name}({text})", "i32")
        self.fail_if(b.compare("icmp ne", bad, const(0, bad)))

    def element(self, bits: int, number: int) -> Register:
        """Element `number` of each lane's access, as the last one left it."""
        type_ = vector(f"i{bits}", LANES)
        at = self.b.emit(f"getelementptr i{bits}, ptr %data, i64 {LANES * number}", "ptr")
        return self.b.emit(f"load {type_}, ptr {at.text}, align 1", type_)

    def put_element(self, number: int, value: Register, to: str = "%data") -> None:
        at = self.b.emit(f"getelementptr {value.element}, ptr {to}, i64 {LANES * number}", "ptr")
        self.b.effect(f"store {value}, ptr {at.text}, align 1")

    def fetch(self, step: Step, place: Place, bits: int, count: int, mask: Register) -> list[Register]:
        """Load elements in the lanes of `mask` (32 bits); other lanes get anything."""
        size = bits * count // 8
        spot = self.spot(step, size, "load", place.space)
        self.warp(memory.access(bits, count, True), place, spot, self.address(place, size), mask)
        return [self.element(bits, k) for k in range(count)]

    def put(self, step: Step, place: Place, values: Sequence[Register], mask: Register) -> None:
        bits, size = int(values[0].element[1:]), int(values[0].element[1:]) * len(values) // 8
        for k, value in enumerate(values):
            self.put_element(k, self.registers.spread(value))
        spot = self.spot(step, size, "store", place.space)
        self.warp(memory.access(bits, len(values), False), place, spot, self.address(place, size), mask)

    # Instructions.
    def load(self, step: Step) -> None:
        place, type_, count = step.places[0], step.form.type, len(step.targets)
        if type_.bits not in (8, 16, 32, 64) or type_.bits * count > 128:
            raise Unsupported(step.form.opcode)
        if place.space == "param" and place.base.register < 0:
            values = self.parameters(place, type_.bits, count)
        elif self.alone(step):
            self.single(step, place, type_.bits, count)
            return
        else:
            values = self.fetch(step, place, type_.bits, count, self.registers.active_bits(step))
        for target, value in zip(step.targets, values):
            self.registers.write(step, target, value)

    def alone(self, step: Step) -> bool:
        """Whether all destinations are one value for the warp, so that one access serves it."""
        uniform = self.registers.plan.uniform
        return all(target is not None and target.register in uniform for target in step.targets)

    def parameters(self, place: Place, bits: int, count: int) -> list[Register]:
        """The launch's parameters at a fixed offset."""
        b, table = self.b, self.slot(Slot.PARAMETERS + 2)
        base = b.emit(f"inttoptr {table} to ptr", "ptr")
        values: list[Register] = []
        for k in range(count):
            offset = place.base.bits + place.offset + k * bits // 8
            at = b.emit(f"getelementptr i8, ptr {base.text}, i64 {offset}", "ptr")
            values.append(b.emit(f"load i{bits}, ptr {at.text}, align 1", f"i{bits}"))
        return values

    def single(self, step: Step, place: Place, bits: int, count: int) -> None:
        b, end = self.b, ""
        if step.guard is not None:
            then, end = b.label("then"), b.label("end")
            b.branch_if(self.registers.read(step.guard), then, end)
            b.place(then)
        size = bits * count // 8
        spot, name = self.spot(step, size, "load", place.space), self.function(memory.single(bits, count))
        address = self.address(place, size)
        text = f"ptr %ctx, i32 {int(_SPACES[place.space])}, i32 {spot}, i32 %thread, {address}, ptr %data"
        bad = b.emit(f"call i32 {name}({text})", "i32")
        self.fail_if(b.compare("icmp ne", bad, const(0, bad)))
        for k, target in enumerate(step.targets):
            at = b.emit(f"getelementptr i{bits}, ptr %data, i64 {k}", "ptr")
            self.registers.write(step, target, b.emit(f"load i{bits}, ptr {at.text}, align 1", f"i{bits}"))
        if end:
            b.branch(end)
            b.place(end)

    def store(self, step: Step) -> None:
        type_ = step.form.type
        if type_.bits not in (8, 16, 32, 64) or type_.bits * len(step.sources) > 128:
            raise Unsupported(step.form.opcode)
        values = [self.registers.read(source) for source in step.sources]
        self.put(step, step.places[0], values, self.registers.active_bits(step))

    def atomic(self, step: Step) -> None:
        form, place = step.form, step.places[0]
        op, type_ = form["op"], form.type
        real = type_.kind == "float"
        half = type_.name in memory.HALVES
        if type_.bits not in (16, 32, 64) or (half or real) and op not in ("add", "exch"):
            raise Unsupported(form.opcode)
        kind = "signed" if type_.kind == "signed" else "bits"
        if (half or real) and op == "add":
            kind = type_.name if half else "float"
        values = [self.registers.spread(self.registers.read(source)) for source in step.sources]
        for name, value in zip(("%xs", "%ys"), values):
            self.put_element(0, value, name)
        size = type_.bytes
        spot = self.spot(step, size, "atomic", place.space)
        mask = self.registers.active_bits(step)
        made = memory.atomic(op, kind, type_.bits)
        self.warp(made, place, spot, self.address(place, size), mask, ", ptr %xs, ptr %ys")
        for target in step.targets:
            self.registers.write(step, target, self.element(type_.bits, 0))

    # Addresses as values.
    def convert_address(self, step: Step) -> None:
        """``cvta``: windows are ranges of generic addresses."""
        value, target = self.registers.operands(step)[0], step.targets[0]
        base = windows.WINDOWS.get(space_of(step.form), 0)
        shift = const(-base if step.form.has("to") else base, value)
        self.registers.write(step, target, self.b.binary("add", value, shift))

    def test_address(self, step: Step) -> None:
        value = self.registers.operands(step)[0]
        high = self.b.binary("lshr", value, const(48, value))
        wanted = windows.WINDOWS.get(space_of(step.form), 0) >> 48
        self.registers.write(step, step.targets[0], self.b.compare("icmp eq", high, const(wanted, high)))

    def stack(self, step: Step) -> None:
        """Copy the stack pointer; ``alloca`` moves it on by a multiple of 16 bytes."""
        b, r = self.b, self.registers
        value, *size = [r.spread(resize(b, r.read(source), 64)) for source in step.sources]
        r.write(step, step.targets[0], resize(b, value, 64 if step.effect == "stack_restore" else step.form.type.bits))
        if size:
            whole = b.binary("and", b.binary("add", size[0], const(15, value)), const(-16, value))
            r.write(step, step.targets[1], b.binary("add", value, whole))

    # Copies.
    def copy(self, step: Step) -> None:
        """``cp.async``: bytes beyond the source size become zeros."""
        bits, count = 32, step.sources[0].bits // 4
        target, origin = step.places
        mask = self.registers.active_bits(step)
        more = step.sources[1:] if not step.form.has("hint") else step.sources[1:-1]
        if more:
            values = self.partly(step, origin, self.registers.spread(self.registers.read(more[0])), count, mask)
        else:
            values = self.fetch(step, origin, bits, count, mask)
        self.put(step, target, values, mask)

    def partly(self, step: Step, origin: Place, have: Register, count: int, mask: Register) -> list[Register]:
        """The first `have` bytes at each lane's address, then zeros."""
        self.put_element(0, have, "%xs")
        size = count * 4
        spot = self.spot(step, size, "load", origin.space)
        self.spot(step, 1, "load", origin.space)
        self.warp(memory.partial(size), origin, spot, self.address(origin, size), mask, ", ptr %xs")
        return [self.element(32, k) for k in range(count)]
