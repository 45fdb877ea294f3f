"""Registers of one warp in machine code: where they live, how operands are read and results written. No opcodes."""

from __future__ import annotations

from tinyton_lab.llvm.text import Builder, Register, vector
from tinyton_lab.sim.fast.context import LANES
from tinyton_lab.sim.fast.cutting import Node
from tinyton_lab.sim.fast.emission import as_bits, as_float, canonical, const, inverted, resize, width
from tinyton_lab.sim.fast.plan import Plan
from tinyton_lab.sim.fast.steps import Source, Step, Target

MASK = vector("i1", LANES)


class Registers:
    """Mutable: the registers of a warp as stack slots (which LLVM turns into values), and the mask of running lanes.

    `lazy` registers hold float results whose NaN become canonical only when they are read as bits.
    """

    def __init__(self, b: Builder, plan: Plan) -> None:
        self.b, self.plan = b, plan
        self.types = plan.types
        self.lazy = plan.lazy
        self.node: Node = plan.nodes[0]
        self.mask = Register("", MASK)

    def type_of(self, register: int) -> str:
        bits = self.types[register].bits
        return vector(f"i{bits}", 0 if register in self.plan.uniform else LANES)

    def load(self, register: int) -> Register:
        """The register's bits as they stand."""
        type_ = self.type_of(register)
        return self.b.emit(f"load {type_}, ptr %r{register}", type_)

    def store(self, register: int, value: Register) -> None:
        self.b.effect(f"store {value}, ptr %r{register}")

    # Operands.
    def read(self, source: Source, raw: bool = False) -> Register:
        """An operand as an integer of its type's width, scalar where it is one for all lanes.

        `raw` leaves NaN of float results as they are: the reader computes with floats of that type.
        """
        b, bits = self.b, source.type.bits
        if source.parts:
            return self.packed(source)
        if source.register < 0:
            return const(source.bits, Register("", f"i{bits}"))
        value = self.load(source.register)
        if source.register in self.lazy and not raw:
            value = canonical(b, as_float(b, value))
        value = resize(b, value, bits)
        return inverted(b, value) if source.inverted else value

    def packed(self, source: Source) -> Register:
        """``{a, b}``: the first item is the low part."""
        parts = [self.read(part) for part in source.parts]
        spread = any(part.lanes for part in parts)
        total: Register | None = None
        for place, part in enumerate(parts):
            part = self.spread(part) if spread else part
            wide = resize(self.b, part, source.type.bits)
            if place:
                wide = self.b.binary("shl", wide, const(place * source.parts[0].type.bits, wide))
            total = wide if total is None else self.b.binary("or", total, wide)
        if total is None:
            raise RuntimeError("fast engine: nothing to pack")
        return total

    def spread(self, value: Register) -> Register:
        """The same value in every lane."""
        return value if value.lanes else self.b.splat(value, LANES)

    def operands(self, step: Step) -> list[Register]:
        """All sources of a computing step, of one shape: scalars if all are, with constants left for emitters."""
        signs = step.form.row.mnemonic == "copysign" or step.form.has("xorsign")  # which a NaN has, too
        values = [self.read(source, self.computes(source) and not signs) for source in step.sources]
        if any(value.lanes for value in values):
            values = [self.spread(value) for value in values]
        return values

    @staticmethod
    def computes(source: Source) -> bool:
        return source.type.name in ("f16", "f32")

    # Results.
    def write(self, step: Step, target: Target | None, value: Register) -> None:
        """Give a register a new value in the running lanes that the guard admits."""
        if target is None:
            return
        b, register = self.b, target.register
        if value.element in ("half", "float", "double"):
            value = as_bits(b, value) if register in self.lazy else canonical(b, value)
        if width(value) > target.type.bits:
            value = resize(b, value, target.type.bits)
        value = resize(b, value, self.types[register].bits, target.type.kind == "signed")
        if register not in self.plan.uniform:
            value = self.spread(value)
        chosen = self.chosen(step, register)
        if chosen is not None:
            value = b.select(chosen, value, self.load(register))
        self.store(register, value)

    def chosen(self, step: Step, register: int) -> Register | None:
        """Which lanes take a new value: None for all that matter."""
        guard = self.read(step.guard) if step.guard is not None else None
        if register in self.plan.uniform:
            return guard
        if guard is not None:
            guard = self.spread(guard)
        if register not in self.node.blended:
            return guard
        return self.mask if guard is None else self.b.binary("and", self.mask, guard)

    def active(self, step: Step) -> Register:
        """The lanes that execute a step."""
        if step.guard is None:
            return self.mask
        return self.b.binary("and", self.mask, self.spread(self.read(step.guard)))

    def active_bits(self, step: Step) -> Register:
        """The lanes that execute a step, as 32 bits."""
        return self.bits(self.active(step))

    def bits(self, flags: Register) -> Register:
        return self.b.emit(f"bitcast {flags} to i32", "i32")
