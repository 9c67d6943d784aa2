"""The one-block decoder of edelman2022's experiments and four ways to compute it."""

from limelight.models.decoder.forward import (
    Tables,
    Words,
    absorbed,
    as_dropout,
    cls_row,
    draw,
    plain,
    rows,
    table,
    tables,
)
from limelight.models.decoder.network import Decoder, Dropout, decayed, init

__all__ = [
    "Decoder",
    "Dropout",
    "Tables",
    "Words",
    "absorbed",
    "as_dropout",
    "cls_row",
    "decayed",
    "draw",
    "init",
    "plain",
    "rows",
    "table",
    "tables",
]
