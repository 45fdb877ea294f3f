"""The tile IR: types, ops, values, blocks, their text form and their verifier. It knows no op by name."""
