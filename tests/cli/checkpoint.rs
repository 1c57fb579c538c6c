//! Tests of checkpoints: a run that is killed and resumed must end exactly like an uninterrupted run. A
//! checkpoint must resume only the run that saved it.
//!
//! | testpoint | intent                                                                                                       |
//! |-----------|--------------------------------------------------------------------------------------------------------------|
//! | killed    | runs killed repeatedly at any moment must end with the same counters as uninterrupted runs                   |
//! | signals   | SIGTERM saves the run at the current cycle                                                                   |
//! | traces    | a resumed replay re-reads from the trace the CTAs that were running at the checkpoint                        |
//! | schemes   | every hardware block and scheme saves its state; the tested machines together contain all of them            |
//! | waves     | after resuming, each waveform edge and time-series row equals that of the uninterrupted run                  |
//! | refused   | a different program, configuration or input, and damaged or foreign files, are rejected; no file is replaced |

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use tb::kit::sample;
use tempfile::TempDir;
use warpsieve::trace::synthetic::{Kind, Size, Synthetic};

use super::{CACHE, root, warpsieve};

/// Temporary folder for the files of one test.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn has(&self, name: &str) -> bool {
        self.0.path().join(name).exists()
    }

    /// Runs the simulator and returns the statistics, without the times that depend on the host computer.
    fn statistics(&self, arguments: &[&str]) -> Value {
        let stats = self.path("stats.json");
        let ended = warpsieve(&[arguments, &["--quiet", "--stats", &stats]].concat());
        assert_eq!(ended.status, Some(0), "{arguments:?}: {ended:?}");
        let mut stats: Value = serde_json::from_str(&fs::read_to_string(stats).unwrap()).unwrap();
        stats.as_object_mut().unwrap().remove("host").unwrap();
        stats
    }

    /// Runs the simulator until a cycle, saves a checkpoint there, and returns the path of the checkpoint.
    fn saved_at(&self, cycle: u64, arguments: &[&str]) -> String {
        let (checkpoint, cycle) = (self.path("run.checkpoint"), cycle.to_string());
        let ended = warpsieve(&[arguments, &["--quiet", "--checkpoint", &checkpoint, "--max-cycles", &cycle]].concat());
        assert_eq!(ended.status, Some(3), "{arguments:?}: {ended:?}");
        checkpoint
    }
}

fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
    command.args(arguments).current_dir(root()).env("XDG_CACHE_HOME", CACHE);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kernels that run long enough to be killed several times. The comment next to a kernel names the feature
/// that it adds to the test.
const KERNELS: [&str; 5] = [
    "kernels/bfs/launch.toml",       // relaunched until a flag stays clear
    "kernels/histo/launch.toml",     // atomics
    "kernels/kmeans/launch.toml",    // textures
    "kernels/spmv_csr/launch.toml",  // divergence
    "kernels/transpose/launch.toml", // shared memory and barriers
];

/// Number of times that the test tries to kill the run of each kernel.
const KILLS: u64 = 10;

#[test]
fn a_run_that_is_killed_again_and_again_ends_as_one_that_was_not() {
    for (number, launch) in sample((0..).zip(KERNELS), 3) {
        let folder = Folder::new();
        let whole = folder.statistics(&["run", launch]);
        let checkpoint = folder.path("run.checkpoint");
        let saves = ["run", launch, "--checkpoint", &checkpoint, "--checkpoint-every", "2000"];
        let resumes = ["--resume", &checkpoint];
        let mut kills = 0;
        for kill in 0..KILLS {
            let more = if folder.has("run.checkpoint") { &resumes[..] } else { &[] };
            let mut running = start(&[&saves[..], more].concat());
            // The test kills the command 1 to 200 ms after its start. In this time, the command reads its
            // input, runs, and saves checkpoints.
            sleep(Duration::from_millis(1 + (number * KILLS + kill) * 79 % 200));
            running.kill().unwrap();
            kills += u64::from(!running.wait().unwrap().success());
        }
        assert!(kills >= 3, "{launch} was killed {kills} times only: it is done too soon");
        let end = if folder.has("run.checkpoint") { &resumes[..] } else { &[] };
        assert_eq!(folder.statistics(&[&["run", launch][..], end].concat()), whole, "{launch}");
    }
}

#[test]
fn a_run_that_is_asked_to_end_saves_where_it_is() {
    let folder = Folder::new();
    let launch = KERNELS[2];
    let whole = folder.statistics(&["run", launch]);
    let checkpoint = folder.path("run.checkpoint");
    let mut running = start(&["run", launch, "--checkpoint", &checkpoint]);
    sleep(Duration::from_millis(150));
    let id = running.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(running.wait().unwrap().code(), Some(143));
    assert_eq!(folder.statistics(&["run", launch, "--resume", &checkpoint]), whole);
}

