"""Fixtures of all tests."""

import pathlib

import numpy as np
import pytest

import warpsieve

ROOT = pathlib.Path(__file__).parents[2]
# A small machine simulates faster.
SMALL = {"num_sms": 2}


@pytest.fixture
def machine():
    """A small machine."""
    with warpsieve.Machine("fermi", set=SMALL) as machine:
        yield machine


@pytest.fixture
def vadd():
    """Path of a kernel that adds two arrays."""
    return ROOT / "kernels/vadd/vadd.ptx"


@pytest.fixture
def rng():
    """Random numbers with a seed."""
    return np.random.default_rng(1)
