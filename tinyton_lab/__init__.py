"""A kernel lab for Jupyter: write a block kernel in a cell, run it anywhere, look at every stage it went through."""
