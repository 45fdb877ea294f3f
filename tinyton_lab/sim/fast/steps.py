"""Instructions of one entry with their operands resolved for code generation. Knows operands, emits nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyton_lab.ptx.cfg import Names
from tinyton_lab.ptx.isa import Form, Role, constant, resolve
from tinyton_lab.ptx.syntax import Address, Immediate, Instruction, Name, Negated, Operand, Pair, Vector
from tinyton_lab.ptx.types import TYPES, PtxType
from tinyton_lab.sim.fast.emission import Unsupported
from tinyton_lab.sim.lowering import CLOCKS, SPECIAL
from tinyton_lab.sim.program import Program, Routine
from tinyton_lab.sim.transfers import space_of


@dataclass(frozen=True, slots=True)
class Source:
    """A value read: of a register (`inverted` for ``!p``), constant `bits`, or `parts` packed from the low end up."""

    type: PtxType
    register: int = -1
    bits: int = 0
    inverted: bool = False
    parts: tuple[Source, ...] = ()

    def registers(self) -> Iterator[int]:
        if self.register >= 0:
            yield self.register
        for part in self.parts:
            yield from part.registers()


@dataclass(frozen=True, slots=True)
class Target:
    """A register written with a value of `type`; a wider register is extended as that type says."""

    register: int
    type: PtxType


@dataclass(frozen=True, slots=True)
class Place:
    """A memory operand: `base` register or constant, plus `offset`, in a state space."""

    space: str
    base: Source
    offset: int


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction, ready to be emitted. `groups` counts the sources that belong to each matrix operand."""

    instruction: Instruction
    form: Form
    sources: tuple[Source, ...] = ()
    targets: tuple[Target | None, ...] = ()
    guard: Source | None = None
    places: tuple[Place, ...] = ()
    groups: tuple[int, ...] = ()

    @property
    def effect(self) -> str:
        return self.form.row.effect

    def reads(self) -> Iterator[int]:
        for source in self.sources:
            yield from source.registers()
        for place in self.places:
            yield from place.base.registers()
        if self.guard is not None:
            yield from self.guard.registers()

    def writes(self) -> Iterator[int]:
        return (target.register for target in self.targets if target is not None)


class Passed:
    """Mutable: registers that stand for the bytes of ``.param`` variables of calls; `types` are those of all registers.

    Each offset is one register: who stores a variable and who reads it must cut it alike.
    """

    def __init__(self, types: list[PtxType]) -> None:
        self.types = types
        self.registers: dict[str, dict[int, int]] = {}

    def register(self, variable: str, offset: int, bits: int) -> int:
        """The register of `bits` bits at a byte offset of a variable. Raises Unsupported where others overlap it."""
        here = self.registers.setdefault(variable, {})
        if offset not in here:
            here[offset] = len(self.types)
            self.types.append(TYPES[f"b{bits}"])
        found = here[offset]
        last = offset + bits // 8
        if self.types[found].bits != bits or any(
            start < last and offset < start + self.types[n].bits // 8 for start, n in here.items() if n != found
        ):
            raise Unsupported("a .param variable that is read in other parts than it was stored in")
        return found


