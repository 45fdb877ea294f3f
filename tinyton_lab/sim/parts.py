"""Which bytes of which registers the bytes of a result came from, for instructions that move or pack them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tinyton_lab.ptx.syntax import Immediate, Name, Vector
from tinyton_lab.sim.moments import Moment, first_name, items_of, names_in

_INTEGERS = ("bits", "unsigned", "signed")


class Part(NamedTuple):
    """`size` bytes of a register from byte `first` on; 0: all of it."""

    name: str
    first: int = 0
    size: int = 0


def parts_of(now: Moment, name: str) -> list[Part] | None:
    """The parts that led to the bytes asked about; None where every operand did, as a whole."""
    rule = _RULES.get(now.form.row.mnemonic)
    if rule is not None:
        return rule(now, name)
    packed = all(type_.name.endswith("x2") for type_ in now.form.types) and bool(now.form.types)
    return _alike(now, name) if packed and now.size == now.form.type.bytes // 2 else None


def _alike(now: Moment, name: str) -> list[Part]:
    """Each byte from the same byte of every operand."""
    return [Part(each, now.first, now.size) for operand in now.instruction.operands[1:] for each in names_in(operand)]


def _moved(now: Moment, name: str) -> list[Part] | None:
    target, source = now.instruction.operands[:2]
    if isinstance(target, Vector):
        names = [first_name(item) for item in target.items]
        each = now.form.type.bytes // len(names)
        return [Part(first_name(source), names.index(name) * each + now.first, now.size or each)]
    if not isinstance(source, Vector):
        return _alike(now, name)
    each = now.form.type.bytes // len(items_of(source))
    which = now.first // each
    if not now.size or (now.first + now.size - 1) // each != which:
        return None
    return [Part(first_name(source.items[which]), now.first - which * each, now.size if now.size < each else 0)]


def _converted(now: Moment, name: str) -> list[Part] | None:
    """Of two operands the first gives the upper half; integers keep their low bytes."""
    operands, types = now.instruction.operands, now.form.types
    if len(operands) == 3 and types[0].name.endswith("x2") and now.size == types[0].bytes // 2:
        return [Part(first_name(operands[1 if now.first else 2]))]
    if len(types) == 2 and all(type_.kind in _INTEGERS for type_ in types) and not any(now.form.words.values()):
        low = min(type_.bytes for type_ in types)
        first = min(now.first, low - 1)
        return [_whole(Part(first_name(operands[1]), first, min(now.size or low, low - first)), types[1].bytes)]
    return None


def _permuted(now: Moment, name: str) -> list[Part] | None:
    operands = now.instruction.operands
    if len(operands) != 4 or not isinstance(operands[3], Immediate) or any(now.form.words.values()):
        return None
    selector = int(operands[3].value)
    chosen = [selector >> 4 * byte & 7 for byte in range(now.first, now.first + (now.size or 4))]
    return _joined(((first_name(operands[1 + place // 4]), place % 4) for place in chosen), 4)


def _shifted(now: Moment, name: str) -> list[Part] | None:
    operands, total = now.instruction.operands, now.form.type.bytes
    if not isinstance(operands[2], Immediate) or int(operands[2].value) % 8:
        return None
    distance = int(operands[2].value) // 8 * (1 if now.form.row.mnemonic == "shr" else -1)
    wanted = [byte + distance for byte in range(now.first, now.first + (now.size or total))]
    if now.form.type.kind == "signed":
        wanted = [min(byte, total - 1) for byte in wanted]
    return _joined(((first_name(operands[1]), byte) for byte in wanted if 0 <= byte < total), total)


def _bitwise(now: Moment, name: str) -> list[Part]:
    operands = now.instruction.operands
    mask = next((int(each.value) for each in operands[1:3] if isinstance(each, Immediate)), -1)
    if now.form.row.mnemonic != "and" or mask == -1:
        return _alike(now, name)
    kept = [byte for byte in range(now.first, now.first + (now.size or now.form.type.bytes)) if mask >> 8 * byte & 255]
    named = [first_name(each) for each in operands[1:3] if isinstance(each, Name)]
    return _joined(((each, byte) for each in named for byte in kept), now.form.type.bytes)


def _selected(now: Moment, name: str) -> list[Part]:
    *values, condition = now.instruction.operands[1:]
    return [*(Part(each, now.first, now.size) for one in values for each in names_in(one)), Part(first_name(condition))]


def _whole(part: Part, total: int) -> Part:
    """All `total` bytes of a register are the register."""
    return Part(part.name) if part.size == total else part


def _joined(bytes_: Iterable[tuple[str, int]], total: int) -> list[Part]:
    """Bytes of registers of `total` bytes, neighbours together; immediates (of no name) left out."""
    found: list[Part] = []
    for name, byte in bytes_:
        last = found[-1] if found else None
        if last is not None and last.name == name and last.first + last.size == byte:
            found[-1] = last._replace(size=last.size + 1)
        elif name and Part(name, byte, 1) not in found:
            found.append(Part(name, byte, 1))
    return [_whole(part, total) for part in found]


_RULES: dict[str, Callable[[Moment, str], list[Part] | None]] = {
    "mov": _moved,
    "cvt": _converted,
    "prmt": _permuted,
    "shr": _shifted,
    "shl": _shifted,
    "and": _bitwise,
    "or": _bitwise,
    "xor": _bitwise,
    "not": _bitwise,
    "selp": _selected,
}
