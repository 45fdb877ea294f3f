"""Random kernels give the same bits on the interpreter, in eager mode and on the native engine: the first thousand."""

from __future__ import annotations

import pytest

from tests.fuzz.chunks import CHUNK, chunks, differing


@pytest.mark.parametrize("first", chunks(0, 1000))
def test_engines_agree(first: int) -> None:
    assert differing(first, CHUNK) == []
