"""The file format of recordings: exact, small, and never a crash on bytes that are something else."""

from __future__ import annotations

import json
import random
import struct
import zlib
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

from tests.record.fixtures import recording
from tests.sim import corpus
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.record import columns
from tinyton_lab.record.events import Access, Movement, Step
from tinyton_lab.record.recording import Recording

LANES: list[tuple[Any, ...]] = [
    tuple(range(32)),
    tuple(range(0, -32, -1)),
    (True, False) * 16,
    (0.0, -0.0) * 16,
    (1.5,) * 32,
    (0.1, float("inf")) * 16,
    (2**64 - 1,) * 32,
    tuple(2**63 + 7 * n for n in range(32)),
    tuple(-(2**62) + n for n in range(32)),
    (2**31, -(2**31)) * 16,
    (1 + 2j, 0j) * 16,
]


def made() -> Recording:
    steps = [
        Step(n, (n, 0, 1), n, n, n, f"op {n}", 5, ((f"%r{n}", values), ("%p", (n > 3,) * 32)), None, "", ("%a", "%b"))
        for n, values in enumerate(LANES)
    ]
    wide = Access("shared", "store", "shared", 16, (-1, *range(0, 31 * 16, 16)), (2**128 - 1, *range(31)))
    runs = ((0, 4096, 6), (-1, 4102, 1))
    moved = Movement(3, ("global", "x"), ("shared", "shared"), runs, b"abcdefg", True)
    before = Access("global", "load", "y", 1, tuple(range(32)))
    last = Step(
        99, (0, 0, 0), 0, 1, 0, "st", 0xFFFFFFFF, (), wide, "barrier 0", more=(before,), movements=(moved, moved)
    )
    steps.append(last)
    return Recording("k", "ret;", (2, 3, 4), (32, 1, 1), steps, places={3: "k.py:1:2: x"})


def same(left: Recording, right: Recording) -> bool:
    return repr(astuple(left)) == repr(astuple(right))


@pytest.mark.parametrize("made", [made, recording, lambda: Recording("k", "", (1, 1, 1), (1, 1, 1))])
def test_a_recording_comes_back_as_it_was(made: Any, tmp_path: Path):
    before = made()
    before.save(tmp_path / "a.ttrec")
    assert same(Recording.load(tmp_path / "a.ttrec"), before)


def test_one_cta_of_flash_attention_takes_less_than_a_megabyte(tmp_path: Path):
    launch, _ = corpus.run("triton/flash_fwd_fp16_causal@80", record="warp", recorded_ctas=1)
    before = launch.recording
    assert before is not None and len(before.steps) > 3000
    assert before.save(tmp_path / "flash.ttrec") <= 1 << 20
    assert same(Recording.load(tmp_path / "flash.ttrec"), before)


def refused(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(TinytonError) as caught:
        Recording.load(path)
    assert caught.value.code == "TT6060"
    return str(caught.value)


def test_what_is_cut_off_or_changed_is_refused(tmp_path: Path):
    path = tmp_path / "x.ttrec"
    size = made().save(path)
    whole = path.read_bytes()
    for length in (0, 1, 8, 23, 24, size // 2, size - 1):
        assert "x.ttrec" in refused(path, whole[:length])
    chance = random.Random(5)
    for _ in range(200):
        at = chance.randrange(size)
        refused(path, whole[:at] + bytes([whole[at] ^ chance.randrange(1, 256)]) + whole[at + 1 :])
    assert "version 3" in refused(path, whole[:8] + b"\3" + whole[9:])
    refused(path, whole + b"more")
    with pytest.raises(TinytonError):
        Recording.load(tmp_path / "absent.ttrec")


def rebuilt(head: Any, body: bytes, length: int | None = None) -> bytes:
    """A file whose checksum is right."""
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    packed = zlib.compress(text)
    rest = packed + body
    start = columns.MAGIC, columns.VERSION, len(text) if length is None else length, len(packed), zlib.crc32(rest)
    return struct.pack("<8sIIII", *start) + rest


def test_a_right_checksum_does_not_make_wrong_content_pass(tmp_path: Path):
    path = tmp_path / "x.ttrec"
    made().save(path)
    whole = path.read_bytes()
    _, _, _, packed, _ = struct.unpack_from("<8sIIII", whole)
    head, body = json.loads(zlib.decompress(whole[24 : 24 + packed])), whole[24 + packed :]
    assert rebuilt(head, body)[:8] == whole[:8] and len(Recording.load(path).steps) == 12
    for key in head:
        for wrong in (None, 5, "x", [[1, 2, 3, 4]], {"a": None}, [[1e308, -1, 2]]):
            if key not in ("kernel", "ptx", "level"):
                refused(path, rebuilt({**head, key: wrong}, body))
        refused(path, rebuilt({k: v for k, v in head.items() if k != key}, body))
    for name in head["tables"]:
        refused(path, rebuilt({**head, "tables": {**head["tables"], name: []}}, body))
    for wrong in (b"[" * 100_000, b"\xff\xfe", b"[]", b"1", b""):
        refused(path, rebuilt(wrong, body))


def test_a_bomb_is_not_unpacked(tmp_path: Path):
    bomb = zlib.compress(bytes(1 << 24))
    sizes = [["index", 4, len(bomb)]]
    refused(tmp_path / "a", rebuilt({"columns": sizes, "tables": {}}, bomb))
    refused(tmp_path / "b", rebuilt({"columns": [["index", 1 << 40, len(bomb)]], "tables": {}}, bomb))
    refused(tmp_path / "c", rebuilt({}, b"", 1 << 31))
