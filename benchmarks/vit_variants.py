"""Other ways to take a training step of small ViTs, for `vit.py --variants`.

A small ViT's step on a GPU is hundreds of kernels of a few microseconds if it is left to the
compiler. Here is what the library does about it, undone part by part, and another attention.
"""

import contextlib
from collections.abc import Iterator
from unittest import mock

import jax
import jax.numpy as jnp

from limelight.models import layers, vit
from limelight.train.images import ImageTraining

#: What is tried: its name, networks at once, and the words of `way`.
VARIANTS = (
    ("no kernel for a block", 1, {"fused": False}),
    ("no kernel for a block", 10, {"fused": False}),
    ("no kernel for a block, attention by cuDNN", 1, {"fused": False, "cudnn": True}),
    ("nor weights in two vectors", 1, {"fused": False, "packed": False}),
    ("nor weights in two vectors", 10, {"fused": False, "packed": False}),
    ("as it is", 40, {}),
)


@contextlib.contextmanager
def way(fused: bool = True, packed: bool = True, cudnn: bool = False) -> Iterator[None]:
    """Programs that are traced inside take their steps so."""
    with contextlib.ExitStack() as changes:
        put = lambda *change: changes.enter_context(mock.patch.object(*change))
        if not fused:
            put(vit, "on_gpu", lambda: False)
        if not packed:
            put(ImageTraining, "_packed", lambda self, trained: (trained, lambda w: w, None))
        if cudnn:
            put(layers.Attention, "mix", _by_cudnn)
        yield


def _by_cudnn(self, x, kept, places=None, rows=None):
    """`Attention.mix` of all tokens, by the library's fused kernel; without the softmax."""
    split = lambda a: a.reshape(len(a), self.heads, -1)
    q, k, v = (split(part(x)) for part in (self.query, self.key, self.value))
    mixed = jax.nn.dot_product_attention(q, k, v, implementation="cudnn")
    return mixed.reshape(len(x), -1), jnp.zeros((self.heads, 1, 1), x.dtype)
