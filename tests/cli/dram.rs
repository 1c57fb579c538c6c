//! Tests the command `warpsieve dram`, which simulates DRAM channels alone: command streams of an independent
//! simulator, output files, the summary, and bad input.

use std::fs;
use std::path::{Path, PathBuf};

use super::{CommandResult, root, warpsieve};

fn data(file: &str) -> String {
    fs::read_to_string(root().join("tb/dram/data").join(file)).unwrap()
}

/// Folder with a DRAM trace and the output files of a `dram` command.
struct Run {
    folder: tempfile::TempDir,
    ended: CommandResult,
}

impl Run {
    fn new(trace: &str, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("trace.csv"), trace).unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (trace, commands, requests) = (path("trace.csv"), path("commands.csv"), path("requests.csv"));
        let files = ["dram", &trace, "--commands", &commands, "--requests", &requests];
        let ended = warpsieve(&[&files[..], options].concat());
        Self { folder, ended }
    }

    /// Runs a trace on the machine for which the reference command streams were recorded, with the DRAM
    /// command checker enabled.
    fn reference(trace: &str) -> Self {
        let run = Self::new(trace, &["--machine", "gddr5-reference", "--check"]);
        assert_eq!(run.ended.status, Some(0), "{:?}", run.ended);
        run
    }

    fn written(&self, file: &str) -> String {
        fs::read_to_string(self.folder.path().join(file)).unwrap()
    }

    /// Checks that the command failed with all of these messages, and that the trace is the only file in the
    /// folder.
    #[track_caller]
    fn assert_refused(&self, message: &[&str]) {
        self.ended.assert_refused(message);
        let names = fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["trace.csv"]);
    }
}

const HEADING: &str = "cycle,op,addr\n";

/// Converts the requests in a table of expected results to a trace.
fn trace_of(requests: &str) -> String {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        format!("{},{},{}\n", fields[3], fields[1], fields[2])
    };
    HEADING.to_owned() + &requests.lines().skip(1).map(line).collect::<String>()
}

/// Returns the request number and the completion cycle of every read in a table of requests.
fn reads(requests: &str) -> Vec<(&str, &str)> {
    let fields = requests.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    fields.filter(|fields| fields[1] == "R").map(|fields| (fields[0], fields[5])).collect()
}

#[track_caller]
fn equals_command_for_command(name: &str, trace: &str) -> Run {
    let run = Run::reference(trace);
    let (ours, theirs) = (run.written("commands.csv"), data(&format!("{name}.commands.csv")));
    for (line, (ours, theirs)) in (1..).zip(ours.lines().zip(theirs.lines())) {
        assert_eq!(ours, theirs, "{name}.commands.csv:{line}");
    }
    assert_eq!(ours, theirs);
    run
}

#[test]
fn every_reference_stream_with_listed_requests_is_reproduced_with_its_completions() {
    for name in ["c3_pingpong_paced", "f_hit_starve", "g_probe", "k_few_writes"] {
        let requests = data(&format!("{name}.requests.csv"));
        let run = equals_command_for_command(name, &trace_of(&requests));
        assert_eq!(reads(&run.written("requests.csv")), reads(&requests), "{name}");
    }
}

#[test]
fn the_reference_stream_of_sequential_reads_is_reproduced() {
    let lines = (0..16_384).map(|i| format!("0,R,0x{:08x}\n", 64 * i));
    equals_command_for_command("a_seq_read", &(HEADING.to_owned() + &lines.collect::<String>()));
}

#[test]
fn the_reference_stream_of_two_rows_in_turn_is_reproduced() {
    let lines = (0..4096).map(|i| format!("0,R,0x{:08x}\n", 0x56000 + i % 2 * 0x10000 + i / 2 % 64 * 64));
    equals_command_for_command("c1_pingpong2", &(HEADING.to_owned() + &lines.collect::<String>()));
}

