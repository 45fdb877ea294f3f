"""What a notebook shows: magics, cards, the Inspector and the normal form of notebooks; nothing below imports it."""
