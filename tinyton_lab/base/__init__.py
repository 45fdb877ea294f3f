"""The ground floor: dtypes, targets, sources, faults and knobs. It imports nothing else of the package."""
