"""A value inside a kernel: its IR type and either a handle of the emitter at work or a number known at compile time."""

from __future__ import annotations

import inspect
import linecache
import os
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from tinyton_lab.base.diagnostics import error
from tinyton_lab.base.dtypes import DType
from tinyton_lab.base.source import Source, Span
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.ir.types import Tile
from tinyton_lab.language.types import ElementType, block_type, element_type, spell, value_type
from tinyton_lab.ops.shape import constant


class Branching(Exception):
    """A combining function branches or loops, so it takes elements, not tiles."""


class Emitter(Protocol):
    """What carries out the language: the front end appends ops of the IR, eager mode computes arrays.

    A handle is the emitter's own business, except that it has a `type`. `span` is the place at work.
    """

    dialect: str
    sanitize_overflow: bool
    """Whether sums, differences and products of signed integers are checked to fit."""
    memory: dict[str, Any]
    """What a dialect remembers of the kernel at work."""

    @property
    def span(self) -> Span | None: ...

    def value(self, row: OpDef, operands: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Carry out an op with one result. Raises `Mismatch` where the operands do not fit."""
        ...

    def results(self, row: OpDef, operands: Sequence[Any], attrs: Mapping[str, Any]) -> Sequence[Any]:
        """Carry out an op with any number of results. Raises `Mismatch` where the operands do not fit."""
        ...

    def effect(self, row: OpDef, operands: Sequence[Any], attrs: Mapping[str, Any]) -> None:
        """Carry out an op without a result."""
        ...

    def reduce(
        self, inputs: Sequence[Any], axis: int, combine: Callable[..., Sequence[TileValue]], commutes: bool = False
    ) -> Sequence[Any]:
        """Combine the elements of each input along an axis; `combine` takes two sets of values and gives one.

        Elements keep their order unless `combine` `commutes`. Raises `Branching` where it may branch.
        """
        ...

    def scan(
        self, inputs: Sequence[Any], axis: int, reverse: bool, combine: Callable[..., Sequence[TileValue]]
    ) -> Sequence[Any]:
        """Combine each element with those before it along an axis. Raises `Branching` as `reduce` does."""
        ...

    def map(self, inputs: Sequence[Any], function: Callable[..., Sequence[TileValue]]) -> Sequence[Any]:
        """Call a function of scalars for each element."""
        ...

    def call(self, function: Any, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Call a function written in the language."""
        ...

    def message(self, kind: str, text: str, values: Sequence[TileValue], hex: bool = False) -> None:
        """At run time print (`kind` ``print``), check (``assert``), or stop for a debugger (``breakpoint``)."""
        ...

    def remark(self, code: str, span: Span | None) -> None:
        """Note something that the kernel's author should know."""
        ...


EMITTER: ContextVar[Emitter | None] = ContextVar("tinyton_emitter", default=None)


def emitter() -> Emitter:
    """The emitter at work. Raises TT1011 outside a kernel."""
    found = EMITTER.get()
    if found is None:
        raise error("TT1011", caller())
    return found


def caller() -> Span | None:
    """The line outside the package that called into the language."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("tinyton_lab."):
        frame = frame.f_back
    if frame is None:
        return None
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).rstrip()
    source = Source(os.path.basename(frame.f_code.co_filename), line, frame.f_lineno)
    return Span(source, frame.f_lineno, len(line) - len(line.lstrip()), frame.f_lineno, len(line))


class TileValue:
    """A tile or a scalar (a tile without dimensions).

    `known` is set for a scalar whose value is known at compile time; it has a type as any other, and becomes an op only
    where it meets one.
    """

    __slots__ = ("_handle", "known", "tile")
    made_as: ClassVar[type[TileValue]]

    def __init__(self, tile: Tile, handle: Any = None, known: Any = None) -> None:
        self.tile, self._handle, self.known = tile, handle, known

    if TYPE_CHECKING:
        # fmt: off
        # The operators of the class that users see, for whoever checks the types of kernels.
        def __add__(self, other: Any) -> TileValue: ...
        def __radd__(self, other: Any) -> TileValue: ...
        def __sub__(self, other: Any) -> TileValue: ...
        def __rsub__(self, other: Any) -> TileValue: ...
        def __mul__(self, other: Any) -> TileValue: ...
        def __rmul__(self, other: Any) -> TileValue: ...
        def __truediv__(self, other: Any) -> TileValue: ...
        def __rtruediv__(self, other: Any) -> TileValue: ...
        def __floordiv__(self, other: Any) -> TileValue: ...
        def __rfloordiv__(self, other: Any) -> TileValue: ...
        def __mod__(self, other: Any) -> TileValue: ...
        def __rmod__(self, other: Any) -> TileValue: ...
        def __pow__(self, other: Any) -> TileValue: ...
        def __rpow__(self, other: Any) -> TileValue: ...
        def __and__(self, other: Any) -> TileValue: ...
        def __rand__(self, other: Any) -> TileValue: ...
        def __or__(self, other: Any) -> TileValue: ...
        def __ror__(self, other: Any) -> TileValue: ...
        def __xor__(self, other: Any) -> TileValue: ...
        def __rxor__(self, other: Any) -> TileValue: ...
        def __lshift__(self, other: Any) -> TileValue: ...
        def __rlshift__(self, other: Any) -> TileValue: ...
        def __rshift__(self, other: Any) -> TileValue: ...
        def __rrshift__(self, other: Any) -> TileValue: ...
        def __lt__(self, other: Any) -> Any: ...
        def __le__(self, other: Any) -> Any: ...
        def __gt__(self, other: Any) -> Any: ...
        def __ge__(self, other: Any) -> Any: ...
        def __neg__(self) -> TileValue: ...
        def __pos__(self) -> TileValue: ...
        def __invert__(self) -> TileValue: ...
        def __getitem__(self, key: Any) -> TileValue: ...
        def __index__(self) -> int: ...
        # fmt: on

    def __init_subclass__(cls) -> None:
        # The class that users see adds the operators; what is below makes values of it without knowing them.
        TileValue.made_as = cls

    @property
    def handle(self) -> Any:
        """The emitter's handle; a known number is emitted as a constant here."""
        if self._handle is not None:
            return self._handle
        return emitter().value(constant, (), {"value": self.known, "type": self.tile})

    @property
    def dtype(self) -> ElementType:
        """The element type."""
        return element_type(self.tile)

    @property
    def type(self) -> ElementType | block_type:
        """The type: an element type for a scalar, else a block type."""
        return value_type(self.tile)

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes, all known at compile time."""
        return self.tile.shape

    @property
    def numel(self) -> int:
        """The number of elements."""
        return self.tile.elements

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.tile.rank

    @property
    def element(self) -> DType:
        """The dtype of a value that is no pointer. Raises TT2012 for one."""
        if self.tile.is_pointer:
            what = f"{spell(self.tile)} takes part only in pointer + integer and pointer - integer"
            raise error("TT2012", emitter().span, what=what)
        return self.tile.dtype


TileValue.made_as = TileValue


def make(tile: Tile, handle: Any = None, known: Any = None) -> TileValue:
    """A value of the class that users see."""
    return TileValue.made_as(tile, handle, known)
