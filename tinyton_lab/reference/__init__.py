"""Writes what is generated from the tables: the reference pages, and every other file that pyproject lists."""
