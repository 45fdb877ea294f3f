"""PTX to machine code and its listing: resources, op numbers, faults in words; no GPU is needed."""

from __future__ import annotations

import sys

import pytest

from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.base.targets import TARGETS
from tinyton_lab.llvm.text import with_debug_lines
from tinyton_lab.llvm.worker import WORKER
from tinyton_lab.runtime.assembler import assemble, disassemble, instructions

DIVIDE = """\
target triple = "nvptx64-nvidia-cuda"
@scratch = internal addrspace(3) global [64 x float] undef, align 16
define ptx_kernel void @divide(ptr addrspace(1) %x, i32 %n) "nvvm.reqntid"="32" {
  %v = load float, ptr addrspace(1) %x, !dbg !{7}
  %i = getelementptr float, ptr addrspace(3) @scratch, i32 %n, !dbg !{7}
  store float %v, ptr addrspace(3) %i, !dbg !{7}
  %s = load float, ptr addrspace(3) @scratch, !dbg !{7}
  %w = fdiv float %v, %s, !dbg !{8}
  store float %w, ptr addrspace(1) %x, !dbg !{9}
  ret void
}
"""


@pytest.fixture(scope="module")
def ptx() -> str:
    return WORKER.ptx(with_debug_lines(DIVIDE, "divide", "divide"), TARGETS["sm_80"])


def test_resources_come_from_the_cubin(ptx: str):
    assembled = assemble(ptx, TARGETS["sm_80"])
    assert assembled.cubin.startswith(b"\x7fELF")
    assert 8 <= assembled.registers <= 64
    assert (assembled.spill_bytes, assembled.stack_bytes, assembled.shared_bytes) == (0, 0, 256)
    assert assemble(ptx, TARGETS["sm_80"]) is assembled


def test_each_instruction_knows_its_op(ptx: str):
    listing = disassemble(assemble(ptx, TARGETS["sm_80"]).cubin, "divide", "divide.tile")
    assert len(listing.text.splitlines()) == len(listing.lines)
    assert listing.text.startswith("divide:\n")
    where = {text.split()[0]: uids for text, uids in instructions(listing)}
    assert (where["LDG.E"], where["STG.E"], where["FCHK"]) == ((7,), (9,), (8,))
    assert "__cuda" in listing.text and "NOP" not in listing.text
    slow_path = listing.text.splitlines().index(next(x for x in listing.text.splitlines() if x.startswith("__cuda")))
    assert set(listing.lines[slow_path + 1 :]) - {()} == {(8,)}


def test_a_subroutine_that_nothing_calls_is_left_out():
    module = """\
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
define ptx_kernel void @swap(ptr addrspace(1) %x) {
  %v = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !{3}
  %w = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v, i32 1, i32 31), !dbg !{4}
  store i32 %w, ptr addrspace(1) %x, !dbg !{5}
  ret void
}
"""
    target = TARGETS["sm_80"]
    cubin = assemble(WORKER.ptx(with_debug_lines(module, "swap", "swap"), target), target).cubin
    listing = disassemble(cubin, "swap", "swap.tile")
    assert [uids for text, uids in instructions(listing) if "SHFL" in text] == [(4,)]


def test_bad_ptx_is_a_fault_and_the_linker_lives_on(ptx: str):
    with pytest.raises(TinytonError, match="line \\d+; error: Not a name of any known instruction: 'fzz'") as caught:
        assemble(ptx.replace("st.global", "fzz.global"), TARGETS["sm_80"])
    assert caught.value.code == "TT5011"
    with pytest.raises(TinytonError, match="TT5011"):
        assemble("", TARGETS["sm_80"])
    assert assemble(ptx, TARGETS["sm_80"]).cubin


def test_a_missing_tool_names_the_extra(ptx: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvjitlink", None)
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)
    with pytest.raises(TinytonError, match=r"pip install tinyton_lab\[cuda\]") as caught:
        assemble(ptx + "// not seen before", TARGETS["sm_80"])
    assert caught.value.code == "TT5010"
    with pytest.raises(TinytonError, match=r"pip install tinyton_lab\[cuda\]"):
        disassemble(b"not seen before", "divide", "divide.tile")