class Reader:
    """Mutable: resolves the operands of one routine. The trace engine's lowering has checked them all before.

    A routine that is called several times is read anew for each call: `instance` numbers them, and `given` names the
    caller's variables behind its parameters and results.
    """

    def __init__(
        self, program: Program, routine: Routine, passed: Passed, instance: int, given: dict[str, str]
    ) -> None:
        self.program, self.routine, self.passed, self.instance, self.given = program, routine, passed, instance, given

    def steps(self, instruction: Instruction, names: Names) -> list[Step]:
        """An instruction as steps: one, but for accesses of what calls pass, which are moves, one for each element."""
        kind, _, modifiers = instruction.opcode.partition(".")
        if kind not in ("ld", "st") or not modifiers.startswith("param"):
            return [self.step(instruction, names)]
        address, items = instruction.operands if kind == "st" else instruction.operands[::-1]
        base = address.base if isinstance(address, Address) else None
        if not isinstance(address, Address) or not isinstance(base, Name) or self.known(names, base.text):
            return [self.step(instruction, names)]
        form, guard = resolve(instruction.opcode), self.guard(instruction, names)
        key, move = self.passed_key(names, base.text), resolve("mov.b64")
        found: list[Step] = []
        for number, item in enumerate(_items(items)):
            offset = address.offset + base.offset + number * form.type.bytes
            slot = self.passed.register(key, offset, form.type.bits)
            if kind == "st":
                source, target = self.source(names, item, TYPES[f"b{form.type.bits}"]), Target(slot, form.type)
                found.append(Step(instruction, move, (source,), (target,), guard))
            else:
                loaded = self.target(names, item, form.type)
                found.append(Step(instruction, move, (Source(TYPES[f"b{form.type.bits}"], slot),), (loaded,), guard))
        return found

    def known(self, names: Names, name: str) -> bool:
        """Whether a name is a parameter of the entry."""
        found = names.lookup(name)
        entry = self.routine.function is self.program.entry
        return found is None or entry and name in self.program.parameter_offsets and found[0].number == 1

    def passed_key(self, names: Names, name: str) -> str:
        """What a ``.param`` variable is known by: the caller's name for a parameter."""
        found = names.lookup(name)
        if found is None or found[1].space != "param" or self.known(names, name):
            raise Unsupported(f"the parameter {name} of a call")
        if name in self.given and found[0].number == self.routine.flat.outer.number:
            return self.given[name]
        return f"{self.instance}:{found[0].number}:{name}"

    def guard(self, instruction: Instruction, names: Names) -> Source | None:
        if not instruction.guard:
            return None
        return Source(TYPES["pred"], self.register(names, instruction.guard), inverted=instruction.negated)

    def step(self, instruction: Instruction, names: Names) -> Step:
        form, guard = resolve(instruction.opcode), self.guard(instruction, names)
        found = _READERS.get(form.row.effect)
        if found is None:
            raise Unsupported(form.opcode)
        return found(self, instruction, form, names, guard)

    # Operands.
    def register(self, names: Names, name: str) -> int:
        found = names.lookup(name)
        if found is None or found[1].space != "reg":
            raise Unsupported(f"operand {name}")
        return self.program.register(self.routine, found[0], found[1], name)

    def is_register(self, names: Names, name: str) -> bool:
        found = names.lookup(name)
        return found is not None and found[1].space == "reg"

    def source(self, names: Names, operand: Operand, type_: PtxType) -> Source:
        match operand:
            case Name(text=text, offset=offset):
                if not offset and self.is_register(names, text):
                    return Source(type_, self.register(names, text))
                return self.named(names, operand, type_)
            case Immediate(value=value):
                return Source(type_, bits=_bits(constant(value, type_), type_))
            case Negated(name=name):
                return Source(type_, self.register(names, name), inverted=True)
            case Vector(items=items):
                part = TYPES[f"b{type_.bits // len(items)}"]
                return Source(type_, parts=tuple(self.source(names, item, part) for item in items))
            case _:
                raise Unsupported(f"operand {operand}")

    def named(self, names: Names, operand: Name, type_: PtxType) -> Source:
        text = operand.text
        if text in SPECIAL:
            return Source(type_, self.program.special(text, TYPES[SPECIAL[text]]))
        if text in CLOCKS:
            raise Unsupported(text)
        if text == "WARP_SZ":
            return Source(type_, bits=32)
        if type_.kind == "pred" and text in ("true", "false"):
            return Source(type_, bits=int(text == "true"))
        found = self.program.symbol(self.routine, names, text)
        if found is None or found[0] == "function":
            raise Unsupported(f"the address of {text}")
        return Source(type_, bits=(found[1] + operand.offset) & ((1 << type_.bits) - 1))

    def target(self, names: Names, operand: Operand, type_: PtxType) -> Target | None:
        if not isinstance(operand, Name):
            raise Unsupported(f"destination {operand}")
        if operand.text == "_":
            return None
        return Target(self.register(names, operand.text), type_)

    def targets(self, names: Names, operand: Operand, form: Form, role: Role) -> list[Target | None]:
        first, _, second = role.type.partition("|")
        type_ = form.type_of(Role("", first)) or TYPES["b32"]
        if isinstance(operand, Pair):
            other = TYPES[second] if second else type_
            return [self.target(names, Name(operand.first), type_), self.target(names, Name(operand.second), other)]
        return [self.target(names, operand, type_)]

    def place(self, names: Names, operand: Operand, space: str) -> Place:
        if not isinstance(operand, Address) or operand.rest:
            raise Unsupported(f"address {operand}")
        base, offset = operand.base, operand.offset
        if isinstance(base, Immediate):
            return Place(space, Source(TYPES["u64"], bits=int(base.value) & (1 << 64) - 1), offset)
        if self.is_register(names, base.text):
            register = self.register(names, base.text)
            width = self.program.register_types[register].bits
            return Place(space, Source(TYPES[f"b{width}"], register), offset + base.offset)
        found = names.lookup(base.text)
        if found is not None and found[1].space == "param" and not self.known(names, base.text):
            raise Unsupported("the address of a .param variable of a call")
        symbol = self.program.symbol(self.routine, names, base.text)
        if symbol is None:
            raise Unsupported(f"address of {base.text}")
        return Place(space, Source(TYPES["u64"], bits=symbol[1] + base.offset), offset)


