"""What is compared: cases of elementwise names, conversions and memory. Tiles and products are in `tile_cases.py`."""

from __future__ import annotations

from tests.triton_differences.inputs import EIGHTS, FLOATS, SIGNED, UNSIGNED
from tests.triton_differences.kernels import Case

WHOLE = (*SIGNED, *UNSIGNED)
REAL = ("float32", "float64")
NUMBERS = (*WHOLE, *FLOATS)
ALL = ("int1", *NUMBERS)
SOME = ("int8", "int32", "uint32", "int64", "float16", "bfloat16", "float32", "float64")
FEW = ("int32", "float16", "bfloat16", "float32")


def _plain(cases: dict[str, tuple[str, tuple[str, ...]]], label: str = "") -> tuple[Case, ...]:
    """Cases of one expression each, whose result has the operands' dtype."""
    return tuple(Case(name, label or body, body, dtypes) for name, (body, dtypes) in cases.items())


_AND_DTYPE = (
    "v = {}\nkind = v.dtype.primitive_bitwidth + 100 * v.dtype.is_floating()\n"
    "tl.store(o + i, tl.where(i % 2 == 0, v.to(tl.float64), kind))"
)
OPERATORS = (
    *(Case("operators", f"x {sign} y", f"x {sign} y", ALL) for sign in ("+", "-", "*")),
    *(Case("operators", f"x {sign} y", f"x {sign} y", NUMBERS) for sign in ("//", "%")),
    Case("operators", "x / y", "x / y", NUMBERS, "float64"),
    *(Case("operators", f"x {sign} y", f"x {sign} y", ("int1", *WHOLE)) for sign in ("&", "|", "^")),
    *(Case("operators", f"x {sign} (y & 7)", f"x {sign} (y & 7)", WHOLE) for sign in ("<<", ">>")),
    *(Case("operators", f"x {sign} y", f"x {sign} y", WHOLE) for sign in ("<<", ">>")),
    *(Case("operators", f"x {sign} y", f"x {sign} y", ALL, "int1") for sign in ("==", "!=", "<", "<=", ">", ">=")),
    Case("operators", "-x", "-x", SOME),
    Case("operators", "~x", "~x", ("int1", *WHOLE)),
    Case("operators", "not x", "not (n > 3)", ("int32",)),
    *(
        Case(
            "operators",
            f"x + y.to({other}), and its dtype",
            _AND_DTYPE.format(f"x + y.to(tl.{other})"),
            SOME,
            "float64",
        )
        for other in ("int8", "uint8", "int16", "uint32", "int64", "float16", "bfloat16", "float32")
    ),
    Case("operators", "x + 1", "x + 1", NUMBERS),
    Case("operators", "x * 0.5", "x * 0.5", NUMBERS, "float64"),
    Case("operators", "3 - x", "3 - x", SOME),
    Case("operators", "7 // x", "7 // x", WHOLE),
)

ARITHMETIC = (
    *_plain(
        {
            "abs": ("tl.abs(x)", NUMBERS),
            "add": ("tl.add(x, y)", ALL),
            "sub": ("tl.sub(x, y)", NUMBERS),
            "mul": ("tl.mul(x, y)", NUMBERS),
            "cdiv": ("tl.cdiv(tl.abs(x), 7)", WHOLE),
            "ceil": ("tl.ceil(x)", REAL),
            "floor": ("tl.floor(x)", REAL),
            "clamp": ("tl.clamp(x, y, y + 4)", FLOATS),
            "div_rn": ("tl.div_rn(x, y)", REAL),
            "fdiv": ("tl.fdiv(x, y)", FLOATS),
            "fma": ("tl.fma(x, y, z)", FLOATS),
            "maximum": ("tl.maximum(x, y)", NUMBERS),
            "minimum": ("tl.minimum(x, y)", NUMBERS),
            "umulhi": ("tl.umulhi(x, y)", ("int32", "uint32", "int64", "uint64")),
            "where": ("tl.where(x > y, x, z)", NUMBERS),
            "sqrt_rn": ("tl.sqrt_rn(x)", REAL),
            "tensor.abs": ("x.abs()", NUMBERS),
            "tensor.cdiv": ("x.abs().cdiv(7)", ("int32", "int64")),
            "tensor.ceil": ("x.ceil()", REAL),
            "tensor.floor": ("x.floor()", REAL),
            "tensor.sqrt_rn": ("x.sqrt_rn()", REAL),
        }
    ),
    Case("PropagateNan", "maximum keeps NaN", "tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)", FLOATS),
    Case("PropagateNan", "minimum keeps NaN", "tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)", FLOATS),
    Case("PropagateNan", "clamp keeps NaN", "tl.clamp(x, -3.0, 3.0, propagate_nan=tl.PropagateNan.ALL)", FLOATS),
    Case("clamp", "of integers", "tl.clamp(x, -3, 9)", ("int32", "int64")),
    Case("where", "a scalar condition", "tl.where(n > 3, x, y)", FEW),
    Case("fdiv", "ieee_rounding", "tl.fdiv(x, y, ieee_rounding=True)", REAL),
    Case("tensor.logical_and", "x.logical_and(y)", "x.logical_and(y)", ("int1", *WHOLE), "int1"),
    Case("tensor.logical_or", "x.logical_or(y)", "x.logical_or(y)", ("int1", *WHOLE), "int1"),
    Case(
        "swizzle2d",
        "of a 16 x 16 grid",
        "s = tl.swizzle2d(i // 16, i % 16, 16, 16, 4)\ntl.store(o + i, s[0] * 16 + s[1])",
        ("int32",),
    ),
)