#[test]
fn a_trace_goes_on_with_the_ctas_that_were_running() {
    let folder = Folder::new();
    for (name, kind) in [("kernel-1.traceg", Kind::Stream), ("kernel-2.traceg", Kind::Gather)] {
        let size = Size { ctas: 400, iterations: 4 };
        Synthetic::new(kind, size).write(fs::File::create(folder.path(name)).unwrap()).unwrap();
    }
    fs::write(folder.path("kernelslist.g"), "kernel-1.traceg\nkernel-2.traceg\nkernel-1.traceg\n").unwrap();
    let list = folder.path("kernelslist.g");
    let whole = folder.statistics(&["replay", &list]);
    let cycles = whole["cycles"].as_u64().unwrap();
    // The replay is resumed from checkpoints at multiples of one eighth of its cycles. At least one of these
    // checkpoints is in each kernel, and several are in a long kernel.
    for part in sample(1..8, 4) {
        let checkpoint = folder.saved_at(cycles * part / 8, &["replay", &list]);
        assert_eq!(folder.statistics(&["replay", &list, "--resume", &checkpoint]), whole, "{part} eighths");
        fs::remove_file(checkpoint).unwrap();
    }
}

/// Machine presets and designs that together contain every hardware block and every scheme.
const MACHINES: [&[&str]; 21] = [
    &["--machine", "volta"],
    &["--machine", "kepler"],
    &["--machine", "southern-islands"],
    &["--machine", "hybrid"],
    &["--design", "decoupled-dueling"],
    &["--design", "dwt-pric"],
    &["--design", "ccws"],
    &["--design", "mrpb-all"],
    &["--design", "pdp"],
    &["--design", "stride"],
    &["--design", "ship", "--design", "streaming-l2"],
    &["--design", "drrip", "--design", "icache"],
    &["--design", "l2-next-line", "--design", "caws"],
    &["--design", "hawkeye", "--design", "mshr-by-warp"],
    &["--design", "l2-partition", "--set", "l2.mshr_policy={ kind = \"by-requester\" }"],
    &["--design", "l2-utility", "--set", "l2.partition.period=20"],
    &["--design", "two-level-noc", "--set", "l1.mshr_policy={ kind = \"by-age\" }"],
    &["--design", "tracker", "--set", "tracker.replacement={ kind = \"srrip\" }"],
    &["--design", "frc-16", "--set", "l2.atomic_buffer=true"],
    &["--design", "tracker", "--design", "l1-sectored"],
    &["--design", "transient", "--design", "fully-associative"],
];

#[test]
fn a_run_is_not_resumed_in_another_problem_size() {
    let folder = Folder::new();
    let checkpoint = folder.saved_at(300, &["run", "kernels/vadd/n=2000"]);
    for other in ["kernels/vadd/n=2001", "kernels/vadd/small", "kernels/vadd"] {
        let refused = warpsieve(&["run", other, "--resume", &checkpoint]);
        assert_eq!(refused.status, Some(2), "{other}: {refused:?}");
        assert!(refused.err.contains("the problem size has changed"), "{other}: {}", refused.err);
    }
    let resumed = folder.statistics(&["run", "kernels/vadd/n=2000", "--resume", &checkpoint]);
    assert_eq!(resumed, folder.statistics(&["run", "kernels/vadd/n=2000"]));
}

#[test]
fn every_part_that_a_machine_may_have_is_saved() {
    let launch = "kernels/sssp/small";
    for machine in sample(MACHINES, 5) {
        let folder = Folder::new();
        let run = [&["run", launch], machine].concat();
        let whole = folder.statistics(&run);
        let checkpoint = folder.saved_at(whole["cycles"].as_u64().unwrap() * 3 / 5, &run);
        assert_eq!(folder.statistics(&[&run[..], &["--resume", &checkpoint]].concat()), whole, "{machine:?}");
    }
}

#[test]
fn waveform_series_and_report_of_what_follows_are_those_of_the_whole_run() {
    let folder = Folder::new();
    let launch = "kernels/sssp/small";
    let [wave, series, report] = ["wave.vcd", "series.csv", "report.html"].map(|name| folder.path(name));
    let shown = ["--wave", &wave, "--wave-from", "6000", "--wave-scope", "sm0.**"];
    let counted = ["--series", &series, "--interval", "700", "--report", &report];
    let run = [&["run", launch], &shown[..], &counted].concat();
    let whole = folder.statistics(&run);
    let read = || [&wave, &series, &report].map(|path| fs::read_to_string(path).unwrap());
    let [all_edges, all_rows, all_report] = read();
    let checkpoint = folder.saved_at(5000, &run);
    assert_eq!(folder.statistics(&[&run[..], &["--resume", &checkpoint]].concat()), whole);
    let [edges, rows, report] = read();
    assert!(all_edges == edges, "the waveforms differ");
    assert!(all_report == report, "the reports differ");
    let ((all_head, all_rows), (head, rows)) = (all_rows.split_once('\n').unwrap(), rows.split_once('\n').unwrap());
    // The run resumes in cycle 5000, which is inside the time-series interval that begins in cycle 4900.
    assert_eq!(head, all_head);
    assert!(rows.starts_with("4900,5600,") && all_rows.ends_with(rows), "{all_rows}\n\n{rows}");
}

