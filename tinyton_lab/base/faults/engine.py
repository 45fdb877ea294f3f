"""Faults TT5xxx: engines, targets and tools."""

from __future__ import annotations

from tinyton_lab.base.faults.row import Fault

ROWS: tuple[Fault, ...] = (
    Fault(
        "TT5001",
        "Unknown target",
        "there is no target {name!r}",
        "use one of {known}",
        "A target names the machine to compile for: `cpu`, or a GPU architecture.",
        """
@tt.jit
def kernel(x):
    tl.store(x, 1.0)
tt.inspect(kernel, np.zeros(1, np.float32), target="sm_12345")
""",
    ),
    Fault(
        "TT5002",
        "Unknown stage",
        "{kernel} has no stage {name!r}",
        "it has {known}, and one for each pass",
        "A compilation has the stages that its target leads to, and one for each pass.",
        """
@tt.jit
def kernel(x):
    tl.store(x, 1.0)
tt.inspect(kernel, np.zeros(1, np.float32)).stage("ptxx")
""",
    ),
    Fault(
        "TT5003",
        "Not what the command needs",
        "{file} is no {kind}: {why}",
        "",
        "The `tinyton` command reads scripts, PTX and saved records (`tinyton compile --save`).",
        """
from argparse import Namespace
from tinyton_lab.cli import show_record
show_record(Namespace(file="no_such_folder/vector_add.ttcard", json=False, stage=None))
""",
    ),
    Fault(
        "TT5010",
        "A CUDA tool is missing",
        "{tool} is not installed",
        "pip install tinyton_lab[cuda]",
        "Machine code and its listing are made by NVIDIA's own linker and disassembler. They come as Python packages "
        "and need neither a GPU nor a driver; everything up to PTX works without them.",
    ),
    Fault(
        "TT5011",
        "PTX that the assembler refuses",
        "the assembler refuses this PTX: {what}",
        "read the line it names in the `ptx` stage; if the lab made this PTX, please report it",
        "PTX is checked when it is turned into machine code for one architecture.",
    ),
    Fault(
        "TT5012",
        "Not available on this engine",
        "{op} of {type} does not run on {target}: {reason}",
        "run it on {engine}",
        "Some operations and element types exist on some machines only. Every op is checked before code is generated, "
        "and nothing is replaced by an approximation of it.",
    ),
    Fault(
        "TT5013",
        "Too much shared memory",
        "the kernel needs {needed} bytes of shared memory, {target} has {limit} for one program",
        "use smaller tiles, or more warps",
        "Tiles change their layout through shared memory, which a GPU has little of.",
    ),
    Fault(
        "TT5014",
        "No CUDA device",
        "there is no CUDA device to run on: {why}",
        "run it with backend='cpu', or backend='sim' for the same PTX in the simulator",
        "The engine `cuda` needs an NVIDIA GPU with its driver, and the packages of the extra `cuda`.",
    ),
    Fault(
        "TT5015",
        "A call of the CUDA driver failed",
        "{call} failed: {what}",
        "run the kernel with backend='sim' to see what it does",
        "The driver reports what went wrong with a launch, a copy or an allocation.",
    ),
    Fault(
        "TT5016",
        "The CUDA context is lost",
        "an earlier launch ({kernel}) ended the CUDA context: {what}",
        "restart the session to use the GPU again; the engines cpu and sim go on working",
        "After an illegal address or instruction every call to the GPU fails until the process ends.",
    ),
)
