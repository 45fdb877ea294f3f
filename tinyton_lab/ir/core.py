"""Op, Value, Block, Function: one structure for every level of the IR. Control flow is structured: ops hold blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tinyton_lab.base.source import Span
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.ir.types import Tile
from tinyton_lab.record.provenance import Provenance


class Value:
    """A result of an op or an argument of a block. Identity is the object; `name` is unique in its function."""

    __slots__ = ("index", "name", "owner", "type")
    __match_args__ = ("op",)

    def __init__(self, type: Tile, name: str, owner: Op | Block, index: int) -> None:
        self.type, self.name, self.owner, self.index = type, name, owner, index

    @property
    def op(self) -> Op | None:
        """The op this value is a result of; None for a block argument."""
        return self.owner if isinstance(self.owner, Op) else None

    def __repr__(self) -> str:
        return f"%{self.name}: {self.type}"


class Op:
    """One operation. Made by a builder or a rewriter, never changed afterwards (blocks are filled while building).

    `operands` follow the row's roles; an absent optional operand is None. `uid` names the op through all passes.
    """

    __slots__ = ("attrs", "blocks", "operands", "results", "row", "span", "uid")
    __match_args__ = ("row", "operands", "attrs")

    def __init__(
        self,
        row: OpDef,
        operands: tuple[Value | None, ...],
        types: tuple[Tile, ...],
        attrs: Mapping[str, Any],
        blocks: tuple[Block, ...],
        uid: int,
        span: Span | None,
    ) -> None:
        self.row, self.operands, self.attrs, self.blocks, self.uid, self.span = row, operands, attrs, blocks, uid, span
        single = len(types) == 1
        self.results = tuple(
            Value(type, str(uid) if single else f"{uid}.{index}", self, index) for index, type in enumerate(types)
        )
        for block in blocks:
            block.owner = self

    @property
    def result(self) -> Value:
        """The only result."""
        if len(self.results) != 1:
            raise ValueError(f"{self.row.name} has {len(self.results)} results")
        return self.results[0]

    def operand(self, role: str) -> Value | None:
        """The operand of that role, or None when it is absent."""
        for index, declared in enumerate(self.row.roles):
            if declared.name == role:
                return self.operands[index] if index < len(self.operands) else None
        raise KeyError(f"{self.row.name} has no operand {role!r}")

    @property
    def inputs(self) -> Iterator[Value]:
        """The operands that are present."""
        return (value for value in self.operands if value is not None)

    def __repr__(self) -> str:
        return f"<{self.row.name} #{self.uid}>"


class Block:
    """A list of ops with arguments; the last op is a terminator where the block belongs to an op or function."""

    __slots__ = ("args", "ops", "owner")

    def __init__(self, owner: Op | None = None) -> None:
        self.args: list[Value] = []
        self.ops: list[Op] = []
        self.owner = owner

    def add_argument(self, type: Tile, name: str) -> Value:
        value = Value(type, name, self, len(self.args))
        self.args.append(value)
        return value

    @property
    def terminator(self) -> Op:
        return self.ops[-1]

    def walk(self) -> Iterator[Op]:
        """All ops of this block and of the blocks inside, in program order (an op before its inner ops)."""
        for op in self.ops:
            yield op
            for block in op.blocks:
                yield from block.walk()


@dataclass(slots=True)
class Parameter:
    """What is known about a run-time parameter: `divisibility` of its value (bytes for a pointer, 1: nothing known)."""

    name: str
    type: Tile
    divisibility: int = 1
    span: Span | None = None


@dataclass(slots=True)
class Function:
    """One kernel at one level of the IR. `attrs` hold launch options (``num_warps``); `uids` is the next op number."""

    name: str
    parameters: list[Parameter]
    attrs: dict[str, Any] = field(default_factory=dict)
    body: Block = field(default_factory=Block)
    provenance: Provenance = field(default_factory=Provenance)
    uids: int = 1

    def __post_init__(self) -> None:
        if not self.body.args:
            for parameter in self.parameters:
                self.body.add_argument(parameter.type, parameter.name)

    def new_uid(self) -> int:
        uid = self.uids
        self.uids += 1
        return uid

    def walk(self) -> Iterator[Op]:
        return self.body.walk()

    def empty_copy(self) -> Function:
        """A function of the same name, parameters, attributes and op numbering, with an empty body."""
        return Function(self.name, self.parameters, dict(self.attrs), Block(), self.provenance, self.uids)
