"""Arrays in device memory."""

import gc

import numpy as np
import pytest

import warpsieve


def test_contents_shape_and_strides(machine):
    values = np.arange(12, dtype=np.int16).reshape(3, 4)
    array = machine.array(values)
    np.testing.assert_array_equal(array.numpy(), values)
    np.testing.assert_array_equal(np.asarray(array), values)
    assert (array.shape, array.dtype, array.nbytes, array.numel(), len(array)) == ((3, 4), np.int16, 24, 12, 3)
    assert array.stride() == (4, 1) and array.stride(0) == 4 and array.element_size() == 2
    assert array.data_ptr() % 256 == 0
    np.testing.assert_array_equal(array.reshape(2, 6).numpy(), values.reshape(2, 6))
    np.testing.assert_array_equal(array.view(np.int8).numpy(), values.view(np.int8))
    array.write(7)
    assert (array.numpy() == 7).all()
    with pytest.raises(TypeError, match="float64"):
        array.write(1.5)
    with pytest.raises(OverflowError):
        array.write(1 << 15)
    with pytest.raises(ValueError, match="cannot have the shape"):
        array.reshape(5)


def test_memory_is_freed_with_the_last_reference_and_found_again(machine):
    array = machine.zeros(1000, np.float64)
    address, row = array.data_ptr(), array.reshape(10, 100)
    assert machine.memory[0] == 8000
    del array
    gc.collect()
    assert machine.memory[0] == 8000, "a view keeps the memory"
    del row
    gc.collect()
    assert machine.memory[0] == 0
    assert machine.empty(10).data_ptr() == address


def test_a_freed_array_cannot_be_used(machine):
    array = machine.zeros(10)
    view = array.reshape(2, 5)
    with pytest.raises(ValueError, match="another one"):
        view.free()
    array.free()
    for one in (array, view):
        with pytest.raises(ValueError, match="freed"):
            one.numpy()


def test_empty_arrays_and_arrays_of_objects(machine):
    assert machine.zeros((0, 3)).numpy().shape == (0, 3)
    assert machine.memory[0] == 0
    with pytest.raises(TypeError, match="objects"):
        machine.array(np.array([None]))
    with pytest.raises(ValueError, match="not a shape"):
        machine.empty((-1,))


def test_more_memory_than_the_machine_has_is_refused(machine):
    with pytest.raises(warpsieve.DeviceMemoryError, match="bytes are free"):
        machine.empty(machine.memory[1] + 1, np.uint8)
