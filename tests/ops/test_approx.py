"""The approximate columns name intrinsics that LLVM knows: each row becomes one instruction of PTX, and no call."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tinyton_lab.base.dtypes import float32
from tinyton_lab.llvm.text import Builder
from tinyton_lab.ops import OPS
from tinyton_lab.ops.elementwise import approx_div

INSTRUCTIONS = {
    "exp": "ex2.approx.f32",
    "exp2": "ex2.approx.f32",
    "log": "lg2.approx.f32",
    "log2": "lg2.approx.f32",
    "rsqrt": "rsqrt.approx.f32",
    "sqrt": "sqrt.approx.f32",
    "sin": "sin.approx.f32",
    "cos": "cos.approx.f32",
    "tanh": "tanh.approx.f32",
    "div": "div.full.f32",
}
# A process of its own: LLVM ends the process where it cannot select an instruction.
COMPILE = """
import sys
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
module = llvm.parse_assembly(sys.stdin.read())
module.verify()
target = llvm.Target.from_triple("nvptx64-nvidia-cuda")
print(target.create_target_machine(cpu="sm_75", features="+ptx63", opt=1).emit_assembly(module))
"""


def module() -> str:
    """A kernel per row that loads a number and stores what the row makes of it."""
    functions: list[str] = []
    declarations: dict[str, None] = {}
    for name in INSTRUCTIONS:
        builder = Builder("gpu", fast=True)
        x = builder.emit("load float, ptr addrspace(1) %p", "float")
        row = OPS[name]
        y = approx_div(builder, float32, x, x) if name == "div" else row.approx(builder, float32, x)
        builder.effect(f"store {y}, ptr addrspace(1) %p")
        body = "\n".join(builder.lines)
        functions.append(f"define ptx_kernel void @{name}(ptr addrspace(1) %p) {{\n{body}\n  ret void\n}}")
        declarations.update(builder.declarations)
    return "\n".join(['target triple = "nvptx64-nvidia-cuda"', *declarations, *functions])


@pytest.fixture(scope="module")
def ptx() -> dict[str, str]:
    command = [sys.executable, "-c", COMPILE]
    text = subprocess.run(command, input=module(), capture_output=True, text=True, check=True).stdout
    entries = text.split(".visible .entry ")[1:]
    return {entry.partition("(")[0]: entry for entry in entries}


def test_every_approximate_column_is_tried():
    assert {row.name for row in OPS.values() if row.approx is not None} == set(INSTRUCTIONS)


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_a_row_becomes_an_instruction(name: str, ptx: dict[str, str]):
    assert INSTRUCTIONS[name] in ptx[name]
    assert "call" not in ptx[name]
