"""The one-block decoder of edelman2022's experiments and four ways to compute it."""

from limelight.models.decoder.forward import (
    MOST,
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
from limelight.models.decoder.network import Decoder, Dropout, check_sizes, decayed, init

__all__ = [
    "MOST",
    "Decoder",
    "Dropout",
    "Tables",
    "Words",
    "absorbed",
    "as_dropout",
    "check_sizes",
    "cls_row",
    "decayed",
    "draw",
    "init",
    "plain",
    "rows",
    "table",
    "tables",
]
