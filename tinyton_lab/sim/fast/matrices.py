"""Emission of ``mma``, ``ldmatrix`` and ``stmatrix``: fragments go through memory, products are summed in f64."""

from __future__ import annotations

from collections.abc import Iterable

from tinyton_lab.llvm.text import Builder, Register, vector
from tinyton_lab.ptx.fragments import PER_REGISTER, Fragment, accumulator, left, right
from tinyton_lab.ptx.isa import Form
from tinyton_lab.ptx.isa_matrix import shape_of, wmma_fragment
from tinyton_lab.sim.fast.accesses import Accesses
from tinyton_lab.sim.fast.context import LANES
from tinyton_lab.sim.fast.emission import Unsupported, resize
from tinyton_lab.sim.fast.floats import BYTES, from_byte, odd_single, to_half, widened
from tinyton_lab.sim.fast.registers import Registers
from tinyton_lab.sim.fast.steps import Step

_WIDTHS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "s8": 8, "u8": 8, "s32": 32, "f64": 64, "e4m3": 8, "e5m2": 8}
# Elements are converted so many at a time.
_GROUP = 8


def _table(name: str, values: Iterable[int]) -> str:
    numbers = [f"i32 {int(v)}" for v in values]
    return f"@{name} = internal constant [{len(numbers)} x i32] [{', '.join(numbers)}]\n"


