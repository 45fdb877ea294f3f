"""Table T7: the one place where PTX instructions are described; families are in the isa_* files. Knows no machine."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from tinyton_lab.base.diagnostics import error
from tinyton_lab.base.source import Span
from tinyton_lab.ptx.types import TYPES, PtxType, doubled, unsigned

LaneFunction = Callable[..., Any]


class TwoResults(NamedTuple):
    """The function of a row with two destinations ``d|p``: `first` gives the first alone, `both` a pair."""

    first: LaneFunction
    both: LaneFunction


@dataclass(frozen=True, slots=True)
class Slot:
    """One place for a modifier: its `name`, the `words` that may stand there, and whether one must."""

    name: str
    words: tuple[str, ...]
    required: bool = False


@dataclass(frozen=True, slots=True)
class Role:
    """One operand: `name`, the `type` it has (see `Form.type_of`), whether it is written, and whether it may be absent.

    `type` is a type name, ``T0``/``T1``/... for the form's types, ``U0`` for their unsigned bits, ``W0`` for twice the
    width; ``address``, ``label``, ``any`` for operands that carry no value of one type. A trailing ``+`` lets a
    register be wider.
    """

    name: str
    type: str
    written: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One instruction: what may be written, and what it does.

    `operands` is read as roles: ``>d=T0`` is written, ``c?=T0`` may be absent. `types` lists the allowed names for each
    type position. `run` makes, from a resolved form, the numpy function over lanes (None where the machine is involved;
    then `effect` names what the machine does). `pipe` is the cost class: alu fma xu lsu tensor branch barrier warp.
    """

    mnemonic: str
    operands: str
    types: tuple[tuple[str, ...], ...]
    slots: tuple[Slot, ...]
    run: Callable[[Form], LaneFunction | TwoResults] | None
    pipe: str
    section: str
    doc: str
    effect: str = ""

    @property
    def roles(self) -> tuple[Role, ...]:
        return _roles(self.operands)

    @property
    def syntax(self) -> str:
        """One line that shows the form: ``add{.sat}.type d, a, b``."""
        parts = [self.mnemonic]
        for slot in self.slots:
            body = "|".join(f".{word}" for word in slot.words[:8])
            parts.append(body if slot.required else "{" + body + "}")
        parts += ["." + "|".join(names[:8]) for names in self.types]
        roles = [role.name if not role.optional else "{" + role.name + "}" for role in self.roles]
        return "".join(parts) + " " + ", ".join(roles)


@dataclass(frozen=True, slots=True)
class Form:
    """An opcode as written, understood: its row, the word in each slot ("" where none), and its types."""

    opcode: str
    row: Row
    words: dict[str, str]
    types: tuple[PtxType, ...]

    def __getitem__(self, slot: str) -> str:
        return self.words.get(slot, "")

    def has(self, slot: str) -> bool:
        return bool(self.words.get(slot))

    @property
    def type(self) -> PtxType:
        return self.types[0]

    def type_of(self, role: Role) -> PtxType | None:
        """The type of an operand's value; None for addresses, labels and the like."""
        text = role.type.removesuffix("+")
        if text in TYPES:
            return TYPES[text]
        kind, index = text[0], text[1:]
        if not index.isdigit():
            return None
        base = self.types[int(index)]
        return {"T": lambda t: t, "U": unsigned, "W": doubled}[kind](base)


ROWS: dict[str, list[Row]] = {}


@cache
def _roles(text: str) -> tuple[Role, ...]:
    found: list[Role] = []
    for word in text.split():
        name, _, type_ = word.partition("=")
        written, optional = name.startswith(">"), name.endswith("?")
        found.append(Role(name.strip(">?"), type_, written, optional))
    return tuple(found)


def row(
    mnemonic: str,
    operands: str,
    types: Iterable[str | tuple[str, ...]] = (),
    slots: Iterable[Slot] = (),
    run: Callable[[Form], LaneFunction | TwoResults] | None = None,
    *,
    pipe: str = "alu",
    section: str,
    doc: str,
    effect: str = "",
) -> None:
    """Add a row to the table. Rows of one mnemonic are tried in order."""
    positions = tuple(tuple(names.split()) if isinstance(names, str) else names for names in types)
    ROWS.setdefault(mnemonic, []).append(
        Row(mnemonic, operands, positions, tuple(slots), run, pipe, section, doc, effect)
    )


def pure(function: LaneFunction) -> Callable[[Form], LaneFunction]:
    """The `run` of a row whose function does not depend on the form."""
    return lambda form: function


@lru_cache(maxsize=8192)
def _resolve(opcode: str) -> Form | tuple[str, dict[str, str]]:
    mnemonic, *words = opcode.split(".")
    rows = ROWS.get(mnemonic)
    if rows is None:
        close = difflib.get_close_matches(mnemonic, ROWS, 1)
        return "TT6002", {"opcode": opcode, "close": f"did you mean {close[0]!r}?" if close else ""}
    reasons: list[str] = []
    for candidate in rows:
        found = _match(candidate, words)
        if isinstance(found, str):
            reasons.append(found)
        else:
            return Form(opcode, candidate, found[0], found[1])
    best = rows[0] if len(rows) == 1 else max(rows, key=lambda r: sum(w in s.words for w in words for s in r.slots))
    return "TT6003", {
        "opcode": opcode,
        "mnemonic": mnemonic,
        "reason": reasons[rows.index(best)],
        "syntax": best.syntax,
        "section": best.section,
    }


def _match(candidate: Row, words: list[str]) -> tuple[dict[str, str], tuple[PtxType, ...]] | str:
    """Modifiers may come in any order (compilers differ); types keep theirs."""
    found: dict[str, str] = {}
    types: list[PtxType] = []
    for word in words:
        slot = next((s for s in candidate.slots if word in s.words and s.name not in found), None)
        if slot is not None:
            found[slot.name] = word
        elif len(types) < len(candidate.types) and word in candidate.types[len(types)]:
            types.append(TYPES[word])
        else:
            return f".{word} does not fit"
    if len(types) < len(candidate.types):
        return "a type is missing" if types or candidate.types else "its modifiers do not fit"
    missing = next((s for s in candidate.slots if s.required and s.name not in found), None)
    if missing:
        return f"it needs one of .{' .'.join(missing.words)}"
    return found, tuple(types)


def resolve(opcode: str, span: Span | None = None) -> Form:
    """Understand an opcode with its modifiers; raises TT6002 or TT6003.

    >>> from tinyton_lab.ptx import table  # fills the table
    >>> form = resolve("add.rn.ftz.f32")
    >>> form["rounding"], form["ftz"], form.type.name
    ('rn', 'ftz', 'f32')
    """
    found = _resolve(opcode)
    if isinstance(found, Form):
        return found
    code, fields = found
    raise error(code, span, (), **fields)


@np.errstate(over="ignore")
def constant(value: int | float, type_: PtxType) -> Any:
    """A literal as a lane value of `type_`: integers wrap, floats round, bit types hold a float literal's bits."""
    if type_.kind == "pred":
        return np.bool_(value != 0)
    if type_.compute.kind == "f":
        # An integer literal in a float position is its bit pattern only for untyped registers; here it is a number.
        return type_.compute.type(value)
    if isinstance(value, float):
        source: Any = np.float64(value) if type_.bits == 64 else np.float32(value)
        return source.view(np.uint64 if type_.bits == 64 else np.uint32).astype(type_.raw).view(type_.compute)
    return np.array(value & ((1 << type_.bits) - 1), np.uint64).astype(type_.raw)[()].view(type_.compute)
