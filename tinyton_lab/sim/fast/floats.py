"""Emitters of floating point arithmetic (PTX ISA 9.7.3 to 9.7.5), with the bits of the lane functions in `ptx`."""

from __future__ import annotations

from collections.abc import Callable

from tinyton_lab.llvm.text import Builder, Register
from tinyton_lab.ptx import approximate
from tinyton_lab.ptx.isa import Form
from tinyton_lab.sim.fast.directed import rounded
from tinyton_lab.sim.fast.emission import (
    Unsupported,
    Values,
    as_bits,
    as_float,
    canonical,
    const,
    emits,
    flush,
    flush_halves,
    inverted,
    real,
    resize,
)
from tinyton_lab.sim.fast.integers import combined

_HALVES = "f16 bf16 f16x2 bf16x2"
Core = Callable[..., Register]


def _directed(form: Form) -> str:
    """The rounding where it is not to nearest."""
    return form["rounding"].removeprefix("rn")


def _in_rounding(form: Form, op: str, nearest: Core, single: Core) -> Core:
    """The core of an operation in the form's rounding: `single` is that of f32 where it is not to nearest."""
    rounding = _directed(form)
    if not rounding or form.type.name == "f32":
        return single if rounding else nearest
    return lambda b, *values: rounded(b, op, rounding, *values)


def saturated(b: Builder, x: Register) -> Register:
    """Clip to [0, 1]; NaN becomes 0."""
    zero, one = real(0.0, x), real(1.0, x)
    low = b.select(b.compare("fcmp ogt", x, zero), x, zero)
    return b.select(b.compare("fcmp ogt", low, one), one, low)


def _finished(b: Builder, form: Form, core: Core, values: tuple[Register, ...]) -> Register:
    """Run an f32 or f64 core with the form's flushing and saturation."""
    floats = [as_float(b, value) for value in values]
    ftz = form.has("ftz") and form.type.name == "f32"
    if ftz:
        floats = [flush(b, value) for value in floats]
    result = core(b, *floats)
    result = saturated(b, result) if form.has("sat") else result
    return flush(b, result) if ftz else result


def two_sum(b: Builder, x: Register, y: Register) -> tuple[Register, Register]:
    """x + y as a rounded sum and its error."""
    s = b.binary("fadd", x, y)
    t = b.binary("fsub", s, x)
    error = b.binary("fadd", b.binary("fsub", x, b.binary("fsub", s, t)), b.binary("fsub", y, t))
    return s, error


def round_to_odd(b: Builder, s: Register, e: Register) -> Register:
    """The f64 s + e rounded to odd."""
    bits, zero = as_bits(b, s), real(0.0, s)
    finite = b.compare("fcmp one", b.intrinsic("llvm.fabs", s), real(float("inf"), s))
    even = b.compare("icmp eq", b.binary("and", bits, const(1, bits)), const(0, bits))
    inexact = b.binary("and", b.binary("and", b.compare("fcmp une", e, zero), finite), even)
    same = b.compare("icmp eq", b.compare("fcmp ogt", e, zero), b.compare("fcmp ogt", s, zero))
    moved = b.binary("add", bits, b.select(same, const(1, bits), const(-1, bits)))
    return b.convert("bitcast", b.select(inexact, moved, bits), "double")


def odd_single(b: Builder, s: Register) -> Register:
    """f64 (exact, or rounded to odd) to f32 rounded to odd."""
    r = b.convert("fptrunc", s, "float")
    back = b.convert("fpext", r, "double")
    bits = as_bits(b, r)
    larger = b.compare("fcmp ogt", b.intrinsic("llvm.fabs", back), b.intrinsic("llvm.fabs", s))
    down = b.select(larger, b.binary("sub", bits, const(1, bits)), bits)
    finite = b.compare("fcmp one", b.intrinsic("llvm.fabs", s), real(float("inf"), s))
    inexact = b.binary("and", b.compare("fcmp une", back, s), finite)
    return b.convert("bitcast", b.select(inexact, b.binary("or", down, const(1, down)), bits), "float")


