"""Shared memory: tiles written and read through their swizzles, single vectors for reductions, the barrier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tinyton_lab.codegen.gpu.access import CONSTRAINT, elements_of, word_of, words_of
from tinyton_lab.codegen.gpu.state import SHARED_POINTER, State, layout_of
from tinyton_lab.ir.core import Op
from tinyton_lab.ir.types import Tile
from tinyton_lab.layout.linear import Layout, combine
from tinyton_lab.layout.reduce import item_bytes
from tinyton_lab.llvm.text import Register

SHARED = "@shared"


def lower_local_store(state: State, op: Op) -> None:
    """Write a tile, a vector at a time; of several copies one is written."""
    piece, value = op.operands
    if piece is None or value is None:
        raise RuntimeError("llvm: an operand is absent")
    layout, registers = layout_of(value.type), state.get(value)
    writes = state.represents(layout)
    for own, at, chosen in _vectors(state, piece.type, layout):
        at += state.offsets[piece]
        write_shared(state, value.type, own, at, [registers[register] for register in chosen], writes)


def lower_local_load(state: State, op: Op) -> None:
    """Read a tile, a vector at a time."""
    (piece,) = op.inputs
    layout = layout_of(op.result.type)
    found: dict[int, Register] = {}
    for own, at, chosen in _vectors(state, piece.type, layout):
        at += state.offsets[piece]
        found.update(zip(chosen, read_shared(state, op.result.type, own, at, len(chosen)), strict=True))
    state.values[op.result] = [found[register] for register in range(layout.registers)]


def lower_local_alloc(state: State, op: Op) -> None:
    state.offsets[op.result] = op.attrs["offset"]


def _vectors(state: State, memory: Tile, layout: Layout) -> Iterator[tuple[Register, int, list[int]]]:
    """The vectors of a thread: bytes from a register, bytes known now, and the registers that go there in order."""
    space = layout_of(memory)
    place = layout.inverse_compose(space)
    bytes, width_bits = item_bytes(memory), len(space.bases["vector"])
    images = [image * bytes for image in (*place.bases["lane"], *place.bases["warp"])]
    moving = 0
    for image in images:
        moving |= image
    base, bases = state.thread_image(images), dict[int, Register]()
    inside = [place.bases["register"].index(1 << bit) for bit in range(width_bits)]
    outside = [at for at in range(len(place.bases["register"])) if at not in inside]
    for number in range(1 << len(outside)):
        first = sum(1 << at for index, at in enumerate(outside) if number >> index & 1)
        image = combine(place.bases["register"], first) * bytes
        crossing = image & moving
        if crossing not in bases:
            bases[crossing] = state.displaced(base, crossing, moving)
        chosen = [first | sum(1 << at for k, at in enumerate(inside) if v >> k & 1) for v in range(1 << width_bits)]
        yield bases[crossing], image & ~moving, chosen


def write_shared(
    state: State, tile: Tile, own: Register, at: int, elements: Sequence[Register], writes: Register | None
) -> None:
    """Write elements side by side at byte ``own + at``, in the threads where `writes` holds."""
    b = state.builder
    words = words_of(state, tile, elements)
    _, bits, count = word_of(item_bytes(tile), len(elements))
    address = shared_address(state, own, at)
    if writes is None:
        if bits == 8:
            words = [b.convert("trunc", words[0], "i8")]
        whole = b.pack(words) if count > 1 else words[0]
        b.effect(f"store {whole}, {address}, align {bits // 8 * count}")
        return
    names = ", ".join(f"${index + 1}" for index in range(count))
    kind = f"st.shared{f'.v{count}' if count > 1 else ''}.b{bits}"
    constraints = ["r", *(CONSTRAINT[word.type] for word in words), "b"]
    text = f"@${count + 1} {kind} [$0], {f'{{{names}}}' if count > 1 else names};"
    b.ptx(text, ",".join(constraints), [address, *words, writes], [])


def read_shared(state: State, tile: Tile, own: Register, at: int, width: int) -> list[Register]:
    """Read `width` elements side by side at byte ``own + at``."""
    b = state.builder
    _, bits, count = word_of(item_bytes(tile), width)
    whole = f"<{count} x i{bits}>" if count > 1 else f"i{bits}"
    read = b.emit(f"load {whole}, {shared_address(state, own, at)}, align {bits // 8 * count}", whole)
    return elements_of(state, tile, b.unpack(read) if count > 1 else [read], width)


def shared_address(state: State, own: Register, at: int) -> Register:
    """A pointer to byte ``own + at`` of the program's shared memory."""
    b, base = state.builder, Register(SHARED, SHARED_POINTER)
    if own.text != "0":
        base = b.emit(f"getelementptr i8, {base}, i32 {own.text}", SHARED_POINTER)
    return b.emit(f"getelementptr i8, {base}, i32 {at}", SHARED_POINTER) if at else base


def wait(state: State) -> None:
    """Wait for all threads of the program (for the warp, where that is all of them)."""
    if state.warps == 1:
        wait_in_warp(state)
    else:
        barrier = "llvm.nvvm.barrier.cta.sync.aligned.all"
        state.builder.intrinsic(barrier, Register("0", "i32"), type="void", overloads=())


def wait_in_warp(state: State) -> None:
    """Wait for all threads of the warp."""
    state.builder.intrinsic("llvm.nvvm.bar.warp.sync", Register("-1", "i32"), type="void", overloads=())


def lower_barrier(state: State, op: Op) -> None:
    wait(state)
