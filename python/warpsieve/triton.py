"""Driver for Triton: runs ``@triton.jit`` kernels on a simulated machine, without a GPU.

>>> machine = warpsieve.Machine("hopper")
>>> warpsieve.triton.install(machine)
>>> x, y = machine.array(a), machine.empty_like(a)
>>> kernel[(grid,)](x, y, x.numel(), BLOCK=1024)
>>> machine.last.statistics["l1"]["hits"]

Triton compiles to PTX, which the machine runs. Tensors are arrays of the machine, or PyTorch tensors on the CPU,
which are copied to the machine before each launch and back after it.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
import sys

from triton import backends
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase, decompose_descriptor, expand_signature
from triton.backends.nvidia.compiler import CUDABackend
from triton.backends.nvidia.driver import ty_to_cpp
from triton.runtime import driver as _active

from .arrays import DeviceArray
from .errors import LaunchError, PtxError
from .machine import Kernel, Machine

WARP_LANES = 32
MAX_THREADS = 1024
# Triton backend whose compiler and driver are replaced.
BACKEND = "nvidia"
FORMS = {
    "i1": "<?", "i8": "<b", "i16": "<h", "i32": "<i", "i64": "<q",
    "u1": "<?", "u8": "<B", "u16": "<H", "u32": "<I", "u64": "<Q",
    "fp16": "<e", "fp32": "<f", "f32": "<f", "fp64": "<d",
}  # fmt: skip

_earlier: list[tuple[object, object]] = []
_devices = itertools.count(1)


def install(machine: Machine | None = None, *, capability: int = 80) -> Machine:
    """Makes a machine the device on which Triton runs kernels, and returns it. By default, creates a new ``fermi``.

    ``capability`` is the compute capability for which Triton compiles, times ten. A machine runs the code of any
    capability. It rejects a kernel with an instruction that the model does not support, and names the instruction.
    """
    machine = machine or Machine()
    if not _earlier:
        _earlier.append((backends.backends[BACKEND], _active._active))
    backends.backends[BACKEND] = backends.Backend(compiler=Compiler, driver=Driver)
    _active.set_active(Driver(machine, capability))
    return machine


def uninstall() -> None:
    """Restores the compiler and the driver that Triton had before :func:`install`."""
    if _earlier:
        backends.backends[BACKEND], driver = _earlier.pop()
        _active._active = driver


class Compiler(CUDABackend):
    """Triton's compiler for NVIDIA GPUs, without the steps after PTX."""

    def __init__(self, target: GPUTarget):
        super().__init__(target)
        self.binary_ext = "ptx"

    def add_stages(self, stages, options, language) -> None:
        super().add_stages(stages, options, language)
        del stages["cubin"]

    def hash(self) -> str:
        # Triton's cache must not mix kernels with machine code and kernels without it.
        return f"{super().hash()}-ptx"


class Loaded:
    """Triton kernel. Each machine translates it once."""

    def __init__(self, name: str, ptx: str):
        self._name = name
        self._ptx = ptx

    def on(self, machine: Machine) -> Kernel:
        """Returns the kernel on a machine."""
        # Triton never releases this object, so the object must not refer to machines.
        if self not in machine._kernels:
            machine._kernels[self] = machine.module(self._ptx, name=f"{self._name}.ptx")[self._name]
        return machine._kernels[self]


class Utilities:
    """Driver functions that Triton calls."""

    def __init__(self, machine: Machine):
        self._machine = machine

    def get_device_properties(self, _device: int) -> dict:
        """Returns the properties of the machine that Triton reads."""
        native = self._machine._native
        return {
            "max_shared_mem": native.shared_bytes,
            "max_num_regs": native.registers,
            "multiprocessor_count": native.num_sms,
            "warpSize": WARP_LANES,
            "sm_clock_rate": native.core_khz,
        }

    def load_binary(self, name: str, ptx: bytes, _shared: int, _device: int):
        """Returns module, kernel, number of registers, number of spilled registers, and maximum threads per CTA."""
        kernel = Loaded(name, ptx.decode() if isinstance(ptx, bytes) else ptx)
        try:
            registers = kernel.on(self._machine).registers
        except PtxError:
            # With an exception here, Triton would keep a half-loaded kernel. Each launch raises the error instead.
            registers = 0
        return kernel, kernel, registers, 0, MAX_THREADS

    def unload_module(self, _module) -> None:
        """Does nothing: a machine keeps its modules until it is closed."""


class Driver(DriverBase):
    """Triton driver for a simulated machine."""

    def __init__(self, machine: Machine | None = None, capability: int = 80):
        self.machine = machine or Machine()
        self.capability = capability
        self.utils = Utilities(self.machine)
        self.launcher_cls = Launcher
        # Triton stores compiled kernels and device properties by device number.
        self._device = next(_devices)

    @classmethod
    def is_active(cls) -> bool:
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty_to_cpp(ty)

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self.capability, WARP_LANES)

    def get_current_device(self) -> int:
        return self._device

    def set_current_device(self, device: int) -> None:
        if device not in (0, self._device):
            raise LaunchError(f"there is no device {device}: a driver has one machine")

    def get_current_stream(self, _device: int | None = None) -> int:
        return 0

    def get_device_capability(self, _device: int | None = None) -> tuple[int, int]:
        return divmod(self.capability, 10)

    def get_active_torch_device(self):
        import torch

        return torch.device("cpu")

    def get_device_interface(self):
        raise LaunchError("a simulated machine has no interface of PyTorch: `machine.seconds` is the simulated time")

    def get_benchmarker(self):
        """Returns a function that measures a launch in simulated milliseconds, for ``triton.autotune``."""

        def benchmark(kernel_call, *, quantiles=None, **_):
            before = self.machine.seconds
            kernel_call()
            milliseconds = 1e3 * (self.machine.seconds - before)
            return [milliseconds] * len(quantiles) if quantiles else milliseconds

        return benchmark

    def get_empty_cache_for_benchmark(self):
        return None

    def clear_cache(self, _cache) -> None:
        raise LaunchError("the caches of a simulated machine cannot be cleared: use a new machine")


