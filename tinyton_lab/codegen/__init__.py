"""Code generators: tile IR to LLVM text, one folder per kind of machine."""
