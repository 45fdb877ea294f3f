"""LLVM text of checked memory: whole warps at once where addresses follow each other, else lane by lane. No registers.

Every access goes through `find` or a check of all lanes against one allocation; a bad lane is noted in the context and
the function returns 1.
"""

from __future__ import annotations

import re

from tinyton_lab.llvm.text import Builder, Register
from tinyton_lab.ptx.isa import resolve
from tinyton_lab.sim.fast.context import REGION_SLOTS, Fault, Slot, Space
from tinyton_lab.sim.fast.floats import add_halves
from tinyton_lab.sim.memory import LOCAL_WINDOW, SHARED_WINDOW

HALVES = ("f16", "bf16", "f16x2", "bf16x2")
_WINDOW = 48
_BITS = ", ".join(f"i32 {1 << n if n < 31 else -(1 << 31)}" for n in range(32))


def slot(name: int, register: str, type_: str = "i64") -> str:
    """Load a context slot into `register`."""
    return f"{register}.p = getelementptr i64, ptr %ctx, i64 {int(name)}\n  {register} = load {type_}, ptr {register}.p"


NOTE = f"""
define internal void @note(ptr %ctx, i64 %kind, i32 %site, i32 %lane, i64 %address) {{
  %site64 = zext i32 %site to i64
  %lane64 = zext i32 %lane to i64
  %p0 = getelementptr i64, ptr %ctx, i64 {Slot.FAULT}
  store i64 %kind, ptr %p0
  %p1 = getelementptr i64, ptr %ctx, i64 {Slot.FAULT_SITE}
  store i64 %site64, ptr %p1
  %p2 = getelementptr i64, ptr %ctx, i64 {Slot.FAULT_LANE}
  store i64 %lane64, ptr %p2
  %p3 = getelementptr i64, ptr %ctx, i64 {Slot.FAULT_ADDRESS}
  store i64 %address, ptr %p3
  ret void
}}
"""

