"""Where each element of a tile lives: linear layouts, their choice, and the movement between them."""
