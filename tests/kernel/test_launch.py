"""Launching: what the cache shares, what it sees change, aliases, views, threads, handles."""

from __future__ import annotations

import gc
import linecache
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.samples import run_sample
from tinyton_lab.base import events

ENGINES = ["cpu", "interpreter", "sim"]
FACTOR = tl.constexpr(3)


@tt.jit
def scaled(x):
    return x * FACTOR


@tt.jit
def scale(x, out, n, BLOCK: tl.constexpr = 16):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, scaled(tl.load(x + i, mask=i < n)), mask=i < n)


def compiled(kernel: Any, launch: Any) -> int:
    """How many compilations a launch makes."""
    before = len(kernel.compilations)
    launch()
    return len(kernel.compilations) - before


def test_lengths_share_one_compilation() -> None:
    x, out = np.arange(100, dtype=np.int32), np.zeros(100, np.int32)
    scale[(1,)](x, out, 3)
    assert compiled(scale, lambda: [scale[(7,)](x, out, n) for n in (5, 7, 99)]) == 0
    assert compiled(scale, lambda: scale[(7,)](x, out, 96)) == 1
    np.testing.assert_array_equal(out[:96], x[:96] * 3)


def test_a_changed_global_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    x, out = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    scale[(1,)](x, out, 8)
    monkeypatch.setitem(globals(), "FACTOR", tl.constexpr(5))
    scale[(1,)](x, out, 8)
    np.testing.assert_array_equal(out, x * 5)


class Settings:
    offset = 1


@tt.jit
def shifted(x):
    tl.store(x, Settings.offset)


