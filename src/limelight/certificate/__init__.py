"""Certificates: what is claimed of weights, confronted with the weights.

`check` proves or refutes a construction file for all inputs; `certify` writes down what a bound
says of a model, whether it applies, and the digest of the weights it was read from.
"""

from limelight.certificate.bound import Certificate, certify
from limelight.certificate.construction import CheckReport, check

__all__ = ["Certificate", "CheckReport", "certify", "check"]
