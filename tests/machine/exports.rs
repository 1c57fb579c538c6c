//! Checks traces that `trace export` writes with the validator of Accel-Sim's trace format.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use warpsieve::run::{ExportResult, TraceForm, export, open};
use warpsieve::trace::sass::BinaryVersion;

use super::replay::exported_as;
use super::{Setup, accel_sim, fermi, launch, root, some_kernels};

/// Exports a kernel as a trace, validates every line, and returns the execution units that its opcodes need.
fn judge(kernel: &str, form: TraceForm) -> BTreeSet<String> {
    judge_launch(&launch(kernel, "small"), form)
}

/// Exports a launch file as a trace, and otherwise does the same as [`judge`].
fn judge_launch(launch: &Path, form: TraceForm) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let kernel = launch.display();
    let ExportResult { warp_instructions, .. } =
        export(open(launch, None).unwrap(), &fermi(), folder.path(), form).unwrap();
    let read = |name: &str| fs::read_to_string(folder.path().join(Path::new(name))).unwrap();
    let list = read("kernelslist.g");
    let names = accel_sim::list(&list).unwrap_or_else(|e| panic!("{kernel}: {e}"));
    let (mut units, mut instructions) = (BTreeSet::new(), 0);
    for name in names {
        let found = accel_sim::kernel(&read(name)).unwrap_or_else(|e| panic!("{name} of {kernel}: {e}"));
        instructions += found.instructions;
        units.extend(found.units);
    }
    // One memory access may become several trace lines: one per memory space, or one per word of local
    // memory. The trace may therefore have more instructions than were executed.
    assert!(instructions >= warp_instructions && warp_instructions > 0, "{kernel}: {instructions}");
    units
}

#[test]
fn accel_sim_reads_every_exported_kernel_and_needs_no_unit_that_a_configuration_may_lack() {
    for kernel in some_kernels(4) {
        let units = judge(&kernel, TraceForm::default());
        assert!(!units.iter().any(|unit| unit.starts_with("UNIT")), "{kernel}: {units:?}");
    }
}

/// Kernels with atomics, textures, doubles, shuffles, and local memory.
#[test]
fn accel_sim_reads_exports_of_every_version() {
    for (at, version) in BinaryVersion::ALL.into_iter().enumerate() {
        for kernel in ["histo", "bfs", "scan", "barneshut", "mrigridding"] {
            let units = judge(kernel, TraceForm { version, has_line_numbers: at % 2 == 1, ..TraceForm::default() });
            assert_eq!(units.contains("UNIT1"), version.number() >= 70, "{kernel} {version:?}");
        }
    }
}

/// The opcodes of a trace keep the eviction hints of the program, so that a replay has the hits of the
/// program (`eviction_hints_keep_a_line_that_is_read_again_if_the_l1_obeys_them`).
#[test]
fn a_replay_obeys_the_eviction_hints_of_the_program() {
    let file = root().join("tests/machine/ptx/hints.toml");
    for version in BinaryVersion::ALL {
        judge_launch(&file, TraceForm { version, ..TraceForm::default() });
    }
    let trace = exported_as(60, &file, &[]);
    let hits = |hints: &str| trace.passes(&Setup::default().sets(&[hints])).counters.totals().l1.hits;
    assert_eq!(["l1.hints=false", "l1.hints=true"].map(hits), [0, 2 * 15]);
}
