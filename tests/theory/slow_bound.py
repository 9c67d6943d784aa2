"""The bound on a checkpoint once more, slowly: full products, loops, one number at a time."""

import math

import numpy as np
import pytest


def lengths(vectors):
    return [math.sqrt(sum(float(x) * float(x) for x in v)) for v in vectors]


def slow_map(sizes, X, e, N):
    D, most, total = len(sizes), max(sizes), sum(sizes)
    inf = 36 * (D * most * X / e) ** 2
    inf *= math.log(2 * math.ceil(4 * D**0.5 * most * X / e + 2) * N + 1)
    one = 144 * (total * X / e) ** 2 * math.log(2 * math.ceil(8 * total * X / e + 2) * N + 1)
    return min(inf, one + math.lgamma(2 * D + 1) - 2 * math.lgamma(D + 1))


class SlowHead:
    """One head from its weights [in, out] and biases, the tokens at most X long."""

    def __init__(self, Wq, bq, Wk, Wv, bv, X, cn):
        k = Wq.shape[1]
        Q, K = np.vstack([Wq, bq]) / math.sqrt(k), np.vstack([Wk, np.zeros(k)])
        self.product, self.V, self.X, self.cn = Q @ K.T, np.vstack([Wv, bv]), X, cn
        self.rows, self.columns = lengths(self.product), lengths(self.product.T)
        self.values = lengths(self.V.T)
        self.spectral = float(np.linalg.svd(self.V, compute_uv=False).max())
        self.sizes = [math.sqrt(float((M**2).sum())) for M in (self.product, self.V)]

    def norms(self):
        top = float(np.linalg.svd(self.product, compute_uv=False).max())
        d = len(self.product)
        side = lambda sizes: {
            "outputs": d, "largest": max(sizes), "total": sum(sizes), "spectral": top,
            "frobenius": self.sizes[0], "inputs": d,
        }  # fmt: skip
        value = {
            "outputs": len(self.values), "largest": max(self.values), "total": sum(self.values),
            "spectral": self.spectral, "frobenius": self.sizes[1], "inputs": d,
        }  # fmt: skip
        return {
            "token": self.X, "query_token": self.X, "query_key": side(self.rows),
            "query_side": side(self.columns), "value": value,
        }  # fmt: skip

    def inside(self):
        scores = self.cn * len(self.rows) * max(self.rows) * self.spectral * self.X**2
        return (len(self.values) * max(self.values)) ** (2 / 3) + scores ** (2 / 3)

    def order(self, e, m, T):
        return self.X**2 * self.inside() ** 3 / e**2 * math.log(m * T)

    def splits(self, e):
        for v in range(-48, 49):
            th = 1 / (1 + math.exp(-v / 4))
            yield th * e / (self.cn * self.spectral * self.X**2), (1 - th) * e

    def explicit(self, e, m, T):
        costs = []
        for scores, values in self.splits(e):
            keys = slow_map(self.rows, self.X, scores, m * T)
            asking = slow_map(self.columns, self.X, scores, m)
            costs.append(min(keys, asking) + slow_map(self.values, self.X, values, m * T))
        return min(costs)

    def parameters(self, e):
        d, k = len(self.rows), len(self.values)
        count = lambda n, size, at: n * math.log1p(2 * size * self.X / at)
        return min(
            count(d * d, self.sizes[0], scores) + count(d * k, self.sizes[1], values)
            for scores, values in self.splits(e)
        )


def slow_gap(heads, m, T, delta, steps=240):
    """Dudley's sum and the gap: value, before the cut, complexity, whether it says nothing."""
    A = math.sqrt(sum((head.spectral * head.X) ** 2 for head in heads))
    grid = [A * math.exp(-12 + 12 * i / (steps - 1)) for i in range(steps)]
    best, above = 4 * grid[-1], 0.0
    for i in reversed(range(steps - 1)):
        e = grid[i] / len(heads)
        cover = min(
            sum(head.explicit(e, m, T) for head in heads), sum(h.parameters(e) for h in heads)
        )
        above += math.sqrt(cover) * (grid[i + 1] - grid[i])
        best = min(best, 4 * grid[i] + 12 / math.sqrt(m) * above)
    complexity = min(A, best)
    uncut = 2 * complexity + math.sqrt(math.log(2 / delta) / (2 * m))
    return min(uncut, 1.0), uncut, complexity, best >= A or uncut >= 1


def slow_block(norm, weights, m, T, e, cn, delta=0.05, gap=False):
    """Everything `limelight bound --json` says of a block, but its name."""
    gain, shift = norm
    X = math.sqrt((math.sqrt(len(gain)) * max(abs(gain)) + lengths([shift])[0]) ** 2 + 1)
    heads = [SlowHead(*parts, X, cn) for parts in weights]
    share = e / len(heads)
    total = lambda tokens: sum(head.explicit(share, m, tokens) for head in heads)
    inside = sum(head.inside() for head in heads)
    out = {
        "order": X**2 * inside**3 / e**2 * math.log(m * T),
        "explicit": total(T),
        "parameters": sum(head.parameters(share) for head in heads),
        "growth": {str(T * times): total(T * times) / total(T) for times in (1, 4, 16, 64, 256)},
        "token_norm": X,
        "token_norm_from": "the LayerNorm's gain and shift",
        "heads": [
            {
                "head": h,
                "order": head.order(e, m, T),
                "explicit": head.explicit(e, m, T),
                "parameters": head.parameters(e),
                "norms": head.norms(),
            }
            for h, head in enumerate(heads)
        ],
    }
    if gap:
        names = ("gap", "gap_before_cut", "complexity", "vacuous")
        out |= dict(zip(names, slow_gap(heads, m, T, delta), strict=True))
    return out, heads


def compare(found, wanted, path="", skip=()):
    """Every number of both documents; returns how many, and the largest relative difference."""
    if isinstance(wanted, dict):
        assert set(found) - set(skip) == set(wanted), path
        parts = [compare(found[k], wanted[k], f"{path}.{k}") for k in wanted]
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), path
        parts = [compare(a, b, path) for a, b in zip(found, wanted, strict=True)]
    elif isinstance(wanted, bool | str):
        assert found == wanted, path
        return 1, 0.0
    else:
        assert found == pytest.approx(wanted, rel=1e-9), path
        return 1, abs(found - wanted) / abs(wanted) if wanted else abs(found)
    return sum(count for count, _ in parts), max(far for _, far in parts)


def joint_heads(w, n, heads):
    """The norm and the heads of a timm block."""
    W, b = w[f"blocks.{n}.attn.qkv.weight"], w[f"blocks.{n}.attn.qkv.bias"]
    d = W.shape[1]
    k = d // heads
    out = []
    for h in range(heads):
        q, kk, v = (slice(p * d + h * k, p * d + (h + 1) * k) for p in range(3))
        out.append((W[q].T, b[q], W[kk].T, W[v].T, b[v]))
    return (w[f"blocks.{n}.norm1.weight"], w[f"blocks.{n}.norm1.bias"]), out


def parted_heads(w, stem, norm, heads):
    """The norm and the heads of a block with three maps."""
    get = lambda name, kind, rows: w[f"{stem}{name}.{kind}"][rows]
    k = len(w[f"{stem}query.weight"]) // heads
    out = []
    for h in range(heads):
        rows = slice(k * h, k * h + k)
        out.append(
            (get("query", "weight", rows).T, get("query", "bias", rows),
             get("key", "weight", rows).T, get("value", "weight", rows).T,
             get("value", "bias", rows))
        )  # fmt: skip
    return (w[f"{norm}.weight"], w[f"{norm}.bias"]), out
