"""`limelight construct`: weights for a sparse function with a certificate, and their check."""

from pathlib import Path

import typer

from limelight._cli.options import Json, check_output
from limelight._cli.text import emit, plural, say, typeset


def construct(
    rule: str = typer.Argument(
        "",
        metavar="[RULE]",
        show_default=False,
        help="The function: and, or, xor, majority, threshold:k, or a truth table in hex.",
    ),
    length: int = typer.Option(
        64, "--length", "-T", metavar="NUMBER", help="The number of bits in an input."
    ),
    sparsity: int = typer.Option(
        3, "--sparsity", "-s", metavar="NUMBER", help="The number of bits that matter."
    ),
    positions: str = typer.Option(
        "",
        "--positions",
        metavar="LIST",
        show_default=False,
        help="Which bits matter, counted from 0, such as 3,7,11. If not given, random ones.",
    ),
    embedding: str = typer.Option(
        "deterministic",
        "--embedding",
        metavar="WORD",
        help="How bits become vectors: deterministic, trainable or bag.",
    ),
    basis: str = typer.Option(
        "auto",
        "--basis",
        metavar="WORD",
        help="The vectors of the positions: auto, orthonormal, signs, signs:d, chirp or chirp:p.",
    ),
    heads: str = typer.Option(
        "auto",
        "--heads",
        metavar="WORD",
        help="The number of heads: auto, one, or many (one per position).",
    ),
    gamma: float | None = typer.Option(
        None, "--gamma", metavar="NUMBER", help="The distance between two targets of the head."
    ),
    rho: str = typer.Option(
        "auto",
        "--rho",
        metavar="WORD",
        help="How the overlap of position vectors is taken: auto, bound or measured.",
    ),
    variant: str = typer.Option(
        "repaired",
        "--variant",
        metavar="WORD",
        help="The construction: repaired, or printed as in the paper (which fails).",
    ),
    dtype: str = typer.Option(
        "float64", "--dtype", metavar="WORD", help="The type of the weights: float64 or float32."
    ),
    tolerance: float | None = typer.Option(
        None, "--tolerance", metavar="NUMBER", help="The largest error allowed at the output."
    ),
    seed: int = typer.Option(
        0, "--seed", metavar="NUMBER", help="The number that random positions and signs come from."
    ),
    output: Path | None = typer.Option(
        None, "-o", "--output", metavar="FILE", help="The .safetensors file to write."
    ),
    check: Path | None = typer.Option(
        None, "--check", metavar="FILE", help="Check this file, and build nothing."
    ),
    function_only: bool = typer.Option(
        False,
        "--function-only",
        metavar="",
        help="With --check: accept altered bytes if the function is still right.",
    ),
    json: bool = Json,
) -> None:
    """Build attention weights that compute a sparse Boolean function, or check such a file.

    A check reads nothing but the file, and proves or refutes the claim for all inputs. The exit
    code is 0 if the claim holds. It is 1 if the claim fails, with an input that shows it, or if
    the certificate does not fit the weights. It is 2 if nothing could be proved.

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
        raise InputError(
            "no rule was given", "for example: limelight construct and -o and.safetensors"
        )
    if output is None:
        raise InputError("no file to write was given", "add -o out.safetensors")
    check_output(output, ".safetensors")
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
    first, *rest = str(report).splitlines()  # the first line has the name of the file
    emit(report.as_json()) if json else say("\n".join([first, *map(typeset, rest)]))
    raise typer.Exit(report.code)


def print_certificate(certificate: dict, output: Path) -> None:
    """The numbers a reader wants first."""
    claim, head, mlp = certificate["claim"], certificate["head"], certificate["mlp"]
    basis = certificate["basis"]
    function = claim.get("truth_table", "of values")
    lemmas = ", ".join(certificate["lemmas"])
    say(f"{output}: {certificate['variant']} construction, lemmas {lemmas}")
    lines = [
        f"  truth table {function} on positions {claim['positions']} of {claim['T']},"
        f" {claim['mapping']} embeddings",
        f"  basis {basis['kind']}, d = {basis['d']}, Delta = {basis['Delta_measured']:.4g}",
        f"  {plural(head['heads'], 'head')}: R = {head['R']:.4g}, rho = {head['rho_used']:.4g}"
        f" ({head['rho_kind']}), attention outside the set <= {head['leakage_bound']:.4g}",
        f"  error of a head <= {head['error_bound']:.4g}, of {head['error_target']:.4g} allowed;"
        f" {mlp['slack']:.4g} to spare; output exact up to rounding",
    ]
    for name, entry in certificate["norms"].items():
        size = next(v for k, v in entry.items() if k != "allowed")
        limit = ", no limit stated" if entry["allowed"] is None else f" <= {entry['allowed']:.4g}"
        lines.append(f"  |{name}| = {size:.4g}{limit}")
    for line in lines:
        say(typeset(line), hang=4)
    say(f"Next: limelight construct --check {output}")
