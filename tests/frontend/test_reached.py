"""A kernel's code knows which helpers and globals it was made from, and sees when they change."""

from __future__ import annotations

import linecache
from typing import Any

import tinyton_lab.language as tl
from tests.frontend.lowering import Device, device, lowered

TEXT = """
def helper(v):
    return v * SCALE

def kernel(x):
    tl.store(x, act(tl.load(x)))
"""


def namespace(**names: Any) -> dict[str, Any]:
    label = "<cell of test_reached>"
    linecache.cache[label] = (len(TEXT), None, TEXT.splitlines(keepends=True), label)
    space = {"tl": tl, "__name__": "cell", **names}
    exec(compile(TEXT, label, "exec", dont_inherit=True), space)
    space["act"] = Device(space["helper"])
    return space


def test_globals_and_helpers_are_seen():
    space = namespace(SCALE=tl.constexpr(3))
    reached = lowered(Device(space["kernel"]), x="*i32").reached
    assert sorted(read.name for read in reached) == ["SCALE", "act", "tl"]
    assert sorted(reached.sources) == ["cell.helper", "cell.kernel"]
    assert reached.unchanged()


def test_a_changed_global_is_seen():
    space = namespace(SCALE=tl.constexpr(3))
    reached = lowered(Device(space["kernel"]), x="*i32").reached
    space["SCALE"] = tl.constexpr(3)
    assert reached.unchanged(), "an equal value is no change"
    for changed in (tl.constexpr(5), tl.constexpr(3.0), 3, None):
        space["SCALE"] = changed
        assert reached.unchanged() is (changed == 3 and isinstance(changed, int))


def test_a_helper_defined_again_is_seen():
    space = namespace(SCALE=2)
    reached = lowered(Device(space["kernel"]), x="*i32").reached
    space["act"] = Device(space["helper"])
    assert not reached.unchanged()


def test_a_deleted_global_is_seen():
    space = namespace(SCALE=2)
    reached = lowered(Device(space["kernel"]), x="*i32").reached
    del space["SCALE"]
    assert not reached.unchanged()


def test_closures_are_seen():
    factor = 2

    @device
    def kernel(x):
        tl.store(x, tl.load(x) * factor)

    reached = lowered(kernel, x="*i32").reached
    assert reached.unchanged()
    factor = 3
    assert not reached.unchanged()
