//! Runs the example programs of the documentation, and checks the page that shows them.

#[path = "../../examples/machine.rs"]
#[expect(dead_code, reason = "the test calls what `main` calls")]
mod machine;
#[path = "../../examples/one_bank.rs"]
#[expect(dead_code, reason = "the test calls what `main` calls")]
mod one_bank;

use super::generated::Part;
use super::{code_block, holds, root, show_file};

/// Runs the example `machine` with a launch file and a design on the machine `fermi`. Returns its report.
fn run_machine(launch: &str, design: &str) -> miette::Result<String> {
    machine::report("fermi", root().join(launch).to_str().unwrap(), design)
}

/// Runs the example of an L2 bank. Returns the cycle in which each line is served, and the waveform of the
/// bank.
fn run_bank(frc_entries: &str) -> (Vec<(u64, u64)>, String) {
    let folder = tempfile::tempdir().unwrap();
    let wave = folder.path().join("bank.vcd");
    let served = one_bank::play(frc_entries, &wave).unwrap();
    (served, std::fs::read_to_string(wave).unwrap())
}

#[test]
fn one_bank_serves_the_lines_in_the_cycles_of_figure_2() {
    // With a Fetch and Replacement Cache (FRC), a line is served as soon as it arrives. Without an FRC, it
    // also waits until the victim has been evicted.
    assert_eq!(run_bank("0").0[1..], [(1, 1200), (2, 1400), (3, 1600)]);
    assert_eq!(run_bank("2").0[1..], [(1, 1120), (2, 1210), (3, 1360)]);
}

#[test]
fn one_bank_leaves_a_waveform_of_the_bank() {
    let (_, wave) = run_bank("2");
    for signal in ["swaps", "tags[0]"] {
        assert!(wave.contains(signal), "no {signal}");
    }
    // The waveform must contain the change in the cycle of the reply, and nothing after the end of the run.
    assert!(wave.contains("\n#1010000\n") && !wave.contains("\n#2001000\n"));
}

#[test]
fn one_bank_refuses_what_is_no_frc_and_no_waveform() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |entries, name: &str| {
        let error = one_bank::play(entries, &folder.path().join(name)).unwrap_err();
        format!("{error:?}")
    };
    assert!(refused("3", "x.vcd").contains("expected a power of two"));
    assert!(refused("2", "x.txt").contains(".vcd"));
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn machine_names_a_design_that_does_not_exist() {
    let error = format!("{:?}", run_machine("kernels/syrk/small", "prik").unwrap_err());
    assert!(error.contains("there is no design `prik`"), "{error}");
}

#[test]
fn the_page_about_extending_shows_the_examples_and_what_they_print() {
    let line = |(line, cycle): &(u64, u64)| format!("line {line} is served in cycle {cycle}");
    let lines = |entries| {
        let served: Vec<_> = run_bank(entries).0.iter().map(line).collect();
        format!("{entries} entries\n{}", served.join("\n"))
    };
    let printed = run_machine("kernels/syrk/launch.toml", "pric").unwrap();
    let parts = [
        Part { name: "machine", text: show_file("examples/machine.rs", "rust") },
        Part { name: "machine-prints", text: code_block(&printed) },
        Part { name: "one-bank", text: show_file("examples/one_bank.rs", "rust") },
        Part { name: "one-bank-prints", text: code_block(&format!("{}\n{}", lines("0"), lines("2"))) },
    ];
    holds("docs/extending.md", &parts);
}
