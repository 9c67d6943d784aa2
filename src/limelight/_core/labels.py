"""Settings and measures in words, as an axis says them; maths in `$...$`."""

#: A setting by its dotted path, without what stands before `world`, `model` or `train`.
SETTINGS = {
    "world.length": "number of tokens $T$",
    "world.tokens": "number of tokens $L$",
    "world.sparsity": "relevant bits $s$",
    "world.label_noise": "share of flipped labels",
    "world.rule": "rule",
    "world.relevant": r"label-relevant fraction $\alpha_*$",
    "world.confusing": r"confusing fraction $\alpha_\#$",
    "world.patterns": "number of patterns $M$",
    "world.dimension": "dimension $d$",
    "world.noise": "noise of the tokens",
    "world.loud_noise": "noise of the noisy tokens",
    "world.noisy_share": "share of noisy tokens",
    "world.kept": "tokens kept",
    "world.policy": "which tokens are kept",
    "world.first": "frequency of the first member",
    "world.clusters": "number of clusters $C$",
    "world.size": "size of a cluster or set",
    "world.sizes": "sizes of the clusters",
    "world.sigma": r"noise level $\sigma$",
    "world.cosine": r"cosine between centres $\rho$",
    "world.alignment": "alignment of the two domains",
    "world.wrong": "share of wrong pairs",
    "world.layout": "layout of the regions",
    "world.loud": "noise of the loud patches",
    "world.share": "share of loud patches",
    "world.density": "density of the marks $q$",
    "world.partition": "which patches belong together",
    "world.kernel": "kernel",
    "world.cell": "side of a shuffled cell, pixels",
    "world.blind": "fraction of object patches",
    "world.spurious": "share of spurious backgrounds",
    "model.width": "number of neurons",
    "model.heads": "number of heads",
    "model.depth": "number of layers",
    "model.hidden": "hidden width",
    "model.operator": "operator",
    "model.strength": r"logit scale $\lambda$",
    "model.neighbours": "neighbours $K$",
    "model.steps": "layers of averaging",
    "model.gain": "gain",
    "model.value_error": r"error of the value map at the start $\sigma$",
    "model.key_error": r"error of the key map at the start $\delta$",
    "model.readout": "readout",
    "model.start": "start",
    "model.frozen": "attention frozen",
    "model.temperature": r"temperature $\tau$",
    "model.diagonal": r"diagonal $\beta$",
    "train.examples": "training examples $N$",
    "train.steps": "training steps",
    "train.rate": r"step size $\eta$",
    "train.batch": "batch size $B$",
    "train.decay": "weight decay",
    "train.loss": "loss",
    "train.optimizer": "optimizer",
    "examples": "training examples $m$",
}
#: A measure by its column.
MEASURES = {
    "accuracy": "test accuracy",
    "test_loss": "test loss",
    "training_loss": "training loss",
    "noise_left": "noise left",
    "purity": "share of pure neighbourhoods",
    "steps": "training steps taken",
    "diverged": "trials that diverged",
}


def label(name: str) -> str:
    r"""What a column is, in words; one's own field or measure by its own name.

    Example:
        >>> label("train.examples"), label("world.inner.relevant")
        ('training examples $N$', 'label-relevant fraction $\\alpha_*$')
        >>> label("world.coin_bias"), label("test_loss"), label("my_measure")
        ('coin bias (world)', 'test loss', 'my measure')
    """
    if name in MEASURES:
        return MEASURES[name]
    whose, _, path = name.rpartition(".")
    short = f"{whose.split('.')[0]}.{path}" if whose else path
    if short in SETTINGS:
        return SETTINGS[short]
    words = path.replace("_", " ")
    return f"{words} ({whose.split('.')[0]})" if whose else words
