"""Linear layouts: the algebra's laws; random conversions through swizzled memory are correct and conflict-free."""

from __future__ import annotations

import random

import pytest

from tinyton_lab.layout.convert import leaders, movement
from tinyton_lab.layout.linear import Layout, blocked, parse_layout, tile_layout
from tinyton_lab.layout.swizzle import swizzle, wavefronts


def random_layout(bits: int, warp_bits: int, source: random.Random, mixed: bool) -> Layout:
    """A layout of a 2-D tile with its element bits dealt to registers, lanes and warps; some lanes may hold copies."""
    basis = [1 << bit for bit in range(bits)]
    source.shuffle(basis)
    for _ in range(bits if mixed else 0):
        into, other = source.sample(range(bits), 2)
        basis[into] ^= basis[other]
    lane, warp, register = basis[:5], basis[5 : 5 + warp_bits], basis[5 + warp_bits :]
    if source.random() < 0.3:
        copied = source.randrange(5)
        register.append(lane[copied])
        lane[copied] = 0
    return tile_layout((1 << bits // 2, 1 << (bits - bits // 2)), register, lane, warp)


def threads(layout: Layout) -> list[tuple[int, int]]:
    return [(lane, warp) for warp in range(1 << len(layout.bases["warp"])) for lane in range(32)]


def counted_wavefronts(place: Layout, element_bytes: int, vector_bits: int) -> int:
    """The worst phase of the accesses, by looking at every address."""
    lanes = min(128 // max(element_bytes << vector_bits, 4), 32)
    steps = [r for r in range(place.registers) if place.apply(register=r) & ((1 << vector_bits) - 1) == 0]
    worst = 1
    for register in steps:
        for first in range(0, 32, lanes):
            phase = range(first, first + lanes)
            words = {place.apply(register=register, lane=lane, warp=0) * element_bytes // 4 for lane in phase}
            banks = [word % 32 for word in words]
            worst = max(worst, *(banks.count(bank) for bank in set(banks)))
    return worst


@pytest.mark.parametrize("mixed", [False, True], ids=["permuted", "mixed"])
@pytest.mark.parametrize("seed", range(60))
def test_random_conversions(seed: int, mixed: bool):
    draw = random.Random(seed * 2 + mixed)
    bits, warp_bits, element_bytes = draw.choice([9, 10, 11, 12]), draw.choice([0, 1, 2, 3]), draw.choice([1, 2, 4, 8])
    source, target = (random_layout(bits, warp_bits, draw, mixed) for _ in range(2))
    memory = swizzle(source, target, element_bytes)
    assert memory.rank == bits
    written: dict[int, int] = {}
    store, load = source.inverse_compose(memory), target.inverse_compose(memory)
    for lane, warp in threads(source):
        for register in range(source.registers):
            at = {"register": register, "lane": lane, "warp": warp}
            written[store.apply(**at)] = source.apply(**at)
    for lane, warp in threads(target):
        for register in range(target.registers):
            at = {"register": register, "lane": lane, "warp": warp}
            assert written[load.apply(**at)] == target.apply(**at)
    vector_bits = len(memory.bases["vector"])
    for place in (store, load):
        assert all(1 << bit in place.bases["register"] for bit in range(vector_bits))
        assert wavefronts(place, element_bytes, 1 << vector_bits) == 1
        assert counted_wavefronts(place, element_bytes, vector_bits) == 1


def test_wavefronts_count_conflicts():
    by_row, by_column = blocked((32, 32), 1, 1, (1, 0)), blocked((32, 32), 1, 1, (0, 1))
    plain = Layout((("offset", tuple(1 << bit for bit in range(10))),), by_row.outputs)
    assert wavefronts(by_row.inverse_compose(plain), 4, 1) == 1
    assert wavefronts(by_column.inverse_compose(plain), 4, 1) == 32
    solved = swizzle(by_row, by_column, 4)
    assert wavefronts(by_column.inverse_compose(solved), 4, 1) == 1


def test_text_round_trips():
    draw = random.Random(7)
    for seed in range(40):
        layout = random_layout(9 + seed % 4, seed % 3, draw, mixed=seed % 2 == 0)
        assert parse_layout(str(layout)) == layout
        assert hash(parse_layout(str(layout))) == hash(layout)
    with pytest.raises(ValueError, match="no layout"):
        parse_layout("16x16 register [1,")


def test_inverse_compose_is_an_inverse():
    draw = random.Random(3)
    for _ in range(40):
        one, two = (random_layout(10, 2, draw, mixed=True) for _ in range(2))
        there = one.inverse_compose(two)
        assert there.compose(two).flat == one.flat


def test_views_keep_elements():
    layout = blocked((16, 32), 2, 4, (1, 0))
    for lane, warp in threads(layout):
        row, column = layout.coordinates(layout.apply(register=3, lane=lane, warp=warp))
        where = {"register": 3, "lane": lane, "warp": warp}
        flipped = layout.transpose((1, 0))
        assert flipped.coordinates(flipped.apply(**where)) == (column, row)
        assert layout.reshape((512,)).apply(**where) == row * 32 + column
        assert layout.drop_axis(1).apply(**where) == row
        assert layout.collapse_axis(1).coordinates(layout.collapse_axis(1).apply(**where)) == (row, 0)


def test_blocked_covers_the_tile_once():
    cases = (((1024,), 4, (0,)), ((16, 64), 4, (1, 0)), ((16, 64), 2, (0, 1)), ((8, 4, 8), 1, (2, 1, 0)))
    for shape, vector, order in cases:
        layout = blocked(shape, vector, 4, order)
        assert layout.rank == layout.bits
        assert layout.without_register_copies() == layout
    small = blocked((16,), 1, 4, (0,))
    assert (small.registers, small.free("lane"), small.free("warp")) == (1, 0b10000, 0b11)


def test_movement():
    layout = blocked((16, 64), 4, 4, (1, 0))
    register, lane, warp = (layout.bases[name] for name in ("register", "lane", "warp"))
    assert movement(layout, layout) == "none"
    assert movement(layout, layout.with_bases(register=register[::-1])) == "register"
    assert movement(layout, layout.with_bases(lane=lane[::-1])) == "lane"
    assert (
        movement(layout, layout.with_bases(register=(*register[:-1], warp[0]), warp=(register[-1], warp[1]))) == "warp"
    )
    copies = layout.with_bases(lane=(*lane[:-1], 0), register=(*register, lane[-1]))
    assert movement(copies, layout) == "lane"


def test_registers_follow_the_leader_of_their_run():
    for layout, axis, run in (
        (blocked((1024,), 4, 4, (0,)), 0, 1024),
        (blocked((1024,), 4, 4, (0,)), 0, 64),
        (blocked((16, 128), 4, 4, (1, 0)), 1, 128),
        (blocked((16, 128), 1, 2, (0, 1)), 0, 8),
    ):
        for lane, warp in threads(layout)[::7]:
            for register, (leader, after) in enumerate(leaders(layout, axis, run)):
                at = layout.coordinates(layout.apply(register=register, lane=lane, warp=warp))
                head = layout.coordinates(layout.apply(register=leader, lane=lane, warp=warp))
                assert at[axis] - head[axis] == after and at[axis] // run == head[axis] // run
                assert [x for a, x in enumerate(at) if a != axis] == [x for a, x in enumerate(head) if a != axis]
    assert {leader for leader, _ in leaders(blocked((1024,), 4, 4, (0,)), 0, 1024)} == {0}
