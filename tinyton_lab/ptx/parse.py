"""From PTX text to its syntax tree: tokens and recursive descent. Knows the grammar, not the instructions."""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from functools import lru_cache
from typing import NoReturn

from tinyton_lab.base.diagnostics import error
from tinyton_lab.base.source import Source
from tinyton_lab.ptx.syntax import (
    Address,
    Function,
    Group,
    Immediate,
    Instruction,
    Label,
    Location,
    Module,
    Name,
    Negated,
    Operand,
    Pair,
    Raw,
    Scope,
    Statement,
    Table,
    Variable,
    Vector,
    text_span,
)
from tinyton_lab.ptx.types import TYPES

_TOKEN = re.compile(
    r"(?:[ \t\r\n\f]+|//[^\n]*|/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/|\Z))*"
    r"""(\.[\w$]+(?:::\w+)*|%?[A-Za-z_$][\w$.]*(?:::[\w.]+)*|[0-9][\w.]*(?:(?<=[eE])[+-][0-9]+)?"""
    # A comment or string that does not end is one token as well: what follows must not be searched again and again.
    r"""|"(?:[^"\\\n]|\\.)*+"?|$|.)""",
    re.ASCII,
)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_INTEGER = re.compile(r"0[xX]([0-9a-fA-F]{1,32})U?|0[bB]([01]{1,128})U?|(0[0-7]{0,43})U?|([1-9][0-9]{0,39})U?")
_FLOAT = re.compile(
    r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})|([0-9]{1,400}\.[0-9]{0,400}(?:[eE][+-]?[0-9]{1,4})?|[0-9]{1,400}[eE][+-]?[0-9]{1,4})"
)
_SPACES = {".reg", ".sreg", ".const", ".global", ".local", ".param", ".shared"}
_OPAQUE_TYPES = {"texref", "samplerref", "surfref"}
_LINKAGE = {".extern", ".visible", ".weak", ".common"}
_MOST_DEPTH, _MOST_REGISTERS, _MOST_BYTES, _MOST_TEXT = 100, 1 << 20, 1 << 32, 1 << 24
_OPERATORS = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "<<": 0, ">>": 0}


@lru_cache(maxsize=65536)
def number(text: str) -> Immediate | None:
    """Read one literal; None if it is none.

    >>> number("0x10"), number("0f3F800000").value
    (Immediate(value=16, text='0x10'), 1.0)
    """
    found = _INTEGER.fullmatch(text)
    if found:
        base = (16, 2, 8, 10)[found.lastindex - 1] if found.lastindex else 10
        return Immediate(int(found[found.lastindex or 0], base), text)
    found = _FLOAT.fullmatch(text)
    if not found:
        return None
    if found[1]:
        return Immediate(float(struct.unpack(">f", bytes.fromhex(found[1]))[0]), text)
    if found[2]:
        return Immediate(float(struct.unpack(">d", bytes.fromhex(found[2]))[0]), text)
    return Immediate(float(text), text)


def parse(text: str, label: str = "ptx") -> Module:
    """Parse one PTX module; raises a located TT6001 for text that is not PTX.

    >>> parse(".version 8.0 .target sm_80 .address_size 64").targets
    ('sm_80',)
    """
    return _Parser(Source(label, text)).module()


