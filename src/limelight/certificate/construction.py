r"""The check of a construction, from its file alone: a proof over all $2^T$ inputs, or a witness.

Sound for any weights whatsoever. What the file says of itself is read as a claim; the weights
decide. Both answers are proofs: `pass` rests on enclosures that contain every input's output,
`fail` on one input whose output, enclosed as well, is too far from the claim.
"""

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from limelight._core.notebook import Maths, grid, line
from limelight.certificate._claim import ConstructionClaim, read_claim
from limelight.certificate._recompute import altered, network_width, wrong_copy, wrong_fields
from limelight.models.construct._files import finite
from limelight.theory.enclosure import HeadTable, head_range, network_range

#: All inputs are walked through as well, up to this length.
EXHAUSTIVE = 16
SAMPLES = 1000
#: Boxes that may be cut in two where one enclosure is too wide.
MOST_BOXES = 4096
CHUNK = 64

EXITS = {"pass": 0, "fail": 1, "unproved": 2}


@dataclass(frozen=True)
class CheckReport:
    """What was proved of a construction file.

    Args:
        verdict: `pass`, `fail` or `unproved`, about the function alone.
        file: The file.
        T: Bits of an input.
        patterns: Patterns on the relevant positions.
        inputs_covered: What the verdict is about.
        head_error_upper: No input's head output is further than this from its target.
        output_error_upper: No input's output is further than this from the claimed value.
        tolerance: What was claimed.
        witness: An input that refutes the claim.
        exhaustive: The walk through all inputs, where it is short.
        samples: Inputs evaluated otherwise, and the largest error.
        slack: Room between the head's error and what the network forgives.
        altered: Tensors whose bytes are not those of the certificate.
        certificate: `ok`, or the fields that do not hold.
        function_only: Whether the certificate was left out of the exit code.
        seconds: It took.

    Example:
        >>> import limelight as ll, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> ll.construct("and", length=8, sparsity=2).save(f"{folder}/and.safetensors")
        >>> ll.check(f"{folder}/and.safetensors").inputs_covered
        '2^8'
    """

    verdict: str
    file: str
    T: int
    patterns: int
    inputs_covered: str
    head_error_upper: float
    output_error_upper: float
    tolerance: float
    witness: dict[str, Any] | None
    exhaustive: dict[str, Any]
    samples: dict[str, Any]
    slack: float
    altered: list[str]
    certificate: str | list[str]
    function_only: bool
    seconds: float

    @property
    def code(self) -> int:
        """0 when everything holds, 1 when something is refuted, 2 when nothing could be proved."""
        code = EXITS[self.verdict]
        if code == 0 and not self.function_only and (self.certificate != "ok" or self.altered):
            return 1
        return code

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return finite(asdict(self)) | {"passed": self.code == 0}

    def _repr_html_(self) -> str:
        """For notebooks: what was proved, both sides of each condition, and what is wrong."""
        sides = {"output error": (self.output_error_upper, self.tolerance)}
        if np.isfinite(self.head_error_upper):  # else the heads have no targets
            forgiven = self.head_error_upper + self.slack
            sides["head error"] = (self.head_error_upper, forgiven)
        conditions = [
            ("holds" if proved <= allowed else "FAILS", name)
            + (Maths(f"{proved:.4g}"), Maths(f"{allowed:.4g}"))
            for name, (proved, allowed) in sides.items()
        ]
        title, *facts = str(self).split("\n")
        power = f" 2<sup>{self.T}</sup> inputs"  # a file's name is not typeset
        return (
            line(title, strong=True).replace(f" {self.inputs_covered} inputs", power)
            + grid(("", "condition", "at most", "allowed"), conditions)
            + "".join(line(fact.strip()) for fact in facts[2:])
        )

    def __str__(self) -> str:
        every = f"all {self.inputs_covered} inputs"
        said = f"{self.verdict}: {self.file}, {every}"
        if self.code != EXITS[self.verdict]:  # the function is right, what is said of it is not
            said = f"fail: {self.file} computes its function, {every}, but was altered"
        lines = [
            said,
            f"  output error <= {self.output_error_upper:.3g} (allowed {self.tolerance:.3g})",
            f"  head error   <= {self.head_error_upper:.4g}, slack {self.slack:.4g}",
        ]
        whole = self.exhaustive["ran"]
        seen, how = (self.exhaustive, "walked through") if whole else (self.samples, "sampled")
        lines.append(f"  {seen['inputs']} inputs {how}, largest error {seen['max_error']:.3g}")
        if self.witness:
            lines.append(
                f"  witness {self.witness['input']}: {self.witness['output']:.6g}"
                f" where {self.witness['expected']:g} is claimed"
            )
        if self.altered:
            lines.append(f"  altered: {', '.join(self.altered)}")
        if self.certificate == "ok":
            lines.append("  certificate: ok")
        else:
            lines += [f"  certificate: wrong {field}" for field in self.certificate]
        return "\n".join([*lines, f"  {self.seconds:.2f} s"])


