"""The instructions of forty small kernels come from the expressions that a person wrote beside them, and no others."""

from __future__ import annotations

import pytest

from tests.provenance.labelled import KERNELS, Labelled
from tests.provenance.threads import threads
from tinyton_lab.kernel.inspection import inspect_signature


@pytest.mark.parametrize("case", [pytest.param(case, id=case.kernel.name) for case in KERNELS])
def test_instructions_come_from_the_labelled_expressions(case: Labelled):
    compilation = inspect_signature(case.kernel, case.signature, case.constants, "sm_80")
    assert compilation.ok, compilation.diagnostics
    found = [thread for stage in ("ptx", "sass") for thread in threads(compilation, stage)]
    for opcode, label in case.labels.items():
        wanted = {label} if isinstance(label, str) else set(label)
        chosen = [thread for thread in found if thread.opcode.startswith(opcode)]
        strays = {
            thread.instruction: thread.texts for thread in chosen if not thread.texts <= wanted or not thread.texts
        }
        assert strays == {}, f"{opcode} comes from something else"
        assert set().union(*(thread.texts for thread in chosen)) == wanted, f"no {opcode} comes from these"


def test_there_are_forty():
    assert len({case.kernel.name for case in KERNELS}) == len(KERNELS) == 40
