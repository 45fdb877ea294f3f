"""Faults TT1xxx: reading a kernel's source."""

from __future__ import annotations

from tinyton_lab.base.faults.row import Fault

_RUN = "o = np.zeros(8, np.float32)\nkernel[(1,)](o)\n"


def _kernel(body: str, before: str = "") -> str:
    """A specimen: a kernel of one argument with this body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{before}@tt.jit\ndef kernel(o):\n{lines}{_RUN}"


ROWS: tuple[Fault, ...] = (
    Fault(
        "TT1001",
        "Undefined name",
        "the name {name!r} is not defined here",
        "{hint}",
        "A kernel sees its parameters, its own variables, and the names around its definition.",
        _kernel("length = 8\ntl.store(o, lenght)"),
    ),
    Fault(
        "TT1002",
        "Construct outside the language",
        "the kernel language does not have {what}",
        "{hint}",
        "Kernels are written in a part of Python: assignments, if, for, while, calls, operators. The rest has no "
        "meaning for a program that runs on a grid.",
        _kernel("try:\n    tl.store(o, 1.0)\nexcept ValueError:\n    pass"),
    ),
    Fault(
        "TT1003",
        "Return inside a loop",
        "a loop cannot be left by return",
        "keep the result in a variable and let the loop's bounds or a mask end it",
        "A loop runs all its turns: programs have no jumps. An early return outside of loops is fine.",
        _kernel("for i in range(4):\n    if i > 2:\n        return\n    tl.store(o + i, i)"),
    ),
    Fault(
        "TT1004",
        "Recursion",
        "{name} is called from itself, and recursion cannot be compiled: {chain}",
        "write it as a loop",
        "Functions are inlined where they are called, so a chain of calls must end.",
        _kernel(
            "tl.store(o, countdown(tl.load(o)))",
            "@tt.jit\ndef countdown(n):\n    return n if n <= 0 else countdown(n - 1)\n",
        ),
    ),
    Fault(
        "TT1005",
        "Call of a plain Python function",
        "{name} is a plain Python function, which a kernel cannot call",
        "{hint}",
        "A kernel calls builtins of the language and functions that are marked as written in it, because their source "
        "is compiled into it.",
        _kernel("tl.store(o, twice(tl.load(o)))", "def twice(v):\n    return v * 2\n"),
    ),
    Fault(
        "TT1006",
        "Value not known at compile time",
        "{what} must be known at compile time",
        "use a tl.constexpr parameter, a literal, or a mask",
        "Shapes, axes, dtypes and options are part of the code that is made, so they cannot depend on data.",
        _kernel("n = tl.program_id(0) + 4\ntl.store(o + tl.arange(0, n), 1.0)"),
    ),
    Fault(
        "TT1007",
        "Arguments that do not fit a call",
        "{name}: {why}",
        "it is called as {name}{signature}",
        "Arguments bind to parameters as in Python.",
        _kernel("tl.store(o, 1.0, maks=True)"),
    ),
    Fault(
        "TT1008",
        "Global that a kernel cannot use",
        "{name} is {kind}, which cannot be part of a kernel",
        "{hint}",
        "Values from around a kernel become part of its code, so they must be constants: numbers, strings, tuples, "
        "dtypes, functions of the language.",
        _kernel("tl.store(o, WEIGHTS[0])", "WEIGHTS = np.ones(4)\n"),
    ),
    Fault(
        "TT1009",
        "Name without a value on some path",
        "{name!r} may have no value here: {why}",
        "give it a value before",
        "Every path to a use of a name must have given it a value.",
        _kernel("if tl.program_id(0) == 0:\n    value = 1.0\ntl.store(o, value)"),
    ),
    Fault(
        "TT1010",
        "Source that is no function definition",
        "the source of {name} is not a plain def",
        "write it as `def {name}(...):` below its decorators",
        "The compiler reads the definition of a function; a lambda or generated code has none.",
        "kernel = tt.jit(lambda o: tl.store(o, 1.0))\n" + _RUN,
    ),
    Fault(
        "TT1011",
        "Function of the language outside a kernel",
        "functions of the kernel language run in kernels only",
        "call them in a function decorated with @tt.jit, and launch that on a grid",
        "They work on tiles of a program, which exist only while a kernel is compiled or runs in eager mode.",
        "tl.zeros((8,), tl.float32)\n",
    ),
    Fault(
        "TT1012",
        "Assertion at compile time",
        "the assertion does not hold{message}",
        "",
        "static_assert and assert check what is known at compile time before a kernel is made.",
        _kernel('tl.static_assert(o.dtype.element_ty == tl.int32, "o must hold int32")'),
    ),
    Fault(
        "TT1013",
        "Unknown attribute",
        "{type} has no {name!r}",
        "did you mean {close}?",
        "The attributes of values, modules and dtypes are those of the language.",
        _kernel("tl.store(o, tl.lod(o))"),
    ),
    Fault(
        "TT1017",
        "Two dialects in one kernel",
        "{name} belongs to the dialect {dialect}, and {kernel} is written in {own}",
        "import the builtins of the decorator's own module",
        "The dialect of a kernel is its decorator's. The same word may mean different things in both.",
        """
