"""The one-block decoder of edelman2022's experiments and three ways to compute it."""

from limelight.models.decoder._forward import (
    MOST,
    Tables,
    Words,
    absorbed,
    draw,
    plain,
    table,
    tables,
)
from limelight.models.decoder._network import Decoder, check_sizes, decayed, init
from limelight.models.decoder._together import of_slots, together

__all__ = [
    "MOST",
    "Decoder",
    "Tables",
    "Words",
    "absorbed",
    "check_sizes",
    "decayed",
    "draw",
    "init",
    "of_slots",
    "plain",
    "table",
    "tables",
    "together",
]
