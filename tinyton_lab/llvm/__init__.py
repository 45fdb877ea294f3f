"""LLVM, kept at arm's length: text out, machine code or PTX back. The only folder that may load llvmlite."""
