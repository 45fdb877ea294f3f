"""Kernels of Triton, nvcc and LLVM give the arrays that numpy expects, also from printed text, without findings."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim import corpus
from tinyton_lab.base.targets import target
from tinyton_lab.ptx.text import parse, print_module
from tinyton_lab.runtime import assembler
from tinyton_lab.sim import Module

FILES = sorted({row["ptx"] for row in corpus.KERNELS.values()})


@pytest.mark.parametrize("kernel", sorted(corpus.KERNELS))
def test_matches_its_reference(kernel: str):
    launch, buffers = corpus.run(kernel)
    assert corpus.mismatches(kernel, buffers) == []
    assert launch.findings == []


@pytest.mark.parametrize("kernel", sorted(corpus.KERNELS))
def test_the_sanitizer_raises_no_alarm(kernel: str):
    launch, buffers = corpus.run(kernel, sanitize=True)
    assert corpus.mismatches(kernel, buffers) == []
    assert [finding for finding in launch.findings if finding.severity == "error"] == []


@pytest.mark.parametrize("path", FILES)
def test_print_keeps_the_text(path: str):
    printed = print_module(parse(corpus.text_of(path)))
    assert print_module(parse(printed)) == printed


@pytest.mark.skipif(not assembler.available(), reason="no assembler here")
@pytest.mark.parametrize("path", [path for path in FILES if path.startswith("cuda")] + FILES[::8])
def test_printed_text_assembles(path: str):
    syntax = corpus.module(path).syntax
    assert assembler.assemble(print_module(syntax), target(syntax.targets[0])).cubin


@pytest.mark.parametrize("kernel", sorted(corpus.KERNELS)[::4])
def test_printed_text_means_the_same(kernel: str):
    printed = Module(print_module(corpus.module(corpus.KERNELS[kernel]["ptx"]).syntax))
    _, ours = corpus.run(kernel)
    _, again = corpus.run(kernel, printed)
    assert all(np.array_equal(ours[name].view(np.uint8), again[name].view(np.uint8)) for name in ours)


@pytest.mark.parametrize("path", FILES)
def test_every_entry_is_understood(path: str):
    module = corpus.module(path)
    module.verify()
    assert module.entries


@pytest.mark.parametrize("kernel", sorted(corpus.KERNELS)[1::6])
def test_recording_changes_nothing(kernel: str):
    plain, ours = corpus.run(kernel)
    traced, again = corpus.run(kernel, record="warp", most_steps=5000)
    assert traced.recording is not None and traced.recording.steps
    assert all(np.array_equal(ours[name].view(np.uint8), again[name].view(np.uint8)) for name in ours)
    assert traced.counts["warp_instructions"] == plain.counts["warp_instructions"]
