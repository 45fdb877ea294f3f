"""Turn LLVM text into machine code in this process, safely: verified, without undefined symbols. Knows no kernel."""

from __future__ import annotations

import re
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite.binding as binding

_LOCK = threading.RLock()
_ELF = b"\x7fELF"


@dataclass(frozen=True, slots=True)
class Machine:
    """A processor to generate code for.

    `vector_bits` is the width of the registers worth using, `registers` their number; `converts_half` tells whether
    f16 converts to f32 in one instruction, `masks_narrow` whether 8- and 16-bit lanes can be loaded under a mask.
    """

    cpu: str
    features: str
    vector_bits: int
    registers: int
    converts_half: bool
    masks_narrow: bool


class NativeError(RuntimeError):
    """A module that cannot become machine code: a fault of the lab, in LLVM's words."""


@cache
def _initialise() -> None:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()


@cache
def host() -> Machine:
    """The processor this process runs on."""
    features = binding.get_host_cpu_features()
    return machine(binding.get_host_cpu_name(), features.flatten())


@cache
def machine(cpu: str, features: str) -> Machine:
    """Describe a processor by LLVM's name for it and its feature switches (``"+avx2,+fma"``)."""
    if binding.get_process_triple().startswith(("aarch64", "arm64")):
        return Machine(cpu, features, 128, 32, converts_half=True, masks_narrow=False)
    has = set(features.split(",")).__contains__
    if has("+avx512bw") and has("+avx512vl") and has("+avx512dq"):
        return Machine(cpu, features, 512, 32, converts_half=True, masks_narrow=True)
    return Machine(cpu, features, 256 if has("+avx2") else 128, 16, converts_half=has("+f16c"), masks_narrow=False)


def _target_machine(machine: Machine) -> Any:
    _initialise()
    target = binding.Target.from_triple(binding.get_process_triple())
    return target.create_target_machine(
        cpu=machine.cpu, features=machine.features, opt=2, reloc="pic", codemodel="small", jit=True
    )


class Session:
    """A JIT for one processor. Modules are optimised by the few passes that vector code needs, then linked."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.target = _target_machine(machine)
        self.jit: Any = binding.create_lljit_compiler(_target_machine(machine), use_jit_link=False)
        self.options = binding.create_pipeline_tuning_options(speed_level=2)
        self.modules = 0

    def optimised(self, text: str) -> Any:
        """Parse, verify and optimise a module."""
        try:
            module = binding.parse_assembly(text)
            module.verify()
        except RuntimeError as fault:
            raise NativeError(str(fault)) from None
        builder = binding.create_pass_builder(self.target, self.options)
        passes = binding.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.run(module, builder)
        return module

    def link(self, text: str, entries: Sequence[str]) -> NativeModule:
        """Make a module executable. Nothing outside it is visible to it: a missing symbol raises NativeError."""
        with _LOCK:
            module = self.optimised(text)
            image = self.target.emit_object(module)
            missing = undefined_symbols(image) if image[:4] == _ELF else self._called_elsewhere(module)
            if missing:
                raise NativeError(f"the module needs {', '.join(missing)}, which it does not define")
            self.modules += 1
            library = binding.JITLibraryBuilder().add_object_img(image)
            for entry in entries:
                library = library.export_symbol(entry)
            tracker = library.link(self.jit, f"kernel{self.modules}")
            return NativeModule(tracker, {entry: tracker[entry] for entry in entries})

    def _called_elsewhere(self, module: Any) -> list[str]:
        """Names that the machine code calls and does not define, read from its assembler text."""
        assembly = self.target.emit_assembly(module)
        called = re.findall(r"^\s+(?:callq?|jmp|bl?)\s+(\w+)\b", assembly, re.MULTILINE)
        return sorted({name for name in called if not re.search(rf"^{re.escape(name)}:", assembly, re.MULTILINE)})

    def assembly(self, text: str) -> str:
        """The machine code of a module as assembler text."""
        with _LOCK:
            return self.target.emit_assembly(self.optimised(text))


class NativeModule:
    """Linked machine code; it lives as long as this object. `addresses` maps entry names to addresses."""

    def __init__(self, tracker: Any, addresses: dict[str, int]) -> None:
        self._tracker, self.addresses = tracker, addresses


def undefined_symbols(image: bytes) -> list[str]:
    """Names that an ELF object uses and does not define: a call of the C library, say, that the compiler put in."""
    sections = {section.name(): section.data() for section in binding.ObjectFileRef.from_data(image).sections()}
    names = sections.get(b".strtab", b"")
    found: set[str] = set()
    for name, info, _, section, _, _ in struct.iter_unpack("<IBBHQQ", sections.get(b".symtab", b"")):
        if section == 0 and name and info >> 4:
            found.add(names[name : names.index(b"\0", name)].decode())
    return sorted(found - {"_GLOBAL_OFFSET_TABLE_"})


@cache
def session(machine: Machine) -> Session:
    """The session of a processor; there is one per process."""
    with _LOCK:
        return Session(machine)
