r"""How much noise one attention layer removes: xu2022 as printed, and repaired.

`setting` the cluster model in numbers; `printed` the statements of the paper, unsound; `limit` the
exact law as $d \to \infty$; `optimum` the best logit scale and its scaling; `prediction` finite
dimension, with a validity flag; `certificates` rigorous bounds, `inverses` the same turned around;
`calculator` all of it at once; `statements` each of it by the name that the paper gives it, with
plain numbers as settings; `errata` what is wrong in print. All of it is NumPy and SciPy in double
precision, on the CPU.
"""

from limelight.theory.xu2022.calculator import calculator, regime
from limelight.theory.xu2022.setting import Setting

__all__ = ["Setting", "calculator", "regime"]
