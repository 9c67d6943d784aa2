r"""The norms of a real block's heads: biases taken in, scale and LayerNorm accounted for.

A pre-norm or post-norm block reads $z = \mathrm{LayerNorm}(x)$. Query and value biases become an
extra row of the augmented maps on $\tilde z = (z, 1)$; the key bias adds the same to every score of
a query and cancels; $1/\sqrt k$ goes into $W_{QK}$.
"""

import math

import numpy as np

from limelight._core.arrays import Real
from limelight._core.errors import InputError
from limelight.models.checkpoint import AttentionBlock
from limelight.theory.covering import LinearMap
from limelight.theory.edelman2022.head import HeadNorms

#: Entries beyond this are no weights; products of them would leave floating point.
MOST = 1e15


def token_norm(block: AttentionBlock) -> tuple[float, str]:
    r"""A bound on the length of the augmented token, and where it comes from.

    $\sqrt{(\sqrt d \max|g| + \|\beta\|)^2 + 1}$ after a LayerNorm of gain $g$ and shift $\beta$.
    """
    if block.token_norm is not None:
        return block.token_norm, "the tokens in the file"
    assert block.gain is not None
    assert block.shift is not None
    length = math.sqrt(len(block.gain)) * np.abs(block.gain).max() + np.linalg.norm(block.shift)
    return float(math.hypot(length, 1.0)), "the LayerNorm's gain and shift"


def read_heads(block: AttentionBlock, measured: Real | None = None) -> tuple[HeadNorms, ...]:
    """The norms of every head of a block, biases taken in.

    Args:
        block: Its weights.
        measured: Length of the longest augmented token, when it was measured.

    Example:
        >>> import limelight as ll, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> ll.construct("and", length=8, sparsity=2).save(f"{folder}/and.safetensors")
        >>> blocks = ll.models.Checkpoint.load(f"{folder}/and.safetensors").blocks
        >>> len(read_heads(blocks[0]))
        1
    """
    parts = (block.query, block.key, block.value, block.query_bias, block.value_bias)
    parts += (block.gain, block.shift)
    top = max(float(np.abs(part).max()) for part in parts if part is not None)
    if not top <= MOST:
        raise InputError(
            f"{block.name}: entries up to {top:.2g}", "the file is damaged, or training diverged"
        )
    reach = token_norm(block)[0] if measured is None else measured
    width = block.query.shape[1] // block.heads
    scale = 1 / math.sqrt(width) if block.scaled else 1.0
    Q, K, V = _augmented(block)
    out = []
    for h in range(block.heads):
        part = slice(h * width, (h + 1) * width)
        keys_side, query_side = product_maps(scale * Q[:, part], K[:, part])
        span = V.shape[1] // block.heads
        value = LinearMap.of_columns(V[:, h * span : (h + 1) * span])
        out.append(HeadNorms(keys_side, value, reach, block.query_norm, query_side=query_side))
    return tuple(out)


def product_maps(query: np.ndarray, key: np.ndarray) -> tuple[LinearMap, LinearMap]:
    r"""The maps $W_{QK}$ and $W_{QK}^\top$ of $W_{QK} = W_Q W_K^\top$, without forming the product.

    Rows of the product have lengths $\|q_i R_K^\top\|$ with $W_K = Q_K R_K$, and its singular
    values are those of the small matrix $R_Q R_K^\top$.
    """
    r_query, r_key = np.linalg.qr(query).R, np.linalg.qr(key).R
    small = r_query @ r_key.T
    spectral = float(np.linalg.norm(small, 2)) if small.size else 0.0
    square = float(np.linalg.norm(small))
    sides = []
    for rows, factor in ((query, r_key), (key, r_query)):
        lengths = np.linalg.norm(rows @ factor.T, axis=1)
        sides.append(
            LinearMap(
                outputs=len(rows),
                largest=float(lengths.max()),
                total=float(lengths.sum()),
                spectral=spectral,
                frobenius=square,
                inputs=len(rows),
            )
        )
    return sides[0], sides[1]


def _augmented(block: AttentionBlock) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if block.gain is None:
        return block.query, block.key, block.value

    def widened(weight: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
        row = np.zeros(weight.shape[1]) if bias is None else bias
        return np.vstack([weight, row])

    return (
        widened(block.query, block.query_bias),
        widened(block.key, None),
        widened(block.value, block.value_bias),
    )
