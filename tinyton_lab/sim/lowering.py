"""From instructions to closures over a chunk of lanes: operands are resolved once, here. Knows no memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from tinyton_lab.base.diagnostics import TinytonError, error
from tinyton_lab.ptx.cfg import Names
from tinyton_lab.ptx.isa import Form, Role, TwoResults, constant, resolve
from tinyton_lab.ptx.syntax import Address, Immediate, Instruction, Name, Negated, Operand, Pair, Vector
from tinyton_lab.ptx.text import print_instruction
from tinyton_lab.ptx.types import TYPES, PtxType
from tinyton_lab.sim.lanes import Array, Chunk, bits
from tinyton_lab.sim.program import Details, Operation, Program, Routine

Reader = Callable[[list[Array]], Array]
_VECTORS = ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
SPECIAL = {
    **{f"%{name}.{axis}": "u32" for name in _VECTORS for axis in "xyz"},
    **{
        f"%{name}": "u32"
        for name in (
            "laneid",
            "warpid",
            "nwarpid",
            "smid",
            "nsmid",
            "cluster_ctarank",
            "cluster_nctarank",
            "lanemask_eq",
            "lanemask_le",
            "lanemask_lt",
            "lanemask_ge",
            "lanemask_gt",
            "total_smem_size",
            "dynamic_smem_size",
            "aggr_smem_size",
            "reserved_smem_offset_begin",
        )
    },
    **{f"%envreg{n}": "u32" for n in range(32)},
    "%gridid": "u64",
    "%is_explicit_cluster": "pred",
    "%current_graph_exec": "u64",
}
CLOCKS = {
    "%clock": "u32",
    "%clock_hi": "u32",
    "%clock64": "u64",
    "%globaltimer": "u64",
    "%globaltimer_lo": "u32",
    "%globaltimer_hi": "u32",
}


class Lowering:
    """Mutable: lowers the instructions of one routine."""

    def __init__(self, program: Program, routine: Routine) -> None:
        self.program, self.routine = program, routine
        self.begin()

    def begin(self) -> None:
        """Forget what the last instruction read and wrote."""
        self.writes: list[tuple[str, int, str]] = []
        self.reads: list[int] = []
        self.sources: list[Reader] = []

    # Faults.
    def span(self, instruction: Instruction) -> Any:
        return self.program.module.span(instruction.start, instruction.end)

    def refuse(self, instruction: Instruction, form: Form, reason: str) -> NoReturn:
        raise error(
            "TT6004",
            self.span(instruction),
            mnemonic=form.row.mnemonic,
            reason=reason,
            syntax=form.row.syntax,
            section=form.row.section,
        )

    # One instruction.
    def form(self, instruction: Instruction) -> Form:
        try:
            return resolve(instruction.opcode)
        except TinytonError as fault:
            # Lines are counted only when something is wrong with one.
            fault.span = self.span(instruction)
            raise

    def details(self, instruction: Instruction, form: Form, names: Names) -> Details:
        guard = None
        if instruction.guard:
            guard = (self.predicate(instruction, form, names, instruction.guard), instruction.negated)
        return Details(
            instruction,
            print_instruction(instruction).replace(" \t", " "),
            instruction.line,
            tuple(self.writes),
            guard,
            form.row.pipe,
            tuple(dict.fromkeys(self.reads)),
            tuple(self.sources),
        )

    def predicate(self, instruction: Instruction, form: Form, names: Names, name: str) -> int:
        """The register of a predicate operand."""
        found = names.lookup(name)
        if found is None or found[1].space != "reg":
            raise error("TT6005", self.span(instruction), name=name)
        if found[1].type != "pred":
            self.refuse(instruction, form, f"wants a predicate, but {name} is .{found[1].type}")
        return self._read(self.program.register(self.routine, found[0], found[1], name))

    def _read(self, register: int) -> int:
        self.reads.append(register)
        return register

    # Operands.
    def register(
        self, instruction: Instruction, form: Form, names: Names, name: str, type_: PtxType | None, wider: bool
    ) -> int | None:
        """The register `name`, checked against the width of `type_`; None when it is no register."""
        found = names.lookup(name)
        if found is None or found[1].space != "reg":
            return None
        have = TYPES[found[1].type]
        fits = type_ is None or have.bits == type_.bits or (wider and have.bits > type_.bits and have.kind != "pred")
        if not fits or (type_ is not None and (have.kind == "pred") != (type_.kind == "pred")):
            self.refuse(instruction, form, f"wants a register of {type_} here, but {name} is .{have}")
        return self.program.register(self.routine, found[0], found[1], name)

    def reader(
        self, instruction: Instruction, form: Form, names: Names, operand: Operand, type_: PtxType, wider: bool = False
    ) -> Reader:
        """A function from the registers to the operand's lane values in `type_`'s compute dtype."""
        found = self.slot(instruction, form, names, operand, type_, wider)
        if isinstance(found, int):
            dtype = type_.compute

            def read(registers: list[Array]) -> Array:
                value = registers[found]
                return value if value.dtype is dtype else bits(value, dtype)

            return read
        return found if callable(found) else lambda registers: found

    def slot(
        self, instruction: Instruction, form: Form, names: Names, operand: Operand, type_: PtxType, wider: bool = False
    ) -> Any:
        """A source operand as a register number, a constant array, or a reader."""
        match operand:
            case Name(text=text, offset=offset):
                register = self.register(instruction, form, names, text, type_, wider) if not offset else None
                if register is None:
                    return self.named(instruction, form, names, operand, type_)
                return self._read(register)
            case Immediate(value=value):
                if isinstance(value, float) and type_.kind in ("signed", "unsigned", "pred"):
                    self.refuse(instruction, form, f"wants an integer here, not {operand.text}")
                return np.asarray(constant(value, type_))
            case Negated(name=name) if type_.kind == "pred":
                register = self.predicate(instruction, form, names, name)
                return lambda registers: ~registers[register]
            case Vector(items=items):
                return self.packed(instruction, form, names, items, type_)
            case _:
                self.refuse(instruction, form, f"cannot read this operand as {type_}")

    def packed(
        self, instruction: Instruction, form: Form, names: Names, items: tuple[Operand, ...], type_: PtxType
    ) -> Reader:
        """``{a, b}`` read as one value; the first item is the low part."""
        if not items or type_.bits % len(items) or f"b{type_.bits // len(items)}" not in TYPES:
            self.refuse(instruction, form, f"cannot pack {len(items)} values into {type_}")
        part = TYPES[f"b{type_.bits // len(items)}"]
        readers = [self.reader(instruction, form, names, item, part) for item in items]
        raw = type_.raw

        def read(registers: list[Array]) -> Array:
            total = readers[0](registers).astype(raw)
            for place, reader in enumerate(readers[1:], start=1):
                total = total | (reader(registers).astype(raw) << raw.type(place * part.bits))
            return total

        return read

    def named(self, instruction: Instruction, form: Form, names: Names, operand: Name, type_: PtxType) -> Any:
        """A special register, or the address of a symbol."""
        text = operand.text
        if text in SPECIAL:
            return self.program.special(text, TYPES[SPECIAL[text]])
        if text == "WARP_SZ":
            return np.asarray(constant(32, type_))
        if type_.kind == "pred" and text in ("true", "false"):
            return np.asarray(text == "true")
        found = self.program.symbol(self.routine, names, text)
        if found is None:
            raise error("TT6005", self.span(instruction), name=text)
        return np.asarray(constant(found[1] + operand.offset, type_))

    # Destinations.
    def destinations(
        self, instruction: Instruction, form: Form, names: Names, operand: Operand, role: Role
    ) -> list[tuple[int, PtxType] | None]:
        """The registers an operand writes, in the order of the function's results; None for ``_``."""
        type_, second = self.destination_types(form, role)
        wider = role.type.endswith("+")
        if isinstance(operand, Pair):
            if "|" not in role.name:
                self.refuse(instruction, form, "has one destination")
            return [
                self.destination(instruction, form, names, operand.first, type_, wider),
                self.destination(instruction, form, names, operand.second, second, False),
            ]
        if not isinstance(operand, Name):
            self.refuse(instruction, form, "needs a register to write")
        return [self.destination(instruction, form, names, operand.text, type_, wider)]

    def destination_types(self, form: Form, role: Role) -> tuple[PtxType, PtxType]:
        first, _, second = role.type.partition("|")
        type_ = form.type_of(Role("", first)) or TYPES["b32"]
        return type_, TYPES[second] if second else type_

    def destination(
        self, instruction: Instruction, form: Form, names: Names, name: str, type_: PtxType | None, wider: bool
    ) -> tuple[int, PtxType] | None:
        if name == "_":
            return None
        register = self.register(instruction, form, names, name, type_, wider)
        if register is None:
            raise error("TT6005", self.span(instruction), name=name)
        held = self.program.register_types[register]
        self.writes.append((name, register, (type_ or held).name))
        return register, held

    def writer(self, target: tuple[int, PtxType] | None, type_: PtxType) -> Callable[[Chunk, Array], None]:
        """A function that writes lane values of `type_` to a register, extending them to its width."""
        if target is None:
            return lambda chunk, value: None
        register, held = target
        if held.bits > type_.bits and type_.kind != "pred":
            wide = np.dtype(f"int{held.bits}") if type_.kind == "signed" else held.raw

            def extend(chunk: Chunk, value: Array) -> None:
                chunk.write(register, bits(value, type_.compute if type_.kind == "signed" else type_.raw).astype(wide))

            return extend
        return lambda chunk, value: chunk.write(register, value)

    # Pure instructions.
    def pure(self, instruction: Instruction, form: Form, names: Names) -> Operation:
        """The closure of an instruction that only computes on registers."""
        if form.row.run is None:
            raise RuntimeError(f"lowering: {form.opcode} has no lane function")
        function = form.row.run(form)
        sources, targets = self.bind(instruction, form, names)
        if isinstance(function, TwoResults):
            function = function.first if len(targets) == 1 else function.both
        if len(targets) == 1 and targets[0] is not None:
            register, held = targets[0][0]
            type_ = targets[0][1]
            if held.bits == type_.bits or type_.kind == "pred":
                return _single(function, register, sources)
        writers = [self.writer(target[0], target[1]) if target else None for target in targets]
        readers = [_reader_of(source) for source in sources]

        def run(chunk: Chunk) -> None:
            registers = chunk.registers
            results = function(*[read(registers) for read in readers])
            results = results if isinstance(results, tuple) else (results,)
            for write, result in zip(writers, results):
                if write is not None:
                    write(chunk, result)

        return run

    def bind(self, instruction: Instruction, form: Form, names: Names) -> tuple[list[tuple[Any, Any]], list[Any]]:
        """Match operands with roles: sources (slot, dtype), destinations ((register, its type), value type) or None."""
        operands = list(instruction.operands)
        sources: list[tuple[Any, Any]] = []
        targets: list[Any] = []
        for role in form.row.roles:
            if role.type == "carry":
                carry = self.program.special("%cc", TYPES["pred"])
                if role.written:
                    targets.append(((carry, TYPES["pred"]), TYPES["pred"]))
                else:
                    sources.append((carry, TYPES["pred"].compute))
                continue
            if not operands:
                if role.optional:
                    continue
                self.refuse(instruction, form, f"needs operand {role.name}")
            operand = operands.pop(0)
            if role.written:
                self.bind_written(instruction, form, names, operand, role, targets)
            else:
                type_ = form.type_of(role) or TYPES["b32"]
                sources.append(
                    (self.slot(instruction, form, names, operand, type_, role.type.endswith("+")), type_.compute)
                )
        if operands:
            self.refuse(instruction, form, f"has {len(operands)} operands too many")
        return sources, targets

    def bind_written(
        self, instruction: Instruction, form: Form, names: Names, operand: Operand, role: Role, targets: list[Any]
    ) -> None:
        if isinstance(operand, Vector):
            self.refuse(instruction, form, "writes one register here, not a vector")
        types = self.destination_types(form, role)
        found = self.destinations(instruction, form, names, operand, role)
        targets += [(target, type_) if target else None for target, type_ in zip(found, types)]

    def move(self, instruction: Instruction, form: Form, names: Names) -> Operation:
        """``mov``: copies, packs, unpacks, reads clocks."""
        if len(instruction.operands) != 2:
            self.refuse(instruction, form, "needs two operands")
        target, source = instruction.operands
        type_ = TYPES["pred"] if form.type.kind == "pred" else TYPES[f"b{form.type.bits}"]
        if isinstance(source, Name) and source.text in CLOCKS:
            return self.read_clock(instruction, form, names, type_)
        if isinstance(target, Vector):
            return self.unpack(instruction, form, names, target, source, type_)
        found = self.slot(instruction, form, names, source, type_)
        written = self.destinations(instruction, form, names, target, form.row.roles[0])[0]
        if written is None:
            return lambda chunk: None
        register = written[0]
        if isinstance(found, int):
            # A copy keeps the dtype, so that the next arithmetic instruction need not convert.
            return lambda chunk: chunk.write(register, chunk.registers[found])
        read = _reader_of((found, type_.compute))
        return lambda chunk: chunk.write(register, read(chunk.registers))

    def unpack(
        self, instruction: Instruction, form: Form, names: Names, target: Vector, source: Operand, type_: PtxType
    ) -> Operation:
        count = len(target.items)
        if not count or type_.bits % count or f"b{type_.bits // count}" not in TYPES:
            self.refuse(instruction, form, f"cannot unpack {type_} into {count} registers")
        part = TYPES[f"b{type_.bits // count}"]
        read = self.reader(instruction, form, names, source, type_)
        places = []
        for place, item in enumerate(target.items):
            if not isinstance(item, Name):
                self.refuse(instruction, form, "needs registers to write")
            found = self.destination(instruction, form, names, item.text, part, False)
            if found is not None:
                places.append((found[0], np.asarray(type_.raw.type(place * part.bits))))
        raw = part.raw

        def run(chunk: Chunk) -> None:
            value = read(chunk.registers)
            for register, shift in places:
                chunk.write(register, (value >> shift).astype(raw))

        return run

    def read_clock(self, instruction: Instruction, form: Form, names: Names, type_: PtxType) -> Operation:
        name = instruction.operands[1]
        written = self.destinations(instruction, form, names, instruction.operands[0], form.row.roles[0])[0]
        scale = 1000 if isinstance(name, Name) and "timer" in name.text else 1
        high = isinstance(name, Name) and name.text.endswith("_hi")
        if written is None:
            return lambda chunk: None
        register = written[0]

        def run(chunk: Chunk) -> None:
            # Time is the number of steps: deterministic, monotonic, and it lets waits with a timeout end.
            now = chunk.steps * scale
            chunk.write(register, np.asarray(constant(now >> 32 if high else now, type_)))

        return run

    # Addresses.
    def address(self, instruction: Instruction, form: Form, names: Names, operand: Operand, space: str) -> Reader:
        """A function from the registers to u64 (or u32) byte addresses of an ``[...]`` operand."""
        if not isinstance(operand, Address):
            self.refuse(instruction, form, "needs an address in brackets")
        base, offset = operand.base, operand.offset
        if isinstance(base, Immediate):
            fixed = np.asarray(np.uint64((int(base.value) + offset) & (1 << 64) - 1))
            return lambda registers: fixed
        found = names.lookup(base.text)
        if found is None or found[1].space != "reg":
            symbol = self.program.symbol(self.routine, names, base.text)
            if symbol is None:
                raise error("TT6005", self.span(instruction), name=base.text)
            fixed = np.asarray(np.uint64(symbol[1] + base.offset + offset))
            return lambda registers: fixed
        type_ = TYPES[found[1].type]
        if type_.bits not in (32, 64):
            self.refuse(instruction, form, f"wants a 32- or 64-bit address, but {base.text} is .{type_}")
        register = self._read(self.program.register(self.routine, found[0], found[1], base.text))
        offset += base.offset
        raw = type_.raw
        if offset == 0:
            if type_.bits == 32:
                return lambda registers: bits(registers[register], raw).astype(np.uint64)

            def plain(registers: list[Array]) -> Array:
                value = registers[register]
                return value if value.dtype is raw else bits(value, raw)

            return plain
        step = np.asarray(np.uint64(offset & (1 << 64) - 1) if type_.bits == 64 else np.uint32(offset & (1 << 32) - 1))
        if type_.bits == 32:
            return lambda registers: (bits(registers[register], raw) + step).astype(np.uint64)
        return lambda registers: bits(registers[register], raw) + step


