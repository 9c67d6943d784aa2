"""The positions of a trained ViT beside positions drawn afresh: are they local, and is it luck?"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from limelight._core.errors import InputError, check_least
from limelight._core.files import files_digest
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import PRNGKey
from limelight._engine.device import LIBRARY
from limelight.experiments.base import Experiment
from limelight.experiments.classify import Classify
from limelight.measures.locality import locality, neighbour_share, side_of, similarity
from limelight.models.pretrained import load_vit
from limelight.models.weights import files_of


@kind("experiment.encodings")
class Encodings(Experiment):
    r"""Locality of trained positions, and of many Gaussian ones of the same shape.

    The positions come from a file, or from a ViT trained here on digits, and are those of the
    patches: the class token's is left out. Kept are the similarity $P P^\top / \max |P P^\top|$,
    row by row in one trace, and that of the first fresh draw.

    Args:
        checkpoint: A safetensors file with a ViT; empty to train one.
        heads: Its heads, where the file does not say; 0 to find out.
        study: Trains one where there is no file.
        draws: Fresh positions to compare with.
        read: The positions of the file, once read.

    Example:
        >>> import limelight as ll
        >>> ll.experiments.Encodings(draws=50).draws
        50

    Reference: jelassi2022, Figure 1(a).
    """

    checkpoint: str = eqx.field(static=True, default="")
    heads: int = eqx.field(static=True, default=0)
    study: Classify = Classify()
    draws: int = eqx.field(static=True, default=200)
    read: Float[Array | np.ndarray, "patches width"] | None = None

    compiler = LIBRARY

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Load or train, then draw."""
        k_train, k_draws = named(key, "train", "draws")
        if self.checkpoint:
            P = jnp.asarray(self.positions())
        else:
            P = self.study.run(k_train)[2].model.encodings
        fresh = lambda k: jr.normal(k, P.shape)
        keys = jr.split(k_draws, self.draws)
        drawn = jax.lax.map(lambda k: locality(fresh(k)), keys)
        return {
            "locality": locality(P),
            "neighbours": neighbour_share(P),
            "largest": jnp.max(drawn),
            "neighbours_fresh": neighbour_share(fresh(keys[0])),
            "trace.drawn": drawn,
            "trace.similarity": similarity(P).reshape(-1),
            "trace.fresh": similarity(fresh(keys[0])).reshape(-1),
        }

    def positions(self) -> Float[Array | np.ndarray, "patches width"]:
        """Those of the file."""
        if self.read is not None:
            return self.read
        return np.asarray(load_vit(self.checkpoint, self.heads or None).encodings)

    def files_read(self) -> dict[str, str]:
        """The checkpoint, where there is one."""
        files = files_of(self.checkpoint) if self.checkpoint else ()
        return {self.checkpoint: files_digest(files)} if files else {}

    def with_room(self, cells: Sequence[Any]) -> "Encodings":
        """With what it reads in it, so that the program takes that as an argument."""
        if self.checkpoint:
            return dataclasses.replace(self, read=self.positions())
        return dataclasses.replace(self, study=self.study.with_room([]))

    def check(self) -> None:
        """Refuse files without a square grid of positions, and networks that have none."""
        check_least(self, ("draws",))
        if self.checkpoint:
            side_of(len(self.positions()))
        elif self.study.network == "cnn":
            raise InputError("study.network = cnn has no positions", "set it to vit")
        else:
            self.study.check()
