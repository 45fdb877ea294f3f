"""Every computing form of the instruction table as PTX: one kernel runs many of them on loaded operands."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np

from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.ptx.isa import Form, Role, Row, resolve
from tinyton_lab.ptx.table import ROWS
from tinyton_lab.ptx.types import TYPES, PtxType
from tinyton_lab.sim import Module

LANES, OPERANDS = 128, 4
_MOST_TYPES = 40


def _choices(row: Row) -> Iterator[tuple[str, ...]]:
    """Type names for each position: all combinations, or one position varied at a time."""
    if np.prod([len(names) for names in row.types], dtype=int) <= _MOST_TYPES:
        yield from itertools.product(*row.types)
        return
    for position, names in enumerate(row.types):
        for name in names:
            yield tuple(name if n == position else others[-1] for n, others in enumerate(row.types))


def _modifiers(row: Row) -> Iterator[tuple[str, ...]]:
    """Words for the slots: the plain form, then each word of each slot."""
    plain = [slot.words[0] if slot.required else "" for slot in row.slots]
    yield tuple(plain)
    for position, slot in enumerate(row.slots):
        for word in slot.words:
            yield tuple(word if n == position else w for n, w in enumerate(plain))


@cache
def opcodes() -> tuple[str, ...]:
    """The opcodes of all rows that only compute on registers."""
    found: dict[str, None] = {}
    for rows in ROWS.values():
        for row in rows:
            if row.effect or any(role.type in ("any", "address", "label") for role in row.roles):
                continue
            for types, words in itertools.product(_choices(row), _modifiers(row)):
                opcode = ".".join([row.mnemonic, *(w for w in words if w), *types])
                try:
                    found[opcode] = None if resolve(opcode).row is row else found[opcode]
                except (TinytonError, KeyError):
                    continue
    return tuple(found)


def _type(form: Form, role: Role) -> PtxType:
    first, _, _ = role.type.removesuffix("+").partition("|")
    return form.type_of(Role("", first)) or TYPES["b32"]


def _register(type_: PtxType) -> str:
    return "pred" if type_.kind == "pred" else f"b{max(type_.bits, 16)}"


class _Text:
    """Mutable: a kernel under construction. Operand column k of lane l lies at ``x + (k * LANES + l) * 8``."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.registers: dict[str, list[str]] = {}

    def register(self, kind: str) -> str:
        names = self.registers.setdefault(kind, [])
        names.append(f"%{kind}_{len(names)}_")
        return names[-1]

    def source(self, type_: PtxType, column: int) -> str:
        name = self.register(_register(type_))
        offset = (column * LANES) * 8
        if type_.kind == "pred":
            value = self.register("b32")
            self.lines += [f"ld.global.b32 {value}, [%x+{offset}];", f"and.b32 {value}, {value}, 1;"]
            self.lines.append(f"setp.ne.u32 {name}, {value}, 0;")
        else:
            self.lines.append(f"ld.global.b{type_.bits} {name}, [%x+{offset}];")
        return name

    def instruction(self, opcode: str, place: int) -> None:
        """One instruction; its results go to column `place` (and the next one) of the output."""
        form, operands, results, column = resolve(opcode), [], [], 0
        for role in form.row.roles:
            if role.type == "carry":
                continue
            type_ = _type(form, role)
            if role.written:
                results.append((self.register(_register(type_)), type_))
                operands.append(results[-1][0])
                if "|" in role.name:
                    results.append((self.register("pred"), TYPES["pred"]))
                    operands[-1] += "|" + results[-1][0]
            elif role.name == "table":
                operands.append("0x96")
            else:
                operands.append(self.source(type_, column % OPERANDS))
                column += 1
        self.lines.append(f"{opcode} {', '.join(operands)};")
        for number, (name, type_) in enumerate(results):
            self.store(name, type_, place + number)

    def store(self, name: str, type_: PtxType, place: int) -> None:
        if type_.kind == "pred":
            value = self.register("b32")
            self.lines.append(f"selp.b32 {value}, 1, 0, {name};")
            name, type_ = value, TYPES["b32"]
        self.lines.append(f"st.global.b{type_.bits} [%y+{place * LANES * 8}], {name};")

    def text(self) -> str:
        declared = "\n".join(f".reg .{kind} {name};" for kind, names in self.registers.items() for name in names)
        body = "\n".join(self.lines)
        return f""".version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y)
{{
.reg .b64 %x, %y, %offset; .reg .b32 %lane;
{declared}
ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; mov.u32 %lane, %tid.x;
mul.wide.u32 %offset, %lane, 8; add.u64 %x, %x, %offset; add.u64 %y, %y, %offset;
{body}
ret;
}}
"""


def kernel(chosen: tuple[str, ...]) -> str:
    """A kernel that runs the chosen opcodes; each has two columns of the output."""
    made = _Text()
    for number, opcode in enumerate(chosen):
        made.instruction(opcode, 2 * number)
    return made.text()


def operands(seed: int) -> np.ndarray:
    """Bit patterns for all lanes: random ones, small numbers, and the special values of every float format."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 1 << 63, (OPERANDS, LANES), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    single = [0, 1 << 31, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 1, 0x80000001, 0x7FFFFF, 0x800000, 0x7FC00001]
    halves = [0x3C003C00, 0x00018000, 0x7C00FC00, 0x7E000400, 0x3F803F80, 0x7F80FF80, 0x03FF7BFF]
    double = [0x3FF << 52, 0x7FF << 52, 0xFFF << 52, 1 << 63, 0x3CA << 52, 0x7FEFFFFFFFFFFFFF, 5]
    special = [s | s << 32 for s in [*single, *halves, *range(9), 31, 32, 33, 255]] + double
    places = rng.integers(0, LANES, (OPERANDS, LANES // 2))
    picks = rng.choice(np.array(special, np.uint64), places.shape)
    np.put_along_axis(values, places, picks, axis=1)
    # Numbers of moderate size, where arithmetic does not overflow.
    some = values[:, ::5]
    small = np.float32(rng.standard_normal(some.shape)).view(np.uint32).astype(np.uint64)
    values[:, ::5] = small * np.uint64((1 << 32) + 1)
    values[:, 3::10] = rng.standard_normal(values[:, 3::10].shape).view(np.uint64)
    return values


def results(chosen: tuple[str, ...], seed: int, engine: str) -> np.ndarray:
    """(opcode, result, lane) bits of the chosen opcodes on an engine."""
    x, y = operands(seed), np.zeros((len(chosen), 2, LANES), np.uint64)
    launch = Module(kernel(chosen)).launch("k", 1, LANES, [x, y], engine=engine)
    assert launch.engine == engine, launch.remark
    return y
