"""The process that turns LLVM text into PTX, one request a line on standard input. Imports nothing of the package.

LLVM ends its process on an instruction it cannot select; this process is there to be ended. A request is a JSON object
with `text`, `cpu`, `features` and `level`, a reply one with `ptx` or `error`.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import llvmlite.binding as llvm

KEEP_PLACES = ("-disable-machine-sink", "-two-entry-phi-node-folding-threshold=0", "-phi-node-folding-threshold=0")
"""Instructions that LLVM sinks or speculates lose the op number they carry; the assembler does both again."""


def assembly(text: str, cpu: str, features: str, level: int) -> str:
    """The PTX of a module, optimised at `level` without the superword vectoriser (its wide types cost moves)."""
    module = llvm.parse_assembly(text, llvm.create_context())
    module.verify()
    target = llvm.Target.from_triple("nvptx64-nvidia-cuda")
    machine = target.create_target_machine(cpu=cpu, features=features, opt=3)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_assembly(module)


def answer(request: dict[str, Any]) -> dict[str, str]:
    try:
        return {"ptx": assembly(**request)}
    except Exception as fault:  # whatever LLVM objects to goes back as text
        return {"error": str(fault) or type(fault).__name__}


def main() -> None:
    """Answer requests until standard input ends."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what LLVM prints must not end up between the replies
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    for option in KEEP_PLACES:
        llvm.set_option("tinyton_lab", option)
    for line in sys.stdin:
        replies.write(json.dumps(answer(json.loads(line))) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
