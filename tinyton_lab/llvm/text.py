"""Write LLVM IR as text: registers, instructions, blocks, debug lines. Knows neither tiles nor targets.

Text is about twenty times faster to make than instruction objects, and it is what the lab shows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyton_lab.base.dtypes import DType, bfloat16, float16
from tinyton_lab.base.floats import narrowed

_VECTOR = re.compile(r"<(\d+) x (.*)>")


@dataclass(frozen=True, slots=True)
class Register:
    """An LLVM value: a name or a constant, with its type (``float``, ``<8 x float>``, ``ptr``)."""

    text: str
    type: str

    @property
    def lanes(self) -> int:
        """Lanes of a vector; 0 for a scalar."""
        match = _VECTOR.fullmatch(self.type)
        return int(match[1]) if match else 0

    @property
    def element(self) -> str:
        match = _VECTOR.fullmatch(self.type)
        return match[2] if match else self.type

    def __str__(self) -> str:
        return f"{self.type} {self.text}"


def vector(element: str, lanes: int) -> str:
    """The type of `lanes` elements; 0 lanes is the scalar."""
    return f"<{lanes} x {element}>" if lanes else element


def constant_text(dtype: DType, value: float | int | bool) -> str:
    """Spell a constant of `dtype` exactly (floats by their bits)."""
    if dtype.kind != "float":
        return str(int(value)) if dtype.bits > 1 else ("true" if value else "false")
    rounded = narrowed(value, dtype.numpy)
    if dtype is float16 or dtype is bfloat16:
        return f"0x{'H' if dtype is float16 else 'R'}{int(rounded.view(np.uint16)):04X}"
    return f"0x{int(rounded.astype(np.float64).view(np.uint64)):016X}"


class Builder:
    """Append instructions to a function body. `kind` is ``cpu`` or ``gpu``; `fast` asks for approximate instructions.

    `uid` is the op number that new instructions belong to: it becomes their debug line (0: none).
    """

    def __init__(self, kind: str, fast: bool = False) -> None:
        self.kind, self.fast = kind, fast
        self.lines: list[str] = []
        self.uid = 0
        self.declarations: dict[str, None] = {}
        self.globals: list[str] = []
        self._count = 0
        self._label = "entry"

    # -- instructions -------------------------------------------------------------------------------------------------
    def effect(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}{f', !dbg !{{{self.uid}}}' if self.uid else ''}")

    def emit(self, text: str, type: str) -> Register:
        """Append an instruction and name its result."""
        self._count += 1
        name = f"%v{self._count}"
        self.effect(f"{name} = {text}")
        return Register(name, type)

    def binary(self, op: str, x: Register, y: Register) -> Register:
        return self.emit(f"{op} {x.type} {x.text}, {y.text}", x.type)

    def unary(self, op: str, x: Register) -> Register:
        return self.emit(f"{op} {x.type} {x.text}", x.type)

    def compare(self, how: str, x: Register, y: Register) -> Register:
        """``how`` is ``icmp slt``, ``fcmp oeq`` ...; gives i1 or a vector of it."""
        return self.emit(f"{how} {x.type} {x.text}, {y.text}", vector("i1", x.lanes))

    def select(self, condition: Register, x: Register, y: Register) -> Register:
        return self.emit(f"select {condition}, {x}, {y}", x.type)

    def convert(self, op: str, x: Register, element: str) -> Register:
        """``sext trunc fptosi bitcast`` ... to another element type, lane by lane."""
        to = vector(element, x.lanes)
        return self.emit(f"{op} {x} to {to}", to)

    def intrinsic(
        self, name: str, *args: Register, type: str | None = None, overloads: Sequence[str] | None = None
    ) -> Register:
        """Call an LLVM intrinsic; its name is completed by the first argument's type unless `overloads` are given."""
        result = type or args[0].type
        suffix = "".join(f".{_mangle(t)}" for t in ((args[0].type,) if overloads is None else overloads))
        return self.call(f"{name}{suffix}", args, result)

    def call(self, name: str, args: Sequence[Register], type: str, attributes: str = "") -> Register:
        """Call a function by name, declaring it; ``void`` gives a register that must not be used."""
        self.declarations[f"declare {type} @{name}({', '.join(a.type for a in args)}){attributes}"] = None
        text = f"call {type} @{name}({', '.join(map(str, args))})"
        if type == "void":
            self.effect(text)
            return Register("void", "void")
        return self.emit(text, type)

    def constant(self, dtype: DType, value: float | int | bool, like: Register | None = None) -> Register:
        """A constant of `dtype`, splat over the lanes of `like`."""
        lanes = like.lanes if like is not None else 0
        text = constant_text(dtype, value)
        return Register(f"splat ({dtype.llvm} {text})" if lanes else text, vector(dtype.llvm, lanes))

    def constant_bits(self, value: int, element: str, lanes: int) -> Register:
        """An integer constant, splat over lanes."""
        return Register(f"splat ({element} {value})" if lanes else str(value), vector(element, lanes))

    def splat(self, x: Register, lanes: int) -> Register:
        """Copy a scalar into every lane."""
        if not lanes:
            return x
        if not x.text.startswith("%"):
            return Register(f"splat ({x})", vector(x.type, lanes))
        to = vector(x.type, lanes)
        first = self.emit(f"insertelement {to} poison, {x}, i64 0", to)
        return self.emit(f"shufflevector {first}, {to} poison, <{lanes} x i32> zeroinitializer", to)

    # -- control flow -------------------------------------------------------------------------------------------------
    def label(self, hint: str) -> str:
        """A fresh block label."""
        self._count += 1
        return f"{hint}.{self._count}"

    def place(self, label: str) -> None:
        """Start the block `label` here."""
        self.lines.append(f"{label}:")
        self._label = label

    @property
    def current_label(self) -> str:
        return self._label

    def branch(self, label: str) -> None:
        self.effect(f"br label %{label}")

    def branch_if(self, condition: Register, then: str, otherwise: str) -> None:
        self.effect(f"br {condition}, label %{then}, label %{otherwise}")

    def phi(self, type: str, incoming: Sequence[tuple[Register, str]]) -> Register:
        return self.emit(f"phi {type} {', '.join(f'[ {r.text}, %{label} ]' for r, label in incoming)}", type)

    def open_phi(self, type: str, first: Register, label: str) -> tuple[Register, int]:
        """A phi whose second edge is not known yet; close it with `close_phi` and the index given."""
        register = self.emit(f"phi {type} [ {first.text}, %{label} ]", type)
        return register, len(self.lines) - 1

    def close_phi(self, index: int, register: Register, label: str) -> None:
        """Add the back edge of a loop to an open phi."""
        head, dbg, tail = self.lines[index].partition(", !dbg")
        self.lines[index] = f"{head}, [ {register.text}, %{label} ]{dbg}{tail}"


