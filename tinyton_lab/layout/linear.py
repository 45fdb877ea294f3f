"""Linear layouts over F2: which element of a tile each register of each lane of each warp holds. Knows no op.

A layout maps hardware bits to bits of a tile's row-major element index; it is given by the images of the powers of two
(its *bases*), and everything else is exclusive-or. A basis of 0 means a copy: flipping that bit changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

HARDWARE = ("register", "lane", "warp")


@dataclass(frozen=True)
class Layout:
    """A linear map: `inputs` are (dimension, bases) pairs, `outputs` (dimension, bits) pairs, lowest bits first.

    A tile's layout has the inputs ``register``, ``lane`` and ``warp`` (shared memory: ``offset``) and one output per
    axis, the last axis lowest, so that bases are bits of the row-major element index.

    >>> layout = tile_layout((4, 8), register=(1,), lane=(2, 4, 8), warp=(16,))
    >>> str(layout)
    '4x8 register [0,1] lane [0,2] [0,4] [1,0] warp [2,0]'
    >>> layout.apply(lane=4, register=1), layout.coordinates(9)
    (9, (1, 1))
    """

    inputs: tuple[tuple[str, tuple[int, ...]], ...]
    outputs: tuple[tuple[str, int], ...]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.inputs, self.outputs))

    def __str__(self) -> str:
        words = ["x".join(map(str, self.shape))]
        for dimension, bases in self.inputs:
            words.append(dimension)
            words += [f"[{','.join(map(str, self.coordinates(basis)))}]" for basis in bases]
        return " ".join(words)

    def __repr__(self) -> str:
        return f"<Layout {self}>"

    # -- facts --------------------------------------------------------------------------------------------------------
    @cached_property
    def bases(self) -> Mapping[str, tuple[int, ...]]:
        return dict(self.inputs)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the output dimensions, the first axis (highest bits) first."""
        return tuple(1 << bits for _, bits in reversed(self.outputs))

    @cached_property
    def bits(self) -> int:
        """Bits of the output index."""
        return sum(bits for _, bits in self.outputs)

    @cached_property
    def registers(self) -> int:
        """Registers that a thread needs for its part of the tile."""
        return 1 << len(self.bases.get("register", ()))

    @cached_property
    def flat(self) -> tuple[int, ...]:
        """All bases, in the order of the inputs."""
        return tuple(basis for _, bases in self.inputs for basis in bases)

    @cached_property
    def rank(self) -> int:
        """Dimension of the image: `bits` when every element has a place."""
        return rank(self.flat)

    def coordinates(self, index: int) -> tuple[int, ...]:
        """Split an output index into coordinates, first axis first."""
        found: list[int] = []
        for _, bits in self.outputs:
            found.append(index & ((1 << bits) - 1))
            index >>= bits
        return tuple(reversed(found))

    def index(self, coordinates: Sequence[int]) -> int:
        """Join coordinates (first axis first) into an output index."""
        joined, at = 0, 0
        for (_, bits), value in zip(self.outputs, reversed(coordinates), strict=True):
            joined |= value << at
            at += bits
        return joined

    def axis_mask(self, axis: int) -> int:
        """The bits of the output index that belong to one axis."""
        below = sum(bits for _, bits in self.outputs[: len(self.outputs) - 1 - axis])
        return (self.shape[axis] - 1) << below

    def apply(self, **inputs: int) -> int:
        """The output index of an input: ``layout.apply(register=3, lane=7)``."""
        result = 0
        for dimension, value in inputs.items():
            result ^= combine(self.bases[dimension], value)
        return result

    def free(self, dimension: str) -> int:
        """Mask of the bits of one input dimension that only name copies, given the dimensions before it."""
        seen: list[int] = []
        mask = 0
        for name, bases in self.inputs:
            for position, basis in enumerate(bases):
                if name == dimension and spans(seen, basis):
                    mask |= 1 << position
                seen.append(basis)
            if name == dimension:
                return mask
        raise KeyError(dimension)

    # -- algebra ------------------------------------------------------------------------------------------------------
    def with_bases(self, **bases: Iterable[int]) -> Layout:
        """Replace the bases of some input dimensions (adding those that are new)."""
        merged = dict(self.inputs) | {name: tuple(vectors) for name, vectors in bases.items()}
        return Layout(tuple(merged.items()), self.outputs)

    def compose(self, outer: Layout) -> Layout:
        """``outer`` after this: the outputs here are the inputs there, in the same order."""
        through = outer.flat
        return Layout(
            tuple((name, tuple(combine(through, basis) for basis in bases)) for name, bases in self.inputs),
            outer.outputs,
        )

    def solve(self, index: int) -> int | None:
        """The joined input that gives `index`, or None where there is none.

        Earlier input dimensions are used before later ones and copies are taken from place 0: an element that a thread
        has itself is found in its own registers.
        """
        chosen = 0
        pivots = _pivots(self.flat)
        while index:
            pivot = pivots.get(index.bit_length() - 1)
            if pivot is None:
                return None
            index ^= pivot[0]
            chosen ^= pivot[1]
        return chosen

    def inverse_compose(self, other: Layout) -> Layout:
        """The map C with ``other(C(x)) == self(x)``: where in `other` the element lies that this layout has at x.

        Each lane and warp keeps to itself as far as possible. Raises ValueError where `other` lacks an element.
        """
        images = [
            (name, tuple(other._nearest(name, at, basis) for at, basis in enumerate(bases)))
            for name, bases in self.inputs
        ]
        return Layout(tuple(images), tuple((name, len(bases)) for name, bases in other.inputs))

    def _nearest(self, dimension: str, position: int, index: int) -> int:
        """The joined input with image `index` that differs least from bit `position` of `dimension`."""
        before = 0
        for number, (name, bases) in enumerate(self.inputs):
            if name == dimension and position < len(bases):
                own = Layout(self.inputs[:number], self.outputs).solve(index ^ bases[position])
                if own is not None:
                    return own ^ 1 << (before + position)
            before += len(bases)
        found = self.solve(index)
        if found is None:
            raise ValueError(f"element {self.coordinates(index)} has no place in {self}")
        return found

    # -- shapes -------------------------------------------------------------------------------------------------------
    def reshape(self, shape: Sequence[int]) -> Layout:
        """The same elements in row-major order under another shape."""
        return Layout(self.inputs, axes(shape))

    def transpose(self, order: Sequence[int]) -> Layout:
        """The layout of the tile with its axes permuted: axis i of the result is axis ``order[i]`` here."""
        return self._rearranged(order)

    def drop_axis(self, axis: int) -> Layout:
        """The layout of the tile after a reduction along `axis`: its bits vanish, copies take their place."""
        return self._rearranged([kept for kept in range(len(self.shape)) if kept != axis])

    def collapse_axis(self, axis: int) -> Layout:
        """The layout of the tile of length 1 along `axis` that broadcasts into this one."""
        return self.drop_axis(axis).expand_axis(axis)

    def expand_axis(self, axis: int) -> Layout:
        """The layout of the tile with an axis of length 1 inserted."""
        return self.reshape((*self.shape[:axis], 1, *self.shape[axis:]))

    def without_register_copies(self) -> Layout:
        """Drop the registers that only hold what another register of the thread holds."""
        return self.with_bases(register=[basis for basis in self.bases["register"] if basis])

    def _rearranged(self, kept: Sequence[int]) -> Layout:
        """The layout whose axis i is axis ``kept[i]`` here; other axes are left out."""
        new = Layout((), axes([self.shape[axis] for axis in kept]))

        def move(basis: int) -> int:
            coordinates = self.coordinates(basis)
            return new.index([coordinates[axis] for axis in kept])

        return Layout(tuple((name, tuple(map(move, bases))) for name, bases in self.inputs), new.outputs)


