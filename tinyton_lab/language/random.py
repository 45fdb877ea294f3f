"""Random numbers, written in the language: Philox counters, so that the same seed and offset give the same number."""

from __future__ import annotations

from typing import Any

from tinyton_lab.base.dtypes import int32, int64, uint32, uint64
from tinyton_lab.base.protocol import Constexpr
from tinyton_lab.language import core
from tinyton_lab.language.builtin import LibraryFunction
from tinyton_lab.language.functions import cos, log, sin


@LibraryFunction
def philox_impl(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, n_rounds: Constexpr = 10) -> Any:
    """Mix four counters (uint32 or uint64) with a key of two words, in `n_rounds` rounds."""
    core.static_assert(c0.dtype == uint32 or c0.dtype == uint64, "philox_impl takes counters of uint32 or uint64")
    narrow: Constexpr = c0.dtype == uint32
    key_a: Constexpr = 0x9E3779B9 if narrow else 0x9E3779B97F4A7C15
    key_b: Constexpr = 0xBB67AE85 if narrow else 0xBB67AE8584CAA73B
    round_a: Constexpr = 0xD2511F53 if narrow else 0xD2E7470EE14C6C93
    round_b: Constexpr = 0xCD9E8D57 if narrow else 0xCA5A826395121157
    for _ in core.static_range(n_rounds):
        before_0, before_2 = c0, c2
        c0 = core.umulhi(round_b, before_2) ^ c1 ^ k0
        c2 = core.umulhi(round_a, before_0) ^ c3 ^ k1
        c1 = before_2 * round_b
        c3 = before_0 * round_a
        k0 = k0 + key_a
        k1 = k1 + key_b
    return c0, c1, c2, c3


@LibraryFunction
def philox(seed: Any, c0: Any, c1: Any, c2: Any, c3: Any, n_rounds: Constexpr = 10) -> Any:
    """Four words of random bits per element, from a seed and four counters of 32 or 64 bits."""
    key = core.to_tensor(seed).to(uint64)
    first = core.to_tensor(c0)
    core.static_assert(first.dtype.primitive_bitwidth >= 32, "philox takes counters of 32 or 64 bits")
    word: Constexpr = uint32 if first.dtype.primitive_bitwidth == 32 else uint64
    low = key.to(word)
    high = (key >> 32).to(word) if word == uint32 else low * 0
    return philox_impl(
        first.to(word, bitcast=True),
        core.to_tensor(c1).to(word, bitcast=True),
        core.to_tensor(c2).to(word, bitcast=True),
        core.to_tensor(c3).to(word, bitcast=True),
        low,
        high,
        n_rounds,
    )


@LibraryFunction
def randint4x(seed: Any, offset: Any, n_rounds: Constexpr = 10) -> Any:
    """Four tiles of random uint32, from a seed and a tile of offsets."""
    place = core.to_tensor(offset)
    low = place.to(uint32)
    nothing = low * 0
    high = (place >> 32).to(uint32) if place.dtype.primitive_bitwidth > 32 else nothing
    return philox(seed, low, high, nothing, nothing, n_rounds)


@LibraryFunction
def randint(seed: Any, offset: Any, n_rounds: Constexpr = 10) -> Any:
    """A tile of random uint32, from a seed and a tile of offsets."""
    first, _, _, _ = randint4x(seed, offset, n_rounds)
    return first


@LibraryFunction
def uint_to_uniform_float(x: Any) -> Any:
    """Integers of 32 or 64 random bits as f32 in ``0 <= u < 1``."""
    core.static_assert(x.dtype.primitive_bitwidth >= 32, "uint_to_uniform_float takes integers of 32 or 64 bits")
    narrow: Constexpr = x.dtype.primitive_bitwidth == 32
    signed = x.to(int32, bitcast=True) if narrow else x.to(int64, bitcast=True)
    # Just below two to the minus 31 (63): the greatest integer times it still rounds to less than 1.
    scale: Constexpr = 4.6566127342e-10 if narrow else 1.0842020432385337e-19
    return core.where(signed < 0, ~signed, signed) * scale


@LibraryFunction
def rand(seed: Any, offset: Any, n_rounds: Constexpr = 10) -> Any:
    """Random f32, uniform in ``0 <= u < 1``."""
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


@LibraryFunction
def rand4x(seed: Any, offsets: Any, n_rounds: Constexpr = 10) -> Any:
    """Four tiles of random f32, uniform in ``0 <= u < 1``."""
    a, b, c, d = randint4x(seed, offsets, n_rounds)
    return uint_to_uniform_float(a), uint_to_uniform_float(b), uint_to_uniform_float(c), uint_to_uniform_float(d)


@LibraryFunction
def pair_uniform_to_normal(u1: Any, u2: Any) -> Any:
    """Two tiles of uniform numbers as two of normally distributed ones (Box and Muller)."""
    radius = core.sqrt(-2.0 * log(core.maximum(1.0e-7, u1)))
    angle = 6.283185307179586 * u2
    return radius * cos(angle), radius * sin(angle)


@LibraryFunction
def randn(seed: Any, offset: Any, n_rounds: Constexpr = 10) -> Any:
    """Random f32, normally distributed with mean 0 and deviation 1."""
    a, b, _, _ = randint4x(seed, offset, n_rounds)
    first, _ = pair_uniform_to_normal(uint_to_uniform_float(a), uint_to_uniform_float(b))
    return first


@LibraryFunction
def randn4x(seed: Any, offset: Any, n_rounds: Constexpr = 10) -> Any:
    """Four tiles of random f32, normally distributed with mean 0 and deviation 1."""
    u1, u2, u3, u4 = rand4x(seed, offset, n_rounds)
    n1, n2 = pair_uniform_to_normal(u1, u2)
    n3, n4 = pair_uniform_to_normal(u3, u4)
    return n1, n2, n3, n4
