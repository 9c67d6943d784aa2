"""li2023: how a shallow ViT learns from label-relevant tokens.

One module per figure, named after it. What several share: `protocols`, how both fractions of tokens
move; `boundary`, the number of examples needed, `quotients`, its ratios, and `offset`, equation
(10) as a law; `concentration`, attention during training, and `traces`, how a log is read;
`removal`, Figures 5 and 8; `extensions`, appendix G; `composites`, Figure 6, and `reach`, its
numbers of examples. `lucky`, `envelope` and `lemma2` are the parts of `lemmas`.
"""

from limelight.papers.contents import Paper, Statement

paper = Paper(
    key="li2023",
    title=(
        "A Theoretical Understanding of Shallow Vision Transformers: Learning, Generalization, "
        "and Sample Complexity"
    ),
    authors="Hongkang Li, Meng Wang, Sijia Liu, Pin-Yu Chen",
    venue="ICLR 2023, arXiv 2302.06015",
    symbols={
        "alpha_*": "world.relevant, the fraction of label-relevant tokens",
        "alpha_#": "world.confusing, the fraction of confusion tokens",
        "|S|, L": "world.tokens",
        "M": "world.patterns",
        "d": "world.dimension",
        "c_0": "world.noise, per coordinate; tau is worlds.patterns.spread",
        "m": "model.width",
        "sigma": "model.value_error",
        "delta": "model.key_error",
        "xi": "model.output_scale",
        "m_a, m_b": "model.value_dimension, model.key_dimension",
        "a_(l)": "model.readout",
        "eta": "train.rate",
        "B": "train.batch",
        "T": "train.steps",
        "N": "train.examples",
    },
    statements=tuple(
        Statement(label, title, f"limelight.theory.li2023:{function}", fixed)
        for label, title, function, fixed in (
            ("theorem1", "samples, batch, steps and width that suffice", "learning", {}),
            ("proposition1", "the same with keys and queries frozen", "learning", {"frozen": True}),
            ("proposition2", "attention mass that any weights can reach", "mass_bound", {}),
            ("definition1", "the envelope of attention", "envelope_bound", {}),
            ("lemma3", "how many neurons are lucky", "lucky_neurons", {}),
            ("lemma4", "whether they stay lucky", "lucky_kept", {}),
            ("errata", "printed statements against corrected ones", "erratum", {}),
        )
    ),
    figures={
        "fig1a": "examples needed against the fraction of label-relevant tokens",
        "fig1a-ratio": "examples needed with alpha_# held at a quarter of alpha_*",
        "fig1a-gap": "examples needed with alpha_* - alpha_# held at 0.24",
        "fig1a-pool": "examples needed, all protocols together: which law?",
        "fig1a-tokens": "Figure 1(a) token by token, with the paper's token noise and without",
        "fig1b-sigma": "examples needed against the error of the value map at the start",
        "fig1b-point": "examples needed against that error at the paper's fractions, 0.3 and 0.2",
        "fig1b-noise": "examples needed against the noise of the tokens",
        "fig2": "iterations to success against one over the fraction of label-relevant tokens",
        "fig3": "examples needed with trained and with frozen attention",
        "fig3-ratio": "trained and frozen attention with alpha_# held at a quarter of alpha_*",
        "fig4": "attention mass on the label-relevant tokens during training",
        "fig5": "test loss against removed tokens, at a budget of 70 steps",
        "fig5-trials": "test loss against tokens removed at random, quieter noise, more trials",
        "fig5-long": "test loss against removed tokens, after 1,000 steps",
        "fig5-samples": "examples needed with tokens removed",
        "fig8": "test loss against removed tokens with more patterns in 20 dimensions",
        "fig6": "accuracy and examples needed against the fraction of object patches",
        "fig6-close": "examples needed against the fraction of object patches, sizes 12 % apart",
        "fig6c": "spurious backgrounds, removed",
        "fig6-starts": "the initial models of figure 6",
        "fig7": "attention mass on the label-relevant tokens with more patterns",
        "hypotheses": "zero loss and iterations inside Theorem 1's hypotheses",
        "lemmas": "lucky neurons, features, values and envelopes through training",
        "classes": "what the neurons of four classes grow along",
        "heads": "attention, gates and margins with several heads",
        "skip": "attention and margins with a skip connection and layer norm",
        "sets": "what a set of patterns grows along, against the frequencies of its members",
    },
)
figure, statement = paper.figure, paper.statement

__all__ = ["figure", "paper", "statement"]
