"""Small complete programs: what `tinyton demo`, `%ttexample` and the documentation show."""
