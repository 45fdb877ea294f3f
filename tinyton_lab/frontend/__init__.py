"""The front end: a kernel's Python source to tile IR. It knows what constructs mean, and no engine."""

from __future__ import annotations

from tinyton_lab.base.reading import read_source
from tinyton_lab.frontend.lower import Lowered, arguments_at_run_time, lower
from tinyton_lab.frontend.reached import Reached
from tinyton_lab.frontend.signature import ArgumentType, Bundle, Constant, Runtime
from tinyton_lab.frontend.source_ast import ParsedFunction, parse
from tinyton_lab.frontend.stages import located, source_stages
from tinyton_lab.frontend.tiny_ton_rules import DIALECTS

__all__ = [
    "DIALECTS", "ArgumentType", "Bundle", "Constant", "Lowered", "ParsedFunction", "Reached", "Runtime",
    "arguments_at_run_time", "located", "lower", "parse", "read_source", "source_stages",
]  # fmt: skip
