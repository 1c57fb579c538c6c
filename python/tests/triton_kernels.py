"""Kernels of Triton in the forms in which they are written today: nothing in them knows of the simulator."""

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


@triton.jit
def softmax(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * stride + offsets, mask=mask, other=-float("inf"))
    exponentials = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + offsets, exponentials / tl.sum(exponentials, axis=0), mask=mask)


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, m, n, k, stride_am, stride_bk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    # Rows and columns behind the last ones repeat the first ones, so that only the inner axis needs a mask.
    a_ptrs = a_ptr + (rows % m)[:, None] * stride_am + inner[None, :]
    b_ptrs = b_ptr + inner[:, None] * stride_bk + (columns % n)[None, :]
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        a = tl.load(a_ptrs, mask=inner[None, :] < k - start, other=0.0)
        b = tl.load(b_ptrs, mask=inner[:, None] < k - start, other=0.0)
        sums = tl.dot(a, b, sums, input_precision=PRECISION)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * stride_bk
    tl.store(
        c_ptr + rows[:, None] * stride_cm + columns[None, :],
        sums.to(c_ptr.dtype.element_ty),
        mask=(rows[:, None] < m) & (columns[None, :] < n),
    )


@triton.jit
def attention(
    q_ptr, k_ptr, v_ptr, out_ptr, length, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1) * length * HEAD
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    inner = tl.arange(0, HEAD)
    q = tl.load(q_ptr + head + rows[:, None] * HEAD + inner[None, :])
    largest = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    sums = tl.zeros((BLOCK_M, HEAD), dtype=tl.float32)
    for start in range(0, length, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + head + columns[None, :] * HEAD + inner[:, None])
        scores = tl.dot(q, k) * scale
        new = tl.maximum(largest, tl.max(scores, axis=1))
        weights = tl.exp2(scores - new[:, None])
        correction = tl.exp2(largest - new)
        total = total * correction + tl.sum(weights, axis=1)
        v = tl.load(v_ptr + head + columns[:, None] * HEAD + inner[None, :])
        sums = tl.dot(weights.to(v.dtype), v, sums * correction[:, None])
        largest = new
    tl.store(out_ptr + head + rows[:, None] * HEAD + inner[None, :], (sums / total[:, None]).to(q.dtype))


@triton.jit
def layer_norm(x_ptr, weight_ptr, bias_ptr, out_ptr, stride, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * stride + offsets, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / columns
    centered = tl.where(mask, x - mean, 0.0)
    deviation = 1 / tl.sqrt(tl.sum(centered * centered, axis=0) / columns + epsilon)
    weight = tl.load(weight_ptr + offsets, mask=mask)
    bias = tl.load(bias_ptr + offsets, mask=mask)
    tl.store(out_ptr + row * stride + offsets, centered * deviation * weight + bias, mask=mask)


@triton.jit
def histogram(x_ptr, counts_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.atomic_add(counts_ptr + tl.load(x_ptr + offsets, mask=mask, other=0), 1, mask=mask)


@triton.jit
def cumulative(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + tl.program_id(0) * columns + offsets, mask=mask, other=0)
    tl.store(out_ptr + tl.program_id(0) * columns + offsets, tl.cumsum(x, axis=0), mask=mask)


@triton.jit
def fenced_copy(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    copy = tl.inline_asm_elementwise(
        "wgmma.fence.sync.aligned; mov.b32 $0, $1;", "=r,r", [x], dtype=tl.int32, is_pure=False, pack=1
    )
    tl.store(out_ptr + offsets, copy)