FIND = f"""
define internal ptr @region(ptr %ctx, i32 %space, i64 %address) {{
entry:
  switch i32 %space, label %search [ i32 {Space.SHARED}, label %shared i32 {Space.LOCAL}, label %local
    i32 {Space.PARAM}, label %param i32 {Space.GENERIC}, label %generic ]
shared:
  %shared.p = getelementptr i64, ptr %ctx, i64 {Slot.SHARED}
  ret ptr %shared.p
local:
  %local.p = getelementptr i64, ptr %ctx, i64 {Slot.LOCAL}
  ret ptr %local.p
param:
  %param.p = getelementptr i64, ptr %ctx, i64 {Slot.PARAMETERS}
  ret ptr %param.p
generic:
  %high = lshr i64 %address, {_WINDOW}
  switch i64 %high, label %nowhere [ i64 0, label %search i64 {SHARED_WINDOW >> _WINDOW}, label %window ]
window:
  %window.p = getelementptr i64, ptr %ctx, i64 {Slot.WINDOW}
  ret ptr %window.p
nowhere:
  ret ptr null
search:
  {slot(Slot.REGIONS, "%table", "ptr")}
  {slot(Slot.REGION_COUNT, "%count")}
  br label %next
next:
  %i = phi i64 [ 0, %search ], [ %j, %other ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %nowhere, label %look
look:
  %at = mul i64 %i, {REGION_SLOTS}
  %record = getelementptr i64, ptr %table, i64 %at
  %base = load i64, ptr %record
  %size.p = getelementptr i64, ptr %record, i64 1
  %size = load i64, ptr %size.p
  %offset = sub i64 %address, %base
  %inside = icmp ult i64 %offset, %size
  br i1 %inside, label %found, label %other
found:
  ret ptr %record
other:
  %j = add i64 %i, 1
  br label %next
}}

define internal ptr @find(ptr %ctx, i32 %space, i32 %site, i32 %thread, i64 %address, i64 %bytes, i64 %writes) {{
entry:
  %window = lshr i64 %address, {_WINDOW}
  %generic = icmp eq i32 %space, {Space.GENERIC}
  %local.w = icmp eq i64 %window, {LOCAL_WINDOW >> _WINDOW}
  %own = and i1 %generic, %local.w
  br i1 %own, label %stack, label %plain
stack:
  %inner = and i64 %address, {(1 << _WINDOW) - 1}
  {slot(Slot.LOCAL_LIMIT, "%limit")}
  {slot(Slot.LOCAL_WIDTH, "%width")}
  %end = add i64 %inner, %bytes
  %fits = icmp ule i64 %end, %limit
  %thread64 = zext i32 %thread to i64
  %row = mul i64 %thread64, %width
  %flat = add i64 %row, %inner
  br i1 %fits, label %plain, label %bad
plain:
  %at = phi i64 [ %address, %entry ], [ %flat, %stack ]
  %how = phi i32 [ %space, %entry ], [ {Space.LOCAL}, %stack ]
  %record = call ptr @region(ptr %ctx, i32 %how, i64 %at)
  %none = icmp eq ptr %record, null
  br i1 %none, label %bad, label %check
check:
  %base = load i64, ptr %record
  %size.p = getelementptr i64, ptr %record, i64 1
  %size = load i64, ptr %size.p
  %host.p = getelementptr i64, ptr %record, i64 2
  %host = load i64, ptr %host.p
  %writable.p = getelementptr i64, ptr %record, i64 3
  %writable = load i64, ptr %writable.p
  %member.p = getelementptr i64, ptr %record, i64 4
  %member = load i64, ptr %member.p
  %offset = sub i64 %at, %base
  %last = add i64 %offset, %bytes
  %over = icmp ugt i64 %last, %size
  %beyond = icmp uge i64 %offset, %size
  %low = sub i64 %bytes, 1
  %odd = and i64 %at, %low
  %crooked = icmp ne i64 %odd, 0
  %denied.0 = icmp ult i64 %writable, %writes
  %wrong.0 = or i1 %over, %beyond
  %wrong.1 = or i1 %crooked, %denied.0
  %wrong = or i1 %wrong.0, %wrong.1
  br i1 %wrong, label %bad, label %view
view:
  %place = add i64 %host, %offset
  %result = inttoptr i64 %place to ptr
  %whole = icmp eq i64 %member, 0
  br i1 %whole, label %good, label %byte
byte:
  %n = phi i64 [ 0, %view ], [ %n.next, %byte ]
  %m0 = add i64 %member, %offset
  %m1 = add i64 %m0, %n
  %m2 = inttoptr i64 %m1 to ptr
  %flag = load i8, ptr %m2
  %absent = icmp eq i8 %flag, 0
  %n.next = add i64 %n, 1
  %last.n = icmp eq i64 %n.next, %bytes
  %leave = or i1 %absent, %last.n
  br i1 %leave, label %seen, label %byte
seen:
  br i1 %absent, label %bad, label %good
good:
  ret ptr %result
bad:
  call void @note(ptr %ctx, i64 {Fault.MEMORY}, i32 %site, i32 %thread, i64 %address)
  ret ptr null
}}
"""


