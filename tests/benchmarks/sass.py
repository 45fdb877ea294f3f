"""Static machine code of vector add and softmax against Triton's, from the same assembler with the same settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tests.benchmarks.measure import Row
from tests.codegen.simulation import gpu_code
from tests.kernels.softmax import softmax
from tests.kernels.vector_add import vector_add
from tinyton_lab.base.targets import TARGETS
from tinyton_lab.runtime.assembler import assemble, disassemble, instructions

TARGET = TARGETS["sm_80"]
DIVISIBLE, ODD = 1024, 1023


def rows() -> Iterator[Row]:
    x = np.zeros(4096, np.float32)
    for name, n in (("rows of 16 bytes", DIVISIBLE), ("any length", ODD)):
        arguments = {"x": x, "y": x, "out": x, "n": n, "BLOCK": 1024}
        yield _compared(f"vector add 1024, {name}", vector_add, "add", arguments, 4)
        for block, warps in ((1024, 4), (4096, 8)):
            arguments = {"x": x, "out": x, "stride": n, "n": n, "BLOCK": block}
            yield _compared(f"softmax {block}, {name}", softmax, "softmax", arguments, warps)


def _compared(measure: str, kernel: Any, peer: str, arguments: Mapping[str, Any], warps: int) -> Row:
    code = gpu_code(kernel, arguments, TARGET.name, num_warps=warps)
    mine, registers = _counted(code.ptx, code.entry)
    theirs, their_registers = _counted(_triton_ptx(peer, arguments, warps), peer)
    note = f"{mine} and {theirs} instructions, {registers} and {their_registers} registers"
    return Row(f"{measure}, sm_80", mine / theirs, "x Triton 3.9", 1.05, False, note)


def _counted(ptx: str, entry: str) -> tuple[int, int]:
    assembled = assemble(ptx, TARGET)
    listing = disassemble(assembled.cubin, entry, f"{entry}.tile")
    return sum(1 for _ in instructions(listing)), assembled.registers


def _triton_ptx(name: str, arguments: Mapping[str, Any], warps: int) -> str:
    """What Triton makes of its kernel for the same arguments, without fused multiply-add."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from tests.benchmarks.peers import triton_kernels

    kernel = getattr(triton_kernels, name)
    signature: dict[str, str] = {}
    divisible: dict[tuple[int, ...], Any] = {}
    for index, parameter in enumerate(kernel.arg_names):
        value = arguments[parameter]
        signature[parameter] = "*fp32" if isinstance(value, np.ndarray) else "i32"
        if isinstance(value, np.ndarray) or value % 16 == 0:
            divisible[(index,)] = [["tt.divisibility", 16]]
    signature["BLOCK"] = "constexpr"
    at = (kernel.arg_names.index("BLOCK"),)
    divisible.pop(at, None)
    source = ASTSource(kernel, signature, {at: arguments["BLOCK"]}, divisible)
    options = {"num_warps": warps, "enable_fp_fusion": False}
    return triton.compile(source, target=GPUTarget("cuda", TARGET.capability, 32), options=options).asm["ptx"]