# -- making layouts ---------------------------------------------------------------------------------------------------
def axes(shape: Sequence[int]) -> tuple[tuple[str, int], ...]:
    """Output dimensions of a tile: ``axis0`` ... with the last one lowest. Sizes are powers of two."""
    return tuple((f"axis{axis}", shape[axis].bit_length() - 1) for axis in reversed(range(len(shape))))


def tile_layout(shape: Sequence[int], register: Iterable[int], lane: Iterable[int], warp: Iterable[int]) -> Layout:
    """A layout of a tile from its bases."""
    return Layout((("register", tuple(register)), ("lane", tuple(lane)), ("warp", tuple(warp))), axes(shape))


@lru_cache(maxsize=1024)
def blocked(shape: tuple[int, ...], vector: int, warps: int, order: tuple[int, ...], lanes: int = 32) -> Layout:
    """Spread a tile over a program: `vector` elements a thread along axis ``order[0]``, then lanes, warps, registers.

    Each level fills the axes in `order`; a tile too small for all threads is held in copies.

    >>> str(blocked((256,), 2, 4, (0,)))
    '256 register [1] lane [2] [4] [8] [16] [32] warp [64] [128]'
    """
    blank = Layout((), axes(shape))
    places = {
        axis: [blank.index([1 << k if a == axis else 0 for a in range(len(shape))]) for k in range(n)]
        for axis, n in ((axis, shape[axis].bit_length() - 1) for axis in order)
    }
    first = places[order[0]]
    register, places[order[0]] = first[: vector.bit_length() - 1], first[vector.bit_length() - 1 :]
    rest = [basis for axis in order for basis in places[axis]]
    lane_bits, warp_bits = lanes.bit_length() - 1, warps.bit_length() - 1
    lane, rest = rest[:lane_bits], rest[lane_bits:]
    warp, rest = rest[:warp_bits], rest[warp_bits:]
    lane += [0] * (lane_bits - len(lane))
    warp += [0] * (warp_bits - len(warp))
    return tile_layout(shape, register + rest, lane, warp)