# Check all lanes against the allocation of the first active one; then `%host.base` + address is the place.
_ALL_LANES = """entry:
  %nobody = icmp eq i32 %mask, 0
  br i1 %nobody, label %done, label %start
done:
  ret i32 0
start:
  %first = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
  %first64 = zext i32 %first to i64
  %first.p = getelementptr i64, ptr %addresses, i64 %first64
  %a0 = load i64, ptr %first.p
  %record = call ptr @region(ptr %ctx, i32 %space, i64 %a0)
  %none = icmp eq ptr %record, null
  br i1 %none, label %slow, label %check
check:
  %base = load i64, ptr %record
  %size.p = getelementptr i64, ptr %record, i64 1
  %size = load i64, ptr %size.p
  %host.p = getelementptr i64, ptr %record, i64 2
  %host = load i64, ptr %host.p
  %writable.p = getelementptr i64, ptr %record, i64 3
  %writable = load i64, ptr %writable.p
  %member.p = getelementptr i64, ptr %record, i64 4
  %member = load i64, ptr %member.p
  %host.base = sub i64 %host, %base
  %fits = icmp uge i64 %size, BYTES
  %room = sub i64 %size, BYTES
  %whole = icmp eq i64 %member, 0
  %allowed = icmp uge i64 %writable, WRITES
  %may.0 = and i1 %fits, %whole
  %may = and i1 %may.0, %allowed
  br i1 %may, label %lanes, label %slow
lanes:
  %all = load <32 x i64>, ptr %addresses, align 8
  %m.0 = insertelement <32 x i32> poison, i32 %mask, i64 0
  %m.1 = shufflevector <32 x i32> %m.0, <32 x i32> poison, <32 x i32> zeroinitializer
  %m.2 = and <32 x i32> %m.1, <BITS>
  %off = icmp eq <32 x i32> %m.2, zeroinitializer
  %s.0 = insertelement <32 x i64> poison, i64 %a0, i64 0
  %s.1 = shufflevector <32 x i64> %s.0, <32 x i64> poison, <32 x i32> zeroinitializer
  %used = select <32 x i1> %off, <32 x i64> %s.1, <32 x i64> %all
  %b.0 = insertelement <32 x i64> poison, i64 %base, i64 0
  %b.1 = shufflevector <32 x i64> %b.0, <32 x i64> poison, <32 x i32> zeroinitializer
  %offsets = sub <32 x i64> %used, %b.1
  %most = call i64 @llvm.vector.reduce.umax.v32i64(<32 x i64> %offsets)
  %inside = icmp ule i64 %most, %room
  %either = call i64 @llvm.vector.reduce.or.v32i64(<32 x i64> %used)
  %odd = and i64 %either, LOW
  %straight = icmp eq i64 %odd, 0
  %safe = and i1 %inside, %straight
  br i1 %safe, label %fast, label %slow
fast:
  %back = mul i64 %first64, BYTES
  %origin = sub i64 %a0, %back
  %o.0 = insertelement <32 x i64> poison, i64 %origin, i64 0
  %o.1 = shufflevector <32 x i64> %o.0, <32 x i64> poison, <32 x i32> zeroinitializer
  %steps = sub <32 x i64> %all, %o.1
  %apart = icmp ne <32 x i64> %steps, <STEPS>
  %apart.bits = bitcast <32 x i1> %apart to i32
  %scattered = icmp ne i32 %apart.bits, 0
  %some = icmp ne i32 %mask, -1
  %single = or i1 %scattered, %some
  br i1 %single, label %each, label %block
block:
  %row = add i64 %host.base, %origin
  %row.p = inttoptr i64 %row to ptr
"""
_LOOP = """
each:
  br label %lane.fast
lane.fast:
  %left = phi i32 [ %mask, %each ], [ %left.next, %lane.fast ]
  %l = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %l64 = zext i32 %l to i64
  %l.p = getelementptr i64, ptr %addresses, i64 %l64
  %a = load i64, ptr %l.p
  %h = add i64 %host.base, %a
  %p = inttoptr i64 %h to ptr
MOVE
  %less = sub i32 %left, 1
  %left.next = and i32 %left, %less
  %end = icmp eq i32 %left.next, 0
  br i1 %end, label %done, label %lane.fast
slow:
  br label %lane.slow
lane.slow:
  %left.s = phi i32 [ %mask, %slow ], [ %left.s.next, %lane.good ]
  %ls = call i32 @llvm.cttz.i32(i32 %left.s, i1 true)
  %ls64 = zext i32 %ls to i64
  %ls.p = getelementptr i64, ptr %addresses, i64 %ls64
  %as = load i64, ptr %ls.p
  %thread = add i32 %first.thread, %ls
  %ps = call ptr @find(ptr %ctx, i32 %space, i32 %site, i32 %thread, i64 %as, i64 BYTES, i64 WRITES)
  %bad = icmp eq ptr %ps, null
  br i1 %bad, label %failed, label %lane.good
lane.good:
SLOW
  %less.s = sub i32 %left.s, 1
  %left.s.next = and i32 %left.s, %less.s
  %end.s = icmp eq i32 %left.s.next, 0
  br i1 %end.s, label %done, label %lane.slow
failed:
  ret i32 1
}
"""
_PARAMETERS = "ptr %ctx, i32 %space, i32 %site, i32 %first.thread, ptr %addresses, i32 %mask, ptr %data"