def _bits(value: Any, type_: PtxType) -> int:
    """A constant's bits as an unsigned number."""
    array = np.asarray(value)
    if type_.kind == "pred":
        return int(bool(array))
    return int(array.reshape(1).view(np.dtype(f"uint{array.dtype.itemsize * 8}"))[0]) & ((1 << type_.bits) - 1)


def _pure(reader: Reader, instruction: Instruction, form: Form, names: Names, guard: Source | None) -> Step:
    """Operands by role, as the table says."""
    operands = list(instruction.operands)
    sources: list[Source] = []
    targets: list[Target | None] = []
    for role in form.row.roles:
        if role.type == "carry":
            carry = reader.program.special("%cc", TYPES["pred"])
            if role.written:
                targets.append(Target(carry, TYPES["pred"]))
            else:
                sources.append(Source(TYPES["pred"], carry))
        elif not operands:
            break
        elif role.written:
            targets += reader.targets(names, operands.pop(0), form, role)
        else:
            sources.append(reader.source(names, operands.pop(0), form.type_of(role) or TYPES["b32"]))
    return Step(instruction, form, tuple(sources), tuple(targets), guard)


def _move(reader: Reader, instruction: Instruction, form: Form, names: Names, guard: Source | None) -> Step:
    target, source = instruction.operands
    type_ = TYPES["pred"] if form.type.kind == "pred" else TYPES[f"b{form.type.bits}"]
    read = reader.source(names, source, type_)
    if isinstance(target, Vector):
        part = TYPES[f"b{type_.bits // len(target.items)}"]
        return Step(instruction, form, (read,), tuple(reader.target(names, i, part) for i in target.items), guard)
    return Step(instruction, form, (read,), (reader.target(names, target, type_),), guard)


def _load(reader: Reader, instruction: Instruction, form: Form, names: Names, guard: Source | None) -> Step:
    first = instruction.operands[0]
    items = first.items if isinstance(first, Vector) else (first,)
    targets = tuple(reader.target(names, item, form.type) for item in items)
    place = reader.place(names, instruction.operands[1], space_of(form))
    return Step(instruction, form, (), targets, guard, (place,))