# Directed rounding: results to nearest that are on the wrong side of the exact value take one step.
def stepped(b: Builder, r: Register, back: Register, exact: Register, rounding: str) -> Register:
    """`r`, whose value is `back` where it should be `exact`, in the named rounding; `back` and `exact` are f64."""
    bits = as_bits(b, r)
    negative = b.compare("icmp slt", bits, const(0, bits))
    down, up = b.binary("sub", bits, const(1, bits)), b.binary("add", bits, const(1, bits))
    if rounding == "rz":
        wrong = b.compare("fcmp ogt", b.intrinsic("llvm.fabs", back), b.intrinsic("llvm.fabs", exact))
        return as_float(b, b.select(wrong, down, bits))
    low = rounding == "rm"
    wrong = b.compare("fcmp ogt" if low else "fcmp olt", back, exact)
    # From a zero the step leads to the smallest number beyond it.
    zero = b.compare("icmp eq", b.binary("shl", bits, const(1, bits)), const(0, bits))
    least = const((1 << int(bits.element[1:]) - 1) + 1 if low else 1, bits)
    step = b.select(negative, up if low else down, down if low else up)
    return as_float(b, b.select(wrong, b.select(zero, least, step), bits))


def narrowed(b: Builder, s: Register, rounding: str) -> Register:
    """f64, exact or rounded to odd, to f32 in a rounding ("" is to nearest)."""
    r = b.convert("fptrunc", s, "float")
    return stepped(b, r, b.convert("fpext", r, "double"), s, rounding) if rounding else r


# 8-bit formats: (mantissa bits, bias, largest finite value).
BYTES = {"e4m3": (3, 7, 448.0), "e5m2": (2, 15, 57344.0)}


def from_byte(b: Builder, x: Register, name: str) -> Register:
    """8-bit floats, in the low half of 16-bit lanes, as f16."""
    sign = b.binary("shl", b.binary("and", x, const(0x80, x)), const(8, x))
    size = b.binary("and", x, const(0x7F, x))
    mantissa, bias, _ = BYTES[name]
    value = as_float(b, b.binary("or", sign, b.binary("shl", size, const(10 - mantissa, size))))
    if name == "e5m2":
        return value
    value = b.binary("fmul", value, real(2.0 ** (15 - bias), value))
    return b.select(b.compare("icmp eq", size, const(0x7F, size)), as_float(b, const(0x7FFF, x)), value)


def to_byte(b: Builder, x: Register, name: str) -> Register:
    """f32 to 8-bit floats in 16-bit lanes: nearest even, at most the largest finite value; NaN becomes 0x7F."""
    mantissa, bias, most = BYTES[name]
    size = b.intrinsic("llvm.fabs", x)
    size = b.select(b.compare("fcmp ogt", size, real(most, size)), real(most, size), size)
    bits, shift = as_bits(b, size), 23 - mantissa
    odd = b.binary("and", b.binary("lshr", bits, const(shift, bits)), const(1, bits))
    rounded = b.binary("add", b.binary("add", bits, const((1 << shift - 1) - 1, bits)), odd)
    normal = b.binary("sub", b.binary("lshr", rounded, const(shift, bits)), const((127 - bias) << mantissa, bits))
    scaled = b.intrinsic("llvm.rint", b.binary("fmul", size, real(2.0 ** (bias - 1 + mantissa), size)))
    tiny = b.convert("fptoui", b.select(b.compare("fcmp ord", x, x), scaled, real(0.0, x)), "i32")
    code = b.select(b.compare("fcmp olt", size, real(2.0 ** (1 - bias), size)), tiny, normal)
    code = b.binary("or", code, b.binary("and", b.binary("lshr", as_bits(b, x), const(24, bits)), const(0x80, bits)))
    return resize(b, b.select(b.compare("fcmp uno", x, x), const(0x7F, bits), code), 16)


# 16-bit formats.
def widened(b: Builder, x: Register, name: str) -> Register:
    """16-bit lanes as f32."""
    if name == "bf16":
        wide = resize(b, x, 32)
        return b.convert("bitcast", b.binary("shl", wide, const(16, wide)), "float")
    return b.convert("fpext", b.convert("bitcast", x, "half"), "float")


