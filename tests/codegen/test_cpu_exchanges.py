"""Gathers of ``position ^ distance``: every distance, dtype and shape, as the interpreter has them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.codegen.native_runs import ONE, agree, machines
from tests.codegen.test_cpu_structure import dense, numbers, spell
from tinyton_lab.base.dtypes import DTYPES


def exchange(source: tuple[int, ...], shape: tuple[int, ...], dtype: str, crossed: str = "%p, %s") -> str:
    """Load a tile, gather it along its last axis by the position xor a scalar, store that."""
    load, at = dense(source, 1, "p")
    store, to = dense(shape, 1, "q")
    rows = len(shape) == 2
    lengths = ", ".join(map(str, shape))
    return (
        f"kernel @k(%in: ptr<{dtype}>, %out: ptr<{dtype}>, %d: i32) {{\n{load}"
        f"  %x = load %in, distance={at} : {spell(source, dtype)}\n"
        f"  %r = range {{start = 0, end = {shape[-1]}}} : {spell(shape[-1:], 'i32')}\n"
        + (f"  %e = expand %r {{axis = 0}} : {spell((1, shape[-1]), 'i32')}\n" if rows else "")
        + f"  %p = broadcast %{'e' if rows else 'r'} {{shape = [{lengths}]}} : {spell(shape, 'i32')}\n"
        f"  %s = splat %d {{shape = [{lengths}]}} : {spell(shape, 'i32')}\n"
        f"  %w = xor {crossed} : {spell(shape, 'i32')}\n"
        f"  %y = gather %x, %w {{axis = {len(shape) - 1}}} : {spell(shape, dtype)}\n"
        f"{store}  store %out, %y, distance={to}\n}}\n"
    )


@pytest.mark.parametrize("dtype", ["i1", "i8", "f16", "i32", "f32", "i64", "f64"])
def test_every_distance(dtype: str) -> None:
    x = numbers(128, dtype)
    for machine in machines():
        for distance in (0, 1, 2, 4, 8, 16, 32, 64, 5, 77, 127, 128, -1):
            out = np.zeros(128, DTYPES[dtype].numpy)
            _, got, _ = agree(exchange((128,), (128,), dtype), ONE, x, out, distance, machine=machine)
            assert (got == x[(np.arange(128) ^ distance) & 127]).all()


@pytest.mark.parametrize(
    "source, shape", [((2,), (2,)), ((4, 8), (4, 8)), ((1, 64), (1, 64)), ((64,), (16,)), ((8,), (32,))]
)
def test_every_shape(source: tuple[int, ...], shape: tuple[int, ...]) -> None:
    x = numbers(int(np.prod(source)), "f32")
    for distance in (0, 1, 4, 9, 16):
        for crossed in ("%p, %s", "%s, %p"):
            out = np.zeros(shape, np.float32)
            agree(exchange(source, shape, "f32", crossed), ONE, x, out, distance)
