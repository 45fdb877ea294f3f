"""The magics: `%%ttkernel` for cells that define or launch kernels, and line magics to look at them again."""

from __future__ import annotations

import difflib
from contextlib import nullcontext
from functools import partial
from typing import Any

from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments

from tinyton_lab import catalogue
from tinyton_lab.base.diagnostics import TinytonError, error
from tinyton_lab.kernel import Kernel, inspection
from tinyton_lab.kernel.launch import backend, recording
from tinyton_lab.lab import card, cell, options
from tinyton_lab.lab.watch import Entry, Watch, watching
from tinyton_lab.record import text
from tinyton_lab.record.stage import Compilation

MAXIMUM_CARDS = 8


@magics_class
class KernelMagics(Magics):
    """The magics of tinyton_lab."""

    @magic_arguments()
    @argument("name", nargs="?", default="", help="Name of the cell: its source is labelled cell:NAME.")
    @argument(
        "--sig", help='Types of the run-time parameters where the cell launches nothing: --sig="*fp32:16, *fp32, i32".'
    )
    @argument("--const", nargs="+", default=[], metavar="NAME=VALUE", help="Values of the constexprs, with --sig.")
    @argument("--on", choices=["cpu", "cuda", "sim", "interpreter", "eager"], help="Engine of the cell's launches.")
    @argument("--trace", choices=["warp", "mem"], help="Run the cell's launches in the simulator and record them.")
    @argument("--target", help="GPU to compile the stages for; sm_80 unless another is named.")
    @argument("--view", help="View that opens first: stages, passes, graph or trace.")
    @argument("--raises", metavar="CODE", help="The cell must raise this fault, which is shown and not raised.")
    @argument("--save", metavar="FILE", help="Also write the last record to this file (.ttcard).")
    @argument("--static", action="store_true", help="Show cards without the interactive part.")
    # IPython's decorators have no types.
    @argument("--quiet", action="store_true", help="Show no cards.")  # pyright: ignore[reportUntypedFunctionDecorator]
    @cell_magic
    def ttkernel(self, line: str, cell: str) -> None:
        """Run the cell as ordinary Python and show a card for each kernel that it defines or launches.

        Everything that a kernel goes through is on its card: the source and its syntax tree, the tile IR before and
        after each pass, layout IR, LLVM IR, PTX, SASS, and the trace of a simulated run.
        """
        __tracebackhide__ = True
        given = _parser(self.ttkernel).parse_args(options.words(line))
        view = options.read_view(given.view)
        constants = options.read_constants(given.const)
        unlaunched = partial(_unlaunched, signature=given.sig or "", constants=constants, target=given.target)
        fault = None
        with watching() as watch:
            try:
                self._run(given, cell)
            except TinytonError as caught:
                fault = caught
                if not given.raises:
                    raise
            finally:
                if not given.quiet or given.save:
                    self._show(watch, given, view, unlaunched)
        if given.raises and (fault is None or fault.code != given.raises):
            seen = "nothing was raised" if fault is None else f"it raised {fault.code}"
            raise error("TT8003", wanted=given.raises, seen=seen) from fault
        if fault is not None:
            print(fault)

    @line_magic
    def ttview(self, line: str) -> None:
        """Show the card of a kernel again: ``%ttview NAME [stages|passes|graph|trace]``."""
        name, *views = line.split() or [""]
        compilation = inspection.complete(_latest(self._kernel(name)))
        self._display(Entry(compilation), view=options.read_view(views[0] if views else None))

    @line_magic
    def ttwhy(self, line: str) -> None:
        """Tell what the compiler declined to do in a kernel, and why: ``%ttwhy NAME [LINE]``."""
        name, *lines = line.split() or [""]
        compilation = inspection.complete(_latest(self._kernel(name)))
        wanted = int(lines[0]) if lines and lines[0].isdigit() else 0
        print("\n".join(reasons(compilation, wanted)))

    @line_magic
    def ttdoctor(self, line: str) -> None:
        """Tell what is available on this machine and what is not."""
        for name, found in inspection.doctor().items():
            print(f"{name:<14} {'yes' if found is True else found or 'no'}")

    @line_magic
    def ttexample(self, line: str) -> None:
        """Put an example into the next cell: ``%ttexample [vector_add]``; without a name, list the examples."""
        if not line.strip():
            print("\n".join(catalogue.names()))
            return
        name = line.strip()
        self._shell().set_next_input(f"%%ttkernel {name}\n{catalogue.text(name)}")

    def _shell(self) -> Any:
        return self.shell

    def _run(self, given: Any, source: str) -> None:
        __tracebackhide__ = True
        name = given.name or cell.kernel_name(source)
        engine = given.on or ("sim" if given.trace else None)
        with backend(engine) if engine else nullcontext(), recording(given.trace) if given.trace else nullcontext():
            cell.run(self._shell(), source, f"cell:{name}" if name else "cell", first_line=2)

    def _show(self, watch: Watch, given: Any, view: str, unlaunched: Any) -> None:
        entries = watch.entries(partial(inspection.complete, target=given.target), unlaunched)
        if not given.quiet:
            for entry in entries[:MAXIMUM_CARDS]:
                self._display(entry, given.static, view)
            if len(entries) > MAXIMUM_CARDS:
                print(f"{len(entries) - MAXIMUM_CARDS} more specialisations are not shown")
        if given.save and entries:
            card.save(given.save, entries[-1].compilation, entries[-1].recording)

    def _display(self, entry: Entry, static: bool = False, view: str = "") -> None:
        data, metadata = card.bundle(entry.compilation, entry.recording, static, view)
        self._shell().display_pub.publish(data=data, metadata=metadata)

    def _kernel(self, name: str) -> Kernel:
        found = self._shell().user_ns.get(name)
        if isinstance(found, Kernel):
            return found
        known = [key for key, value in self._shell().user_ns.items() if isinstance(value, Kernel)]
        close = difflib.get_close_matches(name, known, 1)
        raise error("TT8002", name=name, close=close[0] if close else (known or ["vector_add"])[-1])


