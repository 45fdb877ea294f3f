"""Emitters of integer arithmetic, bit fields, shifts, logic, comparison and selection (PTX ISA 9.7.1 to 9.7.9)."""

from __future__ import annotations

from tinyton_lab.llvm.text import Builder, Register
from tinyton_lab.ptx.isa import Form
from tinyton_lab.sim.fast.emission import Unsupported, Values, const, emits, inverted, resize, smaller, width


def _signed(form: Form) -> bool:
    return form.type.kind == "signed"


def _saturated(b: Builder, wide: Register) -> Register:
    """i64 lanes clipped to s32."""
    low = b.intrinsic("llvm.smax", wide, const(-(2**31), wide))
    return resize(b, b.intrinsic("llvm.smin", low, const(2**31 - 1, wide)), 32)


@emits("add sub addc subc", "int")
def add(b: Builder, form: Form, x: Register, y: Register, carry: Register | None = None) -> Values:
    subtract = form.row.mnemonic.startswith("sub")
    op = "sub" if subtract else "add"
    if form.has("sat"):
        return _saturated(b, b.binary(op, resize(b, x, 64, True), resize(b, y, 64, True)))
    first = b.binary(op, x, y)
    total = first
    if carry is not None:
        total = b.binary(op, first, resize(b, carry, width(x)))
    if not form.has("cc"):
        return total
    if subtract:
        borrow = b.compare("icmp ult", x, y)
        if carry is not None:
            borrow = b.binary("or", borrow, b.binary("and", b.compare("icmp eq", x, y), carry))
        return total, borrow
    over = b.compare("icmp ult", first, x)
    return total, over if carry is None else b.binary("or", over, b.compare("icmp ult", total, first))


@emits("mul", "int")
def multiply(b: Builder, form: Form, x: Register, y: Register) -> Register:
    """The part of a product that the form asks for."""
    part, bits = form["part"], form.type.bits
    if part == "lo":
        return b.binary("mul", x, y)
    wide = b.binary("mul", resize(b, x, 2 * bits, _signed(form)), resize(b, y, 2 * bits, _signed(form)))
    return wide if part == "wide" else resize(b, b.binary("lshr", wide, const(bits, wide)), bits)


@emits("mad madc", "int")
def multiply_add(
    b: Builder, form: Form, x: Register, y: Register, z: Register, carry: Register | None = None
) -> Values:
    product = multiply(b, form, x, y)
    if form.has("sat") and form.type.name != "s32":
        raise Unsupported(form.opcode)
    if form.has("sat"):
        return _saturated(b, b.binary("add", resize(b, product, 64, True), resize(b, z, 64, True)))
    first = b.binary("add", product, z)
    total = first if carry is None else b.binary("add", first, resize(b, carry, width(z)))
    if not form.has("cc"):
        return total
    over = b.compare("icmp ult", first, z)
    return total, over if carry is None else b.binary("or", over, b.compare("icmp ult", total, first))


@emits("mul24 mad24", "int")
def multiply24(b: Builder, form: Form, x: Register, y: Register, z: Register | None = None) -> Register:
    def narrow(value: Register) -> Register:
        wide = resize(b, value, 64)
        moved = b.binary("shl", wide, const(40, wide))
        return b.binary("ashr" if _signed(form) else "lshr", moved, const(40, wide))

    product = b.binary("mul", narrow(x), narrow(y))
    product = b.binary("ashr", product, const(16, product)) if form["part"] == "hi" else product
    low = resize(b, product, 32)
    return low if z is None else b.binary("add", low, z)


@emits("sad", "int")
def absolute_difference(b: Builder, form: Form, x: Register, y: Register, z: Register) -> Register:
    less = b.compare("icmp slt" if _signed(form) else "icmp ult", x, y)
    return b.binary("add", z, b.select(less, b.binary("sub", y, x), b.binary("sub", x, y)))