class _Parser:
    """Mutable: a position in the list of tokens."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens: list[str] = []
        self.starts: list[int] = []
        if len(source.text) > _MOST_TEXT:
            wanted, found = f"a text of at most {_MOST_TEXT} characters", f"{len(source.text)} characters"
            raise error("TT6001", text_span(source, 0, 1), wanted=wanted, found=found)
        for match in _TOKEN.finditer(source.text):
            self.tokens.append(match[1])
            self.starts.append(match.start(1))
        if not self.tokens or self.tokens[-1]:
            self.tokens.append("")
            self.starts.append(len(source.text))
        self.newlines = [match.start() for match in re.finditer("\n", source.text)]
        self.at = 0
        self.depth = 0

    # Positions and faults.
    def line(self, at: int) -> int:
        return bisect_right(self.newlines, self.starts[at]) + 1

    def fail(self, wanted: str) -> NoReturn:
        token, start = self.tokens[self.at], self.starts[self.at]
        shown = repr(token if len(token) < 60 else token[:57] + "...") if token else "the end of the text"
        raise error("TT6001", text_span(self.source, start, start + max(len(token), 1)), wanted=wanted, found=shown)

    def take(self, token: str) -> None:
        if self.tokens[self.at] != token:
            self.fail(repr(token))
        self.at += 1

    def accept(self, token: str) -> bool:
        if self.tokens[self.at] == token:
            self.at += 1
            return True
        return False

    def word(self, wanted: str) -> str:
        token = self.tokens[self.at]
        if not token or not (token[0].isalpha() or token[0] in "_$%") or token == "%":
            self.fail(wanted)
        self.at += 1
        return token

    # Module level.
    def module(self) -> Module:
        version, targets, address_size, items = "", (), 64, []
        while token := self.tokens[self.at]:
            if token == ".version":
                self.at += 1
                version = self.tokens[self.at]
                if not re.fullmatch(r"[0-9]{1,3}\.[0-9]{1,3}", version):
                    self.fail("a version such as 8.0")
                self.at += 1
            elif token == ".target":
                self.at += 1
                targets = tuple(self.names())
            elif token == ".address_size":
                self.at += 1
                address_size = self.integer()
            else:
                items += self.item(token)
        functions = {i.name: i for i in items if isinstance(i, Function) and i.body is None}
        functions |= {i.name: i for i in items if isinstance(i, Function) and i.body is not None}
        return Module(self.source, version, targets, address_size, tuple(items), functions)

    def item(self, token: str) -> list[Variable | Function | Raw]:
        linkage = ""
        while self.tokens[self.at] in _LINKAGE:
            linkage = self.tokens[self.at][1:]
            self.at += 1
        token = self.tokens[self.at]
        if token in (".entry", ".func"):
            return [self.function(linkage)]
        if token in _SPACES:
            return list(self.variables(linkage))
        if token in (".file", ".section", ".pragma", ".alias"):
            return [self.raw(token)]
        self.fail("a directive such as .entry, .func or .global")

    def names(self) -> list[str]:
        found = [self.word("a name")]
        while self.accept(","):
            found.append(self.word("a name"))
        return found

    def raw(self, token: str) -> Raw:
        first, line = self.at, self.line(self.at)
        self.at += 1
        if token in (".pragma", ".alias"):
            while self.tokens[self.at] not in (";", ""):
                self.at += 1
            self.take(";")
        elif token == ".section":
            self.at += 1
            self.take("{")
            while self.tokens[self.at] not in ("}", ""):
                self.at += 1
            self.take("}")
        else:
            self.integer()
            self.string()
            while self.accept(","):
                self.integer()
        last = self.at - 1
        text = self.source.text[self.starts[first] : self.starts[last] + len(self.tokens[last])]
        return Raw(text, line)

    # Declarations.
    def variables(self, linkage: str = "") -> list[Variable]:
        first = self.variable(linkage)
        found = [first]
        while self.accept(","):
            found.append(self.declarator(first))
        self.take(";")
        return found

    def variable(self, linkage: str = "") -> Variable:
        line, space = self.line(self.at), self.tokens[self.at][1:]
        self.at += 1
        align, vector, type_, qualifiers = 0, 0, "", []
        while self.tokens[self.at].startswith("."):
            token = self.tokens[self.at]
            self.at += 1
            if token == ".align":
                value = self.integer()
                if value < 1 or value & (value - 1) or value > 1 << 20:
                    self.at -= 1
                    self.fail("an alignment that is a power of two")
                if type_:
                    qualifiers.append(f".align {value}")
                align = align if type_ else value
            elif token in (".v2", ".v4", ".v8"):
                vector = int(token[2:])
            elif token == ".attribute":
                while not self.accept(")") and self.tokens[self.at]:
                    self.at += 1
            elif not type_:
                type_ = token[1:]
            else:
                qualifiers.append(token)
        if type_ not in TYPES and type_ not in _OPAQUE_TYPES:
            self.fail("a type such as .b32")
        return self.declarator(
            Variable(space, type_, "", line, align, vector=vector, linkage=linkage, qualifiers=" ".join(qualifiers))
        )

    def declarator(self, like: Variable) -> Variable:
        name, count, shape, initial = self.word("a name"), 0, None, None
        if self.accept("<"):
            count = self.integer()
            if not 0 <= count <= _MOST_REGISTERS:
                self.at -= 1
                self.fail(f"at most {_MOST_REGISTERS} registers")
            self.take(">")
        while self.accept("["):
            size = 0 if self.tokens[self.at] == "]" else self.expression()
            if not 0 <= size < _MOST_BYTES:
                self.at -= 1
                self.fail("a smaller array")
            shape = (*(shape or ()), size)
            self.take("]")
        if self.accept("="):
            found = self.initial(0)
            initial = found if isinstance(found, tuple) and not hasattr(found, "_fields") else (found,)
        return Variable(
            like.space,
            like.type,
            name,
            like.line,
            like.align,
            shape,
            count,
            like.vector,
            initial,
            like.linkage,
            like.qualifiers,
        )

    def initial(self, depth: int) -> object:
        if depth > 16:
            self.fail("a flatter initialiser")
        if self.accept("{"):
            items = []
            while not self.accept("}"):
                items.append(self.initial(depth + 1))
                if self.tokens[self.at] != "}":
                    self.take(",")
            return tuple(items)
        token = self.tokens[self.at]
        if token.startswith('"'):
            return self.string()
        if token == "generic" and self.tokens[self.at + 1] == "(":
            self.at += 2
            name = self.word("a symbol")
            self.take(")")
            return Name(f"generic({name})", self.offset())
        if token and (token[0].isalpha() or token[0] in "_$%"):
            return self.operand()
        return self.literal()

    def function(self, linkage: str) -> Function:
        line, kind = self.line(self.at), self.tokens[self.at][1:]
        self.at += 1
        results = self.parameters() if kind == "func" and self.tokens[self.at] == "(" else ()
        name = self.word("a function name")
        parameters = self.parameters() if self.tokens[self.at] == "(" else ()
        directives = []
        while self.tokens[self.at].startswith("."):
            directives.append(self.performance())
        body = None
        if not self.accept(";"):
            self.take("{")
            body = self.body()
        return Function(kind, name, linkage, results, parameters, tuple(directives), body, line)

    def performance(self) -> tuple[str, tuple[int, ...]]:
        name, values = self.tokens[self.at][1:], []
        self.at += 1
        while self.tokens[self.at][:1].isdigit():
            values.append(self.integer())
            if not self.accept(","):
                break
        return name, tuple(values)

    def parameters(self) -> tuple[Variable, ...]:
        self.take("(")
        found: list[Variable] = []
        while not self.accept(")"):
            if self.tokens[self.at] not in (".param", ".reg"):
                self.fail("a parameter or ')'")
            found.append(self.variable())
            if self.tokens[self.at] != ")":
                self.take(",")
        return tuple(found)

    # Statements.
    def body(self) -> tuple[Statement, ...]:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            self.fail(f"at most {_MOST_DEPTH} nested scopes")
        statements: list[Statement] = []
        tokens = self.tokens
        while (token := tokens[self.at]) != "}":
            first = token[:1]
            if first == ".":
                self.directive(token, statements)
            elif first == "{":
                self.at += 1
                statements.append(Scope(self.body()))
            elif tokens[self.at + 1 : self.at + 2] == [":"] and first not in "@;":
                self.label(statements)
            elif first == ";":
                self.at += 1
            elif not token:
                self.fail("'}'")
            else:
                statements.append(self.instruction())
        self.at += 1
        self.depth -= 1
        return tuple(statements)

    def label(self, statements: list[Statement]) -> None:
        line, name = self.line(self.at), self.word("a label")
        self.at += 1
        directive = self.tokens[self.at]
        if directive in (".branchtargets", ".calltargets", ".callprototype"):
            first = self.at + 1
            self.at = first
            if directive != ".callprototype":
                found = tuple(self.names())
                self.take(";")
                statements.append(Table(name, directive[1:], found, "", line))
                return
            while self.tokens[self.at] not in (";", ""):
                self.at += 1
            text = self.source.text[self.starts[first] : self.starts[self.at]]
            self.take(";")
            statements.append(Table(name, directive[1:], (), " ".join(text.split()), line))
            return
        statements.append(Label(name, line))

    def directive(self, token: str, statements: list[Statement]) -> None:
        if token == ".loc":
            statements.append(self.location())
        elif token in _SPACES:
            statements += self.variables()
        elif token in (".pragma", ".file", ".section"):
            statements.append(self.raw(token))
        else:
            self.fail("an instruction, a label or a declaration")

    def location(self) -> Location:
        self.at += 1
        file, line, column = self.integer(), self.integer(), self.integer()
        rest = ""
        if self.tokens[self.at] == ",":
            first = self.at + 1
            while self.accept(","):
                word = self.word("function_name or inlined_at")
                if word == "inlined_at":
                    for _ in range(3):
                        self.integer()
                elif word == "function_name":
                    self.word("a label")
                    if self.accept("+"):
                        self.integer()
                else:
                    self.at -= 1
                    self.fail("function_name or inlined_at")
            rest = " ".join(self.tokens[first : self.at]).replace(" ,", ",")
        return Location(file, line, column, rest)

    def instruction(self) -> Instruction:
        first, guard, negated = self.at, "", False
        tokens = self.tokens
        if tokens[first] == "@":
            self.at += 1
            negated = self.accept("!")
            guard = self.word("a predicate")
        opcode = self.word("an instruction")
        operands: list[Operand] = []
        if tokens[self.at] != ";":
            while True:
                token = tokens[self.at]
                if len(token) > 1 and token[0] in "%_$" and tokens[self.at + 1] in (",", ";"):
                    operands.append(Name(token))
                    self.at += 1
                else:
                    operands.append(self.operand())
                if tokens[self.at] != ",":
                    break
                self.at += 1
            if tokens[self.at] != ";":
                self.fail("',' or ';'")
        end = self.starts[self.at] + 1
        self.at += 1
        return Instruction(opcode, tuple(operands), guard, negated, self.line(first), self.starts[first], end)

    # Operands.
    def operand(self) -> Operand:
        token = self.tokens[self.at]
        first = token[:1]
        if first == "[":
            return self.address()
        if first == "{":
            return Vector(self.sequence("}"))
        if first == "(":
            return Group(self.sequence(")"))
        if first == "!":
            self.at += 1
            return Negated(self.word("a predicate"))
        if first.isdigit() or first in "-~+" and first:
            return self.literal()
        name = self.word("an operand")
        if self.accept("|"):
            return Pair(name, self.word("a second destination"))
        return Name(name, self.offset())

    def sequence(self, closing: str) -> tuple[Operand, ...]:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            self.fail("a flatter operand")
        self.at += 1
        items: list[Operand] = []
        while not self.accept(closing):
            items.append(self.operand())
            if self.tokens[self.at] != closing:
                self.take(",")
        self.depth -= 1
        return tuple(items)

    def address(self) -> Address:
        self.at += 1
        token = self.tokens[self.at]
        if token[:1].isdigit() or token[:1] in ("-", "+"):
            base: Name | Immediate = self.whole()
            offset = 0
        else:
            base, offset = Name(self.word("a register or symbol")), self.offset()
        rest: list[Operand] = []
        while self.accept(","):
            rest.append(self.operand())
        self.take("]")
        return Address(base, offset, tuple(rest))

    def offset(self) -> int:
        total = 0
        while self.tokens[self.at] in ("+", "-"):
            sign = -1 if self.tokens[self.at] == "-" else 1
            self.at += 1
            while self.accept("-"):
                sign = -sign
            total += sign * self.integer()
        return total

    def literal(self) -> Immediate:
        sign, invert = "", False
        while self.tokens[self.at] in ("-", "~", "+"):
            invert |= self.tokens[self.at] == "~"
            sign = ("" if sign else "-") if self.tokens[self.at] == "-" else sign
            self.at += 1
        found = number(self.tokens[self.at])
        if found is None:
            self.fail("a number")
        self.at += 1
        if invert and isinstance(found.value, int):
            return Immediate(~found.value, f"~{found.text}")
        return Immediate(-found.value, f"-{found.text}") if sign else found

    def string(self) -> str:
        token = self.tokens[self.at]
        if not _STRING.fullmatch(token):
            self.fail("a string and its closing quote")
        self.at += 1
        return token

    def whole(self) -> Immediate:
        """A literal without a fraction, with its sign."""
        found = self.literal()
        if not isinstance(found.value, int):
            self.at -= 1
            self.fail("an integer")
        return found

    def integer(self) -> int:
        found = number(self.tokens[self.at])
        if found is None or not isinstance(found.value, int):
            self.fail("an integer")
        self.at += 1
        return found.value

    def expression(self, least: int = 0) -> int:
        """A constant integer expression (PTX ISA 4.5.5): ``+ - * / %`` with parentheses."""
        if self.accept("("):
            self.depth += 1
            if self.depth > _MOST_DEPTH:
                self.fail("a flatter expression")
            value = self.expression()
            self.depth -= 1
            self.take(")")
        else:
            value = int(self.whole().value)
        while (symbol := self.tokens[self.at]) in _OPERATORS and _OPERATORS[symbol] >= max(least, 1):
            self.at += 1
            right = self.expression(_OPERATORS[symbol] + 1)
            value = _apply(symbol, value, right)
        return value


def _apply(symbol: str, left: int, right: int) -> int:
    if symbol == "+":
        return left + right
    if symbol == "-":
        return left - right
    if symbol == "*":
        return left * right if abs(left) < 1 << 64 and abs(right) < 1 << 64 else _MOST_BYTES
    if right == 0:
        return 0
    return left // right if symbol == "/" else left % right
