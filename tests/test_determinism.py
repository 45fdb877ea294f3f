"""The same kernel gives the same bytes: twice in a process, in other processes, whatever Python hashes to."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.determinism import MODULES, compilations, digests
from tinyton_lab.record import schema
from tinyton_lab.record.stage import Compilation

ROOT = Path(__file__).parent.parent
# LLVM writes floats as 16 hexadecimal digits; an address in use has fewer.
VOLATILE = {
    "an address": re.compile(r"\b0x[0-9a-f]{9,14}\b| at 0x[0-9a-f]+>"),
    "a path": re.compile(rf"{re.escape(str(ROOT))}|{re.escape(tempfile.gettempdir())}/|/home/|site-packages"),
    "a time": re.compile(r"\b\d\d:\d\d:\d\d\b|\b20\d\d-\d\d-\d\d\b"),
}


@pytest.fixture(scope="module")
def compiled() -> list[Compilation]:
    return list(compilations())


def _elsewhere(seed: str) -> dict[str, str]:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.determinism"]
    ran = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    return json.loads(ran.stdout)


def test_other_processes_give_the_same_bytes():
    first, second = _elsewhere("1"), _elsewhere("4711")
    assert first == second
    assert {name.partition(" ")[2] for name in first} >= {"python", "tile", "layout", "llvm", "ptx", "sass", "cpu_asm"}
    assert len([name for name in first if name.endswith(" record")]) == len(MODULES)


def test_a_second_compilation_gives_the_same_bytes():
    assert digests() == digests()


def test_no_stage_tells_an_address_a_path_or_a_time(compiled: list[Compilation]):
    told = {
        f"{what} in {compilation.kernel} {stage.name}": found[0]
        for compilation in compiled
        for stage in compilation.stages.values()
        for what, pattern in VOLATILE.items()
        for text in (stage.text, stage.label, repr(stage.facts), repr(stage.misses), stage.graph)
        if (found := pattern.search(text))
    }
    assert told == {}


def test_records_come_back_as_they_went(compiled: list[Compilation]):
    for compilation in compiled:
        written = schema.dumps(schema.encode(compilation))
        read, recording, graphs = schema.decode(json.loads(written))
        assert schema.dumps(schema.encode(read)) == written
        assert (recording, graphs) == (None, ())
        assert [(s.name, s.text, s.lines) for s in read.stages.values()] == [
            (s.name, s.text, s.lines) for s in compilation.stages.values()
        ]
        assert read.provenance.edges == compilation.provenance.edges
