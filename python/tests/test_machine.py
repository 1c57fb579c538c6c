"""Launches: arrays of numpy and of the device, warm caches, statistics, checks."""

import json

import numpy as np
import pytest
from conftest import ROOT, SMALL

import warpsieve

N = 1000


def operands(rng):
    return rng.random(N, dtype=np.float32), rng.random(N, dtype=np.float32), np.zeros(N, np.float32)


def test_arrays_of_numpy_go_in_and_come_out(machine, vadd, rng):
    a, b, c = operands(rng)
    run = machine.load(vadd).vadd[4, 256](a, b, c, N)
    np.testing.assert_array_equal(c, a + b)
    assert run.kernel == "vadd" and run.cycles > 0
    assert machine.memory[0] == 0, "arrays of the host are freed after the launch"


def test_arrays_that_are_not_contiguous_and_arrays_that_are_passed_twice(machine, vadd, rng):
    a, _, c = operands(rng)
    kernel = machine.load(vadd).vadd
    wide = np.zeros((N, 2), np.float32)
    kernel[4, 256](a, a, wide[:, 1], N)
    np.testing.assert_array_equal(wide[:, 1], 2 * a)
    assert not wide[:, 0].any()
    kernel[4, 256](c, a, c, N)
    np.testing.assert_array_equal(c, a)
    with pytest.raises(warpsieve.LaunchError, match="overlap"):
        kernel[1, 32](c[1:], a, c[:-1], 32)


def test_a_read_only_array_that_the_kernel_writes_is_an_error(machine, vadd, rng):
    a, b, c = operands(rng)
    c.flags.writeable = False
    with pytest.raises(warpsieve.LaunchError, match="read-only"):
        machine.load(vadd).vadd[4, 256](a, b, c, N)
    assert not c.any()


def test_caches_stay_warm_between_launches_on_device_arrays(machine, vadd, rng):
    a, b, _ = operands(rng)
    kernel = machine.load(vadd).vadd
    a, b, c = machine.array(a), machine.array(b), machine.zeros(N)
    cold, warm = kernel[4, 256](a, b, c, N), kernel[4, 256](a, b, c, N)
    assert cold.statistics["l2"]["hits"] == 0
    assert warm.statistics["l2"]["hits"] == warm.statistics["l2"]["accesses"] > 0
    assert warm.cycles < cold.cycles
    np.testing.assert_array_equal(c.numpy(), a.numpy() + b.numpy())


def test_counts_of_launches_add_up_to_those_of_the_machine(machine, vadd, rng):
    a, b, c = operands(rng)
    kernel = machine.load(vadd).vadd
    runs = [kernel[4, 256](a, b, c, N) for _ in range(3)]
    total = machine.report()
    assert total.statistics["kernels"] == [{"name": "vadd", "launches": 3, "warp_limit": None}]
    for key in ["warp_instructions", "l1.accesses", "l1.misses", "l2.accesses", "l2.misses", "dram.reads"]:
        assert sum(run.flat()[key] for run in runs) == total.flat()[key] > 0, key
    for run in [*runs, total]:
        slots = run.statistics
        counted = slots["issued"] + sum(cycles or 0 for cycles in slots["stalls"].values())
        assert counted == run.cycles * slots["schedulers"] * SMALL["num_sms"]


def test_a_report_between_launches_changes_nothing(vadd, rng):
    a, b, c = operands(rng)

    def run(reports: bool):
        with warpsieve.Machine("fermi", set=SMALL) as machine:
            kernel = machine.load(vadd).vadd
            a_, b_, c_ = machine.array(a), machine.array(b), machine.array(c)
            for _ in range(3):
                kernel[4, 256](a_, b_, c_, N)
                if reports:
                    machine.report()
        statistics = machine.last.statistics
        del statistics["host"]
        return statistics

    assert run(True) == run(False)


def test_a_launch_counts_what_the_command_counts(vadd, rng, tmp_path):
    """Compares with the statistics of a machine that is closed, which the command prints."""
    a, b, c = operands(rng)
    with warpsieve.Machine("volta", designs="pric", set=SMALL) as machine:
        run = machine.load(vadd).vadd[4, 256](a, b, c, N)
        closed = machine.close()
    first, last = dict(run.statistics), dict(closed.statistics)
    del first["host"], last["host"]
    assert first == last
    assert machine.close() is None


def test_machines_designs_and_fields(vadd):
    assert "fermi" in warpsieve.machines() and "pric" in warpsieve.designs()
    machine = warpsieve.Machine("fermi", designs=["pric"], set={"l1.sets": 64, "num_sms": 3})
    assert machine.name == "fermi + pric"
    assert machine.configuration["l1.sets"] == "64"
    run = machine.report()
    assert run.statistics["designs"] == ["pric"] and len(run.table("units.l1")) == 3


