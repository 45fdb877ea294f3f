"""Threads that wait for launches: they come awake or asleep, work at once, and are as many as wanted."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from tests.codegen.native_runs import kernel, run_natively, slots
from tests.runtime.test_cpu import threads
from tinyton_lab.runtime import cpu

MEETING = """\
kernel @meeting(%x: ptr<i32>, %n: i32) {
  %one = constant {value = 1, type = type<i32>} : i32
  %zero = constant {value = 0, type = type<i32>} : i32
  %1 = atomic %x, %one {kind = "add", sem = "acq_rel", scope = "gpu"} : i32
  %2 = while %1 : i32 {
  ^(%a: i32):
    %3 = atomic %x, %zero {kind = "add", sem = "acq_rel", scope = "gpu"} : i32
    %4 = lt %3, %n : i1
    condition %4, %a
  } {
  ^(%b: i32):
    yield %b
  }
}
"""
RUNNING_SUMS = """\
kernel @sums(%x: ptr<f32>) {
  %1 = program_id {axis = 0} : i32
  %2 = constant {value = LENGTH, type = type<i32>} : i32
  %3 = mul %1, %2 : i32
  %4 = range {start = 0, end = LENGTH} : tile<LENGTHxi32>
  %5 = splat %3 {shape = [LENGTH]} : tile<LENGTHxi32>
  %6 = add %5, %4 : tile<LENGTHxi32>
  %9 = load %x, distance=%6 : tile<LENGTHxf32>
  %10 = scan %9 {axis = 0, reverse = false} : tile<LENGTHxf32> {
  ^(%p: f32, %q: f32):
    %r = add %p, %q : f32
    yield %r
  }
  store %x, %10, distance=%6
}
"""


@pytest.fixture(autouse=True)
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share every launch, however small."""
    monkeypatch.setattr(cpu, "PARALLEL_UNITS", 1)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_threads_work_at_once(count: int) -> None:
    """Each program waits until all have begun: this ends only when every thread comes, awake or asleep."""
    launch = kernel(MEETING).launch
    with threads(count):
        for pause in (0, 0, 0.02, 0):
            time.sleep(pause)
            x = np.zeros(1, np.int32)
            launch((count, 1, 1), slots([x, count]))
            assert x[0] >= count


def test_each_thread_has_the_scratch_memory_that_a_kernel_needs() -> None:
    with threads(2):
        for length in (64, 2048, 256, 4096):
            x = np.ones(length * 64, np.float32)
            run_natively(RUNNING_SUMS.replace("LENGTH", str(length)), (64, 1, 1), x)
            assert (x.reshape(64, length) == np.arange(1, length + 1)).all()


def test_launches_at_once_share_the_threads() -> None:
    text = RUNNING_SUMS.replace("LENGTH", "64")
    arrays = [np.ones((64, 64), np.float32) for _ in range(4)]

    def work(x: np.ndarray) -> None:
        for _ in range(50):
            x[:] = 1
            run_natively(text, (64, 1, 1), x)

    users = [threading.Thread(target=work, args=(x,)) for x in arrays]
    with threads(3):
        for user in users:
            user.start()
        for user in users:
            user.join()
    assert all((x == np.arange(1, 65)).all() for x in arrays)
