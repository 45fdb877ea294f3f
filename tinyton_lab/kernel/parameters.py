"""The parameters of a kernel: which are compile-time, which carry a dtype, and how call arguments bind to them."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tinyton_lab.base.diagnostics import error
from tinyton_lab.base.dtypes import DType, of_short
from tinyton_lab.base.protocol import Constexpr, DeviceFunction
from tinyton_lab.frontend.signature import Bundle

LAUNCH_OPTIONS = frozenset(
    {
        "num_warps", "num_stages", "num_ctas", "maxnreg", "backend", "checked", "math", "fp_fusion", "enable_fp_fusion",
        "target", "debug", "launch_pdl", "launch_cooperative_grid", "allow_fp8e4nv", "sanitize_overflow", "arch",
        "instrumentation_mode", "record", "metrics", "sanitize", "simulator", "model", "poison", "reachable",
    }
)  # fmt: skip
REACHABLE = "reachable"
"""The launch option that lists arrays which a kernel reaches through addresses in memory."""
MISSING = inspect.Parameter.empty
NO_OPTIONS: dict[str, Any] = {}


class KernelShape(DeviceFunction, Protocol):
    """A kernel as its specialisations see it."""

    name: str
    parameters: tuple[KernelParameter, ...]
    bundles: tuple[tuple[str, Bundle], ...]


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """One parameter: `constexpr` ones are part of the code, `dtype` is the type a scalar annotation asks for."""

    name: str
    constexpr: bool
    dtype: DType | None = None
    default: Any = MISSING
    specialise: bool = True
    specialise_alignment: bool = True


def read_parameters(
    function: Callable[..., Any],
    do_not_specialize: Sequence[int | str] = (),
    do_not_specialize_on_alignment: Sequence[int | str] = (),
) -> tuple[KernelParameter, ...]:
    """Read a kernel's signature. Raises TT3001 for ``*args`` and ``**kwargs``."""
    found: list[KernelParameter] = []
    for index, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise error("TT3001", kernel=function.__name__, name=str(parameter))
        meaning = _annotation(parameter.annotation, function.__globals__)
        listed = {index, parameter.name}
        found.append(
            KernelParameter(
                parameter.name,
                meaning is Constexpr,
                meaning if isinstance(meaning, DType) else None,
                parameter.default,
                not listed & set(do_not_specialize),
                not listed & set(do_not_specialize_on_alignment),
            )
        )
    return tuple(found)


def _annotation(annotation: Any, names: Mapping[str, Any]) -> Any:
    """What an annotation means: Constexpr, a dtype, or None. Strings are looked up, never evaluated."""
    if isinstance(annotation, str):
        head, *rest = annotation.strip("'\"").split(".")
        found = names.get(head)
        for attribute in rest:
            found = getattr(found, attribute, None)
        annotation = found if found is not None else of_short(annotation.strip("'\""))
    if annotation is Constexpr or isinstance(annotation, DType):
        return annotation
    return None


class Binder:
    """Bind call arguments like Python does: positions, keywords, defaults; what is left over are launch options."""

    def __init__(self, kernel: str, parameters: tuple[KernelParameter, ...]) -> None:
        self.kernel, self.parameters = kernel, parameters
        self.names = tuple(parameter.name for parameter in parameters)
        self._places = {name: index for index, name in enumerate(self.names)}
        self._count = len(parameters)
        self._tails: dict[tuple[str, ...], int] = {}  # keywords that just go on after so many positions

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        """Give one value per parameter, in order, and the launch options.

        Raises TT3002 (missing), TT3003 (too many or twice), TT3004 (unknown keyword).
        """
        given = len(args)
        if given == self._count and not kwargs:
            return args, kwargs
        keywords = tuple(kwargs)
        if self._tails.get(keywords) == given:
            return args + tuple(kwargs.values()), NO_OPTIONS
        if self.names[given:] == keywords:
            self._tails[keywords] = given
        if given > self._count:
            raise error("TT3003", kernel=self.kernel, what=f"takes {self._count} arguments, got {given}")
        values = [*args, *(parameter.default for parameter in self.parameters[given:])]
        options: dict[str, Any] = {}
        for name, value in kwargs.items():
            place = self._places.get(name)
            if place is None:
                options[self._option(name)] = value
            elif place < given:
                raise error("TT3003", kernel=self.kernel, what=f"got the argument {name!r} twice")
            else:
                values[place] = value
        missing = [p.name for p, value in zip(self.parameters[given:], values[given:], strict=True) if value is MISSING]
        if missing:
            raise error("TT3002", kernel=self.kernel, names=", ".join(missing))
        return values, options

    def _option(self, name: str) -> str:
        if name in LAUNCH_OPTIONS:
            return name
        close = difflib.get_close_matches(name, [*self.names, *LAUNCH_OPTIONS], 1)
        hint = f"did you mean {close[0]!r}?" if close else f"its parameters are {', '.join(self.names)}"
        raise error("TT3004", kernel=self.kernel, name=name, hint=hint)
