"""Which engine runs an op, and the fault where one cannot. Knows no engine from the inside."""

from __future__ import annotations

from tinyton_lab.base.diagnostics import TinytonError, error
from tinyton_lab.ir.core import Op

ENGINES = {
    "cpu": "the engine cpu",
    "interpreter": "the engine interpreter",
    "gpu": "a GPU: the engine sim, or cuda",
}
"""Keys of a row's `unsupported`, and how messages name them."""


def engines_with(op: Op, without: str) -> str:
    """The engines that run an op, except one; "no other engine" where none does."""
    found = [name for engine, name in ENGINES.items() if engine != without and engine not in op.row.unsupported]
    return " or ".join(found) or "no other engine: it is part of a compiler's own IR"


def refused(op: Op, engine: str, target: str, reason: str) -> TinytonError:
    """TT5012 at an op: `target` as the message names it, and which engines have the op."""
    type = next((str(value.type.element) for value in (*op.inputs, *op.results)), "nothing")
    return error(
        "TT5012", op.span, op=op.row.name, type=type, target=target, reason=reason, engine=engines_with(op, engine)
    )