def to_half(b: Builder, x: Register, name: str, rounding: str = "") -> Register:
    """f32 (exact or rounded to odd) or f64 to the bits of a 16-bit format, NaN canonical."""
    if x.element == "double":
        x = odd_single(b, x)
    if name == "f16":
        r = b.convert("fptrunc", x, "half")
        if rounding:
            exact = _double(b, x)
            r = stepped(b, r, b.convert("fpext", b.convert("fpext", r, "float"), "double"), exact, rounding)
        return canonical(b, r)
    bits = as_bits(b, x)
    if rounding:
        return _cut_half(b, x, rounding)
    upper = b.binary("lshr", bits, const(16, bits))
    odd = b.binary("and", upper, const(1, bits))
    rounded = b.binary("lshr", b.binary("add", b.binary("add", bits, const(0x7FFF, bits)), odd), const(16, bits))
    short = resize(b, rounded, 16)
    return b.select(b.compare("fcmp uno", x, x), const(0x7FFF, short), short)


def _cut_half(b: Builder, x: Register, rounding: str) -> Register:
    """f32 to bf16 in a directed rounding."""
    bits = as_bits(b, x)
    upper = b.binary("lshr", bits, const(16, bits))
    if rounding != "rz":
        rest = b.binary("and", bits, const(0xFFFF, bits))
        negative = b.compare("icmp slt", bits, const(0, bits))
        away = negative if rounding == "rm" else inverted(b, negative)
        more = b.binary("and", b.compare("icmp ne", rest, const(0, rest)), away)
        upper = b.binary("add", upper, b.select(more, const(1, upper), const(0, upper)))
    short = resize(b, upper, 16)
    return b.select(b.compare("fcmp uno", x, x), const(0x7FFF, short), short)


def halves(b: Builder, form: Form, core: Core, values: tuple[Register, ...]) -> Register:
    """Run a core on f32 values for a 16-bit type, on both halves of packed ones."""
    name = form.type.name.removesuffix("x2")
    ftz = form.has("ftz") and name == "f16"

    def one(parts: list[Register]) -> Register:
        parts = [flush_halves(b, part) for part in parts] if ftz else parts
        wide = core(b, *(widened(b, part, name) for part in parts))
        if form["sat"] == "sat":
            wide = saturated(b, wide)
        elif form["sat"] == "relu":
            wide = rectified(b, wide)
        result = to_half(b, wide, name)
        return flush_halves(b, result) if ftz else result

    if form.type.kind != "packed":
        return one(list(values))
    low = one([resize(b, value, 16) for value in values])
    high = one([resize(b, b.binary("lshr", value, const(16, value)), 16) for value in values])
    return joined(b, low, high)


def rectified(b: Builder, x: Register) -> Register:
    """Negative values and -0 become +0; NaN stays."""
    return b.select(b.compare("fcmp ugt", x, real(0.0, x)), x, real(0.0, x))


def joined(b: Builder, low: Register, high: Register) -> Register:
    """Two 16-bit values as one of 32 bits."""
    wide = resize(b, high, 32)
    return b.binary("or", resize(b, low, 32), b.binary("shl", wide, const(16, wide)))


def _double(b: Builder, x: Register) -> Register:
    return b.convert("fpext", x, "double")


# Arithmetic.
@emits("add sub", "f32 f64")
def add(b: Builder, form: Form, x: Register, y: Register) -> Register:
    rounding, op = _directed(form), "f" + form.row.mnemonic

    def directed(b: Builder, x: Register, y: Register) -> Register:
        y = b.unary("fneg", y) if op == "fsub" else y
        return narrowed(b, _sum(b, _double(b, x), _double(b, y), rounding), rounding)

    return _finished(b, form, _in_rounding(form, op, lambda b, x, y: b.binary(op, x, y), directed), (x, y))


def _sum(b: Builder, x: Register, y: Register, rounding: str) -> Register:
    """x + y in f64 rounded to odd; an exact zero is -0 in rm, unless both are +0."""
    total, error = two_sum(b, x, y)
    if rounding == "rm":
        differ = b.binary("xor", as_bits(b, x), as_bits(b, y))
        opposite = b.compare("icmp slt", differ, const(0, differ))
        zero = b.binary("and", opposite, b.compare("fcmp oeq", total, real(0.0, total)))
        total = b.select(zero, real(-0.0, total), total)
    return round_to_odd(b, total, error)


