"""Read the text form of the IR back. Tables are passed in, so that it knows no op or layout by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from tinyton_lab.base.diagnostics import TinytonError, error
from tinyton_lab.base.dtypes import DTYPES
from tinyton_lab.base.source import Source, Span
from tinyton_lab.ir.core import Block, Function, Op, Parameter, Value
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.ir.types import Pointer, Tile

_TOKEN = re.compile(
    r"""\s+|(?P<string>"(?:[^"\\]|\\.)*")|(?P<value>%[\w.]+)|(?P<layout>\#L\d+)|(?P<symbol>@[\w.<>]+)"""
    r"""|(?P<number>-?(?:nan|inf)\b|-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)|(?P<word>[A-Za-z_][\w]*)|(?P<mark>[\[\]{}()<>=,:^*-])""",
    re.VERBOSE,
)


class Parser:
    """A reader of one function's text: `ops` maps names to rows, `read_layout` a layout's spelling to a layout."""

    def __init__(self, text: str, ops: Mapping[str, OpDef], read_layout: Callable[[str], Hashable], label: str) -> None:
        self.ops, self.source = ops, Source(label, text)
        self.layouts: dict[str, Hashable] = {}
        self.offset = 0
        for line in text.splitlines(keepends=True):
            match = re.match(r"(#L\d+) = (.*)\n?", line)
            if match is None:
                break
            self.layouts[match[1]] = read_layout(match[2])
            self.offset += len(line)
        self.text, self.position = text, self.offset
        self.values: dict[str, Value] = {}
        self.token: tuple[str, str] = ("", "")
        self.start = self.position
        self.advance()

    def advance(self) -> tuple[str, str]:
        """Step to the next token; give the one just passed."""
        passed = self.token
        while self.position < len(self.text):
            self.start = self.position
            match = _TOKEN.match(self.text, self.position)
            if match is None:
                raise self.fault(f"unexpected character {self.text[self.position]!r}")
            self.position = match.end()
            if match.lastgroup is not None:
                self.token = (match.lastgroup, match[0])
                return passed
        self.start, self.token = self.position, ("end", "")
        return passed

    def fault(self, what: str) -> TinytonError:
        before = self.text[: self.start]
        line = before.count("\n") + 1
        column = self.start - (before.rfind("\n") + 1)
        return error("TT9001", Span(self.source, line, column, line, column + max(len(self.token[1]), 1)), what=what)

    def take(self, text: str) -> None:
        if self.token[1] != text:
            raise self.fault(f"expected {text!r}, found {self.token[1]!r}")
        self.advance()

    def took(self, text: str) -> bool:
        if self.token[1] == text and self.token[0] != "string":
            self.advance()
            return True
        return False

    def word(self, kind: str) -> str:
        if self.token[0] != kind:
            raise self.fault(f"expected a {kind}, found {self.token[1]!r}")
        return self.advance()[1]

    def function(self) -> Function:
        self.take("kernel")
        name = self.word("symbol")[1:]
        self.take("(")
        parameters: list[Parameter] = []
        while not self.took(")"):
            parameter = self.word("value")[1:]
            self.take(":")
            type = self.type()
            known = self.attributes()
            parameters.append(Parameter(parameter, type, known.get("divisibility", 1)))
            self.took(",")
        function = Function(name, parameters, self.attributes())
        self.values = {value.name: value for value in function.body.args}
        self.take("{")
        self.block(function, function.body)
        self.take("}")
        return function

    def block(self, function: Function, block: Block) -> None:
        if self.took("^"):
            self.take("(")
            while not self.took(")"):
                name = self.word("value")[1:]
                self.take(":")
                self.values[name] = block.add_argument(self.type(), name)
                self.took(",")
            self.take(":")
        while self.token[1] != "}":
            block.ops.append(self.op(function))

    def op(self, function: Function) -> Op:
        names: list[str] = []
        while self.token[0] == "value":
            names.append(self.word("value")[1:])
            self.took(",")
        if names:
            self.take("=")
        row = self.ops.get(self.token[1])
        if row is None:
            raise self.fault(f"there is no op {self.token[1]!r}")
        self.advance()
        operands = self.operands(row)
        attrs = self.attributes(row)
        types: list[Tile] = []
        if names:
            self.take(":")
            types = [self.type()]
            while self.took(","):
                types.append(self.type())
        blocks = self.blocks(function, row)
        uid = int(names[0].split(".")[0]) if names and names[0].split(".")[0].isdigit() else function.uids
        function.uids = max(function.uids, uid + 1)
        op = Op(row, operands, tuple(types), attrs, blocks, uid, None)
        for name, result in zip(names, op.results, strict=True):
            result.name = name
            self.values[name] = result
        return op

    def operands(self, row: OpDef) -> tuple[Value | None, ...]:
        fixed = [role for role in row.roles if not role.variadic]
        found: dict[str, Value] = {}
        rest: list[Value] = []
        required = [role.name for role in fixed if not role.optional]
        while row.roles and self.token[0] in ("value", "word"):
            if self.token[0] == "word":
                role = self.advance()[1]
                self.take("=")
                found[role] = self.use()
            elif required:
                found[required.pop(0)] = self.use()
            else:
                rest.append(self.use())
            if not self.took(","):
                break
        return (*(found.get(role.name) for role in fixed), *rest)

    def use(self) -> Value:
        name = self.token[1][1:]
        if name not in self.values:
            raise self.fault(f"%{name} is not defined")
        self.advance()
        return self.values[name]

    def blocks(self, function: Function, row: OpDef) -> tuple[Block, ...]:
        blocks: list[Block] = []
        for index in range(row.regions):
            if index == 0:
                self.take("{")
            blocks.append(Block())
            self.block(function, blocks[-1])
            self.take("}")
            if index + 1 < row.regions:
                self.take("{")
        return tuple(blocks)

    def attributes(self, row: OpDef | None = None) -> dict[str, Any]:
        """Attributes in braces; a brace that opens a block is left alone."""
        if self.token[1] != "{" or not re.match(r"\s*\w+ =", self.text[self.position :]):
            return {}
        self.take("{")
        attrs: dict[str, Any] = {}
        while not self.took("}"):
            name = self.word("word")
            self.take("=")
            attrs[name] = self.attribute()
            self.took(",")
        return attrs

    def attribute(self) -> Any:
        kind, text = self.token
        if self.took("["):
            items: list[Any] = []
            while not self.took("]"):
                items.append(self.attribute())
                self.took(",")
            return tuple(items)
        if kind == "word" and text == "type":
            self.advance()
            self.take("<")
            type = self.type()
            self.take(">")
            return type
        self.advance()
        if kind == "string":
            return re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), text[1:-1])
        if kind == "number" or text in ("nan", "inf"):
            return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
        return {"true": True, "false": False}.get(text, DTYPES.get(text, text))

    def type(self) -> Tile:
        """``f32``, ``ptr<f32>``, ``tile<128x64xf32>``, ``tile<128xptr<f32>, #L1>``."""
        if self.token[1] != "tile":
            return self.element(self.word("word"), ())
        match = re.compile(r"\s*<((?:\d+x)*)([a-z]\w*)").match(self.text, self.position)
        if match is None:
            raise self.fault("expected a tile type")
        self.position = match.end()
        self.token = ("word", match[2])
        self.advance()
        tile = self.element(match[2], tuple(int(n) for n in match[1].split("x")[:-1]))
        if self.took(","):
            tile = tile.with_layout(self.layouts[self.word("layout")])
        self.take(">")
        return tile

    def element(self, name: str, shape: tuple[int, ...]) -> Tile:
        if name != "ptr":
            if name not in DTYPES:
                raise self.fault(f"there is no dtype {name!r}")
            return Tile(DTYPES[name], shape)
        self.take("<")
        element = DTYPES[self.word("word")]
        self.take(">")
        return Tile(Pointer(element), shape)


def parse_function(
    text: str,
    ops: Mapping[str, OpDef],
    read_layout: Callable[[str], Hashable] = str,
    label: str = "tile",
) -> Function:
    """Read a printed function back: ``print_function(parse_function(text, OPS)).text == text``.

    Spans are not part of the text. Raises TT9001, located in `label`, for text that is not IR.
    """
    return Parser(text, ops, read_layout, label).function()
