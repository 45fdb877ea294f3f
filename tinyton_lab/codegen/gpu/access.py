"""Global memory: vectors of words, predicated where masked, through inline PTX; plain LLVM where nothing is masked."""

from __future__ import annotations

from collections.abc import Sequence

from tinyton_lab.codegen.gpu.arithmetic import displaced_pointer, element_dtype
from tinyton_lab.codegen.gpu.state import GLOBAL_POINTER, State, layout_of, memory_type, register_count
from tinyton_lab.ir.core import Op
from tinyton_lab.ir.types import Pointer, Tile
from tinyton_lab.layout.convert import leaders
from tinyton_lab.llvm.text import Register

CONSTRAINT = {"i16": "h", "i32": "r", "i64": "l"}
WORD_BYTES = 4


def lower_load(state: State, op: Op) -> None:
    """Load a tile vector by vector; masked-off elements are `other`, or 0."""
    addresses, masks, width = _addresses(state, op), _masks(state, op), op.attrs.get("vector") or 1
    other = op.operand("other")
    loaded: list[Register] = []
    for vector in range(0, len(addresses) * width, width):
        fill = state.get(other)[vector : vector + width] if other is not None else None
        loaded += _load_vector(state, op, addresses[vector // width], masks[vector], width, fill)
    state.values[op.result] = loaded


def lower_store(state: State, op: Op) -> None:
    """Store a tile vector by vector, once where several threads hold the same elements."""
    addresses, masks, width = _addresses(state, op), _masks(state, op), op.attrs.get("vector") or 1
    tile, registers = _moved(op), state.get(op.operand("value"))
    owner = state.represents(layout_of(tile) if tile.shape else None)
    for vector in range(0, len(registers), width):
        mask = masks[vector]
        if owner is not None:
            mask = owner if mask is None else state.builder.binary("and", mask, owner)
        words = words_of(state, tile, registers[vector : vector + width])
        _store_vector(state, op, addresses[vector // width], mask, words)


def _addresses(state: State, op: Op) -> list[Register]:
    """The address of the first element of each vector: computed for the leader of a run, constant steps after it."""
    width, run, tile = op.attrs.get("vector") or 1, op.attrs.get("run"), _moved(op)
    numbers = range(0, register_count(tile), width)
    if run is None:
        return [_address(state, op, register) for register in numbers]
    places = leaders(layout_of(tile), *run)
    heads: dict[int, Register] = {}
    for leader in dict.fromkeys(places[register][0] for register in numbers):
        heads[leader] = _address(state, op, leader)
    return [_stepped(state, tile, heads[leader], after) for leader, after in (places[r] for r in numbers)]


def _address(state: State, op: Op, register: int) -> Register:
    """The address of one element."""
    pointer, distance = op.operand("pointer"), op.operand("distance")
    if pointer is None or distance is None:
        return state.get(pointer)[register]
    by = state.get(distance)[register]
    return displaced_pointer(state, pointer, state.scalar(pointer), by, element_dtype(distance).signed)


def _stepped(state: State, tile: Tile, address: Register, elements: int) -> Register:
    if elements == 0:
        return address
    return state.builder.emit(f"getelementptr {memory_type(tile)}, {address}, i64 {elements}", GLOBAL_POINTER)


def _masks(state: State, op: Op) -> list[Register | None]:
    """The mask of each element; None where it is always on."""
    mask = op.operand("mask")
    if mask is None:
        return [None] * register_count(_moved(op))
    return [None if register.text == "true" else register for register in state.get(mask)]


def _moved(op: Op) -> Tile:
    """The type of the tile that an access moves."""
    value = op.result if op.results else op.operand("value")
    if value is None:
        raise RuntimeError("llvm: an operand is absent")
    return value.type


def word_of(item_bytes: int, width: int) -> tuple[str, int, int]:
    """How `width` elements travel: (LLVM word, PTX bits of a word, words). Bytes travel in 16-bit registers."""
    total = item_bytes * width
    word_bytes = item_bytes if item_bytes == 8 else min(total, WORD_BYTES)
    return f"i{max(word_bytes, 2) * 8}", word_bytes * 8, total // word_bytes


def _load_vector(
    state: State, op: Op, address: Register, mask: Register | None, width: int, fill: Sequence[Register] | None
) -> list[Register]:
    b, tile = state.builder, op.result.type
    word, bits, count = word_of(tile.element.bytes, width)
    modifiers = _modifiers(state, op)
    if mask is None and not modifiers:
        whole = f"<{count} x i{bits}>" if count > 1 else f"i{bits}"
        read = b.emit(f"load {whole}, {address}, align {bits // 8 * count}", whole)
        return elements_of(state, tile, b.unpack(read) if count > 1 else [read], width)
    names = ", ".join(f"${index}" for index in range(count))
    kind = f"ld{modifiers or '.global'}{f'.v{count}' if count > 1 else ''}.b{bits}"
    place = f"{f'{{{names}}}' if count > 1 else names}, [${count}]"
    results = [f"=&{CONSTRAINT[word]}"] * count
    if mask is None:
        read = b.ptx(f"{kind} {place};", ",".join([*results, "l"]), [address], [word] * count)
        return elements_of(state, tile, _trimmed(state, read, bits), width)
    constraints = ",".join([*results, "l", "b", *map(str, range(count))])
    first = words_of(state, tile, fill) if fill is not None else [Register("0", word)] * count
    read = b.ptx(f"@${count + 1} {kind} {place};", constraints, [address, mask, *first], [word] * count)
    return elements_of(state, tile, _trimmed(state, read, bits), width)


def _trimmed(state: State, words: list[Register], bits: int) -> list[Register]:
    return [state.builder.convert("trunc", word, "i8") for word in words] if bits == 8 else words


def _store_vector(state: State, op: Op, address: Register, mask: Register | None, words: list[Register]) -> None:
    b, modifiers = state.builder, _modifiers(state, op)
    bits = min(_moved(op).element.bytes * 8 * (op.attrs.get("vector") or 1), int(words[0].type[1:]))
    if mask is None and not modifiers:
        if bits == 8:
            words = [b.convert("trunc", words[0], "i8")]
        whole = b.pack(words) if len(words) > 1 else words[0]
        b.effect(f"store {whole}, {address}, align {bits // 8 * len(words)}")
        return
    names = ", ".join(f"${index + 1}" for index in range(len(words)))
    kind = f"st{modifiers or '.global'}{f'.v{len(words)}' if len(words) > 1 else ''}.b{bits}"
    guard = f"@${len(words) + 1} " if mask is not None else ""
    constraints = ["l", *(CONSTRAINT[word.type] for word in words), *(["b"] if mask is not None else [])]
    args = [address, *words, *([mask] if mask is not None else [])]
    b.ptx(f"{guard}{kind} [$0], {f'{{{names}}}' if len(words) > 1 else names};", ",".join(constraints), args, [])


def _modifiers(state: State, op: Op) -> str:
    """State space and cache hints; "" for a plain access. Hints that the target lacks are dropped."""
    if op.attrs.get("volatile"):
        return ".volatile.global"
    cache, eviction = op.attrs.get("cache"), op.attrs.get("eviction")
    if cache:
        return f".global.{cache.lstrip('.')}"
    if eviction in ("evict_first", "evict_last") and int(state.target.ptx_feature[4:]) >= 74:
        return f".global.L1::{eviction}"
    return ""


def elements_of(state: State, tile: Tile, words: Sequence[Register], width: int) -> list[Register]:
    """Take words apart into `width` elements."""
    b, inside = state.builder, memory_type(tile)
    each = width // len(words)
    made: list[Register] = []
    for word in words:
        if each > 1:
            made += b.unpack(b.emit(f"bitcast {word} to <{each} x {inside}>", f"<{each} x {inside}>"))
        else:
            made.append(word if word.type == inside else b.convert("bitcast", word, inside))
    return [from_memory(state, tile, element) for element in made]


def words_of(state: State, tile: Tile, elements: Sequence[Register]) -> list[Register]:
    """Pack elements into words."""
    b = state.builder
    word, bits, count = word_of(tile.element.bytes, len(elements))
    each = len(elements) // count
    raw = [to_memory(state, tile, element) for element in elements]
    if bits == 8:
        return [b.convert("zext", raw[0], word)]
    groups = [raw[at : at + each] for at in range(0, len(raw), each)]
    packed = [b.pack(group) if each > 1 else group[0] for group in groups]
    return [one if one.type == word else b.emit(f"bitcast {one} to {word}", word) for one in packed]


def from_memory(state: State, tile: Tile, element: Register) -> Register:
    """An element as it lies in memory to the form it is computed with."""
    if isinstance(tile.element, Pointer):
        return state.builder.convert("inttoptr", element, GLOBAL_POINTER)
    if tile.element.bits == 1:
        return state.builder.compare("icmp ne", element, Register("0", "i8"))
    return element


def to_memory(state: State, tile: Tile, element: Register) -> Register:
    """An element in the form it has in memory."""
    if isinstance(tile.element, Pointer):
        return state.builder.convert("ptrtoint", element, "i64")
    if tile.element.bits == 1:
        return state.builder.convert("zext", element, "i8")
    return element
