//! Comparison of `volta`, `ampere` and `hopper` with Accel-Sim's configurations of the same GPUs.

use miette::miette;
use warpsieve::run::TraceForm;
use warpsieve::text::format_thousands;
use warpsieve::trace::sass::BinaryVersion;

use super::replay_as;
use crate::apart::{Deviation, list_deviating};
use crate::page::Page;
use crate::runs::Point;
use crate::{FigureError, Session};

/// Our machines that are compared, Accel-Sim's configurations of the same GPUs, and the architecture whose opcodes the
/// traces use. Accel-Sim of that version knows no opcodes of Hopper.
const MACHINES: [(&str, &str, u32); 3] =
    [("volta", "SM7_QV100", 70), ("ampere", "SM80_A100", 80), ("hopper", "SM90_H100", 80)];
/// Relative difference in cycles above which the results page lists a kernel.
const FAR: f64 = 0.15;

/// Cycles of each kernel, measured once with Accel-Sim's configurations in the order of [`MACHINES`]
/// (accel-sim-framework 73f9fac, GPGPU-Sim 667834c, `-gpgpu_perf_sim_memcpy 0`, `-gpgpu_kernel_launch_latency 0`). The
/// configuration of the A100 is that of GPGPU-Sim 9f767fb, and that of the H100 is of 01f6fc4, without the options that
/// 667834c lacks. Accel-Sim ran traces that we exported from the size `small` of each kernel.
const KERNELS: [(&str, [u64; 3]); 18] = [
    ("backprop", [3_645, 4_854, 5_281]),
    ("bfs", [30_201, 40_084, 45_373]),
    ("conv2d", [2_123, 2_796, 3_143]),
    ("gesummv", [2_098, 2_575, 2_808]),
    ("histo", [12_157, 16_065, 17_538]),
    ("hotspot", [4_046, 5_018, 5_146]),
    ("kmeans", [2_539, 3_376, 3_687]),
    ("lud", [124_746, 160_341, 169_352]),
    ("nn", [23_255, 30_593, 35_004]),
    ("nw", [111_879, 147_666, 156_828]),
    ("pathfinder", [6_237, 8_012, 8_652]),
    ("reduction", [2_068, 2_664, 2_860]),
    ("scan", [4_966, 6_131, 6_467]),
    ("sgemm", [5_098, 6_614, 6_985]),
    ("spmv_csr", [4_941, 6_647, 7_358]),
    ("syrk", [2_762, 3_213, 3_495]),
    ("transpose", [937, 1_079, 1_168]),
    ("vadd", [709, 895, 972]),
];

const ABOUT: &str = "Both simulators replay the same traces, which `trace export` wrote for the small launch files, on their models of a V100, an A100
and an H100. Accel-Sim's cycles were measured once (framework 73f9fac, GPGPU-Sim 667834c) with its own configurations, without the
fixed latency of a launch (`-gpgpu_kernel_launch_latency 0`) and with cold caches (`-gpgpu_perf_sim_memcpy 0`). The configuration
of the A100 is of a later version. So is that of the H100, of which the simulator knew no chiplets, no request coalescer, no new model
of operand collectors, and no hash of partitions: these are left out. `volta` takes its values from Accel-Sim's configuration. `ampere`
and `hopper` take theirs from measurements on GPUs where there are any. No field was tuned to match these numbers.

Where `ampere` and `hopper` differ, single instructions explain most of it. By dependent chains of one warp, an addition takes 9 cycles
in Accel-Sim and 4 here (4.2 on an H100), shared memory 33 and 34 cycles against 23 (23.2 on an H100), and DRAM 452 and 495
cycles against 532 and 671 (552 on an A100, 681 on an H100). The first two make kernels such as `lud` slower in Accel-Sim, the third
makes kernels such as `transpose` slower here, so that the mean hides a part of the differences.";

pub(super) fn draw(session: &Session) -> Result<Page, FigureError> {
    let launches = KERNELS.iter().map(|(name, _)| session.kernels.join(name).join("small"));
    let points: Vec<_> =
        launches.flat_map(|launch| MACHINES.map(|(machine, ..)| Point::new(&launch, machine, &[], &[]))).collect();
    let cycles = session.runner.measure("replayed-as-binary", &points, &|launch, resolved| {
        let version =
            MACHINES.iter().find(|(machine, ..)| *machine == resolved.machine.name).map(|(.., version)| *version);
        let version = version.and_then(BinaryVersion::new).unwrap_or_default();
        replay_as(launch, resolved, TraceForm { version, ..TraceForm::default() })
    })?;
    let (rows, _) = cycles.as_chunks::<{ MACHINES.len() }>();
    let mut page =
        Page::new("accelsim/modern", session.is_quick, "A V100, an A100 and an H100 compared with Accel-Sim");
    page.text(ABOUT);
    page.text("## Deviation");
    let summary = MACHINES.iter().enumerate().map(|(at, (ours, theirs, _))| {
        let pairs: Vec<_> =
            rows.iter().zip(&KERNELS).map(|(row, (_, theirs))| [row[at] as f64, theirs[at] as f64]).collect();
        Deviation::of(&pairs).map(|apart| apart.cells(ours, theirs))
    });
    let summary = summary.collect::<Option<Vec<_>>>().ok_or_else(|| miette!("no kernel took a cycle"))?;
    page.table(&["ours", "Accel-Sim", "ratio, geometric mean", "mean error, %", "rank correlation"], summary, 2);
    page.text("## Kernels");
    let head = MACHINES.iter().flat_map(|(ours, theirs, _)| [*theirs, ours, "ratio"]);
    let head: Vec<_> = std::iter::once("kernel").chain(head).collect();
    let cells = rows.iter().zip(&KERNELS).map(|(row, (name, theirs))| {
        let of_machine = row.iter().zip(theirs).flat_map(|(ours, theirs)| {
            [format_thousands(*theirs), format_thousands(*ours), format!("{:.2}", *ours as f64 / *theirs as f64)]
        });
        std::iter::once((*name).to_owned()).chain(of_machine).collect()
    });
    page.numbers(&head, cells.collect(), 1)?;
    page.text(&far(rows));
    Ok(page)
}

/// Lists the kernels whose cycles differ from Accel-Sim's by more than [`FAR`].
fn far(rows: &[[u64; MACHINES.len()]]) -> String {
    let ratios = rows.iter().zip(&KERNELS).flat_map(|(row, (name, theirs))| {
        let of_machine = row.iter().zip(theirs).zip(MACHINES);
        of_machine
            .map(move |((ours, theirs), (machine, ..))| (format!("{name} on {machine}"), *ours as f64 / *theirs as f64))
    });
    let listed = list_deviating(FAR, ratios);
    format!("Kernels that deviate by more than {} %: {listed}.", 100.0 * FAR)
}