def _store(reader: Reader, instruction: Instruction, form: Form, names: Names, guard: Source | None) -> Step:
    second = instruction.operands[1]
    items = second.items if isinstance(second, Vector) else (second,)
    type_ = TYPES[f"b{form.type.bits}"]
    sources = tuple(reader.source(names, item, type_) for item in items)
    return Step(instruction, form, sources, (), guard, (reader.place(names, instruction.operands[0], space_of(form)),))


def _atomic(reader: Reader, instruction: Instruction, form: Form, names: Names, guard: Source | None) -> Step:
    operands = list(instruction.operands)
    targets: tuple[Target | None, ...] = ()
    if form.row.mnemonic == "atom":
        targets = (reader.target(names, operands.pop(0), form.type),)
    count = sum(1 for role in form.row.roles if role.type == "T0" and not role.written)
    sources = tuple(reader.source(names, operand, form.type) for operand in operands[1 : 1 + count])
    return Step(instruction, form, sources, targets, guard, (reader.place(names, operands[0], space_of(form)),))


def _address(reader: Reader, instruction: Instruction, form: Form, names: Names, guard: Source | None) -> Step:
    """``cvta`` and ``isspacep``."""
    test = form.row.effect == "test_address"
    source = reader.source(names, instruction.operands[1], TYPES["b64"] if test else form.type)
    target = reader.target(names, instruction.operands[0], TYPES["pred"] if test else form.type)
    return Step(instruction, form, (source,), (target,), guard)


def _nothing(reader: Reader, instruction: Instruction, form: Form, names: Names, guard: Source | None) -> Step:
    return Step(instruction, form, (), (), guard)


def _stack(reader: Reader, instruction: Instruction, form: Form, names: Names, guard: Source | None) -> Step:
    """``alloca``, ``stacksave`` and ``stackrestore``: the stack pointer is a register of each lane."""
    pointer, operands = reader.program.stack_pointer(), instruction.operands
    top, wide = Source(TYPES["b64"], pointer), Target(pointer, TYPES["b64"])
    if form.row.effect == "stack_restore":
        return Step(instruction, form, (reader.source(names, operands[0], form.type),), (wide,), guard)
    target = reader.target(names, operands[0], form.type)
    if form.row.effect == "stack_save":
        return Step(instruction, form, (top,), (target,), guard)
    return Step(instruction, form, (top, reader.source(names, operands[1], form.type)), (target, wide), guard)


def _branch_table(reader: Reader, instruction: Instruction, form: Form, names: Names, guard: Source | None) -> Step:
    return Step(instruction, form, (reader.source(names, instruction.operands[0], TYPES["u32"]),), (), guard)


def _items(operand: Operand) -> tuple[Operand, ...]:
    return operand.items if isinstance(operand, Vector) else (operand,)


def _matrix(reader: Reader, instruction: Instruction, form: Form, names: Names, guard: Source | None) -> Step:
    quads = form["shape"] == "m8n8k4" and form.types[-1].name != "f64"
    if form.row.mnemonic not in ("mma", "wmma") or form.has("sparse") or form.row.mnemonic == "mma" and quads:
        raise Unsupported(form.opcode)
    kinds = [TYPES["b64" if type_.name == "f64" else "b32"] for type_ in form.types]
    kinds = kinds if len(kinds) == 4 else [kinds[0], TYPES["b32"], TYPES["b32"], kinds[1]]
    lists = [_items(operand) for operand in instruction.operands]
    targets = tuple(reader.target(names, item, kinds[0]) for item in lists[0])
    sources = tuple(reader.source(names, i, kind) for items, kind in zip(lists[1:], kinds[1:]) for i in items)
    return Step(instruction, form, sources, targets, guard, (), tuple(len(items) for items in lists[1:]))


