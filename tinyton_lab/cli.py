"""The `tinyton` command: the same records as in a notebook, in a terminal."""

from __future__ import annotations

import argparse
import json
import runpy
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tinyton_lab import catalogue, sim
from tinyton_lab.base import events
from tinyton_lab.base.diagnostics import TinytonError, error
from tinyton_lab.base.dtypes import of_short
from tinyton_lab.base.faults import FAULTS
from tinyton_lab.kernel import Kernel
from tinyton_lab.kernel.inspection import complete, doctor, inspect_signature
from tinyton_lab.record import schema, text
from tinyton_lab.record.metrics import Metrics
from tinyton_lab.record.stage import Compilation
from tinyton_lab.reference import regenerate


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 when it did what was asked, 1 with the fault on stderr otherwise."""
    try:
        parsed = _parser().parse_args(arguments)
        return int(parsed.command(parsed) or 0)
    except TinytonError as fault:
        print(fault, file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tinyton", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Any, help: str, *positional: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=help, description=help)
        sub.set_defaults(command=run)
        for word in positional:
            sub.add_argument(word)
        return sub

    run = command("run", run_script, "Run a script and print the card of each kernel that it launches.", "script")
    run.add_argument("--target", help="GPU to compile the stages for (sm_80)")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    stages = command("stages", print_stages, "Run a script and print the stages of its kernels.", "script")
    stages.add_argument("--kernel", help="only this kernel")
    stages.add_argument("--stage", help="print the text of this stage instead of the list")
    stages.add_argument("--target", help="GPU to compile for (sm_80)")
    build = command("compile", compile_kernel, "Compile FILE:KERNEL for a signature, without running it.", "kernel")
    build.add_argument("--sig", default="", help='types of the run-time parameters: "*fp32:16, *fp32, i32"')
    build.add_argument("--const", action="append", default=[], metavar="NAME=VALUE", help="value of a constexpr")
    build.add_argument("--target", help="GPU to compile for (sm_80)")
    build.add_argument("--stage", help="print the text of this stage instead of the card")
    build.add_argument("--save", type=Path, help="write the record to this .ttcard file")
    explain = command("explain", explain_code, "Explain a fault code (TT4001).", "code")
    explain.set_defaults(command=explain_code)
    simulator = command("sim", simulate, "Run a kernel of a PTX file in the simulator.", "file")
    simulator.add_argument("--entry", help="name of the kernel (the only one)")
    simulator.add_argument("--grid", type=sizes, default=(1,), help="CTAs: 4 or 4,2,1")
    simulator.add_argument("--block", type=sizes, default=(32,), help="threads of a CTA: 128 or 32,4")
    arrays = simulator.add_argument("--arg", type=argument, action="append", default=[])
    arrays.help = "f32[1024]=range|ones|zeros, or i32=5"
    simulator.add_argument("--shared", type=int, default=0, help="dynamic shared memory in bytes")
    simulator.add_argument("--metrics", action="store_true", help="count sectors, bank conflicts and the like")
    simulator.add_argument("--model", help="estimate cycles on this target's scoreboard: sm_80")
    simulator.add_argument("--sanitize", action="store_true", help="look for races and uninitialised reads")
    simulator.add_argument("--tensor-cores", default="exact", help="how products are summed: exact, sm_80 ...")
    simulator.add_argument("--engine", choices=("trace", "fast"), default="trace", help="machine code is fast")
    show = command("show", show_record, "Print a saved record (.ttcard).", "file")
    show.add_argument("--stage", help="print the text of this stage")
    show.add_argument("--json", action="store_true", help="print the record as JSON")
    command("doctor", print_doctor, "Tell what is available here.")
    demo = command("demo", run_demo, "Compile, run and show an example kernel.")
    demo.add_argument("example", nargs="?", default="vector_add", help=", ".join(catalogue.names()))
    command("regen", lambda parsed: regenerate.main([]), "Write the generated files anew (for developers).")
    return parser


def _read(file: str, kind: str) -> str:
    """The text of a file. Raises TT5003 where there is none."""
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as why:
        raise error("TT5003", file=file, kind=kind, why=getattr(why, "strerror", None) or why) from None


def _launched(script: str, arguments: Sequence[str]) -> list[tuple[Any, Compilation]]:
    """Run a script; the kernels it launched with the record of each specialisation, in order."""
    seen: dict[int, tuple[Any, Compilation]] = {}

    def note(event: events.Event) -> None:
        if event.kind == "launched":
            seen.setdefault(id(event.result.compilation), (event.kernel, event.result.compilation))

    _read(script, "script")
    argv, sys.argv = sys.argv, [script, *arguments]
    try:
        with events.listening(note):
            runpy.run_path(script, run_name="__main__")
    finally:
        sys.argv = argv
    if not seen:
        raise error("TT5003", file=script, kind="script of kernels", why="it launches none")
    return list(seen.values())


def run_script(parsed: argparse.Namespace) -> None:
    for _, compilation in _launched(parsed.script, parsed.arguments):
        print(text.card(complete(compilation, parsed.target)))


def print_stages(parsed: argparse.Namespace) -> None:
    chosen = [
        complete(compilation, parsed.target)
        for kernel, compilation in _launched(parsed.script, ())
        if parsed.kernel in (None, kernel.name)
    ]
    if not chosen:
        raise error("TT5003", file=parsed.script, kind=f"script of {parsed.kernel}", why="it launches others")
    for compilation in chosen:
        _print_stage(compilation, parsed.stage)


def _print_stage(compilation: Compilation, stage: str | None) -> None:
    if stage is None:
        for found in compilation.stages.values():
            mark = "●" if found.changed else "○"
            print(f"{mark} {found.name:24} {len(found.text.splitlines()):5} lines  {found.doc}")
    else:
        print(compilation.stage(stage).text, end="")


def compile_kernel(parsed: argparse.Namespace) -> int:
    file, _, name = parsed.kernel.rpartition(":")
    _read(file, "script")
    kernel = runpy.run_path(file).get(name)
    if not isinstance(kernel, Kernel):
        raise error("TT5003", file=parsed.kernel, kind="kernel", why=f"{file} defines none of that name")
    constants = dict(_constant(word) for word in parsed.const)
    compilation = inspect_signature(kernel, parsed.sig, constants, target=parsed.target)
    if parsed.save:
        parsed.save.write_text(schema.dumps(schema.encode(compilation)), encoding="utf-8")
    if parsed.stage:
        _print_stage(compilation, parsed.stage)
    else:
        print(text.card(compilation))
    return 0 if compilation.ok else 1


def _constant(word: str) -> tuple[str, Any]:
    name, _, value = word.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def explain_code(parsed: argparse.Namespace) -> int:
    fault = FAULTS.get(parsed.code.upper())
    if fault is None:
        print(f"there is no fault {parsed.code}; codes run from {min(FAULTS)} to {max(FAULTS)}", file=sys.stderr)
        return 1
    print(f"{fault.code}: {fault.title}\n\n{fault.why or fault.message}\n")
    if fault.cure:
        print(f"What to do: {fault.cure}\n")
    if fault.specimen:
        print(f"A program that meets it:\n{fault.specimen}")
    return 0


def simulate(parsed: argparse.Namespace) -> int:
    module = sim.load(_read(parsed.file, "PTX"))
    if not module.entries:
        raise error("TT5003", file=parsed.file, kind="PTX to run", why="it has no .entry")
    arrays = [array for _, array in parsed.arg]
    words = ("shared", "metrics", "sanitize", "tensor_cores", "engine", "model")
    asked = {name: getattr(parsed, name) for name in words}
    launch = module.launch(parsed.entry or module.entries[0], parsed.grid, parsed.block, arrays, **asked)
    if launch.remark:
        print(f"remark: {launch.remark}")
    for name, count in launch.metrics.items():
        print(f"{name:40} {count}")
    for line in source_lines(launch.metrics) if parsed.metrics else ():
        print(line)
    for line, reasons in sorted(launch.model.per_line.items() if launch.model else ()):
        sizes_first = sorted(reasons.items(), key=lambda each: -each[1])
        told = ", ".join(f"{reason} {cycles}" for reason, cycles in sizes_first)
        print(f"model: line {line:5} {told}")
    for finding in launch.findings:
        print(f"{finding.severity} {finding.code}: {finding.message} {finding.where}")
    for kind, array in parsed.arg:
        print(f"{kind}: {np.array2string(np.asarray(array), threshold=16)}")
    return 1 if any(finding.severity == "error" for finding in launch.findings) else 0


def source_lines(metrics: Metrics) -> Iterator[str]:
    """What each line of the source cost, where the PTX says which that is."""
    for number, part in metrics.per_source_line().items():
        if number:
            traffic = part.traffic()
            yield (
                f"source line {number:5} instructions {part['smsp__inst_executed.sum']:g}, "
                f"sectors {traffic.sectors} in {traffic.requests} requests, bank conflicts {part.bank_conflicts()}"
            )


def sizes(words: str) -> tuple[int, ...]:
    return tuple(int(word) for word in words.split(","))


def argument(word: str) -> tuple[str, Any]:
    """What is before the ``=``, and its value: ``f32[1024]=range`` makes an array, ``i32=5`` a scalar."""
    kind, _, value = word.partition("=")
    name, bracket, size = kind.rstrip("]").partition("[")
    dtype = of_short(name)
    if dtype is None:
        raise error("TT3016", text=word, kernel="this argument", why=f"{name!r} is no dtype")
    if not bracket:
        return kind, dtype.numpy.type(value)
    count = int(size)
    filled = {"range": np.arange(count), "ones": np.ones(count)}.get(value, np.zeros(count))
    return kind, filled.astype(dtype.numpy)


def show_record(parsed: argparse.Namespace) -> None:
    try:
        record = json.loads(_read(parsed.file, "record"))
        compilation, recording, _ = schema.decode(record)
    except (ValueError, AttributeError) as why:
        raise error("TT5003", file=parsed.file, kind="record", why=why) from None
    if parsed.json:
        print(json.dumps(record, indent=1))
        return
    if parsed.stage:
        _print_stage(compilation, parsed.stage)
    else:
        print(text.card(compilation, recording))


def print_doctor(parsed: argparse.Namespace) -> None:
    for name, state in doctor().items():
        print(f"{name:14} {'yes' if state is True else 'no' if state is False else state}")


def run_demo(parsed: argparse.Namespace) -> None:
    """The example's source, its run, its card."""
    print(catalogue.text(parsed.example))
    parsed.script, parsed.arguments, parsed.target = str(catalogue.path(parsed.example)), [], None
    run_script(parsed)
