"""Where a fine-tuned ViT starts from: networks trained on other images, of more or fewer of them.

A start is trained inside the program that uses it, once for all of its trials: no trial's key
enters, so `vmap` does not carry it. Or it is read from a file that an earlier run left.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from limelight._core.errors import InputError, check_word
from limelight._core.files import file_digest, from_home
from limelight._core.keys import named
from limelight._core.kinds import kind
from limelight._core.types import PRNGKey
from limelight._engine.device import LIBRARY
from limelight.experiments.base import Experiment
from limelight.models._flat import count, from_vector, to_vector
from limelight.models.pretrained import load_vit, save_vit
from limelight.models.vit import Vision, ViT
from limelight.table import Table
from limelight.train.images import ImageTraining, TrainedNetwork, accuracy
from limelight.worlds.composites import Composites

STARTS = ("wide", "narrow")
#: The column of a table that keeps a trained network.
WEIGHTS = "trace.weights"


@kind("experiment.start")
class Start(eqx.Module):
    """One kind of start: a ViT, the images that it is trained on, and how.

    Objects as large as the canvas are plain images.

    Example:
        >>> import limelight as ll
        >>> ll.experiments.Start().vit.depth
        2
    """

    world: Composites = Composites(only=(0, 1, 2, 3, 4), background="blank")
    vit: Vision = Vision(width=32, depth=2, heads=4, hidden=64)
    course: ImageTraining = ImageTraining(steps=400, batch=64)

    def train(self, key: PRNGKey) -> tuple[TrainedNetwork, Any]:
        """The trained network, and the order of its images."""
        k_truth, k_init, k_train = named(key, "truth", "init", "train")
        truth = self.world.draw(k_truth)
        model = self.vit.init(k_init, self.world, truth)
        return self.course(k_train, self.world, truth, model), truth

    def like(self) -> ViT:
        """The shapes of its network."""
        return jax.eval_shape(lambda key: self.vit.init(key, self.world, None), jr.key(0))

    def loaded(self) -> "Start":
        """With its images in it."""
        return dataclasses.replace(self, world=self.world.loaded())

    def check(self) -> None:
        """Check every part, and the parts together."""
        self.world.check()
        self.vit.check(self.world)
        self.course.check(self.world)


@kind("experiment.starts")
class Starts(eqx.Module):
    r"""The two starts of li2023's figure 6(c), and which of them is used.

    Args:
        which: `wide`, trained on many classes and images, or `narrow`, on few.
        wide: The one.
        narrow: The other.
        folder: Where `wide.safetensors` and `narrow.safetensors` lie, as `save_starts` leaves them;
            empty to train here.
        seed: What the training here depends on.
        weights: The numbers of the file, once read.

    Example:
        >>> import limelight as ll
        >>> ll.experiments.Starts(which="narrow").which
        'narrow'

    Reference: li2023, Section 5.2.
    """

    which: str = eqx.field(static=True, default="wide")
    wide: Start = Start()
    narrow: Start = Start()
    folder: str = eqx.field(static=True, default="")
    seed: int = eqx.field(static=True, default=0)
    weights: Float[Array | np.ndarray, " numbers"] | None = None

    @property
    def chosen(self) -> Start:
        """The start that is used."""
        return self.wide if self.which == "wide" else self.narrow

    def model(self) -> ViT:
        """The network that the start is."""
        if self.folder:
            weights = self.read() if self.weights is None else self.weights
            return from_vector(weights, self.chosen.like())
        return self.chosen.train(jr.key(self.seed))[0].model

    def read(self) -> Float[np.ndarray, " numbers"]:
        """The numbers of the file, its head's zero, if its network is of the sizes wanted here."""
        path, like = self._file(), self.chosen.like()
        found = load_vit(path)
        sizes = lambda vit: (
            jax.tree.map(lambda leaf: leaf.shape, eqx.tree_at(lambda m: m.head, vit, None)),
            [block.attention.heads for block in vit.blocks],
            vit.pool,
        )
        if sizes(found) != sizes(like):
            raise InputError(f"{path} is a ViT of other sizes", "retrain it, or set starts.*.vit")
        # Its head may be of any classes: who starts from it makes a new one.
        blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape), like.head)
        return np.asarray(to_vector(eqx.tree_at(lambda m: m.head, found, blank)))

    def files_read(self) -> dict[str, str]:
        """The file of the chosen start, where it comes from one."""
        return {str(self._file()): file_digest(self._file())} if self.folder else {}

    def loaded(self) -> "Starts":
        """With what it reads in it, so that a program takes that as an argument."""
        if self.folder:
            return dataclasses.replace(self, weights=self.read())
        return dataclasses.replace(self, **{self.which: self.chosen.loaded()})

    def check(self) -> None:
        """Refuse unknown starts and files that are not there."""
        check_word("starts.which", self.which, STARTS)
        self.chosen.check()
        if self.folder and not self._file().exists():
            hint = "limelight weights RUN -o FOLDER writes it, from a run of li2023 fig6-starts"
            raise InputError(f"no {self._file()}", hint)

    def _file(self) -> Path:
        return from_home(self.folder) / f"{self.which}.safetensors"


@kind("experiment.pretraining")
class Pretraining(Experiment):
    """Train a start, read its accuracy on the classes it was trained on, and keep its weights.

    Example:
        >>> import limelight as ll
        >>> ll.experiments.Pretraining().starts.which
        'wide'
    """

    starts: Starts = Starts()

    compiler = LIBRARY

    def trial(self, key: PRNGKey) -> dict[str, Array]:
        """Train one, read it."""
        k_train, k_test = named(key, "train", "test")
        start = self.starts.chosen
        trained, truth = start.train(k_train)
        return {
            "accuracy": accuracy(trained.model, start.world, truth, k_test),
            "chance": jnp.array(1.0 / start.world.classes),
            "training_loss": trained.last,
            "diverged": ~trained.finite,
            WEIGHTS: self._padded(to_vector(trained.model)),
        }

    def _padded(self, vector: Float[Array, " numbers"]) -> Float[Array, " longest"]:
        """As long as the longer of the starts: a table has columns of one length."""
        longest = max(count(start.like()) for start in (self.starts.wide, self.starts.narrow))
        return jnp.pad(vector, (0, longest - len(vector)), constant_values=jnp.nan)

    def with_room(self, cells: Sequence[Any]) -> "Pretraining":
        """With its images in it."""
        return dataclasses.replace(self, starts=self.starts.loaded())

    def check(self) -> None:
        """Check the start; one that is read is not trained."""
        self.starts.check()
        if self.starts.folder:
            raise InputError(
                f"starts.folder = {self.starts.folder}: starts that are read are not trained",
                "leave it empty",
            )


def save_starts(table: Table, starts: Starts, folder: str | Path, trial: int = 0) -> list[Path]:
    """Write the networks of a table of `Pretraining` under timm's names, for `starts.folder`."""
    if WEIGHTS not in table.columns:
        hint = "published tables leave them out: run the figure, and give its folder"
        raise InputError("this table does not hold the networks", hint)
    found = []
    for which in STARTS:
        rows = table.rows((table["starts.which"] == which) & (table["trial"] == trial))
        if not len(rows):
            continue
        start = getattr(starts, which)
        path = Path(folder) / f"{which}.safetensors"
        path.parent.mkdir(parents=True, exist_ok=True)
        like = start.like()
        model = from_vector(rows[WEIGHTS][0][: count(like)], like)
        save_vit(model, path, channels=start.world.shape.channels)
        found.append(path)
    return found
