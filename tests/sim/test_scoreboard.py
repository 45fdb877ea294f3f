"""The model of cycles behaves as machines do: chains wait, warps hide latency, conflicts and barriers cost."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim.kit import run
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.record.machines import MACHINES, SCHEDULERS, machine
from tinyton_lab.record.model import STALLS, Model
from tinyton_lab.sim.scoreboard import unit_of

SHARED = ".shared .align 128 .b8 buffer[32768];\n"
LOAD = "ld.global.b32 %r1, [%d0]; add.u32 %r2, %r1, 1;"


def modelled(body: str, *, on: str = "sm_80", block: int = 32, grid: int = 1) -> Model:
    found = run(body, np.zeros(4096, np.uint32), before=SHARED, model=on, block=block, grid=grid).model
    assert found is not None
    return found


def spent(body: str, **options: object) -> int:
    return modelled(body, **options).cycles


def chain(count: int, links: int, opcode: str = "fma.rn.f32") -> str:
    """`count` instructions; each depends on the one `links` before it."""
    return "".join(f"{opcode} %f{1 + n % links}, %f{1 + n % links}, %f{1 + n % links}, %f0;" for n in range(count))


def test_a_dependent_chain_costs_its_latency_and_an_independent_one_its_rate():
    empty = spent("")
    assert spent(chain(64, 1)) - empty == pytest.approx(64 * machine("sm_80").latency["fma"], abs=8)
    # 16 lanes of a scheduler take a warp every other cycle.
    assert spent(chain(64, 8)) - empty == pytest.approx(64 * 2, abs=8)
    assert spent(chain(64, 8), on="sm_90") - spent("", on="sm_90") == pytest.approx(64, abs=8)


def test_more_warps_hide_latency():
    body = LOAD * 4
    one, many = modelled(body, block=32), modelled(body, block=512)
    assert many.issued == 16 * one.issued
    assert many.cycles < 1.2 * one.cycles, "sixteen warps take hardly longer than one"
    assert one.stalls["long_scoreboard"] > 0.8 * one.cycles


def test_bank_conflicts_cost_their_passes():
    def stride(pitch: int) -> str:
        address = f"mov.u32 %r20, buffer; mad.lo.u32 %r20, %r0, {pitch}, %r20;"
        return address + "ld.shared.b32 %r1, [%r20]; add.u32 %r2, %r1, 1;"

    assert spent(stride(128)) - spent(stride(4)) == 31
    assert spent(stride(8)) - spent(stride(4)) == 1
    assert modelled(stride(4)).stalls["short_scoreboard"] > 0


def test_warps_wait_at_a_barrier_for_the_last_one():
    body = f"setp.lt.u32 %p1, %r0, 32; @!%p1 bra after; {chain(64, 1)} after: bar.sync 0;"
    found = modelled(body, block=128)
    assert found.stalls["barrier"] > 3 * 200, "three warps wait for one"
    assert modelled("bar.sync 0;", block=128).stalls["barrier"] < 100


def test_bandwidth_bounds_loads():
    address = "mul.wide.u32 %d20, %r0, {0}; add.u64 %d20, %d20, %d0; ld.global.b32 %r1, [%d20]; add.u32 %r2, %r1, 1;"
    near, wide = (modelled(address.format(pitch), block=512) for pitch in (4, 32))
    assert wide.cycles - near.cycles > 0.9 * 16 * 28 * 32 / machine("sm_80").bytes_per_cycle - 466


def test_special_functions_and_doubles_are_slow_where_the_device_is():
    doubles = "".join(f"fma.rn.f64 %fd{n % 8}, %fd{n % 8}, %fd{n % 8}, %fd{n % 8};" for n in range(32))
    assert spent(doubles, on="sm_75") > 8 * spent(doubles, on="sm_80")
    assert modelled("".join(f"ex2.approx.f32 %f{n}, %f0;" for n in range(1, 17))).stalls["math_pipe_throttle"] > 50


def test_copies_are_waited_for_in_groups():
    copy = (
        "mov.u32 %r20, buffer; cp.async.ca.shared.global [%r20], [%d0], 4; cp.async.commit_group;"
        "{0} cp.async.wait_group 0; ld.shared.b32 %r1, [%r20]; add.u32 %r2, %r1, 1;"
    )
    without, hidden = modelled(copy.format("")), modelled(copy.format(chain(100, 1)))
    assert without.stalls["long_scoreboard"] > 400
    assert hidden.cycles < without.cycles + 60, "arithmetic runs while the copy does"


@pytest.mark.parametrize("on", sorted(MACHINES))
def test_every_cycle_of_every_warp_has_a_reason(on: str):
    found = modelled(LOAD + chain(8, 2) + "bar.sync 0;" + LOAD, on=on, block=256, grid=1000)
    assert set(found.stalls) == set(STALLS) and found.issued == found.stalls["selected"]
    lines = [sum(reasons.get(name, 0) for reasons in found.per_line.values()) for name in STALLS]
    assert lines == list(found.stalls.values())
    assert sum(found.stalls.values()) <= found.cycles * found.ctas * found.warps
    assert found.ctas * found.warps <= 64 and found.ctas * found.waves * machine(on).sms >= 1000
    assert found.issued <= SCHEDULERS * found.cycles


def test_the_numbers_stand_among_the_metrics_as_a_model():
    launch = run(LOAD, np.zeros(64, np.uint32), model="sm_80", metrics=True)
    assert launch.model is not None and "not a measurement" in repr(launch.model)
    names = [name for name in launch.metrics if "stalled" in name or "cycles" in name]
    assert names and all(name.startswith("model:") for name in names)
    assert launch.metrics["model:cycles_per_cta"] == launch.model.cycles


def test_what_executes_an_opcode():
    words = {"ld.param.u64": "constant", "ld.shared.b32": "shared", "st.global.b32": "global"}
    words["cp.async.ca.shared.global"] = "global"
    assert {opcode: unit_of(opcode, "lsu") for opcode in words} == words
    assert unit_of("shfl.sync.bfly.b32", "warp") == "shuffle"


def test_a_model_of_no_device_is_refused():
    with pytest.raises(TinytonError) as caught:
        run("", np.zeros(4), model="cpu")
    assert caught.value.code == "TT5001"
