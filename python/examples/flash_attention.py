# FlashAttention in Triton on a simulated V100: the second launch finds its tensors in the L2.
import numpy as np
import triton
import triton.language as tl

import warpsieve
import warpsieve.triton


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, out_ptr, length, scale, ROWS: tl.constexpr, HEAD: tl.constexpr):
    head = tl.program_id(1) * length * HEAD
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inner = tl.arange(0, HEAD)
    q = tl.load(q_ptr + head + rows[:, None] * HEAD + inner[None, :])
    largest = tl.full((ROWS,), -float("inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    sums = tl.zeros((ROWS, HEAD), tl.float32)
    for start in range(0, length, ROWS):
        columns = start + tl.arange(0, ROWS)
        k = tl.load(k_ptr + head + columns[None, :] * HEAD + inner[:, None])
        scores = tl.dot(q, k) * scale
        new = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp(scores - new[:, None])
        correction = tl.exp(largest - new)
        total = total * correction + tl.sum(weights, 1)
        v = tl.load(v_ptr + head + columns[:, None] * HEAD + inner[None, :])
        sums = tl.dot(weights.to(v.dtype), v, sums * correction[:, None])
        largest = new
    tl.store(out_ptr + head + rows[:, None] * HEAD + inner[None, :], (sums / total[:, None]).to(q.dtype))


heads, length, size = 4, 128, 64
machine = warpsieve.triton.install(warpsieve.Machine("volta"))
rng = np.random.default_rng(1)
q, k, v = (machine.array(rng.standard_normal((heads, length, size)), np.float16) for _ in range(3))
out = machine.empty_like(q)
for launch in ["first", "second"]:
    attention[(length // 32, heads)](q, k, v, out, length, size**-0.5, ROWS=32, HEAD=size)
    l2 = machine.last.statistics["l2"]
    print(f"{launch:6} launch: {machine.last.cycles:,} cycles, L2 {100 * l2['hits'] / l2['accesses']:.1f} % hits")

scores = np.exp(q.numpy().astype(float) @ k.numpy().astype(float).transpose(0, 2, 1) * size**-0.5)
expected = scores / scores.sum(axis=2, keepdims=True) @ v.numpy()
print(f"largest error: {np.abs(out.numpy() - expected).max():.4f}")
