"""Atomic accesses of global memory: one instruction where PTX has it, else compare and exchange until it holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinyton_lab.base.dtypes import DType, bfloat16, float32
from tinyton_lab.base.targets import Target
from tinyton_lab.codegen.gpu.access import CONSTRAINT
from tinyton_lab.codegen.gpu.arithmetic import cast, displaced_pointer, element_dtype, emit_row
from tinyton_lab.codegen.gpu.exchange import read_shared, wait, write_shared
from tinyton_lab.codegen.gpu.state import State, layout_of
from tinyton_lab.ir.core import Op
from tinyton_lab.layout.reduce import item_bytes
from tinyton_lab.llvm.text import Register
from tinyton_lab.ops import atomic
from tinyton_lab.ops.casts import compute_dtype

CONSTRAINTS = CONSTRAINT | {"float": "f", "double": "d"}
SCOPES = {"gpu": ".gpu", "cta": ".cta", "sys": ".sys"}


def instruction(kind: str, dtype: DType, target: Target) -> str | None:
    """Operation and type of the PTX instruction: ``add.u32``; None where there is none."""
    if kind == "exchange":
        return f"exch.b{dtype.bits}" if dtype.bits >= 32 else None
    if kind in ("and", "or", "xor"):
        return f"{kind}.b{dtype.bits}"
    if dtype.kind == "float":
        narrow = dtype.bits < 32
        fits = kind == "add" and (dtype is not bfloat16 or target.capability >= 90)
        return (f"add.noftz.{dtype.ptx}" if narrow else f"add.{dtype.ptx}") if fits else None
    sign = "s" if dtype.signed and kind != "add" else "u"
    return f"{kind}.{sign}{dtype.bits}"


def lower_atomic(state: State, op: Op) -> None:
    """Change each element once, by one of the threads that hold it; the others are told what it was."""
    value, kind = op.operand("value"), op.attrs.get("kind")
    dtype, tile = element_dtype(value), op.result.type
    layout = layout_of(tile) if tile.shape else None
    owner = state.represents(layout)
    masks = _masks(state, op, len(state.get(value)))
    name = instruction(kind, dtype, state.target) if kind else None
    expected = state.get(op.operand("expected")) if not kind else [None] * len(masks)
    found: list[Register] = []
    for address, new, old, mask in zip(_addresses(state, op), state.get(value), expected, masks, strict=True):
        on = owner if mask is None else mask if owner is None else state.builder.binary("and", mask, owner)
        if old is not None:
            found.append(_compared(state, op, address, [old, new], on))
        elif name is not None:
            found.append(_changed(state, op, name, address, [new], on))
        else:
            found.append(_retried(state, op, dtype, address, new, on))
    state.values[op.result] = found
    if "scratch" in op.attrs:
        _tell(state, op, found, owner)


def _addresses(state: State, op: Op) -> list[Register]:
    pointer, distance = op.operand("pointer"), op.operand("distance")
    if pointer is None or distance is None:
        return state.get(pointer)
    base, signed = state.scalar(pointer), element_dtype(distance).signed
    return [displaced_pointer(state, pointer, base, by, signed) for by in state.get(distance)]


def _masks(state: State, op: Op, count: int) -> list[Register | None]:
    mask = op.operand("mask") if op.row is atomic.atomic else None
    if mask is None:
        return [None] * count
    return [None if register.text == "true" else register for register in state.get(mask)]


def _changed(
    state: State, op: Op, name: str, address: Register, operands: Sequence[Register], on: Register | None
) -> Register:
    """One instruction, under a predicate; threads that are off get 0."""
    b, bits = state.builder, int(name[-2:])
    word = f"i{bits}" if not operands[0].type.startswith(("float", "double")) else operands[0].type
    raw = [b.recast(x, word) for x in operands]
    if name.startswith(("exch", "cas")) and word in ("float", "double"):
        word = f"i{bits}"
        raw = [b.recast(x, word) for x in raw]
    order = f"{op.attrs.get('order') or 'acq_rel'}{SCOPES[op.attrs.get('scope') or 'gpu']}"
    names = ", ".join(f"${2 + at}" for at in range(len(raw)))
    kinds = ["l", *(CONSTRAINTS[x.type] for x in raw)]
    zero = Register("0" if word.startswith("i") else "0.0", word)
    guard, extra = ("", []) if on is None else (f"@${2 + len(raw)} ", [on])
    kinds += ["b"] if on is not None else []
    text = f"{guard}atom.{order}.global.{name} $0, [$1], {names};"
    constraints = ",".join([f"=&{CONSTRAINTS[word]}", *kinds, "0"])
    (result,) = b.ptx(text, constraints, [address, *raw, *extra, zero], [word])
    return b.recast(result, operands[0].type)


def _compared(state: State, op: Op, address: Register, operands: Sequence[Register], on: Register | None) -> Register:
    bits = {"float": 32, "double": 64, "half": 16, "bfloat": 16}.get(operands[0].type) or int(operands[0].type[1:])
    return _changed(state, op, f"cas.b{bits}", address, operands, on)


def _retried(state: State, op: Op, dtype: DType, address: Register, new: Register, on: Register | None) -> Register:
    """Read, combine and exchange until nobody came between."""
    b, word = state.builder, f"i{dtype.bits}"
    zero = Register("0", word)
    entry, again, done = b.current_label, b.label("again"), b.label("done")
    start = b.label("start")
    b.branch_if(on or Register("true", "i1"), start, done)
    b.place(start)
    (first,) = b.ptx(f"ld.relaxed.gpu.global.b{dtype.bits} $0, [$1];", f"={CONSTRAINT[word]},l", [address], [word])
    b.branch(again)
    b.place(again)
    old, line = b.open_phi(word, first, start)
    combined = _combine(state, op, dtype)(b.recast(old, new.type), new)
    seen = _compared(state, op, address, [old, b.recast(combined, word)], None)
    b.close_phi(line, seen, b.current_label)
    b.branch_if(b.compare("icmp eq", seen, old), done, again)
    end = b.current_label
    b.place(done)
    return b.recast(b.phi(word, [(zero, entry), (old, end)]), new.type)


def _combine(state: State, op: Op, dtype: DType) -> Callable[[Register, Register], Register]:
    row, compute = atomic.COMBINES[op.attrs["kind"]], compute_dtype(dtype)

    def apply(old: Register, new: Register) -> Register:
        if row is None:
            return new
        if compute is not float32 or dtype is float32:
            return emit_row(state, row, dtype, [old, new], {})
        wide = [cast(state, x, dtype, float32, None) for x in (old, new)]
        return cast(state, emit_row(state, row, float32, wide, {}), float32, dtype, None)

    return apply


def _tell(state: State, op: Op, found: list[Register], owner: Register | None) -> None:
    """Through shared memory, tell the threads that hold copies what the elements were."""
    tile, size = op.result.type, item_bytes(op.result.type)
    start = op.attrs["scratch"]
    if tile.shape:
        layout = layout_of(tile)
        places = state.places(layout, range(layout.registers))
        own = [state.builder.emit(f"mul i32 {place.text}, {size}", "i32") for place in places]
    else:
        own = [Register("0", "i32")]
    for place, register in zip(own, found, strict=True):
        write_shared(state, tile, place, start, [register], owner)
    wait(state)
    state.values[op.result] = [read_shared(state, tile, place, start, 1)[0] for place in own]
