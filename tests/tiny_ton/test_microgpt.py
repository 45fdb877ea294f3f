"""A small language model, token by token, in tiny-ton's dialect: the same logits and loss as numpy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinyton_lab.tiny_ton as tt

Array = Any
VOCABULARY, WIDTH, HEADS, LAYERS, CONTEXT = 17, 12, 2, 2, 5
HEAD = WIDTH // HEADS


@tt.jit
def embed(words, places, token, place, out, WIDTH: tt.constexpr):
    lane = tt.arange(0, WIDTH)
    tt.store(out + lane, tt.load(words + token * WIDTH + lane) + tt.load(places + place * WIDTH + lane))


@tt.jit
def norm(x, out, WIDTH: tt.constexpr):
    lane = tt.arange(0, WIDTH)
    v = tt.load(x + lane)
    tt.store(out + lane, v * tt.rsqrt(tt.reduce_sum(v * v) / WIDTH + 1e-5))


@tt.jit
def linear(w, x, out, IN: tt.constexpr):
    row, lane = tt.program_id(0), tt.arange(0, IN)
    tt.store(out + row, tt.reduce_sum(tt.load(w + row * IN + lane) * tt.load(x + lane)))


@tt.jit
def linear_relu(w, x, out, IN: tt.constexpr):
    row, lane = tt.program_id(0), tt.arange(0, IN)
    tt.store(out + row, tt.relu(tt.reduce_sum(tt.load(w + row * IN + lane) * tt.load(x + lane))))


@tt.jit
def linear_added(w, x, out, IN: tt.constexpr):
    row, lane = tt.program_id(0), tt.arange(0, IN)
    tt.store(out + row, tt.load(out + row) + tt.reduce_sum(tt.load(w + row * IN + lane) * tt.load(x + lane)))


@tt.jit
def attend(q, keys, values, out, length, scale, WIDTH: tt.constexpr, HEAD: tt.constexpr):
    """One head over the cached keys and values, the softmax kept up to date."""
    head, lane = tt.program_id(0) * HEAD, tt.arange(0, HEAD)
    own = tt.load(q + head + lane) * scale
    most, total, acc = -1e30, 0.0, 0.0
    for place in range(length):
        score = tt.reduce_sum(own * tt.load(keys + place * WIDTH + head + lane))
        highest = tt.max(most, score)
        fade, weight = tt.exp(most - highest), tt.exp(score - highest)
        total = total * fade + weight
        acc = acc * fade + weight * tt.load(values + place * WIDTH + head + lane)
        most = highest
    tt.store(out + head + lane, acc / total)


@tt.jit
def cross_entropy(logits, target, out, N: tt.constexpr):
    v = tt.load(logits + tt.arange(0, N))
    most = tt.reduce_max(v)
    tt.store(out, tt.log(tt.reduce_sum(tt.exp(v - most))) + most - tt.load(logits + target))


def parameters() -> dict[str, Array]:
    random = np.random.default_rng(3)

    def matrix(rows: int, columns: int) -> Array:
        return (random.standard_normal((rows, columns)) * 0.3).astype(np.float32)

    found = {
        "words": matrix(VOCABULARY, WIDTH), "places": matrix(CONTEXT, WIDTH), "logits": matrix(VOCABULARY, WIDTH)
    }  # fmt: skip
    for layer in range(LAYERS):
        found |= {f"{name}{layer}": matrix(WIDTH, WIDTH) for name in ("q", "k", "v", "o")}
        found |= {f"up{layer}": matrix(4 * WIDTH, WIDTH), f"down{layer}": matrix(WIDTH, 4 * WIDTH)}
    return found


def empty(*shape: int) -> Array:
    return np.zeros(shape, np.float32)


class Model:
    """The model on one engine, with its cache of keys and values."""

    def __init__(self, engine: str) -> None:
        self.engine, self.weights = engine, parameters()
        self.keys, self.values = empty(LAYERS, CONTEXT, WIDTH), empty(LAYERS, CONTEXT, WIDTH)

    def launch(self, kernel: Any, programs: int, *args: Any) -> None:
        kernel[(programs,)](*args, backend=self.engine)

    def step(self, token: int, place: int, target: int) -> tuple[Array, float]:
        """Logits after one more token, and the loss of the one that follows."""
        w, x, normed, q, mixed, hidden = self.weights, *(empty(WIDTH) for _ in range(4)), empty(4 * WIDTH)
        self.launch(embed, 1, w["words"], w["places"], token, place, x, WIDTH)
        for layer in range(LAYERS):
            self.launch(norm, 1, x, normed, WIDTH)
            self.launch(linear, WIDTH, w[f"q{layer}"], normed, q, WIDTH)
            self.launch(linear, WIDTH, w[f"k{layer}"], normed, self.keys[layer, place], WIDTH)
            self.launch(linear, WIDTH, w[f"v{layer}"], normed, self.values[layer, place], WIDTH)
            cached = self.keys[layer], self.values[layer]
            self.launch(attend, HEADS, q, *cached, mixed, place + 1, HEAD**-0.5, WIDTH, HEAD)
            self.launch(linear_added, WIDTH, w[f"o{layer}"], mixed, x, WIDTH)
            self.launch(norm, 1, x, normed, WIDTH)
            self.launch(linear_relu, 4 * WIDTH, w[f"up{layer}"], normed, hidden, WIDTH)
            self.launch(linear_added, WIDTH, w[f"down{layer}"], hidden, x, 4 * WIDTH)
        logits, loss = empty(VOCABULARY), empty(1)
        self.launch(linear, VOCABULARY, w["logits"], x, logits, WIDTH)
        self.launch(cross_entropy, 1, logits, target, loss, VOCABULARY)
        return logits, float(loss[0])


def normed(x: Array) -> Array:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def by_definition(tokens: list[int]) -> Array:
    """Logits at every place, all tokens at once, each looking at those before it."""
    w = {name: matrix.astype(np.float64) for name, matrix in parameters().items()}
    x = w["words"][tokens] + w["places"][: len(tokens)]
    later = np.triu(np.full((len(tokens), len(tokens)), -np.inf), 1)
    for layer in range(LAYERS):
        q, k, v = (
            (normed(x) @ w[f"{name}{layer}"].T).reshape(-1, HEADS, HEAD).transpose(1, 0, 2) for name in ("q", "k", "v")
        )
        scores = np.exp(q @ k.transpose(0, 2, 1) * HEAD**-0.5 + later)
        mixed = (scores / scores.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(-1, WIDTH)
        x = x + mixed @ w[f"o{layer}"].T
        x = x + np.maximum(normed(x) @ w[f"up{layer}"].T, 0) @ w[f"down{layer}"].T
    return x @ w["logits"].T


@pytest.mark.parametrize(("engine", "length"), [("interpreter", 5), ("eager", 2), ("cpu", 5), ("sim", 2)])
def test_a_language_model(engine: str, length: int):
    tokens = [3, 0, 16, 7, 3, 11]
    want = by_definition(tokens[:length])
    model = Model(engine)
    for place in range(length):
        logits, loss = model.step(tokens[place], place, tokens[place + 1])
        assert np.allclose(logits, want[place], rtol=1e-4, atol=1e-5)
        expected = np.log(np.exp(want[place]).sum()) - want[place][tokens[place + 1]]
        assert abs(loss - expected) < 1e-4
