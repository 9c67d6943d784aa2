"""The paper: what it is called, what its symbols mean here, its statements and its figures."""

from limelight.papers.contents import Paper, Statement

paper = Paper(
    key="mypaper2026",
    title="How many examples does a needle need?",
    authors="A. Author",
    venue="A venue, 2026",
    symbols={"sigma": "world.noise", "n": "train.examples"},
    statements=(Statement("theorem1", "when the needle is found", f"{__name__}.theory:theorem1"),),
    figures={"fig1": "examples that are needed, against the noise"},
    package=__name__,
    bibtex="""@misc{mypaper2026,
  title  = {How many examples does a needle need?},
  author = {Author, A.},
  year   = {2026},
}""",
)
