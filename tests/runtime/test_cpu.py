"""Native launches: threads share the grid, an interrupt ends them, a fork and other threads may launch as well."""

from __future__ import annotations

import os
import signal
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from tests.codegen.native_runs import ONE, kernel, run_natively, slots
from tinyton_lab.base import knobs
from tinyton_lab.base.diagnostics import TinytonError

SCALE = """\
kernel @scale(%x: ptr<f32>, %n: i32) {
  %1 = program_id {axis = 0} : i32
  %2 = constant {value = 1024, type = type<i32>} : i32
  %3 = mul %1, %2 : i32
  %4 = range {start = 0, end = 1024} : tile<1024xi32>
  %5 = splat %3 {shape = [1024]} : tile<1024xi32>
  %6 = add %5, %4 : tile<1024xi32>
  %7 = splat %n {shape = [1024]} : tile<1024xi32>
  %8 = lt %6, %7 : tile<1024xi1>
  %9 = load %x, distance=%6, mask=%8 : tile<1024xf32>
  %10 = add %9, %9 : tile<1024xf32>
  store %x, %10, distance=%6, mask=%8
}
"""
ENDLESS = """\
kernel @endless(%x: ptr<i32>) {
  %1 = constant {value = 0, type = type<i32>} : i32
  %2 = while %1 : i32 {
  ^(%a: i32):
    %3 = constant {value = true, type = type<i1>} : i1
    condition %3, %a
  } {
  ^(%b: i32):
    %4 = load %x : i32
    %5 = add %b, %4 : i32
    yield %5
  }
  store %x, %2
}
"""
WHO = """\
kernel @who(%o: ptr<i32>) {
  %1 = program_id {axis = 0} : i32
  %2 = program_id {axis = 1} : i32
  %3 = program_id {axis = 2} : i32
  %4 = num_programs {axis = 0} : i32
  %5 = num_programs {axis = 1} : i32
  %6 = num_programs {axis = 2} : i32
  %7 = mul %3, %5 : i32
  %8 = add %7, %2 : i32
  %9 = mul %8, %4 : i32
  %10 = add %9, %1 : i32
  %11 = offset %o, %10 : ptr<i32>
  %12 = mul %6, %10 : i32
  store %11, %12
}
"""


@contextmanager
def threads(count: int) -> Iterator[None]:
    variable = knobs.CPU_THREADS.variable
    before = os.environ.get(variable)
    os.environ[variable] = str(count)
    try:
        yield
    finally:
        if before is None:
            del os.environ[variable]
        else:
            os.environ[variable] = before


def test_programs_know_their_place() -> None:
    out = np.zeros(3 * 4 * 5, np.int32)
    run_natively(WHO, (3, 4, 5), out)
    assert out.tolist() == [5 * k for k in range(60)]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_each_program_runs_once(count: int) -> None:
    x = np.ones(1 << 22, np.float32)
    with threads(count):
        for _ in range(20):
            run_natively(SCALE, (1 << 12, 1, 1), x, x.size)
    assert (x == 2.0**20).all()


def test_threads_of_the_user_launch_at_once() -> None:
    arrays = [np.ones(1 << 18, np.float32) for _ in range(6)]

    def work(x: np.ndarray) -> None:
        for _ in range(10):
            run_natively(SCALE, (1 << 8, 1, 1), x, x.size)

    workers = [threading.Thread(target=work, args=(x,)) for x in arrays]
    with threads(2):
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert all((x == 1024).all() for x in arrays)


def test_faults_of_any_thread_name_the_first_program() -> None:
    x = np.ones(1 << 21, np.float32)
    with threads(2):
        for _ in range(10):
            with pytest.raises(TinytonError, match=r"program \(900, 0, 0\) would load element 921700 "):
                run_natively(SCALE, (1 << 11, 1, 1), x[:921700], x.size)


@pytest.mark.parametrize(("count", "grid"), [(1, ONE), (2, (1 << 16, 1, 1))])
def test_an_interrupt_ends_an_endless_loop(count: int, grid: tuple[int, int, int]) -> None:
    x = np.zeros(1, np.int32)
    launch = kernel(ENDLESS).launch
    start = time.perf_counter()
    with threads(count), pytest.raises(KeyboardInterrupt):
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        launch(grid, slots([x]))
    assert time.perf_counter() - start < 1.3
    y = np.ones(5000, np.float32)
    run_natively(SCALE, (5, 1, 1), y, 5000)
    assert (y == 2).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_launches() -> None:
    x = np.ones(1 << 21, np.float32)
    with threads(2):
        run_natively(SCALE, (1 << 11, 1, 1), x, x.size)
        child = os.fork()
        if not child:
            run_natively(SCALE, (1 << 11, 1, 1), x, x.size)
            os._exit(0 if (x == 4).all() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (x == 2).all()


@pytest.mark.parametrize("count", [1, 2])
def test_a_launch_copies_no_argument(count: int) -> None:
    x = np.ones(1 << 22, np.float32)
    launched = kernel(SCALE)
    with threads(count):
        launched.launch((4096, 1, 1), slots([x, x.size]))
        tracemalloc.start()
        launched.launch((4096, 1, 1), slots([x, x.size]))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert (x == 4).all() and most < x.nbytes // 16


@pytest.mark.parametrize("length", [64, 1024, 4096])
def test_scratch_memory_is_bounded_by_the_tile(length: int) -> None:
    fused = kernel(SCALE.replace("1024", str(length))).code.scratch_bytes
    assert fused == kernel(SCALE).code.scratch_bytes <= 64  # nothing but the place for lanes that are off
    kept = SCALE.replace(
        "%10 = add %9, %9",
        "%a = scan %9 {axis = 0, reverse = false} : tile<1024xf32> {\n"
        "  ^(%p: f32, %q: f32):\n    %r = add %p, %q : f32\n    yield %r\n  }\n  %10 = add %a, %9",
    )
    assert kernel(kept.replace("1024", str(length))).code.scratch_bytes <= 64 + 2 * 4 * length  # its operand and result
