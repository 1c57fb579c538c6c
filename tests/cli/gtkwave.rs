//! Opens every built-in waveform view of a real run in GTKWave, on the virtual display Xvfb. Each signal of a
//! view must be in the waveform, with its label and a value. If GTKWave or Xvfb is missing, the test reports
//! that it was skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use waves::view::BUILT_IN;

use super::warpsieve;

/// Command-line arguments of several runs. Their waveforms together have all built-in views.
const RUNS: [&[&str]; 7] = [
    &[
        "--wave-scope",
        "sm0",
        "--wave-scope",
        "partition0",
        "--wave-scope",
        "partition0.dram.bank[*]",
        "--wave-scope",
        "xbar_*",
    ],
    &["--design", "icache", "--wave-scope", "sm0.core"],
    &["--design", "frc", "--wave-scope", "partition0.l2", "--wave-scope", "partition0.l2.frc.entry[*]"],
    &["--design", "l2-sectored", "--wave-scope", "partition0.l2", "--wave-scope", "partition0.l2.mshr.entry[*]"],
    &["--design", "decoupled", "--design", "dwt-cs", "--wave-scope", "coordinator", "--wave-scope", "sm1.l1.tags.*[0]"],
    &["--set", "noc.kind=mesh", "--wave-scope", "noc_*.router7", "--wave-scope", "noc_*.router8"],
    &["--machine", "hybrid", "--design", "tracker", "--wave-scope", "partition0", "--wave-scope", "sm0.l1"],
];

/// GTKWave script that prints each trace under its displayed name, with its value at the end of the waveform,
/// and then quits.
const SCRIPT: &str = "
    gtkwave::setMarker [gtkwave::getMaxTime]
    for {set i 0} {$i < [gtkwave::getTotalNumTraces]} {incr i} {
        puts \"trace [gtkwave::getTraceNameFromIndex $i] = [gtkwave::getTraceValueAtMarkerFromIndex $i]\"
    }
    flush stdout
    exit
";

/// Returns a command that runs a program on a virtual display. After one minute, a timeout ends the program
/// and all its child processes.
fn under_display(program: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args(["60", "xvfb-run", "-a", "-s", "-screen 0 1400x900x24", program]).stdin(Stdio::null());
    command
}

fn gtkwave_can_run() -> bool {
    let runs = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    runs(Command::new("gtkwave").arg("--version")) && runs(&mut under_display("true"))
}

/// Returns the labels of the signals that a GTKWave save file lists.
fn labels(save: &Path) -> Vec<String> {
    let text = fs::read_to_string(save).unwrap();
    let of_line = |line: &str| {
        let rest = line.strip_prefix("+{").or_else(|| line.strip_prefix("#{"))?;
        Some(rest.split_once('}')?.0.to_owned())
    };
    text.lines().filter_map(of_line).collect()
}

/// Returns the labels of the signals for which GTKWave shows a value.
fn show_labels(folder: &Path, dump: &Path, save: &Path) -> Vec<String> {
    let script = folder.join("ask.tcl");
    fs::write(&script, SCRIPT).unwrap();
    let mut command = under_display("gtkwave");
    command.args(["--nomenu", "-f"]).arg(dump).arg("-a").arg(save).arg("-S").arg(&script);
    // The home folder is set to a folder without GTKWave settings, since the user's settings would change the
    // output.
    let output = command.env("HOME", folder).current_dir(folder).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let traces = text.lines().filter_map(|line| line.strip_prefix("trace ")?.split_once(" = "));
    traces.filter(|(_, value)| !value.is_empty()).map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn gtkwave_finds_every_signal_of_every_view() {
    if !gtkwave_can_run() {
        eprintln!("skipped: gtkwave and xvfb-run are not both installed and able to run");
        return;
    }
    let mut unseen: Vec<&str> = BUILT_IN.iter().map(|built_in| built_in.name).collect();
    for arguments in RUNS {
        let folder = tempfile::tempdir().unwrap();
        let dump = folder.path().join("a.fst");
        let run = ["run", "kernels/vadd/small", "--quiet", "--wave", &dump.display().to_string()];
        let ended = warpsieve(&[&run, arguments].concat());
        assert_eq!(ended.status, Some(0), "{ended:?}");
        for name in unseen.clone() {
            let save: PathBuf = dump.with_extension(format!("{name}.gtkw"));
            if save.exists() {
                let expected = labels(&save);
                assert!(expected.len() > 5, "{name}: {expected:?}");
                assert_eq!(show_labels(folder.path(), &dump, &save), expected, "{name}");
                unseen.retain(|other| *other != name);
            }
        }
    }
    assert_eq!(unseen, Vec::<&str>::new(), "views of no run");
}
