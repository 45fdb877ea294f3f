"""Writes random kernels of the language from a seed, as text that a person can read. Runs nothing."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

Shape = tuple[int, ...]
POINTERS = {
    "int": ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"),
    "float": ("f16", "bf16", "f32", "f64"),
    "bool": ("i1",),
}
SHAPES: tuple[Shape, ...] = ((16,), (4, 8), (8,), (2, 4, 4))
DTYPES = {
    "int": ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    "float": ("float16", "bfloat16", "float32", "float64"),
    "bool": ("int1",),
}
KINDS = ("int", "int", "float", "float", "bool")
# Elements of every array that a program may touch.
LENGTH = 64
_AXES = {1: ("",), 2: ("[:, None]", "[None, :]"), 3: ("[:, None, None]", "[None, :, None]", "[None, None, :]")}


def positions(shape: Shape) -> str:
    """The row-major numbers of a tile's elements."""
    parts, step = [], 1
    for axis, length in reversed(list(enumerate(shape))):
        scaled = f" * {step}" if step > 1 else ""
        parts.append(f"tl.arange(0, {length}){_AXES[len(shape)][axis]}{scaled}")
        step *= length
    return " + ".join(reversed(parts))


@dataclass
class Scope:
    """What may be read at a place: names with their shapes and kinds."""

    names: list[tuple[str, Shape, str]] = field(default_factory=list[tuple[str, Shape, str]])