@emits("div rem", "int")
def divide(b: Builder, form: Form, x: Register, y: Register) -> Register:
    division = form.row.mnemonic == "div"
    zero = b.compare("icmp eq", y, const(0, y))
    safe = b.select(zero, const(1, y), y)
    if not _signed(form):
        result = b.binary("udiv" if division else "urem", x, safe)
    else:
        # The one overflow, least / -1, wraps here where LLVM leaves it undefined.
        minus = b.compare("icmp eq", y, const(-1, y))
        result = b.binary("sdiv" if division else "srem", x, b.select(minus, const(1, y), safe))
        result = b.select(minus, b.binary("sub", const(0, x), x) if division else const(0, x), result)
    return b.select(zero, const(-1, x) if division else x, result)


@emits("abs", "int")
def absolute(b: Builder, form: Form, x: Register) -> Register:
    return b.intrinsic("llvm.smax", x, b.binary("sub", const(0, x), x))


@emits("neg", "int")
def negate(b: Builder, form: Form, x: Register) -> Register:
    return b.binary("sub", const(0, x), x)


@emits("min max", "int")
def extreme(b: Builder, form: Form, x: Register, y: Register) -> Register:
    return b.intrinsic(f"llvm.{'s' if _signed(form) else 'u'}{form.row.mnemonic}", x, y)


@emits("popc", "int")
def population(b: Builder, form: Form, x: Register) -> Register:
    return resize(b, b.intrinsic("llvm.ctpop", x), 32)


def _leading(b: Builder, x: Register) -> Register:
    false = Register("false", "i1")
    return b.call(f"llvm.ctlz.{_suffix(x)}", (x, false), x.type)


def _suffix(x: Register) -> str:
    return f"v{x.lanes}{x.element}" if x.lanes else x.element


@emits("clz", "int")
def leading_zeros(b: Builder, form: Form, x: Register) -> Register:
    return resize(b, _leading(b, x), 32)


@emits("bfind", "int")
def find(b: Builder, form: Form, x: Register) -> Register:
    bits = form.type.bits
    if _signed(form):
        x = b.binary("xor", x, b.binary("ashr", x, const(bits - 1, x)))
    zeros = resize(b, _leading(b, x), 32)
    place = zeros if form.has("shift") else b.binary("sub", const(bits - 1, zeros), zeros)
    return b.select(b.compare("icmp eq", zeros, const(bits, zeros)), const(-1, zeros), place)


@emits("brev", "int")
def reverse(b: Builder, form: Form, x: Register) -> Register:
    return b.intrinsic("llvm.bitreverse", x)


def shift_left(b: Builder, x: Register, count: Register) -> Register:
    """x << count, 0 for the width or more; `count` is any unsigned integer."""
    bits = width(x)
    short = resize(b, smaller(b, count, const(bits - 1, count)), bits)
    inside = b.compare("icmp ult", count, const(bits, count))
    return b.select(inside, b.binary("shl", x, short), const(0, x))


def shift_right(b: Builder, x: Register, count: Register, signed: bool) -> Register:
    bits = width(x)
    short = resize(b, smaller(b, count, const(bits - 1, count)), bits)
    if signed:
        return b.binary("ashr", x, short)
    inside = b.compare("icmp ult", count, const(bits, count))
    return b.select(inside, b.binary("lshr", x, short), const(0, x))


@emits("shl", "int")
def left(b: Builder, form: Form, x: Register, count: Register) -> Register:
    return shift_left(b, x, count)


@emits("shr", "int")
def right(b: Builder, form: Form, x: Register, count: Register) -> Register:
    return shift_right(b, x, count, _signed(form))


