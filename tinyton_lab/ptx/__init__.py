"""PTX as a language: its text, its instructions and their meaning per lane. Knows no grid, memory or schedule."""
