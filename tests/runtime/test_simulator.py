"""The launcher's door to the simulator: arguments by name, records, and messages that point at the source."""

from __future__ import annotations

import numpy as np
import pytest

from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.base.source import Source, Span
from tinyton_lab.runtime import simulator

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .f32 by)
{
.reg .b32 %r<5>; .reg .b64 %d<4>;
ld.param.b64 %d1, [x]; ld.param.b32 %r1, [by];
mov.u32 %r2, %tid.x;
mul.wide.u32 %d2, %r2, 4;
add.s64 %d3, %d1, %d2;
ld.global.b32 %r3, [%d3];
mul.rn.f32 %r4, %r3, %r1;
st.global.b32 [%d3], %r4;
ret;
}
"""


def test_run_changes_arrays_in_place_and_records():
    x = np.arange(32, dtype=np.float32)
    launch = simulator.run(PTX, "scale", (1,), (32,), [x, np.float32(2)], ["x", "by"], record="warp")
    assert np.array_equal(x, 2 * np.arange(32))
    recording = launch.recording
    assert recording is not None and [s.text.split()[0] for s in recording.steps[-3:]] == [
        "mul.rn.f32",
        "st.global.b32",
        "ret",
    ]
    assert recording.steps[-3].writes == (("%r4", tuple(float(2 * n) for n in range(32))),)


def test_a_fault_points_at_the_source():
    span = Span(Source("cell:scale", "y = load(x + i)"), 1, 4, 1, 15)
    with pytest.raises(TinytonError) as caught:
        simulator.run(
            PTX, "scale", (1,), (32,), [np.zeros(8, np.float32), np.float32(2)], ["x", "by"], source_map={11: (5, span)}
        )
    assert caught.value.code == "TT4001" and caught.value.span is span and "element 8 of x" in str(caught.value)


def test_steps_carry_op_numbers():
    launch = simulator.run(
        PTX, "scale", (1,), (32,), [np.zeros(32, np.float32), np.float32(2)], record="warp", source_map={12: (7, None)}
    )
    assert launch.recording is not None
    assert {s.text.split()[0]: s.uid for s in launch.recording.steps if s.uid} == {"mul.rn.f32": 7}