_WORD = re.compile(r"\[([\d,]*)\]|(\w+)")


def parse_layout(text: str) -> Layout:
    """Read a layout's spelling back: ``parse_layout(str(layout)) == layout``. Raises ValueError for other text.

    >>> parse_layout("4 register [1] lane [2] warp").registers
    2
    """
    first, _, rest = text.strip().partition(" ")
    if not re.fullmatch(r"\d+(x\d+)*", first) or _WORD.sub("", rest).strip():
        raise ValueError(f"this is no layout: {text}")
    blank = Layout((), axes([int(size) for size in first.split("x")]))
    inputs: list[tuple[str, list[int]]] = []
    for coordinates, name in _WORD.findall(rest):
        if name:
            inputs.append((name, []))
        else:
            inputs[-1][1].append(blank.index([int(value) for value in coordinates.split(",")]))
    return Layout(tuple((name, tuple(bases)) for name, bases in inputs), blank.outputs)


# -- vectors over F2 --------------------------------------------------------------------------------------------------
def combine(bases: Sequence[int], value: int) -> int:
    """The exclusive-or of the bases chosen by the bits of `value`."""
    result = 0
    while value:
        low = value & -value
        result ^= bases[low.bit_length() - 1]
        value ^= low
    return result


@lru_cache(maxsize=4096)
def _pivots(vectors: tuple[int, ...]) -> Mapping[int, tuple[int, int]]:
    """Row echelon form: highest bit -> (vector, which of `vectors` it combines); dependent vectors are left out."""
    pivots: dict[int, tuple[int, int]] = {}
    for position, vector in enumerate(vectors):
        left, chosen = vector, 1 << position
        while left:
            pivot = pivots.get(left.bit_length() - 1)
            if pivot is None:
                pivots[left.bit_length() - 1] = (left, chosen)
                break
            left ^= pivot[0]
            chosen ^= pivot[1]
    return pivots


def rank(vectors: Sequence[int]) -> int:
    """Dimension of the span of some vectors."""
    return len(_pivots(tuple(vectors)))


def spans(vectors: Sequence[int], vector: int) -> bool:
    """Whether `vector` is a combination of `vectors`."""
    pivots = _pivots(tuple(vectors))
    while vector:
        pivot = pivots.get(vector.bit_length() - 1)
        if pivot is None:
            return False
        vector ^= pivot[0]
    return True


def independent(vectors: Iterable[int]) -> list[int]:
    """The vectors that are no combination of those before them."""
    chosen: list[int] = []
    for vector in vectors:
        if not spans(chosen, vector):
            chosen.append(vector)
    return chosen


def completion(vectors: Sequence[int], bits: int) -> list[int]:
    """Unit vectors that complete independent `vectors` to a basis of all `bits`-bit vectors."""
    chosen = list(vectors)
    for position in range(bits):
        if not spans(chosen, 1 << position):
            chosen.append(1 << position)
    return chosen[len(vectors) :]
