"""Constructions: from a sparse Boolean function to attention weights that compute it.

`_bases` vectors that mark positions; `_selectors` the heads; `_memorise` the network after them;
`_lemmas` the numbers of the lemmas; `_plan` what is decided from a request; `build` makes the
weights, `_document` their certificate; `_files` keeps both.
"""

from limelight.models.construct._files import load
from limelight.models.construct.build import Construction, construct

__all__ = ["Construction", "construct", "load"]