def test_a_design_changes_the_counts(rng):
    ptx = ROOT / "kernels/vadd/vadd.ptx"
    a, b, c = operands(rng)

    def accesses(**options):
        with warpsieve.Machine("fermi", **options) as machine:
            return machine.load(ptx).vadd[4, 256](a, b, c, N).cycles

    assert accesses(set=SMALL) != accesses(set={"num_sms": 15})


def test_statistics_as_rows_of_a_table(machine, vadd, rng):
    a, b, c = operands(rng)
    run = machine.load(vadd).vadd[4, 256](a, b, c, N)
    flat = run.flat()
    assert flat["l1.accesses"] == run.statistics["l1"]["accesses"]
    assert not any(isinstance(value, (dict, list)) for value in flat.values())
    loads = run.table("loads")
    assert [load["kernel"] for load in loads] == ["vadd", "vadd"]
    assert sum(load["accesses"] for load in loads) == flat["l1.accesses"]
    keys = {entry["key"] for entry in warpsieve.statistics_keys()}
    assert {"l1.accesses", "stalls.no_warp", "units.l1"} <= keys
    with pytest.raises(KeyError):
        run.table("l3")
    with pytest.raises(TypeError):
        run.table("l1")
    json.dumps(run.statistics)


def test_pandas_takes_the_rows(machine, vadd, rng):
    pandas = pytest.importorskip("pandas")
    a, b, c = operands(rng)
    kernel = machine.load(vadd).vadd
    runs = [kernel[4, 256](a, b, c, n) for n in (32, N)]
    frame = pandas.DataFrame([run.flat() for run in runs])
    assert list(frame["cycles"]) == [run.cycles for run in runs]
    assert len(pandas.DataFrame(runs[0].table("units.sm"))) == SMALL["num_sms"]


def test_the_summary_is_the_table_of_the_command(machine, vadd, rng):
    a, b, c = operands(rng)
    run = machine.load(vadd).vadd[4, 256](a, b, c, N)
    lines = str(run).splitlines()
    assert lines[0] == "vadd on fermi" and f"{run.cycles:,}" in lines[2]
    assert max(len(line) for line in run.summary(width=60).splitlines()) <= 60


def test_a_checked_launch_passes_with_warm_caches_and_freed_memory(vadd, rng):
    with warpsieve.Machine("fermi", set=SMALL, check=True) as machine:
        kernel = machine.load(vadd).vadd
        kept = machine.zeros(N)
        for _ in range(3):
            a, b, c = operands(rng)
            run = kernel[4, 256](a, b, c, N)
            np.testing.assert_array_equal(c, a + b)
            assert run.check == "passed" and not run.failed
            kernel[4, 256](kept, machine.array(a), kept, N)
        assert kept.numpy().any()


def test_a_checked_launch_that_depends_on_the_order_of_warps_is_noted():
    ptx = """
.version 6.4
.target sm_30
.address_size 64
.visible .entry last(.param .u64 out)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %ctaid.x;
    st.global.u32 [%rd2], %r1;
    ret;
}
"""
    with warpsieve.Machine("fermi", set=SMALL, check=True) as machine:
        out = np.full(1, -1, np.int32)
        run = machine.module(ptx).last[8, 32](out)
        assert 0 <= out[0] < 8
        assert run.check in ("order-dependent", "passed")
        assert (run.check == "passed") == (not run.notes)


def test_variables_of_a_module(machine):
    ptx = """
.version 6.4
.target sm_30
.address_size 64
.global .align 4 .u32 total = 5;
.const .align 4 .u32 step = 7;
.visible .entry bump()
{
    .reg .b32 %r<4>;
    ld.const.u32 %r1, [step];
    ld.global.u32 %r2, [total];
    add.u32 %r3, %r1, %r2;
    st.global.u32 [total], %r3;
    ret;
}
"""
    module = machine.module(ptx)
    module.bump[1, 1]()
    total, step = module.variable("total", np.uint32), module.variable("step", np.uint32)
    assert total.numpy() == [12]
    step.write(10)
    module.bump[1, 1]()
    assert total.numpy() == [22]
    with pytest.raises(KeyError, match="total, step"):
        module.variable("stride")


def test_files_are_complete_after_close(vadd, rng, tmp_path):
    a, b, c = operands(rng)
    wave, series, timeline = tmp_path / "run.vcd", tmp_path / "run.csv", tmp_path / "run.json"
    with warpsieve.Machine(
        "fermi", set=SMALL, wave=wave, series=series, interval=100, timeline=timeline
    ) as machine:
        machine.load(vadd).vadd[4, 256](a, b, c, N)
        run = machine.close()
    assert {str(wave), str(series), str(timeline)} <= set(run.written)
    assert len(series.read_text().splitlines()) > 3
    assert "$enddefinitions" in wave.read_text()
    json.loads(timeline.read_text())
