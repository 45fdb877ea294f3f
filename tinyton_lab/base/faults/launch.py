"""Faults TT3xxx: binding and launching."""

from __future__ import annotations

from tinyton_lab.base.faults.row import Fault

_FILL = """
@tt.jit
def fill(o, n, BLOCK: tl.constexpr = 4):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, i, mask=i < n)
o = np.zeros(8, np.int32)
"""

ROWS: tuple[Fault, ...] = (
    Fault(
        "TT3001",
        "Variadic kernel",
        "the kernel {kernel} has the parameter {name}",
        "name each parameter",
        "A kernel's code is made for a fixed list of parameters, so `*args` and `**kwargs` have no meaning in it.",
        "@tt.jit\ndef kernel(*pointers):\n    pass\n",
    ),
    Fault(
        "TT3002",
        "Missing argument",
        "{kernel} misses the argument {names}",
        "pass it by position or by keyword",
        "Every parameter without a default needs a value.",
        _FILL + "fill[(1,)](o)\n",
    ),
    Fault(
        "TT3003",
        "Too many arguments",
        "{kernel} {what}",
        "",
        "Arguments bind to parameters as in Python.",
        _FILL + "fill[(1,)](o, 8, 4, 1)\n",
    ),
    Fault(
        "TT3004",
        "Unknown keyword",
        "{kernel} has no parameter or launch option {name!r}",
        "{hint}",
        "A misspelt keyword would silently leave the default in place, so it is refused.",
        _FILL + "fill[(1,)](o, 8, BLOKC=8)\n",
    ),
    Fault(
        "TT3005",
        "Argument of unknown type",
        "the argument {name} of {kernel} is {what}",
        "pass an array, a tensor, a number or None; annotate compile-time values with `tl.constexpr`",
        "Run-time arguments are arrays (pointers) and numbers. Anything else has to be known at compile time.",
        _FILL + "fill[(1,)](o, 'eight')\n",
    ),
    Fault(
        "TT3006",
        "Array of unsupported dtype",
        "the array {name} of {kernel} has the dtype {dtype}",
        "convert it: the lab knows bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, float64 and fp8",
        "Pointers point to elements of a dtype the language has.",
        _FILL + "fill[(1,)](np.zeros(8, np.complex64), 8)\n",
    ),
    Fault(
        "TT3007",
        "Integer beyond 64 bits",
        "the argument {name} of {kernel} is {value}, which no integer type holds",
        "",
        "Integers are typed by value: i32, u32, i64 or u64.",
        _FILL + "fill[(1,)](o, 2**64)\n",
    ),
    Fault(
        "TT3008",
        "Constexpr that cannot be a key",
        "the constexpr {name} of {kernel} is unhashable: {what}",
        "pass a tuple instead of a list",
        "Compiled code is found again by the values of its constexprs, so they must be hashable.",
        _FILL + "fill[(1,)](o, 8, BLOCK=[4])\n",
    ),
    Fault(
        "TT3009",
        "Write to a read-only array",
        "{kernel} stores through {name}, which is a read-only array",
        "pass a copy",
        "An array whose `writeable` flag is off may be shared with code that relies on it.",
        _FILL + "o.setflags(write=False)\nfill[(1,)](o, 8)\n",
    ),
    Fault(
        "TT3010",
        "Bad grid",
        "{kernel} cannot run on the grid {grid!r}: {why}",
        "give an int, or one to three ints, or a function of the arguments that returns them",
        "The grid says how many programs run along each axis.",
        _FILL + "fill[(1, 1, 1, 1)](o, 8)\n",
    ),
    Fault(
        "TT3011",
        "Kernel called without a grid",
        "{kernel} is a kernel: it runs on a grid of programs",
        "launch it with {kernel}[grid](...)",
        "A kernel's body describes one program of many. Only kernels may call it directly.",
        _FILL + "fill(o, 8)\n",
    ),
    Fault(
        "TT3012",
        "Kernel without source",
        "the source of {kernel} cannot be found",
        "define it in a file or a notebook cell, not through exec of a string",
        "The compiler reads the function's text.",
        """
space = {}
exec("def ghost(o):\\n    pass", space)
tt.jit(space["ghost"])[(1,)](np.zeros(1))
""",
    ),
    Fault(
        "TT3013",
        "Bad launch option",
        "the launch option {name} of {kernel} is {value!r}: {why}",
        "",
        "Launch options steer the compiler; each has a small set of values.",
        _FILL + "fill[(1,)](o, 8, num_warps=3)\n",
    ),
    Fault(
        "TT3014",
        "Unknown engine",
        "there is no engine {name!r}",
        "use one of {known}",
        "An engine is what runs a kernel.",
        _FILL + "fill[(1,)](o, 8, backend='gpuu')\n",
    ),
    Fault(
        "TT3015",
        "Unknown example",
        "there is no example {name!r}",
        "did you mean {close!r}? There are {known}",
        "Examples are small complete programs that come with the lab.",
        "tt.example('vectoradd')\n",
    ),
    Fault(
        "TT3016",
        "Bad signature",
        "the signature {text!r} does not fit {kernel}: {why}",
        "write one type per run-time parameter, in order: `*fp32:16, *fp32, i32`",
        "A signature gives the types that a launch would: `*` makes a pointer, `:16` says that 16 divides the value.",
        _FILL + "tt.inspect_signature(fill, '*fp32')\n",
    ),
    Fault(
        "TT3017",
        "Misaligned array",
        "the elements of {name}, an argument of {kernel}, do not lie at multiples of their {bytes} bytes",
        "pass an aligned copy: numpy.require(x, requirements='A')",
        "An element of n bytes lies at an address that n divides; GPUs refuse anything else.",
        _FILL + "fill[(1,)](np.zeros(33, np.uint8)[1:].view(np.int32), 8)\n",
    ),
    Fault(
        "TT3018",
        "Tuning of what is no parameter",
        "{what} of {kernel} names {name!r}, which is no parameter of it",
        "its parameters are {known}",
        "Tuning completes or prepares arguments by name, so each name must be that of a parameter.",
        _FILL + "tt.heuristics({'BLOKC': lambda given: 8})(fill)\n",
    ),
    Fault(
        "TT3019",
        "No config left",
        "{what} leaves no config to try",
        "keep at least one config",
        "A launch needs one config for its compile-time arguments.",
        """
@tt.autotune([tt.Config({"BLOCK": 4}), tt.Config({"BLOCK": 8})], key=[],
             prune_configs_by={"early_config_prune": lambda configs, given, **keywords: []})
@tt.jit
def fill(o, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o + i, i, mask=i < n)
fill[(1,)](np.zeros(8, np.int32), 8)
""",
    ),
    Fault(
        "TT3020",
        "No descriptor of this tensor",
        "the tensor cannot have a descriptor: {why}",
        "describe an aligned array with a contiguous last axis, in blocks of powers of two",
        "A tensor descriptor is what copy engines read: 1 to 5 axes, 16-byte aligned rows, a contiguous last axis.",
        "tt.TensorDescriptor.from_tensor(np.zeros((4, 8), np.float32), [3, 8])\n",
    ),
)