@pytest.mark.parametrize("engine", ["cpu", "interpreter", "eager"])
def test_a_changed_attribute_of_an_object_is_seen(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.zeros(1, np.int32)
    for offset in (1, 7):
        monkeypatch.setattr(Settings, "offset", offset)
        assert compiled(shifted, lambda: shifted[(1,)](x, backend=engine)) == 1
        assert x[0] == offset
    assert compiled(shifted, lambda: shifted[(1,)](x, backend=engine)) == 0


def test_a_changed_helper_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    @tt.jit
    def negated(x):
        return -x

    x, out = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    scale[(1,)](x, out, 8)
    monkeypatch.setitem(globals(), "scaled", negated)
    scale[(1,)](x, out, 8)
    np.testing.assert_array_equal(out, -x)


@pytest.mark.parametrize("engine", ENGINES)
def test_aliased_arguments_share_memory(engine: str) -> None:
    whole = np.arange(32, dtype=np.int32)
    expected = whole.copy()
    expected[16:] = whole[:16] * 3
    scale[(1,)](whole, whole[16:], 16, backend=engine)
    np.testing.assert_array_equal(whole, expected)


@pytest.mark.parametrize("engine", ENGINES)
def test_views_are_written_in_place(engine: str) -> None:
    @tt.jit
    def fill(out, stride, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(out + i * stride, i + 1, mask=i < n)

    base = np.zeros(40, np.int64)
    fill[(1,)](base[30::-3], -3, 11, BLOCK=16, backend=engine)
    expected = np.zeros(40, np.int64)
    expected[30::-3] = np.arange(1, 12)
    np.testing.assert_array_equal(base, expected)


@pytest.mark.parametrize("engine", ENGINES)
def test_out_of_bounds_is_reported_and_writes_nothing_foreign(engine: str) -> None:
    x, whole = np.arange(16, dtype=np.int32), np.zeros(48, np.int32)
    with pytest.raises(tt.TinytonError, match="TT4001") as caught:
        scale[(2,)](x, whole[16:32], 17, backend=engine)
    text = str(caught.value)
    assert ("x" in text or "out" in text) and "16" in text and "test_launch.py" in text
    assert not whole[:16].any() and not whole[32:].any()


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_bad_access_of_the_program_is_told(engine: str) -> None:
    @tt.jit
    def unmasked(x, y, out, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i) + tl.load(y + i))

    x, y, out = (np.zeros(100, np.float32) for _ in range(3))
    with pytest.raises(tt.TinytonError, match="program \\(1, 0, 0\\) would load element 100 of x"):
        unmasked[(2,)](x, y, out, BLOCK=64, backend=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_read_only_arrays_are_not_written(engine: str) -> None:
    x, out = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    x.setflags(write=False)
    scale[(1,)](x, out, 8, backend=engine)
    np.testing.assert_array_equal(out, x * 3)
    with pytest.raises(tt.TinytonError, match="TT3009"):
        scale[(1,)](out, x, 8, backend=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_scalars_of_every_kind(engine: str) -> None:
    @tt.jit
    def store(out, a, b, c, d):
        tl.store(out, a)
        tl.store(out + 1, b)
        tl.store(out + 2, c)
        tl.store(out + 3, d)

    out = np.zeros(4, np.float64)
    store[(1,)](out, 0.1, True, -5, np.float64(0.1), backend=engine)
    np.testing.assert_array_equal(out, [np.float32(0.1), 1, -5, 0.1])


@tt.jit
def constants(half, brain, single):
    tl.store(half, tl.to_tensor(3e38).to(tl.float16))
    tl.store(brain, tl.full((1,), -1e39, tl.bfloat16).sum(0))
    tl.store(single, tl.full((1,), 1e300, tl.float32).sum(0))


@pytest.mark.parametrize("engine", [*ENGINES, "eager"])
def test_constants_too_large_for_their_dtype_are_infinite(engine: str) -> None:
    half, brain, single = (np.zeros(1, dtype.numpy) for dtype in (tl.float16, tl.bfloat16, tl.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        constants[(1,)](half, brain, single, backend=engine)
    assert [float(x[0]) for x in (half, brain, single)] == [np.inf, -np.inf, np.inf]


@pytest.mark.parametrize("engine", [*ENGINES, "eager"])
def test_a_kernel_defined_anew_frees_the_last_one(engine: str) -> None:
    text = "@tt.jit\ndef kernel(x):\n    tl.store(x, 1)\n"
    functions: list[weakref.ref[Any]] = []
    for _ in range(3):
        space = {"tt": tt, "tl": tl}
        run_sample(text, "redefined.py", space)
        space["kernel"][(1,)](np.zeros(1, np.int32), backend=engine)
        functions.append(weakref.ref(space["kernel"].function))
    del space
    gc.collect()
    assert [function() for function in functions] == [None] * 3


def test_threads_launch_side_by_side() -> None:
    @tt.jit
    def paint(out, base, N: tl.constexpr):
        i = tl.program_id(0) * N + tl.arange(0, N)
        tl.store(out + i, i + base)

    outs, faults = [np.zeros(256, np.int32) for _ in range(4)], []

    def work(index: int) -> None:
        try:
            for _ in range(10):
                paint[(64,)](outs[index], index * 1000, N=4)
        except Exception as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    for index, out in enumerate(outs):
        np.testing.assert_array_equal(out, np.arange(256) + index * 1000)


def test_handles_and_events() -> None:
    seen: list[str] = []
    x, out = np.arange(8, dtype=np.float64), np.zeros(8)
    with events.listening(lambda event: seen.append(event.kind)):
        launch = scale[(1,)](x, out, 8)
        scale[(1,)](x, out, 8)
    assert seen == ["compiled", "launched", "launched"]
    assert repr(launch) == "<Launch of scale on cpu>" and repr(scale) == "<kernel scale(x, out, n, BLOCK)>"
    assert launch.compilation.ok and "tile" in launch.asm and "ttir" in launch.asm


def test_engine_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    x, out = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    monkeypatch.setenv("TINYTON_BACKEND", "interpreter")
    assert scale[(1,)](x, out, 8).engine == "interpreter"
    with tt.backend("sim"):
        assert scale[(1,)](x, out, 8).engine == "sim"
        assert scale[(1,)](x, out, 8, backend="cpu").engine == "cpu"
    with pytest.raises(tt.TinytonError, match="TT3014"), tt.backend("gpuu"):
        pass


@pytest.mark.parametrize("engine", [*ENGINES, "eager"])
def test_grids_too_large_for_an_index_are_refused(engine: str) -> None:
    x = np.zeros(1, np.int32)
    with pytest.raises(tt.TinytonError, match="TT3010"):
        shifted[(2**31,)](x, backend=engine)


def test_an_empty_grid_runs_nothing() -> None:
    out = np.zeros(8, np.int32)
    scale[(0,)](out, out, 8)
    assert not out.any()


def test_bounds_checks_can_be_turned_off_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    x, out = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    assert repr(scale[(1,)](x, out, 8)) == "<Launch of scale on cpu>"
    assert repr(scale[(1,)](x, out, 8, checked=False)) == "<Launch of scale on cpu, unchecked>"
    monkeypatch.setenv("TINYTON_CPU_CHECKED", "0")
    assert repr(scale[(1,)](x, out, 8)) == "<Launch of scale on cpu, unchecked>"
    assert repr(scale[(1,)](x, out, 8, checked=True)) == "<Launch of scale on cpu>"


@pytest.mark.parametrize("engine", [*ENGINES, "eager"])
def test_code_nested_beyond_pythons_recursion_is_a_located_fault(engine: str) -> None:
    text = "@tt.jit\ndef deep(x):\n    v = tl.load(x)\n    tl.store(x, " + " + ".join(["v"] * 1500) + ")\n"
    linecache.cache["cell:deep"] = (len(text), None, text.splitlines(True), "cell:deep")
    names = {"tt": tt, "tl": tl}
    exec(compile(text, "cell:deep", "exec"), names)
    with pytest.raises(tt.TinytonError, match="TT1030") as caught:
        names["deep"][(1,)](np.ones(1, np.float32), backend=engine)
    assert caught.value.span is not None and caught.value.span.line == 2


@tt.jit
def added(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@pytest.mark.parametrize("engine", [*ENGINES, "eager"])
def test_the_first_access_in_the_source_is_the_one_that_is_reported(engine: str) -> None:
    x, y, out = (np.zeros(10) for _ in range(3))
    with pytest.raises(tt.TinytonError, match="would load element 10 of x"):
        added[(1,)](x, y, out, 11, BLOCK=16, backend=engine)


def test_a_list_is_no_array() -> None:
    with pytest.raises(tt.TinytonError, match="TT3005: the argument x of scale is a list"):
        scale[(1,)]([1, 2, 3], np.zeros(3, np.int32), 3)
