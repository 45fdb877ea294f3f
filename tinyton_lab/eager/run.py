"""Run a kernel's body for each program of a grid, as Python that works on tiles. Changes nothing outside the run."""

from __future__ import annotations

import ast
import builtins
import operator
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from types import CodeType, FunctionType
from typing import Any, Protocol

from tinyton_lab.base.diagnostics import error
from tinyton_lab.base.dtypes import DType, int32, promote
from tinyton_lab.base.protocol import Constexpr, DeviceFunction
from tinyton_lab.base.reading import read_source
from tinyton_lab.base.source import Source
from tinyton_lab.eager.emitter import EagerEmitter, wrapped
from tinyton_lab.eager.rewrite import RUNTIME, compile_function
from tinyton_lab.interpreter import Interpreter
from tinyton_lab.ir.core import Function, Parameter
from tinyton_lab.ir.types import Tile
from tinyton_lab.language import core, semantic
from tinyton_lab.language.builtin import BUILTINS, MethodOfValue, instead, is_device_function
from tinyton_lab.language.emission import is_number, number, static_int, to_value
from tinyton_lab.language.python_calls import ON_TILES, known_at_compile_time
from tinyton_lab.language.value import EMITTER, TileValue


class Rules(Protocol):
    """What a dialect gives operators and assignment."""

    @property
    def dialect(self) -> str: ...
    @property
    def binary(self) -> Mapping[type[ast.operator], Callable[[Any, Any], Any]]: ...
    @property
    def compare(self) -> Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]: ...
    @property
    def unary(self) -> Mapping[type[ast.unaryop], Callable[[Any], Any]]: ...
    @property
    def assigned(self) -> Callable[[Any], Any]: ...
    @property
    def constant(self) -> Mapping[type[ast.operator], Callable[[Any, Any], Any]]: ...


def active() -> bool:
    """Whether a kernel is running in eager mode in this context."""
    return isinstance(EMITTER.get(), EagerEmitter)


def run(
    function: DeviceFunction,
    grid: tuple[int, int, int],
    arguments: Mapping[str, Any],
    types: Mapping[str, Tile],
    rules: Rules,
    bundles: Sequence[tuple[str, Bundle]] = (),
    sanitize_overflow: bool = False,
) -> None:
    """Run `function` for every program of `grid`, one after another.

    `arguments` maps each parameter to its value: buffers for pointers, numbers for scalars, anything for what is known
    at compile time; `types` has the type of each parameter that is not; `bundles` tells which of them make one;
    `sanitize_overflow` checks results of signed integers. Faults are located in the kernel's text.
    """
    given = {name: type for name, type in types.items() if arguments[name] is not None}
    parameters = [Parameter(name, type) for name, type in given.items()]
    shell = Function(function.function.__name__, parameters, {"sanitize_overflow": sanitize_overflow})
    machine = Interpreter(shell, grid, [arguments[name] for name in given])
    runtime = Runtime(machine, rules)
    bound = {name: value.value if isinstance(value, Constexpr) else value for name, value in arguments.items()}
    for index, (name, type) in enumerate(given.items()):
        roots = frozenset((index,)) if type.is_pointer else frozenset[int]()
        bound[name] = wrapped(type, machine.scalars[index], roots)
    body = runtime.python(function.function)
    token = EMITTER.set(runtime.emitter)
    try:
        for program in range(prod(grid)):
            runtime.emitter.start(program)
            body(**_bundled(bound, bundles))
    finally:
        EMITTER.reset(token)


def _bundled(bound: Mapping[str, Any], bundles: Sequence[tuple[str, Bundle]]) -> dict[str, Any]:
    """The arguments that the kernel has names for: what was taken apart is put together."""
    values = dict(bound)
    for name, bundle in bundles:
        values[name] = bundle.build([values.pop(part) for part in bundle.parts])
    return {name: value for name, value in values.items() if name.isidentifier()}


class Bundle(Protocol):
    """An argument made of others: `build` makes it of the values of the arguments named `parts`."""

    @property
    def parts(self) -> tuple[str, ...]: ...
    @property
    def build(self) -> Callable[[Sequence[Any]], Any]: ...


_CODE: weakref.WeakKeyDictionary[Callable[..., Any], tuple[CodeType, Source]] = weakref.WeakKeyDictionary()


