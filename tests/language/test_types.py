"""The dtypes of results: operators, named and unnamed numbers, reductions, casts."""

from __future__ import annotations

import json
import linecache
from pathlib import Path
from typing import Any

import pytest

import tinyton_lab.language as tl
from tests.frontend.lowering import Device, lowered
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.base.dtypes import DTYPES


def check(expression: str, wanted: str, before: str = "", **pointers: str) -> None:
    """Assert in a kernel that an expression over ``x``, ``y`` (loaded tiles) has a dtype."""
    loads = "".join(f"    {name} = tl.load({name}_ptr + tl.arange(0, 8))\n" for name in pointers)
    text = (
        f"def kernel({', '.join(name + '_ptr' for name in pointers)}):\n{loads}"
        f"    {before or 'pass'}\n    r = {expression}\n"
        f"    tl.static_assert(r.dtype == tl.{wanted}, f'it is {{r.dtype}}')\n"
    )
    label = "types.py"
    linecache.cache[label] = (len(text), None, text.splitlines(keepends=True), label)
    space: dict[str, Any] = {"tl": tl}
    exec(compile(text, label, "exec", dont_inherit=True), space)
    lowered(Device(space["kernel"]), **{f"{name}_ptr": f"*{dtype}" for name, dtype in pointers.items()})


@pytest.mark.parametrize(
    ("expression", "x", "wanted"),
    [
        ("x + 1", "i8", "int8"),
        ("x + 1", "bf16", "bfloat16"),
        ("x * 0.5", "f16", "float16"),
        ("x * 0.5", "i32", "float32"),
        ("x / 2", "f16", "float32"),
        ("x / 2", "i64", "float32"),
        ("x / 2", "f64", "float64"),
        ("x // 2", "u8", "uint8"),
        ("x % 2.0", "bf16", "float32"),
        ("-x", "u16", "uint16"),
        ("~x", "i1", "int1"),
        ("x + x", "i1", "int1"),
        ("x < 1", "f32", "int1"),
        ("not x", "i32", "int1"),
        ("x and x", "i32", "int1"),
        ("tl.sum(x)", "i1", "uint32"),
        ("tl.sum(x)", "i8", "int32"),
        ("tl.sum(x)", "u16", "uint32"),
        ("tl.sum(x)", "f16", "float16"),
        ("tl.sum(x, dtype=tl.int64)", "i32", "int64"),
        ("tl.max(x)", "f16", "float32"),
        ("tl.max(x)", "u8", "int32"),
        ("tl.max(x, 0, return_indices=True)[1]", "f16", "int32"),
        ("tl.argmin(x, 0)", "i64", "int32"),
        ("tl.maximum(x, 0)", "f16", "float16"),
        ("tl.where(x > 0, 1, 0)", "f32", "int32"),
        ("tl.where(x > 0, x, 0)", "i8", "int8"),
        ("tl.where(x > 0, 1.0, 0)", "i8", "float32"),
        ("tl.full((8,), 1, x.dtype)", "f16", "float16"),
        ("tl.zeros_like(x)", "bf16", "bfloat16"),
        ("tl.clamp(x, 0, 1)", "f16", "float16"),
        ("tl.fma(x, 2, 1)", "f64", "float64"),
        ("tl.cdiv(x, 2)", "i16", "int16"),
        ("x.to(tl.float8e5)", "f32", "float8e5"),
        ("x.to(tl.int32, bitcast=True)", "f32", "int32"),
        ("tl.sigmoid(x)", "f32", "float32"),
        ("min(x, 3)", "i8", "int8"),
        ("abs(x)", "i16", "int16"),
        ("x ** 2", "f16", "float16"),
    ],
)
def test_dtype_of_a_result(expression: str, x: str, wanted: str):
    check(expression, wanted, x=x)


TABLE = json.loads((Path(__file__).parent.parent / "data" / "result_dtypes.json").read_text(encoding="utf-8"))
PUBLIC = {dtype.short: dtype.public for dtype in DTYPES.values()}


@pytest.mark.parametrize("expression", TABLE["results"])
def test_dtypes_are_those_of_triton(expression: str):
    """What each expression gives for each dtype, as Triton 3.9 has it; here more expressions have a meaning."""
    for dtypes, wanted in TABLE["results"][expression].items():
        check(expression, PUBLIC[wanted], TABLE["before"], **dict(zip("xy", dtypes.split())))


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [("x * half", "float32"), ("x * (half + 1)", "float32"), ("x * 0.5", "float16"), ("x * quarter", "float16")],
)
def test_a_number_gets_a_dtype_with_its_name(expression: str, wanted: str):
    check(expression, wanted, "half = 0.5; quarter: tl.constexpr = 0.25", x="f16")


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("1", "int32"),
        ("2**31", "uint32"),
        ("2**32", "int64"),
        ("2**63", "uint64"),
        ("True", "int1"),
        ("0.1", "float32"),
        ("1e300", "float64"),
        ("float('inf')", "float32"),
        ("1e-40", "float64"),
        ("2.5 + 1", "float32"),
        ("7 // 2", "int32"),
    ],
)
def test_dtype_of_a_named_number(value: str, wanted: str):
    check(value, wanted)


@pytest.mark.parametrize(
    ("expression", "x", "code"),
    [
        ("x + 128", "i8", "TT2004"),
        ("x + -1", "u8", "TT2004"),
        ("x // 1.5", "f32", "TT2013"),
        ("x & 1", "f32", "TT2013"),
        ("x << 8", "i8", "TT2015"),
        ("x + x", "f8e5", "TT2013"),
        ("tl.sqrt(x)", "i32", "TT2013"),
        ("x.to(tl.int64, bitcast=True)", "f32", "TT2017"),
        ("x + None", "f32", "TT2005"),
        ("x[0]", "f32", "TT2011"),
        ("x[1:3]", "f32", "TT2011"),
        ("tl.sum(x, 1)", "f32", "TT2008"),
        ("tl.reshape(x, 4)", "f32", "TT2009"),
        ("tl.reshape(x, 3, 5)", "f32", "TT2006"),
        ("tl.broadcast_to(x, 16)", "f32", "TT2002"),
        ("tl.permute(x, 0, 0)", "f32", "TT2008"),
        ("x ** 65", "f32", "TT2014"),
        ("x.missing", "f32", "TT1013"),
        ("x._handle", "f32", "TT1013"),
        ("tl.full((4,), x, tl.int32)", "f32", "TT2002"),
        ("tl.zeros((8,), 'f32')", "f32", "TT2005"),
        ("tl.zeros((8,), x)", "f32", "TT1006"),
    ],
)
def test_refusals(expression: str, x: str, code: str):
    with pytest.raises(TinytonError) as caught:
        check(expression, "float32", x=x)
    assert caught.value.code == code, str(caught.value)
    assert caught.value.span is not None and caught.value.span.line >= 3
