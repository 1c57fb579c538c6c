"""Numbers, structs and pointers as arguments."""

import numpy as np
import pytest

import warpsieve

PTX = """
.version 6.4
.target sm_30
.address_size 64
.visible .entry store(
    .param .u64 out, .param .u32 u, .param .s32 i, .param .f32 f, .param .f64 d, .param .u16 h, .param .b32 b,
    .param .align 4 .b8 pair[8], .param .u64 none)
{
    .reg .b16 %h<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    ld.param.u32 %r1, [u];
    st.global.u32 [%rd2], %r1;
    ld.param.u32 %r1, [i];
    st.global.u32 [%rd2+4], %r1;
    ld.param.u32 %r1, [f];
    st.global.u32 [%rd2+8], %r1;
    ld.param.u32 %r1, [b];
    st.global.u32 [%rd2+12], %r1;
    ld.param.u64 %rd3, [d];
    st.global.u64 [%rd2+16], %rd3;
    ld.param.u16 %h1, [h];
    st.global.u16 [%rd2+24], %h1;
    ld.param.u32 %r1, [pair];
    st.global.u32 [%rd2+28], %r1;
    ld.param.u32 %r1, [pair+4];
    st.global.u32 [%rd2+32], %r1;
    ld.param.u64 %rd4, [none];
    st.global.u64 [%rd2+40], %rd4;
    ret;
}
"""
PAIR = np.dtype([("x", np.int32), ("y", np.float32)])


def stored(machine, *arguments):
    out = np.zeros(48, np.uint8)
    machine.module(PTX).store[1, 1](out, *arguments)
    return out.tobytes()


def test_every_type_arrives(machine):
    pair = np.array((-5, 0.25), PAIR)
    data = stored(machine, 4_000_000_000, -7, 1.5, 0.1, 65535, 2.5, pair[()], None)
    assert np.frombuffer(data, np.uint32, 1)[0] == 4_000_000_000
    assert np.frombuffer(data, np.int32, 1, 4)[0] == -7
    assert np.frombuffer(data, np.float32, 1, 8)[0] == 1.5
    assert np.frombuffer(data, np.float32, 1, 12)[0] == 2.5, "a float for untyped 32 bits is an f32"
    assert np.frombuffer(data, np.float64, 1, 16)[0] == 0.1
    assert np.frombuffer(data, np.uint16, 1, 24)[0] == 65535
    assert np.frombuffer(data, PAIR, 1, 28)[0] == pair
    assert np.frombuffer(data, np.uint64, 1, 40)[0] == 0


def test_numbers_of_numpy_keep_their_bits(machine):
    data = stored(machine, np.int32(-1), np.int32(3), 2, 1, np.uint16(9), np.uint32(8), bytes(range(8)), 77)
    assert data[0:4] == b"\xff" * 4 and data[28:36] == bytes(range(8))
    assert np.frombuffer(data, np.float32, 1, 8)[0] == 2.0, "a whole number for an f32 is converted"
    assert np.frombuffer(data, np.uint64, 1, 40)[0] == 77


@pytest.mark.parametrize(
    "place, value, message",
    [
        (0, -(1 << 31) - 1, "`u` of type u32 and 4 bytes cannot be -2147483649, expected -2147483648 to 4294967295"),
        (0, 1 << 32, "cannot be 4294967296"),
        (0, 1.5, "`u` of type u32 and 4 bytes cannot be the number 1.5"),
        (0, np.float32(1), "`u` of type u32 cannot be a float32 of 4 bytes"),
        (0, np.zeros(3), "cannot take an array"),
        (0, None, "cannot be None"),
        (2, np.int32(1), "`f` of type f32 cannot be a int32 of 4 bytes"),
        (2, np.float64(1), "`f` of type f32 and 4 bytes cannot be a float64 of 8 bytes"),
        (6, b"123", "`pair` of type b8 and 8 bytes cannot be 3 bytes"),
        (6, "text", "`pair` cannot be a `str`"),
    ],
)
def test_values_that_do_not_fit_are_refused(machine, place, value, message):
    arguments = [1, 1, 1.0, 1.0, 1, 1, bytes(8), None]
    arguments[place] = value
    with pytest.raises(warpsieve.LaunchError, match=f"kernel `store`: .*{message}"):
        stored(machine, *arguments)


def test_the_number_of_arguments_and_the_shape_are_checked(machine):
    kernel = machine.module(PTX).store
    with pytest.raises(warpsieve.LaunchError, match="1 arguments, expected 9: out: u64, u: u32"):
        kernel[1, 1](None)
    with pytest.raises(warpsieve.LaunchError, match=r"expected \[grid, block\]"):
        kernel[1]
    with pytest.raises(warpsieve.LaunchError, match="is not a grid"):
        kernel[(1, 1, 1, 1), 32]
    with pytest.raises(warpsieve.LaunchError, match="kernel `store`: .*2048"):
        kernel[1, 2048](*[None, 1, 1, 1.0, 1.0, 1, 1, bytes(8), None])
    with pytest.raises(AttributeError, match="no kernel `load`, but store"):
        machine.module(PTX).load


def test_an_array_of_another_machine_is_refused(machine):
    with warpsieve.Machine("fermi", set={"num_sms": 1}) as other:
        array = other.zeros(48, np.uint8)
        with pytest.raises(warpsieve.LaunchError, match="is on another machine"):
            machine.module(PTX).store[1, 1](array, 1, 1, 1.0, 1.0, 1, 1, bytes(8), None)
