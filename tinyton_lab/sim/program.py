"""One entry made ready to run: registers numbered, symbols laid out, functions cut into blocks. Runs nothing."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tinyton_lab.base.diagnostics import error
from tinyton_lab.ptx.cfg import Block, Flat, Names, blocks, flatten
from tinyton_lab.ptx.isa import constant
from tinyton_lab.ptx.syntax import Function, Immediate, Instruction, Module, Name, Variable
from tinyton_lab.ptx.types import TYPES, PtxType
from tinyton_lab.sim import access
from tinyton_lab.sim.lanes import Array, Chunk
from tinyton_lab.sim.memory import FUNCTION_BASE, VARIABLE_BASE, Region, named_region

Operation = Callable[[Chunk], None]


@dataclass(frozen=True, slots=True)
class Details:
    """What observers want to know of one instruction: its text, line, pipe, the registers it writes and reads.

    `sources` reads the operands of an instruction between lanes.
    """

    instruction: Instruction
    text: str
    line: int
    writes: tuple[tuple[str, int, str], ...]
    guard: tuple[int, bool] | None
    pipe: str
    reads: tuple[int, ...] = ()
    sources: tuple[Callable[[list[Array]], Array], ...] = ()


@dataclass(slots=True)
class CodeBlock:
    """A basic block as closures: `operations`, then `terminator`. Filled by the lowering, constant afterwards.

    `notes` says for each operation which instruction it is (None for one that only passes parameters), `ending` for the
    terminator; `details` has them all.
    """

    number: int
    operations: list[Operation] = field(default_factory=list)
    notes: list[Details | None] = field(default_factory=list)
    ending: Details | None = None
    terminator: Any = None
    meets: tuple[Any, ...] | None = None
    spins: bool = False
    details: list[Details] = field(default_factory=list)

    def add(self, operation: Operation, note: Details | None) -> None:
        self.operations.append(operation)
        self.notes.append(note)


@dataclass(slots=True, eq=False)
class Routine:
    """One function: its flat text, its blocks (numbered through the whole program) and what a call needs to know.

    `block_at` gives the block that begins with an instruction.
    """

    function: Function
    flat: Flat
    blocks: tuple[Block, ...]
    first_block: int
    number: int
    recursive: bool = False
    registers: list[int] = field(default_factory=list)
    block_at: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.block_at = {block.first: block.index for block in reversed(self.blocks)}


@dataclass(slots=True)
class Site:
    """Where a call continues: at block `follow`, after the operations `after`; a recursive call keeps `saved`."""

    caller: Routine
    callee: Routine | None
    follow: int
    after: list[Operation]
    saved: list[int] = field(default_factory=list)


def _element_bytes(variable: Variable) -> int:
    """Opaque texture and sampler types are handles of 8 bytes."""
    return (TYPES[variable.type].bytes if variable.type in TYPES else 8) * max(variable.vector, 1)


def alignment(variable: Variable) -> int:
    """The alignment of a declared variable in bytes."""
    return variable.align or _element_bytes(variable)


def size_of(variable: Variable) -> int:
    """The bytes of a declared variable; 0 for unsized arrays."""
    size = _element_bytes(variable)
    if variable.shape == (0,) and variable.initial is not None:
        return size * sum(len(item) - 1 if isinstance(item, str) else 1 for item in variable.initial)
    for bound in variable.shape or ():
        size *= bound
    return size


class Program:
    """Mutable while it is built: everything of one entry that does not depend on a launch."""

    def __init__(self, module: Module, entry: Function) -> None:
        self.module, self.entry = module, entry
        self.code: list[CodeBlock] = []
        self.register_types: list[PtxType] = []
        self.register_names: list[str] = []
        self.registers: dict[tuple[int, int, str], int] = {}
        self.specials: dict[str, int] = {}
        self.routines: dict[str, Routine] = {}
        self.shared_bytes = self.local_bytes = 0
        self.dynamic_align = 16
        self.parameter_offsets: dict[str, tuple[int, Variable]] = {}
        self.parameter_bytes = 0
        self.addresses: dict[tuple[int, str], tuple[str, int]] = {}
        self.functions = [item for item in module.functions.values() if item.kind == "func"]
        self.byte_sizes: dict[int, int] = {}
        self.stack_bytes = 0
        self.sites: list[Site] = []
        self.access_sites, self.smallest_access = 0, 16
        self._layout_parameters()

    def _layout_parameters(self) -> None:
        offset = 0
        for variable in self.entry.parameters:
            offset = -(-offset // alignment(variable)) * alignment(variable)
            self.parameter_offsets[variable.name] = (offset, variable)
            offset += size_of(variable)
        self.parameter_bytes = offset

    def routine(self, function: Function) -> Routine:
        """The routine of a function, made on first use; its blocks get numbers after all earlier ones."""
        found = self.routines.get(function.name)
        if found is None:
            flat = flatten(self.module, function)
            cut = blocks(self.module, flat)
            found = Routine(function, flat, cut, len(self.code), len(self.routines))
            self.code += [CodeBlock(len(self.code) + n) for n in range(len(cut))]
            self.routines[function.name] = found
            self._layout_scopes(found)
        return found

    def _layout_scopes(self, routine: Routine) -> None:
        for names in routine.flat.every_scope:
            for variable in names.variables.values():
                if variable.space in ("shared", "local"):
                    self._place(variable, (routine.number + 1 << 16) + names.number)

    def _place(self, variable: Variable, scope: int) -> None:
        space, align = variable.space, alignment(variable)
        used = self.shared_bytes if space == "shared" else self.local_bytes
        offset = -(-used // align) * align
        self.addresses[scope, variable.name] = (space, offset)
        if space == "shared":
            self.shared_bytes = offset + size_of(variable)
        else:
            self.local_bytes = offset + size_of(variable)

    def new_register(self, name: str, type_: PtxType) -> int:
        self.register_types.append(type_)
        self.register_names.append(name)
        return len(self.register_types) - 1

    def register(self, routine: Routine, names: Names, variable: Variable, name: str) -> int:
        """The number of a register or of a function's ``.param`` variable."""
        key = (routine.number, names.number, name)
        found = self.registers.get(key)
        if found is None:
            type_ = TYPES[variable.type] if variable.space == "reg" else TYPES["b8"]
            found = self.registers[key] = self.new_register(name, type_)
            routine.registers.append(found)
        return found

    def bytes_register(self, routine: Routine, names: Names, variable: Variable) -> int:
        """The register that holds the bytes of a function's or call's ``.param`` variable, per lane."""
        found = self.register(routine, names, variable, variable.name)
        self.byte_sizes[found] = max(size_of(variable), 1)
        return found

    def slot_register(self, kind: str, index: int) -> int:
        """The register through which argument or result number `index` of any call travels."""
        found = self.special(f"%{kind}{index}", TYPES["b8"])
        self.byte_sizes.setdefault(found, 1)
        return found

    def site(self, caller: Routine, callee: Routine | None, follow: int, after: list[Operation]) -> int:
        """Register a call site; its number travels on the stack of return addresses."""
        self.sites.append(Site(caller, callee, follow, after))
        return len(self.sites) - 1

    def wanted(self, function: Function) -> Routine:
        """The routine of a function that is called."""
        return self.routine(function)

    def find_recursion(self) -> None:
        """A call that may come back to its own function must keep the caller's registers."""
        edges: dict[int, set[int]] = {}
        for site in self.sites:
            callees = [site.callee] if site.callee else [r for r in self.routines.values() if r.function.kind == "func"]
            edges.setdefault(site.caller.number, set()).update(c.number for c in callees)
        for site in self.sites:
            callees = [site.callee] if site.callee else [r for r in self.routines.values() if r.function.kind == "func"]
            seen: set[int] = set()
            queue = [c.number for c in callees]
            while queue:
                number = queue.pop()
                if number not in seen:
                    seen.add(number)
                    queue += edges.get(number, set())
            if site.caller.number in seen:
                site.saved = site.caller.registers

    def access_site(self, line: int, size: int, action: str, order: str = "weak", scope: str = "gpu") -> access.Site:
        """A memory instruction gets a number, under which launches remember what it touched."""
        self.access_sites += 1
        if order not in ("async", "part", "map"):
            self.smallest_access = min(self.smallest_access, size)
        return access.Site(self.access_sites - 1, line, size, action, order, scope)

    def stack_pointer(self) -> int:
        """Each lane's stack pointer, for `alloca` and recursion."""
        self.stack_bytes = 4096
        return self.special("%stack", TYPES["b64"])

    def special(self, name: str, type_: PtxType) -> int:
        found = self.specials.get(name)
        if found is None:
            found = self.specials[name] = self.new_register(name, type_)
        return found

    def shown_types(self) -> dict[int, str]:
        """The type in which a recording shows a register: its own, or the one that arithmetic uses it in most."""
        votes: dict[int, dict[str, int]] = {}
        for code in self.code:
            for details in code.details:
                for _, register, type_ in details.writes:
                    if self.register_types[register].kind == "bits" and type_ != self.register_types[register].name:
                        of_register = votes.setdefault(register, {})
                        of_register[type_] = of_register.get(type_, 0) + 1
        own = {n: type_.name for n, type_ in enumerate(self.register_types) if type_.kind != "bits"}
        return own | {register: max(sorted(found), key=lambda t: found[t]) for register, found in votes.items()}

    # Symbols.
    def module_layout(self) -> None:
        """Give module variables their addresses: shared ones an offset, others a fixed address."""
        position, dynamic = VARIABLE_BASE, []
        for item in self.module.items:
            if not isinstance(item, Variable):
                continue
            if item.space == "shared":
                if item.linkage == "extern" and size_of(item) == 0 or item.shape == (0,):
                    dynamic.append(item)
                else:
                    self._place(item, 0)
            elif item.space in ("global", "const"):
                position = -(-position // max(alignment(item), 16)) * max(alignment(item), 16)
                self.addresses[0, item.name] = (item.space, position)
                position += max(size_of(item), 1) + 64
        self._dynamic = dynamic

    def place_dynamic(self) -> None:
        """Unsized shared arrays begin after all sized ones, all at the same offset."""
        align = max([alignment(v) for v in self._dynamic] + [16])
        self.shared_bytes = -(-self.shared_bytes // align) * align if self._dynamic else self.shared_bytes
        for variable in self._dynamic:
            self.addresses[0, variable.name] = ("shared", self.shared_bytes)

    def symbol(self, routine: Routine, names: Names | None, name: str) -> tuple[str, int] | None:
        """(space, address) of a variable, parameter or function; None when there is no such symbol."""
        found = names.lookup(name) if names else None
        if found is not None and found[0].number:
            local = self.addresses.get(((routine.number + 1 << 16) + found[0].number, name))
            if local is not None:
                return local
        if name in self.parameter_offsets and routine.function is self.entry:
            return "param", self.parameter_offsets[name][0]
        if (0, name) in self.addresses:
            return self.addresses[0, name]
        for number, function in enumerate(self.functions):
            if function.name == name:
                return "function", FUNCTION_BASE + 16 * number
        return None

    def variable_regions(self) -> list[Region]:
        """Fresh memory for the module's variables, with their initial values."""
        regions = []
        for item in self.module.items:
            if isinstance(item, Variable) and item.space in ("global", "const"):
                data = np.zeros(size_of(item), np.uint8)
                if item.initial is not None:
                    self._initialise(item, data)
                base = self.addresses[0, item.name][1]
                regions.append(named_region(base, data, item.name, item.space == "global"))
        return regions

    def _initialise(self, variable: Variable, data: Array) -> None:
        type_, at = TYPES[variable.type], 0
        for value in self._values(variable.initial or (), type_):
            piece = value if isinstance(value, bytes) else np.asarray(value).tobytes()
            piece = piece[: len(data) - at]
            data[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
            at += len(piece)

    def _values(self, items: tuple[object, ...], type_: PtxType) -> list[Any]:
        values: list[Any] = []
        for item in items:
            if isinstance(item, Immediate):
                values.append(constant(item.value, type_))
            elif isinstance(item, Name):
                plain = item.text.removeprefix("generic(").removesuffix(")")
                found = self.symbol(next(iter(self.routines.values())), None, plain)
                if found is None:
                    raise error("TT6005", None, name=plain)
                values.append(constant(found[1] + item.offset, type_))
            elif isinstance(item, str):
                values.append(bytes(item[1:-1], "utf-8").decode("unicode_escape").encode("latin-1") + b"\0")
            elif isinstance(item, tuple):
                values += self._values(item, type_)
        return values

    def pack(self, arguments: list[tuple[int, bytes]]) -> Array:
        """The parameter buffer of a launch from (offset, bytes) pairs."""
        buffer = bytearray(self.parameter_bytes)
        for offset, piece in arguments:
            struct.pack_into(f"{len(piece)}s", buffer, offset, piece)
        return np.frombuffer(bytes(buffer), np.uint8)
