"""Metrics of patterns whose numbers can be worked out by hand, and of random ones by counting lane by lane."""

from __future__ import annotations

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl
from tests.sim.kit import element, run
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.record.metrics import METRICS, Metrics
from tinyton_lab.sim import Launch, metrics

WIDTHS = {1: "b8", 2: "b16", 4: "b32", 8: "b64", 16: "v4.b32"}
REGISTERS = {1: "%h1", 2: "%h1", 4: "%r1", 8: "%d5", 16: "{%r1, %r2, %r3, %r4}"}
SHARED = ".shared .align 128 .b8 buffer[32768];\n"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
UNIFORM = "smsp__sass_average_branch_targets_threads_uniform.pct"


def measured(body: str, *arrays: np.ndarray, **options: object) -> Metrics:
    return run(body, *arrays, metrics=True, before=SHARED, **options).metrics


def global_load(pitch: int, size: int, guard: str = "") -> str:
    """Lane l loads `size` bytes at byte l * `pitch` of the first argument."""
    address = f"mul.wide.u32 %d20, %r0, {pitch}; add.u64 %d20, %d20, %d0;"
    return f"{address} {guard} ld.global.{WIDTHS[size]} {REGISTERS[size]}, [%d20];"


def shared_load(pitch: int, size: int) -> str:
    """Lane l loads `size` bytes at byte l * `pitch` of shared memory."""
    address = f"mov.u32 %r20, buffer; mad.lo.u32 %r20, %r0, {pitch}, %r20;"
    return f"{address} ld.shared.{WIDTHS[size]} {REGISTERS[size]}, [%r20];"


@pytest.mark.parametrize(
    ("pitch", "size", "sectors"),
    [(4, 4, 4), (8, 4, 8), (128, 4, 32), (0, 4, 1), (1, 1, 1), (2, 2, 2), (8, 8, 8), (16, 16, 16), (32, 16, 32)],
)
def test_sectors_of_strided_loads(pitch: int, size: int, sectors: int):
    found = measured(global_load(pitch, size), np.zeros(4096, np.uint8))
    assert found[SECTORS.format("ld")] == sectors and found[REQUESTS.format("ld")] == 1
    assert found.sectors_per_request("p0") == found.sectors_per_request() == sectors
    assert found["smsp__sass_data_bytes_mem_global_op_ld.sum"] == 32 * size
    assert found["l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum"] == 32 * sectors
    efficiency = found["smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"]
    assert efficiency == pytest.approx(100 * size / sectors)


def test_a_misaligned_start_costs_one_sector_more():
    data = np.zeros(1024, np.float32)
    assert measured(global_load(4, 4), data[1:]).sectors_per_request() == 5
    assert measured(global_load(4, 4), data[4:]).sectors_per_request() == 4, "alignment counts modulo 16 bytes"


def test_a_warp_without_active_lanes_makes_no_request():
    body = "setp.lt.u32 %p1, %r0, 40;" + global_load(4, 4, "@%p1")
    found = measured(body, np.zeros(1024, np.float32), block=128)
    assert found[REQUESTS.format("ld")] == 2 and found[SECTORS.format("ld")] == 5
    load = next(counts for counts in found.instructions if counts.text.startswith("@%p1 ld"))
    assert (load.warps, load.lanes, load.lanes_on) == (4, 128, 40)


def test_the_last_warp_of_a_block_may_be_partial():
    found = measured(global_load(4, 4), np.zeros(64, np.float32), block=40)
    assert found[REQUESTS.format("ld")] == 2 and found[SECTORS.format("ld")] == 5
    assert found["smsp__thread_inst_executed_per_inst_executed.ratio"] == 20


@pytest.mark.parametrize("words", [1, 2, 3, 4, 8, 16, 31, 32, 33])
def test_bank_conflicts_of_strides(words: int):
    found = measured(shared_load(4 * words, 4))
    ways = np.gcd(words, 32)
    assert found[WAVEFRONTS.format("ld")] == ways
    assert found.bank_conflicts() == found[CONFLICTS.format("ld")] == ways - 1


@pytest.mark.parametrize(
    ("pitch", "size", "passes", "conflicts"),
    [
        (0, 4, 1, 0),
        (1, 1, 1, 0),
        (2, 2, 1, 0),
        (128, 1, 32, 31),
        (8, 8, 2, 0),
        (16, 8, 4, 2),
        (128, 8, 32, 30),
        (16, 16, 4, 0),
        (32, 16, 8, 4),
        (128, 16, 32, 28),
        (144, 16, 4, 0),
    ],
)
def test_passes_of_wide_and_narrow_accesses(pitch: int, size: int, passes: int, conflicts: int):
    found = measured(shared_load(pitch, size))
    assert (found[WAVEFRONTS.format("ld")], found.bank_conflicts()) == (passes, conflicts)


