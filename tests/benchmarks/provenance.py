"""The share of memory and math instructions, in PTX and SASS, whose thread ends at an expression of the kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.benchmarks.measure import Row
from tests.codegen.simulation import corpus, tile_ir
from tinyton_lab.base.targets import TARGETS
from tinyton_lab.codegen.gpu import GpuCode, compile
from tinyton_lab.runtime.assembler import instructions

TARGET = TARGETS["sm_80"]
_PTX = re.compile(r"\t(?:@!?%p\d+ )?([a-z][\w.:]*)")
_GUARD = re.compile(r"^@!?U?P\w+\s+")
# Moves, branches, waits and special registers belong to the machine, not to an expression.
MACHINERY = {
    "ptx": {"mov", "bra", "ret", "bar", "barrier"},
    "sass": {"MOV", "UMOV", "BRA", "EXIT", "BAR", "S2R", "S2UR", "CS2R", "ULDC", "LDC", "BSSY", "BSYNC", "CALL", "RET"},
}


def rows() -> Iterator[Row]:
    found = {"ptx": [0, 0], "sass": [0, 0]}
    for case in {case.kernel: case for case in corpus()}.values():
        function = tile_ir(case.kernel, case.arguments, TARGET.name, **case.options)
        written = {op.uid for op in function.walk() if op.span is not None}
        code = compile(function, TARGET)
        for stage, listed in (("ptx", _ptx(code)), ("sass", _sass(code))):
            for opcode, uids in listed:
                if opcode.split(".")[0] not in MACHINERY[stage] and not opcode.startswith("ld.param"):
                    found[stage][0] += bool(function.provenance.ancestors(uids) & written)
                    found[stage][1] += 1
    for stage, (known, total) in found.items():
        yield Row(f"{stage} instructions with a source", known / total, "of all", 0.95, True, f"{known} of {total}")


def _ptx(code: GpuCode) -> Iterator[tuple[str, tuple[int, ...]]]:
    for line, uids in zip(code.ptx.splitlines(), code.ptx_lines, strict=True):
        if match := _PTX.match(line):
            yield match[1], uids


def _sass(code: GpuCode) -> Iterator[tuple[str, tuple[int, ...]]]:
    for text, uids in instructions(code.sass()):
        yield _GUARD.sub("", text).split()[0], uids
