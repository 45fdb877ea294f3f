"""The fast engine: PTX becomes LLVM vectors, CTAs run as machine code. The trace engine says what is right."""
