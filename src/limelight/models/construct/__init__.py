"""Constructions: from a sparse Boolean function to attention weights that compute it.

`rules` tables of functions; `bases` vectors that mark positions; `selectors` the heads;
`memorise` the network after them; `lemmas` the numbers of the lemmas; `plan` what is decided from
a request; `build` makes the weights, `document` their certificate; `files` keeps both.
"""

from limelight.models.construct._files import load
from limelight.models.construct.build import Construction, construct

__all__ = ["Construction", "construct", "load"]
