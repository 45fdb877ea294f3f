"""A hand-made compilation of a vector add with every stage, its provenance, and a recording of its PTX."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from tinyton_lab.record.events import Access, Finding, Step
from tinyton_lab.record.provenance import Provenance
from tinyton_lab.record.recording import Recording
from tinyton_lab.record.stage import Compilation, Diagnostic, Miss, SourceRange, Stage

LABEL, FIRST_LINE = "cell:vadd", 2
PYTHON = '''\
@tt.jit
def vadd(x, y, o, n, BLOCK: tl.constexpr):
    """Add two vectors."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    tl.store(o + offs, a + b, mask=mask)
'''
RANGES = (
    (1, 4, "tl.program_id(0)"),
    (2, 4, "BLOCK"),
    (3, 4, "tl.program_id(0) * BLOCK"),
    (4, 4, "tl.arange(0, BLOCK)"),
    (6, 4, "tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)"),
    (8, 5, "offs < n"),
    (10, 6, "x + offs"),
    (11, 6, "tl.load(x + offs, mask=mask)"),
    (13, 7, "y + offs"),
    (14, 7, "tl.load(y + offs, mask=mask)"),
    (16, 8, "o + offs"),
    (17, 8, "a + b"),
    (18, 8, "tl.store(o + offs, a + b, mask=mask)"),
)
AST = """\
FunctionDef vadd(x, y, o, n, BLOCK)
  Assign offs
    BinOp + : tile<128xi32>  ;6
      BinOp * : i32  ;3
        Call program_id(0) : i32  ;1
        Name BLOCK = 128  ;2
      Call arange(0, BLOCK) : tile<128xi32>  ;4
  Assign mask
    Compare < : tile<128xi1>  ;8
  Assign a
    Call load : tile<128xf32>  ;11
      BinOp + : tile<128xptr<f32>>  ;10
  Assign b
    Call load : tile<128xf32>  ;14
      BinOp + : tile<128xptr<f32>>  ;13
  Expr
    Call store  ;18
      BinOp + : tile<128xptr<f32>>  ;16
      BinOp + : tile<128xf32>  ;17
"""
TILE = """\
kernel @vadd(%x: ptr<f32>, %y: ptr<f32>, %o: ptr<f32>, %n: i32) {num_warps = 4} {
  %1 = program_id {axis = 0} : i32  ;1
  %2 = constant {value = 128, type = type<i32>} : i32  ;2
  %3 = mul %1, %2 : i32  ;3
  %4 = range {start = 0, end = 128} : tile<128xi32>  ;4
  %5 = splat %3 {shape = [128]} : tile<128xi32>  ;6
  %6 = add %5, %4 : tile<128xi32>  ;6
  %7 = splat %n {shape = [128]} : tile<128xi32>  ;8
  %8 = lt %6, %7 : tile<128xi1>  ;8
  %9 = splat %x {shape = [128]} : tile<128xptr<f32>>  ;10
  %10 = addptr %9, %6 : tile<128xptr<f32>>  ;10
  %11 = load %10, %8 : tile<128xf32>  ;11
  %12 = splat %y {shape = [128]} : tile<128xptr<f32>>  ;13
  %13 = addptr %12, %6 : tile<128xptr<f32>>  ;13
  %14 = load %13, %8 : tile<128xf32>  ;14
  %15 = splat %o {shape = [128]} : tile<128xptr<f32>>  ;16
  %16 = addptr %15, %6 : tile<128xptr<f32>>  ;16
  %17 = add %11, %14 : tile<128xf32>  ;17
  store %16, %17, %8  ;18
}
"""
FOLD = TILE.replace(
    "  %2 = constant {value = 128, type = type<i32>} : i32  ;2\n",
    "  %2 = constant {value = 7, type = type<i32>} : i32  ;20\n",
).replace("%3 = mul %1, %2 : i32  ;3", "%3 = shl %1, %2 : i32  ;21")
SPLIT = re.sub(r"  %(9|12|15) = splat .*\n", "", FOLD)
SPLIT = re.sub(r"  %(10|13|16) = addptr .*\n", "", SPLIT)
SPLIT = SPLIT.replace("load %10, %8 : tile<128xf32>  ;11", "load %x, distance=%6, mask=%8 : tile<128xf32>  ;22 11")
SPLIT = SPLIT.replace("load %13, %8 : tile<128xf32>  ;14", "load %y, distance=%6, mask=%8 : tile<128xf32>  ;23 14")
SPLIT = SPLIT.replace("store %16, %17, %8  ;18", "store %o, %17, distance=%6, mask=%8  ;24 18")
LAYOUT = "#L1 = linear reg=[] lane=[1,2,4,8,16] warp=[32,64]\n" + re.sub(r"tile<(128x[^>]+)>", r"tile<\1, #L1>", SPLIT)
LLVM = """\
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @vadd(ptr addrspace(1) %x, ptr addrspace(1) %y, ptr addrspace(1) %o, i32 %n) {
entry:
  %pid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()  ;1
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()  ;4
  %base = shl i32 %pid, 7  ;21
  %offs = or disjoint i32 %base, %tid  ;6
  %in = icmp slt i32 %offs, %n  ;8
  %wide = sext i32 %offs to i64  ;22 23 24
  %px = getelementptr float, ptr addrspace(1) %x, i64 %wide  ;22
  %py = getelementptr float, ptr addrspace(1) %y, i64 %wide  ;23
  %po = getelementptr float, ptr addrspace(1) %o, i64 %wide  ;24
  br i1 %in, label %then, label %done  ;8
then:
  %a = load float, ptr addrspace(1) %px, align 4  ;11
  %b = load float, ptr addrspace(1) %py, align 4  ;14
  %sum = fadd float %a, %b  ;17
  store float %sum, ptr addrspace(1) %po, align 4  ;18
  br label %done  ;18
done:
  ret void
}
"""
PTX = """\
.version 8.0
.target sm_80
.address_size 64

.visible .entry vadd(.param .u64 x, .param .u64 y, .param .u64 o, .param .u32 n)
{
\t.reg .pred %p<2>;
\t.reg .b32 %r<6>;
\t.reg .f32 %f<4>;
\t.reg .b64 %rd<11>;

\tld.param.u64 %rd1, [x];  ;22
\tld.param.u64 %rd2, [y];  ;23
\tld.param.u64 %rd3, [o];  ;24
\tld.param.u32 %r1, [n];  ;8
\tmov.u32 %r2, %ctaid.x;  ;1
\tmov.u32 %r3, %tid.x;  ;4
\tshl.b32 %r4, %r2, 7;  ;21
\tor.b32 %r5, %r4, %r3;  ;6
\tsetp.lt.s32 %p1, %r5, %r1;  ;8
\tmul.wide.s32 %rd4, %r5, 4;  ;22 23 24
\tadd.s64 %rd5, %rd1, %rd4;  ;22
\tadd.s64 %rd6, %rd2, %rd4;  ;23
\tadd.s64 %rd7, %rd3, %rd4;  ;24
\t@!%p1 bra $done;  ;8
\tld.global.f32 %f1, [%rd5];  ;11
\tld.global.f32 %f2, [%rd6];  ;14
\tadd.rn.f32 %f3, %f1, %f2;  ;17
\tst.global.f32 [%rd7], %f3;  ;18
$done:
\tret;
}
"""
SASS = """\
/*0000*/ MOV R1, c[0x0][0x28] ;
/*0010*/ S2R R6, SR_CTAID.X ;  ;1
/*0020*/ S2R R3, SR_TID.X ;  ;4
/*0030*/ LEA R6, R6, R3, 0x7 ;  ;21 6
/*0040*/ ISETP.GE.AND P0, PT, R6, c[0x0][0x178], PT ;  ;8
/*0050*/ @P0 EXIT ;  ;8
/*0060*/ HFMA2.MMA R7, -RZ, RZ, 0, 2.384185791015625e-07 ;  ;22 23 24
/*0070*/ ULDC.64 UR4, c[0x0][0x118] ;
/*0080*/ IMAD.WIDE R2, R6, R7, c[0x0][0x160] ;  ;22
/*0090*/ IMAD.WIDE R4, R6, R7, c[0x0][0x168] ;  ;23
/*00a0*/ LDG.E R2, [R2.64] ;  ;11
/*00b0*/ LDG.E R5, [R4.64] ;  ;14
/*00c0*/ IMAD.WIDE R6, R6, R7, c[0x0][0x170] ;  ;24
/*00d0*/ FADD R9, R2, R5 ;  ;17
/*00e0*/ STG.E [R6.64], R9 ;  ;18
/*00f0*/ EXIT ;
"""
EDGES = (
    (20, 2, "derived"),
    (21, 3, "derived"),
    (21, 2, "derived"),
    (22, 10, "split"),
    (23, 13, "split"),
    (24, 16, "split"),
    (0, 5, "dropped"),
)
MISS = Miss(
    "vectorise",
    11,
    "the load stays 32 bits wide because the mask may differ between neighbours",
    ("contiguity of the pointer is 128", "alignment of the mask is 1", "n has no known divisor"),
)
FACTS = ((6, "contiguous 128, divisible by 128"), (8, "constant over 1"), (22, "contiguous 128, aligned to 16 bytes"))


def vadd(target: str = "sm_80") -> Compilation:
    """Everything that happened to a vector add of 128-element blocks."""
    stages = [
        _python(),
        _stage("ast", "tree", AST, "The kernel as Python's parser reads it, with the types the compiler found."),
        _stage("tile", "ir", TILE, "Whole blocks as values: the meaning of the program, no threads yet."),
        _stage("tile/01-fold", "ir", FOLD, "Computes what is known at compile time."),
        _stage("tile/02-cse", "ir", FOLD, "Computes equal expressions once.", changed=False),
        _stage("tile/03-pointers", "ir", SPLIT, "Writes a pointer tile as one base and a tile of offsets."),
        _stage("tile/04-axis-info", "ir", SPLIT, "Finds contiguity and divisibility.", False, FACTS, (MISS,)),
        _stage("layout", "ir", LAYOUT, "Each tile is spread over registers, lanes and warps."),
        _stage("llvm", "ir", LLVM, "One thread's program, in LLVM's language."),
        _stage("ptx", "asm", PTX, "NVIDIA's virtual assembly."),
        _stage("sass", "asm", SASS, "What the chip executes."),
    ]
    return Compilation(
        "vadd",
        target,
        (("x", "*f32"), ("y", "*f32"), ("o", "*f32"), ("n", "i32")),
        (("BLOCK", "128"),),
        (("num_warps", "4"),),
        {stage.name: stage for stage in stages},
        Provenance(list(EDGES)),
        [],
        {"registers": 12, "spills": 0, "shared_bytes": 0, "source": "cubin"},
    )


def failed() -> Compilation:
    """A compilation that stopped after the frontend."""
    whole = vadd()
    place = SourceRange(17, LABEL, 9, 23, 9, 28)
    rendered = (
        "TT2001: shapes do not broadcast: 128 and 64\n  cell:vadd:9\n        tl.store(o + offs, a + b)\n"
        + " " * 27
        + "^^^^^"
    )
    return Compilation(
        "vadd",
        "sm_80",
        whole.signature,
        whole.constants,
        (),
        dict(list(whole.stages.items())[:3]),
        whole.provenance,
        [Diagnostic("error", "TT2001", "shapes do not broadcast: 128 and 64", rendered, place)],
    )


def _python() -> Stage:
    lines = PYTHON.splitlines()
    ranges: list[SourceRange] = []
    uids: list[tuple[int, ...]] = [()] * len(lines)
    for uid, number, text in RANGES:
        column = lines[number - 1].index(text)
        line = number + FIRST_LINE - 1
        ranges.append(SourceRange(uid, LABEL, line, column, line, column + len(text)))
        uids[number - 1] += (uid,)
    return Stage(
        "python",
        "source",
        PYTHON,
        tuple(uids),
        doc="What you wrote.",
        ranges=tuple(ranges),
        label=LABEL,
        first_line=FIRST_LINE,
    )


def _stage(
    name: str,
    kind: str,
    text: str,
    doc: str,
    changed: bool = True,
    facts: tuple[tuple[int, str], ...] = (),
    misses: tuple[Miss, ...] = (),
) -> Stage:
    plain, uids = _numbered(text)
    return Stage(name, kind, plain, uids, changed, doc, facts, misses)


def _numbered(text: str) -> tuple[str, tuple[tuple[int, ...], ...]]:
    """Take the trailing ``;uid uid`` off each line."""
    parts = [re.fullmatch(r"(.*?)(?:  ;([\d ]+))?", line) for line in text.splitlines()]
    lines = [(part[1], tuple(int(uid) for uid in (part[2] or "").split())) for part in parts if part]
    return "\n".join(line for line, _ in lines) + "\n", tuple(uids for _, uids in lines)


def recording(n: int = 100) -> Recording:
    """The run of one CTA of four warps over `n` elements: the last warp takes part with some of its lanes only."""
    steps: list[Step] = []
    for warp in range(4):
        for line, uid, text, mask, writes, access, waits in _warp(warp, n):
            steps.append(Step(len(steps), (0, 0, 0), warp, line, uid, text, mask, writes, access, waits))
    counts = {"instructions": len(steps), "global_bytes_read": 8 * n, "global_bytes_written": 4 * n}
    finding = Finding("note", "TT6100", "only 4 of 32 lanes of warp 3 are active", "cta (0,0,0) warp 3", 26, 11)
    ptx, _ = _numbered(PTX)
    return Recording("vadd", ptx, (1, 1, 1), (128, 1, 1), steps, [finding], counts)


_Row = tuple[int, int, str, int, tuple[tuple[str, tuple[Any, ...]], ...], Access | None, str]


def _warp(warp: int, n: int) -> Iterator[_Row]:
    registers: dict[str, list[Any]] = {}
    inside = sum(1 << lane for lane in range(32) if warp * 32 + lane < n)
    mask = 0xFFFFFFFF
    plain, uids = _numbered(PTX)
    for number, line in enumerate(plain.splitlines(), 1):
        text = line.strip()
        if not text.endswith(";") or text.startswith("."):
            continue
        name, value = _result(text, warp, n)
        lanes = tuple(value(lane) for lane in range(32))
        access = _access(text, warp, mask)
        writes: tuple[tuple[str, tuple[Any, ...]], ...] = ((name, lanes),) if name else ()
        registers[name] = list(lanes)
        waits = "load" if text.startswith("add.rn") else ""
        yield number, (uids[number - 1] or (0,))[0], text, mask, writes, access, waits
        mask = inside if "bra" in text else 0xFFFFFFFF if text == "ret;" else mask


def _result(text: str, warp: int, n: int) -> tuple[str, Callable[[int], Any]]:
    base = {"x": 0x1000, "y": 0x2000, "o": 0x3000}
    results: dict[str, Callable[[int], Any]] = {
        "%rd1": lambda lane: base["x"],
        "%rd2": lambda lane: base["y"],
        "%rd3": lambda lane: base["o"],
        "%r1": lambda lane: n,
        "%r2": lambda lane: 0,
        "%r3": lambda lane: warp * 32 + lane,
        "%r4": lambda lane: 0,
        "%r5": lambda lane: warp * 32 + lane,
        "%p1": lambda lane: warp * 32 + lane < n,
        "%rd4": lambda lane: 4 * (warp * 32 + lane),
        "%rd5": lambda lane: base["x"] + 4 * (warp * 32 + lane),
        "%rd6": lambda lane: base["y"] + 4 * (warp * 32 + lane),
        "%rd7": lambda lane: base["o"] + 4 * (warp * 32 + lane),
        "%f1": lambda lane: (warp * 32 + lane) / 8,
        "%f2": lambda lane: 1.5 if lane else float("inf"),
        "%f3": lambda lane: (warp * 32 + lane) / 8 + (1.5 if lane else float("inf")),
    }
    found = re.match(r"[a-z][\w.]* (%\w+),", text)
    return (found[1], results[found[1]]) if found else ("", lambda lane: 0)


def _access(text: str, warp: int, mask: int) -> Access | None:
    found = re.match(r"(ld|st)\.global\.f32 .*?\[%rd(\d)", text)
    if not found:
        return None
    offsets = tuple(4 * (warp * 32 + lane) if mask >> lane & 1 else -1 for lane in range(32))
    kind = "load" if found[1] == "ld" else "store"
    return Access("global", kind, {"5": "x", "6": "y", "7": "o"}[found[2]], 4, offsets)
