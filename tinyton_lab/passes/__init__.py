"""The passes of tile IR, one file each: a function to a function, with the reasons of what was declined."""