def _moves(bits: int, count: int, load: bool, pointer: str, lane: str, prefix: str) -> str:
    """Copy one lane's `count` elements between memory at `pointer` and ``data[element][lane]``."""
    lines: list[str] = []
    for k in range(count):
        m, d, v = f"%{prefix}m{k}", f"%{prefix}d{k}", f"%{prefix}v{k}"
        lines.append(f"  {m} = getelementptr i{bits}, ptr {pointer}, i64 {k}")
        lines.append(f"  {d}.i = add i64 {lane}, {32 * k}")
        lines.append(f"  {d} = getelementptr i{bits}, ptr %data, i64 {d}.i")
        source, target = (m, d) if load else (d, m)
        lines += [f"  {v} = load i{bits}, ptr {source}, align 1", f"  store i{bits} {v}, ptr {target}, align 1"]
    return "\n".join(lines)


def _rows(bits: int, count: int, load: bool) -> str:
    """Copy 32 lanes whose elements follow each other."""
    whole, part = f"<{32 * count} x i{bits}>", f"<32 x i{bits}>"
    lines: list[str] = []
    if load:
        lines.append(f"  %w = load {whole}, ptr %row.p, align 1")
        for k in range(count):
            places = ", ".join(f"i32 {n * count + k}" for n in range(32))
            lines.append(f"  %w{k} = shufflevector {whole} %w, {whole} poison, <32 x i32> <{places}>")
            lines.append(f"  %w{k}.p = getelementptr i{bits}, ptr %data, i64 {32 * k}")
            lines.append(f"  store {part} %w{k}, ptr %w{k}.p, align 1")
    elif count == 1:
        lines += [f"  %w = load {whole}, ptr %data, align 1", f"  store {whole} %w, ptr %row.p, align 1"]
    else:
        places = ", ".join(f"i32 {k * 32 + n}" for n in range(32) for k in range(count))
        lines.append(f"  %w = load {whole}, ptr %data, align 1")
        lines.append(f"  %t = shufflevector {whole} %w, {whole} poison, <{32 * count} x i32> <{places}>")
        lines.append(f"  store {whole} %t, ptr %row.p, align 1")
    return "\n".join(lines) + "\n  ret i32 0"


def access(bits: int, count: int, load: bool) -> tuple[str, str]:
    """(name, definition) of the function that loads or stores `count` elements of `bits` bits per lane."""
    bytes_, writes = bits * count // 8, int(not load)
    name = f"{'load' if load else 'store'}.{bits}.{count}"
    words = {
        "ROWS": _rows(bits, count, load),
        "MOVE": _moves(bits, count, load, "%p", "%l64", "f"),
        "SLOW": _moves(bits, count, load, "%ps", "%ls64", "s"),
        "STEPS": ", ".join(f"i64 {n * bytes_}" for n in range(32)),
        "BYTES": str(bytes_),
        "LOW": str(bytes_ - 1),
        "WRITES": str(writes),
        "BITS": _BITS,
    }
    body = re.sub(r"\b(" + "|".join(words) + r")\b", lambda found: words[found[1]], _ALL_LANES + "ROWS" + _LOOP)
    return name, f"define i32 @{name}({_PARAMETERS}) {{\n{body}"


