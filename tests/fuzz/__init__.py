"""Random kernels: made from a seed, run on several engines, compared by bits, and made small when they differ."""
