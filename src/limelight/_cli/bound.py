"""`limelight bound`: a capacity bound from real weights, norm by norm."""

from pathlib import Path

import typer

from limelight._cli.images import Heads, Like
from limelight._cli.options import Json, check_not_read, check_output
from limelight._cli.progress import busy
from limelight._cli.text import emit, plural, print_table, say


def bound(
    key: str = typer.Argument(metavar="KEY", help="The paper that proves the bound: edelman2022."),
    file: Path = typer.Argument(
        metavar="FILE",
        help="A ViT, BERT, GPT-2 or a model of limelight: a .safetensors file, a folder with its"
        " configuration, or a Hugging Face id such as hf:google-bert/bert-base-uncased.",
    ),
    tokens: int | None = typer.Option(
        None,
        "--tokens",
        "-T",
        metavar="NUMBER",
        help="The number of tokens that attention runs over, where the file does not give it.",
    ),
    examples: float = typer.Option(
        1e6, "--examples", "-m", metavar="NUMBER", help="The size of the training set."
    ),
    resolution: float = typer.Option(
        1.0,
        "--resolution",
        metavar="DISTANCE",
        help="How far apart two functions must be to count as different.",
    ),
    softmax_constant: float = typer.Option(
        1.0,
        "--softmax-constant",
        metavar="NUMBER",
        help="The Lipschitz constant of softmax: 1 (proved here, tighter) or 2 (the paper's).",
    ),
    delta: float = typer.Option(
        0.05,
        "--delta",
        metavar="PROBABILITY",
        help="The probability with which the bound on the generalisation gap may fail.",
    ),
    heads: int | None = Heads,
    like: str | None = Like,
    plot: Path | None = typer.Option(
        None, "--plot", metavar="FILE", help="Draw how the bound of every block grows."
    ),
    certificate: Path | None = typer.Option(
        None, "--certificate", metavar="FILE", help="Write the bound as a JSON certificate."
    ),
    check: Path | None = typer.Option(
        None,
        "--check",
        metavar="FILE",
        help="Compute this certificate again from the weights, and compare.",
    ),
    json: bool = Json,
) -> None:
    """Bound the capacity of every attention block and head of a checkpoint.

    Prints the norms that enter the bound, the tensors that it covers, and why it leaves out the
    others. Says how far the bound is from being informative, and how it grows with the number of
    tokens. Attention that the theorem does not describe is refused. Only safetensors are read;
    nothing is ever unpickled.

    Examples:
      limelight bound edelman2022 model.safetensors
      limelight bound edelman2022 vit.safetensors --tokens 197 --plot blocks.png
      limelight bound edelman2022 vit.safetensors --check vit.certificate.json
    """
    from limelight._core.errors import InputError

    if key != "edelman2022":
        raise InputError(f"{key!r} has no bound on weights", "edelman2022 has")
    if plot is not None:
        check_output(plot, ".png", ".svg", ".pdf")
    if certificate is not None:
        check_output(certificate, ".json")
    if check is not None:
        run_check(check, file, like, json)
        return
    with busy("reading norms"):
        from limelight.theory.edelman2022 import capacity

        report = capacity(
            str(file),
            tokens=tokens,
            examples=examples,
            resolution=resolution,
            softmax_constant=softmax_constant,
            delta=delta,
            heads=heads,
            like=like,
        )
        if plot is not None:
            from limelight.plot import save

            save(draw_blocks(report), plot)
    if certificate is not None:
        from limelight.certificate import certify

        check_not_read(certificate, report.checkpoint.files)
        certify(report, report.checkpoint.files[0]).save(certificate)
    if json:
        from limelight._core.files import files_digest

        emit(report.as_json() | {"weights_sha256": files_digest(report.checkpoint.files)})
    else:
        print_report(report)


def run_check(certificate: Path, file: Path, like: str | None, json: bool) -> None:
    """Check a certificate, print, and leave with 0 if all of it holds, else with 1."""
    with busy("computing it again"):
        from limelight.certificate import check_bound

        report = check_bound(certificate, file, like)
    emit(report.as_json()) if json else say(str(report))
    raise typer.Exit(report.code)


