"""Certificates: what is claimed of weights, confronted with the weights.

`check` proves or refutes a construction file for all inputs; `certify` writes down what a bound
says of a model, whether it applies, and the digest of the weights it was read from; `check_bound`
computes such a certificate again.
"""

from limelight.certificate.bound import BoundCheck, Certificate, certify, check_bound
from limelight.certificate.construction import CheckReport, check

__all__ = ["BoundCheck", "Certificate", "CheckReport", "certify", "check", "check_bound"]
