"""The parts of tools/mutants: what can be changed, which tests reach it, and whether one of them fails."""