from tinyton_lab import tiny_ton
@tt.jit
def kernel(o):
    tl.store(o, tiny_ton.relu(tl.load(o)))
"""
        + _RUN,
    ),
    Fault(
        "TT1018",
        "Failure of compile-time arithmetic",
        "{what} fails at compile time: {why}",
        "",
        "Expressions of compile-time values are computed by Python while the kernel is made.",
        _kernel("tl.store(o, 1 // 0)"),
    ),
    Fault(
        "TT1019",
        "Unpacking that does not fit",
        "cannot unpack {values} into {targets}",
        "",
        "A tuple is unpacked into as many names as it has items; tiles have no items.",
        _kernel("a, b = tl.load(o)\ntl.store(o, a)"),
    ),
    Fault(
        "TT1020",
        "Call of something that is no function",
        "{what} cannot be called",
        "{hint}",
        "Only functions of the language can be called in a kernel.",
        _kernel("scale = 2\ntl.store(o, scale(1.0))"),
    ),
    Fault(
        "TT1022",
        "Loop over something else than a range",
        "a kernel loops over range, tl.range, tl.static_range or a tuple, not over {name}",
        "loop over indices",
        "Tiles have no order of elements to loop over; a range is what a loop of a program counts.",
        _kernel("for x in tl.load(o + tl.arange(0, 8)):\n    tl.store(o, x)"),
    ),
    Fault(
        "TT1023",
        "Too many unrolled turns",
        "this loop would be unrolled {turns} times; the limit is {limit}",
        "use range, which makes a loop",
        "An unrolled loop repeats its code in every turn.",
        _kernel("for i in tl.static_range(100_000):\n    tl.store(o, i)"),
    ),
    Fault(
        "TT1024",
        "Raise in a kernel",
        "the kernel raises {what}",
        "",
        "A raise that is reached at compile time ends the compilation; a program on the grid cannot raise.",
        _kernel('if o.dtype.element_ty != tl.int32:\n    raise TypeError("o must hold int32")'),
    ),
    Fault(
        "TT1026",
        "Kernel that returns a value",
        "the kernel {name} returns {what}, and nobody is there to take it",
        "store it through a pointer",
        "A kernel runs as many programs; results go to memory.",
        _kernel("return tl.load(o)"),
    ),
    Fault(
        "TT1027",
        "Breakpoint in compiled code",
        "breakpoint stops in eager mode only",
        'launch with backend="eager"',
        "A debugger follows the Python text, which only eager mode runs. This is a remark: the kernel runs without it.",
    ),
    Fault(
        "TT1036",
        "Lanes that may not have waited",
        "lanes read slots here that may have been stored to by others since the last sync",
        "put tiny_ton.sync() before it",
        "Lanes go at their own pace: what one of them stores is there for the others after a sync. This is a remark: "
        "the interpreter and eager mode tell whether it happens (TT4013), a GPU does as it is told.",
    ),
    Fault(
        "TT1037",
        "Lanes that store to one place",
        "all lanes store here to one place, and their values may differ: that of the highest lane stays",
        "store one value, such as the result of tiny_ton.reduce_sum, or let each lane have its own place",
        "Lanes of a GPU would race, and any of them might win. This is a remark: here the highest lane that the mask "
        "leaves on wins, on every engine.",
    ),
    Fault(
        "TT1038",
        "Loop too large to unroll",
        "this loop would become too much code when unrolled, so it runs as a loop",
        "",
        "In tiny-ton's dialect a range of known bounds is unrolled, and its variable is a number, while that stays "
        "small. This is a remark: the results are the same.",
    ),
    Fault(
        "TT1028",
        "Endless loop",
        "this condition is always true, so the loop never ends",
        "let it depend on a variable that the loop changes",
        "A loop ends by its condition or by a break.",
        _kernel("while True:\n    tl.store(o, 1.0)"),
    ),
    Fault(
        "TT1029",
        "Calls nested too deeply",
        "{name} is called {depth} levels deep, which is the limit",
        "write it as a loop",
        "Functions are inlined where they are called.",
    ),
    Fault(
        "TT1030",
        "Code nested too deeply",
        "{name} is nested too deeply to be compiled",
        "give parts of it a name",
        "Expressions and blocks are read from the outside in, and Python limits how deep that may go.",
        _kernel(f"tl.store(o, {'-' * 900}1.0)"),
    ),
    Fault(
        "TT1031",
        "Break or continue",
        "break and continue are an extension of the language",
        "Triton refuses them: there, let the loop's condition say when to stop",
        "This is a remark. The rest of the turn runs under a condition; a for loop with a break counts by itself.",
    ),
    Fault(
        "TT1032",
        "Break out of an unrolled loop",
        "whether this unrolled loop is left by its break is not known at compile time",
        "use range, which makes a loop",
        "The turns of an unrolled loop are laid out one after another while the kernel is made.",
        _kernel("for i in tl.static_range(4):\n    if tl.load(o + i) > 0:\n        break\n    tl.store(o + i, 1.0)"),
    ),
    Fault(
        "TT1033",
        "Class that is no aggregate",
        "the aggregate {name} cannot be made: {why}",
        "declare its fields as `name: tl.tensor` or `name: tl.constexpr`, and set them all in __init__",
        "An aggregate is a bundle of values of the kernel; what it holds is known when the kernel is made.",
        """
