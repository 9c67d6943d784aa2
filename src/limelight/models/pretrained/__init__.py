"""ViTs from and to files, folders, hubs and PyTorch modules: safetensors only, never a pickle.

`loading` reads one. `_sources` finds tensors and `_names` turns every library's names into timm's;
`_refused` knows what is no plain ViT. `_facts` gathers what tensors do not say, from `_configs`
beside them, from `_modules`, from `_known` architectures or from the caller, and asks for what
nobody says. `_build` makes the network, with `_places` for rotations and relative positions.
`pixels` says how images must be prepared. `save` writes a ViT.
"""

from typing import TYPE_CHECKING

from limelight._core.lazy import on_first_use

if TYPE_CHECKING:
    from limelight.models.pretrained.loading import Pretrained, load, load_vit
    from limelight.models.pretrained.pixels import Pixels
    from limelight.models.pretrained.save import save_vit

__all__ = ["Pixels", "Pretrained", "load", "load_vit", "save_vit"]

__getattr__ = on_first_use(__name__)
