"""Shared memory of tiny-ton's dialect: the same on every engine, and what is told of lanes that do not wait."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinyton_lab.language as tl
import tinyton_lab.tiny_ton as tt
from tinyton_lab.base.diagnostics import TinytonError

ENGINES = ["interpreter", "eager", "cpu", "sim"]
WATCHING = ["interpreter", "eager"]
LENGTHS = [1, 5, 32, 100]


@tt.jit
def reverse(x, y, BLOCK: tt.constexpr):
    lane = tt.arange(0, BLOCK)
    row = tt.program_id(0) * BLOCK
    tt.shared_store(lane, tt.load(x + row + lane))
    tt.sync()
    tt.store(y + row + lane, tt.shared_load(BLOCK - 1 - lane))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("length", "dtype"),
    [*((length, np.float32) for length in LENGTHS), (40, np.float16), (40, np.int32), (40, np.int8), (40, np.uint16)],
)
def test_lanes_read_what_others_stored(engine: str, length: int, dtype: Any):
    x = np.arange(3 * length).astype(dtype)
    y = np.zeros_like(x)
    reverse[(3,)](x, y, length, backend=engine)
    assert y.tolist() == x.reshape(3, -1)[:, ::-1].reshape(-1).tolist()


@tt.jit
def rotate(x, y, turns, BLOCK: tt.constexpr):
    lane = tt.arange(0, BLOCK)
    value = tt.load(x + lane)
    for _ in range(turns):
        tt.shared_store(lane, value, buffer_size=2 * BLOCK)
        tt.shared_store(BLOCK + lane, value)
        tt.sync()
        value = tt.shared_load(lane + 1) + 0.5
        tt.sync()
    tt.store(y + lane, value)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("length", LENGTHS)
def test_slots_are_used_again_turn_after_turn(engine: str, length: int):
    x, y = np.arange(length, dtype=np.float32), np.zeros(length, np.float32)
    rotate[(1,)](x, y, 3, length, backend=engine)
    assert y.tolist() == (np.roll(x, -3) + 1.5).tolist()


@pytest.mark.parametrize("length", LENGTHS)
def test_the_sanitizer_has_nothing_to_say(length: int):
    x, y = np.arange(length, dtype=np.float32), np.zeros(length, np.float32)
    assert rotate[(1,)](x, y, 3, length, backend="sim", sanitize=True).findings == ()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sum_is_shared_by_a_uniform_slot(engine: str):
    @tt.jit
    def kernel(x, y, BLOCK: tt.constexpr):
        lane = tt.arange(0, BLOCK)
        values = tt.load(x + lane)
        tt.shared_store(0, tt.reduce_sum(values), buffer_size=2)
        tt.shared_store(1, values)
        tt.sync()
        tt.store(y + lane, values + tt.shared_load(0) + 1000 * tt.shared_load(1))

    x, y = np.arange(40, dtype=np.float32), np.zeros(40, np.float32)
    kernel[(1,)](x, y, 40, backend=engine)
    assert y.tolist() == (x + x.sum() + 39000).tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_masks_turn_lanes_off(engine: str):
    @tt.jit
    def kernel(y, n, BLOCK: tt.constexpr):
        lane = tt.arange(0, BLOCK)
        tt.shared_store(lane, lane + 1, mask=lane < n)
        tt.sync()
        tt.store(y + lane, tt.shared_load(lane, mask=lane < n - 1))

    y = np.full(40, 7, np.int32)
    kernel[(1,)](y, 10, 40, backend=engine)
    assert y.tolist() == [*range(1, 10), *[0] * 31]


@pytest.mark.parametrize("engine", ENGINES)
def test_slots_are_bits(engine: str):
    @tt.jit
    def kernel(x, y, BLOCK: tt.constexpr):
        lane = tt.arange(0, BLOCK)
        tt.shared_store(lane, tt.load(x + lane))
        tt.store(y + lane, tt.shared_load(lane, dtype=tl.int32))

    x, y = np.linspace(-1, 1, 8).astype(np.float32), np.zeros(8, np.int32)
    kernel[(1,)](x, y, 8, backend=engine)
    assert y.tolist() == x.view(np.int32).tolist()


def test_lanes_are_threads():
    def code(length: int) -> str:
        y = np.zeros(length, np.float32)
        return reverse.warmup(y, y, length, backend="sim").stages["ptx"].text

    assert ".reqntid 32" in code(20) and ".reqntid 128" in code(100) and ".reqntid 1024" in code(1024)
    text = code(100)
    assert [text.count(word) for word in ("bar.sync", "st.shared", "ld.shared")] == [1, 1, 1]


# What goes wrong
@tt.jit
def impatient(x):
    lane = tt.arange(0, 64)
    tt.shared_store(lane, tt.load(x + lane))
    tt.store(x + lane, tt.shared_load(63 - lane))


@tt.jit
def hasty(x, turns):
    lane = tt.arange(0, 64)
    value = tt.load(x + lane)
    for _ in range(turns):
        tt.shared_store(lane, value)
        tt.sync()
        value = tt.shared_load(63 - lane)
    tt.store(x + lane, value)


@tt.jit
def crowded(x):
    lane = tt.arange(0, 64)
    tt.shared_store(lane // 2, tt.load(x + lane))


@tt.jit
def early(x):
    lane = tt.arange(0, 64)
    tt.store(x + lane, tt.shared_load(lane))


@tt.jit
def wide(x):
    lane = tt.arange(0, 64)
    tt.shared_store(lane * 2, tt.load(x + lane))


TOLD = [
    (impatient, (), "TT4013", "lane 0 of program (0, 0, 0) would read slot 63 of shared memory, which lane 63 stored"),
    (hasty, (2,), "TT4013", "lane 0 of program (0, 0, 0) would store to slot 0 of shared memory, which lane 63 read"),
    (crowded, (), "TT4013", "lane 1 of program (0, 0, 0) would store to slot 0 of shared memory, which lane 0 stored"),
    (early, (), "TT4012", "lane 0 of program (0, 0, 0) would read slot 0 of shared memory, which nothing was stored"),
    (wide, (), "TT4014", "lane 32 of program (0, 0, 0) would store to slot 64 of shared memory, which has 64"),
]


@pytest.mark.parametrize("engine", WATCHING)
@pytest.mark.parametrize(("kernel", "more", "code", "words"), TOLD, ids=lambda value: getattr(value, "__name__", None))
def test_what_lanes_do_wrong_is_told(engine: str, kernel: Any, more: tuple[int, ...], code: str, words: str):
    with pytest.raises(TinytonError, match=code) as caught:
        kernel[(2,)](np.zeros(64, np.float32), *more, backend=engine)
    assert caught.value.message.startswith(words)
    assert caught.value.span is not None and "shared_" in caught.value.span.text


@pytest.mark.parametrize("kernel", [early, wide])
def test_native_code_looks_where_slots_are(kernel: Any):
    messages: list[str] = []
    for engine in ("interpreter", "cpu"):
        with pytest.raises(TinytonError) as caught:
            kernel[(2,)](np.zeros(64, np.float32), backend=engine)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_the_place_before_is_shown():
    with pytest.raises(TinytonError) as caught:
        hasty[(1,)](np.zeros(64, np.float32), 2, backend="interpreter")
    (note,) = caught.value.notes
    assert note.message == "lane 63 was here" and note.span is not None
    assert note.span.text == "tt.shared_load(63 - lane)"


@pytest.mark.parametrize("kernel", [impatient, hasty])
def test_the_simulator_sees_the_same(kernel: Any):
    more = (2,) if kernel is hasty else ()
    launch = kernel[(1,)](np.zeros(64, np.float32), *more, backend="sim", sanitize=True)
    assert any("shared memory" in finding.message and finding.severity == "error" for finding in launch.findings)


def test_a_remark_tells_before_anything_runs():
    def remarks(kernel: Any, *args: Any) -> list[str]:
        record = kernel.warmup(np.zeros(64, np.float32), *args, backend="cpu")
        return [diagnostic.code for diagnostic in record.diagnostics]

    assert remarks(impatient) == ["TT1036"]
    assert remarks(hasty, 2) == remarks(crowded) == []


def test_lanes_wait_together_or_not_at_all():
    @tt.jit
    def kernel(x):
        if tt.arange(0, 8) < 4:
            tt.sync()

    with pytest.raises(TinytonError, match="TT2025"):
        kernel[(1,)](np.zeros(8, np.float32))


@tt.jit
def two_dtypes(x):
    lane = tt.arange(0, 8)
    value = tt.shared_load(lane)
    tt.shared_store(lane, lane)
    tt.store(x + lane, value)


@tt.jit
def too_long(x):
    tt.shared_store(tt.arange(0, 8), tt.load(x + tt.arange(0, 8)), buffer_size=0)


@tt.jit
def no_number(x):
    tt.shared_store(0.5, 1.0)


@pytest.mark.parametrize(("kernel", "code"), [(two_dtypes, "TT2033"), (too_long, "TT2005"), (no_number, "TT2005")])
def test_what_cannot_be_is_refused(kernel: Any, code: str):
    with pytest.raises(TinytonError, match=code) as caught:
        kernel[(1,)](np.zeros(8, np.float32))
    assert caught.value.span is not None