def single(bits: int, count: int) -> tuple[str, str]:
    """(name, definition) of the function that loads one lane's elements for the whole warp, to ``data[element]``."""
    bytes_ = bits * count // 8
    copies: list[str] = []
    for k in range(count):
        copies.append(f"  %m{k} = getelementptr i{bits}, ptr %p, i64 {k}")
        copies.append(f"  %d{k} = getelementptr i{bits}, ptr %data, i64 {k}")
        copies += [f"  %v{k} = load i{bits}, ptr %m{k}, align 1", f"  store i{bits} %v{k}, ptr %d{k}, align 1"]
    text = "\n".join(copies)
    name = f"single.{bits}.{count}"
    parameters = "ptr %ctx, i32 %space, i32 %site, i32 %thread, i64 %address, ptr %data"
    definition = f"""define i32 @{name}({parameters}) {{
  %p = call ptr @find(ptr %ctx, i32 %space, i32 %site, i32 %thread, i64 %address, i64 {bytes_}, i64 0)
  %bad = icmp eq ptr %p, null
  br i1 %bad, label %failed, label %good
good:
{text}
  ret i32 0
failed:
  ret i32 1
}}
"""
    return name, definition


_ATOMICS = {
    "add": "add",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "exch": "xchg",
    "inc": "uinc_wrap",
    "dec": "udec_wrap",
}


def _sum_of_halves(kind: str, type_: str) -> tuple[str, str]:
    """Code that adds 16-bit floats, and its declarations. Kernels with sums of floats run on one thread."""
    b = Builder("cpu")
    total = add_halves(b, resolve(f"add.{kind}"), Register("%old", type_), Register("%x", type_))
    code = [f"  %old = load {type_}, ptr %ps", *b.lines, f"  store {total}, ptr %ps"]
    return "\n".join(code), "\n".join([*b.declarations, ""])


def atomic(op: str, kind: str, bits: int) -> tuple[str, str]:
    """(name, definition) of an atomic on each active lane in turn; old values go to ``data[lane]``."""
    name, type_, last, declared = f"atomic.{op}.{kind}.{bits}", f"i{bits}", "good", ""
    if op == "cas":
        change = f"""  %pair = cmpxchg ptr %ps, {type_} %x, {type_} %y seq_cst seq_cst
  %old = extractvalue {{ {type_}, i1 }} %pair, 0"""
    elif kind == "float":
        real = {32: "float", 64: "double"}[bits]
        change = f"""  %xf = bitcast {type_} %x to {real}
  %oldf = atomicrmw fadd ptr %ps, {real} %xf seq_cst
  %old = bitcast {real} %oldf to {type_}"""
        if bits == 32:
            # A NaN is left in memory as the canonical one.
            change += """
  %sum = fadd float %oldf, %xf
  %nan = fcmp uno float %sum, %sum
  br i1 %nan, label %mend, label %mended
mend:
  store i32 2147483647, ptr %ps
  br label %mended
mended:"""
            last = "mended"
    elif kind in HALVES:
        change, declared = _sum_of_halves(kind, type_)
    else:
        word = _ATOMICS.get(op) or ("" if kind == "signed" else "u") + op
        change = f"  %old = atomicrmw {word} ptr %ps, {type_} %x seq_cst"
    definition = f"""{declared}define i32 @{name}({_PARAMETERS}, ptr %xs, ptr %ys) {{
entry:
  %nobody = icmp eq i32 %mask, 0
  br i1 %nobody, label %done, label %lane
done:
  ret i32 0
lane:
  %left = phi i32 [ %mask, %entry ], [ %left.next, %{last} ]
  %l = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %l64 = zext i32 %l to i64
  %l.p = getelementptr i64, ptr %addresses, i64 %l64
  %a = load i64, ptr %l.p
  %thread = add i32 %first.thread, %l
  %ps = call ptr @find(ptr %ctx, i32 %space, i32 %site, i32 %thread, i64 %a, i64 {bits // 8}, i64 1)
  %bad = icmp eq ptr %ps, null
  br i1 %bad, label %failed, label %good
good:
  %x.p = getelementptr {type_}, ptr %xs, i64 %l64
  %x = load {type_}, ptr %x.p
  %y.p = getelementptr {type_}, ptr %ys, i64 %l64
  %y = load {type_}, ptr %y.p
{change}
  %o.p = getelementptr {type_}, ptr %data, i64 %l64
  store {type_} %old, ptr %o.p
  %less = sub i32 %left, 1
  %left.next = and i32 %left, %less
  %end = icmp eq i32 %left.next, 0
  br i1 %end, label %done, label %lane
failed:
  ret i32 1
}}
"""
    return name, definition


