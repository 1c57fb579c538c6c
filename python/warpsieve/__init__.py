"""Runs kernels on simulated GPUs whose caches are modeled cycle by cycle. No GPU is needed.

>>> import numpy as np, warpsieve
>>> machine = warpsieve.Machine("fermi", designs=["pric"])
>>> module = machine.load("kernels/vadd/vadd.ptx")
>>> run = module.vadd[4, 256](a, b, c, np.int32(1024))
>>> run.statistics["l1"]["hits"]

``warpsieve.triton`` runs Triton kernels in the same way.
"""

from ._native import __version__
from .arrays import DeviceArray
from .errors import (
    AccessError,
    CheckError,
    ConfigurationError,
    DeviceMemoryError,
    Error,
    FaultError,
    InternalError,
    LaunchError,
    OutputError,
    PtxError,
    StoppedError,
)
from .machine import Kernel, Machine, Module, designs, machines
from .results import Run, statistics_keys

__all__ = [
    "AccessError",
    "CheckError",
    "ConfigurationError",
    "DeviceArray",
    "DeviceMemoryError",
    "Error",
    "FaultError",
    "InternalError",
    "Kernel",
    "LaunchError",
    "Machine",
    "Module",
    "OutputError",
    "PtxError",
    "Run",
    "StoppedError",
    "__version__",
    "designs",
    "machines",
    "statistics_keys",
]
