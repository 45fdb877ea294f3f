"""The pytest plugin: inert unless asked; findings fail tests on their line; launches and their metrics are at hand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
PLUGIN = ("-p", "tinyton", "-p", "no:cacheprovider")
HEADER = "import numpy as np, tinyton_lab as tt, tinyton_lab.language as tl\n"
DOUBLE = '''
@tt.jit
def double(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
'''
SHIFT = '''
@tt.jit
def shift(x, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i + 1))
'''


def session(pytester: pytest.Pytester, tests: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(HEADER + tests)
    return pytester.runpytest_inprocess(*PLUGIN, *arguments)


def test_without_options_nothing_changes(pytester: pytest.Pytester):
    tests = """
    def test_it():
        x = np.ones(64, np.float32)
        launch = double[(1,)](x, 64, BLOCK=64)
        assert launch.engine == tt.kernel.launch.default_engine() and not launch.metrics.measured
        assert not tt.base.events.LISTENERS
    """
    session(pytester, DOUBLE + tests.replace("\n    ", "\n")).assert_outcomes(passed=1)


def test_the_engine_is_chosen_and_a_race_fails_its_test_on_its_line(pytester: pytest.Pytester):
    tests = """
def test_right():
    assert double[(1,)](np.ones(64, np.float32), 64, BLOCK=64).engine == "sim"

def test_wrong():
    shift[(2,)](np.ones(257, np.float32), BLOCK=128)

def test_own_choice():
    assert double[(1,)](np.ones(64, np.float32), 64, BLOCK=64, backend="cpu").engine == "cpu"
"""
    result = session(pytester, DOUBLE + SHIFT + tests, "--tinyton-engine=sim", "--tinyton-sanitize")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*shift: TT6040*", "*.py:*tl.store(x + i*"])


def test_the_fixture_gives_launches_with_their_metrics(pytester: pytest.Pytester):
    tests = """
def test_it(tinyton_launches):
    double[(2,)](np.ones(128, np.float32), 128, BLOCK=64)
    double[(1,)](np.ones(64, np.float32), 64, BLOCK=64)
    first, second = tinyton_launches
    assert first.metrics.sectors_per_request("x") == 4
    assert first.metrics["smsp__inst_executed.sum"] == 2 * second.metrics["smsp__inst_executed.sum"]

def test_each_test_begins_anew(tinyton_launches):
    assert tinyton_launches == []
"""
    session(pytester, DOUBLE + tests).assert_outcomes(passed=2)


def test_a_summary_of_metrics_ends_the_session(pytester: pytest.Pytester):
    tests = """
def test_it():
    for _ in range(3):
        double[(1,)](np.ones(64, np.float32), 64, BLOCK=64)
"""
    result = session(pytester, DOUBLE + tests, "--tinyton-metrics")
    result.stdout.fnmatch_lines(["*what kernels cost*", "kernel*launches*instructions*", "double*3*"])


def test_kernels_written_for_triton_run_too(pytester: pytest.Pytester):
    tests = '''
import triton, triton.language as tl

@triton.jit
def fill(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)

def test_it():
    import numpy as np
    assert fill[(1,)](np.zeros(32, np.float32), BLOCK=32).engine == "sim"
'''
    pytester.makepyfile(tests)
    arguments = (*PLUGIN, "--tinyton-engine=sim")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments], capture_output=True, text=True, cwd=pytester.path,
        env={**os.environ, "TINYTON_AS_TRITON": "1", "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert "1 passed" in result.stdout, result.stdout + result.stderr


@pytest.mark.parametrize("arguments", [("--tinyton-engine=gpu",), ("--tinyton-engine=cpu", "--tinyton-sanitize")])
def test_an_engine_that_cannot_is_refused(pytester: pytest.Pytester, arguments: tuple[str, ...]):
    result = session(pytester, "", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*only sim sanitizes and measures*"])