class Runtime:
    """What rewritten kernels call: the meaning of the constructs that Python cannot override."""

    def __init__(self, machine: Interpreter, rules: Rules) -> None:
        self.rules = rules
        self.emitter = EagerEmitter(machine, rules.dialect, self.call_device)
        self._functions: dict[Callable[..., Any], Callable[..., Any]] = {}

    # Functions
    def python(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function rewritten, over a copy of its globals and closure."""
        if function not in self._functions:
            self._functions[function] = self._make(function)
        return self._functions[function]

    def _make(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if function not in _CODE:
            source = read_source(function)
            _CODE[function] = compile_function(function, source, self.rules.dialect != "triton"), source
        code, source = _CODE[function]
        names = {**function.__globals__, **closure(function)}
        names = {name: value.value if isinstance(value, Constexpr) else value for name, value in names.items()}
        names[RUNTIME] = self
        exec(code, names)
        made: FunctionType = names[function.__code__.co_name]
        names[function.__code__.co_name] = {**function.__globals__, **closure(function)}.get(function.__name__)
        made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        self.emitter.sources[made.__code__] = source
        return made

    def call_device(self, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a function written in the language."""
        if self._made_here(function):
            return function(*args, **keywords)
        if not is_device_function(function):
            name = getattr(function, "__name__", str(function))
            raise error("TT1005", self.emitter.span, name=name, hint=instead(function))
        return self.python(function.function)(*args, **keywords)

    def _made_here(self, callee: Any) -> bool:
        """Whether this is a lambda or a nested function of a kernel."""
        return isinstance(callee, FunctionType) and callee.__globals__.get(RUNTIME) is self

    def call(self, callee: Any, *args: Any, **keywords: Any) -> Any:
        """Any call in a kernel."""
        if isinstance(callee, MethodOfValue):
            return self.call_device(callee.function, (callee.instance, *args), keywords)
        if is_device_function(callee):
            return self.call_device(callee, args, keywords)
        if callee is builtins.range:
            return core.range(*args)
        if callee is builtins.print or callee is breakpoint:
            return callee(*args, **keywords)
        if callee is Constexpr:
            return args[0].value if isinstance(args[0], Constexpr) else args[0]
        if isinstance(callee, TileValue):
            raise error("TT1020", self.emitter.span, what="a value of the kernel", hint="")
        if _hashable(callee) and callee in ON_TILES:
            return ON_TILES[callee](*args, **keywords)
        if self._made_here(callee):
            return callee(*args, **keywords)
        if isinstance(callee, FunctionType) and callee not in BUILTINS and not known_at_compile_time(callee):
            if not callee.__module__.startswith("tinyton_lab."):
                raise error("TT1005", self.emitter.span, name=callee.__name__, hint=instead(callee))
        return callee(*args, **keywords)

    # Conditions
    def logical_and(self, x: Any, then: Callable[[], Any]) -> Any:
        return semantic.logical_and(x, then()) if isinstance(x, TileValue) else x and then()

    def logical_or(self, x: Any, then: Callable[[], Any]) -> Any:
        return semantic.logical_or(x, then()) if isinstance(x, TileValue) else x or then()

    def logical_not(self, x: Any) -> Any:
        return self.rules.unary[ast.Not](x) if isinstance(x, TileValue) else not x

    def compare(self, kinds: tuple[str, ...], *values: Any) -> Any:
        """A chain of comparisons: all of them must hold."""
        result: Any = True
        for kind, x, y in zip(kinds, values, values[1:]):
            outcome = self._compare(kind, x, y)
            result = outcome if result is True else self.logical_and(result, lambda outcome=outcome: outcome)
        return result

    def _compare(self, kind: str, x: Any, y: Any) -> Any:
        rule = self.rules.compare.get(getattr(ast, kind))
        if rule is not None and (isinstance(x, TileValue) or isinstance(y, TileValue)):
            return rule(x, y)
        return _PYTHON_COMPARE[kind](x, y)

    # Operators, where a dialect has its own
    def binary(self, kind: str, x: Any, y: Any) -> Any:
        if isinstance(x, TileValue) or isinstance(y, TileValue):
            return self.rules.binary[getattr(ast, kind)](x, y)
        own = self.rules.constant.get(getattr(ast, kind))
        return (own or _PYTHON_BINARY[kind])(x, y)

    def unary(self, kind: str, x: Any) -> Any:
        if isinstance(x, TileValue):
            return self.rules.unary[getattr(ast, kind)](x)
        return {"USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert}[kind](x)

    # The rest
    def assigned(self, value: Any) -> Any:
        return self.rules.assigned(value)

    def lifted(self, value: Any) -> Any:
        """A number as a scalar of the kernel, so that it has its methods."""
        return to_value(value) if is_number(value) else value

    def listed(self, items: list[Any]) -> tuple[Any, ...]:
        """What a list comprehension gives: a tuple, as in compiled kernels."""
        return tuple(items)

    def value_of(self, item: Any) -> Any:
        """``x.value``: a constexpr is its value here, and so is what has no attribute of that name."""
        return item if isinstance(item, (int, float, str, DType)) or item is None else item.value

    def check(self, test: Any, message: Any) -> None:
        if isinstance(test, TileValue):
            core.device_assert(test, message)
        else:
            core.static_assert(test, message)

    def turns(self, items: Any) -> Iterator[Any]:
        """What a loop runs over: indices with a dtype, compile-time integers of static_range, items of a tuple."""
        if not isinstance(items, core.range):
            yield from items
            return
        bounds = [to_value(x) for x in (items.start, items.end, items.step)]
        dtype: DType = int32
        for bound in bounds:
            dtype = promote(dtype, bound.element) or dtype
        start, end, step = (_index(bound) for bound in bounds)
        for index in range(start, end, step) if step else ():
            yield number(index, dtype)


def _index(bound: TileValue) -> int:
    return static_int(bound, "a bound") if bound.known is not None else int(bound.handle.number())


def _hashable(value: Any) -> bool:
    return getattr(value, "__hash__", None) is not None


def closure(function: Callable[..., Any]) -> dict[str, Any]:
    """The names that a function closes over, as far as they have a value."""
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


_PYTHON_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": lambda x, y: x in y,
    "NotIn": lambda x, y: x not in y,
}
_PYTHON_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
}