#[test]
fn traces_without_an_expected_stream_complete_and_every_request_is_written_once() {
    for name in ["i_same_addr", "j_war_full_wbuf"] {
        let trace = data(&format!("{name}.trace.csv"));
        let trace = HEADING.to_owned() + trace.split_once('\n').unwrap().1;
        let requests = Run::reference(&trace).written("requests.csv");
        assert_eq!(requests.lines().count(), trace.lines().count());
        let numbers = requests.lines().skip(1).map(|line| line.split(',').next().unwrap().parse::<usize>().unwrap());
        assert!(numbers.eq(0..trace.lines().count() - 1), "{name}");
    }
}

#[test]
fn a_write_is_complete_when_its_data_are_in_the_memory() {
    let run = Run::reference(&format!("{HEADING}3,W,0x40\n"));
    assert_eq!(run.written("commands.csv"), "cycle,cmd,bankgroup,bank,row,col\n4,ACT,0,0,0,\n14,WR,0,0,0,1\n");
    assert_eq!(run.written("requests.csv"), "idx,op,addr,arrival,accept,complete\n0,W,0x00000040,3,3,20\n");
}

#[test]
fn the_summary_tells_cycles_hits_bandwidth_and_latencies() {
    let run = Run::reference(&format!("{HEADING}0,R,0x0\n100,R,0x40\n200,W,0x80\n"));
    for part in [
        "2 reads",
        "1 write",
        "1 ACT  2 RD  1 WR",
        "row hits      66.7 %",
        "min 7  mean 16.3  max 27 cycles",
        "passed: every command obeys the rules",
    ] {
        assert!(run.ended.out.contains(part), "no `{part}` in:\n{}", run.ended.out);
    }
}

#[test]
fn dead_time_is_jumped() {
    let late = 1_000_000_000_000_u64;
    let run = Run::reference(&format!("{HEADING}0,R,0x40\n{late},R,0x40\n{},R,0x80\n", late + 5));
    let requests = run.written("requests.csv");
    let accepted: Vec<_> = requests.lines().skip(1).map(|line| line.split(',').nth(4).unwrap()).collect();
    assert_eq!(accepted, ["0", "1000000000000", "1000000000005"]);
}

#[test]
fn quiet_prints_nothing() {
    let run = Run::new(&format!("{HEADING}0,R,0x0\n"), &["--quiet"]);
    assert_eq!((run.ended.status, &*run.ended.out, &*run.ended.err), (Some(0), "", ""));
}

#[test]
fn lines_go_round_among_six_channels_and_their_tables_name_the_channel() {
    let lines: String = (0..7).map(|i| format!("0,R,0x{:08x}\n", 128 * i)).collect();
    let run = Run::new(&(HEADING.to_owned() + &lines), &["--machine", "fermi", "--check"]);
    assert_eq!(run.ended.status, Some(0), "{:?}", run.ended);
    let requests = run.written("requests.csv");
    let channels = requests.lines().map(|line| line.rsplit(',').next().unwrap());
    assert_eq!(channels.collect::<Vec<_>>(), ["channel", "0", "1", "2", "3", "4", "5", "0"]);
    assert!(run.written("commands.csv").starts_with("cycle,cmd,bankgroup,bank,row,col,channel\n1,ACT,0,0,0,,0\n"));
}

#[test]
fn refreshes_stand_in_the_command_table_and_pass_the_check() {
    let trace = format!("{HEADING}0,R,0x0\n8000,W,0x40\n");
    let options = ["--machine", "gddr5-reference", "--set", "dram.refresh=all-bank", "--check"];
    let run = Run::new(&trace, &options);
    assert_eq!(run.ended.status, Some(0), "{:?}", run.ended);
    let commands = run.written("commands.csv");
    assert_eq!(commands.lines().filter(|line| line.ends_with(",REF,,,,")).count(), 2, "{commands}");
}

