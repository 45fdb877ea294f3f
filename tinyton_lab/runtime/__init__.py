"""What runs kernels: the arrays behind their arguments, and one module per engine."""