def _matrix_load(reader: Reader, instruction: Instruction, form: Form, names: Names, guard: Source | None) -> Step:
    targets = tuple(reader.target(names, item, TYPES["b32"]) for item in _items(instruction.operands[0]))
    place = reader.place(names, instruction.operands[1], space_of(form))
    return Step(instruction, form, (), targets, guard, (place,))


def _matrix_store(reader: Reader, instruction: Instruction, form: Form, names: Names, guard: Source | None) -> Step:
    sources = tuple(reader.source(names, item, TYPES["b32"]) for item in _items(instruction.operands[1]))
    return Step(instruction, form, sources, (), guard, (reader.place(names, instruction.operands[0], space_of(form)),))


def _fragment_load(reader: Reader, instruction: Instruction, form: Form, names: Names, guard: Source | None) -> Step:
    kind = TYPES["b64" if form.type.name == "f64" else "b32"]
    targets = tuple(reader.target(names, item, kind) for item in _items(instruction.operands[0]))
    stride = tuple(reader.source(names, operand, TYPES["u32"]) for operand in instruction.operands[2:])
    place = reader.place(names, instruction.operands[1], space_of(form))
    return Step(instruction, form, stride, targets, guard, (place,))


def _fragment_store(reader: Reader, instruction: Instruction, form: Form, names: Names, guard: Source | None) -> Step:
    """Sources are the registers of the fragment, then the leading dimension if it is given."""
    kind, items = TYPES["b64" if form.type.name == "f64" else "b32"], _items(instruction.operands[1])
    sources = [reader.source(names, item, kind) for item in items]
    sources += [reader.source(names, operand, TYPES["u32"]) for operand in instruction.operands[2:]]
    place = reader.place(names, instruction.operands[0], space_of(form))
    return Step(instruction, form, tuple(sources), (), guard, (place,), (len(items),))


def _copy(reader: Reader, instruction: Instruction, form: Form, names: Names, guard: Source | None) -> Step:
    """``cp.async``: its first place is written, the second read."""
    operands = instruction.operands
    target, origin = reader.place(names, operands[0], "shared"), reader.place(names, operands[1], "global")
    size = operands[2]
    if not isinstance(size, Immediate):
        raise Unsupported(form.opcode)
    sources = tuple(reader.source(names, operand, TYPES["u32"]) for operand in operands[2:])
    return Step(instruction, form, sources, (), guard, (target, origin))


def _barrier(reader: Reader, instruction: Instruction, form: Form, names: Names, guard: Source | None) -> Step:
    """Sources are the barrier's number, the count of threads if any, and for ``red`` the predicate, last."""
    operands, targets, last = list(instruction.operands), list[Target | None](), list[Source]()
    if form["action"] == "red":
        targets.append(reader.target(names, operands.pop(0), form.type))
        last.append(reader.source(names, operands.pop(), TYPES["pred"]))
    sources = [reader.source(names, operand, TYPES["u32"]) for operand in operands]
    if sources[0].register >= 0:
        raise Unsupported("a barrier number in a register")
    return Step(instruction, form, (*sources, *last), tuple(targets), guard)


_READERS = {
    "": _pure,
    "warp": _pure,
    "move": _move,
    "load": _load,
    "store": _store,
    "atomic": _atomic,
    "convert_address": _address,
    "test_address": _address,
    "branch": _nothing,
    "branch_table": _branch_table,
    "call": _nothing,
    "return": _nothing,
    "exit": _nothing,
    "nothing": _nothing,
    "copy_commit": _nothing,
    "copy_wait": _nothing,
    "warp_barrier": _nothing,
    "barrier": _barrier,
    "matrix": _matrix,
    "matrix_load": _matrix_load,
    "matrix_store": _matrix_store,
    "fragment_load": _fragment_load,
    "fragment_store": _fragment_store,
    "copy_async": _copy,
    "trap": _nothing,
    "stack_allocate": _stack,
    "stack_save": _stack,
    "stack_restore": _stack,
}
