"""What Python and TypeScript must agree on, written to a golden that the front end's tests read as well."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from tests.record.fixtures import recording, vadd
from tinyton_lab.record import schema, steps
from tinyton_lab.record.provenance import KINDS, Provenance


def closures() -> list[dict[str, Any]]:
    """Random edges, selections and the ops that light up; circles, ends (0) and double edges included."""
    chance = random.Random(7)
    cases: list[dict[str, Any]] = []
    for size in (1, 3, 8, 20, 40):
        edges = [(chance.randrange(size), chance.randrange(size), chance.choice(KINDS)) for _ in range(2 * size)]
        provenance = Provenance(list(edges))
        chosen = sorted({chance.randrange(size) for _ in range(2)})
        cases.append(
            {
                "json": {
                    "kinds": list(KINDS),
                    "child": [child for child, _, _ in edges],
                    "parent": [parent for _, parent, _ in edges],
                    "kind": [KINDS.index(kind) for _, _, kind in edges],
                },
                "chosen": chosen,
                "ancestors": sorted(provenance.ancestors(chosen)),
                "descendants": sorted(provenance.descendants(chosen)),
                "kin": sorted(provenance.kin(chosen)),
            }
        )
    return cases


def lanes() -> list[dict[str, Any]]:
    values: list[list[Any]] = [[7] * 32, list(range(0, 128, 4)), [lane * lane for lane in range(32)], [True] * 32]
    values.append([float("inf"), float("nan"), -0.5, 2**60] * 8)
    return [{"packed": steps.pack_lanes(value), "shown": [_shown(each) for each in value]} for value in values]


def _shown(value: Any) -> Any:
    packed = steps.pack_lanes([value])
    return packed[0] if isinstance(packed, list) else None


def test_the_vectors_are_those_of_the_front_end(golden: Callable[[str], object]) -> None:
    compilation = vadd()
    vectors = {
        "closures": closures(),
        "lanes": lanes(),
        "texts": {name: stage.text.rstrip("\n").split("\n") for name, stage in compilation.stages.items()},
        "uids": {name: [list(uids) for uids in stage.lines] for name, stage in compilation.stages.items()},
        "record": schema.encode(compilation, recording()),
    }
    assert json.dumps(vectors, indent=None, allow_nan=False) + "\n" == golden("record/vectors.json")