def _mangle(type: str) -> str:
    match = _VECTOR.fullmatch(type)
    if match:
        return f"v{match[1]}{_mangle(match[2])}"
    return {"float": "f32", "double": "f64", "half": "f16", "bfloat": "bf16", "ptr": "p0"}.get(type, type)


def with_debug_lines(module: str, name: str, entry: str) -> str:
    """Turn the op numbers in ``!dbg !{n}`` into debug locations of a synthetic file whose lines are op numbers.

    The file is called ``<name>.tile``; `entry` is the function that carries the subprogram. Emission kind
    ``DebugDirectivesOnly`` keeps `.loc` lines and leaves the optimisation level alone.
    """
    numbers: dict[str, int] = {}

    def locate(match: re.Match[str]) -> str:
        return f"!dbg !{numbers.setdefault(match[1], 10 + len(numbers))}"

    text = re.sub(r"!dbg !\{(\d+)\}", locate, module)
    text = re.sub(rf"(define [^\n]*@{re.escape(entry)}\([^\n]*?)( \{{\n)", r"\1 !dbg !5\2", text, count=1)
    locations = "".join(f"!{at} = !DILocation(line: {uid}, column: 1, scope: !5)\n" for uid, at in numbers.items())
    return text + _DEBUG_HEADER.format(name=name, entry=entry) + locations


_DEBUG_HEADER = """
!llvm.dbg.cu = !{{!0}}
!llvm.module.flags = !{{!2}}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "tinyton_lab", isOptimized: true, \
runtimeVersion: 0, emissionKind: DebugDirectivesOnly)
!1 = !DIFile(filename: "{name}.tile", directory: ".")
!2 = !{{i32 2, !"Debug Info Version", i32 3}}
!3 = !DISubroutineType(types: !4)
!4 = !{{null}}
!5 = distinct !DISubprogram(name: "{entry}", file: !1, line: 0, type: !3, scopeLine: 0, \
spFlags: DISPFlagDefinition, unit: !0)
"""