@emits("mul div", "f32 f64")
def multiply(b: Builder, form: Form, x: Register, y: Register) -> Register:
    rounding, op = _directed(form), "f" + form.row.mnemonic

    def directed(b: Builder, x: Register, y: Register) -> Register:
        x, y = _double(b, x), _double(b, y)
        return narrowed(b, b.binary("fmul", x, y) if op == "fmul" else _quotient(b, x, y), rounding)

    return _finished(b, form, _in_rounding(form, op, lambda b, x, y: b.binary(op, x, y), directed), (x, y))


def _sticky(b: Builder, q: Register, residual: Register) -> Register:
    """An f64 result that is short enough for f32 may hide a rest: round it to odd by the residual."""
    back = _double(b, b.convert("fptrunc", q, "float"))
    finite = b.compare("fcmp one", b.intrinsic("llvm.fabs", q), real(float("inf"), q))
    short = b.binary("and", b.compare("fcmp oeq", back, q), finite)
    return round_to_odd(b, q, b.select(short, residual, real(0.0, q)))


def _quotient(b: Builder, x: Register, y: Register) -> Register:
    q = b.binary("fdiv", x, y)
    rest = b.binary("fsub", x, b.binary("fmul", q, y))
    # A quotient by infinity is a zero and exact.
    infinite = b.compare("fcmp oeq", b.intrinsic("llvm.fabs", y), real(float("inf"), y))
    rest = b.select(infinite, real(0.0, rest), rest)
    return _sticky(b, q, b.select(b.compare("fcmp olt", y, real(0.0, y)), b.unary("fneg", rest), rest))


@emits("fma mad", "f32 f64")
def multiply_add(b: Builder, form: Form, x: Register, y: Register, z: Register) -> Register:
    rounding = _directed(form)

    def directed(b: Builder, x: Register, y: Register, z: Register) -> Register:
        product = b.binary("fmul", _double(b, x), _double(b, y))
        return narrowed(b, _sum(b, product, _double(b, z), rounding), rounding)

    nearest: Core = lambda b, x, y, z: b.intrinsic("llvm.fma", x, y, z)  # noqa: E731
    return _finished(b, form, _in_rounding(form, "fma", nearest, directed), (x, y, z))


@emits("add sub", _HALVES)
def add_halves(b: Builder, form: Form, x: Register, y: Register) -> Register:
    subtract = form.row.mnemonic == "sub"

    def core(b: Builder, x: Register, y: Register) -> Register:
        y = b.unary("fneg", y) if subtract else y
        if form.type.name.startswith("f16"):
            # f32 has more than twice the digits of f16: rounding twice is rounding once.
            return b.binary("fadd", x, y)
        return round_to_odd(b, *two_sum(b, _double(b, x), _double(b, y)))

    return halves(b, form, core, (x, y))


@emits("mul", _HALVES)
def multiply_halves(b: Builder, form: Form, x: Register, y: Register) -> Register:
    def core(b: Builder, x: Register, y: Register) -> Register:
        if form.type.name.startswith("f16"):
            return b.binary("fmul", x, y)
        return b.binary("fmul", _double(b, x), _double(b, y))

    return halves(b, form, core, (x, y))


@emits("fma", _HALVES)
def multiply_add_halves(b: Builder, form: Form, x: Register, y: Register, z: Register) -> Register:
    def core(b: Builder, x: Register, y: Register, z: Register) -> Register:
        product = b.binary("fmul", _double(b, x), _double(b, y))
        return round_to_odd(b, *two_sum(b, product, _double(b, z)))

    return halves(b, form, core, (x, y, z))


# Minimum, maximum, signs.
def _pick(b: Builder, form: Form, x: Register, y: Register) -> Register:
    least = form.row.mnemonic == "min"
    first = b.compare("fcmp olt" if least else "fcmp ogt", x, y)
    result = b.select(first, x, y)
    # Of two zeros the negative one is smaller; other equal values have equal bits.
    together = b.binary("or" if least else "and", as_bits(b, x), as_bits(b, y))
    result = b.select(b.compare("fcmp oeq", x, y), as_float(b, together), result)
    if form.has("nan"):
        result = b.select(b.compare("fcmp uno", y, y), y, result)
        return b.select(b.compare("fcmp uno", x, x), x, result)
    result = b.select(b.compare("fcmp uno", y, y), x, result)
    return b.select(b.compare("fcmp uno", x, x), y, result)


