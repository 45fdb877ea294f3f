"""Hands damaged PTX to the parser and the lowering: they may only succeed, or raise a located fault, and soon."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from functools import cache

from tests.fuzz.ptx_texts import damaged
from tests.sim import corpus
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.ptx.text import print_module
from tinyton_lab.sim import Module

# Process time for one text; a text of the corpus takes some milliseconds.
SECONDS = 1.0


@cache
def texts() -> tuple[str, ...]:
    """The files of the corpus, in order."""
    return tuple(corpus.text_of(path) for path in sorted({row["ptx"] for row in corpus.KERNELS.values()}))


def complaint(seed: int, given: Sequence[str] | None = None) -> str:
    """What is wrong with the answer to a damaged text, in words; nothing if it is read, or refused in good order."""
    text = damaged(given or texts(), seed)
    for _ in range(2):  # whoever is slow once may have paid for the garbage of others
        began = time.process_time()
        wrong = _answer(text)
        seconds = time.process_time() - began
        if wrong:
            return f"seed {seed}: {wrong}"
        if seconds <= SECONDS:
            return ""
    return f"seed {seed}: {seconds:.1f} s for {len(text)} characters"


def _answer(text: str) -> str:
    """What is wrong with an answer, its time aside."""
    try:
        module = Module(text)
        module.verify()
        print_module(module.syntax)
    except TinytonError as fault:
        str(fault)
        if not fault.code.startswith("TT6"):
            return fault.code
        if fault.code == "TT6001" and fault.span is None:
            return f"{fault.code} has no place"
    except Exception:
        return traceback.format_exc(limit=-3)
    return ""
