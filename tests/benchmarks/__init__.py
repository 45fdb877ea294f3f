"""What is measured, against whom: scripts that print ratios. ``python -m tests.benchmarks [name]`` runs them."""