@tt.aggregate
class Span:
    first: tl.tensor
    last: tl.tensor
    def __init__(self, first):
        self.first = first
"""
        + _kernel("tl.store(o, Span(1.0).first)"),
    ),
    Fault(
        "TT1034",
        "Aggregate that is to change",
        "a {name} does not change: {field} is set in its __init__ only",
        "make another one: tl.aggregate_replace(value, {field}=...)",
        "Loops and branches carry aggregates as values, like tiles.",
        """
@tt.aggregate
class Span:
    first: tl.tensor
    last: tl.tensor
"""
        + _kernel("span = Span(1.0, 2.0)\nspan.last = 3.0\ntl.store(o, span.last)"),
    ),
    Fault(
        "TT1035",
        "Value that does not fit its field",
        "{name}.{field} holds a {wanted}, not {seen}",
        "",
        "Fields have the types that the class declares.",
        """
@tt.aggregate
class Span:
    first: tl.tensor
"""
        + _kernel('span = Span("1.0")\ntl.store(o, span.first)'),
    ),
    Fault(
        "TT1040",
        "Rounded operands of a product",
        "only a GPU rounds the operands of this product",
        'input_precision="ieee" gives the same numbers on every engine',
        "This is a remark. tf32 and its kin let tensor cores read f32 with fewer bits; the engines cpu and interpreter "
        "multiply in full f32 all the same.",
    ),
)