_PARTIAL = """entry:
  %nobody = icmp eq i32 %mask, 0
  br i1 %nobody, label %done, label %lane
done:
  ret i32 0
lane:
  %left = phi i32 [ %mask, %entry ], [ %left.next, %next ]
  %l = call i32 @llvm.cttz.i32(i32 %left, i1 true)
  %l64 = zext i32 %l to i64
  %l.p = getelementptr i64, ptr %addresses, i64 %l64
  %a = load i64, ptr %l.p
  %thread = add i32 %first.thread, %l
  %have.p = getelementptr i32, ptr %xs, i64 %l64
  %have = load i32, ptr %have.p
  %have64 = zext i32 %have to i64
  %full = icmp uge i64 %have64, SIZE
  br i1 %full, label %whole, label %bytes
whole:
  %all = call ptr @find(ptr %ctx, i32 %space, i32 %site, i32 %thread, i64 %a, i64 SIZE, i64 0)
  %all.bad = icmp eq ptr %all, null
  br i1 %all.bad, label %failed, label %bytes
bytes:
  %site.byte = add i32 %site, 1
  br label %byte
byte:
  %n = phi i64 [ 0, %bytes ], [ %n.next, %kept ]
  %word = lshr i64 %n, 2
  %rest = and i64 %n, 3
  %row = shl i64 %word, 5
  %cell = add i64 %row, %l64
  %cell.4 = shl i64 %cell, 2
  %to = add i64 %cell.4, %rest
  %to.p = getelementptr i8, ptr %data, i64 %to
  %wanted = icmp ult i64 %n, %have64
  br i1 %wanted, label %read, label %zero
read:
  %at = add i64 %a, %n
  %p = call ptr @find(ptr %ctx, i32 %space, i32 %site.byte, i32 %thread, i64 %at, i64 1, i64 0)
  %bad = icmp eq ptr %p, null
  br i1 %bad, label %failed, label %good
good:
  %v = load i8, ptr %p
  br label %kept
zero:
  br label %kept
kept:
  %value = phi i8 [ %v, %good ], [ 0, %zero ]
  store i8 %value, ptr %to.p
  %n.next = add i64 %n, 1
  %n.end = icmp eq i64 %n.next, SIZE
  br i1 %n.end, label %next, label %byte
next:
  %less = sub i32 %left, 1
  %left.next = and i32 %left, %less
  %end = icmp eq i32 %left.next, 0
  br i1 %end, label %done, label %lane
failed:
  ret i32 1
}
"""


def partial(size: int) -> tuple[str, str]:
    """(name, definition) of the function that loads the first ``xs[lane]`` of `size` bytes, and zeros after them."""
    name = f"partial.{size}"
    return name, f"define i32 @{name}({_PARAMETERS}, ptr %xs) {{\n{_PARTIAL.replace('SIZE', str(size))}"
