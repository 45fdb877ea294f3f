"""The device library, `tl.extra.libdevice`: all functions that Triton offers under these names, on every engine.

Functions of floats compute in f64 and round once, or are the language's own; those of f64 carry more digits where that
is needed. They are as exact as stated also with `math="approx"`, except those that begin with ``fast_``. Those whose
names end in ``_rn`` round to nearest even, as all arithmetic does.
"""

from __future__ import annotations

from tinyton_lab.language import functions
from tinyton_lab.language.core import abs, add, ceil, div_rn, fdiv, floor, fma, mul, sqrt_rn, sub
from tinyton_lab.language.extra.accurate import cos, exp, exp2, log, log2, rsqrt, sin, sqrt, tanh
from tinyton_lab.language.extra.angles import acos, asin, atan, atan2, cospi, sinpi, tan
from tinyton_lab.language.extra.bessel import cyl_bessel_i0, cyl_bessel_i1, j0, j1, y0, y1
from tinyton_lab.language.extra.bessel_orders import jn, yn
from tinyton_lab.language.extra.conversions import (
    double2float_rd,
    double2float_rn,
    double2float_ru,
    double2float_rz,
    double2hiint,
    double2int_rd,
    double2int_rn,
    double2int_ru,
    double2int_rz,
    double2ll_rd,
    double2ll_rn,
    double2ll_ru,
    double2ll_rz,
    double2loint,
    double2uint_rd,
    double2uint_rn,
    double2uint_ru,
    double2uint_rz,
    double2ull_rd,
    double2ull_rn,
    double2ull_ru,
    double2ull_rz,
    double_as_longlong,
    float2int_rd,
    float2int_rn,
    float2int_ru,
    float2int_rz,
    float2ll_rd,
    float2ll_rn,
    float2ll_ru,
    float2ll_rz,
    float2uint_rd,
    float2uint_rn,
    float2uint_ru,
    float2uint_rz,
    float2ull_rd,
    float2ull_rn,
    float2ull_ru,
    float2ull_rz,
    float_as_int,
    float_as_uint,
    hiloint2double,
    int2double_rn,
    int2float_rd,
    int2float_rn,
    int2float_ru,
    int2float_rz,
    int_as_float,
    ll2double_rd,
    ll2double_rn,
    ll2double_ru,
    ll2double_rz,
    ll2float_rd,
    ll2float_rn,
    ll2float_ru,
    ll2float_rz,
    longlong_as_double,
    uint2double_rn,
    uint2float_rd,
    uint2float_rn,
    uint2float_ru,
    uint2float_rz,
    uint_as_float,
    ull2double_rd,
    ull2double_rn,
    ull2double_ru,
    ull2double_rz,
    ull2float_rd,
    ull2float_rn,
    ull2float_ru,
    ull2float_rz,
)
from tinyton_lab.language.extra.exponentials import (
    acosh,
    asinh,
    atanh,
    cosh,
    exp10,
    expm1,
    log1p,
    log10,
    pow,
    sinh,
)
from tinyton_lab.language.extra.gamma import lgamma, tgamma
from tinyton_lab.language.extra.integers import brev, byte_perm, clz, ffs, hadd, mul24, mulhi, popc, rhadd, sad
from tinyton_lab.language.extra.numbers import (
    copysign,
    fdim,
    finitef,
    fmod,
    ilogb,
    isfinited,
    isinf,
    isnan,
    ldexp,
    llrint,
    llround,
    logb,
    nearbyint,
    nextafter,
    rcp64h,
    rcp_rn,
    remainder,
    rint,
    round,
    rsqrt_rn,
    saturatef,
    scalbn,
    signbit,
    trunc,
)
from tinyton_lab.language.extra.probability import erfc, erfcinv, erfcx, erfinv, normcdf, normcdfinv
from tinyton_lab.language.extra.roots import cbrt, hypot, norm3d, norm4d, rcbrt, rhypot, rnorm3d, rnorm4d
from tinyton_lab.language.extra.rounding import (
    add_rd,
    add_ru,
    add_rz,
    div_rd,
    div_ru,
    div_rz,
    fma_rd,
    fma_ru,
    fma_rz,
    mul_rd,
    mul_ru,
    mul_rz,
    rcp_rd,
    rcp_ru,
    rcp_rz,
    sqrt_rd,
    sqrt_ru,
    sqrt_rz,
    sub_rd,
    sub_ru,
    sub_rz,
)
from tinyton_lab.language.functions import erf