@np.errstate(all="ignore")  # what overflows encloses nothing, and so proves nothing
def check(path: str | Path, *, function_only: bool = False) -> CheckReport:
    """Prove or refute that a file computes what it claims, for every input.

    Args:
        path: A file that `construct` wrote, or anything that claims to be one.
        function_only: Whether altered bytes and wrong certificate fields are forgiven.

    Raises:
        InputError: For files that are not constructions at all.

    Example:
        >>> import limelight as ll, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> ll.construct("and", length=8, sparsity=2).save(f"{folder}/and.safetensors")
        >>> ll.check(f"{folder}/and.safetensors").verdict
        'pass'
    """
    start = time.perf_counter()
    claim = read_claim(path)
    tables = claim.tables()
    low, high = _boxes(tables, claim.positions, claim.patterns())
    out_low, out_high = _outputs(claim, low, high)
    error = np.maximum(out_high - claim.values, claim.values - out_low)
    proved = bool((error <= claim.tolerance).all())
    exhaustive, samples, worst = _walk(claim)
    if not proved:
        suspects = np.vstack([worst, _extremal(claim, tables, error)])
        witness = _refute(claim, tables, suspects)
        verdict = "fail" if witness else "unproved"
    else:
        witness, verdict = None, "pass"
        _cross_check(claim, worst, out_low, out_high)
    measured = _measured(claim, low, high)
    return CheckReport(
        verdict=verdict,
        file=claim.source,
        T=claim.length,
        patterns=len(claim.values),
        inputs_covered=f"2^{claim.length}",
        head_error_upper=measured,
        output_error_upper=float(error.max()),
        tolerance=claim.tolerance,
        witness=witness,
        exhaustive=exhaustive,
        samples=samples,
        slack=network_width(claim) - measured,
        altered=altered(claim, path),
        certificate=[*wrong_fields(claim, measured), *wrong_copy(claim, path)] or "ok",
        function_only=function_only,
        seconds=time.perf_counter() - start,
    )


