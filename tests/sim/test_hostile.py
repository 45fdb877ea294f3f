"""Damaged PTX gives located faults and nothing else: no other exception, no endless run, no foreign memory."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from tests.sim import corpus
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.sim import Module

WORDS = [
    "",
    "%r1",
    "%rd1",
    "%p1",
    "0",
    "-1",
    "{",
    "}",
    "[",
    "1.5",
    "_",
    ".b32",
    "ld.global.b32",
    "bra",
    ";",
    "%tid.x",
    "0x7fffffff",
]
TOKEN = re.compile(r"[%\w.$:]+|\S")
KERNELS = ["triton/softmax_fp32@80", "llvm/l_switch@80", "triton/atomic_add_fp32@75"]


def damaged(text: str, chooser: random.Random) -> str:
    """The text with one to three lines lost, doubled, or with one token replaced."""
    lines = text.split(".section")[0].split("\n")
    for _ in range(chooser.randrange(1, 4)):
        at = chooser.randrange(len(lines))
        kind, tokens = chooser.random(), list(TOKEN.finditer(lines[at]))
        if kind < 0.2:
            del lines[at]
        elif kind < 0.4:
            lines.insert(at, chooser.choice(lines))
        elif tokens:
            token = chooser.choice(tokens)
            parts = token[0].split(".")
            chooser.shuffle(parts)
            word = chooser.choice(WORDS) if kind < 0.8 else ".".join(parts)
            lines[at] = lines[at][: token.start()] + word + lines[at][token.end() :]
    return "\n".join(lines)


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k in corpus.KERNELS] or sorted(corpus.KERNELS)[:3])
def test_damaged_text_raises_faults_only(kernel: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TINYTON_STEP_LIMIT", "5000")
    chooser, text, ran = random.Random(kernel), corpus.text_of(corpus.KERNELS[kernel]["ptx"]), 0
    for _ in range(150):
        try:
            module = Module(damaged(text, chooser))
            module.verify()
            for entry in module.entries[:1]:
                places = module.program(entry).parameter_offsets.values()
                arguments = [np.zeros(4096, np.uint8) if v.type.endswith("64") else np.int32(7) for _, v in places]
                module.launch(entry, 1, 64, arguments, shared=4096)
                ran += 1
        except TinytonError as fault:
            assert fault.code.startswith("TT6") and str(fault)
    assert ran > 10
