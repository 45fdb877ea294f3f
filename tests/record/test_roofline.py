"""Places under the roofline, worked out by hand."""

from __future__ import annotations

import pytest

from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.base.targets import TARGETS
from tinyton_lab.record.machines import MACHINES
from tinyton_lab.record.metrics import InstructionCounts, Metrics, Traffic
from tinyton_lab.record.roofline import operations, roofline

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.{0}.{0}.f32 {{%f1}}"


def counts(text: str, warps: int = 1, sectors: int = 0) -> InstructionCounts:
    traffic = {("global", "ld"): Traffic(1, 128, sectors)} if sectors else {}
    return InstructionCounts(1, 0, text, "fma", warps, 32 * warps, 32 * warps, traffic=traffic)


@pytest.mark.parametrize(
    ("text", "kind", "number"),
    [
        ("fma.rn.f32 %f1, %f1, %f1, %f1;", "f32", 64),
        ("@!%p1 add.f64 %fd1, %fd1, %fd1;", "f64", 32),
        ("mul.rn.f16x2 %r1, %r1, %r1;", "f16", 64),
        (MMA.format("f16"), "tensor_f16", 4096),
        (MMA.format("tf32"), "tensor_tf32", 4096),
        ("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2 {%f1}", "tensor_f8", 64 * 8 * 32 * 2 / 4),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f1}", "tensor_f16", 8192),
        ("add.s32 %r1, %r1, %r1;", "", 0),
        ("ld.global.f32 %f1, [%rd1];", "f32", 0),
    ],
)
def test_operations(text: str, kind: str, number: float):
    assert operations(counts(text)) == (kind, number)


def test_sides():
    load, product = counts("ld.global.b32 %r1", sectors=4), counts(MMA.format("f16"), warps=100)
    found = roofline(Metrics(None, [load, counts("fma.rn.f32 %f1")]), "sm_80")
    assert (found.intensity, found.side, found.bytes) == (0.5, "memory", 128)
    assert found.attainable == pytest.approx(0.5 * 1555e9 / 1e12)
    found = roofline(Metrics(None, [load, product]), "sm_80")
    assert found.side == "compute" and found.attainable == pytest.approx(312)
    assert found.ridge == pytest.approx(312e12 / 1555e9) and "bound by compute" in str(found)


def test_an_empty_launch_stands_nowhere():
    found = roofline(Metrics(None, []), "sm_90")
    assert (found.intensity, found.attainable, found.seconds) == (0, 0, 0)


def test_every_gpu_has_a_device_and_only_they():
    assert set(MACHINES) == {row.name for row in TARGETS.values() if row.is_gpu}
    with pytest.raises(TinytonError, match="cpu"):
        roofline(Metrics(None, []), "cpu")
    with pytest.raises(TinytonError) as caught:
        roofline(Metrics())
    assert caught.value.code == "TT6031"
