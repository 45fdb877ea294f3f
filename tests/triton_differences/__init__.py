"""What this package and Triton's interpreter make of the same kernels, name by name of the language."""
