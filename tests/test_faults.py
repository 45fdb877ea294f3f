"""Every fault of the table is raised by its specimen: exactly that code, located, in the words of its golden."""

from __future__ import annotations

import os
from collections.abc import Callable
from string import Formatter
from unittest import mock

import numpy as np
import pytest

import tinyton_lab as tt
from tests.samples import run_sample
from tinyton_lab import language as tl
from tinyton_lab.base import faults
from tinyton_lab.base.diagnostics import TinytonError

PARTS = {
    "TT1": faults.language,
    "TT2": faults.types,
    "TT3": faults.launch,
    "TT4": faults.runtime,
    "TT5": faults.engine,
    "TT6": faults.ptx,
    "TT604": faults.sanitizer,
    "TT8": faults.lab,
    "TT9": faults.internal,
}
# Faults in a kernel's text point into it; those of a launch, an engine or a file have no such place.
LOCATED = ("TT1", "TT2", "TT4")


def test_each_code_has_one_row_in_its_part():
    rows = [(prefix, row.code) for prefix, part in PARTS.items() for row in part.ROWS]
    assert [pair for pair in rows if not pair[1].startswith(pair[0])] == []
    assert sorted(code for _, code in rows) == sorted(faults.FAULTS)


@pytest.mark.parametrize("code", sorted(faults.FAULTS))
def test_a_row_explains(code: str):
    row = faults.FAULTS[code]
    assert row.title and row.message and row.why
    assert not row.message.endswith("."), "the message is a clause; the cure may be a sentence"
    assert all(name is None or name.isidentifier() for _, name, _, _ in Formatter().parse(row.message + row.cure))


@pytest.mark.parametrize("code", [code for code, row in sorted(faults.FAULTS.items()) if row.specimen])
def test_its_specimen_raises_it(code: str, golden: Callable[[str], object]):
    with pytest.raises(TinytonError) as caught, mock.patch.dict(os.environ):
        run_sample(faults.FAULTS[code].specimen.lstrip("\n"), f"{code}.py", {"tt": tt, "tl": tl, "np": np})
    assert caught.value.code == code, str(caught.value)
    assert caught.value.span is not None or not code.startswith(LOCATED)
    assert str(caught.value) + "\n" == golden(f"faults/{code}.txt")
