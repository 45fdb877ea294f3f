"""Blocks of a tensor in memory: block pointers and tensor descriptors, which become tiles of pointers and masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyton_lab.base import dtypes
from tinyton_lab.base.dtypes import DType
from tinyton_lab.ir.types import Pointer
from tinyton_lab.language import atomics, memory, semantic, shapes
from tinyton_lab.language.builtin import builtin
from tinyton_lab.language.emission import describe, fault, number, static, static_int, to_value, unwrap
from tinyton_lab.language.structure import Structure
from tinyton_lab.language.types import spell
from tinyton_lab.language.value import TileValue

PADDINGS = ("", "zero", "nan")
HIGHEST_RANK = 5
Values = tuple[TileValue, ...]


class Block(Structure):
    """A tensor in memory, cut into blocks of `block_shape`: its first element, its extents, its strides in elements."""

    def __init__(self, base: TileValue, shape: Values, strides: Values, block_shape: tuple[int, ...]) -> None:
        self.base, self._extents, self.strides, self.block_shape = base, shape, strides, block_shape

    @property
    def shape(self) -> Values:
        """The extents of the tensor."""
        return self._extents

    @property
    def dtype(self) -> DType:
        """The dtype of the tensor's elements."""
        return memory.pointers(self.base)[1].element

    @property
    def __kind__(self) -> str:
        extents = "x".join(str(length) for length in self.block_shape)
        return f"a {type(self).__name__} of {extents}x{self.dtype.name}"

    def places(self, indices: Sequence[TileValue]) -> TileValue:
        """Pointers to the elements at an index tile per axis."""
        where = self.base
        for index, stride in zip(indices, self.strides, strict=True):
            where = semantic.shift_pointer(where, semantic.mul(semantic.convert(index, dtypes.int64), stride))
        return where

    def along(self, axis: int, first: TileValue) -> TileValue:
        """The indices of a block along an axis, shaped to broadcast over the others."""
        tile = shapes.arange(0, self.block_shape[axis])
        for other in range(len(self.block_shape)):
            tile = tile if other == axis else shapes.expand(tile, other)
        return semantic.add(first, tile)

    def inside(self, axes: Sequence[int], indices: Sequence[TileValue]) -> TileValue | None:
        """Which elements lie in the tensor, along some axes; None for no axis."""
        mask: TileValue | None = None
        for axis in axes:
            low = semantic.compare(semantic.COMPARE["ge"], indices[axis], 0)
            high = semantic.compare(semantic.COMPARE["lt"], indices[axis], self._extents[axis])
            here = semantic.logical_and(low, high)
            mask = here if mask is None else semantic.logical_and(mask, here)
        return mask

    def block(self, offsets: Values, checked: Sequence[int]) -> tuple[TileValue, TileValue | None]:
        """The pointers of the block at some offsets, and its mask along the checked axes."""
        base = self.base
        for offset, stride in zip(offsets, self.strides, strict=True):
            base = semantic.shift_pointer(base, semantic.mul(semantic.convert(offset, dtypes.int64), stride))
        zero = number(0, dtypes.int32)
        steps = [self.along(axis, zero) for axis in range(len(self.block_shape))]
        where = Block(base, self._extents, self.strides, self.block_shape).places(steps)
        indices = [semantic.add(offset, step) for offset, step in zip(offsets, steps, strict=True)]
        return shapes.broadcast_to(where, self.block_shape), self.inside(checked, indices)


class block_pointer(Block):
    """What `make_block_ptr` gives: a block of a tensor at certain offsets, for `load`, `store` and `advance`."""

    def __init__(
        self, base: TileValue, shape: Values, strides: Values, offsets: Values, block_shape: tuple[int, ...]
    ) -> None:
        super().__init__(base, shape, strides, block_shape)
        self.offsets = offsets

    @property
    def __parts__(self) -> tuple[Any, ...]:
        return self.base, self._extents, self.strides, self.offsets

    def __remade__(self, parts: Sequence[Any]) -> block_pointer:
        base, shape, strides, offsets = parts
        return block_pointer(base, shape, strides, offsets, self.block_shape)

    @builtin
    def advance(self, offsets: Any) -> block_pointer:
        """The block that lies further on by an offset per axis."""
        steps = integers(offsets, "an offset", len(self.block_shape), dtypes.int32)
        moved = tuple(semantic.add(old, step) for old, step in zip(self.offsets, steps, strict=True))
        return block_pointer(self.base, self._extents, self.strides, moved, self.block_shape)

    def loaded(self, boundary_check: Any, padding_option: Any, attrs: dict[str, Any]) -> TileValue:
        """Read the block; elements outside the tensor along the checked axes are 0, or NaN."""
        where, mask = self.block(self.offsets, checked_axes(boundary_check, len(self.block_shape)))
        return read(where, mask, padding(padding_option, self.dtype), attrs)

    def stored(self, value: Any, boundary_check: Any, attrs: dict[str, Any]) -> None:
        """Write the block; elements outside the tensor along the checked axes are not written."""
        where, mask = self.block(self.offsets, checked_axes(boundary_check, len(self.block_shape)))
        memory.store(where, whole(value, self), mask, attrs)


