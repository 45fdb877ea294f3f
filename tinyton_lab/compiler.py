"""Compile one specialisation: run the parts in order and record what each one made, also when one of them fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tinyton_lab import frontend
from tinyton_lab.base import knobs
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.base.options import Options
from tinyton_lab.base.protocol import DeviceFunction
from tinyton_lab.base.source import Span
from tinyton_lab.base.targets import CPU, Target
from tinyton_lab.frontend import ArgumentType, Constant, Runtime
from tinyton_lab.ir.core import Function
from tinyton_lab.ir.text import print_function
from tinyton_lab.ops.roots import written_parameters
from tinyton_lab.record.stage import Compilation, Diagnostic, SourceRange, Stage

if TYPE_CHECKING:
    from tinyton_lab.pipeline import Step


@dataclass(frozen=True, slots=True)
class Request:
    """What to compile: a kernel, the type or value of each argument, and the options."""

    function: DeviceFunction
    name: str
    arguments: Mapping[str, ArgumentType]
    options: Options


PARTS: dict[str, tuple[str, ...]] = {
    "interpreter": ("tile",),
    "eager": ("tile",),
    "cpu": ("tile", "cpu"),
    "sim": ("tile", "gpu"),
    "cuda": ("tile", "gpu", "cubin"),
    "inspect": ("tile", "gpu", "sass", "cpu", "assembly"),
}
"""The parts of a compilation that each consumer needs, in the order they run."""


def compile(request: Request, consumer: str) -> Compilation:
    """Compile for a consumer of `PARTS`. A fault ends the compilation: the stages before it are kept.

    The exception then lies in ``artifacts["fault"]`` and, as data, in `diagnostics`.
    """
    compilation = _new(request)
    compilation.artifacts["request"] = request
    try:
        for part in PARTS[consumer]:
            _RUN[part](request, compilation)
    except TinytonError as fault:
        compilation.artifacts["fault"] = fault
        compilation.diagnostics.append(diagnostic(fault))
    return compilation


def complete(compilation: Compilation, target: Target) -> Compilation:
    """The record with every stage for a GPU target, of the same kernel and arguments; made once per target."""
    request: Request | None = compilation.artifacts.get("request")
    if request is None or (compilation.target == target.name and "sass" in compilation.stages):
        return compilation
    key = f"complete for {target}"
    if key not in compilation.artifacts:
        math = "approx" if not request.options.target.is_gpu else request.options.math
        options = replace(request.options, target=target, math=math)
        compilation.artifacts[key] = compile(replace(request, options=options), "inspect")
    return compilation.artifacts[key]


def read(function: DeviceFunction, name: str) -> Compilation:
    """The record of a kernel that was never compiled: its source and syntax tree."""
    compilation = Compilation(name, "none")
    compilation.stages.update(frontend.source_stages(function))
    return compilation


def _new(request: Request) -> Compilation:
    signature = tuple((n, str(a.tile)) for n, a in request.arguments.items() if isinstance(a, Runtime))
    constants = tuple((n, repr(a.value)) for n, a in request.arguments.items() if isinstance(a, Constant))
    options = request.options
    return Compilation(request.name, str(options.target), signature, constants, options.shown())


def _compile_tile(request: Request, compilation: Compilation) -> None:
    """The front end and the tile passes: stages ``python ast tile tile/NN-pass``."""
    from tinyton_lab import pipeline  # loads the passes

    compilation.stages.update(frontend.source_stages(request.function))
    options = request.options
    attrs: dict[str, Any] = {"math": options.math, "fp_fusion": options.fp_fusion}
    if options.num_warps is not None:
        attrs["num_warps"] = options.num_warps
    if options.sanitize_overflow:
        attrs["sanitize_overflow"] = True
    verify = knobs.VERIFY.flag()
    lowered = frontend.lower(request.function, request.arguments, attrs)
    compilation.artifacts["reached"] = lowered.reached
    compilation.diagnostics += [diagnostic(remark, "remark") for remark in lowered.remarks]
    function = lowered.function
    compilation.options = replace(options, num_warps=function.attrs["num_warps"]).shown()
    compilation.artifacts["lowered"] = function
    compilation.provenance = function.provenance
    compilation.stages.update(frontend.located(compilation.stages, function))
    _add(compilation, _ir_stage("tile", function, doc="What the front end made of the source."))
    for number, step in enumerate(pipeline.run_tile_passes(function, options.target, math=options.math, verify=verify)):
        function = step.function
        _add(compilation, _ir_stage(f"tile/{number + 1:02}-{step.row.name}", function, step))
    compilation.artifacts["function"] = function
    compilation.artifacts["written"] = {function.parameters[index].name for index in written_parameters(function)}


def _compile_cpu(request: Request, compilation: Compilation) -> None:
    """Native code: the stage ``cpu_llvm``."""
    from tinyton_lab.codegen import cpu  # loads LLVM

    code = cpu.compile(_native_function(request, compilation), checked=request.options.checked)
    compilation.artifacts["cpu"] = code
    lines = tuple((uid,) if uid else () for uid in code.line_uids)
    _add(compilation, Stage("cpu_llvm", "asm", code.text, lines, doc="LLVM IR of the native engine."))


def _native_function(request: Request, compilation: Compilation) -> Function:
    """Tile IR with accurate math: what the passes gave, or, for a record made for a GPU's fast instructions, anew."""
    from tinyton_lab import pipeline

    function: Function = compilation.artifacts["function"]
    if request.options.math == "full":
        return function
    function = compilation.artifacts["lowered"]
    for step in pipeline.run_tile_passes(function, CPU, math="full"):
        function = step.function
    return function


