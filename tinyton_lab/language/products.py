"""What a product of matrices means: which shapes and dtypes have one, its accumulator, how exact it is."""

from __future__ import annotations

from math import prod
from typing import Any

from tinyton_lab.base.dtypes import DType, float32
from tinyton_lab.language.emission import describe, emit, fault, static, static_int, to_value, unwrap
from tinyton_lab.language.shapes import reshape
from tinyton_lab.language.types import spell
from tinyton_lab.language.value import TileValue, emitter
from tinyton_lab.ops import product

_TAKEN = "float16, bfloat16, float32, float64, 8-bit floats and int8"


def dot(a: Any, b: Any, acc: Any, precision: str | None, imprecise: Any, out: Any) -> TileValue:
    """``acc + a @ b`` of matrices or batches of them. Raises TT2003, TT2005, TT2013, TT2040 and TT2041."""
    x, y = to_value(a), to_value(b)
    check_matrices(x, y)
    start = None if unwrap(acc) is None else to_value(acc)
    result = result_dtype(x, out if start is None or unwrap(out) is not None else start.tile.element)
    shape = (*x.shape[:-1], y.shape[-1])
    if start is not None and (start.tile.element is not result or start.shape != shape):
        wanted = f"{result.public} of shape {list(shape)}"
        raise fault("TT2041", acc=spell(start.tile), x=spell(x.tile), y=spell(y.tile), wanted=wanted)
    attrs: dict[str, Any] = {"out": result, "input_precision": precision if x.element is float32 else None}
    limit = unwrap(imprecise)
    attrs["max_num_imprecise_acc"] = None if limit is None else static_int(limit, "max_num_imprecise_acc")
    value = emit(product.dot, flat(x), flat(y), None if start is None else flat(start), **attrs)
    return reshape(value, shape)


def flat(x: TileValue) -> TileValue:
    """A value with all axes but the last two joined into at most one."""
    return x if len(x.shape) <= 3 else reshape(x, (prod(x.shape[:-2]), *x.shape[-2:]))


def check_matrices(x: TileValue, y: TileValue) -> None:
    """Check that two values have a product: shapes that fit, one dtype or two 8-bit floats."""
    rank = len(x.shape)
    if rank < 2 or len(y.shape) != rank or x.shape[:-2] != y.shape[:-2] or x.shape[-1] != y.shape[-2]:
        raise fault("TT2040", x=spell(x.tile), y=spell(y.tile))
    for value in (x, y):
        if not product.product_dtypes(value.element):
            raise fault("TT2013", op="dot", type=spell(value.tile), kinds=_TAKEN)
    eights = all(value.element.kind == "float" and value.element.bits == 8 for value in (x, y))
    if x.element is not y.element and not eights:
        raise fault("TT2003", x=x.element.public, y=y.element.public)


def result_dtype(x: TileValue, out: Any) -> DType:
    """The dtype of a product of matrices: the one asked for where there is a choice. Raises TT2005."""
    asked, possible = static(out, "out_dtype"), product.product_dtypes(x.element)
    if asked is None or (asked in (float32, *product.product_dtypes(x.element)[:1]) and len(possible) == 1):
        return possible[0]
    if asked in possible:
        return asked
    names = " or ".join(dtype.public for dtype in possible)
    what = f"a product of {x.element.public} has the dtype {names}, not {describe(asked)}; cast it with .to"
    raise fault("TT2005", what=what)


def input_precision(asked: Any, allow_tf32: Any) -> str:
    """How exactly a GPU has to take f32 operands. Raises TT2005; a remark says where an engine is more exact."""
    wanted, allowed = static(asked, "input_precision"), static(allow_tf32, "allow_tf32")
    if wanted is not None and allowed is not None:
        raise fault("TT2005", what="give input_precision or allow_tf32, not both")
    if wanted is None:
        wanted = "ieee" if allowed is False else "tf32"
    elif wanted not in product.PRECISIONS:
        raise fault("TT2005", what=f"input_precision is one of {', '.join(product.PRECISIONS)}, not {describe(wanted)}")
    if wanted != "ieee" and (unwrap(asked) is not None or allowed):
        emitter().remark("TT1040", emitter().span)
    return wanted
