"""Random tile programs on integers: every engine must give the same bits. The same seed gives the same program."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tinyton_lab.base.dtypes import DTYPES, int32
from tinyton_lab.ir.build import Builder
from tinyton_lab.ir.core import Block, Function, Parameter, Value
from tinyton_lab.ir.types import Pointer, Tile
from tinyton_lab.ops import control, elementwise, memory, reduction, shape

LENGTH = 4096


class Generator:
    """A kernel ``(x, y, out, n)`` that loads from two arrays, mixes tiles of several shapes and stores some of them."""

    def __init__(self, seed: int, dtype: str = "i32") -> None:
        self.random = random.Random(seed)
        self.dtype = DTYPES[dtype]
        pointer = Tile(Pointer(self.dtype))
        parameters = [Parameter(name, pointer, 16) for name in ("x", "y", "out")] + [Parameter("n", Tile(int32))]
        warps = self.random.choice([1, 2, 4, 8])
        self.function = Function("program", parameters, {"num_warps": warps})
        self.builder = Builder(self.function)
        self.sources = self.function.body.args[:2]
        self.out, self.n = self.function.body.args[2:]
        self.stored = 0

    def make(self) -> Function:
        """Build the program: some loads, then random steps, then every tile made last is stored."""
        tiles = [self.load(self.shape()) for _ in range(2)]
        self.steps(tiles, self.random.randrange(4, 12), depth=0)
        for tile in tiles[-3:]:
            self.store(tile)
        return self.function

    def shape(self) -> tuple[int, ...]:
        pick = self.random.choice
        return pick(
            [(pick([16, 64, 256, 512]),), (pick([4, 16, 32]), pick([8, 16, 32])), (pick([2, 4]), 8, pick([4, 8]))]
        )

    def steps(self, tiles: list[Value], count: int, depth: int) -> None:
        moves = [self.arithmetic, self.arithmetic, self.reduce, self.view, self.select, self.reload, self.in_place]
        moves += [self.loop, self.branch] if depth < 2 else []
        for _ in range(count):
            made = self.random.choice(moves)(tiles, depth)
            if made is not None:
                tiles.append(made)

    def pick(self, tiles: list[Value]) -> Value:
        return tiles[self.random.randrange(max(len(tiles) - 4, 0), len(tiles))]

    def places(self, size: tuple[int, ...]) -> Value:
        """Element numbers of a tile, in row-major or in column-major order."""
        whole = self.builder.value(shape.range_, start=0, end=int(np.prod(size)))
        if len(size) == 1:
            return whole
        if self.random.random() < 0.5:
            return self.builder.value(shape.reshape, whole, shape=size)
        turned = self.builder.value(shape.reshape, whole, shape=size[::-1])
        return self.builder.value(shape.transpose, turned, order=tuple(reversed(range(len(size)))))

    def load(self, size: tuple[int, ...]) -> Value:
        places, mask, other = self.places(size), None, None
        if self.random.random() < 0.5:
            mask = self.builder.value(elementwise.lt, places, self.splat(self.n, size))
            other = self.constant(7, size) if self.random.random() < 0.5 else None
        source = self.random.choice(self.sources)
        return self.builder.value(memory.load, source, places, mask, other, cache=None, eviction=None, volatile=None)

    def store(self, tile: Value, mask: Value | None = None) -> None:
        size = tile.type.shape
        count = int(np.prod(size))
        self.stored = self.stored + count if self.stored + 2 * count <= LENGTH else count
        start = self.constant(self.stored - count, size, int32)
        places = self.builder.value(elementwise.add, self.places(size) if size else self.constant(0, (), int32), start)
        self.builder.emit(
            memory.store, (self.out, tile, places if size else None, mask) if size else (self.moved(places), tile)
        )

    def moved(self, places: Value) -> Value:
        return self.builder.value(elementwise.offset, self.out, places)

    def constant(self, value: int, size: tuple[int, ...], dtype: Any = None) -> Value:
        return self.builder.value(shape.constant, value=value, type=Tile(dtype or self.dtype, size))

    def splat(self, value: Value, size: tuple[int, ...]) -> Value:
        return self.builder.value(shape.splat, value, shape=size) if size else value

    def fitted(self, tile: Value, size: tuple[int, ...]) -> Value:
        """A tile brought to another shape: broadcast where that is possible, summed up and splat where not."""
        if tile.type.shape == size:
            return tile
        if not tile.type.shape:
            return self.splat(tile, size)
        if len(tile.type.shape) == 1 and tile.type.shape[0] in size:
            axis = self.random.choice([a for a, n in enumerate(size) if n == tile.type.shape[0]])
            for other in range(len(size)):
                if other != axis:
                    tile = self.builder.value(shape.expand, tile, axis=other)
            return self.builder.value(shape.broadcast, tile, shape=size)
        while tile.type.shape:
            tile = self.reduced(tile, self.random.randrange(tile.type.rank))
        return self.splat(tile, size)

    def arithmetic(self, tiles: list[Value], depth: int) -> Value:
        x = self.pick(tiles)
        y = self.fitted(self.pick(tiles), x.type.shape)
        row = self.random.choice([elementwise.add, elementwise.sub, elementwise.mul, elementwise.xor, elementwise.max_])
        return self.builder.value(row, x, y)

    def select(self, tiles: list[Value], depth: int) -> Value:
        x = self.pick(tiles)
        y = self.fitted(self.pick(tiles), x.type.shape)
        return self.builder.value(elementwise.select, self.builder.value(elementwise.lt, x, y), y, x)

    def reduced(self, tile: Value, axis: int) -> Value:
        block, element = Block(), Tile(self.dtype)
        uid = self.function.new_uid()
        pair = [block.add_argument(element, f"{uid}.{name}") for name in "ab"]
        with self.builder.inside(block):
            row = self.random.choice([elementwise.add, elementwise.min_, elementwise.xor])
            self.builder.emit(control.yield_, [self.builder.value(row, *pair)])
        return self.builder.emit(reduction.reduce, [tile], {"axis": axis}, blocks=[block]).result

    def reduce(self, tiles: list[Value], depth: int) -> Value | None:
        tile = self.pick(tiles)
        return self.reduced(tile, self.random.randrange(tile.type.rank)) if tile.type.shape else None

    def view(self, tiles: list[Value], depth: int) -> Value | None:
        tile = self.pick(tiles)
        if tile.type.rank < 2:
            return None
        if self.random.random() < 0.5:
            order = list(range(tile.type.rank))
            self.random.shuffle(order)
            return self.builder.value(shape.transpose, tile, order=tuple(order))
        return self.builder.value(shape.reshape, tile, shape=(tile.type.elements,))

    def reload(self, tiles: list[Value], depth: int) -> Value:
        return self.load(self.shape())

    def in_place(self, tiles: list[Value], depth: int) -> Value | None:
        """Store a tile and read it back in another order: other threads wrote what a thread reads."""
        tile = self.pick(tiles)
        if not tile.type.shape:
            return None
        size, first = tile.type.shape, LENGTH - tile.type.elements
        at = self.builder.value(elementwise.offset, self.out, self.constant(first, (), int32))
        self.builder.emit(memory.store, (at, tile, self.places(size)))
        return self.builder.value(memory.load, at, self.places(size), cache=None, eviction=None, volatile=None)

    def loop(self, tiles: list[Value], depth: int) -> Value:
        """Carry one or two tiles round a loop of a few turns."""
        carried = [self.pick(tiles) for _ in range(self.random.randrange(1, 3))]
        bounds = [self.constant(0, (), int32), self.n, self.constant(self.random.choice([700, 1000]), (), int32)]
        body, uid = Block(), self.function.new_uid()
        inner = [body.add_argument(Tile(int32), f"{uid}.i")]
        inner += [body.add_argument(tile.type, f"{uid}.{at}") for at, tile in enumerate(carried)]
        with self.builder.inside(body):
            local = [*tiles[-2:], *inner[1:]]
            self.steps(local, self.random.randrange(1, 4), depth + 1)
            self.builder.emit(control.yield_, [self.fitted(self.pick(local), tile.type.shape) for tile in carried])
        types = [tile.type for tile in carried]
        return self.builder.emit(control.for_, [*bounds, *carried], types=types, blocks=[body]).results[-1]

    def branch(self, tiles: list[Value], depth: int) -> Value:
        size = self.pick(tiles).type.shape
        limit = self.constant(self.random.choice([0, 1000]), (), int32)
        test = self.builder.value(elementwise.gt, self.n, limit)
        blocks = [Block(), Block()]
        for block in blocks:
            with self.builder.inside(block):
                local = list(tiles[-3:])
                self.steps(local, self.random.randrange(0, 3), depth + 1)
                self.builder.emit(control.yield_, [self.fitted(self.pick(local), size)])
        return self.builder.emit(control.if_, [test], types=[Tile(self.dtype, size)], blocks=blocks).results[0]


def inputs(seed: int, dtype: str) -> dict[str, Any]:
    """Arguments for a program."""
    source = np.random.default_rng(seed)
    numpy = DTYPES[dtype].numpy
    x, y = (source.integers(-50, 50, LENGTH).astype(numpy) for _ in range(2))
    return {"x": x, "y": y, "out": np.zeros(LENGTH, numpy), "n": int(source.integers(1, 2500))}
