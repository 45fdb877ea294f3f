"""Shared memory at computed places: elements read by index, counters, and the slots of tiny-ton's kernels."""

from __future__ import annotations

from tinyton_lab.codegen.gpu.access import elements_of
from tinyton_lab.codegen.gpu.arithmetic import element_dtype
from tinyton_lab.codegen.gpu.exchange import read_shared, shared_address, wait_in_warp, write_shared
from tinyton_lab.codegen.gpu.state import State, layout_of
from tinyton_lab.ir.core import Op, Value
from tinyton_lab.layout.reduce import item_bytes
from tinyton_lab.llvm.text import Register
from tinyton_lab.ops.shared import SLOT_BYTES


def lower_local_gather(state: State, op: Op) -> None:
    """Read the element at each index along the axis; the other coordinates are the register's own."""
    piece, index = op.inputs
    axis, source = op.attrs["axis"], piece.type.shape
    layout = layout_of(op.result.type)
    inner = sum(bits for _, bits in layout.outputs[: len(source) - 1 - axis])
    here, there = layout.shape[axis].bit_length() - 1, source[axis].bit_length() - 1
    places = state.places(layout, range(layout.registers))
    made: list[Register] = []
    for place, register in zip(places, state.get(index), strict=True):
        wanted = _masked(state, _index(state, index, register), source[axis] - 1)
        flat = _joined(state, place, wanted, inner, here, there)
        own = _times(state, flat, item_bytes(piece.type))
        made += read_shared(state, op.result.type, own, state.offsets[piece], 1)
    state.values[op.result] = made


def _index(state: State, value: Value, register: Register) -> Register:
    """An index as i32; its low bits are what counts."""
    dtype, b = element_dtype(value), state.builder
    if dtype.bits == 32:
        return register
    if dtype.bits > 32:
        return b.convert("trunc", register, "i32")
    return b.convert("sext" if dtype.signed else "zext", register, "i32")


def _joined(state: State, place: Register, wanted: Register, inner: int, here: int, there: int) -> Register:
    """The row-major index with the axis' bits (`here` of them, above `inner` others) replaced by `there` new ones."""
    after = _masked(state, place, (1 << inner) - 1)
    before = _shifted(state, place, inner + here)
    flat = _either(state, _raised(state, wanted, inner), after)
    return _either(state, _raised(state, before, inner + there), flat)


def _masked(state: State, x: Register, mask: int) -> Register:
    return _emit(state, "and", x, mask) if mask else Register("0", "i32")


def _shifted(state: State, x: Register, by: int) -> Register:
    return _emit(state, "lshr", x, by) if by else x


def _raised(state: State, x: Register, by: int) -> Register:
    return _emit(state, "shl", x, by) if by and x.text != "0" else x


def _times(state: State, x: Register, factor: int) -> Register:
    return _emit(state, "mul", x, factor) if factor > 1 and x.text != "0" else x


def _either(state: State, x: Register, y: Register) -> Register:
    if "0" in (x.text, y.text):
        return y if x.text == "0" else x
    return state.builder.binary("or", x, y)


def _emit(state: State, op: str, x: Register, number: int) -> Register:
    return state.builder.emit(f"{op} i32 {x.text}, {number}", "i32")


def lower_local_count(state: State, op: Op) -> None:
    """Add 1 to the counter of each element that is one's number; of several copies of an element one counts."""
    b, piece, value, mask = state.builder, op.operand("memory"), op.operand("x"), op.operand("mask")
    if piece is None or value is None:
        raise RuntimeError("llvm: an operand is absent")
    owner, (bins,), dtype = state.represents(layout_of(value.type)), piece.type.shape, element_dtype(value)
    masks = state.get(mask) if mask is not None else [None] * len(state.get(value))
    limit = Register(str(bins), dtype.llvm)
    for register, chosen in zip(state.get(value), masks, strict=True):
        counted = b.compare("icmp sge" if dtype.signed else "icmp uge", register, Register("0", dtype.llvm))
        if bins < 1 << (dtype.bits - dtype.signed):
            below = b.compare("icmp slt" if dtype.signed else "icmp ult", register, limit)
            counted = b.binary("and", counted, below)
        for condition in (chosen, owner):
            if condition is not None:
                counted = b.binary("and", counted, condition)
        own = _times(state, _masked(state, _index(state, value, register), bins - 1), 4)
        address = shared_address(state, own, state.offsets[piece])
        b.ptx("@$1 red.shared.add.u32 [$0], 1;", "r,b", [address, counted], [])


def lower_shared_store(state: State, op: Op) -> None:
    """Write a slot per lane, once; threads of the warp that hold copies of a lane see it, as the lane itself does."""
    index, value, mask = op.operand("index"), op.operand("value"), op.operand("mask")
    if index is None or value is None:
        raise RuntimeError("llvm: an operand is absent")
    registers = state.get(value)
    masks = state.get(mask) if mask is not None else [None] * len(registers)
    layout = layout_of(value.type) if value.type.shape else None
    owner = state.represents(layout)
    for place, register, chosen in zip(state.get(index), registers, masks, strict=True):
        writes = owner if chosen is None else chosen if owner is None else state.builder.binary("and", chosen, owner)
        own = _times(state, _index(state, index, place), SLOT_BYTES)
        write_shared(state, value.type, own, op.attrs["offset"], [register], writes)
    if layout is not None and layout.free("lane"):
        wait_in_warp(state)


def lower_shared_load(state: State, op: Op) -> None:
    """Read a slot per lane; masked-off lanes read nothing and get 0."""
    index, mask, b = op.operand("index"), op.operand("mask"), state.builder
    if index is None:
        raise RuntimeError("llvm: an operand is absent")
    made: list[Register] = []
    for number, place in enumerate(state.get(index)):
        own = _times(state, _index(state, index, place), SLOT_BYTES)
        if mask is None:
            made += read_shared(state, op.result.type, own, op.attrs["offset"], 1)
            continue
        address = shared_address(state, own, op.attrs["offset"])
        nothing = Register("0", "i32")
        args = [address, state.get(mask)[number], nothing]
        (word,) = b.ptx("@$2 ld.shared.b32 $0, [$1];", "=&r,r,b,0", args, ["i32"])
        made += elements_of(state, op.result.type, [word], 1)
    state.values[op.result] = made
