"""The corpus: one kernel per file with inputs and the numpy answer. Every engine runs all of it."""
