"""The page that says which forms of PTX were executed by which tests, from stored results. Runs no test."""

from __future__ import annotations

import json

from tinyton_lab.ptx.isa import resolve
from tinyton_lab.ptx.table import ROWS
from tinyton_lab.reference.pages import code, page, table
from tinyton_lab.reference.regenerate import ROOT

STORED = ROOT / "tests" / "data" / "ptx_conformance.json"


def stored() -> dict[str, dict[str, list[int]]]:
    """The results of the last run: (passed, failed) by form and test file."""
    return json.loads(STORED.read_text(encoding="utf-8"))


def result(files: dict[str, list[int]]) -> str:
    """The outcome of all tests that executed a form.

    >>> result({"test_corpus": [3, 0], "test_memory": [1, 1]}), result({"test_corpus": [3, 0]})
    ('1 of 5 failed', 'passed')
    """
    failed, total = sum(files[name][1] for name in files), sum(sum(files[name]) for name in files)
    return f"{failed} of {total} failed" if failed else "passed"


def ptx() -> str:
    """The page of the forms that tests executed, and of the rows of which none did."""
    results = stored()
    rows = [
        [
            code(form),
            resolve(form).row.section,
            ", ".join(f"{name} ({sum(counts)})" for name, counts in files.items()),
            result(files),
        ]
        for form, files in results.items()
    ]
    run = {id(resolve(form).row) for form in results}
    missing = [
        [code(row.syntax), row.section]
        for _, forms in sorted(ROWS.items())
        for row in forms
        if id(row) not in run and row.mnemonic
    ]
    introduction = (
        f"{len(results)} forms of the instructions in [ptx.md](ptx.md) were executed by tests: an opcode with its"
        " modifiers and types, the section of the PTX ISA manual, the test files with how many of their tests executed"
        " the form, and how these tests ended in the last run of `python -m tests.sim.conformance`. Test files are in"
        " `tests/sim` and `tests/ptx`; `test_corpus` compares kernels of Triton, nvcc and LLVM with reference arrays."
        " No result is from a device."
    )
    blocks = [table(["form", "section", "tests", "last result"], rows)]
    if missing:
        blocks += ["## Instructions that no stored test executed", table(["instruction", "section"], missing)]
    return page("Conformance of the PTX simulator", "tests/data/ptx_conformance.json", introduction, *blocks)
