"""Faults TT6xxx: PTX text and the simulator."""

from __future__ import annotations

from tinyton_lab.base.faults.row import Fault


def _ptx(body: str, launch: str = "") -> str:
    head = ".version 8.0\\n.target sm_80\\n.address_size 64\\n"
    text = f"{head}.visible .entry k(.param .u64 x)\\n{{\\n{body}\\nret;\\n}}\\n"
    return f"module = tt.sim.load('{text}')\n{launch}"


def _run(body: str, block: int = 1) -> str:
    return _ptx(body, f"module.launch('k', (1,), ({block},), [np.zeros(4, np.float32)])")


_LOAD = ".reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [x]; "
ROWS: tuple[Fault, ...] = (
    Fault(
        "TT6001",
        "PTX syntax",
        "expected {wanted}, found {found}",
        "",
        "The text does not follow the grammar of PTX (PTX ISA chapter 4).",
        _ptx("add.s32 1 2;"),
    ),
    Fault(
        "TT6002",
        "Unknown PTX instruction",
        "there is no instruction {opcode!r}",
        "{close}",
        "The simulator's instruction table has no row for this mnemonic.",
        _run("frobnicate.b32 0;"),
    ),
    Fault(
        "TT6003",
        "Unknown form of a PTX instruction",
        "{opcode!r} is no form of {mnemonic}: {reason}",
        "{syntax}",
        "The mnemonic exists, but not with these modifiers or types. See PTX ISA {section}.",
        _run(".reg .b32 %r; add.rn.s32 %r, 1, 2;"),
    ),
    Fault(
        "TT6004",
        "Wrong operands of a PTX instruction",
        "{mnemonic} {reason}",
        "{syntax}",
        "The operands do not fit the form: their number, kind or register width. See PTX ISA {section}.",
        _run(".reg .b32 %r; add.s32 %r, 1;"),
    ),
    Fault(
        "TT6005",
        "Unknown PTX name",
        "{name!r} is not declared here",
        "declare it with .reg, .param, .shared, .global or as a label in this scope",
        "Registers, symbols and labels are visible in the scope that declares them and in nested ones.",
        _run("mov.b32 %r1, 0;"),
    ),
    Fault(
        "TT6006",
        "Unknown PTX entry",
        "the module has no entry {name!r}",
        "it has {known}",
        "A launch names one of the `.entry` functions of the module.",
        _ptx("", "module.launch('other', (1,), (1,), [None])"),
    ),
    Fault(
        "TT6007",
        "Arguments do not fit the PTX parameters",
        "parameter {index} ({name}) of {entry} {reason}",
        "pass arrays, numpy scalars, bytes or None in parameter order",
        "Arrays and None go to 64-bit parameters, scalars to parameters of their width, bytes to structs of that size.",
        _ptx("", "module.launch('k', (1,), (1,), [np.float32(1)])"),
    ),
    Fault(
        "TT6008",
        "Bad launch shape",
        "{what} is {value}: {reason}",
        "",
        "A grid has up to 2^31-1 x 65535 x 65535 CTAs, a block at most 1024 threads.",
        _ptx("", "module.launch('k', (1,), (4096,), [None])"),
    ),
    Fault(
        "TT6009",
        "PTX name declared twice",
        "{name!r} is declared a second time in this scope",
        "give it another name, or a scope in braces of its own",
        "A register, variable or label may be declared once in each scope (PTX ISA 4.4 and 5.4).",
        _run("l: bra l; l: bra l;"),
    ),
    Fault(
        "TT6010",
        "Access outside an argument",
        "{action} of {bytes} bytes at byte {offset} of {name}, which has {size} bytes; {where}",
        "mask the access, or check the index that this line computes",
        "Every access must stay inside the bytes of one argument (or of a module variable).",
        _run(_LOAD + "ld.global.b32 %r, [%a+16];"),
    ),
    Fault(
        "TT6011",
        "Access to no argument at all",
        "{action} of {bytes} bytes at address {address}, which belongs to no argument; {where}",
        "check the pointer arithmetic of this line",
        "The address is in none of the launch's arrays, nor in a module variable, nor near one. Arrays that a kernel "
        "reaches through addresses in memory are listed at its launch: reachable=[...].",
        _run(".reg .b32 %r; .reg .b64 %a; mov.b64 %a, 64; ld.global.b32 %r, [%a];"),
    ),
    Fault(
        "TT6012",
        "Misaligned access",
        "{action} of {bytes} bytes at byte {offset} of {name} is not aligned to {bytes} bytes; {where}",
        "an access of N bytes needs an address divisible by N",
        "The hardware traps on addresses that are not a multiple of the access size (PTX ISA 6.4.1).",
        _run(_LOAD + "ld.global.b32 %r, [%a+2];"),
    ),
    Fault(
        "TT6013",
        "Access outside {space} memory",
        "{action} of {bytes} bytes at byte {offset} of {space} memory, which has {size} bytes; {where}",
        "check the index, and the number of shared bytes given to the launch",
        "Shared memory has the bytes that the module declares plus those of the launch; local memory those declared.",
        _run(".reg .b32 %r; ld.shared.b32 %r, [0];"),
    ),
    Fault(
        "TT6014",
        "Store to a read-only array",
        "{name} is read-only, but is stored to; {where}",
        "pass a writable array",
        "The numpy array of this argument does not allow writing.",
        _ptx(
            _LOAD + "mov.b32 %r, 0; st.global.b32 [%a], %r;",
            "x = np.zeros(4, np.float32)\nx.flags.writeable = False\nmodule.launch('k', (1,), (1,), [x])",
        ),
    ),
    Fault(
        "TT6015",
        "Access between the elements of a view",
        "{action} of {bytes} bytes at byte {offset} of {name} touches bytes that the view does not contain; {where}",
        "use the view's strides in the kernel, or pass a contiguous array",
        "The argument is a strided view; bytes between its elements belong to somebody else.",
        _ptx(_LOAD + "ld.global.b32 %r, [%a+4];", "module.launch('k', (1,), (1,), [np.zeros(8, np.float32)[::2]])"),
    ),
    Fault(
        "TT6020",
        "Endless loop",
        "the kernel was stopped after {steps} steps; {where}",
        "raise TINYTON_STEP_LIMIT if the kernel is only long",
        "The simulator counts the instructions it dispatches and stops a kernel that does not end.",
        "import os\nos.environ['TINYTON_STEP_LIMIT'] = '1000'\n" + _run("l: bra l;") + "\n",
    ),
    Fault(
        "TT6021",
        "Deadlock",
        "no thread can continue: {waits}",
        "every thread of the CTA that has not exited must reach the barrier",
        "All remaining threads wait at barriers that will never be complete.",
        _run(
            ".reg .pred %p; .reg .b32 %r; mov.u32 %r, %tid.x; setp.eq.u32 %p, %r, 0; @%p bra b;"
            " bar.sync 1, 64; bra e; b: bar.sync 2, 64; e:",
            64,
        ),
    ),
    Fault(
        "TT6022",
        "Trap",
        "the kernel executed {instruction}; {where}",
        "",
        "`trap` ends a launch: compilers emit it for failed assertions and unreachable code.",
        _run("trap;"),
    ),
    Fault(
        "TT6023",
        "Device assertion failed",
        "assertion failed: {message}; {where}",
        "",
        "The kernel called the device runtime's assertion with a condition that does not hold.",
    ),
    Fault(
        "TT6024",
        "Warp instruction in a divergent warp",
        "{mnemonic} needs {wanted}, but only {found} took part; {where}",
        "let all lanes of the warp reach the instruction together",
        "`.aligned` instructions need the whole warp; `.sync` ones all lanes named by their mask.",
    ),
    Fault(
        "TT6030",
        "Not simulated",
        "{what} is not simulated",
        "{cure}",
        "The simulator does not model this feature.",
    ),
    Fault(
        "TT6031",
        "Not measured",
        "this launch was made without metrics",
        "launch in the simulator with metrics=True: kernel[grid](..., backend='sim', metrics=True)",
        "Metrics are counted by the simulator only, and only when asked for: counting takes longer than running.",
        "module = tt.sim.load('.version 8.0 .target sm_80 .address_size 64 .visible .entry k() { ret; }')\n"
        "module.launch('k', (1,), (1,), []).metrics.bank_conflicts()",
    ),
    Fault(
        "TT6032",
        "No access through this argument",
        "no global access reached {name}",
        "accesses reached: {known}",
        "Metrics of an argument exist when the launch loaded from it or stored to it.",
        _ptx("", "module.launch('k', (1,), (1,), [None], metrics=True).metrics.sectors_per_request('x')"),
    ),
    Fault(
        "TT6050",
        "No occupancy",
        "a multiprocessor of {target} cannot hold a CTA of {threads} threads",
        "give 1 to {most} threads and a GPU target",
        "Occupancy counts the CTAs that one multiprocessor of a GPU holds at once.",
        "tt.occupancy('sm_80', 2048, 32)",
    ),
    Fault(
        "TT6060",
        "Not a recording",
        "{path} is not a recording that can be read: {reason} (byte {at})",
        "write recordings with recording.save(path)",
        "A `.ttrec` file has a checksum and sizes, which are checked before anything in it is used.",
        "from tinyton_lab.record.recording import Recording\nRecording.load('no_such_file.ttrec')",
    ),
    Fault(
        "TT6061",
        "Nothing to explain",
        "no recorded step wrote {what}",
        "record the CTA that writes it: launch with record='warp' and a larger recorded_ctas",
        "A value is explained by the steps that led to it, so the launch must have recorded its writer.",
        _ptx("", "tt.sim.why(module.launch('k', (1,), (32,), [np.zeros(4, np.float32)], record='warp'), 'x', 0)"),
    ),
)
