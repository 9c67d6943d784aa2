"""The run that is tortured: forty small chunks, numbers, words, traces, two programs."""

import hashlib
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from limelight.experiments import Experiment


class Walk(Experiment):
    """A random walk: its end, its path, whether it came back."""

    drift: int | float | jax.Array = 0.0
    law: str = eqx.field(static=True, default="normal")

    def trial(self, key):
        """One walk of sixteen steps."""
        draw = jr.normal if self.law == "normal" else jr.cauchy
        path = jnp.cumsum(draw(key, (16,)) + self.drift)
        return {"end": path[-1], "path": path, "back": path.min() < 0}


AXES = {"law": ["normal", "cauchy"], "drift": [0.0, 0.1, 0.2, 0.3, 0.5]}
TRIALS, WIDTH, ROWS, CHUNKS = 40, 10, 400, 40


def chunk_bytes(store: Path) -> dict[str, str]:
    """A digest of every chunk."""
    files = sorted((store / "chunks").glob("[!.]*.parquet"))
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files}
