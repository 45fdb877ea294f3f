"""Places of tiles in shared memory: swizzles free of bank conflicts, and how many wavefronts an access takes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tinyton_lab.layout.linear import Layout, axes, completion, independent, rank, spans

BANK_ROW_BYTES = 128
BANK_BYTES = 4
VECTOR_BYTES = 16


@lru_cache(maxsize=1024)
def swizzle(source: Layout, target: Layout, element_bytes: int) -> Layout:
    """The place of a tile in shared memory, written in layout `source` and read in `target`, conflict-free.

    The result maps element offsets to the tile, its offset bits in three dimensions, from the lowest: ``vector``
    (registers that both sides hold together, up to 16 bytes), ``bank``, ``segment``. Lanes of one access phase conflict
    when they differ by a segment vector and share a bank, so the segment avoids the spans of both sides' lanes.
    """
    together = [basis for basis in source.bases["register"] if basis and basis in target.bases["register"]]
    for count in range(min(len(together), (VECTOR_BYTES // element_bytes).bit_length() - 1), -1, -1):
        vector = together[:count]
        layout = _arranged(source, target, vector, element_bytes)
        if all(_keeps_vectors(side, layout, vector) for side in (source, target)):
            return layout
    raise RuntimeError("layout: no swizzle, not even of single elements")


@lru_cache(maxsize=1024)
def row_major(side: Layout, element_bytes: int) -> Layout:
    """Row-major order in shared memory, written in layout `side` in vectors as wide as that allows."""
    bits = side.bits
    for count in range(min(bits, (VECTOR_BYTES // element_bytes).bit_length() - 1), -1, -1):
        vector = tuple(1 << at for at in range(count))
        rest = tuple(1 << at for at in range(count, bits))
        layout = Layout((("vector", vector), ("bank", rest), ("segment", ())), axes(side.shape))
        if set(vector) <= set(side.bases["register"]) and _keeps_vectors(side, layout, vector):
            return layout
    raise RuntimeError("layout: no row-major order, not even of single elements")


def _arranged(source: Layout, target: Layout, vector: Sequence[int], element_bytes: int) -> Layout:
    bits = source.bits
    bank_bits = min((BANK_ROW_BYTES // element_bytes).bit_length() - 1, bits) - len(vector)
    word_bits = max((BANK_BYTES // element_bytes).bit_length() - 1 - len(vector), 0)
    word = [*vector, *completion(vector, bits)[:word_bits]]
    phases = [phase_lanes(side, element_bytes << len(vector)) for side in (source, target)]
    segment: list[int] = []
    while len(vector) + bank_bits + len(segment) < bits:
        segment.append(_outside([*word, *phases[0], *segment], [*word, *phases[1], *segment], bits))
    bank = [*word[len(vector) :], *completion([*word, *segment], bits)]
    return Layout((("vector", tuple(vector)), ("bank", tuple(bank)), ("segment", tuple(segment))), axes(source.shape))


def phase_lanes(layout: Layout, access_bytes: int) -> list[int]:
    """Bases of the lanes that access shared memory at one time: all 32 up to 4 bytes a lane, fewer for vectors."""
    lanes = layout.bases["lane"]
    phase = min(BANK_ROW_BYTES // max(access_bytes, BANK_BYTES), 1 << len(lanes)).bit_length() - 1
    return [basis for basis in lanes[:phase] if basis]


def _outside(first: Sequence[int], second: Sequence[int], bits: int) -> int:
    """A vector in neither span: two proper subspaces never cover the space.

    There is one: a phase's lanes and a word span at most as many dimensions as a row of banks.
    """
    u = completion(independent(first), bits)[0]
    w = completion(independent(second), bits)[0]
    if not spans(second, u):
        return u
    return w if not spans(first, w) else u ^ w


def _keeps_vectors(side: Layout, memory: Layout, vector: Sequence[int]) -> bool:
    """Whether each thread reads whole vectors in register order: no other bit of it moves within a vector."""
    place = side.inverse_compose(memory)
    low = (1 << len(vector)) - 1
    pairs = zip(side.bases["register"], place.bases["register"])
    others = [image for basis, image in pairs if basis not in vector]
    return not any(image & low for image in (*others, *place.bases["lane"], *place.bases["warp"]))


def wavefronts(place: Layout, element_bytes: int, vector: int) -> int:
    """Wavefronts of one access phase, by the map `place` from hardware to element offsets: 1 is conflict-free.

    Lanes that touch the same 4-byte word share it. Counted exactly: offsets are linear, so each bank that is hit at all
    is hit by equally many words.
    """
    access_bytes = element_bytes * vector
    words = [image * element_bytes // BANK_BYTES for image in phase_lanes(place, access_bytes)]
    banks = BANK_ROW_BYTES // BANK_BYTES
    return 1 << (rank(words) - rank([word % banks for word in words]))
