"""Make random programs of tile IR: views, arithmetic, overlapping loads and stores, reductions, loops, branches.

Values are integers, or floats that stay exact, so every engine must agree bit for bit. Indices stay inside the arrays.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from math import prod

import numpy as np

Shape = tuple[int, ...]
SHAPES: list[Shape] = [(8,), (24,), (33,), (64,), (4, 8), (8, 4), (6, 5), (2, 3, 4), (1, 16), (16, 1)]
ELEMENTS = 320
LARGEST = 256
ARRAYS = ("i32", "i32", "i32", "i8", "i64")


def spell(shape: Shape, dtype: str) -> str:
    return f"tile<{''.join(f'{n}x' for n in shape)}{dtype}>" if shape else dtype


@dataclass
class Program:
    """A program being written: `values` are what later ops may use, by shape and dtype."""

    seed: int
    choose: random.Random = field(init=False)
    lines: list[str] = field(default_factory=list)
    values: list[tuple[str, Shape, str]] = field(default_factory=list)
    count: int = 0
    depth: int = 1

    def __post_init__(self) -> None:
        self.choose = random.Random(self.seed)

    def text(self) -> str:
        self.index(self.choose.choice(SHAPES))
        for _ in range(self.choose.randint(6, 18)):
            self.step()
        for number in range(len(ARRAYS)):
            self.store(number)
        parameters = ", ".join(f"%p{k}: ptr<{dtype}>" for k, dtype in enumerate(ARRAYS))
        return f"kernel @random({parameters}) {{\n" + "\n".join(self.lines) + "\n}\n"

    # -- writing ------------------------------------------------------------------------------------------------------
    def write(self, op: str, shape: Shape, dtype: str) -> str:
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"{'  ' * self.depth}{name} = {op} : {spell(shape, dtype)}")
        self.values.append((name, shape, dtype))
        return name

    def constant(self, value: int, shape: Shape, dtype: str) -> str:
        spelled = (
            f"{float(value)}"
            if dtype == "f32"
            else "true"
            if value and dtype == "i1"
            else "false"
            if dtype == "i1"
            else value
        )
        return self.write(f"constant {{value = {spelled}, type = type<{spell(shape, dtype)}>}}", shape, dtype)

    def pick(self, shape: Shape | None = None, dtype: str | None = None) -> tuple[str, Shape, str]:
        fitting = [v for v in self.values if shape in (None, v[1]) and dtype in (None, v[2])]
        if fitting and self.choose.random() < 0.9:
            return self.choose.choice(fitting[-8:] if self.choose.random() < 0.6 else fitting)
        shape = self.choose.choice(SHAPES) if shape is None else shape
        if dtype in (None, "i32"):
            return self.index(shape), shape, "i32"
        if dtype == "i1":
            limit = self.constant(self.choose.randint(0, prod(shape)), shape, "i32")
            return self.write(f"lt {self.index(shape)}, {limit}", shape, "i1"), shape, "i1"
        return self.write(f"cast {self.index(shape)} {{to = {dtype}}}", shape, dtype), shape, dtype

    def index(self, shape: Shape, dense: bool = False) -> str:
        """Row-major offsets of a shape, or (unless `dense`) something like it, with repetitions."""
        if not shape:
            return self.constant(0 if dense else self.choose.randint(0, 9), (), "i32")
        total = ""
        for axis, n in enumerate(shape):
            start = 0 if dense else self.choose.choice((0, 0, 0, 3))
            at = self.write(f"range {{start = {start}, end = {start + n}}}", (n,), "i32")
            step = prod(shape[axis + 1 :])
            if not dense and self.choose.random() < 0.2:
                step = self.choose.choice((0, 1, 2))
            at = self.write(f"mul {at}, {self.constant(step, (n,), 'i32')}", (n,), "i32")
            now: Shape = (n,)
            for other in range(len(shape)):
                if other != axis:
                    now = (*now[:other], 1, *now[other:])
                    at = self.write(f"expand {at} {{axis = {other}}}", now, "i32")
            if now != shape:
                at = self.write(f"broadcast {at} {{shape = {list(shape)}}}", shape, "i32")
            total = at if not total else self.write(f"add {total}, {at}", shape, "i32")
        return total

    # -- ops ----------------------------------------------------------------------------------------------------------
    def step(self) -> None:
        steps = [self.binary, self.binary, self.compare, self.select, self.cast, self.load, self.load, self.store_any]
        steps += [self.transpose, self.reshape, self.reduce, self.widen, self.floats]
        if self.depth < 3:
            steps += [self.loop, self.branch]
        self.choose.choice(steps)()

    def binary(self) -> None:
        x, shape, dtype = self.pick()
        y, _, _ = self.pick(shape, dtype)
        ops = ("and", "or", "xor") if dtype == "i1" else ("add", "sub", "max", "min") if dtype == "f32" else (
            "add", "sub", "mul", "min", "max", "xor", "idiv", "mod")  # fmt: skip
        if dtype == "f32" and self.choose.random() < 0.5:
            return
        self.write(f"{self.choose.choice(ops)} {x}, {y}", shape, dtype)

    def compare(self) -> None:
        x, shape, dtype = self.pick()
        y, _, _ = self.pick(shape, dtype)
        self.write(f"{self.choose.choice(('lt', 'le', 'gt', 'ge', 'eq', 'ne'))} {x}, {y}", shape, "i1")

    def select(self) -> None:
        x, shape, dtype = self.pick()
        y, c = self.pick(shape, dtype)[0], self.pick(shape, "i1")[0]
        self.write(f"select {c}, {x}, {y}", shape, dtype)

    def cast(self) -> None:
        x, shape, dtype = self.pick()
        to = self.choose.choice(("i8", "i32", "i64", "i1"))
        if to != dtype:
            self.write(f"cast {x} {{to = {to}}}", shape, to)

    def floats(self) -> None:
        """Round-trip small integers through f32 and f16."""
        x, shape, _ = self.pick(dtype="i8")
        y = self.write(f"cast {x} {{to = {self.choose.choice(('f32', 'f16', 'bf16'))}}}", shape, "f32")
        kind = self.lines[-1].split("to = ")[1].split("}")[0]
        self.values.pop()
        self.lines[-1] = self.lines[-1].replace(spell(shape, "f32"), spell(shape, kind))
        self.write(f"cast {y} {{to = i32}}", shape, "i32")

    def transpose(self) -> None:
        x, shape, dtype = self.pick()
        order = list(range(len(shape)))
        self.choose.shuffle(order)
        if shape:
            self.write(f"transpose {x} {{order = {order}}}", tuple(shape[k] for k in order), dtype)

    def reshape(self) -> None:
        x, shape, dtype = self.pick()
        fitting = [s for s in (*SHAPES, (prod(shape),)) if prod(s) == prod(shape) and s != shape]
        if fitting and shape:
            to = self.choose.choice(fitting)
            self.write(f"reshape {x} {{shape = {list(to)}}}", to, dtype)

    def widen(self) -> None:
        x, shape, dtype = self.pick()
        if not shape:
            to = self.choose.choice(SHAPES)
            self.write(f"splat {x} {{shape = {list(to)}}}", to, dtype)
        elif 1 in shape:
            to = tuple(self.choose.choice((4, 16)) if n == 1 else n for n in shape)
            if prod(to) > LARGEST:
                return
            self.write(f"broadcast {x} {{shape = {list(to)}}}", to, dtype)
        else:
            axis = self.choose.randint(0, len(shape))
            to = (*shape[:axis], 1, *shape[axis:])
            self.write(f"expand {x} {{axis = {axis}}}", to, dtype)

    def reduce(self) -> None:
        x, shape, dtype = self.pick()
        if not shape:
            return
        axis = self.choose.randrange(len(shape))
        ops = (
            ("and", "or", "xor")
            if dtype == "i1"
            else ("max", "min")
            if dtype == "f32"
            else ("add", "max", "min", "xor")
        )
        result = (*shape[:axis], *shape[axis + 1 :])
        name = self.write(f"reduce {x} {{axis = {axis}}}", result, dtype)
        pad = "  " * self.depth
        self.lines[-1] += " {"
        self.lines.append(f"{pad}^({name}a: {dtype}, {name}b: {dtype}):")
        self.lines.append(f"{pad}  {name}c = {self.choose.choice(ops)} {name}a, {name}b : {dtype}")
        self.lines.append(f"{pad}  yield {name}c\n{pad}}}")

    # -- memory -------------------------------------------------------------------------------------------------------
    def distance(self, shape: Shape) -> str:
        """Offsets inside the arrays: a plain index, or any values taken modulo the length."""
        x = self.index(shape) if self.choose.random() < 0.6 else self.pick(shape, "i32")[0]
        if self.choose.random() < 0.3:
            x = self.write(f"add {x}, {self.constant(self.choose.randint(0, 5), shape, 'i32')}", shape, "i32")
        high = self.constant(ELEMENTS - 1, shape, "i32")
        low = self.constant(0, shape, "i32")
        if self.choose.random() < 0.5:
            return self.write(f"max {low}, {self.write(f'min {x}, {high}', shape, 'i32')}", shape, "i32")
        ok = self.write(
            f"and {self.write(f'ge {x}, {low}', shape, 'i1')}, {self.write(f'le {x}, {high}', shape, 'i1')}",
            shape,
            "i1",
        )
        self.guards[x] = ok
        return x

    guards: dict[str, str] = field(default_factory=dict)

    def access(self, shape: Shape, dense: bool = False) -> str:
        """Operands of an access; a store's offsets are all different, for else it is open which element stays."""
        at = self.index(shape, dense=True) if dense else self.distance(shape)
        if dense and self.choose.random() < 0.5:
            by = self.constant(self.choose.randint(0, ELEMENTS - prod(shape)), shape, "i32")
            at = self.write(
                f"{self.choose.choice(('add {0}, {1}', 'xor {0}, {2}')).format(at, by, self.mirror(shape))}",
                shape,
                "i32",
            )
        guard = self.guards.get(at)
        if self.choose.random() < 0.4:
            extra = self.pick(shape, "i1")[0]
            guard = extra if guard is None else self.write(f"and {guard}, {extra}", shape, "i1")
        return f", distance={at}" + (f", mask={guard}" if guard else "")

    def mirror(self, shape: Shape) -> str:
        """A power of two less one: its xor permutes the offsets below 128."""
        return self.constant(self.choose.choice((1, 3, 7, 31)), shape, "i32")

    def load(self) -> None:
        number = self.choose.randrange(len(ARRAYS))
        shape = self.pick()[1]
        where = self.access(shape)
        if "mask" in where and self.choose.random() < 0.5:
            where += f", other={self.pick(shape, ARRAYS[number])[0]}"
        self.write(f"load %p{number}{where}", shape, ARRAYS[number])

    def store(self, number: int) -> None:
        x, shape, _ = self.pick(dtype=ARRAYS[number])
        where = self.access(shape, dense=True)
        at, _, rest = where.partition(", mask")
        self.lines.append(f"{'  ' * self.depth}store %p{number}, {x}{at}{', mask' + rest if rest else ''}")

    def store_any(self) -> None:
        self.store(self.choose.randrange(len(ARRAYS)))

    # -- control ------------------------------------------------------------------------------------------------------
    def region(self, steps: int) -> None:
        self.depth += 1
        for _ in range(steps):
            self.step()
        self.depth -= 1

    def loop(self) -> None:
        carried = [self.pick() for _ in range(self.choose.randint(0, 3))]
        bounds = [self.constant(k, (), "i32") for k in (0, self.choose.randint(0, 4), 1)]
        pad, outer = "  " * self.depth, list(self.values)
        self.count += 1
        base = self.count
        names = [f"%l{base}.{k}" for k in range(len(carried))]
        head = f"{', '.join(names)}{' = ' if names else ''}for {', '.join([*bounds, *(v[0] for v in carried)])}"
        types = ", ".join(spell(v[1], v[2]) for v in carried)
        self.lines.append(f"{pad}{head}{' : ' + types if types else ''} {{")
        arguments = [(f"%a{base}.{k}", v[1], v[2]) for k, v in enumerate(carried)]
        listed = "".join(f", {name}: {spell(shape, dtype)}" for name, shape, dtype in arguments)
        self.lines.append(f"{pad}^(%i{base}: i32{listed}):")
        self.values += [(f"%i{base}", (), "i32"), *arguments]
        self.region(self.choose.randint(1, 5))
        self.depth += 1
        yields = [self.pick(v[1], v[2])[0] for v in carried]
        self.lines.append(f"{'  ' * self.depth}yield{' ' if yields else ''}{', '.join(yields)}")
        self.depth -= 1
        self.lines.append(f"{pad}}}")
        self.values = outer + [(name, v[1], v[2]) for name, v in zip(names, carried)]

    def branch(self) -> None:
        merged = [self.pick() for _ in range(self.choose.randint(0, 2))]
        test = self.pick((), "i1")[0]
        pad, outer = "  " * self.depth, list(self.values)
        self.count += 1
        names = [f"%b{self.count}.{k}" for k in range(len(merged))]
        types = ", ".join(spell(v[1], v[2]) for v in merged)
        self.lines.append(
            f"{pad}{', '.join(names)}{' = ' if names else ''}if {test}{' : ' + types if types else ''} {{"
        )
        for number in range(2):
            self.region(self.choose.randint(0, 3))
            self.depth += 1
            yields = [self.pick(v[1], v[2])[0] for v in merged]
            self.depth -= 1
            self.lines.append(f"{pad}  yield{' ' if yields else ''}{', '.join(yields)}")
            self.lines.append(f"{pad}}}{' {' if number == 0 else ''}")
            self.values = list(outer)
        self.values += [(name, v[1], v[2]) for name, v in zip(names, merged)]


def arrays(seed: int) -> list[np.ndarray]:
    """One array per parameter; the three of i32 are overlapping parts of one block in half of the cases."""
    values = np.random.default_rng(seed)
    block = values.integers(-50, 200, 3 * ELEMENTS).astype(np.int32)
    starts = [0, ELEMENTS, 2 * ELEMENTS] if seed % 2 else [int(k) for k in values.integers(0, 40, 3)]
    parts = [block[k : k + ELEMENTS] for k in starts]
    return [*parts, values.integers(-50, 50, ELEMENTS).astype(np.int8), values.integers(-9, 400, ELEMENTS)]
