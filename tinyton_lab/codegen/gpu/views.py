"""Ops that make tiles or look at them otherwise: constants, ranges, views, program numbers. They move no element."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinyton_lab.base.dtypes import int32
from tinyton_lab.codegen.gpu.state import State, layout_of, register_count
from tinyton_lab.ir.core import Op
from tinyton_lab.ir.types import Pointer
from tinyton_lab.layout.convert import renumbering
from tinyton_lab.layout.linear import Layout
from tinyton_lab.llvm.text import Register


def lower_constant(state: State, op: Op) -> None:
    element = op.result.type.element
    if isinstance(element, Pointer):
        raise RuntimeError("llvm: a constant address")
    constant = state.builder.constant(element, op.attrs["value"])
    state.values[op.result] = [constant] * register_count(op.result.type)


def lower_range(state: State, op: Op) -> None:
    layout, start = layout_of(op.result.type), op.attrs["start"]
    made = state.places(layout, range(layout.registers))
    if start:
        made = [state.builder.binary("add", place, state.builder.constant(int32, start)) for place in made]
    state.values[op.result] = made


def lower_splat(state: State, op: Op) -> None:
    state.values[op.result] = [state.scalar(op.operands[0])] * register_count(op.result.type)


def lower_program_number(state: State, op: Op) -> None:
    kind = "ctaid" if op.row.name == "program_id" else "nctaid"
    name = f"llvm.nvvm.read.ptx.sreg.{kind}.{'xyz'[op.attrs['axis']]}"
    state.values[op.result] = [state.builder.intrinsic(name, type="i32", overloads=())]


def lower_view(state: State, op: Op) -> None:
    """A view has an element where its operand has it, in the same thread: only register numbers change."""
    (value,) = op.inputs
    if value.type.is_scalar or op.result.type.is_scalar:
        state.values[op.result] = state.get(value)[:1] * register_count(op.result.type)
        return
    source, target = layout_of(value.type), layout_of(op.result.type)
    find = _VIEWS[op.row.name]
    own = Layout(source.inputs[:1], source.outputs)
    registers = state.get(value)
    made: list[Register] = []
    for register in range(target.registers):
        there = find(op, target.coordinates(target.apply(register=register)), value.type.shape)
        chosen = own.solve(there if isinstance(there, int) else source.index(there))
        if chosen is None:
            raise RuntimeError(f"llvm: {op.row.name} #{op.uid} needs an element of another thread")
        made.append(registers[chosen])
    state.values[op.result] = made


def lower_renumbering(state: State, op: Op) -> None:
    """A conversion that stays within each thread."""
    (value,) = op.inputs
    registers = state.get(value)
    chosen = renumbering(layout_of(value.type), layout_of(op.result.type))
    state.values[op.result] = [registers[source] for source in chosen]


Coordinates = tuple[int, ...]


def _expanded(op: Op, at: Coordinates, shape: Coordinates) -> Sequence[int]:
    axis = op.attrs["axis"]
    return (*at[:axis], *at[axis + 1 :])


def _broadcast(op: Op, at: Coordinates, shape: Coordinates) -> Sequence[int]:
    return tuple(place if size > 1 else 0 for place, size in zip(at, shape, strict=True))


def _reshaped(op: Op, at: Coordinates, shape: Coordinates) -> int:
    flat = 0
    for place, size in zip(at, op.attrs["shape"], strict=True):
        flat = flat * size + place
    return flat


def _transposed(op: Op, at: Coordinates, shape: Coordinates) -> Sequence[int]:
    found = [0] * len(at)
    for place, axis in zip(at, op.attrs["order"], strict=True):
        found[axis] = place
    return found


_VIEWS: dict[str, Callable[[Op, Coordinates, Coordinates], Sequence[int] | int]] = {
    "expand": _expanded,
    "broadcast": _broadcast,
    "reshape": _reshaped,
    "transpose": _transposed,
}
