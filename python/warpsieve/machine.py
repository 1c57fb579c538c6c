"""Machines, modules and kernels."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping

import numpy as np

from . import _native
from .arguments import Arguments
from .arrays import DeviceArray
from .errors import AccessError, CheckError, Error, FaultError, LaunchError, StoppedError
from .results import Run


def machines() -> list[str]:
    """Returns the names of the built-in machines."""
    return _native.builtin()[0]


def designs() -> list[str]:
    """Returns the names of the built-in designs."""
    return _native.builtin()[1]


class Machine:
    """Simulated machine with memory. Its caches stay warm from launch to launch.

    ``machine`` is the name of a built-in machine or the path of a machine file. Each element of ``designs`` is the
    name of a built-in design or the path of a design file.
    ``set`` changes single fields: ``{"l1.sets": 64}``, with values as on the command line. With ``check``, golden models
    run in parallel, and a launch that differs from them raises :class:`CheckError`. ``wave``, ``timeline`` and
    ``series`` are files that :meth:`close` completes; ``series`` has a row per ``interval`` core cycles.
    """

    def __init__(
        self,
        machine: str | os.PathLike = "fermi",
        *,
        designs: str | os.PathLike | Iterable[str | os.PathLike] = (),
        set: Mapping[str, object] | None = None,
        check: bool = False,
        max_cycles: int | None = None,
        threads: int | None = None,
        wave: str | os.PathLike | None = None,
        timeline: str | os.PathLike | None = None,
        series: str | os.PathLike | None = None,
        interval: int = 1000,
    ):
        designs = [designs] if isinstance(designs, (str, os.PathLike)) else designs
        self._native = _native.Machine(
            os.fspath(machine),
            [os.fspath(design) for design in designs],
            [f"{key}={_toml(value)}" for key, value in (set or {}).items()],
            check=check,
            max_cycles=max_cycles,
            threads=threads,
            wave=wave,
            timeline=timeline,
            series=series,
            interval=interval,
        )
        self._numbers = itertools.count(1)
        self._modules: dict[str, int] = {}
        # Addresses to free. The garbage collector can add to them at any time, even during a call of the machine.
        self._discarded: list[int] = []
        self._failed = 0
        # Error after which no launch can run.
        self._stopped: Error | None = None
        # Kernels of other compilers, such as Triton, by the object that the compiler keeps for the kernel.
        self._kernels: dict[object, Kernel] = {}
        self.last: Run | None = None

    @property
    def name(self) -> str:
        """Names of the machine and its designs."""
        return self._native.name

    @property
    def configuration(self) -> dict[str, str]:
        """Every field of the configuration, with its value as TOML."""
        return self._native.configuration()

    @property
    def cycles(self) -> int:
        """Core cycles simulated so far."""
        return self._native.cycles()

    @property
    def seconds(self) -> float:
        """Simulated time so far."""
        return self.cycles / (1e3 * self._native.core_khz)

    @property
    def memory(self) -> tuple[int, int]:
        """Number of allocated bytes of device memory, and size of the device memory in bytes."""
        self._collect()
        return self._native.memory()

    def load(self, path: str | os.PathLike) -> Module:
        """Loads a PTX file."""
        with open(path, encoding="utf-8") as file:
            return self.module(file.read(), name=os.fspath(path))

    def module(self, ptx: str, name: str = "module.ptx") -> Module:
        """Loads the text of a PTX program. Messages refer to it by ``name``."""
        count = self._modules.get(name, 0)
        self._modules[name] = count + 1
        unique = name if count == 0 else f"{name} ({count + 1})"
        return Module(self, *self._native.load(unique, ptx))

    def array(self, values, dtype=None) -> DeviceArray:
        """Returns an array in device memory with these values."""
        values = np.asarray(values, dtype=dtype)
        array = DeviceArray(self, values.shape, values.dtype)
        array.write(values)
        return array

    def zeros(self, shape, dtype=np.float32) -> DeviceArray:
        """Returns an array of zeros in device memory."""
        array = DeviceArray(self, shape, dtype)
        array.write(np.zeros((), array.dtype))
        return array

    def empty(self, shape, dtype=np.float32) -> DeviceArray:
        """Returns an uninitialized array in device memory."""
        return DeviceArray(self, shape, dtype)

    def empty_like(self, array) -> DeviceArray:
        """Returns an uninitialized array in device memory with the shape and type of another array."""
        return DeviceArray(self, array.shape, array.dtype)

    def report(self) -> Run:
        """Returns the statistics of all launches so far."""
        return Run(self._native.report())

    def close(self) -> Run | None:
        """Completes all files and returns the statistics of all launches; ``None`` if the machine was already closed.

        If a launch ended with an illegal access or operation, raises the error of that launch again.
        """
        try:
            result = self._native.close()
        except Error as error:
            # Raises the error of the launch again. Its text also lists the files that were completed nevertheless.
            raise error if self._stopped is None else type(self._stopped)(str(error)) from None
        run = result and Run(result)
        if run and len(run.failed) > self._failed:
            raise CheckError("check failed:\n" + "\n".join(run.failed[self._failed :]))
        return run

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, kind, *_) -> None:
        # If the `with` block raised an exception, an error about incomplete files would hide it.
        if kind is None:
            self.close()

    def __repr__(self) -> str:
        return f"<Machine {self.name}>"

    def _allocate(self, name: str | None, size: int) -> int:
        self._collect()
        return self._native.allocate(f"{name or 'array'} ({next(self._numbers)})", size)

    def _discard(self, address: int) -> None:
        self._discarded.append(address)

    def _collect(self) -> None:
        addresses = []
        while self._discarded:
            addresses.append(self._discarded.pop())
        if addresses:
            self._native.free(addresses)

    def _read(self, address: int, size: int) -> bytes:
        return self._native.read(address, size)

    def _write(self, address: int, data: bytes) -> None:
        self._native.write(address, data)

    def _launch(self, module: int, kernel: str, grid, block, shared_bytes: int, arguments: list[bytes]) -> Run:
        try:
            run = Run(self._native.launch(module, kernel, grid, block, shared_bytes, arguments))
        except (AccessError, FaultError, StoppedError) as error:
            self._stopped = self._stopped or error
            raise
        self.last = run
        if len(run.failed) > self._failed:
            new = run.failed[self._failed :]
            self._failed = len(run.failed)
            raise CheckError(f"kernel `{kernel}`: check failed:\n" + "\n".join(new))
        return run


class Module:
    """PTX file on a machine. Its kernels are attributes: ``module.vadd``."""

    def __init__(self, machine: Machine, number: int, kernels: list[str]):
        self._machine = machine
        self._number = number
        self.kernels = kernels

    @property
    def machine(self) -> Machine:
        """Machine on which the module is loaded."""
        return self._machine

    def __getitem__(self, name: str) -> Kernel:
        return Kernel(self, name)

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("__") or name not in self.kernels:
            raise AttributeError(f"the module has no kernel `{name}`, but {', '.join(self.kernels) or 'none'}")
        return self[name]

    def __dir__(self):
        return [*super().__dir__(), *self.kernels]

    def variable(self, name: str, dtype=np.uint8) -> DeviceArray:
        """Returns a variable of the module as an array."""
        variables = {variable[0]: variable for variable in self._machine._native.variables(self._number)}
        if name not in variables:
            raise KeyError(f"the module has no variable `{name}`, but {', '.join(variables) or 'none'}")
        _, address, size, _ = variables[name]
        array = object.__new__(DeviceArray)
        array._machine, array._base, array._address = self._machine, self, address
        array.dtype, array.shape = np.dtype(np.uint8), (size,)
        return array if dtype == np.uint8 else array.view(dtype)

    def __repr__(self) -> str:
        return f"<Module of {', '.join(self.kernels) or 'no kernel'} on {self._machine.name}>"


class Kernel:
    """Kernel of a module: ``kernel[grid, block](arguments)``, or ``kernel[grid, block, shared_bytes](arguments)``."""

    def __init__(self, module: Module, name: str):
        self._module = module
        self.name = name
        self.parameters, self.registers, self.shared_bytes = module.machine._native.kernel(module._number, name)

    def __getitem__(self, shape):
        if not isinstance(shape, tuple) or len(shape) not in (2, 3):
            raise LaunchError(f"kernel `{self.name}`: expected [grid, block] or [grid, block, shared_bytes]")
        grid, block = _extents(self.name, "grid", shape[0]), _extents(self.name, "block", shape[1])
        shared_bytes = int(shape[2]) if len(shape) == 3 else 0
        if not 0 <= shared_bytes < 1 << 32:
            raise LaunchError(f"kernel `{self.name}`: {shared_bytes} bytes of dynamic shared memory")

        def launch(*arguments) -> Run:
            return self._launch(grid, block, shared_bytes, arguments)

        return launch

    def _launch(self, grid, block, shared_bytes: int, arguments) -> Run:
        machine = self._module.machine
        packed = Arguments(machine, self.name)
        is_done = False
        try:
            data = packed.pack(self.parameters, arguments)
            run = machine._launch(self._module._number, self.name, grid, block, shared_bytes, data)
            is_done = True
        except CheckError:
            is_done = True
            raise
        finally:
            packed.finish(is_done)
        return run

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}: {kind}" for name, kind, _ in self.parameters)
        return f"<Kernel {self.name}({parameters})>"


def _extents(kernel: str, what: str, extents) -> tuple[int, int, int]:
    given = (extents,) if isinstance(extents, (int, np.integer)) else tuple(extents)
    if not 1 <= len(given) <= 3 or not all(0 <= int(extent) < 1 << 32 for extent in given):
        raise LaunchError(f"kernel `{kernel}`: {extents} is not a {what}: expected 1 to 3 extents")
    padded = [int(extent) for extent in given] + [1, 1]
    return padded[0], padded[1], padded[2]


def _toml(value) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml_quoted(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml_quoted, value)) + "]"
    return str(value)


def _toml_quoted(value) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return _toml(value)