/// Copies a launch file into the folder of the test, so that the test can modify it.
fn copy_launch(folder: &Folder) -> String {
    for name in ["launch.toml", "vadd.ptx"] {
        fs::copy(root().join("kernels/vadd").join(name), folder.path(name)).unwrap();
    }
    folder.path("small")
}

#[test]
fn a_checkpoint_goes_on_with_nothing_but_its_own_run() {
    let folder = Folder::new();
    let launch = copy_launch(&folder);
    let checkpoint = folder.saved_at(300, &["run", &launch]);
    let resumed = |more: &[&str]| warpsieve(&[&["run", &launch, "--resume", &checkpoint], more].concat());
    resumed(&["--set", "l1.ways=8"])
        .assert_refused(&[&checkpoint, "is the checkpoint of another run: l1.ways was 4, now it is 8"]);
    resumed(&["--check"]).assert_refused(&["'--resume <FILE>' cannot be used with '--check'"]);
    let ptx = fs::read_to_string(folder.path("vadd.ptx")).unwrap();
    fs::write(folder.path("vadd.ptx"), format!("{ptx}// another\n")).unwrap();
    resumed(&[]).assert_refused(&["is the checkpoint of another run: the PTX file vadd.ptx has changed"]);
    fs::write(folder.path("vadd.ptx"), ptx).unwrap();
    let saved = fs::read(&checkpoint).unwrap();
    let program = saved.windows(11).position(|bytes| bytes == b"\"program\":\"").unwrap() + 11;
    let with = |at: usize, byte: u8| {
        let mut bytes = saved.clone();
        bytes[at] ^= byte;
        fs::write(&checkpoint, bytes).unwrap();
    };
    with(program, 1);
    resumed(&[]).assert_refused(&["it was written by another build of the program, and only that build can resume it"]);
    for at in [saved.len() / 2, saved.len() - 2] {
        with(at, 0x10);
        resumed(&[]).assert_refused(&[&checkpoint, "is damaged: "]);
    }
    fs::write(&checkpoint, &saved[..saved.len() * 3 / 4]).unwrap();
    resumed(&[]).assert_refused(&[&checkpoint, "is damaged: "]);
    fs::write(&checkpoint, [&saved[..], b"more"].concat()).unwrap();
    resumed(&[]).assert_refused(&[&checkpoint, "is damaged: there are bytes after its state"]);
    fs::write(&checkpoint, "{\n  \"schema\": 1,\n").unwrap();
    resumed(&[]).assert_refused(&["this is a statistics file, expected a checkpoint: `explain` takes it"]);
    for other in ["", "[l1]\nways = 4\n", "warpsieve checkpoint 1\n{}\n"] {
        fs::write(&checkpoint, other).unwrap();
        resumed(&[]).assert_refused(&[&checkpoint]);
    }
    fs::write(&checkpoint, &saved).unwrap();
    for cycles in ["1", "299"] {
        let message =
            format!("`--max-cycles` is {cycles}, expected 300 or more: the checkpoint is at cycle 300 already");
        resumed(&["--max-cycles", cycles]).assert_refused(&[&checkpoint, &message]);
    }
    assert_eq!(resumed(&["--max-cycles", "300", "--quiet"]).status, Some(3));
    resumed(&["--checkpoint-every", "0", "--checkpoint", &checkpoint]).assert_refused(&["0 is not in 1.."]);
    fs::write(&checkpoint, &saved).unwrap();
    assert_eq!(resumed(&["--quiet"]).status, Some(0));
}

#[test]
fn a_checkpoint_replaces_no_file_but_the_one_that_the_run_goes_on_from() {
    let folder = Folder::new();
    let launch = copy_launch(&folder);
    let there = folder.path("there");
    fs::write(&there, "precious").unwrap();
    warpsieve(&["run", &launch, "--checkpoint", &there])
        .assert_refused(&["there already exists: continue from it with `--resume ", "`, or remove it"]);
    assert_eq!(fs::read_to_string(&there).unwrap(), "precious");
    warpsieve(&["run", &launch, "--resume", &there]).assert_refused(&["expected a checkpoint of this format"]);
    let checkpoint = folder.saved_at(300, &["run", &launch]);
    let saved = fs::read(&checkpoint).unwrap();
    let ended = warpsieve(&[
        "run",
        &launch,
        "--resume",
        &checkpoint,
        "--checkpoint",
        &checkpoint,
        "--checkpoint-every",
        "100",
        "--quiet",
    ]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert_ne!(fs::read(&checkpoint).unwrap(), saved);
}
