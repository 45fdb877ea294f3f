"""PTX from a kernel's source: operands packed as its author expects, one call per group of elements."""

from __future__ import annotations

from collections.abc import Sequence

from tinyton_lab.codegen.gpu.access import from_memory, to_memory
from tinyton_lab.codegen.gpu.state import State, memory_type, register_count
from tinyton_lab.ir.core import Op
from tinyton_lab.ir.types import Tile
from tinyton_lab.llvm.text import Register
from tinyton_lab.ops import assembly

REGISTER_BITS = 32


def lower_assembly(state: State, op: Op) -> None:
    """Call the text for every `pack` registers; what is missing of the last group is repeated."""
    pack, inputs = op.attrs["pack"], list(op.inputs)
    columns = [state.get(value) for value in inputs]
    count = register_count((inputs[0] if inputs else op.results[0]).type)
    made: list[list[Register]] = [[] for _ in op.results]
    for first in range(0, count, pack):
        groups = [column[first : first + pack] for column in columns]
        full = [group + group[-1:] * (pack - len(group)) for group in groups]
        operands = [x for value, group in zip(inputs, full, strict=True) for x in packed(state, value.type, group)]
        found = _call(state, op, operands, pack)
        for column, registers in zip(made, found, strict=True):
            column += registers[: count - first]
    for result, column in zip(op.results, made, strict=True):
        state.values[result] = column


def together(tile: Tile, pack: int) -> int:
    """Elements of a pack that share one register of the assembly."""
    return min(max(REGISTER_BITS // (tile.element.bytes * 8), 1), pack)


def packed(state: State, tile: Tile, group: Sequence[Register]) -> list[Register]:
    """The registers in which a pack of elements is passed."""
    b, each = state.builder, together(tile, len(group))
    raw = [to_memory(state, tile, x) for x in group]
    if each == 1:
        return raw
    words = [b.pack(raw[at : at + each]) for at in range(0, len(raw), each)]
    bits = each * tile.element.bytes * 8
    return [b.emit(f"bitcast {word} to i{bits}", f"i{bits}") for word in words]


def _call(state: State, op: Op, operands: list[Register], pack: int) -> list[list[Register]]:
    """One call; gives the elements of each result."""
    b, types = state.builder, list[str]()
    for result in op.results:
        each = together(result.type, pack)
        word = memory_type(result.type) if each == 1 else f"i{each * result.type.element.bytes * 8}"
        types += [word] * (pack // each)
    text = "".join(_escaped(c) for c in op.attrs["text"])
    effect = "sideeffect " if op.row is assembly.assembly_with_effects else ""
    whole = types[0] if len(types) == 1 else f"{{ {', '.join(types)} }}"
    constraints = op.attrs["constraints"].replace(" ", "")
    call = f'call {whole} asm {effect}"{text}", "{constraints}"({", ".join(map(str, operands))})'
    returned = b.emit(call, whole)
    words = [returned]
    if len(types) > 1:
        words = [b.emit(f"extractvalue {returned}, {at}", type) for at, type in enumerate(types)]
    found: list[list[Register]] = []
    for result in op.results:
        each = together(result.type, pack)
        mine, words = words[: pack // each], words[pack // each :]
        if each > 1:
            inside = memory_type(result.type)
            vectors = [b.emit(f"bitcast {word} to <{each} x {inside}>", f"<{each} x {inside}>") for word in mine]
            mine = [element for vector in vectors for element in b.unpack(vector)]
        found.append([from_memory(state, result.type, x) for x in mine])
    return found


def _escaped(character: str) -> str:
    plain = " " <= character <= "~" and character not in '"\\'
    return character if plain else "".join(f"\\{byte:02X}" for byte in character.encode())
