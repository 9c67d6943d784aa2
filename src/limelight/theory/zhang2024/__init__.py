r"""Linear attention on linear regression, exactly.

`population` the loss as a quadratic form, its minimum and its levels, and the error on other laws;
`prediction` the error at any length of the prompt; `dynamics` closed forms of training; `course`
what is read of a training course as it goes by; `statements` all of it by label.
"""

from typing import TYPE_CHECKING

from limelight._core.lazy import on_first_use

if TYPE_CHECKING:
    from limelight.theory.zhang2024.dynamics import half_way, wait, white_course
    from limelight.theory.zhang2024.population import (
        PromptLoss,
        exponential_covariances,
        gamma,
        linear_spectrum,
        one_covariance,
        risk,
    )
    from limelight.theory.zhang2024.prediction import (
        ErrorParts,
        one_task,
        random_tasks,
        useless_length,
    )

__all__ = [
    # The loss, its minimum and its levels.
    "PromptLoss",
    "exponential_covariances",
    "gamma",
    "linear_spectrum",
    "one_covariance",
    # Errors on test prompts.
    "ErrorParts",
    "one_task",
    "random_tasks",
    "risk",
    "useless_length",
    # Closed forms of training.
    "half_way",
    "wait",
    "white_course",
]

__getattr__ = on_first_use(__name__)