class Writer:
    """Mutable: writes one kernel."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.scope = Scope()
        self.lines: list[str] = []
        self.count = self.helpers = 0
        self.before: list[str] = []

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    # Leaves.
    def number(self, kind: str) -> str:
        if kind == "bool":
            return self.pick("True", "False")
        if kind == "float":
            return self.pick("0.0", "1.0", "-2.5", "0.1", "1e-3", "3.0e4")
        return self.pick("0", "1", "2", "-1", "3", "7", "100", "-128", "65535")

    def name(self, shape: Shape, kind: str) -> str | None:
        fitting = [name for name, s, k in self.scope.names if s == shape and k == kind]
        return self.random.choice(fitting) if fitting else None

    def leaf(self, shape: Shape, kind: str) -> str:
        """A value that is made of nothing else: a name, a load, a constant tile."""
        found = self.name(shape, kind)
        if found is not None and self.random.random() < 0.6:
            return found
        if not shape:
            choices = [f"tl.load({self.pointer(kind)} + {self.random.randrange(LENGTH)})", self.number(kind)]
            if kind == "int":
                choices += ["n", "tl.program_id(0)"]
            return self.random.choice(choices)
        if self.random.random() < 0.7:
            return self.load(shape, kind)
        dtype = self.pick(*DTYPES[kind])
        if kind == "int" and self.random.random() < 0.5:
            return f"({positions(shape)})"
        value = {"int": self.pick("0", "1", "5", "100"), "float": self.number("float"), "bool": self.number("bool")}[
            kind
        ]
        return f"tl.full({shape}, {value}, tl.{dtype})"

    def pointer(self, kind: str) -> str:
        return "x_" + self.pick(*POINTERS[kind])

    def load(self, shape: Shape, kind: str) -> str:
        size = 1
        for length in shape:
            size *= length
        first = self.random.randrange(LENGTH - size + 1)
        where = positions(shape)
        mask = ""
        if self.random.random() < 0.4:
            bound = self.random.randrange(size + 1)
            mask = f", mask=({where}) < {self.pick(str(bound), 'n')}"
            if self.random.random() < 0.6:
                mask += f", other={self.number(kind)}" if kind != "int" else f", other={self.pick('0', '1', '7')}"
        return f"tl.load({self.pointer(kind)} + {first} + ({where}){mask})"

    # Expressions.
    def expression(self, shape: Shape, kind: str, depth: int) -> str:
        """The text of an expression of a shape and kind."""
        if depth <= 0:
            return self.leaf(shape, kind)
        makers = [self.unary, self.binary, self.binary, self.choice, self.cast, self.reduced, self.rearranged]
        if kind == "bool":
            makers = [self.comparison, self.comparison, self.binary, self.leafy]
        return self.random.choice(makers)(shape, kind, depth - 1)

    def leafy(self, shape: Shape, kind: str, depth: int) -> str:
        return self.leaf(shape, kind)

    def unary(self, shape: Shape, kind: str, depth: int) -> str:
        x = self.expression(shape, kind, depth)
        if kind == "int":
            return self.pick(f"(-{x})", f"(~{x})", f"tl.abs({x})")
        wide = f"({x}).to(tl.{self.pick('float32', 'float64')})"
        function = self.pick(
            "exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "floor", "ceil", "abs", "sigmoid", "rsqrt"
        )
        return self.pick(f"(-{x})", f"tl.abs({x})", f"tl.{function}({wide})")

    def binary(self, shape: Shape, kind: str, depth: int) -> str:
        other = shape if self.random.random() < 0.7 else ()
        x, y = self.expression(shape, kind, depth), self.expression(other, kind, depth)
        if self.random.random() < 0.3:
            x, y = y, x
        if not shape and kind != "float":
            x = f"({x} + 0 * n)" if kind == "int" else x
        if kind == "bool":
            return f"({x} {self.pick('&', '|', '^')} {y})" if shape else self.comparison(shape, kind, depth)
        if kind == "int":
            word = self.pick("+", "-", "*", "&", "|", "^", "//", "%", "min", "max", "shift")
            if word == "shift":
                return f"({x} {self.pick('<<', '>>')} {self.random.randrange(7)})"
        else:
            word = self.pick("+", "-", "*", "/", "min", "max", "fma")
            if word == "fma":
                return f"tl.fma(({x}) * 1.0, {y}, {self.expression(shape, kind, 0)})"
        if word in ("min", "max"):
            return f"tl.{word}imum({x}, {y})"
        return f"({x} {word} {y})"

    def comparison(self, shape: Shape, kind: str, depth: int) -> str:
        inner = self.pick("int", "float")
        x, y = self.expression(shape, inner, depth), self.expression(shape, inner, depth)
        return f"({x} {self.pick('<', '<=', '>', '>=', '==', '!=')} {y})"

    def choice(self, shape: Shape, kind: str, depth: int) -> str:
        test = self.expression(shape, "bool", depth)
        return f"tl.where({test}, {self.expression(shape, kind, depth)}, {self.expression(shape, kind, depth)})"

    def cast(self, shape: Shape, kind: str, depth: int) -> str:
        source = self.pick("int", "float")
        x = self.expression(shape, source, depth)
        if not shape:
            x = f"tl.to_tensor({x})"
        return f"({x}).to(tl.{self.pick(*DTYPES[kind])})"

    def reduced(self, shape: Shape, kind: str, depth: int) -> str:
        """A reduction whose result has the shape; sums of integers only, whose order does not matter."""
        bigger = {(): [(16,), (8,)], (8,): [(4, 8)]}.get(shape)
        if not bigger:
            return self.rearranged(shape, kind, depth)
        whole = self.random.choice(bigger)
        x = self.expression(whole, kind, depth)
        word = self.pick("max", "min", *(("sum", "xor_sum") if kind == "int" else ()))
        if shape == (8,) and self.random.random() < 0.3:
            return f"tl.{word}({self.expression((2, 4, 4), kind, depth)}, 2).reshape(8)"
        if kind == "int" and self.random.random() < 0.2:
            return f"tl.{self.pick('argmax', 'argmin')}({self.expression(whole, self.pick('int', 'float'), depth)}, 0)"
        return f"tl.{word}({x}, 0)"

    def rearranged(self, shape: Shape, kind: str, depth: int) -> str:
        """The like of an expression, moved about."""
        if shape == (4, 8):
            row = self.expression((8,), kind, depth)
            if kind == "float" and self.random.random() < 0.25:
                return self.product(depth)
            return self.pick(
                f"tl.join({self.expression((16,), kind, depth)}, {self.expression((16,), kind, depth)}).reshape(4, 8)",
                f"tl.sort({self.expression((4, 8), kind, depth)}, 1, descending={self.pick('True', 'False')})",
                f"tl.trans(tl.reshape({self.expression((4, 8), kind, depth)}, (8, 4)))",
                f"tl.broadcast_to(({row})[None, :], (4, 8))",
                f"tl.reshape({self.expression((2, 4, 4), kind, depth)}, (4, 8))",
                f"tl.flip({self.expression((4, 8), kind, depth)}, 1)",
            )
        if shape == (2, 4, 4):
            return f"tl.permute({self.expression((2, 4, 4), kind, depth)}, (0, 2, 1))"
        if shape == (16,):
            x = self.expression((16,), kind, depth)
            y = self.expression((8,), kind, depth)
            choices = [
                f"tl.flip({x})",
                f"tl.gather({x}, (tl.arange(0, 16) * 7) & 15, 0)",
                f"tl.interleave({y}, {self.expression((8,), kind, depth)})",
                f"tl.cat({y}, ({y}) , can_reorder=True)",
                f"tl.associative_scan({x}, 0, greater, reverse={self.pick('True', 'False')})",
                f"tl.sort({x})",
            ]
            if kind == "int":
                choices += [f"tl.cumsum({x}, 0)", f"tl.histogram(({x}) & 15, 16)"]
            return self.pick(*choices)
        return self.leaf(shape, kind)

    def product(self, depth: int) -> str:
        """A product of small matrices of whole numbers, whose sums are exact."""
        a = f"({self.expression((2, 4, 4), 'int', depth)} & 7).reshape(4, 8).to(tl.float32)"
        b = f"tl.trans(({self.expression((4, 8), 'int', depth)} & 7).reshape(8, 4).reshape(8, 4).to(tl.float32))"
        return f"tl.dot({a}, tl.dot(tl.trans({a}), {b}))"

    # Statements.
    def statement(self, depth: int, indent: str) -> None:
        kind_of_statement = self.random.random()
        if depth > 0 and kind_of_statement < 0.15:
            self.branch(depth - 1, indent)
        elif depth > 0 and kind_of_statement < 0.3:
            self.loop(depth - 1, indent)
        elif kind_of_statement < 0.38:
            self.call(indent)
        elif depth > 0 and kind_of_statement < 0.43:
            self.wait(depth - 1, indent)
        else:
            shape = self.random.choice((*SHAPES, ()))
            self.assign(shape, self.random.choice(KINDS), 3, indent)

    def assign(self, shape: Shape, kind: str, depth: int, indent: str) -> str:
        value = self.expression(shape, kind, depth)
        name = f"v{self.count}"
        self.count += 1
        if not shape:
            value = f"tl.to_tensor({value})"
        self.lines.append(f"{indent}{name} = {value}")
        self.scope.names.append((name, shape, kind))
        return name

    def fixed(self, shape: Shape, kind: str, indent: str) -> tuple[str, str]:
        """A variable of a fixed dtype, which branches and loops may give new values; and the dtype."""
        dtype = self.pick(*DTYPES[kind])
        name = f"v{self.count}"
        self.count += 1
        value = self.expression(shape, kind, 1)
        value = f"tl.to_tensor({value})" if not shape else f"({value})"
        self.lines.append(f"{indent}{name} = {value}.to(tl.{dtype})")
        return name, dtype

    def branch(self, depth: int, indent: str) -> None:
        shape, kind = self.random.choice((*SHAPES, ())), self.random.choice(KINDS)
        name, dtype = self.fixed(shape, kind, indent)
        self.lines.append(f"{indent}if {self.expression((), 'int', 1)} > {self.expression((), 'int', 1)}:")
        for word in ("", "else:"):
            if word:
                if self.random.random() < 0.4:
                    break
                self.lines.append(indent + word)
            self.nested(name, shape, kind, dtype, depth, indent + "    ")
        self.scope.names.append((name, shape, kind))

    def loop(self, depth: int, indent: str) -> None:
        shape, kind = self.random.choice((*SHAPES, ())), self.random.choice(KINDS)
        name, dtype = self.fixed(shape, kind, indent)
        counter = f"i{self.count}"
        turns = self.pick(
            "range(0, n & 3)", "range(3)", "tl.static_range(2)", "range(n & 7, 0, -2)", "tl.range(1, 4, 2)"
        )
        self.lines.append(f"{indent}for {counter} in {turns}:")
        saved = list(self.scope.names)
        self.scope.names.append((name, shape, kind))
        self.nested(name, shape, kind, dtype, depth, indent + "    ")
        self.scope.names = [*saved, (name, shape, kind)]

    def wait(self, depth: int, indent: str) -> None:
        """A loop that counts down, and may be left or go on early."""
        shape, kind = self.random.choice((*SHAPES, ())), self.random.choice(KINDS)
        name, dtype = self.fixed(shape, kind, indent)
        left = f"w{self.count}"
        self.lines += [f"{indent}{left} = n & {self.random.choice((3, 7))}", f"{indent}while {left} > 0:"]
        self.lines.append(f"{indent}    {left} -= 1")
        saved = list(self.scope.names)
        self.scope.names.append((name, shape, kind))
        if self.random.random() < 0.5:
            word = self.pick("break", "continue")
            self.lines += [f"{indent}    if {self.expression((), 'int', 1)} == {left}:", f"{indent}        {word}"]
        self.nested(name, shape, kind, dtype, depth, indent + "    ")
        self.scope.names = [*saved, (name, shape, kind)]

    def nested(self, name: str, shape: Shape, kind: str, dtype: str, depth: int, indent: str) -> None:
        saved = list(self.scope.names)
        for _ in range(self.random.randrange(2)):
            self.statement(depth, indent)
        value = self.expression(shape, kind, 2)
        value = f"tl.to_tensor({value})" if not shape else f"({value})"
        self.lines.append(f"{indent}{name} = {value}.to(tl.{dtype})")
        self.scope.names = saved

    def call(self, indent: str) -> None:
        """A call of a helper of its own, with two arguments."""
        kind = self.pick("int", "float")
        shape = self.random.choice((*SHAPES, ()))
        outer, self.scope = self.scope, Scope([("a", shape, kind), ("b", (), kind)])
        body = self.expression(shape, kind, 2)
        self.scope = outer
        helper = f"helper{self.helpers}"
        self.helpers += 1
        used = ", ".join(f"x_{dtype}" for names in POINTERS.values() for dtype in names)
        self.before += ["@tt.jit", f"def {helper}(a, b, n, {used}):", f"    return {body}", ""]
        name = f"v{self.count}"
        self.count += 1
        first, second = self.expression(shape, kind, 1), self.expression((), kind, 1)
        wrap = "tl.to_tensor" if not shape else ""
        self.lines.append(f"{indent}{name} = {helper}({wrap}({first}), {second}, n, {used})")
        self.scope.names.append((name, shape, kind))

    def store(self, number: int) -> None:
        """Write what a name holds to the next output, and add to one in turn."""
        name, shape, kind = self.random.choice(self.scope.names)
        where = f" + ({positions(shape)})" if shape else ""
        out = f"o{number}_" + {"int": "i64", "float": "f64", "bool": "i64"}[kind]
        mask = f", mask=({positions(shape)}) < n" if shape and self.random.random() < 0.3 else ""
        if kind == "int" and self.random.random() < 0.2:
            self.lines.append(f"    tl.atomic_add({out}{where}, {name}.to(tl.int64))")
        else:
            self.lines.append(f"    tl.store({out} + tl.program_id(0) * {LENGTH}{where}, {name}{mask})")


OUTPUTS = 3
PARAMETERS = [
    *(f"x_{dtype}" for names in POINTERS.values() for dtype in names),
    *(f"o{number}_{dtype}" for number in range(OUTPUTS) for dtype in ("i64", "f64")),
    "n",
]


def program(seed: int, statements: int = 5) -> str:
    """The text of the kernel of a seed: a function ``kernel`` and the helpers that it calls.

    >>> program(7) == program(7)
    True
    """
    writer = Writer(seed)
    for _ in range(writer.random.randrange(2, statements + 1)):
        writer.statement(2, "    ")
    if not writer.scope.names:
        writer.assign((16,), "int", 2, "    ")
    for number in range(OUTPUTS):
        writer.store(number)
    combine = ["@tt.jit", "def greater(a, b):", "    return tl.maximum(a, b)", ""]
    head = [*combine, *writer.before, "@tt.jit", f"def kernel({', '.join(PARAMETERS)}):"]
    return "\n".join([*head, *writer.lines]) + "\n"
