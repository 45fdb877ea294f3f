"""Deletes one synchronising instruction at a time from kernels of the corpus, and asks the sanitizer: who notices?

``python -m tests.sim.mutants`` prints each mutant that nobody noticed, and the share that was found.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

from tests.sim import corpus
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.sim import Module

_SYNCHRONISES = re.compile(
    r"^\s*(?:@!?%\w+\s+)?(?:bar\.sync|barrier\.(?:sync|cluster)|bar\.red|cp\.async\.(?:wait|commit)"
    r"|cp\.async\.bulk\.(?:wait|commit)|wgmma\.(?:wait|commit)|membar\.|fence\.)[^;]*;"
)


KERNELS = """
cuda/c_hist_shared@80 cuda/c_transpose_pad@80 cuda/c_dynshared@90 cuda/c_hist_shared@90 cuda/m_cg_grid@90
cuda/h_bulk_copy@90a cuda/h_cluster_dsmem@90a triton/cas_vec@75 triton/cast_fp32_i64@75 triton/cast_i8_i32@75
triton/cast_u8_fp32@75 triton/reduce_argmax_fp64@75 triton/reduce_argmax_i64@75 triton/atomic_add_fp16@80
triton/atomic_add_fp32@80 triton/atomic_max_fp32@80 triton/cas_vec@80 triton/cast_bf16_fp32@80
triton/cumsum_fp32_fwd@80 triton/cumsum_i64_fwd@80 triton/layernorm_bwd@80 triton/layernorm_fp16@80
triton/mandelbrot@80 triton/reduce_argmax_fp32@80 triton/reduce_max_fp64@80 triton/reduce_min_fp32@80
triton/reduce_min_i32@80 triton/softmax_fp16@80 triton/softmax_fp32@80 triton/transpose_fp16@80
triton/atomic_add_fp16@90 triton/atomic_add_fp32@90 triton/atomic_and_i32@90 triton/atomic_max_fp32@90
triton/atomic_min_i32@90 triton/atomic_or_i32@90 triton/matmul_f16@80 triton/matmul_f16_nomask@80
triton/matmul_i8@80 cuda/m_pipeline@80 triton/flash_fwd_fp16_causal@80 triton/sort_fp32@80 triton/topk_fp32@90
triton/matmul_f16_s4_8w@90 triton/matmul_128x256_f16@90
""".split()
# Instructions of these kernels that protect nothing, each looked at by hand.
_MERGED = "these copies are then part of the next group, which is waited for before their first use"
_WAITED = "the wait and the barrier at the end of the loop have waited for the same copies"
_LAST = "the last copies have been issued: nothing is written after it"
_OWN = "each warp reads back only what its own lanes have stored"
REDUNDANT = {
    ("cuda/m_pipeline@80", 1261): _LAST,
    ("cuda/m_pipeline@80", 1286): _LAST,
    ("triton/flash_fwd_fp16_causal@80", 169): _MERGED,
    ("triton/flash_fwd_fp16_causal@80", 860): _WAITED,
    ("triton/flash_fwd_fp16_causal@80", 861): _WAITED,
    ("triton/matmul_128x256_f16@90", 162): _MERGED,
    ("triton/matmul_f16@80", 125): _MERGED,
    ("triton/matmul_f16@80", 357): _WAITED,
    ("triton/matmul_f16@80", 358): _WAITED,
    ("triton/matmul_f16_nomask@80", 111): _MERGED,
    ("triton/matmul_f16_nomask@80", 312): _WAITED,
    ("triton/matmul_f16_nomask@80", 313): _WAITED,
    ("triton/matmul_f16_s4_8w@90", 113): _MERGED,
    ("triton/matmul_i8@80", 123): _MERGED,
    ("triton/matmul_i8@80", 448): _WAITED,
    ("triton/matmul_i8@80", 449): _WAITED,
    ("triton/sort_fp32@80", 1135): _OWN,
    ("triton/topk_fp32@90", 763): _OWN,
}
# What a barrier, wait or commit can protect.
_ACCESSES = re.compile(r"\b(?:ld|st|cp|ldmatrix|stmatrix|mbarrier|wgmma|wmma|tensormap|ret|bra|exit)\b")
_PREFIX = re.compile(r"^\s*(?:@!?%\w+\s+)?")


class Mutant(NamedTuple):
    """A kernel's text without one instruction."""

    kernel: str
    line: int
    instruction: str
    text: str


def mutants(kernel: str) -> Iterator[Mutant]:
    """All mutants of a kernel of the corpus: without one instruction that it executes, in text order."""
    executed = {row.line for row in corpus.run(kernel, metrics=True)[0].metrics.instructions}
    lines = corpus.text_of(corpus.KERNELS[kernel]["ptx"]).split("\n")
    for number, line in enumerate(lines):
        if number + 1 in executed and _SYNCHRONISES.match(line):
            if _is_double(lines, number):
                continue
            text = "\n".join([*lines[:number], "", *lines[number + 1 :]])
            yield Mutant(kernel, number + 1, line.strip(), text)


def _is_double(lines: list[str], number: int) -> bool:
    """Whether the same instruction stands next to this one with nothing to protect between them, or the end."""
    word = _PREFIX.sub("", lines[number]).split(";")[0].split(None, 1)[0]
    for step in (1, -1):
        place = number + step
        while 0 <= place < len(lines):
            line = _PREFIX.sub("", lines[place])
            if line.startswith(word) and lines[place].split() == lines[number].split() or line.startswith("ret;"):
                return True
            if line.startswith("$") or _ACCESSES.search(line.split("//")[0]):
                break
            place += step
    return False


def found(mutant: Mutant) -> str:
    """What the simulator says of a mutant: the code of its first error, or nothing."""
    try:
        launch, _ = corpus.run(mutant.kernel, Module(mutant.text), sanitize=True)
    except TinytonError as fault:
        return fault.code
    return next((finding.code for finding in launch.findings if finding.severity == "error"), "")


def main(kernels: list[str]) -> None:
    kernels = kernels or KERNELS
    total, missed = 0, 0
    for kernel in kernels:
        for mutant in mutants(kernel):
            reason = REDUNDANT.get((mutant.kernel, mutant.line))
            total += reason is None
            if not found(mutant):
                missed += reason is None
                why = f" (redundant: {reason})" if reason else ""
                print(f"{mutant.kernel} line {mutant.line}: nobody misses {mutant.instruction}{why}", flush=True)
    share = 100 * (total - missed) / max(total, 1)
    print(f"{len(kernels)} kernels, {total} mutants, {total - missed} found ({share:.1f} %)")


if __name__ == "__main__":
    main(sys.argv[1:])
