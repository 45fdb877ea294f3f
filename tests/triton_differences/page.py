"""The page that tells where kernels give other results in Triton's interpreter, from the stored table."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.triton_differences.reasons import CLOSE, NOT_COMPARED, REASONS, reason
from tests.triton_differences.table import Entry, load, name_of
from tinyton_lab.reference.pages import code, table

PATH = Path(__file__).parents[2] / "docs" / "reference" / "triton_differences.md"


def text() -> str:
    """The page."""
    entries, made_with = load()
    versions = ", ".join(f"{name} {version}" for name, version in made_with.items() if name != "names")
    count = {word: sum(entry.verdict == word for entry in entries.values()) for word in _WORDS}
    head = (
        "<!-- Generated from tests/triton_differences by `python -m tests.triton_differences --write`. -->\n\n"
        "# Differences from Triton's interpreter\n\n"
        f"{len(entries)} kernels, among them one or more for every public name of `triton.language` and every method "
        "of its tensors, each in the dtypes it is for, ran here and in Triton's interpreter (`TRITON_INTERPRET=1`), on "
        "every pair of sixteen odd values (zeros, infinities, NaN, the ends of integers) and on random ones. "
        f"Triton's answers were made with {versions}.\n\n"
        "    python -m tests.triton_differences          # compare again, with Triton where it is installed\n\n"
        + table(["result", "kernels"], [(words, count[word]) for word, words in _WORDS.items()])
    )
    parts = [head, _equal(entries), _close(entries), _different(entries), _refused(entries), _left_out()]
    return "\n\n".join(parts) + "\n"


_WORDS = {
    "equal": "the same bits",
    "close": f"within {CLOSE} units in the last place",
    "different": "different, for a reason below",
    "refused": "not run by Triton's interpreter",
    "neither": "run by neither interpreter",
}


def _grouped(entries: Iterable[str]) -> dict[str, list[str]]:
    """Dtypes by name and label, in the order of the table."""
    found: dict[str, list[str]] = {}
    for key in entries:
        what, _, dtype = key.removesuffix("]").rpartition(" [")
        found.setdefault(what, []).append(dtype)
    return found


def _of(entries: dict[str, Entry], verdict: str) -> list[str]:
    return [key for key, entry in entries.items() if entry.verdict == verdict]


def _equal(entries: dict[str, Entry]) -> str:
    names = list(dict.fromkeys(map(name_of, entries)))
    whole = [name for name in names if all(e.verdict == "equal" for k, e in entries.items() if name_of(k) == name)]
    return "## The same bits in every dtype\n\n" + ", ".join(map(code, whole)) + "."


def _close(entries: dict[str, Entry]) -> str:
    rows: list[tuple[str, str, str, int]] = []
    for what, dtypes in _grouped(_of(entries, "close")).items():
        name, _, label = what.partition(": ")
        far = max(entries[f"{what} [{dtype}]"].ulp or 0 for dtype in dtypes)
        rows.append((code(name), code(label), ", ".join(dtypes), far))
    introduction = (
        "Functions that are approximations on both sides: numpy's there, here the ones whose accuracy stands in "
        "[language.md](../language.md). 0 is a difference in the sign of a zero."
    )
    header = ["name", "what", "dtypes", "units in the last place"]
    return f"## Within {CLOSE} units in the last place\n\n{introduction}\n\n" + table(header, rows)


def _different(entries: dict[str, Entry]) -> str:
    blocks = ["## Different"]
    found = _of(entries, "different")
    for row in REASONS:
        mine = [key for key in found if reason(key) is row]
        lines = [
            (
                code(what.partition(": ")[0]),
                code(what.partition(": ")[2]),
                ", ".join(dtypes),
                entries[f"{what} [{dtypes[0]}]"].sample,
            )
            for what, dtypes in _grouped(mine).items()
        ]
        header = ["name", "what", "dtypes", "for example"]
        blocks.append(f"### {row.title}\n\n{row.text}\n\n" + table(header, lines))
    return "\n\n".join(blocks)


def _refused(entries: dict[str, Entry]) -> str:
    rows = [
        (
            code(what.partition(": ")[0]),
            code(what.partition(": ")[2]),
            ", ".join(dtypes),
            code(_said(entries[f"{what} [{dtypes[0]}]"])),
        )
        for verdict in ("refused", "neither")
        for what, dtypes in _grouped(_of(entries, verdict)).items()
    ]
    introduction = (
        "Triton's interpreter stops here; `libdevice` and inline assembly it does not have at all. Inline assembly "
        "runs here in the simulator and on a GPU; `//` of floats is refused on both sides; all others give what "
        "[language.md](../language.md) says."
    )
    return f"## Not run by Triton's interpreter\n\n{introduction}\n\n" + table(
        ["name", "what", "dtypes", "it says"], rows
    )


def _said(entry: Entry) -> str:
    words = entry.triton.replace("InterpreterError: ", "").replace("`", "'")
    return words if len(words) <= 90 else words[:90] + "..."


def _left_out() -> str:
    rows = [(code(name), what) for name, what in NOT_COMPARED.items()]
    return "## Not compared\n\n" + table(["name", "what it is"], rows)
