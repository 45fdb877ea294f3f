"""Where the values of a function live while its code is written: registers, scratch buffers, or nowhere yet."""

from __future__ import annotations

from dataclasses import dataclass, field

from tinyton_lab.base.dtypes import DType
from tinyton_lab.codegen.cpu.arithmetic import memory_bytes, memory_type
from tinyton_lab.codegen.cpu.code import Code
from tinyton_lab.codegen.cpu.strides import Strides
from tinyton_lab.ir.core import Op, Value
from tinyton_lab.ir.types import Pointer, Tile
from tinyton_lab.llvm.text import Register
from tinyton_lab.ops.roots import Roots


@dataclass(frozen=True, slots=True)
class Buffer:
    """A tile in the thread's scratch memory, dense and row-major, from byte `at` on."""

    at: int
    element: DType | Pointer
    shape: tuple[int, ...]

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours, per axis."""
        steps, step = [], 1
        for length in reversed(self.shape):
            steps.append(step)
            step *= length
        return tuple(reversed(steps))

    @property
    def bytes(self) -> int:
        return memory_bytes(self.element)

    @property
    def type(self) -> str:
        return memory_type(self.element)

    def reshaped(self, shape: tuple[int, ...]) -> Buffer:
        return Buffer(self.at, self.element, shape)


@dataclass(slots=True)
class Values:
    """Registers of scalars, buffers of materialised tiles; every other tile is computed where it is needed.

    `copies` are loads that an overlapping store may have overtaken: where the condition holds, their tile lies in the
    buffer, as it was before the store. `ends` tells the mask past which the rows of a buffer hold one value. `roots` is
    which parameters a pointer may come from. `light`: memory limits the kernel, its few ops leave registers free.
    `again` are loaded tiles that several steps read, `near` those whose rows an earlier step has read.
    `slots` and `filled` are where in scratch memory tiny-ton's shared memory lies, and which slots were stored to.
    """

    code: Code
    roots: dict[Value, Roots]
    pointers: dict[int, int]  # parameter index -> first frame slot, of pointer parameters
    checked: bool
    strides: Strides
    light: bool = False
    again: frozenset[Value] = frozenset()
    slots: int = 0
    filled: int = 0
    scalars: dict[Value, Register] = field(default_factory=dict[Value, Register])
    buffers: dict[Value, Buffer] = field(default_factory=dict[Value, Buffer])
    copies: dict[Op, tuple[Buffer, Register]] = field(default_factory=dict[Op, "tuple[Buffer, Register]"])
    ends: dict[Value, Value] = field(default_factory=dict[Value, Value])
    near: set[Value] = field(default_factory=set[Value])

    def buffer(self, type: Tile) -> Buffer:
        """A fresh buffer for a tile of that type."""
        return Buffer(self.code.allocate(type.elements * memory_bytes(type.element)), type.element, type.shape)

    def scalar(self, value: Value) -> Register:
        if value not in self.scalars:
            raise RuntimeError(f"cpu: %{value.name} is used before it is computed")
        return self.scalars[value]
