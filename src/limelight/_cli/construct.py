"""`limelight construct`: weights for a sparse function with a certificate, and their check."""

from pathlib import Path

import typer

from limelight._cli.options import Json
from limelight._cli.text import emit, say


def construct(
    rule: str = typer.Argument(
        "", help="and, or, xor, majority, threshold:k, or a truth table in hex."
    ),
    length: int = typer.Option(64, "--length", "-T", help="Bits of an input."),
    sparsity: int = typer.Option(3, "--sparsity", "-s", help="Bits that matter."),
    positions: str = typer.Option("", "--positions", help="Which, from 0: 3,7,11; drawn without."),
    embedding: str = typer.Option(
        "deterministic", "--embedding", help="deterministic, trainable or bag."
    ),
    basis: str = typer.Option(
        "auto", "--basis", help="orthonormal, signs, signs:d, chirp or chirp:p."
    ),
    heads: str = typer.Option("auto", "--heads", help="auto, one, or many (a head a position)."),
    gamma: float | None = typer.Option(None, "--gamma", help="Distance of the head's targets."),
    rho: str = typer.Option("auto", "--rho", help="auto, bound or measured overlap."),
    variant: str = typer.Option("repaired", "--variant", help="repaired, or as printed (fails)."),
    dtype: str = typer.Option("float64", "--dtype", help="float64 or float32."),
    tolerance: float | None = typer.Option(
        None, "--tolerance", help="Error allowed at the output."
    ),
    seed: int = typer.Option(0, "--seed", help="Of drawn positions and random signs."),
    output: Path | None = typer.Option(None, "-o", "--output", help="The .safetensors to write."),
    check: Path | None = typer.Option(None, "--check", help="Check this file instead."),
    function_only: bool = typer.Option(
        False, "--function-only", help="Forgive altered bytes that leave the function right."
    ),
    json: bool = Json,
) -> None:
    """Build attention weights that compute a sparse Boolean function, or check such a file.

    The check proves or refutes the claim for all inputs from the file alone: it leaves with 0 if
    it holds, 1 if it does not (with a witness) or the certificate does not fit the weights, and 2
    if nothing could be proved.

    Examples:
      limelight construct and --length 64 --sparsity 3 -o and.safetensors
      limelight construct 6b --length 1000 --embedding bag -o f.safetensors --json
      limelight construct --check and.safetensors
    """
    from limelight._core.errors import InputError

    if check is not None:
        if rule or output is not None:
            raise InputError("--check takes a file alone", "limelight construct --check FILE")
        run_check(check, function_only, json)
        return
    if not rule:
        raise InputError("no rule", "for example: limelight construct and -o and.safetensors")
    if output is None:
        raise InputError("no file to write", "add -o out.safetensors")
    from limelight.models.construct import construct as build

    made = build(
        rule,
        length,
        sparsity,
        positions=parse_positions(positions),
        mapping=embedding,
        basis=basis,
        heads=heads,
        gamma=gamma,
        rho=rho,
        variant=variant,
        dtype=dtype,
        tolerance=tolerance,
        seed=seed,
    )
    made.save(output)
    emit(made.certificate) if json else print_certificate(made.certificate, output)


def parse_positions(text: str) -> list[int] | None:
    """Places from `3,7,11`; none from nothing."""
    from limelight._core.errors import InputError

    if not text.strip():
        return None
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise InputError(f"--positions {text!r}", "whole numbers, such as 3,7,11") from None


def run_check(path: Path, function_only: bool, json: bool) -> None:
    """Check a file, print, and leave with the verdict's code."""
    from limelight.certificate import check

    report = check(path, function_only=function_only)
    emit(report.as_json()) if json else say(str(report))
    raise typer.Exit(report.code)


def print_certificate(certificate: dict, output: Path) -> None:
    """The numbers a reader wants first."""
    claim, head, mlp = certificate["claim"], certificate["head"], certificate["mlp"]
    basis = certificate["basis"]
    function = claim.get("truth_table", "values")
    say(f"{output}: {certificate['variant']}, lemmas {', '.join(certificate['lemmas'])}")
    say(f"  table {function} on positions {claim['positions']} of {claim['T']}, {claim['mapping']}")
    say(f"  basis {basis['kind']}, d = {basis['d']}, Delta = {basis['Delta_measured']:.4g}")
    say(
        f"  {head['heads']} head(s): R = {head['R']:.4g}, rho = {head['rho_used']:.4g}"
        f" ({head['rho_kind']}), leakage <= {head['leakage_bound']:.4g}"
    )
    say(
        f"  error <= {head['error_bound']:.4g} of {head['error_target']:.4g} allowed;"
        f" slack {mlp['slack']:.4g}; output exact up to rounding"
    )
    for name, entry in certificate["norms"].items():
        size = next(v for k, v in entry.items() if k != "allowed")
        limit = "no claim" if entry["allowed"] is None else f"<= {entry['allowed']:.4g}"
        say(f"  |{name}| = {size:.4g} {limit}")
    say(f"Next: limelight construct --check {output}")
