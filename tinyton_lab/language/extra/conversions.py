"""Conversions of the device library among integers and floats in each rounding mode, and the bits of floats.

As in all casts what is too large saturates, and NaN becomes 0. Unsigned results come in signed types, as Triton has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyton_lab.base.dtypes import DType, float32, float64, int32, int64, uint32, uint64
from tinyton_lab.language import core
from tinyton_lab.language.builtin import builtin
from tinyton_lab.language.extra.arguments import alike_in_shape, of_dtypes
from tinyton_lab.language.extra.pairs import bitcast, cast, fast_two_sum, nearest, truncated
from tinyton_lab.language.extra.rounding import DOWN, MODES, UP, ZERO, single, stepped

NEAREST = "rn"
HOW = {NEAREST: "to nearest even"} | MODES


def _named(name: str, doc: str, of: Callable[[Any], Any]) -> Any:
    def function(x: Any) -> Any:
        return of(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return builtin(function)


def _whole(x: Any, mode: str) -> Any:
    rounded: dict[str, Callable[[Any], Any]] = {
        NEAREST: nearest,
        ZERO: truncated,
        DOWN: core.floor,
        UP: core.ceil,
    }
    return rounded[mode](x)


def _to_integer(name: str, source: DType, to: DType) -> tuple[Any, Any, Any, Any]:
    def convert(mode: str, x: Any) -> Any:
        value = cast(_whole(of_dtypes(f"{name}_{mode}", x, source), mode), to)
        return value if to.signed else bitcast(value, int32 if to.bits == 32 else int64)

    return _family(name, f"A {source.public} as {to.public}", convert)


def _family(name: str, what: str, convert: Callable[[str, Any], Any]) -> tuple[Any, Any, Any, Any]:
    nearest_even, zero, down, up = (
        _named(f"{name}_{mode}", f"{what}, rounded {how}.", lambda x, mode=mode: convert(mode, x))
        for mode, how in HOW.items()
    )
    return nearest_even, zero, down, up


def _to_float(name: str, source: DType, to: DType) -> tuple[Any, Any, Any, Any]:
    def convert(mode: str, x: Any) -> Any:
        value = of_dtypes(f"{name}_{mode}", x, source)
        if mode == NEAREST:
            return cast(value, to)
        if source is float64 or source.bits == 32:
            return single(cast(value, float64), 0.0, mode)
        half = (value >> 32) if source is int64 else bitcast(bitcast(value, uint64) >> 32, int64)
        high, low = fast_two_sum(cast(half, float64) * 2.0**32, cast(bitcast(value, int64) & 0xFFFFFFFF, float64))
        return single(high, low, mode) if to is float32 else stepped(high, low, mode)

    return _family(name, f"A {source.public} as {to.public}", convert)


def _exact(name: str, source: DType) -> Any:
    return _named(
        name, f"A {source.public} as float64, which is exact.", lambda x: cast(of_dtypes(name, x, source), float64)
    )


double2float_rn, double2float_rz, double2float_rd, double2float_ru = _to_float("double2float", float64, float32)
double2int_rn, double2int_rz, double2int_rd, double2int_ru = _to_integer("double2int", float64, int32)
double2uint_rn, double2uint_rz, double2uint_rd, double2uint_ru = _to_integer("double2uint", float64, uint32)
double2ll_rn, double2ll_rz, double2ll_rd, double2ll_ru = _to_integer("double2ll", float64, int64)
double2ull_rn, double2ull_rz, double2ull_rd, double2ull_ru = _to_integer("double2ull", float64, uint64)
float2int_rn, float2int_rz, float2int_rd, float2int_ru = _to_integer("float2int", float32, int32)
float2uint_rn, float2uint_rz, float2uint_rd, float2uint_ru = _to_integer("float2uint", float32, uint32)
float2ll_rn, float2ll_rz, float2ll_rd, float2ll_ru = _to_integer("float2ll", float32, int64)
float2ull_rn, float2ull_rz, float2ull_rd, float2ull_ru = _to_integer("float2ull", float32, uint64)
int2float_rn, int2float_rz, int2float_rd, int2float_ru = _to_float("int2float", int32, float32)
uint2float_rn, uint2float_rz, uint2float_rd, uint2float_ru = _to_float("uint2float", uint32, float32)
ll2float_rn, ll2float_rz, ll2float_rd, ll2float_ru = _to_float("ll2float", int64, float32)
ull2float_rn, ull2float_rz, ull2float_rd, ull2float_ru = _to_float("ull2float", uint64, float32)
ll2double_rn, ll2double_rz, ll2double_rd, ll2double_ru = _to_float("ll2double", int64, float64)
ull2double_rn, ull2double_rz, ull2double_rd, ull2double_ru = _to_float("ull2double", uint64, float64)
int2double_rn, uint2double_rn = _exact("int2double_rn", int32), _exact("uint2double_rn", uint32)


# Bits
def _reinterpreted(name: str, doc: str, source: DType, to: DType) -> Any:
    return _named(name, doc, lambda x: bitcast(of_dtypes(name, x, source), to))


float_as_int = _reinterpreted("float_as_int", "The bits of a float32 as int32.", float32, int32)
float_as_uint = _reinterpreted("float_as_uint", "The bits of a float32 as int32, as Triton has it.", float32, int32)
int_as_float = _reinterpreted("int_as_float", "The float32 of the bits in an int32.", int32, float32)
uint_as_float = _reinterpreted("uint_as_float", "The float32 of the bits in a uint32.", uint32, float32)
double_as_longlong = _reinterpreted("double_as_longlong", "The bits of a float64 as int64.", float64, int64)
longlong_as_double = _reinterpreted("longlong_as_double", "The float64 of the bits in an int64.", int64, float64)


@builtin
def double2hiint(x: Any) -> Any:
    """The upper 32 bits of a float64."""
    return cast(bitcast(of_dtypes("double2hiint", x, float64), int64) >> 32, int32)


@builtin
def double2loint(x: Any) -> Any:
    """The lower 32 bits of a float64."""
    return cast(bitcast(of_dtypes("double2loint", x, float64), int64), int32)


@builtin
def hiloint2double(hi: Any, lo: Any) -> Any:
    """The float64 of two halves of 32 bits."""
    upper, lower = alike_in_shape(of_dtypes("hiloint2double", hi, int32), of_dtypes("hiloint2double", lo, int32))
    return bitcast((cast(upper, int64) << 32) | (cast(lower, int64) & 0xFFFFFFFF), float64)
