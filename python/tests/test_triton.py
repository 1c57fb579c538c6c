"""Kernels of Triton on the simulated machine, with results compared with numpy."""

import numpy as np
import pytest
from conftest import SMALL

import warpsieve

pytest.importorskip("triton")

import triton  # noqa: E402
import triton_kernels as kernels  # noqa: E402

import warpsieve.triton  # noqa: E402


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """The machine on which Triton runs."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    with warpsieve.Machine("volta", set=SMALL) as machine:
        yield warpsieve.triton.install(machine)
        warpsieve.triton.uninstall()


def test_vector_addition(machine, rng):
    a, b = rng.random(3000, dtype=np.float32), rng.random(3000, dtype=np.float32)
    x, y, out = machine.array(a), machine.array(b), machine.empty(3000)
    kernels.add[lambda meta: (triton.cdiv(3000, meta["BLOCK"]),)](x, y, out, x.numel(), BLOCK=1024)
    np.testing.assert_array_equal(out.numpy(), a + b)
    assert machine.last.kernel == "add" and machine.last.statistics["l1"]["accesses"] > 0


@pytest.mark.parametrize("columns", [781, 1024])
def test_softmax(machine, rng, columns):
    a = rng.standard_normal((7, columns), dtype=np.float32)
    x = machine.array(a)
    out = machine.empty_like(x)
    kernels.softmax[(7,)](x, out, x.stride(0), columns, BLOCK=1024)
    exponentials = np.exp(a - a.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out.numpy(), exponentials / exponentials.sum(axis=1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("dtype, block, shape", [(np.float16, 64, (128, 64, 96)), (np.float32, 32, (45, 50, 70))])
def test_matmul(machine, rng, dtype, block, shape):
    m, n, k = shape
    a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    x, y, out = machine.array(a), machine.array(b), machine.empty((m, n), dtype)
    grid = (triton.cdiv(m, block), triton.cdiv(n, block))
    kernels.matmul[grid](
        x, y, out, m, n, k, x.stride(0), y.stride(0), out.stride(0),
        BLOCK_M=block, BLOCK_N=block, BLOCK_K=block // 2, PRECISION="ieee",
    )  # fmt: skip
    expected = a.astype(np.float64) @ b.astype(np.float64)
    tolerance = 1e-2 if dtype == np.float16 else 1e-4
    np.testing.assert_allclose(out.numpy(), expected, rtol=tolerance, atol=tolerance)


def test_flash_attention(machine, rng):
    heads, length, head = 2, 128, 64
    q, k, v = (rng.standard_normal((heads, length, head)).astype(np.float16) for _ in range(3))
    out = machine.empty((heads, length, head), np.float16)
    scale = head**-0.5
    kernels.attention[(length // 64, heads)](
        machine.array(q), machine.array(k), machine.array(v), out, length, scale / np.log(2).item(),
        BLOCK_M=64, BLOCK_N=32, HEAD=head,
    )  # fmt: skip
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = np.exp(scale * q @ k.transpose(0, 2, 1))
    np.testing.assert_allclose(out.numpy(), scores / scores.sum(axis=2, keepdims=True) @ v, rtol=1e-2, atol=4e-3)


def test_layer_norm(machine, rng):
    a, weight, bias = (rng.standard_normal(shape, dtype=np.float32) for shape in ((5, 1000), 1000, 1000))
    out = machine.empty((5, 1000))
    kernels.layer_norm[(5,)](
        machine.array(a), machine.array(weight), machine.array(bias), out, 1000, 1000, 1e-5, BLOCK=1024
    )
    normal = (a - a.mean(axis=1, keepdims=True)) / np.sqrt(a.var(axis=1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(out.numpy(), normal * weight + bias, rtol=1e-4, atol=1e-4)


def test_atomics_and_scans(machine, rng):
    values = rng.integers(0, 16, 2000, dtype=np.int32)
    counts = machine.zeros(16, np.int32)
    kernels.histogram[(2,)](machine.array(values), counts, 2000, BLOCK=1024)
    np.testing.assert_array_equal(counts.numpy(), np.bincount(values, minlength=16))
    out = machine.empty((4, 500), np.int32)
    kernels.cumulative[(4,)](machine.array(values), out, 500, BLOCK=512)
    np.testing.assert_array_equal(out.numpy(), values.reshape(4, 500).cumsum(axis=1))


def test_a_product_of_tf32_keeps_ten_bits_of_each_factor(machine, rng):
    a = rng.random((64, 64), dtype=np.float32)
    on_device, out = machine.array(a), machine.empty((64, 64))
    kernels.matmul[(1, 1)](
        on_device, on_device, out, 64, 64, 64, 64, 64, 64,
        BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, PRECISION="tf32",
    )  # fmt: skip
    error = np.abs(out.numpy() / (a.astype(np.float64) @ a) - 1).max()
    assert 2**-20 < error < 2**-10, "an exact product would not have used tf32"


def test_an_instruction_that_is_not_modeled_is_named(machine):
    x = machine.array(np.arange(128, dtype=np.int32))
    with pytest.raises(warpsieve.PtxError, match="wgmma.fence.sync.aligned.* is not modeled"):
        kernels.fenced_copy[(1,)](x, machine.empty_like(x), BLOCK=128)


def test_a_kernel_runs_on_the_machine_that_is_installed_last(machine, rng):
    a = rng.random(100, dtype=np.float32)

    def cycles(machine):
        x, out = machine.array(a), machine.empty(100)
        kernels.add[(1,)](x, x, out, 100, BLOCK=128)
        np.testing.assert_array_equal(out.numpy(), 2 * a)
        return machine.last.cycles

    first = cycles(machine)
    with warpsieve.Machine("volta", set=SMALL) as again:
        assert cycles(warpsieve.triton.install(again)) == first
    with warpsieve.Machine("fermi", set=SMALL) as other:
        assert cycles(warpsieve.triton.install(other)) != first


def test_autotuning_measures_simulated_time(machine, rng):
    configs = [triton.Config({"BLOCK": block}) for block in (128, 512)]
    tuned = triton.autotune(configs, key=["n"])(kernels.add)
    x = machine.array(rng.random(1000, dtype=np.float32))
    tuned[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, x, machine.empty(1000), 1000)
    assert set(tuned.configs_timings) == set(configs)
    assert all(milliseconds[0] > 0 for milliseconds in tuned.configs_timings.values())
    assert tuned.best_config == min(tuned.configs_timings, key=tuned.configs_timings.get)


def test_tensors_of_pytorch(machine):
    torch = pytest.importorskip("torch")
    x, y = torch.rand(1000), torch.rand(1000)
    out = torch.zeros(1100)
    kernels.add[(1,)](x, y, out[100:], 1000, BLOCK=1024)
    assert torch.equal(out[100:], x + y) and not out[:100].any()


def test_memory_of_other_tensors_is_unknown(machine):
    class Tensor:
        dtype = np.dtype(np.float32)

        def data_ptr(self):
            return 4096

    x = Tensor()
    with pytest.raises(warpsieve.LaunchError, match="the memory of a `Tensor` is unknown"):
        kernels.add[(1,)](x, x, x, 10, BLOCK=128)