class Launcher:
    """Launches a compiled kernel on the machine of the active driver."""

    def __init__(self, source, metadata):
        self._metadata = metadata
        self._signature = list(source.signature.values())
        refused = {
            "a cluster of CTAs": metadata.num_ctas > 1,
            "a cooperative launch": metadata.launch_cooperative_grid,
            "a tensor descriptor of the TMA": bool(getattr(metadata, "tensordesc_meta", None)),
            "a scratch buffer for profiling": getattr(metadata, "profile_scratch_size", 0) > 0,
        }
        for what, is_needed in refused.items():
            if is_needed:
                raise LaunchError(f"kernel `{metadata.name}`: {what} is not modeled")

    def __call__(self, x, y, z, _stream, function, _packed, launch_metadata, enter_hook, exit_hook, *arguments):
        machine, metadata = _active.active.machine, self._metadata
        kernel = function.on(machine)
        kinds = list(_flat(expand_signature(self._signature, None, "nvTmaDesc")))
        values = list(_values(self._signature, arguments))
        tensors = _Tensors(machine, kernel.name)
        is_done = False
        try:
            pairs = [(kind, value) for kind, value in zip(kinds, values, strict=True) if kind != "constexpr"]
            data = [tensors.pack(kind, value) for kind, value in pairs]
            scratch = None
            if metadata.global_scratch_size > 0:
                scratch = machine.zeros(x * y * z * metadata.global_scratch_size, "uint8")
            # Triton appends the addresses of two scratch buffers; each is null unless the kernel needs it.
            hidden = [scratch.data_ptr() if scratch else 0, 0]
            data += [struct.pack("<Q", address) for address in hidden[: len(kernel.parameters) - len(data)]]
            if len(data) != len(kernel.parameters):
                raise LaunchError(f"kernel `{kernel.name}`: {len(data)} arguments, expected {len(kernel.parameters)}")
            if enter_hook:
                enter_hook(launch_metadata)
            if x * y * z > 0:
                block, shared = (metadata.num_warps * WARP_LANES, 1, 1), metadata.shared
                machine._launch(kernel._module._number, kernel.name, (x, y, z), block, shared, data)
            is_done = True
            if exit_hook:
                exit_hook(launch_metadata)
        finally:
            tensors.finish(is_done)


def _flat(kinds):
    for kind in kinds:
        if isinstance(kind, tuple):
            yield from _flat(kind)
        else:
            yield kind


def _values(kinds, arguments):
    """Returns the argument values in the order of the types in an expanded signature."""
    for kind, argument in zip(kinds, arguments, strict=True):
        if isinstance(kind, tuple):
            yield from _values(kind, argument)
        elif isinstance(kind, str) and kind.startswith("tensordesc"):
            yield from decompose_descriptor(argument)
        else:
            yield argument


class _Tensors:
    """Tensors of a launch. PyTorch tensors are copied to device memory, and stay there until :meth:`finish`."""

    def __init__(self, machine: Machine, kernel: str):
        self._machine = machine
        self._kernel = kernel
        # Storages of host tensors, by address: tensor, size, contents before the launch, and device copy.
        self._copies: dict[int, tuple[object, int, bytes, DeviceArray]] = {}

    def pack(self, kind: str, value) -> bytes:
        """Returns the bytes of an argument."""
        if kind.startswith("*"):
            return struct.pack("<Q", self._address(value))
        if kind == "bf16":
            return struct.pack("<f", value)[2:]
        if kind not in FORMS:
            raise LaunchError(f"kernel `{self._kernel}`: an argument of type `{kind}` is not modeled")
        return struct.pack(FORMS[kind], value)

    def _address(self, value) -> int:
        if value is None:
            return 0
        if isinstance(value, int):
            return value
        if isinstance(value, DeviceArray):
            if value.machine is not self._machine:
                raise LaunchError(f"kernel `{self._kernel}`: {value!r} is on another machine")
            return value.data_ptr()
        base = getattr(value, "base", None)
        if isinstance(base, DeviceArray):
            # Tensor to which `triton.reinterpret` has given another type.
            return self._address(base)
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            return self._torch_address(value)
        raise LaunchError(
            f"kernel `{self._kernel}`: the memory of a `{type(value).__name__}` is unknown, expected an array of the "
            "machine (`machine.array`) or a tensor of PyTorch"
        )

    def _torch_address(self, tensor) -> int:
        if tensor.device.type != "cpu":
            raise LaunchError(f"kernel `{self._kernel}`: a tensor is on `{tensor.device}`, expected the CPU")
        storage = tensor.untyped_storage()
        start, size = storage.data_ptr(), storage.nbytes()
        if size == 0:
            return 0
        if start not in self._copies:
            contents = ctypes.string_at(start, size)
            copy = DeviceArray(self._machine, size, "uint8", name=f"tensor {len(self._copies) + 1} of {self._kernel}")
            self._machine._write(copy.data_ptr(), contents)
            self._copies[start] = (tensor, size, contents, copy)
        return self._copies[start][3].data_ptr() + tensor.data_ptr() - start

    def finish(self, is_done: bool) -> None:
        """If the launch completed, copies changed tensors back to the host. Frees all copies in device memory."""
        for start, (_, size, before, copy) in self._copies.items():
            if is_done:
                after = self._machine._read(copy.data_ptr(), size)
                if after != before:
                    ctypes.memmove(start, after, size)
            copy.free()
        self._copies.clear()
