"""Errors of the simulator. Their texts are those that the command ``warpsieve`` prints."""


class Error(Exception):
    """Any error of the simulator."""


class ConfigurationError(Error, ValueError):
    """The machine, a design or a setting is invalid."""


class PtxError(Error):
    """The PTX is invalid, or contains an instruction that the model does not support."""


class DeviceMemoryError(Error):
    """The memory of the machine is exhausted, or the host accessed memory outside allocations."""


class LaunchError(Error, ValueError):
    """The arguments do not fit the kernel, or the launch does not fit the machine. Later launches can run."""


class AccessError(Error):
    """The kernel accessed memory outside allocations, or with a wrong alignment. No later launch can run."""


class FaultError(Error):
    """The kernel performed an illegal operation other than a memory access. No later launch can run."""


class StoppedError(Error):
    """The kernel made no progress, or reached ``max_cycles``, or an earlier launch or an interrupt stopped the machine."""


class CheckError(Error):
    """A check failed: a result or an intermediate step differs from that of the golden models."""


class OutputError(Error):
    """A file cannot be written."""


class InternalError(Error):
    """The model violated one of its own invariants. No result of the machine can be trusted."""