@pytest.mark.parametrize(
    ("pitch", "number", "passes"), [(16, 4, 4), (128, 4, 32), (144, 4, 4), (128, 2, 16), (64, 1, 4)]
)
def test_matrix_loads_take_one_pass_per_matrix_at_best(pitch: int, number: int, passes: int):
    registers = ", ".join(f"%r{n + 1}" for n in range(number))
    address = f"mov.u32 %r20, buffer; mad.lo.u32 %r20, %r0, {pitch}, %r20;"
    found = measured(f"{address} ldmatrix.sync.aligned.m8n8.x{number}.shared.b16 {{{registers}}}, [%r20];")
    assert (found[WAVEFRONTS.format("ld")], found.bank_conflicts()) == (passes, passes - number)


def transpose(pitch: int) -> Launch:
    """A 32 x 32 tile through shared memory whose rows are `pitch` bytes apart; 32 warps."""
    body = f"""mov.u32 %r1, %tid.y; mul.lo.u32 %r2, %r1, 32; add.u32 %r2, %r2, %r0; mul.wide.u32 %d20, %r2, 4;
    add.u64 %d21, %d20, %d0; add.u64 %d22, %d20, %d1; ld.global.b32 %r3, [%d21]; mov.u32 %r4, buffer;
    mad.lo.u32 %r5, %r1, {pitch}, %r4; mad.lo.u32 %r5, %r0, 4, %r5; st.shared.b32 [%r5], %r3; bar.sync 0;
    mad.lo.u32 %r6, %r0, {pitch}, %r4; mad.lo.u32 %r6, %r1, 4, %r6; ld.shared.b32 %r7, [%r6];
    st.global.b32 [%d22], %r7;"""
    x, y = np.arange(1024, dtype=np.int32), np.zeros(1024, np.int32)
    launch = run(body, x, y, block=(32, 32), metrics=True, before=SHARED)
    assert np.array_equal(y.reshape(32, 32), x.reshape(32, 32).T)
    return launch


@pytest.mark.parametrize(("pitch", "conflicts"), [(128, 32 * 31), (132, 0)])
def test_padding_frees_a_transpose_of_conflicts(pitch: int, conflicts: int):
    found = transpose(pitch).metrics
    assert found.bank_conflicts() == conflicts and found[CONFLICTS.format("st")] == 0
    assert found.sectors_per_request("p0") == found.sectors_per_request("p1", "st") == 4
    assert found["barriers"] == 32 and found.arguments() == ("p0", "p1")


def test_divergence_lowers_branch_efficiency_and_active_lanes():
    body = """and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra even; add.u32 %r2, %r0, 1; even:
    setp.lt.u32 %p2, %r0, 32; @%p2 bra low; add.u32 %r2, %r0, 1; low:"""
    found = measured(body, block=64)
    assert found["smsp__sass_branch_targets.sum"] == 4
    assert found["smsp__sass_branch_targets_threads_divergent.sum"] == 2 and found[UNIFORM] == 50
    halves = [counts for counts in found.instructions if counts.text.startswith("add.u32")]
    assert [(counts.warps, counts.lanes) for counts in halves] == [(2, 32), (1, 32)]


def test_a_jump_table_diverges_once():
    body = """and.b32 %r1, %r0, 3; t: .branchtargets a, b, a, b; brx.idx %r1, t; a: bra e; b: bra e; e:"""
    found = measured(body)
    assert found["smsp__sass_branch_targets_threads_divergent.sum"] == 1


def test_atomics_and_copies_have_rows_of_their_own():
    body = (
        element("%r1", 0, 4)
        + """atom.global.add.u32 %r2, [%d38], 1; red.global.add.u32 [%d38], 1;
    mov.u32 %r20, buffer; mad.lo.u32 %r20, %r0, 16, %r20; atom.shared.add.u32 %r3, [%r20], 1;
    mul.wide.u32 %d21, %r0, 16; add.u64 %d21, %d21, %d1; cp.async.cg.shared.global [%r20], [%d21], 16;
    cp.async.wait_all;"""
    )
    found = measured(body, np.zeros(32, np.int32), np.zeros(512, np.uint8))
    assert [found[SECTORS.format(word)] for word in ("ld", "st", "atom", "red", "ldgsts")] == [4, 0, 4, 4, 16]
    assert [found[WAVEFRONTS.format(word)] for word in ("ld", "st", "atom", "ldgsts")] == [0, 0, 4, 4]
    assert found.traffic("p1").bytes == 512 and found.traffic("p0", "red").requests == 1


def test_generic_addresses_count_where_they_lead():
    body = """mov.u64 %d20, buffer; cvta.shared.u64 %d20, %d20; setp.lt.u32 %p1, %r0, 16;
    selp.b64 %d20, %d20, %d0, %p1; mul.wide.u32 %d21, %r0, 4; add.u64 %d20, %d20, %d21; ld.b32 %r1, [%d20];"""
    found = measured(body, np.zeros(32, np.int32))
    assert found[SECTORS.format("ld")] == 2 and found[WAVEFRONTS.format("ld")] == 1


