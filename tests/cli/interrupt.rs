//! Tests of the signals SIGINT and SIGTERM: an interrupted command reports what is complete, and leaves no
//! partial file.

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{CACHE, CommandResult, root};

/// PTX kernel that counts from zero up to its second parameter.
const PTX: &str = "
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
";

/// Returns a launch file with one kernel launch for each end value of the count. A count up to 10 takes
/// almost no time, and a count up to 4,000,000,000 takes hours.
fn counting(ends: &[u32]) -> String {
    let launch = |end: &u32| {
        format!("[[step.launch]]\nkernel = \"count\"\ngrid = [1]\nblock = [32]\nargs = [\"x\", {{ u32 = {end} }}]\n")
    };
    let launches: String = ends.iter().map(launch).collect();
    format!("ptx = \"count.ptx\"\n[[buffer]]\nname = \"x\"\ntype = \"u32\"\nelements = 1\n[[step]]\n{launches}")
}

const LONG: u32 = 4_000_000_000;

/// Creates a temporary folder with the kernel and two launch files.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let files = [("count.ptx", PTX.to_owned()), ("short.toml", counting(&[10])), ("long.toml", counting(&[10, LONG]))];
    files.into_iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
    folder
}

/// Process of a command that is still running.
struct Running(Child);

impl Running {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
        command.args(arguments).current_dir(folder).env("XDG_CACHE_HOME", CACHE);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.0.id().to_string()]).status().unwrap().success());
    }

    /// Waits until the command has installed its signal handlers.
    fn listens(&self) {
        let status = format!("/proc/{}/status", self.0.id());
        let caught = || {
            let status = fs::read_to_string(&status).unwrap();
            let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
            // Bits of SIGINT and SIGTERM in the mask of signals that the process catches. A process that has
            // ended (state Z) catches no signal.
            u64::from_str_radix(mask.trim(), 16).unwrap() & 0x4002 == 0x4002 || status.contains("\nState:\tZ")
        };
        wait_for(caught);
    }

    /// Sends a signal to the command, and checks that the command ends in time. Its exit status must be that
    /// of the signal, or 0 if the command had already ended. No temporary file may remain.
    fn ends_in_time(self, signal: &str, folder: &Path) -> CommandResult {
        let arguments = fs::read_to_string(format!("/proc/{}/cmdline", self.0.id())).unwrap().replace('\0', " ");
        let asked = Instant::now();
        self.signal(signal);
        let ended = self.end();
        // The command must end within about a second. The limit is longer, because other tests that run at
        // the same time may slow the command down.
        assert!(asked.elapsed() < Duration::from_millis(2500), "{arguments}: {:?}, {ended:?}", asked.elapsed());
        let expected = if signal == "-INT" { 130 } else { 143 };
        assert!([Some(expected), Some(0)].contains(&ended.status), "{arguments}: {ended:?}");
        let left = names(folder);
        assert!(!left.iter().any(|name| name.contains(".warpsieve")), "{arguments}: {left:?}");
        ended
    }

    /// Sends a signal to the command, and checks that the command ends in time with the exit status of the
    /// signal. The folder must then contain exactly the files `files`.
    fn ends_interrupted(self, signal: &str, folder: &Path, files: &[&str]) {
        let ended = self.ends_in_time(signal, folder);
        assert!(ended.status > Some(128) && ended.err.contains("interrupted"), "{ended:?}");
        assert_eq!(names(folder), files, "{ended:?}");
    }

    fn end(self) -> CommandResult {
        let output = self.0.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        CommandResult { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

fn wait_for(condition: impl Fn() -> bool) {
    while !condition() {
        sleep(Duration::from_millis(5));
    }
}

/// Creates a named pipe. If a process opens one end of the pipe, it blocks until another process opens the
/// other end.
fn pipe(path: &Path) -> PathBuf {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    path.to_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_comparison_writes_the_rows_that_are_complete() {
    let folder = folder();
    let arguments = ["compare", "short.toml", "long.toml", "--jobs", "1", "--format", "csv", "--output", "table.csv"];
    let running = Running::start(folder.path(), &arguments);
    // The command opens the output table after it has begun to catch signals. The first of its two runs, the
    // short one, completes within milliseconds.
    wait_for(|| names(folder.path()).len() > 3);
    sleep(Duration::from_secs(3));
    running.signal("-INT");
    let ended = running.end();
    assert_eq!(ended.status, Some(130), "{ended:?}");
    assert!(ended.err.ends_with("interrupted: 1 of 2 runs is complete, the others are missing\n"), "{ended:?}");
    assert_eq!(names(folder.path()), ["count.ptx", "long.toml", "short.toml", "table.csv"]);
    let table = fs::read_to_string(folder.path().join("table.csv")).unwrap();
    assert!(table.lines().count() == 2 && table.contains("\nshort.toml,baseline,"), "{table}");
}

#[test]
fn an_optimisation_writes_nothing() {
    let folder = folder();
    let outputs = ["-o", "o.ptx", "--report", "o.json", "--graph", "o.dot"];
    let running = Running::start(folder.path(), &[&["optimize", "long.toml"], &outputs[..]].concat());
    wait_for(|| names(folder.path()).len() == 6);
    running.signal("-TERM");
    let ended = running.end();
    assert_eq!((ended.status, ended.out.as_str()), (Some(143), ""), "{ended:?}");
    assert_eq!(ended.err, "interrupted after 0 of 0 profiling runs: nothing is written\n");
    assert_eq!(names(folder.path()), ["count.ptx", "long.toml", "short.toml"]);
}

#[test]
fn an_export_keeps_the_launches_that_are_complete() {
    let folder = folder();
    let running = Running::start(folder.path(), &["trace", "export", "long.toml", "-o", "out"]);
    wait_for(|| folder.path().join("out/kernel-1.traceg").exists());
    running.signal("-INT");
    let ended = running.end();
    assert_eq!((ended.status, ended.out.as_str()), (Some(130), "wrote out/kernel-1.traceg\n"), "{ended:?}");
    assert_eq!(ended.err, "interrupted after 1 launch; the later launches and the list are missing\n");
    assert_eq!(names(&folder.path().join("out")), ["kernel-1.traceg"]);
}

#[test]
fn a_profile_prints_the_launches_that_are_complete() {
    let folder = folder();
    let launch = pipe(&folder.path().join("pipe.toml"));
    let running = Running::start(folder.path(), &["profile", "pipe.toml", "--format", "json"]);
    // When the command opens the launch file, which is a named pipe, the command already catches signals.
    fs::write(launch, counting(&[10, 20, LONG])).unwrap();
    sleep(Duration::from_secs(2));
    running.signal("-TERM");
    let ended = running.end();
    assert_eq!(ended.status, Some(143), "{ended:?}");
    assert_eq!(ended.err, "interrupted after 2 launches; the later launches are missing\n");
    let kernels: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(kernels[0]["launches"].as_array().unwrap().len(), 2, "{kernels}");
}

#[test]
fn the_channels_alone_write_what_was_served_so_far() {
    let folder = tempfile::tempdir().unwrap();
    let requests: String = (0..20_000).map(|i| format!("0,R,{:#x}\n", i * 0x1040)).collect();
    fs::write(folder.path().join("t.csv"), format!("cycle,op,addr\n{requests}")).unwrap();
    let commands = pipe(&folder.path().join("commands"));
    let arguments = ["dram", "t.csv", "--commands", "commands", "--requests", "r.csv", "--check"];
    let running = Running::start(folder.path(), &arguments);
    let mut commands = OpenOptions::new().read(true).open(commands).unwrap();
    // Nothing reads from the pipe yet. It is therefore full long before the command has written the last DRAM
    // command.
    sleep(Duration::from_secs(1));
    running.signal("-INT");
    sleep(Duration::from_millis(300));
    let mut text = String::new();
    commands.read_to_string(&mut text).unwrap();
    let ended = running.end();
    assert_eq!(ended.status, Some(130), "{ended:?}");
    let served = fs::read_to_string(folder.path().join("r.csv")).unwrap().lines().count() - 1;
    let missing = 20_000 - served;
    assert!(missing > 10_000 && text.ends_with('\n'), "{served} served");
    let grouped = format!("{},{:03}", missing / 1000, missing % 1000);
    assert!(ended.err.ends_with(&format!(": {grouped} requests are not served\n")), "{ended:?}");
    assert_eq!(names(folder.path()), ["commands", "r.csv", "t.csv"]);
}

#[test]
fn a_waveform_that_is_not_read_to_its_end_gives_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // The command blocks when it opens this pipe for reading, since no process ever opens it for writing.
    pipe(&folder.path().join("x.vcd"));
    let running = Running::start(folder.path(), &["waves", "follow", "x.vcd", "--request", "1"]);
    let threads = format!("/proc/{}/task", running.0.id());
    // The process has three threads: a worker, the main thread that waits for it, and the thread that handles
    // signals.
    wait_for(|| fs::read_dir(&threads).unwrap().count() == 3);
    running.signal("-TERM");
    let ended = running.end();
    assert_eq!((ended.status, ended.out.as_str()), (Some(143), ""), "{ended:?}");
    assert!(ended.err.starts_with("interrupted: the analysis needs the whole waveform"), "{ended:?}");
}

/// The run blocks on a full pipe between two checks for a signal, so it cannot complete its files.
#[test]
fn a_run_that_cannot_go_on_ends_within_a_second_and_no_part_stays() {
    for signal in ["-INT", "-TERM"] {
        let folder = tempfile::tempdir().unwrap();
        let pipe = pipe(&folder.path().join("p.json"));
        let long = root().join("kernels/syrk/launch.toml").canonicalize().unwrap();
        let outputs = ["--timeline", "p.json", "--stats", "s.json"];
        let running = Running::start(folder.path(), &[&["run", long.to_str().unwrap()], &outputs[..]].concat());
        let _kept_open = OpenOptions::new().read(true).open(pipe).unwrap();
        sleep(Duration::from_secs(1));
        assert_eq!(names(folder.path()), ["p.json", "s.json.warpsieve-1.part"]);
        running.ends_interrupted(signal, folder.path(), &["p.json"]);
    }
}

/// Tests commands that block on a pipe forever, each in a different part of the program.
#[test]
fn a_command_that_waits_for_a_pipe_ends_within_a_second() {
    let vadd = root().join("kernels/vadd").canonicalize().unwrap().join("small");
    let vadd = vadd.to_str().unwrap();
    for (number, arguments) in [
        &["run", "pipe.toml"][..],
        &["run", vadd, "--ptx", "pipe.toml", "--stats", "s.json"],
        &["run", vadd, "--resume", "pipe.toml", "--wave", "w.vcd"],
        &["run", vadd, "--machine", "pipe.toml"],
        &["run", vadd, "--design", "pipe.toml"],
        &["run", vadd, "--timeline", "pipe.toml", "--stats", "s.json"],
        &["replay", "pipe.toml"],
        &["compare", "pipe.toml", "--output", "t.csv", "--format", "csv"],
        &["explain", "pipe.toml", "pipe.toml"],
        &["sweep", "pipe.toml"],
        &["profile", "pipe.toml"],
        &["optimize", "pipe.toml", "-o", "o.ptx"],
        &["ptx", "pipe.toml"],
        &["trace", "info", "pipe.toml"],
        &["trace", "export", "pipe.toml", "-o", "out"],
        &["dram", "pipe.toml", "--requests", "r.csv"],
        &["area", "--machine", "pipe.toml", "--svg", "a.svg"],
        &["config", "--design", "pipe.toml"],
        &["soak", "--totals", "pipe.toml"],
        &["soak", "ptx", "--keep", "pipe.toml", "--count", "1"],
    ]
    .iter()
    .enumerate()
    {
        let folder = tempfile::tempdir().unwrap();
        pipe(&folder.path().join("pipe.toml"));
        let running = Running::start(folder.path(), arguments);
        running.listens();
        // The delays vary, so that about half of the signals (SIGINT or SIGTERM) arrive before the command
        // opens the pipe.
        sleep(Duration::from_millis(20 * (number as u64 % 8)));
        running.ends_interrupted(if number % 2 == 0 { "-TERM" } else { "-INT" }, folder.path(), &["pipe.toml"]);
    }
}

/// Tests commands that are computing. Each command is interrupted at several moments.
#[test]
fn a_command_ends_within_a_second_at_any_moment() {
    let syrk = root().join("kernels/syrk/launch.toml").canonicalize().unwrap();
    let syrk = syrk.to_str().unwrap();
    let buffers: String =
        (0..20_000).map(|i| format!("[[buffer]]\nname = \"b{i}\"\ntype = \"u32\"\nelements = 9\n")).collect();
    let head = ".version 6.4\n.target sm_30\n.address_size 64\n";
    let kernels: String = (0..2_000).map(|i| format!(".visible .entry k{i}()\n{{ ret; }}\n")).collect();
    for (number, arguments) in [
        &["run", "many.toml", "--stats", "s.json"][..],
        &["ptx", "many.ptx"],
        &["run", syrk, "--check", "--stats", "s.json"],
        &["run", syrk, "--wave", "w.fst", "--wave-scope", "**"],
        &["run", syrk, "--wave", "w.vcd", "--wave-trigger", "sm*.l1.status == RESERVATION_FAIL for 100000"],
        &["run", syrk, "--report", "r.html", "--pipeline", "p.kanata"],
        &["run", syrk, "--checkpoint", "c", "--threads", "2"],
        &["compare", syrk, syrk, "--output", "t.csv", "--format", "csv"],
        &["optimize", syrk, "-o", "o.ptx", "--profile", "clocked"],
        &["soak", "machines", "--seconds", "60"],
        &["soak", "ptx", "--seconds", "60", "--keep", "k.toml"],
        &["reproduce", "li2015/fig2", "--output", "out", "--cache", "kept"],
    ]
    .iter()
    .enumerate()
    {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("count.ptx"), PTX).unwrap();
        fs::write(folder.path().join("many.toml"), counting(&[10, LONG]) + &buffers).unwrap();
        fs::write(folder.path().join("many.ptx"), format!("{head}{kernels}")).unwrap();
        let running = Running::start(folder.path(), arguments);
        running.listens();
        sleep(Duration::from_millis(37 * (number as u64 * 7 % 12)));
        running.ends_in_time(if number % 2 == 0 { "-INT" } else { "-TERM" }, folder.path());
    }
}

#[test]
fn a_limit_of_file_sizes_is_an_error_and_no_part_stays() {
    let folder = folder();
    let vadd = root().join("kernels/vadd").canonicalize().unwrap().join("small");
    let vadd = vadd.display();
    let commands = [
        format!("run {vadd} --quiet --stats s.json"),
        format!("run {vadd} --quiet --wave x.vcd"),
        format!("run {vadd} --quiet --wave x.fst"),
        format!("run {vadd} --quiet --timeline t.json"),
        format!("run {vadd} --quiet --pipeline p.kanata"),
        format!("run {vadd} --quiet --series s.csv --interval 1"),
        format!("run {vadd} --quiet --report r.html"),
        format!("trace export {vadd} -o . --quiet"),
        format!("optimize {vadd} -o o.ptx --report o.json --quiet"),
        "area --svg a.svg".to_owned(),
    ];
    let before = names(folder.path());
    for command in commands {
        // The shell command `ulimit -f` limits the file size in units of 1,024 bytes.
        let limited = format!("ulimit -f 1; exec {} {command}", assert_cmd::cargo::cargo_bin!("warpsieve").display());
        let ended = CommandResult::of(Command::new("bash").args(["-c", &limited]).current_dir(folder.path()));
        ended.assert_refused(&["File too large"]);
        assert_eq!(names(folder.path()), before, "{command}");
    }
}