def _extreme(form: Form) -> Core:
    def core(b: Builder, x: Register, y: Register) -> Register:
        if not form.has("xorsign"):
            return _pick(b, form, x, y)
        picked = _pick(b, form, b.intrinsic("llvm.fabs", x), b.intrinsic("llvm.fabs", y))
        signs = b.binary("xor", as_bits(b, x), as_bits(b, y))
        differ = b.compare("icmp slt", signs, const(0, signs))
        return b.select(differ, b.unary("fneg", picked), picked)

    return core


@emits("min max", "f32 f64")
def extreme(b: Builder, form: Form, x: Register, y: Register) -> Register:
    return _finished(b, form, _extreme(form), (x, y))


@emits("min max", _HALVES)
def extreme_halves(b: Builder, form: Form, x: Register, y: Register) -> Register:
    return halves(b, form, _extreme(form), (x, y))


@emits("neg abs", f"f32 f64 {_HALVES}")
def sign(b: Builder, form: Form, x: Register) -> Register:
    negates = form.row.mnemonic == "neg"
    if form.type.name in ("f32", "f64"):
        return _finished(b, form, lambda b, x: b.unary("fneg", x) if negates else b.intrinsic("llvm.fabs", x), (x,))
    mask = const({16: 0x8000, 32: 0x80008000}[form.type.bits], x)
    if form.has("ftz") and form.type.name.startswith("f16"):
        x = flush_halves(b, x)
    return b.binary("xor", x, mask) if negates else b.binary("and", x, inverted(b, mask))


@emits("copysign", "f32 f64")
def copy_sign(b: Builder, form: Form, x: Register, y: Register) -> Register:
    top = const(1 << form.type.bits - 1, x)
    return b.binary("or", b.binary("and", x, top), b.binary("and", y, inverted(b, top)))


_INFINITY = {32: 0x7F800000, 64: 0x7FF0000000000000}
_LEAST = {32: 0x00800000, 64: 0x0010000000000000}


@emits("testp", "f32 f64")
def test(b: Builder, form: Form, x: Register) -> Register:
    size = b.binary("and", x, const((1 << form.type.bits - 1) - 1, x))
    infinity, least = const(_INFINITY[form.type.bits], x), const(_LEAST[form.type.bits], x)
    kind = form["class"]
    if kind in ("finite", "infinite", "number", "notanumber"):
        word = {"finite": "ult", "infinite": "eq", "number": "ule", "notanumber": "ugt"}[kind]
        return b.compare(f"icmp {word}", size, infinity)
    # Zeros count as normal numbers.
    small = b.binary("and", b.compare("icmp ult", size, least), b.compare("icmp ne", size, const(0, size)))
    if kind == "subnormal":
        return small
    return b.binary("and", inverted(b, small), b.compare("icmp ult", size, infinity))


# Roots, reciprocals and approximations.
def _through_double(b: Builder, form: Form, core: Core, x: Register) -> Register:
    return _finished(b, form, lambda b, x: b.convert("fptrunc", core(b, _double(b, x)), "float"), (x,))


def _one_over(b: Builder, x: Register) -> Register:
    return b.binary("fdiv", real(1.0, x), x)


def _root(b: Builder, x: Register) -> Register:
    return b.intrinsic("llvm.sqrt", x)


def _one_over_root(b: Builder, x: Register) -> Register:
    return _one_over(b, _root(b, x))


_EXACT: dict[str, Core] = {"rcp": _one_over, "sqrt": _root, "rsqrt": _one_over_root}


@emits("rcp sqrt rsqrt", "f32 f64")
def root(b: Builder, form: Form, x: Register) -> Register:
    core = _EXACT[form.row.mnemonic]
    if not form.has("approx"):
        return _finished(b, form, _rounded_root(form, core), (x,))
    if form.type.name == "f32":
        return _through_double(b, form, core, x)
    high = const(0xFFFFFFFF00000000, x)
    result = core(b, as_float(b, b.binary("and", x, high)))
    return b.binary("and", as_bits(b, result), high)