def _reader_of(source: tuple[Any, Any]) -> Reader:
    found, dtype = source
    if isinstance(found, int):

        def read(registers: list[Array]) -> Array:
            value = registers[found]
            return value if value.dtype is dtype else bits(value, dtype)

        return read
    return found if callable(found) else lambda registers: found


def _single(function: Callable[..., Array], target: int, sources: list[tuple[Any, Any]]) -> Operation:
    """The closure of a function with one result, with fewer calls for the usual shapes of operands."""
    kinds = "".join("r" if isinstance(found, int) else "f" if callable(found) else "c" for found, _ in sources)
    if kinds in _SHAPES:
        return _SHAPES[kinds](function, target, *(part for source in sources for part in source))
    readers = [_reader_of(source) for source in sources]

    def run(chunk: Chunk) -> None:
        registers = chunk.registers
        value = function(*[read(registers) for read in readers])
        if chunk.merge is not None:
            chunk.write(target, value)
        else:
            registers[target] = value

    return run


def _one(function: Callable[..., Array], target: int, a: int, a_type: Any) -> Operation:
    def run(chunk: Chunk) -> None:
        registers = chunk.registers
        x = registers[a]
        if x.dtype is not a_type:
            x = bits(x, a_type)
        if chunk.merge is not None:
            chunk.write(target, function(x))
        else:
            registers[target] = function(x)

    return run


