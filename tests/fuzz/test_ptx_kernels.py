"""Random PTX kernels, and every form of T7, leave the same bytes on all engines of the simulator and of these tests."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.fuzz.ptx_engines import ENGINES, disagreement
from tests.fuzz.ptx_forms import forms, pure_rows
from tests.fuzz.ptx_kernels import Kernel, choices, kernel, sweep, sweeps
from tests.fuzz.ptx_reduce import reduced
from tests.fuzz.scalar_floats import known, meaning
from tinyton_lab.base.targets import target
from tinyton_lab.runtime import assembler

KERNELS, CHUNK = 500, 50
# Schedules take as long as all else: every fifth kernel has one.
SCHEDULED = 5
# What has no exact meaning: approximations, each within a bound of its own.
APPROXIMATE = {"cos", "ex2", "lg2", "rsqrt", "sin", "tanh"}


@pytest.mark.parametrize("first", range(0, KERNELS, CHUNK))
def test_engines_agree(first: int):
    ran: Counter[str] = Counter()
    for seed in range(first, first + CHUNK):
        wanted = ENGINES if seed % SCHEDULED == 0 else ("trace", "threads", "fast")
        assert disagreement(kernel(seed), seed, wanted, ran) == "", (
            f"python -m tests.fuzz --ptx-kernels 1 --seed {seed}"
        )
    assert ran["threads"] == CHUNK and ran["schedule"] == CHUNK // SCHEDULED


@pytest.mark.parametrize("first", range(0, sweeps(), 20))
def test_every_form_means_what_the_isa_says(first: int):
    for number in range(first, min(first + 20, sweeps())):
        assert disagreement(sweep(number), number, ("trace", "threads")) == "", f"sweep {number}"


def test_every_pure_row_is_drawn():
    assert {mnemonic for mnemonic, _ in choices(True)} == {row.mnemonic for row in pure_rows()} - APPROXIMATE
    assert {mnemonic for mnemonic, _ in choices(False)} == {row.mnemonic for row in pure_rows()}
    assert sum(known(form.opcode) for form in forms()) > 5000


@pytest.mark.skipif(not assembler.available(), reason="no assembler here")
@pytest.mark.parametrize("seed", [*range(900, 912), *range(-1, -12, -2)])
def test_an_assembler_takes_them(seed: int):
    text = (kernel(seed) if seed >= 0 else sweep(-seed * 13 % sweeps())).text
    assert assembler.assemble(text, target("sm_90")).cubin


def test_a_kernel_depends_on_its_seed_only():
    assert kernel(7) == kernel(7)
    assert len({kernel(seed).text for seed in range(50)}) == 50


def test_a_wrong_result_is_seen_and_made_small():
    given = kernel(11)
    changed = replace(given, text=given.text.replace("    testp.", "    xor.b32 %r3, %r3, 1;\n    testp.", 1))
    assert meaning("xor.b32")(1, 1) == 0

    def differs(candidate: Kernel) -> bool:
        return "xor.b32 %r3, %r3, 1;" in candidate.text and disagreement(candidate, 0, ("trace", "threads")) == ""

    small = reduced(changed, differs, 300)
    assert len(small.text.split("\n")) < len(changed.text.split("\n")) // 3
