# C = A * A^T by a kernel in PTX, on four designs. Rows of A are 4 KB apart: all of them fall into one set of the L1D.
from pathlib import Path

import numpy as np

import warpsieve

ptx = Path(__file__).parents[2] / "kernels/syrk/syrk.ptx"
n, k, row = 64, 8, 1024
a = np.random.default_rng(1).random((n, row), dtype=np.float32)

for design in ["baseline", "pric", "mrpb", "l1-128k"]:
    with warpsieve.Machine("fermi", designs=design) as machine:
        c = np.zeros((n, n), np.float32)
        run = machine.load(ptx).syrk[(2, 8), (32, 8)](a, c, 1.0, 0.0, n, n, k, row)
        assert np.allclose(c, a[:, :k] @ a[:, :k].T, rtol=1e-4)
        l1 = run.statistics["l1"]
        print(f"{design:9} {run.cycles:7,} cycles, {100 * l1['hits'] / l1['accesses']:5.1f} % hits")
