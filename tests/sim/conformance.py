"""Runs the simulator's tests and stores which PTX forms each executed, and whether it passed.

``python -m tests.sim.conformance`` writes `tests/data/ptx_conformance.json`; ``make regen`` makes the page of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tinyton_lab.ptx import isa, table
from tinyton_lab.sim.launch import State

ROOT = Path(__file__).parents[2]
STORED = ROOT / "tests" / "data" / "ptx_conformance.json"
# Tests that look at something else than what instructions compute.
_OTHERS = "not alarm and not printed and not print_keeps and not recording and not understood"
_FOLDERS = ("tests/sim", "tests/ptx")


def spelled(opcode: str) -> str:
    """A form under its one name: modifiers in the order of the table, whatever order they were written in."""
    form = isa.resolve(opcode)
    words, types = opcode.split(".")[1:], [type_.name for type_ in form.types]
    modifiers = [form.words[slot.name] for slot in form.row.slots if slot.name in form.words]
    rest = [word for word in words if word not in modifiers and word not in types]
    return ".".join([form.row.mnemonic, *modifiers, *rest, *types])


class Collector:
    """Mutable: the forms that the running test executed, and what each test file gave for each form."""

    def __init__(self) -> None:
        self.executed: set[str] = set()
        self.results: dict[str, dict[str, list[int]]] = {}

    def note(self, state: State) -> None:
        """Take note of every instruction of the blocks that ran."""
        for code, warps in zip(state.program.code, state.block_warps):
            if warps:
                self.executed.update(details.instruction.opcode for details in code.details)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Iterator[None]:
        report = yield
        if report.when == "call":
            for form in {spelled(opcode) for opcode in self.executed}:
                found = self.results.setdefault(form, {}).setdefault(item.path.stem, [0, 0])
                found[0 if report.passed else 1] += 1
            self.executed.clear()
        return report


def collect(arguments: list[str]) -> dict[str, dict[str, list[int]]]:
    """Run tests in this process: (passed, failed) by form and test file."""
    collector, run = Collector(), State.run

    def watched(state: State, recorded: int) -> None:
        try:
            run(state, recorded)
        finally:
            collector.note(state)

    State.run = watched
    try:
        # The package is loaded already, so that pytest cannot rewrite the asserts of its plugin.
        quiet = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
        pytest.main(["-q", "-p", "no:cacheprovider", *quiet, "-k", _OTHERS, *arguments], plugins=[collector])
    finally:
        State.run = run
    return {form: dict(sorted(files.items())) for form, files in sorted(collector.results.items())}


def main() -> None:
    results = collect([str(ROOT / folder) for folder in _FOLDERS])
    lines = [f"{json.dumps(form)}: {json.dumps(files)}" for form, files in results.items()]
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{len(results)} forms of {sum(map(len, table.ROWS.values()))} rows")


if __name__ == "__main__":
    main()
