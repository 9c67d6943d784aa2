"""The same library elsewhere: other Pythons, other versions, other users, poorer machines.

`python -m tests.machines` does the quick part of the suite and the first commands in each place,
and writes the matrix to `results/benchmarks/machines.json`; `make machines` is all of them.
"""