add_rn, sub_rn, mul_rn, fma_rn = add, sub, mul, fma
fast_cosf, fast_sinf, fast_tanf, fast_tanhf = functions.cos, functions.sin, tan, functions.tanh
fast_expf, fast_logf, fast_log2f = functions.exp, functions.log, functions.log2
fast_exp10f, fast_log10f = exp10, log10
fast_dividef, fast_powf = fdiv, pow

__all__ = [
    "abs", "acos", "acosh", "add_rd", "add_rn", "add_ru", "add_rz", "asin", "asinh", "atan", "atan2", "atanh", "brev",
    "byte_perm", "cbrt", "ceil", "clz", "copysign", "cos", "cosh", "cospi", "cyl_bessel_i0", "cyl_bessel_i1",
    "div_rd", "div_rn", "div_ru", "div_rz", "double2float_rd", "double2float_rn", "double2float_ru",
    "double2float_rz", "double2hiint", "double2int_rd", "double2int_rn", "double2int_ru", "double2int_rz",
    "double2ll_rd", "double2ll_rn", "double2ll_ru", "double2ll_rz", "double2loint", "double2uint_rd",
    "double2uint_rn", "double2uint_ru", "double2uint_rz", "double2ull_rd", "double2ull_rn", "double2ull_ru",
    "double2ull_rz", "double_as_longlong", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp", "exp10", "exp2",
    "expm1", "fast_cosf", "fast_dividef", "fast_exp10f", "fast_expf", "fast_log10f", "fast_log2f", "fast_logf",
    "fast_powf", "fast_sinf", "fast_tanf", "fast_tanhf", "fdim", "ffs", "finitef", "float2int_rd", "float2int_rn",
    "float2int_ru", "float2int_rz", "float2ll_rd", "float2ll_rn", "float2ll_ru", "float2ll_rz", "float2uint_rd",
    "float2uint_rn", "float2uint_ru", "float2uint_rz", "float2ull_rd", "float2ull_rn", "float2ull_ru", "float2ull_rz",
    "float_as_int", "float_as_uint", "floor", "fma", "fma_rd", "fma_rn", "fma_ru", "fma_rz", "fmod", "hadd",
    "hiloint2double", "hypot", "ilogb", "int2double_rn", "int2float_rd", "int2float_rn", "int2float_ru",
    "int2float_rz", "int_as_float", "isfinited", "isinf", "isnan", "j0", "j1", "jn", "ldexp", "lgamma",
    "ll2double_rd", "ll2double_rn", "ll2double_ru", "ll2double_rz", "ll2float_rd", "ll2float_rn", "ll2float_ru",
    "ll2float_rz", "llrint", "llround", "log", "log10", "log1p", "log2", "logb", "longlong_as_double", "mul24",
    "mul_rd", "mul_rn", "mul_ru", "mul_rz", "mulhi", "nearbyint", "nextafter", "norm3d", "norm4d", "normcdf",
    "normcdfinv", "popc", "pow", "rcbrt", "rcp64h", "rcp_rd", "rcp_rn", "rcp_ru", "rcp_rz", "remainder", "rhadd",
    "rhypot", "rint", "rnorm3d", "rnorm4d", "round", "rsqrt", "rsqrt_rn", "sad", "saturatef", "scalbn", "signbit",
    "sin", "sinh", "sinpi", "sqrt", "sqrt_rd", "sqrt_rn", "sqrt_ru", "sqrt_rz", "sub_rd", "sub_rn", "sub_ru",
    "sub_rz", "tan", "tanh", "tgamma", "trunc", "uint2double_rn", "uint2float_rd", "uint2float_rn", "uint2float_ru",
    "uint2float_rz", "uint_as_float", "ull2double_rd", "ull2double_rn", "ull2double_ru", "ull2double_rz",
    "ull2float_rd", "ull2float_rn", "ull2float_ru", "ull2float_rz", "y0", "y1", "yn",
]  # fmt: skip