def draw_blocks(report):
    """How the bound of a block grows with the number of tokens, at fixed norms; all blocks."""
    import numpy as np

    from limelight._core.maths import in_text
    from limelight.plot import Guide, Series, lines

    settings = report.settings
    tokens = [max(1, round(settings.tokens * 4.0**k)) for k in range(-3, 6)]
    here = tokens.index(settings.tokens)
    order = np.log(settings.examples * np.array(tokens))
    found = report.against_tokens(tokens)
    heads = np.concatenate([heads for heads, _ in found])
    kinds = {"all heads of a block": np.array([every for _, every in found]), "one head": heads}
    drawn = []
    for name, bounds in kinds.items():
        known = bounds[bounds[:, here] > 0]
        if len(known):
            grown = known / known[:, [here]]
            ends = np.median(grown, 0), grown.min(0), grown.max(0)
            drawn.append(Series(name, tokens, *ends))
    least, most = (f(block.explicit for block in report.blocks) for f in (min, max))
    return lines(
        [*drawn, Guide(r"order, $\ln(mT)$", tokens, order / order[here])],
        guides=[Guide("number of parameters", tokens, np.ones(len(tokens)))],
        x_label="tokens $T$",
        y_label=f"bound / bound at $T = {settings.tokens}$",
        log_x=True,
        title=f"{report.checkpoint.source}: at fixed norms the bound hardly grows with the tokens"
        if max(np.ptp(line.y) for line in drawn) < 1
        else f"{report.checkpoint.source}: how the bound grows with the tokens, at fixed norms",
        note=(
            in_text(f"log covering number at T = {settings.tokens}: {least:.1e} to {most:.1e}"),
            f"medians over {len(report.blocks)} blocks; bands hold all of them",
        ),
    )


def print_report(report) -> None:
    """A table for people."""
    settings, checkpoint = report.settings, report.checkpoint
    if report.vacuous:
        say("VACUOUS: no block's bound says anything about generalisation at this training set.")
    say(
        f"{checkpoint.source}: {checkpoint.layout}, {plural(len(report.blocks), 'block')}; T = "
        f"{settings.tokens}, m = {settings.examples:g}, resolution {settings.resolution:g}, "
        f"softmax constant {settings.softmax_constant:g}"
    )
    for note in checkpoint.notes:
        say(f"note: {note}")
    say(
        "\nNorms of the query-key map (QK) and the value map (V): longest vector, sum of lengths,"
        " spectral norm; B_X is the length of a token"
    )
    sizes = ("B_X", "QK max", "QK sum", "QK spec", "V max", "V sum", "V spec")
    print_table(("block", "head", *sizes), norm_rows(report), right=("head", *sizes))
    say("\nLog covering numbers: the paper's order, the explicit bound, the count of parameters")
    counts = ("order", "explicit", "parameters", "gap")
    print_table(("block", "head", *counts), count_rows(report), right=("head", *counts))
    print_vacuity(report)
    say("\nCovered: query, key and value maps of every head, biases included; key biases cancel.")
    say(f"Token length B_X from {report.blocks[0].token_norm_from}.")
    say("Not covered:")
    for reason, names in checkpoint.skipped.items():
        first = f"{names[0]}{', ...' if len(names) > 1 else ''}"
        say(f"  {plural(len(names), 'tensor')} ({first}): {reason}", hang=4)


def norm_rows(report) -> list[tuple[str, ...]]:
    """The norms of every head."""
    rows = []
    for block in report.blocks:
        for head in block.heads:
            qk, v = head.norms.query_key, head.norms.value
            sizes = (head.norms.token_norm, qk.largest, qk.total, qk.spectral)
            sizes += (v.largest, v.total, v.spectral)
            rows.append((block.name, str(head.head), *(f"{size:.4g}" for size in sizes)))
    return rows


def count_rows(report) -> list[tuple[str, ...]]:
    """The bounds of every head and block, and whether a block's gap says anything."""
    rows = []
    for block in report.blocks:
        for head in block.heads:
            counts = (head.order, head.explicit, head.parameters)
            rows.append((block.name, str(head.head), *(f"{count:.3e}" for count in counts), ""))
        gap = "vacuous" if block.gap.vacuous else f"{block.gap.value:.3g}"
        counts = (block.order, block.explicit, block.parameters)
        rows.append((block.name, "all", *(f"{count:.3e}" for count in counts), gap))
    return rows


def print_vacuity(report) -> None:
    """How vacuous, and how the bound grows with the number of tokens."""
    import math

    settings = report.settings
    say("\nHow vacuous: examples that would bring the gap of a unit read-out below 1")
    for block in report.blocks:
        say(f"  {block.name}: {block.examples_needed:.2g} (there are {settings.examples:g})")
    say(
        f"\nGrowth of the bound with T at fixed norms, over that at T = {settings.tokens} (largest"
        " over blocks), and growth of ln(mT)"
    )
    start = math.log(settings.examples * settings.tokens)
    for tokens in report.blocks[0].growth:
        most = max(block.growth[tokens] for block in report.blocks)
        order = math.log(settings.examples * tokens) / start
        say(f"  T = {tokens}: {most:.4f} and {order:.4f}")