class tensor_descriptor(Block):
    """What `make_tensor_descriptor` gives: a tensor that is read and written in blocks, within its bounds."""

    def __init__(
        self, base: TileValue, shape: Values, strides: Values, block_shape: tuple[int, ...], padding: float | None
    ) -> None:
        super().__init__(base, shape, strides, block_shape)
        self.padding = padding

    @property
    def __parts__(self) -> tuple[Any, ...]:
        return self.base, self._extents, self.strides

    def __remade__(self, parts: Sequence[Any]) -> tensor_descriptor:
        base, shape, strides = parts
        return tensor_descriptor(base, shape, strides, self.block_shape, self.padding)

    def _at(self, offsets: Any) -> tuple[TileValue, TileValue | None]:
        found = integers(offsets, "an offset", len(self.block_shape), dtypes.int32)
        return self.block(found, range(len(self.block_shape)))

    def _rows(self, x_offsets: Any, y_offset: Any) -> tuple[TileValue, TileValue | None]:
        """Rows picked by a tile of indices, from a column on. Raises TT2050 where the descriptor has no such form."""
        rows = to_value(x_offsets)
        if len(self.block_shape) != 2 or self.block_shape[0] != 1 or len(rows.shape) != 1:
            raise fault("TT2050", what=f"rows of {self.__kind__} by indices {spell(rows.tile)}")
        picked = shapes.expand(rows, 1)
        columns = self.along(1, to_value(y_offset))
        where = self.places([picked, columns])
        mask = self.inside((0, 1), [picked, columns])
        return where, mask

    @builtin
    def load(self, offsets: Any) -> TileValue:
        """Read the block at an offset per axis; elements outside the tensor are 0, or NaN where it was made so."""
        where, mask = self._at(offsets)
        return read(where, mask, self.padding, {})

    @builtin
    def store(self, offsets: Any, value: Any) -> None:
        """Write the block at an offset per axis; elements outside the tensor are not written."""
        where, mask = self._at(offsets)
        memory.store(where, whole(value, self), mask, {})

    @builtin
    def gather(self, x_offsets: Any, y_offset: Any) -> TileValue:
        """Read the rows that a tile of indices names, from column `y_offset` on; the block has one row."""
        where, mask = self._rows(x_offsets, y_offset)
        return read(where, mask, self.padding, {})

    @builtin
    def scatter(self, value: Any, x_offsets: Any, y_offset: Any) -> None:
        """Write the rows that a tile of indices names, from column `y_offset` on; the block has one row."""
        where, mask = self._rows(x_offsets, y_offset)
        memory.store(where, value, mask, {})

    def _update(self, kind: str, offsets: Any, value: Any) -> TileValue:
        where, mask = self._at(offsets)
        return atomics.update(kind, where, whole(value, self), mask, None, None)

    @builtin
    def atomic_add(self, offsets: Any, value: Any) -> TileValue:
        """Add to the elements of the block at some offsets, each undivided."""
        return self._update("add", offsets, value)

    @builtin
    def atomic_min(self, offsets: Any, value: Any) -> TileValue:
        """Lower the elements of the block at some offsets, each undivided."""
        return self._update("min", offsets, value)

    @builtin
    def atomic_max(self, offsets: Any, value: Any) -> TileValue:
        """Raise the elements of the block at some offsets, each undivided."""
        return self._update("max", offsets, value)

    @builtin
    def atomic_and(self, offsets: Any, value: Any) -> TileValue:
        """Take the bitwise and with the elements of the block at some offsets, each undivided."""
        return self._update("and", offsets, value)

    @builtin
    def atomic_or(self, offsets: Any, value: Any) -> TileValue:
        """Take the bitwise or with the elements of the block at some offsets, each undivided."""
        return self._update("or", offsets, value)

    @builtin
    def atomic_xor(self, offsets: Any, value: Any) -> TileValue:
        """Take the exclusive or with the elements of the block at some offsets, each undivided."""
        return self._update("xor", offsets, value)


def read(where: TileValue, mask: TileValue | None, other: float | None, attrs: dict[str, Any]) -> TileValue:
    return memory.load(where, mask, None if mask is None else other, attrs)


def whole(value: Any, block: Block) -> TileValue:
    """A value of a block's shape; a scalar fills it. Raises TT2050 for another shape."""
    stored = to_value(value)
    if stored.shape and stored.shape != block.block_shape:
        raise fault("TT2050", what=f"a value {spell(stored.tile)} for {block.__kind__}")
    return shapes.broadcast_to(stored, block.block_shape)


# Arguments
def integers(values: Any, what: str, rank: int, dtype: DType | None = None) -> Values:
    """Integers, one per axis, as scalars of a dtype, or of their own. Raises TT2050 for anything else."""
    found = unwrap(values)
    found = tuple(found) if isinstance(found, (tuple, list)) else (found,)
    if len(found) != rank:
        raise fault("TT2050", what=f"{len(found)} values where {what} for each of {rank} axes is wanted")
    return tuple(_integer(value, what, dtype) for value in found)