@emits("shf", "int")
def funnel(b: Builder, form: Form, x: Register, y: Register, count: Register) -> Register:
    n = smaller(b, count, const(32, count)) if form["mode"] == "clamp" else b.binary("and", count, const(31, count))
    wide_y, n = resize(b, y, 64), resize(b, n, 64)
    both = b.binary("or", b.binary("shl", wide_y, const(32, wide_y)), resize(b, x, 64))
    if form["direction"] == "l":
        return resize(b, b.binary("lshr", b.binary("shl", both, n), const(32, both)), 32)
    return resize(b, b.binary("lshr", both, n), 32)


@emits("bfe", "int")
def extract(b: Builder, form: Form, x: Register, position: Register, length: Register) -> Register:
    bits, signed = form.type.bits, _signed(form)
    position = b.binary("and", position, const(255, position))
    length = b.binary("and", length, const(255, length))
    field = shift_right(b, x, position, signed)
    if not signed:
        return b.binary("and", field, inverted(b, shift_left(b, const(-1, x), length)))
    top = b.binary("sub", const(bits, length), smaller(b, length, const(bits, length)))
    moved = shift_right(b, shift_left(b, field, top), top, True)
    return b.select(b.compare("icmp eq", length, const(0, length)), const(0, x), moved)


@emits("bfi", "int")
def insert(b: Builder, form: Form, x: Register, y: Register, position: Register, length: Register) -> Register:
    position = b.binary("and", position, const(255, position))
    length = b.binary("and", length, const(255, length))
    mask = shift_left(b, inverted(b, shift_left(b, const(-1, x), length)), position)
    kept = b.binary("and", y, inverted(b, mask))
    return b.binary("or", kept, b.binary("and", shift_left(b, x, position), mask))


@emits("bmsk", "int")
def mask(b: Builder, form: Form, position: Register, length: Register) -> Register:
    if form["mode"] != "clamp":
        position = b.binary("and", position, const(31, position))
        length = b.binary("and", length, const(31, length))
    return shift_left(b, inverted(b, shift_left(b, const(-1, position), length)), position)


@emits("szext", "int")
def extend(b: Builder, form: Form, x: Register, count: Register) -> Register:
    clamp = form["mode"] == "clamp"
    length = smaller(b, count, const(32, count)) if clamp else b.binary("and", count, const(31, count))
    top = b.binary("sub", const(32, length), length)
    moved = shift_right(b, shift_left(b, x, top), top, _signed(form))
    return b.select(b.compare("icmp eq", length, const(0, length)), const(0, x), moved)


def _piece(b: Builder, x: Register, place: int, bits: int, signed: bool) -> Register:
    moved = b.binary("shl", x, const(32 - bits * (place + 1), x))
    return b.binary("ashr" if signed else "lshr", moved, const(32 - bits, x))


@emits("dp4a", "int")
def dot4(b: Builder, form: Form, x: Register, y: Register, z: Register) -> Register:
    signs = [type_.kind == "signed" for type_ in form.types]
    for place in range(4):
        product = b.binary("mul", _piece(b, x, place, 8, signs[0]), _piece(b, y, place, 8, signs[1]))
        z = b.binary("add", z, product)
    return z


@emits("dp2a", "int")
def dot2(b: Builder, form: Form, x: Register, y: Register, z: Register) -> Register:
    signs = [type_.kind == "signed" for type_ in form.types]
    first = 0 if form["half"] == "lo" else 2
    for place in range(2):
        product = b.binary("mul", _piece(b, x, place, 16, signs[0]), _piece(b, y, first + place, 8, signs[1]))
        z = b.binary("add", z, product)
    return z


# Logic.
@emits("and or xor", "int pred")
def logic(b: Builder, form: Form, x: Register, y: Register) -> Register:
    return b.binary(form.row.mnemonic, x, y)


@emits("not", "int pred")
def complement(b: Builder, form: Form, x: Register) -> Register:
    return inverted(b, x)


@emits("cnot", "int")
def is_zero(b: Builder, form: Form, x: Register) -> Register:
    return resize(b, b.compare("icmp eq", x, const(0, x)), width(x))


