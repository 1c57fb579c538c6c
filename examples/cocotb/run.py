# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds `rtl/hdl/ws_top.sv` with Verilator, and runs the cocotb tests of `test_top.py`."""

import argparse
import os
import sys
from pathlib import Path

try:
    from cocotb_tools.runner import get_results, get_runner
except ImportError:  # cocotb 1.9 has the functions in another module.
    from cocotb.runner import get_results, get_runner

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
HDL = ROOT / "rtl/hdl"

# Sizes of caches and queues. By default, the module has those of the machine `fermi`, for which a C++
# compiler takes many minutes. The delays of links and of DRAM keep their defaults, those of `fermi`.
PARAMETERS = {
    "LINE_BITS": 13,
    "LINE_LOG2": 6,
    "L1_SETS": 4,
    "L1_WAYS": 2,
    "L1_MSHR_ENTRIES": 4,
    "L1_MSHR_MERGES": 3,
    "L1_MISS_QUEUE": 4,
    "L1_ACCESS_QUEUE": 3,
    "L1_SLOTS": 8,
    "L2_SETS": 4,
    "L2_WAYS": 4,
    "L2_ENTRIES": 4,
    "L2_REPLIES": 3,
    "L2_PENDING": 4,
    "L2_FRC_SETS": 1,
    "L2_FRC_WAYS": 4,
    "L2_BURST_BYTES": 32,
    "MEM_BURSTS": 128,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="seed of the random test")
    parser.add_argument("--waves", action="store_true", help="write dump.vcd to the build folder")
    arguments = parser.parse_args()

    build = ROOT / "target/cocotb" / ("waves" if arguments.waves else "build")
    # When Verilator 5.006 splits a large function, it loses the counters of the loops that it has formed, so
    # it forms none.
    options = ["-Wno-lint", "-Wno-style", "-fno-reloop", "--no-public-flat-rw", str(HERE / "links.vlt")]
    # The tests run for seconds. A compiler that optimizes less therefore saves time.
    os.environ["MAKEFLAGS"] = f"OPT_FAST=-O1 -j{os.cpu_count()}"
    runner = get_runner("verilator")
    runner.build(
        sources=[HDL / name for name in (HDL / "files.f").read_text().split()],
        hdl_toplevel="ws_top",
        build_dir=build,
        build_args=options,
        parameters=PARAMETERS,
        waves=arguments.waves,
        always=True,
    )
    results = runner.test(
        hdl_toplevel="ws_top",
        test_module="test_top",
        build_dir=build,
        test_dir=build,
        seed=arguments.seed,
        waves=arguments.waves,
    )
    tests, failures = get_results(results)
    if failures or not tests:
        sys.exit(f"{failures} of {tests} tests failed")


if __name__ == "__main__":
    main()