def _boxes(
    tables: list[HeadTable], positions: np.ndarray, bits: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Head outputs over all other bits: a box for every pattern, heads added up."""
    parts = []
    for begin in range(0, len(bits), CHUNK):
        chunk = bits[begin : begin + CHUNK]
        ranges = [head_range(table, positions, chunk) for table in tables]
        low, high = (np.stack(side).sum(axis=0) for side in zip(*ranges, strict=True))
        size = np.stack([np.abs(side) for pair in ranges for side in pair]).sum(axis=0)
        slack = 4 * len(tables) * 2.0**-53 * size
        parts.append((low - slack, high + slack))
    lows, highs = zip(*parts, strict=True)
    return np.vstack(lows), np.vstack(highs)


def _outputs(
    claim: ConstructionClaim, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The network's range over every box; boxes that are too wide are cut in two, and again."""
    net = _network(claim)
    out_low = np.full(len(low), np.inf)
    out_high = np.full(len(low), -np.inf)
    owner = np.arange(len(low))
    spent = 0
    step = max(1, 2**22 // max(1, net[0].size))
    while len(owner):
        sides = [
            network_range(low[i : i + step], high[i : i + step], *net)
            for i in range(0, len(owner), step)
        ]
        under, over = (np.concatenate(side) for side in zip(*sides, strict=True))
        error = np.maximum(over - claim.values[owner], claim.values[owner] - under)
        spent += len(owner)
        settled = (error <= claim.tolerance) | (spent + 2 * len(owner) > MOST_BOXES + len(low))
        np.minimum.at(out_low, owner[settled], under[settled])
        np.maximum.at(out_high, owner[settled], over[settled])
        low, high, owner = low[~settled], high[~settled], owner[~settled]
        if len(owner):
            rows, widest = np.arange(len(owner)), np.argmax(high - low, axis=1)
            middle = (low[rows, widest] + high[rows, widest]) / 2
            left, right = high.copy(), low.copy()
            left[rows, widest] = right[rows, widest] = middle
            low, high = np.vstack([low, right]), np.vstack([left, high])
            owner = np.concatenate([owner, owner])
    return out_low, out_high


def _network(claim: ConstructionClaim) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first, second, w = (claim.tensors[f"mlp.{name}"] for name in ("W_1", "W_2", "w"))
    return first, second, w


def evaluate(claim: ConstructionClaim, bits: np.ndarray) -> np.ndarray:
    """What the stored weights compute on whole inputs, in plain floating point."""
    mixed = head_outputs(claim, bits)
    first, second, w = _network(claim)
    out = []
    for begin in range(0, len(mixed), 1024):
        hidden = np.maximum(mixed[begin : begin + 1024] @ first[:-1] + first[-1], 0.0)
        out.append(np.maximum(hidden @ second[:-1] + second[-1], 0.0) @ w)
    return np.concatenate(out)


def head_outputs(claim: ConstructionClaim, bits: np.ndarray) -> np.ndarray:
    """What the heads output on whole inputs, in plain floating point."""
    tokens = claim.tokens().centre
    total = np.zeros((len(bits), claim.inputs))
    cls = claim.tensors["cls"]
    for h in range(claim.heads):
        Q, K, V, C = (claim.tensors[f"head.{h}.{name}"] for name in ("W_Q", "W_K", "W_V", "W_C"))
        asked = K @ (Q.T @ cls)
        scores, values = tokens @ asked, (tokens @ V @ C)[..., : claim.inputs]
        own, said = float(cls @ asked), (cls @ V @ C)[: claim.inputs]
        for begin in range(0, len(bits), 4096):
            chunk = bits[begin : begin + 4096]
            picked = np.where(chunk, scores[:, 1], scores[:, 0])
            top = np.maximum(picked.max(axis=1), own)
            weight, rest = np.exp(picked - top[:, None]), np.exp(own - top)
            ones = weight * chunk
            sums = ones @ values[:, 1] + (weight - ones) @ values[:, 0] + rest[:, None] * said
            total[begin : begin + 4096] += sums / (weight.sum(axis=1) + rest)[:, None]
    return total


def _walk(claim: ConstructionClaim) -> tuple[dict[str, Any], dict[str, Any], np.ndarray]:
    """All inputs, or all patterns on plain and random backgrounds; the worst inputs come back."""
    whole = claim.length <= EXHAUSTIVE
    if whole:
        bits = (np.arange(2**claim.length)[:, None] >> np.arange(claim.length)) & 1
    else:
        rng = np.random.default_rng(0)
        drawn = rng.integers(0, 2, (max(2, SAMPLES // len(claim.values)), claim.length))
        plain = np.array([[0], [1]]) * np.ones((1, claim.length), dtype=int)
        backgrounds = np.vstack([plain, drawn])
        patterns = claim.patterns()
        bits = np.repeat(backgrounds, len(patterns), axis=0)
        bits[:, claim.positions] = np.tile(patterns, (len(backgrounds), 1))
    error = np.abs(evaluate(claim, bits) - claim.expected(bits))
    summary = {"inputs": len(bits), "max_error": float(error.max())}
    worst = bits[np.argsort(-error, kind="stable")[:8]]
    nothing = {"inputs": 0, "max_error": None}
    if whole:
        return {"ran": True, **summary}, nothing, worst
    return {"ran": False, **nothing}, summary, worst


def _extremal(claim: ConstructionClaim, tables: list[HeadTable], error: np.ndarray) -> np.ndarray:
    """Inputs that push the heads to the ends of their ranges, for the worst patterns."""
    rows = []
    patterns = claim.patterns()
    for a in np.argsort(-error, kind="stable")[:16]:
        for table in tables:
            for j in range(claim.inputs):
                lean = table.weight_high * (
                    table.value_high[..., j] - table.value_high[..., j].mean()
                )
                for sign in (1, -1):
                    bits = np.argmax(sign * lean, axis=1)
                    bits[claim.positions] = patterns[a]
                    rows.append(bits)
    return np.array(rows)


def _refute(
    claim: ConstructionClaim, tables: list[HeadTable], suspects: np.ndarray
) -> dict[str, Any] | None:
    """The worst suspect whose enclosed output is certainly too far from the claimed value."""
    error = np.abs(evaluate(claim, suspects) - claim.expected(suspects))
    everything, net = np.arange(claim.length), _network(claim)
    for i in np.argsort(-error, kind="stable")[:8]:
        bits = suspects[i : i + 1]
        expected = claim.expected(bits)
        low, high = _boxes(tables, everything, bits)
        under, over = network_range(low, high, *net)
        if max(under[0] - expected[0], expected[0] - over[0]) > claim.tolerance:
            return {
                "input": "".join(map(str, bits[0])),
                "output": float(evaluate(claim, bits)[0]),
                "expected": float(expected[0]),
            }
    return None


def _measured(claim: ConstructionClaim, low: np.ndarray, high: np.ndarray) -> float:
    """How far the heads can be from the targets of their lemma, over all inputs."""
    bits = claim.patterns()
    ones = bits.sum(axis=1, keepdims=True)
    s = claim.sparsity
    if claim.inputs == 1 and s > 1:
        target = (ones - s) / (ones + 1) if claim.bag else 1 - 2 * ones / s
    elif claim.inputs == s:
        target = (bits - 1) / (ones + 1) if claim.bag else 1 - 2 * bits
    else:
        return float("inf")
    return float(np.maximum(high - target, target - low).max())


def _cross_check(
    claim: ConstructionClaim, worst: np.ndarray, low: np.ndarray, high: np.ndarray
) -> None:
    """Evaluated outputs lie inside the enclosures, or this program is wrong."""
    index = worst[:, claim.positions] @ 2 ** np.arange(claim.sparsity)
    output = evaluate(claim, worst)
    room = 1e-9 * (1 + np.abs(claim.values).sum())
    if ((output > high[index] + room) | (output < low[index] - room)).any():
        raise AssertionError("an evaluated output left its enclosure; please report this")
