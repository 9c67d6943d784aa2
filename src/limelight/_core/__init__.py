"""What every shelf stands on.

`types` arrays and examples; `arrays` one function for NumPy and JAX; `keys` randomness by name;
`numerics`, `norms` and `gram` matrices and numbers; `slots` how trials share a program; `words`
settings from text; `errors` what a user can act on; `kinds` stable names of parts; `files` files
that are whole or not there; `processes` whether their owner is still there; `lazy` packages that
load their names late; `notebook` HTML for notebooks; `backend` which device.
"""
