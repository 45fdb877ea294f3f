"""PTX text becomes a tree, or a located fault; nothing hostile takes long."""

from __future__ import annotations

import random
import time

import pytest

from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.ptx.parse import number, parse
from tinyton_lab.ptx.syntax import (
    Address,
    Function,
    Immediate,
    Instruction,
    Label,
    Location,
    Name,
    Negated,
    Pair,
    Scope,
    Table,
    Variable,
    Vector,
)
from tinyton_lab.ptx.text import locations, print_module

HEAD = ".version 8.0\n.target sm_80, texmode_independent\n.address_size 64\n"
BODY = """
.extern .shared .align 16 .b8 dyn[];
.global .align 8 .u64 table[3] = {f, generic(other), other+8};
.global .b8 text[6] = "a\\n";
.const .align 4 .b8 bytes[4] = {1, 2, 0x10, 4};
.func (.param .b32 out) f(.param .align 4 .b8 s[16], .reg .b32 r) ;
.visible .entry k(
    .param .u64 .ptr .global .align 1 p0,  // a pointer
    .param .align 8 .b8 p1[2*(4+4)]
)
.reqntid 128, 1, 1
.minnctapersm 2
{
    .reg .pred %p<3>; .reg .b32 %r<9>, x;
    .shared .align 4 .b8 s[1024];
    .loc 1 5 3, function_name $L__info0, inlined_at 1 9 4
top:
    @!%p1 bra.uni top;
    { .reg .b16 lo, hi; mov.b32 {lo, hi}, %r1; W: bra W; }
    setp.lt.and.s32 %p1|%p2, %r1, -5, !%p2;
    ld.global.v2.b32 {%r1, _}, [p0 + 8 + -4];
    mov.f32 %r2, 0f3F800000;
    ts: .branchtargets top, top;
    proto: .callprototype (.param .b32 _) _ (.param .b64 _);
    .pragma "nounroll";
    ret;
}
"""


def parse_body(text: str) -> Function:
    return parse(HEAD + ".entry k()\n{\n" + text + "\n}").functions["k"]


def test_everything_in_its_place():
    module = parse(HEAD + BODY)
    assert module.targets == ("sm_80", "texmode_independent") and module.version == "8.0"
    kernel = module.functions["k"]
    assert kernel.directives == (("reqntid", (128, 1, 1)), ("minnctapersm", (2,)))
    assert [p.name for p in kernel.parameters] == ["p0", "p1"]
    assert kernel.parameters[0].qualifiers == ".ptr .global .align 1" and kernel.parameters[1].shape == (16,)
    kinds = [type(s) for s in kernel.body or ()]
    assert kinds.count(Variable) == 4 and Scope in kinds and Label in kinds and Table in kinds and Location in kinds
    registers = [s for s in kernel.body or () if isinstance(s, Variable)]
    assert [(v.name, v.count) for v in registers[:3]] == [("%p", 3), ("%r", 9), ("x", 0)]
    table = next(i for i in module.items if isinstance(i, Variable) and i.name == "table")
    assert table.initial == (Name("f"), Name("generic(other)"), Name("other", 8))


def test_operands():
    instructions = [s for s in parse(HEAD + BODY).functions["k"].body or () if isinstance(s, Instruction)]
    branch, compare, load, move, _ = instructions
    assert (branch.guard, branch.negated, branch.opcode) == ("%p1", True, "bra.uni")
    assert compare.operands == (Pair("%p1", "%p2"), Name("%r1"), Immediate(-5, "-5"), Negated("%p2"))
    assert load.operands == (Vector((Name("%r1"), Name("_"))), Address(Name("p0"), 4))
    assert move.operands[1] == Immediate(1.0, "0f3F800000")


def test_lines_and_spans():
    module = parse(HEAD + ".entry k()\n{\n  // note\n  add.s32 %r1,\n     %r2, 1;\n}")
    (add,) = module.functions["k"].body or ()
    assert isinstance(add, Instruction) and add.line == 7
    assert module.span(add.start, add.end).end_line == 8


def test_print_parses_to_the_same_text():
    module = parse(HEAD + BODY)
    printed = print_module(module)
    assert print_module(parse(printed)) == printed
    assert "setp.lt.and.s32 \t%p1|%p2, %r1, -5, !%p2;" in printed


def test_locations_follow_loc():
    module = parse(HEAD + ".entry k()\n{\n.loc 1 7 3\nret;\n.loc 2 9 0\nret;\n}")
    assert locations(module) == {7: (1, 7, 3), 9: (2, 9, 0)}


@pytest.mark.parametrize(
    "text, value",
    [("0", 0), ("017", 15), ("0x1F", 31), ("0b101U", 5), ("42U", 42), ("0d3FF0000000000000", 1.0), ("1.5e2", 150.0)],
)
def test_literals(text: str, value: float):
    found = number(text)
    assert found is not None and found.value == value


@pytest.mark.parametrize("text", ["0x", "0f123", "08", "1e", "x", "9" * 60])
def test_bad_literals(text: str):
    assert number(text) is None


@pytest.mark.parametrize(
    "body, line",
    [
        ("add.s32 1 2;", 6),
        ("add.s32 %r1, %r2", 7),
        (".reg .b32 %r<99999999>;", 6),
        ("@; bra x;", 6),
        ("mov.b32 x, [a;", 6),
        ("ld.b32 {a, [b];", 6),
        (".loc 1 x 2", 6),
        ("{" * 200, 6),
        ("mov.b32 a, (((1;", 6),
        (".shared .b8 s[-1];", 6),
    ],
)
def test_faults_are_located(body: str, line: int):
    with pytest.raises(TinytonError) as caught:
        parse_body(body)
    assert caught.value.code == "TT6001" and caught.value.span is not None
    assert caught.value.span.line == line


@pytest.mark.parametrize(
    "text", ["(" * 50_000, "{" * 50_000, "/*" * 50_000, '"' * 50_000, "a" * 200_000, ".reg " * 50_000]
)
def test_hostile_text_ends_soon(text: str):
    began = time.process_time()
    with pytest.raises(TinytonError):
        parse_body("mov.b32 a, " + text)
    assert time.process_time() - began < 5


def test_mutations_raise_only_faults():
    chooser = random.Random(7)
    text = HEAD + BODY
    for _ in range(400):
        at = chooser.randrange(len(text))
        piece = chooser.choice(["", "{", "}", "[", ";", ",", ".reg", "0x", "\x00", "é", '"', "<", "@", "(", "-", "%"])
        mutated = text[:at] + piece + text[at + chooser.randrange(4) :]
        try:
            parse(mutated)
        except TinytonError as fault:
            assert fault.code == "TT6001" and str(fault)