def _places(fragment: Fragment, per: int) -> list[int]:
    """For each element as it lies in memory, register by register and lane by lane: its place in the matrix."""
    slots = fragment.slots
    found: list[int] = []
    for register in range(slots // per):
        for lane in range(LANES):
            for e in range(per):
                found.append(int(fragment.target[lane * slots + register * per + e]))
    return found


def _number(b: Builder, raw: Register, type_: str, whole: bool) -> Register:
    """Raw element bits as the f64 (or i32) that products are taken of."""
    if type_ in ("f16", "bf16"):
        return b.convert("fpext", widened(b, raw, type_), "double")
    if type_ in BYTES:
        return b.convert("fpext", b.convert("fpext", from_byte(b, resize(b, raw, 16), type_), "float"), "double")
    if type_ in ("f32", "tf32"):
        if type_ == "tf32":
            raw = b.binary("and", raw, Register(f"splat (i32 {0xFFFFE000})", raw.type))
        return b.convert("fpext", b.convert("bitcast", raw, "float"), "double")
    if whole:
        return raw if type_ == "s32" else b.convert("sext" if type_ == "s8" else "zext", raw, "i32")
    return b.convert("bitcast", raw, "double")


def _loop(b: Builder, name: str, count: int, step: int) -> tuple[Register, str]:
    """Open a loop whose variable is returned with its label; `_close` ends it."""
    start, label = b.current_label, b.label(name)
    b.branch(label)
    b.place(label)
    i = b.emit(f"phi i64 [ 0, %{start} ], [ %{label}.next, %{label}.end ]", "i64")
    return i, label


def _close(b: Builder, i: Register, label: str, count: int, step: int) -> None:
    b.branch(f"{label}.end")
    b.place(f"{label}.end")
    b.effect(f"%{label}.next = add i64 {i.text}, {step}")
    done = b.emit(f"icmp uge i64 %{label}.next, {count}", "i1")
    b.branch_if(done, f"{label}.done", label)
    b.place(f"{label}.done")


def _unpack(b: Builder, name: str, source: str, target: str, count: int, type_: str, whole: bool) -> None:
    """Convert `count` elements at `source` and put each at its place in the matrix `target`."""
    width, element = _WIDTHS[type_], "i32" if whole else "double"
    i, label = _loop(b, f"{name}.in", count, _GROUP)
    raw_type = vector(f"i{width}", _GROUP)
    at = b.emit(f"getelementptr i{width}, ptr {source}, i64 {i.text}", "ptr")
    raw = b.emit(f"load {raw_type}, ptr {at.text}, align 1", raw_type)
    values = _number(b, raw, type_, whole)
    for k in range(_GROUP):
        spot = b.emit(f"getelementptr i32, ptr @{name}, i64 {i.text}", "ptr")
        spot = b.emit(f"getelementptr i32, ptr {spot.text}, i64 {k}", "ptr")
        place = b.emit(f"load i32, ptr {spot.text}", "i32")
        where = b.emit(f"getelementptr {element}, ptr {target}, i32 {place.text}", "ptr")
        value = b.emit(f"extractelement {values}, i64 {k}", element)
        b.effect(f"store {value}, ptr {where.text}")
    _close(b, i, label, count, _GROUP)


def _pack(b: Builder, name: str, source: str, target: str, count: int, type_: str, whole: bool) -> None:
    """Collect the elements of a matrix in the order of registers, rounded once."""
    width, element = _WIDTHS[type_], "i32" if whole else "double"
    i, label = _loop(b, f"{name}.out", count, _GROUP)
    values = Register("poison", vector(element, _GROUP))
    for k in range(_GROUP):
        spot = b.emit(f"getelementptr i32, ptr @{name}, i64 {i.text}", "ptr")
        spot = b.emit(f"getelementptr i32, ptr {spot.text}, i64 {k}", "ptr")
        place = b.emit(f"load i32, ptr {spot.text}", "i32")
        where = b.emit(f"getelementptr {element}, ptr {source}, i32 {place.text}", "ptr")
        value = b.emit(f"load {element}, ptr {where.text}", element)
        values = b.emit(f"insertelement {values}, {value}, i64 {k}", values.type)
    if type_ == "f16":
        values = to_half(b, odd_single(b, values), "f16")
    elif type_ == "f32":
        values = b.convert("fptrunc", values, "float")
        nan = b.compare("fcmp uno", values, values)
        bits = b.convert("bitcast", values, "i32")
        values = b.select(nan, Register(f"splat (i32 {0x7FFFFFFF})", bits.type), bits)
    at = b.emit(f"getelementptr i{width}, ptr {target}, i64 {i.text}", "ptr")
    b.effect(f"store {values}, ptr {at.text}, align 1")
    _close(b, i, label, count, _GROUP)


def multiply(form: Form) -> tuple[str, str]:
    """(name, definition) of the function of an ``mma``: registers at `%a`, `%b`, `%c`, result over `%c`'s matrix."""
    m, n, k = shape_of(form)
    names = [type_.name for type_ in form.types]
    d_type, a_type, b_type, c_type = names if len(names) == 4 else (names[0], "f16", "f16", names[1])
    small = form.row.mnemonic == "mma" and (m, k) == (8, 4) and a_type == "f16"
    if not {d_type, a_type, b_type, c_type} <= _WIDTHS.keys() or small:
        raise Unsupported(form.opcode)
    whole = d_type == "s32"
    element = "i32" if whole else "double"
    name = "matrix." + form.opcode.replace("::", ".")
    types = {"A": a_type, "B": b_type, "C": c_type, "D": d_type}
    if form.row.mnemonic == "wmma":
        sides = {side: (wmma_fragment((m, n, k), side.lower(), type_), type_) for side, type_ in types.items()}
    else:
        fragments = (left(m, k, a_type), right(k, n, b_type), accumulator(m, n), accumulator(m, n))
        sides = {side: (fragment, type_) for (side, type_), fragment in zip(types.items(), fragments)}
    tables = "".join(
        _table(f"{name}.{side}", _places(fragment, PER_REGISTER[type_])) for side, (fragment, type_) in sides.items()
    )
    b = Builder("cpu")
    b.place("entry")
    for side in "ABC":
        fragment, type_ = sides[side]
        b.effect(f"%{side} = alloca [{fragment.rows * fragment.columns} x {element}], align 64")
        _unpack(b, f"{name}.{side}", f"%{side.lower()}", f"%{side}", LANES * fragment.slots, type_, whole)
    _products(b, name, (m, n, k), element, form.has("satfinite"))
    _pack(b, f"{name}.D", "%C", "%d", LANES * sides["D"][0].slots, d_type, whole)
    b.effect("ret void")
    body = "\n".join(b.lines)
    declarations = "".join(f"{line}\n" for line in b.declarations)
    return name, f"{tables}{declarations}define void @{name}(ptr %d, ptr %a, ptr %b, ptr %c) {{\n{body}\n}}\n"


def _products(b: Builder, name: str, shape: tuple[int, int, int], element: str, saturates: bool) -> None:
    """Add the products to C, row by row, in the order of k; integers wrap unless that `saturates`."""
    m, n, k = shape
    row_type = vector(element, n)
    i, label = _loop(b, "row", m, 1)
    offset = b.emit(f"mul i64 {i.text}, {n}", "i64")
    at = b.emit(f"getelementptr {element}, ptr %C, i64 {offset.text}", "ptr")
    first = b.emit(f"mul i64 {i.text}, {k}", "i64")
    a_row = b.emit(f"getelementptr {element}, ptr %A, i64 {first.text}", "ptr")
    c = b.emit(f"load {row_type}, ptr {at.text}, align 8", row_type)
    total = c if element == "i32" and not saturates else Register("zeroinitializer", row_type)
    exact = b.emit(f"load {row_type}, ptr {at.text}, align 8", row_type)
    for step in range(k):
        spot = b.emit(f"getelementptr {element}, ptr {a_row.text}, i64 {step}", "ptr")
        x = b.splat(b.emit(f"load {element}, ptr {spot.text}", element), n)
        there = b.emit(f"getelementptr {element}, ptr %B, i64 {step * n}", "ptr")
        y = b.emit(f"load {row_type}, ptr {there.text}, align 8", row_type)
        if element == "i32":
            total = b.binary("add", total, b.binary("mul", x, y))
        elif ".f64." in name:
            exact = b.intrinsic("llvm.fma", x, y, exact)
        else:
            total = b.intrinsic("llvm.fma", x, y, total)
    if saturates:
        total = b.intrinsic("llvm.sadd.sat", total, c)
    if element != "i32":
        total = exact if ".f64." in name else b.binary("fadd", total, c)
    b.effect(f"store {total}, ptr {at.text}, align 8")
    _close(b, i, label, m, 1)


def matrix(accesses: Accesses, r: Registers, step: Step) -> list[Register]:
    """``mma``: the registers of each operand go to memory, the result comes back from there."""
    b, name = accesses.b, accesses.function(multiply(step.form))
    start = 0
    for buffer, count in zip(("%addresses", "%xs", "%ys"), step.groups):
        for number, source in enumerate(step.sources[start : start + count]):
            accesses.put_element(number, r.spread(r.read(source)), buffer)
        start += count
    b.effect(f"call void {name}(ptr %data, ptr %addresses, ptr %xs, ptr %ys)")
    bits = 64 if step.form.type.name == "f64" else 32
    return [accesses.element(bits, k) for k in range(len(step.targets))]


# Rows of 8x8 matrices: word w of row j of matrix m lies at data[w][8 m + j].
def _row_places(matrix: int, transposed: bool) -> list[int]:
    """For each half of each lane's register: its place among the 16-bit halves in memory."""
    found: list[int] = []
    for lane in range(LANES):
        for e in range(2):
            row, column = lane // 4, 2 * (lane % 4) + e
            row, column = (column, row) if transposed else (row, column)
            word = (column // 2) * LANES + 8 * matrix + row
            found.append(2 * word + column % 2)
    return found


MOVE = """define void @move16(ptr %to, ptr %from, ptr %places, i1 %scatter) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %place.p = getelementptr i32, ptr %places, i64 %i
  %place = load i32, ptr %place.p
  %place64 = zext i32 %place to i64
  %here = select i1 %scatter, i64 %i, i64 %place64
  %there = select i1 %scatter, i64 %place64, i64 %i
  %from.p = getelementptr i16, ptr %from, i64 %here
  %value = load i16, ptr %from.p
  %to.p = getelementptr i16, ptr %to, i64 %there
  store i16 %value, ptr %to.p
  %j = add i64 %i, 1
  %end = icmp eq i64 %j, 64
  br i1 %end, label %done, label %next
done:
  ret void
}
"""


def _order(accesses: Accesses, matrix: int, transposed: bool) -> str:
    name = f"rows.{matrix}.{'t' if transposed else 'n'}"
    accesses.constants[name] = _table(name, _row_places(matrix, transposed))
    return f"@{name}"


def _used(accesses: Accesses, r: Registers, step: Step, count: int) -> Register:
    """The lanes whose addresses count, of those running."""
    mask = r.active_bits(step)
    lanes = (1 << 8 * count) - 1
    return accesses.b.binary("and", mask, Register(str(lanes), "i32"))


def load_rows(accesses: Accesses, r: Registers, step: Step) -> list[Register]:
    """``ldmatrix``: lane 8m + j gives the address of row j of matrix m."""
    b, count = accesses.b, len(step.targets)
    words = accesses.fetch(step, step.places[0], 32, 4, _used(accesses, r, step, count))
    for number, word in enumerate(words):
        accesses.put_element(number, word)
    results: list[Register] = []
    for matrix_number in range(count):
        places = _order(accesses, matrix_number, step.form.has("trans"))
        move = accesses.function(("move16", MOVE))
        b.effect(f"call void {move}(ptr %xs, ptr %data, ptr {places}, i1 false)")
        type_ = vector("i32", LANES)
        results.append(b.emit(f"load {type_}, ptr %xs, align 8", type_))
    return results


def store_rows(accesses: Accesses, r: Registers, step: Step) -> None:
    """``stmatrix``."""
    b, count = accesses.b, len(step.sources)
    for matrix_number, source in enumerate(step.sources):
        accesses.put_element(0, r.spread(r.read(source)), "%xs")
        places = _order(accesses, matrix_number, step.form.has("trans"))
        move = accesses.function(("move16", MOVE))
        b.effect(f"call void {move}(ptr %ys, ptr %xs, ptr {places}, i1 true)")
    type_ = vector("i32", LANES)
    words: list[Register] = []
    for k in range(4):
        at = b.emit(f"getelementptr i32, ptr %ys, i64 {LANES * k}", "ptr")
        words.append(b.emit(f"load {type_}, ptr {at.text}, align 8", type_))
    accesses.put(step, step.places[0], words, _used(accesses, r, step, count))
