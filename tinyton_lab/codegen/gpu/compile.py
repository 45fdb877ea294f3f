"""Compile tile IR to PTX for one GPU target, and PTX to machine code when that is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from tinyton_lab.base.diagnostics import error
from tinyton_lab.base.targets import Target
from tinyton_lab.codegen.gpu.check import check
from tinyton_lab.codegen.gpu.listing import Lines, llvm_lines, ptx_lines
from tinyton_lab.codegen.gpu.lower import lower
from tinyton_lab.ir.core import Function
from tinyton_lab.ir.text import print_function
from tinyton_lab.ir.types import Tile
from tinyton_lab.layout.passes import run_layout_passes
from tinyton_lab.llvm.worker import WORKER
from tinyton_lab.record.stage import Stage
from tinyton_lab.runtime.assembler import Assembled, Listing, assemble, disassemble


@dataclass(frozen=True, slots=True)
class GpuCode:
    """A kernel compiled for one GPU target.

    `stages` are ``layout``, ``layout/NN-pass``, ``llvm`` and ``ptx`` in order; `parameters` name and type what a launch
    passes, in PTX order; `threads` is the size of a CTA; `dynamic_shared_bytes` what a launch must provide beside what
    the PTX declares.
    """

    entry: str
    target: Target
    threads: int
    parameters: tuple[tuple[str, Tile], ...]
    shared_bytes: int
    dynamic_shared_bytes: int
    llvm_text: str
    ptx: str
    stages: tuple[Stage, ...]

    @property
    def llvm_lines(self) -> Lines:
        """Op numbers of each line of `llvm_text`."""
        return self.stages[-2].lines

    @property
    def ptx_lines(self) -> Lines:
        """Op numbers of each line of `ptx`."""
        return self.stages[-1].lines

    def assembled(self) -> Assembled:
        """The cubin with its registers and spills; assembled once. Raises TT5010 without the CUDA packages."""
        return assemble(self.ptx, self.target)

    def sass(self) -> Listing:
        """The machine code as text, with the op numbers of each line. Raises TT5010 without the CUDA packages."""
        return disassemble(self.assembled().cubin, self.entry, f"{self.entry}.tile")

    def sass_stage(self) -> Stage:
        """The stage ``sass``."""
        listing = self.sass()
        return Stage("sass", "asm", listing.text, listing.lines, doc="Machine code of the target.")


def compile(function: Function, target: Target) -> GpuCode:
    """Compile tile IR (after the tile passes) to PTX for `target`; ops that it gains are recorded in its provenance.

    Raises TT5012, located, for an op or dtype that the target lacks, TT5013 when shared memory does not suffice.
    """
    check(function, target)
    stages: list[Stage] = []
    for step, laid_out in run_layout_passes(function, target):
        printed = print_function(laid_out)
        changed = not stages or printed.text != stages[-1].text
        stages.append(Stage(step.name, "ir", printed.text, printed.lines, changed, step.doc))
        function = laid_out
    _check_shared(function, target)
    module = lower(function, target)
    stages.append(Stage("llvm", "ir", module.text, llvm_lines(module.text), doc="LLVM IR, one thread's view."))
    ptx = WORKER.ptx(module.text, target)
    stages.append(Stage("ptx", "asm", ptx, ptx_lines(ptx), doc="PTX, the virtual machine code of NVIDIA GPUs."))
    return GpuCode(
        module.entry,
        target,
        function.attrs.get("num_warps", 4) * target.warp_lanes,
        tuple((parameter.name, parameter.type) for parameter in function.parameters),
        function.attrs.get("shared_bytes", 0),
        module.dynamic_shared_bytes,
        module.text,
        ptx,
        tuple(stages),
    )


def _check_shared(function: Function, target: Target) -> None:
    needed = function.attrs.get("shared_bytes", 0)
    if needed > target.shared_bytes_opt_in:
        raise error("TT5013", needed=needed, target=target, limit=target.shared_bytes_opt_in)
