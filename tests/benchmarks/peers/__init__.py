"""Kernels of the peers, in their own language; imported only where the peer is installed."""
