//! Checks that the guided tour in the documentation shows the current output of its commands.

use std::fs;

use super::generated::Part;
use super::{code_block, first_columns, holds, print, root, show_file, summary};

/// Launch file of the kernel that the tour examines in detail.
const LAUNCH: &str = "kernels/gesummv/launch.toml";

/// Runs a sweep of the tour for one of its launch files only, and returns the rows of this launch file in the
/// printed table.
fn rows(sweep: &str, launch: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(root().join(sweep)).unwrap();
    let others = |line: &&str| !line.contains("{ name") || line.contains(launch);
    let text: Vec<_> = text.lines().filter(others).collect();
    let kernels = root().join("kernels").canonicalize().unwrap();
    let sweep = folder.path().join("tour.toml");
    fs::write(&sweep, text.join("\n").replace("../../kernels", kernels.to_str().unwrap())).unwrap();
    print(&["sweep", sweep.to_str().unwrap(), "--quiet"])
}

/// Records a waveform that is triggered by long stalls of the L1D. Returns the printed events of the cache
/// line for which the L1D stalls at that time.
fn follow() -> String {
    let folder = tempfile::tempdir().unwrap();
    let wave = folder.path().join("gesummv.fst");
    let wave = wave.to_str().unwrap();
    let trigger = "sm0.l1.status == RESERVATION_FAIL for 100";
    print(&[
        "run",
        LAUNCH,
        "--wave",
        wave,
        "--wave-scope",
        "sm0.**",
        "--wave-trigger",
        trigger,
        "--wave-last",
        "200",
        "--wave-after",
        "400",
        "--quiet",
    ]);
    print(&["waves", "follow", wave, "--line", "0x2080"])
}

#[test]
fn the_tour_shows_what_its_commands_print() {
    let explained =
        print(&["explain", LAUNCH, "--design", "pric", "--against", "baseline", "--least", "20", "--quiet"]);
    let counter = print(&["counters", "l1.reservation_fails.line_alloc"]);
    let area = print(&["area", "--design", "pric", "--against", "baseline", "--depth", "2"]);
    let parts = [
        Part { name: "file", text: show_file("docs/example/tour.toml", "toml") },
        Part { name: "rows", text: code_block(&first_columns(&rows("docs/example/tour.toml", LAUNCH))) },
        Part { name: "why", text: code_block(&explained) },
        Part { name: "counter", text: code_block(&counter) },
        Part { name: "follow", text: code_block(&follow()) },
        Part { name: "area", text: code_block(&area) },
        Part { name: "energy", text: summary(&["run", LAUNCH, "--design", "pric", "--energy"]) },
        Part { name: "victim", text: show_file("docs/example/victim.toml", "toml") },
        Part {
            name: "victims",
            text: code_block(&first_columns(&rows("docs/example/victim.toml", "kernels/octree/launch.toml"))),
        },
    ];
    holds("docs/tour.md", &parts);
}

#[test]
fn the_tour_takes_fifteen_commands_at_most() {
    let text = fs::read_to_string(root().join("docs/tour.md")).unwrap();
    let blocks = text.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap_or_default());
    let commands = blocks.flat_map(|block| block.replace("\\\n", " ").lines().map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(commands.count(), 12, "the tour says twelve");
}
