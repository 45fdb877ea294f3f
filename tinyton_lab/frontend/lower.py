"""Lower a kernel: bind its arguments, lower its body, inline the functions it calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import Signature
from typing import Any

from tinyton_lab.base.diagnostics import TinytonError, depth_limited, error
from tinyton_lab.base.protocol import DeviceFunction
from tinyton_lab.base.source import Span
from tinyton_lab.frontend.branches import kind_of
from tinyton_lab.frontend.emitter import IrEmitter
from tinyton_lab.frontend.frame import Frame
from tinyton_lab.frontend.local_function import LocalFunction
from tinyton_lab.frontend.reached import Reached
from tinyton_lab.frontend.rules import Rules
from tinyton_lab.frontend.signature import ArgumentType, Bundle, Constant, Runtime
from tinyton_lab.frontend.source_ast import ParsedFunction, parse
from tinyton_lab.frontend.statements import Returned, execute
from tinyton_lab.frontend.tiny_ton_rules import DIALECTS
from tinyton_lab.ir.core import Function, Parameter
from tinyton_lab.language.builtin import instead
from tinyton_lab.language.emission import static, unwrap
from tinyton_lab.language.value import EMITTER, make

DEEPEST = 64  # calls within calls
DEFAULT_WARPS = 4


@dataclass(frozen=True, slots=True)
class Lowered:
    """A kernel as tile IR, what its code depends on besides its arguments, and what of it has no effect here."""

    function: Function
    reached: Reached
    remarks: tuple[TinytonError, ...]


class Lowering:
    """One kernel while it is lowered."""

    def __init__(self, function: Function, rules: Rules) -> None:
        self.emitter = IrEmitter(function, rules.dialect, self._call)
        self.rules = rules
        self.reached = Reached()
        self.stack: list[tuple[Any, Span | None]] = []

    def _call(self, function: Any, args: Any, keywords: Mapping[str, Any]) -> Any:
        return self.inline(function, tuple(args), dict(keywords))

    def inline(self, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Lower a call at the place at work. Raises TT1004 for recursion, TT1007 for arguments that do not bind."""
        site = self.emitter.span
        if not isinstance(function, DeviceFunction):
            raise error("TT1005", site, name=getattr(function, "__name__", str(function)), hint=instead(function))
        if isinstance(function, LocalFunction):
            return self._inline_local(function, site, args, keywords)
        python = function.function
        if function.dialect != self.rules.dialect and not self._neutral(function):
            own = self.rules.dialect
            kernel = self.stack[0][0].__name__
            raise error("TT1017", site, name=python.__name__, dialect=function.dialect, kernel=kernel, own=own)
        self._check_depth(python, site)
        parsed = parse(python)
        frame = Frame(self, parsed, site)
        for name, value in self._bind(parsed, parsed.signature, site, args, keywords).items():
            frame.bind(name, value, parsed.node)
        returned = self.body(frame)
        self.emitter.span = site
        return None if returned is None else returned.value

    def _inline_local(
        self, function: LocalFunction, site: Span | None, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        self._check_depth(function, site)
        frame = Frame(self, function.parsed, site, around=function.frame)
        for name, value in self._bind(function.parsed, function.signature, site, args, keywords).items():
            frame.bind(name, value, function.parsed.node)
        returned = self.body(frame, function)
        self.emitter.span = site
        return None if returned is None else returned.value

    def remark(self, code: str, span: Span | None) -> None:
        self.emitter.remark(code, span)

    def _neutral(self, function: DeviceFunction) -> bool:
        return function.dialect == "both"

    def _check_depth(self, python: Any, site: Span | None) -> None:
        names = [called.__name__ for called, _ in self.stack]
        if any(called is python for called, _ in self.stack):
            raise error("TT1004", site, name=python.__name__, chain=" -> ".join([*names, python.__name__]))
        if len(self.stack) >= DEEPEST:
            raise error("TT1029", site, depth=DEEPEST, name=python.__name__)

    def body(self, frame: Frame, local: LocalFunction | None = None) -> Returned | None:
        """Lower the body of a function whose names are bound; gives what it returned and where."""
        parsed = frame.parsed
        self.stack.append((local or parsed.function, frame.call_site))
        self.reached.source(parsed.function, parsed.source.text)
        try:
            return execute(frame, parsed.node.body)
        finally:
            self.stack.pop()

    def _bind(
        self,
        parsed: ParsedFunction,
        signature: Signature,
        site: Span | None,
        args: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> dict[str, Any]:
        try:
            bound = signature.bind(*args, **keywords)
        except TypeError as unbound:
            raise error("TT1007", site, name=parsed.name, why=str(unbound), signature=parsed.signature_text) from None
        bound.apply_defaults()
        values = {name: unwrap(value) for name, value in bound.arguments.items()}
        for name in parsed.constexprs & values.keys():
            values[name] = static(values[name], f"the constexpr {name} of {parsed.name}")
        return values


def lower(
    function: DeviceFunction, arguments: Mapping[str, ArgumentType], options: Mapping[str, Any] | None = None
) -> Lowered:
    """Lower a kernel for arguments of given types to tile IR.

    `arguments` maps every parameter to its type or value; `options` become attributes of the function (``num_warps``,
    ``math``, ``fp_fusion``). Faults of the source are TT1xxx and TT2xxx, located in it.
    """
    parsed = parse(function.function)
    runtime = {name: given for name, given in arguments.items() if isinstance(given, Runtime) and given.known is None}
    parameters = [
        Parameter(name, given.tile, given.divisibility, parsed.argument_span(name)) for name, given in runtime.items()
    ]
    attrs = {"num_warps": DEFAULT_WARPS, "dialect": function.dialect, **(options or {})}
    lowering = Lowering(Function(parsed.name, parameters, attrs), DIALECTS[function.dialect])
    frame = Frame(lowering, parsed, None)
    token = EMITTER.set(lowering.emitter)
    try:
        _bind_arguments(frame, arguments)
        with depth_limited(parsed.span(parsed.node), parsed.name):
            returned = lowering.body(frame)
    finally:
        EMITTER.reset(token)
    if returned is not None and returned.value is not None:
        raise error("TT1026", parsed.span(returned.node), name=parsed.name, what=kind_of(returned.value))
    if "num_warps" not in (options or {}):
        lowering.emitter.function.attrs["num_warps"] = warps_for(lowering.emitter.memory.get("lanes"))
    return Lowered(lowering.emitter.function, lowering.reached, tuple(lowering.emitter.remarks))


def warps_for(lanes: int | None) -> int:
    """Warps of a program that asks for none: in tiny-ton's dialect as many as give each lane a thread of its own.

    >>> warps_for(None), warps_for(8), warps_for(100), warps_for(5000)
    (4, 1, 4, 32)
    """
    if lanes is None:
        return DEFAULT_WARPS
    return min(max((1 << (lanes - 1).bit_length()) // 32, 1), 32)


def _bind_arguments(frame: Frame, arguments: Mapping[str, ArgumentType]) -> None:
    values = dict(zip(arguments_at_run_time(arguments), frame.context.emitter.function.body.args, strict=True))
    for name, given in arguments.items():
        node = frame.parsed.argument_node(name)
        if isinstance(given, Bundle):
            frame.bind(name, given.build([frame.names[part] for part in given.parts]), node)
        elif isinstance(given, Constant):
            frame.bind(name, unwrap(given.value), node)
        elif given.known is not None:
            frame.bind(name, make(given.tile, known=given.known), node)
        else:
            frame.bind(name, make(given.tile, values[name]), node)


def arguments_at_run_time(arguments: Mapping[str, ArgumentType]) -> list[str]:
    """The names of the arguments that are parameters of the compiled kernel, in order."""
    return [name for name, given in arguments.items() if isinstance(given, Runtime) and given.known is None]
