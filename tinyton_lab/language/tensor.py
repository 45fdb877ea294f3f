"""The value class that users see as `tl.tensor`: operators and methods, all carried out by the semantic functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tinyton_lab.language import arranging, atomics, core, functions, library, scans, semantic, shapes, sorting
from tinyton_lab.language.aggregates import REFLECTED, Aggregate, defines
from tinyton_lab.language.emission import fault
from tinyton_lab.language.semantic import BINARY, COMPARE
from tinyton_lab.language.types import spell
from tinyton_lab.language.value import TileValue


class tensor(TileValue):
    """A tile of a kernel, or a scalar: `dtype`, `shape` and `type` are known at compile time, the elements are not.

    Operators work element by element with broadcasting; comparisons give int1.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # == compares element by element

    def __repr__(self) -> str:
        if self.known is not None:
            return f"<tensor {spell(self.tile)} = {self.known}>"
        shown = getattr(self._handle, "shown", None)  # eager mode's handles hold arrays
        return f"<tensor {spell(self.tile)}>" if shown is None else f"{shown()} <{spell(self.tile)}>"

    # fmt: off
    def __add__(self, other: Any) -> TileValue: return semantic.add(self, other)
    def __radd__(self, other: Any) -> TileValue: return semantic.add(other, self)
    def __sub__(self, other: Any) -> TileValue: return semantic.sub(self, other)
    def __rsub__(self, other: Any) -> TileValue: return semantic.sub(other, self)
    def __mul__(self, other: Any) -> TileValue: return semantic.mul(self, other)
    def __rmul__(self, other: Any) -> TileValue: return semantic.mul(other, self)
    def __truediv__(self, other: Any) -> TileValue: return semantic.truediv(self, other)
    def __rtruediv__(self, other: Any) -> TileValue: return semantic.truediv(other, self)
    def __floordiv__(self, other: Any) -> TileValue: return semantic.floordiv(self, other)
    def __rfloordiv__(self, other: Any) -> TileValue: return semantic.floordiv(other, self)
    def __mod__(self, other: Any) -> TileValue: return semantic.mod(self, other)
    def __rmod__(self, other: Any) -> TileValue: return semantic.mod(other, self)
    def __pow__(self, other: Any) -> TileValue: return semantic.power(self, other)
    def __and__(self, other: Any) -> TileValue: return BINARY["and"](self, other)
    def __rand__(self, other: Any) -> TileValue: return BINARY["and"](other, self)
    def __or__(self, other: Any) -> TileValue: return BINARY["or"](self, other)
    def __ror__(self, other: Any) -> TileValue: return BINARY["or"](other, self)
    def __xor__(self, other: Any) -> TileValue: return BINARY["xor"](self, other)
    def __rxor__(self, other: Any) -> TileValue: return BINARY["xor"](other, self)
    def __lshift__(self, other: Any) -> TileValue: return BINARY["lshift"](self, other)
    def __rlshift__(self, other: Any) -> TileValue: return BINARY["lshift"](other, self)
    def __rshift__(self, other: Any) -> TileValue: return BINARY["rshift"](self, other)
    def __rrshift__(self, other: Any) -> TileValue: return BINARY["rshift"](other, self)
    def __eq__(self, other: Any) -> Any: return semantic.compare(COMPARE["eq"], self, other)
    def __ne__(self, other: Any) -> Any: return semantic.compare(COMPARE["ne"], self, other)
    def __lt__(self, other: Any) -> Any: return semantic.compare(COMPARE["lt"], self, other)
    def __le__(self, other: Any) -> Any: return semantic.compare(COMPARE["le"], self, other)
    def __gt__(self, other: Any) -> Any: return semantic.compare(COMPARE["gt"], self, other)
    def __ge__(self, other: Any) -> Any: return semantic.compare(COMPARE["ge"], self, other)
    def __neg__(self) -> TileValue: return semantic.neg(self)
    def __pos__(self) -> TileValue: return self
    def __invert__(self) -> TileValue: return semantic.invert(self)
    # fmt: on

    def __getitem__(self, key: Any) -> TileValue:
        return shapes.index(self, key)

    def __bool__(self) -> bool:
        return bool(self._number("a condition of Python"))

    def __index__(self) -> int:
        return int(self._number("an index of Python"))

    __int__ = __index__

    def __float__(self) -> float:
        return float(self._number("a number of Python"))

    def __iter__(self) -> Iterator[Any]:
        raise fault("TT1013", type=spell(self.tile), name="iteration over its elements", close="a reduction")

    def _number(self, what: str) -> Any:
        if self.known is not None:
            return self.known
        number = getattr(self.handle, "number", None)  # eager mode's handles hold arrays
        if self.shape:
            raise fault("TT2025", type=spell(self.tile))
        if number is None:
            raise fault("TT1006", what=what)
        return number()

    @property
    def T(self) -> TileValue:
        """The two last axes swapped."""
        return core.trans(self)

    to = core.cast
    cast = core.cast
    broadcast_to = core.broadcast_to
    expand_dims = core.expand_dims
    reshape = core.reshape
    view = core.view
    ravel = core.ravel
    permute = core.permute
    trans = core.trans
    abs = core.abs
    ceil = core.ceil
    floor = core.floor
    sqrt = core.sqrt
    sqrt_rn = core.sqrt_rn
    logical_and = core.logical_and
    logical_or = core.logical_or
    reduce = core.reduce
    sum = core.sum
    max = core.max
    min = core.min
    argmax = core.argmax
    argmin = core.argmin
    xor_sum = core.xor_sum
    reduce_or = core.reduce_or
    store = core.store
    item = arranging.item
    cdiv = library.cdiv
    sigmoid = library.sigmoid
    softmax = library.softmax
    exp = functions.exp
    exp2 = functions.exp2
    log = functions.log
    log2 = functions.log2
    rsqrt = functions.rsqrt
    sin = functions.sin
    cos = functions.cos
    erf = functions.erf
    split = arranging.split
    gather = arranging.gather
    flip = arranging.flip
    histogram = arranging.histogram
    associative_scan = scans.associative_scan
    cumsum = scans.cumsum
    cumprod = scans.cumprod
    sort = sorting.sort
    atomic_add = atomics.atomic_add
    atomic_and = atomics.atomic_and
    atomic_cas = atomics.atomic_cas
    atomic_load = atomics.atomic_load
    atomic_max = atomics.atomic_max
    atomic_min = atomics.atomic_min
    atomic_or = atomics.atomic_or
    atomic_poll = library.atomic_poll
    atomic_store = atomics.atomic_store
    atomic_xchg = atomics.atomic_xchg
    atomic_xor = atomics.atomic_xor


def _giving_way(operator: Callable[[Any, Any], Any], reflected: str) -> Callable[[Any, Any], Any]:
    """An operator that leaves aggregates which define its counterpart to that, as Python does."""

    def carried_out(self: Any, other: Any) -> Any:
        theirs = isinstance(other, Aggregate) and defines(other, reflected)
        return NotImplemented if theirs else operator(self, other)

    return carried_out


for _name, _reflected in REFLECTED.items():
    setattr(tensor, _name, _giving_way(vars(tensor)[_name], _reflected))
