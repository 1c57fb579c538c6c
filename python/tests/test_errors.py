"""Errors of the simulator are exceptions with its texts, and Ctrl-C ends a launch."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from conftest import SMALL

import warpsieve

COUNT = """
.version 6.4
.target sm_30
.address_size 64
.visible .entry count(.param .u64 count_out, .param .u32 count_to)
{
    .reg .pred %p<2>;
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [count_out];
    ld.param.u32 %r1, [count_to];
    cvta.to.global.u64 %rd2, %rd1;
    ld.global.u32 %r2, [%rd2];
again:
    add.s32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra again;
    st.global.u32 [%rd2], %r2;
    ret;
}
"""


def test_a_configuration_reports_every_problem():
    with pytest.raises(warpsieve.ConfigurationError) as raised:
        warpsieve.Machine("fermi", designs="prick", set={"l1.stes": 64})
    text = str(raised.value)
    assert "there is no design `prick`" in text and "unknown key `l1.stes`" in text
    assert "did you mean `sets`?" in text
    assert isinstance(raised.value, ValueError)


def test_a_design_that_needs_all_launches_is_refused():
    with pytest.raises(warpsieve.ConfigurationError, match="an L1 bypass with a profile"):
        warpsieve.Machine("fermi", designs="profiled")


def test_ptx_that_is_invalid_names_file_and_line(machine):
    with pytest.raises(warpsieve.PtxError, match="bad.ptx:3"):
        machine.module(".version 6.4\n.target sm_30\n.visible .entyr count()\n{}\n", name="bad.ptx")


def test_an_instruction_that_is_not_modeled_is_named(machine):
    ptx = COUNT.replace("add.s32 %r2, %r2, 1;", "tcgen05.wait::ld.sync.aligned;")
    module = machine.module(ptx, name="new.ptx")
    with pytest.raises(warpsieve.PtxError, match="tcgen05") as raised:
        module.count[1, 1]
    assert "new.ptx:15:5" in str(raised.value)


def test_a_launch_that_does_not_fit_leaves_the_machine_usable(machine):
    kernel, out = machine.module(COUNT).count, np.zeros(1, np.uint32)
    with pytest.raises(warpsieve.LaunchError, match="kernel `count`"):
        kernel[1, 32, 1 << 20](out, 10)
    kernel[1, 32](out, 10)
    assert out[0] == 10


def test_an_illegal_access_names_the_address_and_stops_the_machine(machine):
    kernel, out = machine.module(COUNT).count, np.zeros(1, np.uint32)
    with pytest.raises(warpsieve.AccessError, match="kernel `count`.*0x10"):
        kernel[1, 1](16, 10)
    with pytest.raises(warpsieve.StoppedError, match="an earlier launch stopped the machine"):
        kernel[1, 1](out, 10)
    with pytest.raises(warpsieve.AccessError):
        machine.close()


def test_a_limit_of_cycles_stops_the_machine():
    machine = warpsieve.Machine("fermi", set=SMALL, max_cycles=5000)
    with pytest.raises(warpsieve.StoppedError, match="stopped at core cycle 5000"):
        machine.module(COUNT).count[1, 1](np.zeros(1, np.uint32), 100_000_000)


def test_a_closed_machine_is_refused(machine):
    machine.close()
    with pytest.raises(warpsieve.StoppedError, match="the machine is closed"):
        machine.zeros(1)


def test_an_output_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(warpsieve.OutputError, match="missing"):
        warpsieve.Machine("fermi", set=SMALL, wave=tmp_path / "missing" / "run.vcd")


def test_ctrl_c_ends_a_launch_at_once(machine):
    kernel, out = machine.module(COUNT).count, np.zeros(1, np.uint32)
    sent = []

    def interrupt():
        time.sleep(1)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        kernel[1, 1](out, 4_000_000_000)
    # It takes some tenths of a second. A host under load schedules the threads late; the launch would take hours.
    assert time.monotonic() - sent[0] < 10
    with pytest.raises(warpsieve.StoppedError, match="an earlier launch"):
        kernel[1, 1](out, 10)


def test_other_threads_run_during_a_launch(machine):
    kernel, out = machine.module(COUNT).count, np.zeros(1, np.uint32)
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    kernel[1, 1](out, 20_000)
    during = counted[0] - before
    done.set()
    thread.join()
    assert during > 0


def test_a_process_ends_while_a_launch_runs_in_another_thread():
    program = f"""
        import threading, time, numpy, warpsieve
        machine = warpsieve.Machine("fermi", set={SMALL})
        kernel = machine.module('''{COUNT}''').count
        launch = lambda: kernel[1, 1](numpy.zeros(1, numpy.uint32), 4_000_000_000)
        threading.Thread(target=launch, daemon=True).start()
        time.sleep(0.5)
        print("done")
    """
    program = textwrap.dedent(program.replace(COUNT, COUNT.replace("\n", "\n        ")))
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr
