"""The builtin for PTX in a kernel."""

from __future__ import annotations

from typing import Any

from tinyton_lab.ir.definition import Mismatch
from tinyton_lab.language import shapes
from tinyton_lab.language.builtin import builtin
from tinyton_lab.language.core import static_dtype
from tinyton_lab.language.emission import fault, static, static_int, to_value, unwrap
from tinyton_lab.language.value import emitter, make
from tinyton_lab.ops import assembly as ops


@builtin
def inline_asm_elementwise(asm: Any, constraints: Any, args: Any, dtype: Any, is_pure: Any, pack: Any) -> Any:
    """Run PTX on `pack` elements of each operand at a time, on GPUs and in the simulator.

    `constraints` are those of LLVM, results first: ``"=r,r,r"``. `dtype` is that of the result, or a tuple for several.
    Elements of less than 32 bits travel packed in 32-bit registers. Without `is_pure` the text is never dropped.
    """
    values = [to_value(x) for x in args]
    for value in values[1:]:
        values[0], _ = shapes.broadcast(values[0], value)
    values = [shapes.broadcast_to(value, values[0].shape) for value in values]
    several = isinstance(unwrap(dtype), (tuple, list))
    wanted = tuple(static_dtype(each) for each in (unwrap(dtype) if several else (dtype,)))
    attrs = {
        "text": str(static(asm, "the text of inline assembly")),
        "constraints": str(static(constraints, "the constraints of inline assembly")),
        "to": wanted,
        "pack": shapes.check_shape((static_int(pack, "pack"),))[0],
    }
    row = ops.assembly if static(is_pure, "is_pure") else ops.assembly_with_effects
    try:
        handles = emitter().results(row, [x.handle for x in values], attrs)
    except Mismatch as mismatch:
        raise fault("TT2001", what=str(mismatch)) from None
    found = tuple(make(handle.type, handle) for handle in handles)
    return found if several else found[0]
