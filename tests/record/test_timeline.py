"""Time travel and divergence on steps made by hand, where every answer can be seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tinyton_lab.record.divergence import first_divergence
from tinyton_lab.record.events import Access, Step
from tinyton_lab.record.recording import Recording
from tinyton_lab.record.timeline import Timeline, scope

ALL = 0xFFFFFFFF


def step(index: int, text: str, mask: int = ALL, access: Access | None = None, reads: Any = (), **writes: Any) -> Step:
    lanes = tuple((name, tuple(values)) for name, values in writes.items())
    return Step(index, (0, 0, 0), index % 2, 10 + index, index, text, mask, lanes, access, "", reads)


def store(index: int, first: int, size: int, data: int, space: str = "global", mask: int = ALL) -> Step:
    offsets = tuple(first + size * lane if mask >> lane & 1 else -1 for lane in range(32))
    return step(index, "st", mask, Access(space, "store", "x", size, offsets, (data,) * 32), ("a",))


STEPS = [
    step(0, "set", a=range(32)),
    step(1, "other warp", a=[9] * 32),
    step(2, "half", 0xFFFF, reads=("a",), a=[7] * 32),
    store(3, 0, 4, 0x01020304),
    step(4, "read", 0xFFFF0000, reads=("a",), b=[1] * 32),
    store(5, 2, 2, 0x0A0B, mask=1),
    step(6, "again", reads=("b",), a=[5] * 32),
]


def test_a_value_is_the_last_one_that_the_lane_itself_wrote():
    timeline = Timeline(STEPS)
    assert [timeline.value("a", lane=20, step=n) for n in (-1, 0, 2, 5, 6)] == [None, 20, 20, 20, 5]
    assert [timeline.value("a", lane=3, step=n) for n in (0, 2, 6)] == [3, 7, 5]
    assert timeline.value("a", warp=1) == 9
    assert timeline.value("nothing") is None
    assert timeline.registers(step=4) == {
        "a": (*[7] * 16, *range(16, 32)),
        "b": (*[None] * 16, *[1] * 16),
    }


def test_memory_is_put_together_from_the_last_stores_of_each_byte():
    timeline = Timeline(STEPS)
    assert timeline.memory("x", 0, 2) is None
    assert timeline.memory("x", 0, 3, "<u4") == 0x01020304
    assert timeline.memory("x", 0, 6, "<u4") == 0x0A0B0304
    assert timeline.memory("x", 124, dtype="<u4") == 0x01020304
    assert timeline.memory("x", 126, dtype="<u4") is None
    assert timeline.memory("x", 0, cta=(1, 0, 0)) == 4
    shared = Timeline([store(0, 0, 4, 5, "shared")])
    assert shared.memory("x", 0, space="shared") == 5
    assert shared.memory("x", 0, space="shared", cta=(1, 0, 0)) is None


def test_writers_and_readers():
    timeline = Timeline(STEPS)
    assert timeline.last_writer("a", lane=20, step=5) is STEPS[0]
    assert timeline.last_writer("a", lane=3, step=5) is STEPS[2]
    assert timeline.last_writer("a", lane=3, step=-1) is None
    # Lane 20 takes no part in step 2, and reads in step 4; lane 3 reads nothing after step 2 before it writes again.
    assert timeline.next_reader("a", lane=20, step=0) is STEPS[4]
    assert timeline.next_reader("a", lane=3, step=0) is STEPS[2]
    assert timeline.next_reader("a", lane=3, step=2) is None
    assert timeline.last_store(scope("global", "x", (0, 0, 0), 0, 0), 3, 6)[:2] == (5, 0)
    loads = Timeline([store(0, 0, 4, 1), step(1, "ld", 1, Access("global", "load", "x", 8, (8,) + (-1,) * 31))])
    assert loads.next_load(scope("global", "x", (0, 0, 0), 0, 0), 13, 0)[:2] == (1, 0)
    assert loads.next_load(scope("global", "x", (0, 0, 0), 0, 0), 16, 0) is None


def test_stepping_and_running_in_both_directions():
    timeline = Timeline(STEPS)
    assert timeline.back(2) is STEPS[4] and timeline.step() is STEPS[5] and timeline.step(50) is STEPS[6]
    assert timeline.back(50) is None and timeline.position == -1
    assert timeline.run_to(line=12) is STEPS[2]
    assert timeline.run_to(uid=4) is STEPS[4]
    assert timeline.run_to(register="a", lane=20, backward=True) is STEPS[1]
    assert timeline.run_to(register="a", lane=20, backward=True) is STEPS[0]
    assert timeline.run_to(register="a", warp=0, lane=20) is STEPS[6]
    assert timeline.run_to(register="a") is None and timeline.position == 6
    assert timeline.run_to(name="x", offset=3, backward=True) is STEPS[5]
    assert timeline.run_to(name="x", offset=1, backward=True) is STEPS[3]
    assert timeline.run_to(test=lambda s: s.text == "again") is STEPS[6]


def test_watches_stop_what_names_nothing_else():
    timeline = Timeline(STEPS)
    timeline.watch(name="x", lane=1)
    timeline.watch(register="b")
    assert timeline.run_to(backward=True) is STEPS[4]
    assert timeline.run_to(backward=True) is STEPS[3]
    assert timeline.run_to(backward=True) is None
    assert timeline.run_to() is STEPS[3]


def different(number: int, **fields: Any) -> list[Step]:
    return [replace(s, **fields) if n == number else s for n, s in enumerate(STEPS)]


def test_the_first_difference():
    assert first_divergence(STEPS, STEPS) is None
    lanes = tuple(-1 if lane == 4 else lane for lane in range(32))
    found = first_divergence(STEPS, different(0, writes=(("a", lanes),)))
    assert found and (found.what, found.name, found.lane, found.values) == ("write", "a", 4, (4, -1))
    assert "lane 4: 4 and -1" in str(found)
    # Lanes that take no part may hold anything.
    assert first_divergence(STEPS, different(2, writes=(("a", (*[7] * 16, *[1] * 16)),))) is None
    assert getattr(first_divergence(STEPS, different(4, text="x")), "what", "") == "instruction"
    assert getattr(first_divergence(STEPS, different(4, mask=1)), "what", "") == "lanes"
    assert getattr(first_divergence(STEPS, STEPS[:6]), "left", None) is STEPS[6]
    changed = replace(STEPS[3].access, data=(1,) * 32) if STEPS[3].access else None
    assert getattr(first_divergence(STEPS, different(3, access=changed)), "what", "") == "memory"


def test_another_order_of_warps_is_no_difference():
    assert first_divergence(STEPS, [STEPS[1], STEPS[0], *STEPS[2:]]) is None
    nan = [step(0, "n", a=[float("nan")] * 32)]
    assert (
        Recording("k", "", (1, 1, 1), (32, 1, 1), nan).first_divergence(
            Recording("k", "", (1, 1, 1), (32, 1, 1), [step(0, "n", a=[-float("nan")] * 32)])
        )
        is None
    )
