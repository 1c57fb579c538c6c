"""Converts kernel arguments, which are Python numbers and arrays, to the bytes of PTX parameters."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

from .arrays import DeviceArray
from .errors import LaunchError

if TYPE_CHECKING:
    from .machine import Machine

FLOATS = {"f16": "<e", "f32": "<f", "f64": "<d"}
POINTERS = {"u64", "s64", "b64"}


class Arguments:
    """Arguments of one launch. Host arrays are copied to device memory, and stay there until :meth:`finish`."""

    def __init__(self, machine: Machine, kernel: str):
        self._machine = machine
        self._kernel = kernel
        self._copies: list[tuple[np.ndarray, DeviceArray]] = []

    def pack(self, parameters, arguments) -> list[bytes]:
        """Returns the bytes of each parameter."""
        if len(parameters) != len(arguments):
            expected = ", ".join(f"{name}: {kind}" for name, kind, _ in parameters)
            self._refuse(f"{len(arguments)} arguments, expected {len(parameters)}: {expected}")
        return [self._bytes(*parameter, value) for parameter, value in zip(parameters, arguments)]

    def _bytes(self, name: str, kind: str, size: int, value) -> bytes:
        if isinstance(value, (DeviceArray, np.ndarray)) and not (isinstance(value, np.ndarray) and value.ndim == 0):
            if kind not in POINTERS or size != 8:
                self._refuse(f"`{name}` of type {kind} and {size} bytes cannot take an array")
            return struct.pack("<Q", self.address(value))
        if value is None:
            if kind not in POINTERS or size != 8:
                self._refuse(f"`{name}` of type {kind} and {size} bytes cannot be None")
            return bytes(8)
        if isinstance(value, (bytes, bytearray, np.generic, np.ndarray)):
            return self._exact(name, kind, size, value)
        if isinstance(value, (bool, int)):
            return self._integer(name, kind, size, int(value))
        if isinstance(value, float):
            form = FLOATS.get(kind) or {("b32", 4): "<f", ("b64", 8): "<d"}.get((kind, size))
            if form is None:
                self._refuse(f"`{name}` of type {kind} and {size} bytes cannot be the number {value}")
            return struct.pack(form, value)
        self._refuse(
            f"`{name}` cannot be a `{type(value).__name__}`, expected an array, a number, bytes or None"
        )

    def _exact(self, name: str, kind: str, size: int, value) -> bytes:
        """Returns the bytes of a value that fixes its own size: a bytes object or a NumPy value."""
        if isinstance(value, (bytes, bytearray)):
            given, data = f"{len(value)} bytes", bytes(value)
        else:
            given, data = f"a {value.dtype} of {value.nbytes} bytes", value.tobytes()
            is_float = value.dtype.kind == "f"
            if (kind in FLOATS) != is_float and kind[0] in "fus" and value.dtype.kind in "iufb":
                self._refuse(f"`{name}` of type {kind} cannot be {given}")
        if len(data) != size:
            self._refuse(f"`{name}` of type {kind} and {size} bytes cannot be {given}")
        return data

    def _integer(self, name: str, kind: str, size: int, value: int) -> bytes:
        if kind in FLOATS:
            return struct.pack(FLOATS[kind], value)
        if size not in (1, 2, 4, 8) or kind[0] not in "usb":
            self._refuse(f"`{name}` of type {kind} and {size} bytes cannot be the number {value}: give its bytes")
        bits = 8 * size
        least, most = (0 if kind[0] == "u" and value >= 0 else -(1 << bits - 1)), (1 << bits) - 1
        if not least <= value <= most:
            self._refuse(f"`{name}` of type {kind} and {size} bytes cannot be {value}, expected {least} to {most}")
        return (value & most).to_bytes(size, "little")

    def address(self, array) -> int:
        """Returns the device address of an array. A host array is first copied to the device."""
        if isinstance(array, DeviceArray):
            if array.machine is not self._machine:
                self._refuse(f"{array!r} is on another machine")
            return array.data_ptr()
        if array.nbytes == 0:
            return 0
        for known, copy in self._copies:
            if known is array or _same(known, array):
                return copy.data_ptr()
            if np.may_share_memory(known, array):
                self._refuse("two arrays of numpy overlap: put one array on the device, and pass views of it")
        name = f"argument {len(self._copies) + 1} of {self._kernel}"
        copy = DeviceArray(self._machine, array.shape, array.dtype, name=name)
        copy.write(array)
        self._copies.append((array, copy))
        return copy.data_ptr()

    def finish(self, is_done: bool) -> None:
        """If the launch completed, copies changed arrays back to the host. Frees all copies in device memory."""
        wrong = None
        for array, copy in self._copies:
            if is_done:
                after = copy.numpy()
                if after.tobytes() != array.tobytes():
                    if array.flags.writeable:
                        array[...] = after
                    else:
                        wrong = wrong or f"it wrote to an array of {array.dtype}{list(array.shape)} that is read-only"
            copy.free()
        self._copies.clear()
        if wrong:
            self._refuse(wrong)

    def _refuse(self, why: str):
        raise LaunchError(f"kernel `{self._kernel}`: {why}")


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.__array_interface__ == other.__array_interface__
