"""Arrays in the memory of a machine."""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .machine import Machine


class DeviceArray:
    """Array in the memory of a machine, in C order.

    Its address does not change until it is freed, so its lines can stay in the caches between launches. The memory
    is freed with the last array that refers to it. Host accesses take no simulated time.
    """

    def __init__(self, machine: Machine, shape, dtype, *, name: str | None = None):
        self._machine = machine
        self.shape = _shape(shape)
        self.dtype = np.dtype(dtype)
        if self.dtype.hasobject:
            raise TypeError(f"an array of `{self.dtype}` cannot be in device memory: its elements are objects of Python")
        self._base = None
        self._address = machine._allocate(name, self.nbytes) if self.nbytes else 0
        if self.nbytes:
            self._finalizer = weakref.finalize(self, machine._discard, self._address)
            self._finalizer.atexit = False

    def _view(self, shape, dtype) -> DeviceArray:
        view = object.__new__(type(self))
        view._machine, view.shape, view.dtype = self._machine, shape, dtype
        view._base, view._address = self._base or self, self._address
        return view

    @property
    def machine(self) -> Machine:
        """Machine whose memory holds the array."""
        return self._machine

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        """Size of an element in bytes."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.numel() * self.itemsize

    def numel(self) -> int:
        """Returns the number of elements."""
        return math.prod(self.shape)

    def element_size(self) -> int:
        """Returns the size of an element in bytes."""
        return self.itemsize

    def data_ptr(self) -> int:
        """Returns the address of the first element."""
        if self._address is None or (isinstance(self._base, DeviceArray) and self._base._address is None):
            raise ValueError("the array has been freed")
        return self._address

    def stride(self, axis: int | None = None):
        """Returns the distance between adjacent elements, counted in elements, along one axis or along all axes."""
        strides = tuple(math.prod(self.shape[i + 1 :]) for i in range(self.ndim))
        return strides if axis is None else strides[axis]

    def is_contiguous(self) -> bool:
        """Returns true: there are never gaps between elements."""
        return True

    def reshape(self, *shape) -> DeviceArray:
        """Returns an array of another shape in the same memory."""
        shape = _shape(shape[0] if len(shape) == 1 else shape)
        if math.prod(shape) != self.numel():
            raise ValueError(f"an array of shape {self.shape} cannot have the shape {shape}")
        return self._view(shape, self.dtype)

    def view(self, dtype) -> DeviceArray:
        """Returns an array of another type in the same memory. If the element size differs, so does the last axis."""
        dtype = np.dtype(dtype)
        shape = list(self.shape or (1,))
        last, rest = divmod(shape[-1] * self.itemsize, dtype.itemsize)
        if rest:
            raise ValueError(f"rows of {shape[-1] * self.itemsize} bytes are not a multiple of `{dtype}`")
        shape[-1] = last
        return self._view(tuple(shape), dtype)

    def numpy(self) -> np.ndarray:
        """Returns a copy of the contents."""
        contents = self._machine._read(self.data_ptr(), self.nbytes) if self.nbytes else b""
        return np.frombuffer(bytearray(contents), dtype=self.dtype).reshape(self.shape)

    def write(self, values) -> None:
        """Replaces the contents; values are broadcast to the shape and must fit the type."""
        # A Python integer has no fixed size: numpy rejects it if the type of the array cannot hold it.
        values = np.array(values, self.dtype) if isinstance(values, int) else np.asarray(values)
        if not np.can_cast(values.dtype, self.dtype, "same_kind"):
            raise TypeError(f"values of `{values.dtype}` cannot be written to an array of `{self.dtype}`")
        values = np.broadcast_to(values, self.shape).astype(self.dtype)
        if self.nbytes:
            self._machine._write(self.data_ptr(), np.ascontiguousarray(values).tobytes())

    def free(self) -> None:
        """Frees the memory now. Otherwise, it is freed when the array is garbage-collected."""
        if self._base is not None:
            raise ValueError("an array in the memory of another one, or of a variable, cannot free it")
        if self._address:
            self._finalizer()
        self._address = None

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("the contents of device memory can only be copied")
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        where = "freed" if self._address is None else f"at {self._address:#x}"
        return f"<DeviceArray {self.dtype}{list(self.shape)} {where} on {self._machine.name}>"


def _shape(shape) -> tuple[int, ...]:
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if any(int(extent) != extent or extent < 0 for extent in shape):
        raise ValueError(f"{shape} is not a shape: extents are whole numbers of 0 or more")
    return tuple(int(extent) for extent in shape)