def _rounded_root(form: Form, nearest: Core) -> Core:
    rounding, inverse = _directed(form), form.row.mnemonic == "rcp"

    def single(b: Builder, x: Register) -> Register:
        wide = _double(b, x)
        if inverse:
            return narrowed(b, _quotient(b, real(1.0, wide), wide), rounding)
        root = _root(b, wide)
        return narrowed(b, _sticky(b, root, b.binary("fsub", wide, b.binary("fmul", root, root))), rounding)

    if inverse and rounding and form.type.name == "f64":
        return lambda b, x: rounded(b, "fdiv", rounding, real(1.0, x), x)
    return _in_rounding(form, "sqrt", nearest, single)


class _Lanes:
    """The arithmetic of `approximate` as LLVM instructions."""

    def __init__(self, b: Builder, like: Register) -> None:
        self.b, self.like = b, like

    def number(self, value: float) -> Register:
        return real(value, self.like)

    def whole(self, value: int) -> Register:
        return const(value, Register("", self.like.type.replace("double", "i64")))

    def add(self, x: Register, y: Register) -> Register:
        return self.b.binary("fadd", x, y)

    def subtract(self, x: Register, y: Register) -> Register:
        return self.b.binary("fsub", x, y)

    def multiply(self, x: Register, y: Register) -> Register:
        return self.b.binary("fmul", x, y)

    def divide(self, x: Register, y: Register) -> Register:
        return self.b.binary("fdiv", x, y)

    def floor(self, x: Register) -> Register:
        return self.b.intrinsic("llvm.floor", x)

    def absolute(self, x: Register) -> Register:
        return self.b.intrinsic("llvm.fabs", x)

    def less(self, x: Register, y: Register) -> Register:
        return self.b.compare("fcmp olt", x, y)

    def equal(self, x: Register, y: Register) -> Register:
        return self.b.compare("fcmp oeq", x, y)

    def select(self, condition: Register, x: Register, y: Register) -> Register:
        return self.b.select(condition, x, y)

    def bits(self, x: Register) -> Register:
        return as_bits(self.b, x)

    def value(self, bits: Register) -> Register:
        return self.b.convert("bitcast", bits, "double")

    def integer(self, op: str, x: Register, y: Register) -> Register:
        return self.b.binary(op, x, y)


@emits("ex2 lg2 sin cos tanh", f"f32 {_HALVES}")
def approximation(b: Builder, form: Form, x: Register) -> Register:
    function = approximate.FUNCTIONS[form.row.mnemonic]

    def core(b: Builder, x: Register) -> Register:
        return function(_Lanes(b, x), x)

    if form.type.name == "f32":
        return _through_double(b, form, core, x)
    return halves(b, form, lambda b, x: core(b, _double(b, x)), (x,))


# Comparison.
_WORDS = {"eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "num": "ord", "nan": "uno"}
_UNORDERED = {"equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge"}


def compare_floats(b: Builder, form: Form, name: str, x: Register, y: Register) -> Register:
    """A comparison of float lanes given as bits."""
    if name in ("f16", "bf16"):
        flushing = form.has("ftz") and name == "f16"
        pair = [widened(b, flush_halves(b, value) if flushing else value, name) for value in (x, y)]
    else:
        pair = [as_float(b, value) for value in (x, y)]
    if form.has("ftz") and name == "f32":
        pair = [flush(b, value) for value in pair]
    word = (_WORDS | _UNORDERED).get(form["compare"])
    if word is None:
        raise Unsupported(f"comparing floats by .{form['compare']}")
    return b.compare(f"fcmp {word}", *pair)


@emits("setp", "f32 f64 f16 bf16")
def compare(b: Builder, form: Form, x: Register, y: Register, *c: Register) -> Values:
    result = compare_floats(b, form, form.type.name, x, y)
    return combined(b, form, result, c), combined(b, form, inverted(b, result), c)


def pair_flags(b: Builder, form: Form, name: str, x: Register, y: Register, c: tuple[Register, ...]) -> list[Register]:
    flags: list[Register] = []
    for place in (0, 16):
        parts = [resize(b, b.binary("lshr", value, const(place, value)), 16) for value in (x, y)]
        flags.append(combined(b, form, compare_floats(b, form, name, *parts), c))
    return flags


@emits("setp", "f16x2 bf16x2")
def compare_pairs(b: Builder, form: Form, x: Register, y: Register, *c: Register) -> Values:
    return tuple(pair_flags(b, form, form.type.name.removesuffix("x2"), x, y, c))
