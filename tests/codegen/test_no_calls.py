"""Native code of math functions calls nothing outside itself: no C library, no compiler runtime, on any processor."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.accuracy import DOMAINS, KERNELS, function_of
from tests.codegen.native_runs import machines
from tests.codegen.simulation import tile_ir
from tinyton_lab.codegen.cpu import compile
from tinyton_lab.language.extra import libdevice
from tinyton_lab.llvm import native

EXACT = {
    "fmod": 2, "remainder": 2, "nextafter": 2, "fdim": 2, "copysign": 2, "round": 1, "rint": 1, "trunc": 1, "floor": 1,
    "ceil": 1, "logb": 1, "add_rz": 2, "mul_ru": 2, "div_rd": 2, "fma_rz": 3, "sqrt_rd": 1, "fma": 3, "saturatef": 1,
}  # fmt: skip
FUNCTIONS = {name: len(domains) for name, domains in DOMAINS.items()} | EXACT
CALL = re.compile(r"^\s+(?:callq?|jmp|bl?)\s+\"?([A-Za-z_][\w.$]*)", re.MULTILINE)


MACHINE = machines()[-1]  # code for this processor itself is looked through whenever it is linked


def arrays(count: int, dtype: Any) -> dict[str, Any]:
    return {name: np.ones(64, dtype) for name in (*"xyzw"[:count], "out")}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_symbol_is_undefined(name: str, dtype: Any):
    count, machine = FUNCTIONS[name], MACHINE
    arguments = arrays(count, dtype) | {"FUNCTION": function_of(name), "BLOCK": 64}
    function = tile_ir(KERNELS[count], arguments, "cpu", math="full")
    session = native.session(machine)
    module = session.optimised(compile(function, True, machine).text)
    assembly = session.target.emit_assembly(module)
    assert [name for name in CALL.findall(assembly) if f"\n{name}:" not in assembly] == []


def test_every_function_of_floats_is_looked_at():
    assert [name for name in FUNCTIONS if not hasattr(libdevice, name)] == []