#[test]
fn both_commands_of_a_cycle_stand_in_the_command_table_and_pass_the_check() {
    let trace = format!("{HEADING}0,R,0x0\n12,R,0x100\n");
    let run = Run::new(&trace, &["--machine", "hbm2", "--check"]);
    assert_eq!(run.ended.status, Some(0), "{:?}", run.ended);
    let commands = ["1,ACT,0,0,0,", "13,ACT,1,0,0,", "13,RD,0,0,0,0", "25,RD,1,0,0,0"];
    assert_eq!(run.written("commands.csv").lines().skip(1).collect::<Vec<_>>(), commands);
    assert!(run.ended.out.contains("commands      4                    2 ACT  2 RD"), "{}", run.ended.out);
}

#[test]
fn a_bus_and_a_burst_that_do_not_go_together_are_refused_with_what_is_legal() {
    let refused = |sets: &[&str], message: &[&str]| {
        let options: Vec<_> = sets.iter().flat_map(|set| ["--set", set]).collect();
        Run::new(HEADING, &options).assert_refused(message);
    };
    refused(
        &["dram.bus_bits=128"],
        &["dram.burst_length is 8, expected 2 or 4 on a bus of 128 bits: a burst moves 32 or 64 bytes"],
    );
    refused(&["dram.bus_bits=16"], &["dram.bus_bits is 16, expected 32, 64 or 128"]);
    refused(&["dram.command_bus=triple"], &["dram.command_bus", "single", "dual"]);
    refused(&["dram.reply_entries=257"], &["dram.reply_entries is 257, expected 1 to 256"]);
    refused(
        &["dram.mapping.fields=[\"column:3\", \"bank\", \"group\", \"column\", \"row\"]", "dram.columns=4"],
        &[
            "dram.columns is 4, expected 8 or more with mapping.fields = [\"column:3\", \"bank\", \"group\", \"column\", \"row\"]",
        ],
    );
}

#[test]
fn a_line_that_is_no_request_is_shown_with_its_place_and_what_is_legal() {
    let cases = [
        ("0,X,0x40\n", "trace.csv:3:3: `op` is \"X\", expected R or W"),
        ("soon,R,0x40\n", "trace.csv:3:1: `cycle` is \"soon\", expected 0 to 1000000000000000"),
        ("0,R,4g\n", "trace.csv:3:5: `addr` is \"4g\", expected 0x0 to 0xfffffff"),
        ("0,R,0x10000000\n", "trace.csv:3:5: `addr` is \"0x10000000\", expected 0x0 to 0xfffffff"),
        ("0,R\n", "trace.csv:3:4: the line has 2 fields, expected 3 as the heading has"),
    ];
    for (line, message) in cases {
        let trace = format!("{HEADING}0,R,0x0\n{line}");
        Run::new(&trace, &["--machine", "gddr5-reference"]).assert_refused(&[message]);
    }
}

#[test]
fn a_trace_without_its_heading_is_refused() {
    Run::new("0,R,0x0\n", &[])
        .assert_refused(&["trace.csv:1:1: the heading has \"0\" as column 1, expected the heading"]);
}

#[test]
fn a_missing_trace_is_named() {
    warpsieve(&["dram", "nowhere.csv"]).assert_refused(&["nowhere.csv: cannot read the trace: No such file"]);
}

#[test]
fn both_results_in_one_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let trace: PathBuf = folder.path().join("trace.csv");
    fs::write(&trace, HEADING).unwrap();
    let out = folder.path().join("out.csv");
    let [trace, out]: [&str; 2] = [&trace, &out].map(|path: &PathBuf| Path::to_str(path).unwrap());
    let ended = warpsieve(&["dram", trace, "--commands", out, "--requests", out]);
    ended.assert_refused(&["`--requests` is ", "expected a file other than `--commands`"]);
    assert!(!Path::new(out).exists());
}

#[test]
fn a_result_that_cannot_be_written_is_refused_ahead_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.csv");
    fs::write(&trace, HEADING).unwrap();
    let missing = folder.path().join("none/out.csv");
    let ended = warpsieve(&["dram", trace.to_str().unwrap(), "--commands", missing.to_str().unwrap()]);
    ended.assert_refused(&["the results cannot be written", "none/out.csv: cannot create"]);
}