def _integer(value: Any, what: str, dtype: DType | None) -> TileValue:
    plain = semantic.operand(value)
    scalar = to_value(plain) if isinstance(plain, TileValue) or isinstance(plain, int) else None
    if scalar is None or scalar.shape or scalar.tile.is_pointer or scalar.element.kind == "float":
        given = describe(plain) if scalar is None else spell(scalar.tile)
        raise fault("TT2050", what=f"{given} where {what} is wanted")
    dtype = dtype or scalar.element
    return number(scalar.known, dtype) if scalar.known is not None else semantic.convert(scalar, dtype)


def strides_of(values: Any, rank: int) -> Values:
    """The strides of a descriptor: the last one is 1. Raises TT2050."""
    steps = integers(values, "a stride", rank, dtypes.int64)
    if steps[-1].known not in (None, 1):
        raise fault("TT2050", what=f"the stride {steps[-1].known} of the last axis where 1 is wanted")
    return *steps[:-1], number(1, dtypes.int64)


def lengths(block_shape: Any) -> tuple[int, ...]:
    """The extents of a block: powers of two known at compile time. Raises TT2050, TT2006."""
    found = static(block_shape, "block_shape")
    found = tuple(found) if isinstance(found, (tuple, list)) else (found,)
    return shapes.static_shape(tuple(static_int(length, "a length of the block") for length in found))


def checked_axes(boundary_check: Any, rank: int) -> tuple[int, ...]:
    """The axes to check. Raises TT2008 for one that is not there."""
    found = static(boundary_check, "boundary_check") or ()
    found = found if isinstance(found, tuple) else (found,)
    for axis in found:
        if not isinstance(axis, int) or not 0 <= axis < rank:
            raise fault("TT2008", axis=axis, rank=rank)
    return tuple(sorted(set(found)))


def padding(option: Any, dtype: DType) -> float | None:
    """What elements outside are: None for 0. Raises TT2020 for an unknown word, TT2013 for NaN of integers."""
    word = unwrap(option) or ""
    if word not in PADDINGS:
        raise fault("TT2020", word=word, known=", ".join(repr(each) for each in PADDINGS))
    if word == "nan" and dtype.kind != "float":
        raise fault("TT2013", op="padding with NaN", type=dtype.public, kinds="float")
    return float("nan") if word == "nan" else None


def _base(pointer: Any) -> TileValue:
    """A scalar pointer. Raises TT2018, TT2050."""
    where, _ = memory.pointers(pointer)
    if where.shape:
        raise fault("TT2050", what=f"{spell(where.tile)} where a scalar pointer is wanted")
    return where


@builtin
def make_block_ptr(
    base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any = None
) -> block_pointer:
    """A block of a tensor in memory: `base` points to its first element, `offsets` to the block's.

    `shape`, `strides` (in elements) and `offsets` are integers, one per axis; `order` hints at the axes' order in
    memory and has no effect here. `load` and `store` take it, with the axes to check in `boundary_check`; `advance`
    moves it.
    """
    extents = lengths(block_shape)
    rank = len(extents)
    return block_pointer(
        _base(base),
        integers(shape, "an extent", rank),
        integers(strides, "a stride", rank, dtypes.int64),
        integers(offsets, "an offset", rank, dtypes.int32),
        extents,
    )


@builtin
def advance(base: Any, offsets: Any) -> block_pointer:
    """The block that lies further on by an offset per axis."""
    return _block_of(base, block_pointer).advance(offsets)


def _block_of(value: Any, kind: type[Any]) -> Any:
    found = unwrap(value)
    if not isinstance(found, kind):
        what = spell(found.tile) if isinstance(found, TileValue) else describe(found)
        raise fault("TT2050", what=f"{what} where a {kind.__name__} is wanted")
    return found


@builtin
def make_tensor_descriptor(
    base: Any, shape: Any, strides: Any, block_shape: Any, padding_option: Any = "zero"
) -> tensor_descriptor:
    """A tensor in memory that is read and written in blocks of `block_shape`, within its bounds.

    `shape` and `strides` (in elements) are integers, one per axis, up to five; the last stride is 1. Elements outside
    are read as 0, or as NaN with ``padding_option="nan"``; they are never written.
    """
    extents = lengths(block_shape)
    where = _base(base)
    if not 1 <= len(extents) <= HIGHEST_RANK:
        raise fault("TT2050", what=f"{len(extents)} axes where 1 to {HIGHEST_RANK} are wanted")
    steps = strides_of(strides, len(extents))
    element = where.tile.element
    if not isinstance(element, Pointer):
        raise RuntimeError("blocks: a base that is no pointer passed the check")
    option = padding(padding_option, element.element)
    sizes = integers(shape, "an extent", len(extents))
    return tensor_descriptor(where, sizes, steps, extents, option)


@builtin
def load_tensor_descriptor(desc: Any, offsets: Any) -> TileValue:
    """The same as ``desc.load(offsets)``."""
    return _block_of(desc, tensor_descriptor).load(offsets)


@builtin
def store_tensor_descriptor(desc: Any, offsets: Any, value: Any) -> None:
    """The same as ``desc.store(offsets, value)``."""
    _block_of(desc, tensor_descriptor).store(offsets, value)
