"""Damages PTX texts at random: bytes, tokens, lines, nesting, numbers, names. Parses nothing."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

TOKEN = re.compile(r'[%$\w.:]+|"[^"\n]*"|\S')
WORDS = (
    "", "%r1", "%rd1", "%p1", "0", "-1", "{", "}", "[", "]", "(", ")", "<", ">", ",", ";", ":", "|", "!", "@", "@!",
    "=", "+", "1.5", "_", "0x", "0f3F800000", "0f1", ".b32", ".reg", ".pred", ".param", ".shared", ".align",
    ".loc 1 1 1", ".func f()", ".entry k()", ".visible", ".version 8.0", ".target sm_80", "ld.global.b32", "bra",
    "//", "/*", "*/", '"', "\\", "\x00", "é", "\ufeff", "\r", ".section .debug {", ".branchtargets", ".callprototype",
    "%tid.x", "call",
    "ret;",
)  # fmt: skip
NUMBERS = (
    "0x7fffffff", "0xffffffffffffffff", "18446744073709551616", "9" * 40, "1" + "0" * 5000, "-" + "9" * 30,
    "0x" + "f" * 999, "1e999", "1e-999", "0d7FF8000000000000", "0b" + "1" * 400, "08", "2147483648", "65536",
    "1099511627776",
)  # fmt: skip


def portion(text: str, chance: random.Random, lines: int = 60) -> str:
    """The head of a text and some lines of its body, so that most damage is read soon; now and then the whole."""
    rows = text.split(".section")[0].split("\n")
    if chance.random() < 0.03 or len(rows) < 2 * lines:
        return "\n".join(rows)
    opening = next((n for n, row in enumerate(rows) if row.strip() == "{"), lines // 2)
    first = chance.randrange(opening, len(rows))
    return "\n".join([*rows[: min(opening + 1, lines)], *rows[first : first + lines], "}"])


def by_byte(text: str, chance: random.Random) -> str:
    """One character dropped, doubled or replaced by any other."""
    at = chance.randrange(len(text) + 1)
    any_character = chr(chance.choice((chance.randrange(128), chance.randrange(0x3000))))
    new = chance.choice(("", text[at : at + 1] * 2, any_character))
    return text[:at] + new + text[at + 1 :]


def by_token(text: str, chance: random.Random) -> str:
    """One token dropped, doubled, exchanged with another, or replaced."""
    tokens = [found.span() for found in TOKEN.finditer(text)]
    if not tokens:
        return chance.choice(WORDS)
    first, last = chance.choice(tokens)
    word, other = text[first:last], text[slice(*chance.choice(tokens))]
    new = chance.choice(("", f"{word} {word}", other, chance.choice(WORDS), chance.choice(WORDS)))
    return text[:first] + new + text[last:]


def by_modifier(text: str, chance: random.Random) -> str:
    """The modifiers of one opcode shuffled, or one of them lost."""
    opcodes = [found.span() for found in re.finditer(r"\b[a-z]\w*+(?:\.[\w:]++)++", text)]
    if not opcodes:
        return text
    first, last = chance.choice(opcodes)
    parts = text[first:last].split(".")
    if chance.random() < 0.5:
        del parts[chance.randrange(len(parts))]
    else:
        chance.shuffle(parts)
    return text[:first] + ".".join(parts) + text[last:]


def by_line(text: str, chance: random.Random) -> str:
    """One line lost, doubled, or moved; or a stretch of lines lost."""
    rows = text.split("\n")
    at, to = chance.randrange(len(rows)), chance.randrange(len(rows))
    kind = chance.randrange(4)
    if kind == 0:
        del rows[at]
    elif kind == 1:
        rows.insert(at, rows[at])
    elif kind == 2:
        rows.insert(to, rows.pop(at))
    else:
        del rows[min(at, to) : max(at, to)]
    return "\n".join(rows)


def by_number(text: str, chance: random.Random) -> str:
    """One number replaced by one that is far too large, or odd."""
    numbers = [found.span() for found in re.finditer(r"\b\d\w*", text)]
    if not numbers:
        return text
    first, last = chance.choice(numbers)
    return text[:first] + chance.choice(NUMBERS) + text[last:]


def by_nesting(text: str, chance: random.Random) -> str:
    """Braces, brackets or scopes inside each other, at any place, many of them."""
    at, count = chance.randrange(len(text) + 1), chance.choice((2, 10, 63, 64, 65, 300, 3000))
    opening, closing = chance.choice(("{}", "()", "[]", ("{ .reg .b32 q; ", "}"), ("/*", "*/"), ("-", ""), ("a: ", "")))
    return text[:at] + opening * count + closing * chance.choice((0, count, count - 1)) + text[at:]


def by_length(text: str, chance: random.Random) -> str:
    """One very long name, modifier, list or line."""
    at, count = chance.randrange(len(text) + 1), chance.choice((100, 1000, 20_000))
    word = chance.choice(("x", ".b32", "%r1, ", "a.", "/", " ", "\n", "1", "_", "$", "\\x", ";"))
    return text[:at] + word * count + text[at:]


KINDS: tuple[Callable[[str, random.Random], str], ...] = (
    by_byte, by_byte, by_token, by_token, by_token, by_modifier, by_line, by_line, by_number, by_nesting, by_length,
)  # fmt: skip


def damaged(texts: Sequence[str], seed: int) -> str:
    """One of the texts with one to three of its parts broken.

    >>> damaged(["add.s32 a, b, c;"], 1) == damaged(["add.s32 a, b, c;"], 1)
    True
    """
    chance = random.Random(seed)
    text = portion(chance.choice(texts), chance)
    for _ in range(chance.choice((1, 1, 2, 3))):
        text = chance.choice(KINDS)(text, chance)
    return text