def _two(function: Callable[..., Array], target: int, a: int, a_type: Any, b: int, b_type: Any) -> Operation:
    def run(chunk: Chunk) -> None:
        registers = chunk.registers
        x, y = registers[a], registers[b]
        if x.dtype is not a_type:
            x = bits(x, a_type)
        if y.dtype is not b_type:
            y = bits(y, b_type)
        if chunk.merge is not None:
            chunk.write(target, function(x, y))
        else:
            registers[target] = function(x, y)

    return run


def _two_constant(function: Callable[..., Array], target: int, a: int, a_type: Any, b: Array, b_type: Any) -> Operation:
    def run(chunk: Chunk) -> None:
        registers = chunk.registers
        x = registers[a]
        if x.dtype is not a_type:
            x = bits(x, a_type)
        if chunk.merge is not None:
            chunk.write(target, function(x, b))
        else:
            registers[target] = function(x, b)

    return run


def _three(
    function: Callable[..., Array], target: int, a: int, a_type: Any, b: int, b_type: Any, c: int, c_type: Any
) -> Operation:
    def run(chunk: Chunk) -> None:
        registers = chunk.registers
        x, y, z = registers[a], registers[b], registers[c]
        if x.dtype is not a_type:
            x = bits(x, a_type)
        if y.dtype is not b_type:
            y = bits(y, b_type)
        if z.dtype is not c_type:
            z = bits(z, c_type)
        if chunk.merge is not None:
            chunk.write(target, function(x, y, z))
        else:
            registers[target] = function(x, y, z)

    return run


_SHAPES: dict[str, Callable[..., Operation]] = {"r": _one, "rr": _two, "rc": _two_constant, "rrr": _three}


def guarded(operation: Operation, register: int, negated: bool) -> Operation:
    """Run an operation only in the lanes whose predicate holds."""

    def run(chunk: Chunk) -> None:
        chosen = chunk.registers[register]
        if negated:
            chosen = ~chosen
        mask, merge = chunk.mask, chunk.merge
        if mask is not None:
            chosen = chosen & mask
        count = np.count_nonzero(chosen)
        if count == 0:
            return
        if mask is None and count == chosen.size:
            operation(chunk)
            return
        chunk.mask = chunk.merge = chosen
        try:
            operation(chunk)
        finally:
            chunk.mask, chunk.merge = mask, merge

    return run