def _compile_assembly(request: Request, compilation: Compilation) -> None:
    text, uids = compilation.artifacts["cpu"].assembly()
    lines = tuple((uid,) if uid else () for uid in uids)
    _add(compilation, Stage("cpu_asm", "asm", text, lines, doc="Machine code of the native engine."))


def _compile_gpu(request: Request, compilation: Compilation) -> None:
    """Layout IR, LLVM IR and PTX."""
    from tinyton_lab.codegen import gpu  # takes time to load

    code = gpu.compile(compilation.artifacts["function"], request.options.target)
    compilation.artifacts["gpu"] = code
    for stage in code.stages:
        _add(compilation, stage)


def _compile_cubin(request: Request, compilation: Compilation) -> None:
    binary = compilation.artifacts["gpu"].assembled()
    compilation.resources |= {
        "registers": binary.registers,
        "spills": binary.spill_bytes,
        "shared_bytes": binary.shared_bytes,
    }


def _compile_sass(request: Request, compilation: Compilation) -> None:
    _compile_cubin(request, compilation)
    _add(compilation, compilation.artifacts["gpu"].sass_stage())


_RUN: dict[str, Callable[[Request, Compilation], None]] = {
    "tile": _compile_tile,
    "cpu": _compile_cpu,
    "assembly": _compile_assembly,
    "gpu": _compile_gpu,
    "cubin": _compile_cubin,
    "sass": _compile_sass,
}


def span_of(compilation: Compilation, uid: int) -> Span | None:
    """Where the op of that number was written; for an op that the compiler made, where its nearest parent was."""
    spans: dict[int, Span] | None = compilation.artifacts.get("spans")
    if spans is None:
        ops = [op for name in ("lowered", "function") for op in compilation.artifacts[name].walk()]
        spans = compilation.artifacts["spans"] = {op.uid: op.span for op in ops if op.span is not None}
    if uid in spans:
        return spans[uid]
    parents = sorted(compilation.provenance.ancestors((uid,)) & spans.keys(), reverse=True)
    return spans[parents[0]] if parents else None


def _add(compilation: Compilation, stage: Stage) -> None:
    compilation.stages[stage.name] = stage


def _ir_stage(name: str, function: Function, step: Step | None = None, doc: str = "") -> Stage:
    printed = print_function(function)
    if step is None:
        return Stage(name, "ir", printed.text, printed.lines, doc=doc)
    row, _, misses, facts, seconds, changed = step
    return Stage(name, "ir", printed.text, printed.lines, changed, row.doc, facts, misses, seconds=seconds)


def diagnostic(fault: TinytonError, severity: str = "error") -> Diagnostic:
    """A fault or remark as data."""
    return Diagnostic(
        severity, fault.code, fault.message, str(fault), None if fault.span is None else _range(fault.span)
    )


def _range(span: Span, uid: int = 0) -> SourceRange:
    return SourceRange(uid, span.source.label, span.line, span.column, span.end_line, span.end_column)
