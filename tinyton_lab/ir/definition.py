"""What a row of the op table may say. Knows no op by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tinyton_lab.ir.types import Tile

Attrs = Mapping[str, Any]
Infer = Callable[[Sequence["Tile | None"], Attrs], "tuple[Tile, ...]"]


class Mismatch(Exception):
    """Raised by an `infer` column: these operand types do not fit. The front end turns it into a located fault."""


@dataclass(frozen=True, slots=True)
class Role:
    """One operand of an op: required, optional (absent is None) or variadic (the rest)."""

    name: str
    optional: bool = False
    variadic: bool = False


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of an op; without a default it must be given."""

    name: str
    required: bool = True
    default: Any = None


@dataclass(frozen=True, eq=False, slots=True)
class OpDef:
    """One row of table T5.

    `roles`, `attributes`, `regions` (count) are the shape of the op; `infer` gives its result types, for builder and
    verifier alike (None: structured ops state them); `accepts` the element kinds allowed for every operand (``bool int
    uint float pointer``). `effect` is ``none read write atomic control``.

    `elementwise` ops map elements one to one: `numpy(*arrays, **attrs)` is the definition; `emit(builder, dtype,
    *registers, **attrs)` the LLVM of a lane or a vector of lanes (`dtype` is the first operand's); `approx` the same
    with a GPU's fast instructions; `expand(arithmetic, *values)` spells a math function in simpler ops (the accurate
    one, same bits on every engine).

    `laws` are facts that rewrites use and tests check: ``commutative``, ``associative`` (integers only), ``idempotent``
    (f(x, x) is x, or f(f(x)) is f(x)), ``self-inverse`` (f(x, x) is 0; integers only), ``reflexive`` and
    ``irreflexive`` (f(x, x) is true, false; integers only), ``identity n``, ``right identity n``, ``absorbing n``
    (integers only); -1 stands for all ones, and 0 as the identity of a float sum for -0.0. `layout` tells how a
    result's layout follows from the operands'; `ulp` the bound on every engine (0: exact); `unsupported` maps an
    engine to the reason it cannot run the op.
    """

    name: str
    roles: tuple[Role, ...]
    attributes: tuple[Attribute, ...] = ()
    infer: Infer | None = None
    accepts: tuple[str, ...] = ("bool", "int", "uint", "float")
    effect: str = "none"
    elementwise: bool = False
    regions: int = 0
    terminator: bool = False
    numpy: Callable[..., Any] | None = None
    emit: Callable[..., Any] | None = None
    approx: Callable[..., Any] | None = None
    expand: Callable[..., Any] | None = None
    laws: tuple[str, ...] = ()
    layout: str = "same"
    ulp: float = 0
    unsupported: Mapping[str, str] = field(default_factory=dict)
    example: str = ""
    doc: str = ""

    def __repr__(self) -> str:
        return f"ops.{self.name}"

    @property
    def pure(self) -> bool:
        return self.effect == "none" and not self.terminator

    def named(self, operands: Sequence[Any]) -> dict[str, Any]:
        """Pair operands with role names; the variadic rest comes as one tuple."""
        paired: dict[str, Any] = {}
        for index, role in enumerate(self.roles):
            paired[role.name] = tuple(operands[index:]) if role.variadic else operands[index]
        return paired


def roles(text: str) -> tuple[Role, ...]:
    """Read roles from their short form: ``"pointer mask? *rest"``."""
    return tuple(Role(word.strip("?*"), word.endswith("?"), word.startswith("*")) for word in text.split())


def attributes(text: str) -> tuple[Attribute, ...]:
    """Read attributes from their short form: ``"axis cache="`` (``=`` makes one optional, None by default)."""
    return tuple(Attribute(word.rstrip("="), not word.endswith("=")) for word in text.split())
