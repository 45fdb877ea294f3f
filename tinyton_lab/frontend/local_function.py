"""Functions that a kernel makes itself, lambdas and nested ones: what they are made of, and how arguments bind."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tinyton_lab.frontend.frame import Frame
from tinyton_lab.frontend.source_ast import ParsedFunction


class LocalFunction:
    """A function that sees the names of the function around it, with the values they have when it is called."""

    def __init__(
        self, frame: Frame, parsed: ParsedFunction, defaults: Sequence[Any], named: Mapping[str, Any], dialect: str
    ) -> None:
        self.frame, self.parsed, self.dialect = frame, parsed, dialect
        self.__name__ = parsed.name
        self.signature = _signature(parsed, defaults, named)

    @property
    def function(self) -> Callable[..., Any]:
        """The Python function in whose text it stands."""
        return self.parsed.function


def _signature(parsed: ParsedFunction, defaults: Sequence[Any], named: Mapping[str, Any]) -> inspect.Signature:
    given, empty = parsed.node.args, inspect.Parameter.empty
    positions = [*given.posonlyargs, *given.args]
    values = [empty] * (len(positions) - len(defaults)) + list(defaults)
    kinds = [inspect.Parameter.POSITIONAL_ONLY] * len(given.posonlyargs)
    kinds += [inspect.Parameter.POSITIONAL_OR_KEYWORD] * len(given.args)
    parameters = [
        inspect.Parameter(argument.arg, kind, default=value) for argument, kind, value in zip(positions, kinds, values)
    ]
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters += [
        inspect.Parameter(argument.arg, keyword, default=named.get(argument.arg, empty))
        for argument in given.kwonlyargs
    ]
    return inspect.Signature(parameters)