def test_an_access_to_two_arguments_is_one_request_of_each():
    body = "setp.lt.u32 %p1, %r0, 16; selp.b64 %d0, %d0, %d1, %p1;" + global_load(4, 4)
    found = measured(body, np.zeros(32, np.int32), np.zeros(32, np.int32))
    assert found[REQUESTS.format("ld")] == 1 and found[SECTORS.format("ld")] == 4
    assert [found.traffic(name).sectors for name in ("p0", "p1")] == [2, 2]


def test_overlapping_arguments_share_an_allocation_and_keep_their_names():
    data = np.zeros(64, np.float32)
    body = "add.u64 %d1, %d1, 64;" + global_load(4, 4) + global_load(4, 4).replace("%d0", "%d1")
    found = run(body, data[:32], data[16:], names=["x", "y"], metrics=True).metrics
    assert found.traffic("x").sectors + found.traffic("y").sectors == 8 and found.arguments() == ("x", "y")


def test_many_ctas_add_up_and_a_recording_changes_nothing():
    body = element("%r1", 0, 4) + "st.global.b32 [%d38], %r1;"
    plain = measured(body, np.zeros(256, np.int32), grid=300, block=256)
    recorded = run(body, np.zeros(256, np.int32), grid=300, block=256, metrics=True, record="warp", before=SHARED)
    assert plain[REQUESTS.format("ld")] == 300 * 8 and plain[SECTORS.format("st")] == 300 * 8 * 4
    assert recorded.recording is not None
    assert {name: recorded.metrics[name] for name in METRICS} == {name: plain[name] for name in METRICS}


def test_lines_and_ops_add_up_to_the_launch():
    found = transpose(128).metrics
    for parts in (found.per_line(), found.per_op(), found.per_source_line()):
        for name in (SECTORS.format("ld"), CONFLICTS.format("ld"), "smsp__inst_executed.sum", "barriers"):
            assert sum(part[name] for part in parts.values()) == found[name]


def test_lines_of_the_source_are_those_of_loc():
    body = """.loc 1 7 3
    ld.global.b32 %r1, [%d0];
    add.u32 %r1, %r1, 1;
    .loc 1 9 3
    st.global.b32 [%d0], %r1;"""
    found = measured(body, np.zeros(1, np.int32)).per_source_line()
    assert found[7][SECTORS.format("ld")] == 1 and found[7][SECTORS.format("st")] == 0
    assert found[9][SECTORS.format("st")] == 1 and found[9]["smsp__inst_executed.sum"] >= 1


@tt.jit
def scattered(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    tl.store(y + i * 8, value)


def test_lines_of_a_kernel_are_those_of_its_file():
    x, y = np.zeros(64, np.float32), np.zeros(512, np.float32)
    launch = scattered[(1,)](x, y, 64, backend="sim", metrics=True, num_warps=1)
    first = scattered.function.__code__.co_firstlineno
    found = launch.metrics.per_source_line()
    load, store = found[first + 3], found[first + 4]
    assert load.sectors_per_request("x") == 8 and load[SECTORS.format("st")] == 0
    assert store.sectors_per_request("y") == 32 and store[SECTORS.format("ld")] == 0


def test_without_asking_there_are_totals_only():
    found = run("").metrics
    assert found["warp_instructions"] > 0 and not found.measured and not set(METRICS) & set(found)
    for ask in (found.per_line, found.bank_conflicts, found.sectors_per_request):
        with pytest.raises(TinytonError) as caught:
            ask()
        assert caught.value.code == "TT6031"


def test_unknown_arguments_are_named():
    found = measured(global_load(4, 4), np.zeros(32, np.float32))
    with pytest.raises(TinytonError, match="p0") as caught:
        found.sectors_per_request("x")
    assert caught.value.code == "TT6032"


@pytest.mark.parametrize("size", metrics.LANES_PER_PASS)
def test_random_addresses_agree_with_counting_lane_by_lane(size: int):
    rng = np.random.default_rng(size)
    address = rng.integers(0, 2048 // size, (50, 32)).astype(np.uint64) * np.uint64(size)
    active = rng.random((50, 32)) < rng.random((50, 1))
    sectors, passes, ideal = [], 0, 0
    for row, lanes in zip(address.tolist(), active.tolist()):
        sectors.append(len({a // 32 for a, on in zip(row, lanes) if on}))
        for first in range(0, 32, metrics.LANES_PER_PASS[size]):
            group = slice(first, first + metrics.LANES_PER_PASS[size])
            asked = [a for a, on in zip(row[group], lanes[group]) if on]
            words = {a // 4 + n for a in asked for n in range(max(size // 4, 1))}
            banks = [word % 32 for word in words]
            passes += max((banks.count(bank) for bank in banks), default=0)
            ideal += bool(asked)
    assert metrics.distinct(address >> np.uint64(5), active).tolist() == sectors
    assert metrics.wavefronts(address, active, size) == (passes, ideal)