@emits("lop3", "int")
def lookup(b: Builder, form: Form, x: Register, y: Register, z: Register, table: Register, *q: Register) -> Values:
    digits = table.text.removeprefix("splat (i32 ").removesuffix(")")
    if not digits.isdigit():
        raise Unsupported(form.opcode)
    code = int(digits)
    result = const(0, x)
    for index in range(8):
        if code >> index & 1:
            term = b.binary("and", x if index & 4 else inverted(b, x), y if index & 2 else inverted(b, y))
            result = b.binary("or", result, b.binary("and", term, z if index & 1 else inverted(b, z)))
    if not q:
        return result
    some = b.compare("icmp ne", result, const(0, result))
    return result, b.binary(form["bool"], some, q[0])


@emits("prmt", "int")
def permute(b: Builder, form: Form, x: Register, y: Register, control: Register) -> Register:
    wide = resize(b, y, 64)
    both = b.binary("or", b.binary("shl", wide, const(32, wide)), resize(b, x, 64))
    result = const(0, x)
    for place in range(4):
        nibble = _chosen_byte(b, form["mode"], control, place)
        source = resize(b, b.binary("and", nibble, const(7, nibble)), 64)
        byte = resize(b, b.binary("lshr", both, b.binary("shl", source, const(3, source))), 32)
        byte = b.binary("and", byte, const(255, byte))
        if not form["mode"]:
            sign = b.binary("ashr", b.binary("shl", byte, const(24, byte)), const(31, byte))
            sign = b.binary("and", sign, const(255, byte))
            signed = b.compare("icmp ne", b.binary("and", nibble, const(8, nibble)), const(0, nibble))
            byte = b.select(signed, sign, byte)
        result = b.binary("or", result, b.binary("shl", byte, const(8 * place, byte)))
    return result


def _chosen_byte(b: Builder, mode: str, control: Register, place: int) -> Register:
    """Which byte of the pair goes to `place`."""
    if not mode:
        return b.binary("lshr", control, const(4 * place, control))
    s = b.binary("and", control, const(3, control))
    if mode == "f4e":
        return b.binary("add", s, const(place, s))
    if mode == "b4e":
        return b.binary("add", s, const((8 - place) % 8, s))
    if mode == "rc8":
        return s
    if mode == "ecl":
        return b.intrinsic("llvm.umax", s, const(place, s))
    if mode == "ecr":
        return b.intrinsic("llvm.umin", s, const(place, s))
    low = b.binary("shl", b.binary("and", s, const(1, s)), const(1, s))
    return b.binary("add", low, const(place & 1, s))


_ORDERS = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def compare_integers(b: Builder, kind: str, word: str, x: Register, y: Register) -> Register:
    """A comparison of integer lanes as i1."""
    if word not in ("eq", "ne", *_ORDERS):
        raise Unsupported(f"comparing integers by .{word}")
    how = f"{'s' if kind == 'signed' else 'u'}{_ORDERS[word]}" if word in _ORDERS else word
    return b.compare(f"icmp {how}", x, y)


def combined(b: Builder, form: Form, result: Register, c: tuple[Register, ...]) -> Register:
    """``setp.op.and``: a comparison's result joined with a predicate."""
    return b.binary(form["bool"], result, c[0]) if c and form.has("bool") else result


@emits("setp", "int")
def compare(b: Builder, form: Form, x: Register, y: Register, *c: Register) -> Values:
    result = compare_integers(b, form.type.kind, form["compare"], x, y)
    return combined(b, form, result, c), combined(b, form, inverted(b, result), c)


@emits("selp", "int f16 bf16 f32 f64")
def select(b: Builder, form: Form, x: Register, y: Register, p: Register) -> Register:
    return b.select(p, x, y)


@emits("createpolicy", "int")
def policy(b: Builder, form: Form, *_: Register) -> Register:
    return Register("0", "i64")
