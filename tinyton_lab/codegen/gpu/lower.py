"""Lower layout IR to an LLVM module: one lowering per row with structure, the rows' own columns for all else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tinyton_lab.base.targets import Target
from tinyton_lab.codegen.gpu.access import lower_load, lower_store
from tinyton_lab.codegen.gpu.arithmetic import lower_elementwise
from tinyton_lab.codegen.gpu.assembly import lower_assembly
from tinyton_lab.codegen.gpu.atomics import lower_atomic
from tinyton_lab.codegen.gpu.collective import lower_map, lower_reduce
from tinyton_lab.codegen.gpu.exchange import (
    SHARED,
    lower_barrier,
    lower_local_alloc,
    lower_local_load,
    lower_local_store,
)
from tinyton_lab.codegen.gpu.flow import lower_for, lower_if, lower_while
from tinyton_lab.codegen.gpu.gathers import lower_local_count, lower_local_gather, lower_shared_load, lower_shared_store
from tinyton_lab.codegen.gpu.messages import lower_check, lower_print
from tinyton_lab.codegen.gpu.state import GpuBuilder, State, llvm_type
from tinyton_lab.codegen.gpu.views import (
    lower_constant,
    lower_program_number,
    lower_range,
    lower_renumbering,
    lower_splat,
    lower_view,
)
from tinyton_lab.ir.core import Function, Op, Parameter
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.llvm.text import Register, with_debug_lines
from tinyton_lab.ops import (
    assembly,
    atomic,
    collective,
    contract,
    control,
    local,
    memory,
    message,
    program,
    reduction,
    shape,
    shared,
)

STATIC_SHARED_BYTES = 49152
HEADER = """\
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
"""

_TAKEN = (SHARED.removeprefix("@"), "vprintf", "__assertfail")
LOWERINGS: dict[OpDef, Callable[[State, Op], None]] = {
    shape.constant: lower_constant,
    shape.range_: lower_range,
    shape.splat: lower_splat,
    shape.expand: lower_view,
    shape.broadcast: lower_view,
    shape.reshape: lower_view,
    shape.transpose: lower_view,
    program.program_id: lower_program_number,
    program.num_programs: lower_program_number,
    memory.load: lower_load,
    memory.store: lower_store,
    reduction.reduce: lower_reduce,
    collective.map_: lower_map,
    atomic.atomic: lower_atomic,
    atomic.compare_exchange: lower_atomic,
    control.for_: lower_for,
    control.while_: lower_while,
    control.if_: lower_if,
    assembly.assembly: lower_assembly,
    assembly.assembly_with_effects: lower_assembly,
    message.print_: lower_print,
    message.check: lower_check,
    contract.assume: lambda state, op: None,
    contract.promise: lambda state, op: None,
    local.convert_layout: lower_renumbering,
    local.local_alloc: lower_local_alloc,
    local.local_store: lower_local_store,
    local.local_load: lower_local_load,
    local.local_gather: lower_local_gather,
    local.local_count: lower_local_count,
    local.barrier: lower_barrier,
    shared.shared_store: lower_shared_store,
    shared.shared_load: lower_shared_load,
    shared.sync: lower_barrier,
}


@dataclass(frozen=True, slots=True)
class Module:
    """An LLVM module of one kernel. `dynamic_shared_bytes` must be given at launch, beyond what is declared."""

    text: str
    entry: str
    dynamic_shared_bytes: int


def lower(function: Function, target: Target) -> Module:
    """Lower a function of layout IR. Each instruction carries its op's number as a debug line of ``<kernel>.tile``."""
    fast, fused = function.attrs.get("math") == "approx", bool(function.attrs.get("fp_fusion"))
    builder = GpuBuilder(fast, fused)
    warps = function.attrs.get("num_warps", 4)
    state = State(builder, target, warps, _lower_op)
    for index, (parameter, value) in enumerate(zip(function.parameters, function.body.args, strict=True)):
        state.values[value] = [_argument(builder, parameter, f"%p{index}")]
    state.run(function.body)
    builder.uid = 0
    builder.effect("ret void")
    entry = entry_name(function.name)
    shared_bytes = function.attrs.get("shared_bytes", 0)
    declared, dynamic = _shared(shared_bytes)
    parameters = ", ".join(_parameter(parameter, f"%p{i}") for i, parameter in enumerate(function.parameters))
    head = f'define ptx_kernel void @{entry}({parameters}) "nvvm.reqntid"="{warps * target.warp_lanes}" {{\n'
    body = "entry:\n" + "\n".join(builder.lines) + "\n}\n"
    declared += "".join(f"{line}\n" for line in builder.globals)
    text = HEADER + declared + head + body + "".join(f"{line}\n" for line in sorted(builder.declarations))
    return Module(with_debug_lines(text, entry, entry), entry, dynamic)


def _lower_op(state: State, op: Op) -> None:
    lowering = LOWERINGS.get(op.row, lower_elementwise if op.row.elementwise else None)
    if lowering is None:
        raise RuntimeError(f"llvm: {op.row.name} has no lowering")
    lowering(state, op)


def entry_name(name: str) -> str:
    """The kernel's name in letters that PTX knows, other than the names of what a module has besides.

    >>> entry_name("row_sum"), entry_name("größe"), entry_name("shared")
    ('row_sum', 'gr_f6__df_e', 'shared_')
    """
    plain = "".join(c if c.isascii() and (c.isalnum() or c == "_") else f"_{ord(c):x}_" for c in name)
    return f"{plain}_" if plain in _TAKEN else plain


def _parameter(parameter: Parameter, name: str) -> str:
    type = llvm_type(parameter.type)
    if parameter.type.is_pointer:
        return f"{type} align {parameter.divisibility} {name}" if parameter.divisibility > 1 else f"{type} {name}"
    return f"{'i8' if type == 'i1' else type} {name}"


def _argument(builder: GpuBuilder, parameter: Parameter, name: str) -> Register:
    type = llvm_type(parameter.type)
    if type == "i1":
        return builder.compare("icmp ne", Register(name, "i8"), Register("0", "i8"))
    return Register(name, type)


def _shared(bytes: int) -> tuple[str, int]:
    """The declaration of shared memory, and what a launch must add: large amounts are not declared by size."""
    if bytes == 0:
        return "", 0
    if bytes <= STATIC_SHARED_BYTES:
        return f"{SHARED} = internal addrspace(3) global [{bytes} x i8] undef, align 16\n", 0
    return f"{SHARED} = external addrspace(3) global [0 x i8], align 16\n", bytes