def _parser(magic: Any) -> Any:
    """The parser that the argument decorators left on a magic."""
    return magic.parser


def reasons(compilation: Compilation, line: int = 0) -> list[str]:
    """What was declined in a compilation, with the facts behind; only at one line of its source if `line` is not 0."""
    missed = [
        (text.source_line(compilation, miss.uid), stage, miss)
        for stage, miss in text.remarks(compilation)
        if line in (0, text.source_line(compilation, miss.uid))
    ]
    told: list[str] = []
    for number, stage, miss in missed:
        told.append(f"{f'line {number}: ' if number else ''}{miss.rule} ({stage}): {miss.reason}")
        told += [f"    because {fact}" for fact in miss.facts]
    return told or ["nothing was declined" + (f" at line {line}" if line else "")]


def _latest(kernel: Kernel) -> Compilation:
    return kernel.compilations[-1] if kernel.compilations else inspection.inspect(kernel)


def _unlaunched(kernel: Kernel, signature: str, constants: dict[str, Any], target: str | None) -> Compilation:
    """The record of a kernel that the cell only defines: compiled for `signature` if there is one, else its source."""
    if signature:
        return inspection.inspect_signature(kernel, signature, constants, target)
    return inspection.inspect(kernel)


def status(doctor: dict[str, Any], engine: str, version: str) -> str:
    """The one line that loading the extension prints.

    >>> status({"SASS": True, "cuda device": False}, "cpu", "0.1.0")
    'tinyton_lab 0.1 · engine cpu · SASS yes · GPU none'
    """
    sass = "yes" if doctor.get("SASS") else "no"
    device = doctor.get("cuda device")
    gpu = "none" if not device else "yes" if device is True else device
    short = ".".join(version.split(".")[:2])
    return f"tinyton_lab {short} · engine {engine} · SASS {sass} · GPU {gpu}"
