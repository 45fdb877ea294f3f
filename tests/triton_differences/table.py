"""The stored answers: what Triton's interpreter gave, how far this package is from it, and the versions of both."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.triton_differences.inputs import HALVES, operands
from tests.triton_differences.kernels import Case
from tests.triton_differences.reasons import CLOSE, NOT_COMPARED, reason
from tests.triton_differences.sides import Answer, canonical
from tests.triton_differences.tile_cases import CASES

PATH = Path(__file__).with_name("answers.json")


@dataclass(frozen=True, slots=True)
class Entry:
    """One case in one dtype.

    `triton` and `ours` are digests, one for each half of the values, or the words of an error. `ulp` is the greatest
    distance where both are finite; `sample` shows the first lane that differs.
    """

    triton: str
    ours: str
    ulp: int | None = None
    sample: str = ""

    @property
    def verdict(self) -> str:
        """equal, close, different, refused (Triton's interpreter gives no answer), neither, or lacking (we do not)."""
        missing = ("refused", "lacking", "neither")
        lost = is_error(self.triton) + 2 * is_error(self.ours)
        if lost:
            return missing[lost - 1]
        if self.triton == self.ours:
            return "equal"
        return "close" if self.ulp is not None and self.ulp <= CLOSE else "different"


def is_error(words: str) -> bool:
    return ":" in words


def keys() -> Iterator[tuple[str, Case, str]]:
    """All that is compared: key, case, dtype."""
    for case in CASES:
        for dtype in case.dtypes:
            yield case.key(dtype), case, dtype


def name_of(key: str) -> str:
    return key.partition(": ")[0]


def digest(answer: Answer) -> str:
    """Digests of an answer's halves, or the kind of error that stands for it."""
    if isinstance(answer, str):
        return answer
    return " ".join(hashlib.sha256(canonical(half)).hexdigest()[:12] for half in answer)


def compared(case: Case, dtype: str, ours: Answer, theirs: Answer) -> Entry:
    """The entry of two answers."""
    if isinstance(ours, str) or isinstance(theirs, str) or digest(ours) == digest(theirs):
        return Entry(digest(theirs), digest(ours))
    pairs = list(zip(ours, theirs, strict=True))
    distances = [distance(mine, other) for mine, other in pairs]
    far = None if None in distances else max(d for d in distances if d is not None)
    return Entry(digest(theirs), digest(ours), far, _sample(case, dtype, pairs))


def distance(x: np.ndarray, y: np.ndarray) -> int | None:
    """The greatest distance in units in the last place; None for integers, or where only one is NaN or infinite."""
    if x.dtype.kind in "iub" or x.itemsize == 1:
        return None
    with np.errstate(all="ignore"):
        wide = [values.astype(np.float64) for values in (x, y)]
    finite = np.isfinite(wide[0])
    if (finite != np.isfinite(wide[1])).any() or canonical(x[~finite]) != canonical(y[~finite]):
        return None
    places = [_places(values[finite]) for values in (x, y)]
    return int(max(abs(places[0] - places[1]), default=0))


def _places(x: np.ndarray) -> np.ndarray:
    """The numbers of floats in their order, as Python integers; both zeros are 0."""
    bits = x.view(f"i{x.itemsize}").astype(object)
    return np.where(bits < 0, -(bits + 2 ** (8 * x.itemsize - 1)), bits)


def _sample(case: Case, dtype: str, pairs: list[tuple[np.ndarray, np.ndarray]]) -> str:
    """The operands and both results of the first lane that differs."""
    for half, (mine, other) in enumerate(pairs):
        for lane in range(len(mine)):
            if canonical(mine[lane : lane + 1]) != canonical(other[lane : lane + 1]):
                x, y, z = (str(values[half * len(mine) + lane]) for values in operands(dtype))
                read = _names(case.body)
                shown = [f"{name} = {value}" for name, value in (("x", x), ("y", y), ("z", z)) if name in read]
                place = ", ".join(shown) if shown else f"element {lane}"
                return f"{place}: {mine[lane]}, Triton {other[lane]}"
    raise RuntimeError(f"{case.key(dtype)}: no lane differs in {HALVES}")


def _names(body: str) -> set[str]:
    """The operands that an expression reads lane by lane."""
    plain = not any(word in body for word in ("tl.store", "softmax", "gather", "j)"))
    return set(re.findall(r"\b[xyz]\b", body)) if plain else set()


def load() -> tuple[dict[str, Entry], dict[str, Any]]:
    """The stored entries by key, and what they were made with."""
    stored = json.loads(PATH.read_text(encoding="utf-8"))
    return {key: Entry(*row) for key, row in stored["entries"].items()}, stored["made_with"]


def save(entries: dict[str, Entry], made_with: dict[str, Any]) -> None:
    rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(_row(entry))}" for key, entry in entries.items())
    head = json.dumps(made_with, indent=1)
    PATH.write_text(f'{{"made_with": {head},\n"entries": {{\n{rows}\n}}}}\n', encoding="utf-8", newline="\n")


def _row(entry: Entry) -> list[Any]:
    row: list[Any] = [entry.triton, entry.ours, entry.ulp, entry.sample]
    while row[-1] in (None, ""):
        row.pop()
    return row


def complaints(entries: dict[str, Entry], made_with: dict[str, Any]) -> list[str]:
    """What a table must not hold: a name nobody compares, a difference without a reason, an answer we lack."""
    wanted = {key for key, _, _ in keys()}
    found = [f"{key}: not compared yet" for key in sorted(wanted - set(entries))]
    found += [f"{key}: no longer a case" for key in sorted(set(entries) - wanted)]
    names = {name_of(key) for key in entries}
    lost = [name for name in made_with["names"] if name not in names | set(NOT_COMPARED)]
    found += [f"{name}: a public name without a case" for name in lost]
    for key, entry in entries.items():
        if entry.verdict == "lacking":
            found.append(f"{key}: {entry.ours}")
        if entry.verdict == "different" and reason(key) is None:
            found.append(f"{key}: differs without a reason ({entry.sample})")
    return found


def strayed(mine: dict[str, Answer]) -> list[str]:
    """Where this side gives something else than what is stored."""
    stored, _ = load()
    return [
        f"{key}: stored {stored[key].ours}, now {digest(answer)}"
        for key, answer in mine.items()
        if key in stored and not _alike(stored[key].ours, digest(answer))
    ]


def _alike(before: str, now: str) -> bool:
    """Whether two answers are the same; errors are when both are."""
    return before == now or (is_error(before) and is_error(now))