_MATH = ("exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "rsqrt", "erf")
MATH = (
    *(Case(name, f"tl.{name}(x)", f"tl.{name}(x)", FLOATS) for name in (*_MATH, "sigmoid")),
    *(
        Case(f"math.{name}", f"tl.math.{name}(x)", f"tl.math.{name}(x)", REAL)
        for name in (*_MATH, "abs", "ceil", "floor", "sqrt_rn")
    ),
    *(Case(f"tensor.{name}", f"x.{name}()", f"x.{name}()", REAL) for name in (*_MATH, "sigmoid")),
    Case("math.fma", "tl.math.fma(x, y, z)", "tl.math.fma(x, y, z)", REAL),
    Case("math.div_rn", "tl.math.div_rn(x, y)", "tl.math.div_rn(x, y)", REAL),
    Case("math.fdiv", "tl.math.fdiv(x, y)", "tl.math.fdiv(x, y)", REAL),
    Case("math.umulhi", "tl.math.umulhi(x, y)", "tl.math.umulhi(x, y)", ("int32", "uint32")),
    Case("softmax", "of rows", "tl.store(o + r, tl.softmax(a, 1))", REAL),
    Case("tensor.softmax", "of rows", "tl.store(o + r, a.softmax(1))", REAL),
    Case("softmax", "of a vector", "tl.softmax(x)", REAL),
)

_TO = (
    "int1",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
)
CASTS = (
    *(Case(to, f"x.to(tl.{to})", f"x.to(tl.{to})", tuple(d for d in ALL if d != to), to) for to in _TO),
    *(Case(to, f"x.to(tl.{to})", f"x.to(tl.{to})", ("float16", "bfloat16", "float32"), to) for to in EIGHTS),
    *(
        Case(
            to,
            f"to float32 and float16 from {to}",
            "tl.store(o + i, x.to(tl.float32) + x.to(tl.float16).to(tl.float32))",
            (to,),
            "float32",
        )
        for to in EIGHTS
    ),
    Case(
        "float8e4b15",
        "x.to(tl.float8e4b15), bitcast to uint8",
        "x.to(tl.float8e4b15).to(tl.uint8, bitcast=True)",
        ("float16", "float32"),
        "uint8",
    ),
    Case("float8e4b15", "to float32", "x.to(tl.float8e4b15, bitcast=True).to(tl.float32)", ("uint8",), "float32"),
    Case("cast", "tl.cast(x, tl.int32)", "tl.cast(x, tl.int32)", SOME, "int32"),
    Case("cast", "rtz", "tl.cast(x, tl.float16, fp_downcast_rounding='rtz')", REAL, "float16"),
    Case("cast", "rtne, to bfloat16", "tl.cast(x, tl.bfloat16, fp_downcast_rounding='rtne')", REAL, "bfloat16"),
    Case("cast", "bitcast", "tl.cast(x, tl.int32, bitcast=True)", ("uint32", "float32"), "int32"),
    Case("tensor.cast", "x.cast(tl.float32)", "x.cast(tl.float32)", SOME, "float32"),
    Case("tensor.to", "x.to(tl.float32)", "x.to(tl.float32)", SOME, "float32"),
    Case("tensor.to", "bitcast", "x.to(tl.uint16, bitcast=True)", ("int16", "float16", "bfloat16"), "uint16"),
    Case("to_tensor", "tl.to_tensor(3)", "x + tl.to_tensor(3)", FEW),
    Case("dtype", "x.dtype", "x.to(y.dtype) + (x.dtype == {D})", FEW),
    Case("const", "a pointer to const", "x", FEW),
    Case(
        "pointer_type",
        "an integer as a pointer",
        "q = x_ptr.to(tl.int64).to(tl.pointer_type({D}))\ntl.store(o + i, tl.load(q + i))",
        FEW,
    ),
    Case(
        "pi32_t",
        "a pointer as int32's",
        "tl.store(o + i, tl.load(x_ptr.to(tl.pi32_t) + i // 2))",
        ("int64", "float64"),
        "int32",
    ),
    Case("block_type", "x.type", "v = x.type.shape[0]\ntl.store(o + i, x * 0 + v)", ("int32", "float32")),
    Case("void", "compared", "v = tl.void != tl.int32\ntl.store(o + i, x + v)", ("int32",)),
    Case("constexpr", "made in a kernel", "k: tl.constexpr = 3\ntl.store(o + i, x * k)", FEW),
    Case("constexpr_type", "named", "v = tl.constexpr(2)\ntl.store(o + i, x * v)", ("int32",)),
    Case("tuple", "taken apart", "t = (x, y)\nu, v = t\ntl.store(o + i, u - t[1] + v)", FEW),
    Case("slice", "None and a colon", "tl.store(o + r, tl.sum(a, 1)[:, None] + tl.sum(b, 0)[None, :])", ("int32",)),
    Case("tensor", "x.shape", "v = x.shape[0]\ntl.store(o + i, x * 0 + v)", ("int32",)),
)

MEMORY = (
    Case("load", "masked, with other", "tl.load(x_ptr + i, mask=i < n, other=7)", ALL),
    Case("load", "masked, without other, where it counts", "tl.where(i < n, tl.load(x_ptr + i, mask=i < n), 0)", ALL),
    Case(
        "load",
        "cache hints",
        "tl.load(x_ptr + i, cache_modifier='.cg', eviction_policy='evict_first', volatile=True)",
        FEW,
    ),
    Case("load", "a scalar", "tl.load(x_ptr + 3) + x * 0", ("int32", "int8")),
    Case("load", "at indices", "tl.load(x_ptr + j)", ALL),
    Case("store", "masked", "tl.store(o + i, x, mask=i % 3 == 0)", ALL),
    Case("store", "casts", "tl.store(o + i, x)", ALL, "float32"),
    Case("store", "casts to int8", "tl.store(o + i, x)", ("int32", "int64", "uint32"), "int8"),
    Case("tensor.store", "a method of pointers", "(o + i).store(x)", FEW),
    Case("store", "at indices", "tl.store(o + j, x)", ALL),
    Case(
        "make_block_ptr",
        "boundary_check and padding",
        "v = tl.load(tl.make_block_ptr(x_ptr, (13, 16), (16, 1), (4, 0), (16, 16), (1, 0)), boundary_check=(0, 1), "
        "padding_option='zero')\ntl.store(o + r, v)",
        SOME,
    ),
    Case(
        "make_block_ptr",
        "padding with NaN",
        "v = tl.load(tl.make_block_ptr(x_ptr, (13, 16), (16, 1), (4, 0), (16, 16), (1, 0)), boundary_check=(0,), "
        "padding_option='nan')\ntl.store(o + r, v)",
        FLOATS,
    ),
    Case(
        "tensor.advance",
        "a block pointer",
        "q = tl.make_block_ptr(x_ptr, (16, 16), (16, 1), (0, 0), (8, 16), (1, 0)).advance((8, 0))\n"
        "tl.store(tl.make_block_ptr(o, (16, 16), (16, 1), (0, 0), (8, 16), (1, 0)), tl.load(q))",
        SOME,
    ),
    Case(
        "make_tensor_descriptor",
        "load over the edge",
        "d = tl.make_tensor_descriptor(x_ptr, [13, 16], [16, 1], [8, 16])\n"
        "tl.store(o + tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16)[None, :], d.load([8, 0]))",
        SOME,
    ),
    Case(
        "tensor_descriptor",
        "store over the edge",
        "d = tl.make_tensor_descriptor(o, [13, 16], [16, 1], [16, 16])\nd.store([0, 0], a)",
        SOME,
    ),
    Case(
        "load_tensor_descriptor",
        "as a function",
        "d = tl.make_tensor_descriptor(x_ptr, [16, 16], [16, 1], [16, 16])\n"
        "tl.store(o + r, tl.load_tensor_descriptor(d, [4, 0]))",
        FEW,
    ),
    Case(
        "store_tensor_descriptor",
        "as a function",
        "d = tl.make_tensor_descriptor(o, [16, 16], [16, 1], [16, 16])\ntl.store_tensor_descriptor(d, [4, 0], a)",
        FEW,
    ),
    Case(
        "tensor_descriptor",
        "gather",
        "d = tl.make_tensor_descriptor(x_ptr, [16, 16], [16, 1], [1, 16])\n"
        "tl.store(o + r, d.gather(tl.arange(0, 16) ^ 5, 0))",
        ("int32", "float32"),
    ),
    Case(
        "tensor_descriptor",
        "scatter",
        "d = tl.make_tensor_descriptor(o, [16, 16], [16, 1], [1, 16])\nd.scatter(a, tl.arange(0, 16) ^ 5, 0)",
        ("int32", "float32"),
    ),
)

_BITS = ("int32", "uint32", "int64", "uint64")
_ATOMIC = (*_BITS, "float32", "float64")
ATOMICS = (
    *(
        Case(f"atomic_{name}", "many lanes on one place", f"tl.atomic_{name}(o + i % 8, x)", dtypes)
        for name, dtypes in (
            ("add", _BITS),
            ("max", _ATOMIC),
            ("min", _ATOMIC),
            ("and", _BITS),
            ("or", _BITS),
            ("xor", _BITS),
        )
    ),
    *(
        Case(
            f"atomic_{name}",
            "masked; what was there",
            f"tl.store(o + i, y)\nw = tl.atomic_{name}(o + i, x, mask=i % 3 == 0)\n"
            "tl.store(o + i, tl.where(i % 6 == 0, w, tl.load(o + i)))",
            dtypes,
        )
        for name, dtypes in (
            ("add", ("float16", *_ATOMIC)),
            ("max", _ATOMIC),
            ("min", _ATOMIC),
            ("and", _BITS),
            ("or", _BITS),
            ("xor", _BITS),
            ("xchg", _ATOMIC),
        )
    ),
    *(
        Case(f"tensor.atomic_{name}", "a method", f"(o + i).atomic_{name}(x)", ("int32",))
        for name in ("add", "max", "min", "and", "or", "xor", "xchg", "store")
    ),
    Case("tensor.atomic_cas", "a method", "(o + i).atomic_cas(x * 0, y)", ("int32",)),
    Case("tensor.atomic_load", "a method", "(x_ptr + i).atomic_load()", ("int32",)),
    Case("tensor.atomic_poll", "a method", "(x_ptr + i).atomic_poll(tl.load(x_ptr + i))", ("int32",), "int1"),
    Case(
        "atomic_cas",
        "equal and unequal",
        "tl.store(o + i, y)\nw = tl.atomic_cas(o + i, tl.where(i % 2 == 0, y, x), z)\n"
        "tl.store(o + i, tl.load(o + i) + w * 3)",
        _BITS,
    ),
    Case("atomic_add", "sem and scope", "tl.atomic_add(o + i, x, sem='release', scope='cta')", ("int32",)),
    Case("atomic_load", "masked", "tl.where(i < n, tl.atomic_load(x_ptr + i, mask=i < n), 0)", _BITS),
    Case("atomic_store", "masked", "tl.atomic_store(o + i, x, mask=i < n)", _BITS),
    Case(
        "atomic_poll",
        "there and never there",
        "tl.store(o + i, tl.atomic_poll(x_ptr + i, x) & (tl.atomic_poll(x_ptr + i, x + 1, timeout_ns=1000) == 0))",
        ("int32",),
        "int1",
    ),
)
