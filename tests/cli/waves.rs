//! Tests of waveforms: both file formats, triggers, interruption, a full disk, and the commands that read
//! waveforms.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::{CommandResult, root, warpsieve};

const SMALL: &str = "kernels/syrk/small";
/// Launch file of a kernel that takes seconds if a waveform of everything is recorded.
const LONG: &str = "kernels/sgemm/launch.toml";

/// Runs a small kernel with the additional arguments `more`, and writes a waveform to the file `name`.
fn dump(folder: &Path, name: &str, more: &[&str]) -> (CommandResult, String) {
    let path = folder.join(name).display().to_string();
    (warpsieve(&[&["run", SMALL, "--quiet", "--wave", &path], more].concat()), path)
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns the first and the last time in a waveform, in core cycles at 700 MHz.
fn span(path: &str) -> (u64, u64) {
    let wave = wellen::simple::read(path).unwrap();
    // In an FST file, all values are unknown from time 0 to the time at which recording starts.
    let unknown = usize::from(path.ends_with(".fst"));
    let times = &wave.time_table()[unknown..];
    assert!(times.is_sorted_by(|a, b| a < b));
    let cycle = |time: &u64| (time * 7 + 5_000) / 10_000;
    (cycle(times.first().unwrap()), cycle(times.last().unwrap()))
}

#[test]
fn the_name_of_the_file_chooses_the_format_and_both_hold_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let follow = |name: &str| {
        let (ended, path) = dump(folder.path(), name, &["--wave-scope", "**"]);
        assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""), "{name}");
        let ended = warpsieve(&["waves", "follow", &path, "--request", "0", "--sm", "2"]);
        assert_eq!(ended.status, Some(0), "{ended:?}");
        ended.out
    };
    let (vcd, fst) = (follow("a.vcd"), follow("a.fst"));
    assert_eq!(vcd, fst);
    for place in ["sm2.l1 ", "xbar_req.inject2", ".l2.req", ".dram.command", "sm2.l1.mem_rsp"] {
        assert!(vcd.lines().any(|line| format!("{line} ").contains(place)), "no {place} in:\n{vcd}");
    }
    for name in ["a.filters", "a.gtkw", "a.l1d.gtkw", "a.sm.gtkw", "a.dram.gtkw"] {
        assert!(files(folder.path()).contains(&name.to_owned()), "{name}");
    }
}

#[test]
fn both_command_buses_of_hbm_are_in_the_dump_the_view_and_the_life_of_a_request() {
    let folder = tempfile::tempdir().unwrap();
    let (ended, path) = dump(folder.path(), "a.vcd", &["--machine", "hbm2", "--wave-scope", "**"]);
    assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""));
    let view = fs::read_to_string(folder.path().join("a.dram.gtkw")).unwrap();
    for signal in ["row_command_kind", "row_command_row", "column_command_kind", "column_command_column"] {
        assert!(view.contains(signal), "no {signal} in:\n{view}");
    }
    let life = warpsieve(&["waves", "follow", &path, "--request", "0", "--sm", "2"]);
    assert_eq!(life.status, Some(0), "{life:?}");
    assert!(life.out.contains(".dram.column_command"), "{}", life.out);
}

#[test]
fn a_request_that_several_sms_have_or_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (_, path) = dump(folder.path(), "a.fst", &["--wave-scope", "sm*.l1"]);
    warpsieve(&["waves", "follow", &path, "--request", "3"])
        .assert_refused(&["request 3 exists in SMs 0, 1, ", "`--sm`"]);
    let absent = ["waves", "follow", &path, "--request", "99999999"];
    warpsieve(&absent).assert_refused(&["request 99999999 never appears, expected a number from 0 to "]);
    warpsieve(&["waves", "follow", SMALL, "--request", "3"]).assert_refused(&["kernels/syrk/small: cannot be read: "]);
}

#[test]
fn a_trigger_starts_the_dump_after_the_cycles_that_are_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let trigger = ["--wave-scope", "sm0.l1", "--wave-trigger", "sm0.core.stat.warp_instructions > 500"];
    let (ended, path) = dump(folder.path(), "a.fst", &trigger);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let (met, _) = span(&path);
    let (_, path) = dump(folder.path(), "b.vcd", &[&trigger[..], &["--wave-last", "40"]].concat());
    let (start, _) = span(&path);
    assert!((38..=60).contains(&(met - start)), "the trigger is met in cycle {met}, the dump starts in {start}");
    let save = fs::read_to_string(folder.path().join("b.gtkw")).unwrap();
    assert!(save.contains("[markername] Atrigger: sm0.core.stat.warp_instructions > 500"), "{save}");
}

#[test]
fn a_dump_ends_so_many_cycles_behind_its_trigger_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let trigger = ["--wave-trigger", "sm*.l1.status == MISS && cycle >= 300", "--wave-after", "25"];
    let (ended, path) = dump(folder.path(), "a.fst", &[&trigger[..], &["--wave-last", "40"]].concat());
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let (first, last) = span(&path);
    let said = ended.err.strip_prefix(&format!("{path}: ends in cycle ")).unwrap_or_else(|| panic!("{ended:?}"));
    let (cycle, why) = said.split_once(", ").unwrap();
    let cycle: u64 = cycle.parse().unwrap();
    assert_eq!(why, "25 after its trigger\n");
    assert!((cycle - 1..=cycle).contains(&last) && (60..=70).contains(&(last - first)), "{first} to {last}, {cycle}");
    let ended = warpsieve(&["run", SMALL, "--wave", "a.vcd", "--wave-after", "25"]);
    ended.assert_refused(&["--wave-trigger"]);
}

#[test]
fn a_trigger_that_is_never_met_leaves_no_file_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (ended, _) = dump(folder.path(), "a.vcd", &["--wave-trigger", "failure"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert!(ended.err.contains("a.vcd: not written, the event that starts it never occurred"), "{ended:?}");
    assert_eq!(files(folder.path()), Vec::<String>::new());
}

#[test]
fn a_misspelt_trigger_is_refused_with_the_nearest_signal() {
    let folder = tempfile::tempdir().unwrap();
    let (ended, _) = dump(folder.path(), "a.vcd", &["--wave-trigger", "sm0.l1.statsu == HIT"]);
    ended.assert_refused(&["character 1: no signal is called `sm0.l1.statsu`; nearest: `sm0.l1.status`"]);
    assert_eq!(files(folder.path()), Vec::<String>::new());
}

#[test]
fn a_run_that_is_stopped_leaves_its_last_cycles() {
    let folder = tempfile::tempdir().unwrap();
    let (ended, path) = dump(folder.path(), "a.fst", &["--wave-last", "100", "--max-cycles", "900"]);
    assert_eq!(ended.status, Some(3), "{ended:?}");
    let (first, last) = span(&path);
    assert!((780..=800).contains(&first) && (895..=900).contains(&last), "{first} to {last}");
    let save = fs::read_to_string(folder.path().join("a.gtkw")).unwrap();
    assert!(save.contains("[markername] Acycle limit"), "{save}");
}

#[test]
fn a_kernel_that_faults_leaves_its_last_cycles_and_names_their_file() {
    let folder = tempfile::tempdir().unwrap();
    for (name, more) in
        [("a.fst", &["--wave-last", "50"][..]), ("b.vcd", &[]), ("c.fst", &["--wave-trigger", "failure trap"])]
    {
        let path = folder.path().join(name).display().to_string();
        let command = ["run", "tests/machine/ptx/trap.toml", "--quiet", "--wave", &path, "--wave-scope", "sm0.core"];
        let ended = warpsieve(&[&command[..], more].concat());
        assert_eq!(ended.status, Some(2), "{ended:?}");
        assert!(ended.err.contains("waveform: ") && ended.err.contains(name), "{ended:?}");
        let save = fs::read_to_string(folder.path().join(name).with_extension("gtkw")).unwrap();
        assert!(save.contains("[markername] Akernel fault: "), "{save}");
        let (first, last) = span(&path);
        assert!(last > 0 && (name != "a.fst" || (49..=51).contains(&(last - first))), "{name}: {first} to {last}");
    }
}

#[test]
fn a_failure_of_another_name_starts_no_dump() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.vcd").display().to_string();
    let command =
        ["run", "tests/machine/ptx/trap.toml", "--quiet", "--wave", &path, "--wave-trigger", "failure sm9.l1"];
    let ended = warpsieve(&command);
    assert_eq!(ended.status, Some(2), "{ended:?}");
    assert!(!ended.err.contains("waveform: "), "{ended:?}");
    assert_eq!(files(folder.path()), Vec::<String>::new());
}

#[test]
fn entries_of_tables_are_dumped_by_a_bracket() {
    let folder = tempfile::tempdir().unwrap();
    let scopes = ["--wave-scope", "sm0.core.pipes.flight[*]", "--wave-scope", "partition0.dram.bank[3].row"];
    let (ended, path) = dump(folder.path(), "a.fst", &scopes);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let wave = wellen::simple::read(&path).unwrap();
    let hierarchy = wave.hierarchy();
    // Libraries that read FST files turn the index in a signal name such as `flight[0]` into a separate
    // scope. The test restores the name.
    let names = hierarchy.all_vars().map(|var| hierarchy[var].full_name(hierarchy).replace(".[", "["));
    let names: Vec<String> = names.collect();
    for name in ["flight[0].pc", "flight[1].due", "bank[3].row"] {
        assert!(names.iter().any(|full| full.ends_with(name)), "{name} in {names:?}");
    }
    assert!(names.iter().all(|name| !name.contains("bank[2]")), "{names:?}");
}

#[test]
fn a_dump_ends_at_its_limit_and_the_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (ended, path) = dump(folder.path(), "a.vcd", &["--wave-limit", "300K"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert!(ended.err.contains(", where it reached --wave-limit"), "{ended:?}");
    let bytes = fs::metadata(&path).unwrap().len();
    assert!((300 << 10..400 << 10).contains(&bytes), "{bytes} bytes");
    assert!(span(&path).1 < 1900);
}

#[test]
fn an_interrupted_run_leaves_files_that_can_be_read() {
    for (signal, status, name) in [("-INT", 130, "a.vcd"), ("-TERM", 143, "a.fst")] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
        command.args(["run", LONG, "--quiet", "--wave"]).arg(&path).current_dir(root()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        // When the waveform file exists, the command already catches signals. The run takes longer than the
        // delay of the signal.
        while files(folder.path()).is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(300));
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{said}");
        assert!(said.contains("interrupted after cycle "), "{said}");
        let (_, last) = span(&path.display().to_string());
        assert!(last > 0 && last < 41_958, "{last}");
        assert!(files(folder.path()).iter().all(|name| !name.ends_with(".part")));
    }
}

#[test]
fn a_window_beyond_the_end_of_the_run_says_that_nothing_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let (ended, path) = dump(folder.path(), "a.vcd", &["--wave-from", "1000000"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let said = format!("{path}: not written, nothing was recorded, the run ended in cycle ");
    assert!(ended.err.starts_with(&said) && ended.err.ends_with(", before --wave-from 1000000\n"), "{ended:?}");
    assert_eq!(files(folder.path()), Vec::<String>::new());
}

#[test]
fn an_sm_that_is_not_in_the_waveform_is_refused_with_those_that_are() {
    let folder = tempfile::tempdir().unwrap();
    let (ended, path) = dump(folder.path(), "a.vcd", &["--wave-scope", "sm0.**", "--wave-scope", "sm3.**"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let follow = |sm: &str| warpsieve(&["waves", "follow", &path, "--request", "1", "--sm", sm]);
    follow("99").assert_refused(&["a.vcd: no SM 99 in this waveform, expected 0, 3"]);
    assert_eq!(follow("3").status, Some(0));
}

#[test]
fn a_full_disk_ends_the_run_with_status_2() {
    for name in ["a.vcd", "a.fst"] {
        let folder = tempfile::tempdir().unwrap();
        symlink("/dev/full", folder.path().join(name)).unwrap();
        let (ended, _) = dump(folder.path(), name, &[]);
        ended.assert_refused(&[name, "cannot write: No space left on device"]);
        assert_eq!(files(folder.path()), [name]);
    }
}

#[test]
fn a_timeline_closes_every_request_that_it_opens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    let ended = warpsieve(&["run", SMALL, "--quiet", "--timeline", &path.display().to_string()]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let trace: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
    let ids = |phase: &str| {
        let mut ids: Vec<&str> = of(phase).iter().map(|event| event["id"].as_str().unwrap()).collect();
        ids.sort_unstable();
        ids
    };
    let begun = ids("b");
    assert!(begun.len() > 100 && begun.is_sorted_by(|a, b| a < b), "no request has the number of another");
    assert_eq!(begun, ids("e"));
    let lengths = of("X").into_iter().map(|event| event["dur"].as_f64().unwrap());
    assert!(lengths.clone().count() > 1000 && lengths.clone().all(|cycles| cycles > 0.0));
    assert!(of("X").iter().any(|event| event["name"] == "SCOREBOARD_MEMORY"));
    assert!(!of("C").is_empty());
}

/// Members that each kind of event may have besides `ph` and `name`, in the JSON form of the trace event
/// format. Chrome and Perfetto share this format ("Trace Event Format"). The kinds are metadata, complete
/// events, begin and end of asynchronous events, and counters.
const EVENTS: [(&str, &[&str]); 5] = [
    ("M", &["pid", "args"]),
    ("X", &["pid", "tid", "ts", "dur"]),
    ("b", &["cat", "id", "pid", "tid", "ts"]),
    ("e", &["cat", "id", "pid", "tid", "ts"]),
    ("C", &["pid", "ts", "args"]),
];

/// Checks a single trace event, and panics on everything that the format does not allow.
fn check_event(event: &Value) {
    let members = event.as_object().unwrap();
    let phase = event["ph"].as_str().unwrap();
    let (_, expected) = EVENTS.iter().find(|(known, _)| *known == phase).unwrap_or_else(|| panic!("{event}"));
    assert!(!event["name"].as_str().unwrap().is_empty(), "{event}");
    let named: Vec<&str> = members.keys().map(String::as_str).filter(|name| !["ph", "name"].contains(name)).collect();
    let metadata = (phase == "M").then(|| event["name"].as_str().unwrap());
    let allowed =
        |name: &&str| expected.contains(name) || *name == "tid" && metadata.is_some_and(|of| of != "process_labels");
    assert!(named.iter().all(allowed) && expected.iter().all(|name| members.contains_key(*name)), "{event}");
    for (name, value) in members {
        match name.as_str() {
            "pid" | "tid" => assert!(value.is_u64(), "{event}"),
            "ts" | "dur" => assert!(value.as_f64().is_some_and(|time| time >= 0.0), "{event}"),
            "cat" | "id" | "ph" | "name" => assert!(value.is_string(), "{event}"),
            "args" => {
                let args = value.as_object().unwrap();
                let is_right = |value: &Value| if phase == "C" { value.is_number() } else { value.is_string() };
                assert!(args.len() == 1 && args.values().all(is_right), "{event}");
                let of_metadata = [("process_name", "name"), ("thread_name", "name"), ("process_labels", "labels")];
                let is_known = |of: &str| of_metadata.iter().any(|(name, arg)| *name == of && args.contains_key(*arg));
                assert!(metadata.is_none_or(is_known), "{event}");
            }
            _ => unreachable!("checked above"),
        }
    }
}

#[test]
fn a_timeline_is_what_the_trace_event_format_allows_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    let ended = warpsieve(&["run", SMALL, "--quiet", "--timeline", &path.display().to_string()]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let trace: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let mut members: Vec<&String> = trace.as_object().unwrap().keys().collect();
    members.sort();
    assert_eq!(members, ["displayTimeUnit", "traceEvents"]);
    assert_eq!(trace["displayTimeUnit"], "ns");
    let events = trace["traceEvents"].as_array().unwrap();
    events.iter().for_each(check_event);
    let number = |event: &Value, name: &str| event[name].as_u64().unwrap();
    let identity = |event: &Value| (event["cat"].to_string(), event["id"].to_string());
    let place = |event: &Value| (number(event, "pid"), event["tid"].as_u64());
    // Every process and thread in the trace must have exactly one name. Events of the whole machine belong to
    // the process `machine`.
    let metadata = |name: &str| events.iter().filter(|event| event["name"] == name).collect::<Vec<_>>();
    let processes: BTreeMap<u64, &Value> =
        metadata("process_name").iter().map(|event| (number(event, "pid"), &event["args"]["name"])).collect();
    assert_eq!((metadata("process_name").len(), processes[&0]), (processes.len(), &Value::from("machine")));
    let threads: BTreeSet<_> = metadata("thread_name").into_iter().map(place).collect();
    assert_eq!(metadata("thread_name").len(), threads.len());
    let mut slices: BTreeMap<_, Vec<(f64, f64)>> = BTreeMap::new();
    let mut open: BTreeSet<(String, String)> = BTreeSet::new();
    for event in events {
        assert!(processes.contains_key(&number(event, "pid")), "{event}");
        match event["ph"].as_str().unwrap() {
            "X" => {
                assert!(threads.contains(&place(event)), "{event}");
                let (from, length) = (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap());
                slices.entry(place(event)).or_default().push((from, from + length));
            }
            "b" => assert!(open.insert(identity(event)), "begun twice: {event}"),
            "e" => assert!(open.remove(&identity(event)), "ended without a begin: {event}"),
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
    for (place, mut slices) in slices {
        // Time slices of a thread must nest or follow each other, since trace viewers drop slices that
        // overlap partially.
        slices.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(slices.windows(2).all(|pair| pair[0].1 <= pair[1].0 + 1e-6), "{place:?}");
    }
}

/// Returns the rows that the command `waves follow` prints for a line, an instruction or a warp. Each row has
/// a cycle, the place in the machine, and values.
fn sightings(path: &str, subject: &[&str]) -> Vec<(f64, String, String)> {
    let ended = warpsieve(&[&["waves", "follow", path], subject].concat());
    assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""), "{subject:?}");
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let cycle = words.next().unwrap().parse().unwrap();
        let length = words.next().unwrap();
        let rest: Vec<&str> = words.skip(if length == "end" { 2 } else { 0 }).collect();
        (cycle, rest[0].to_owned(), rest[1..].join(" "))
    };
    ended.out.lines().skip(2).map(row).collect()
}

#[test]
fn a_line_an_instruction_and_a_warp_are_followed_in_order_of_time() {
    let folder = tempfile::tempdir().unwrap();
    let (ended, path) = dump(folder.path(), "a.fst", &[]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let request = warpsieve(&["waves", "follow", &path, "--request", "0", "--sm", "2"]);
    let issued = sightings(&path, &["--warp", "0", "--sm", "2"]);
    assert!(issued.is_sorted_by(|a, b| a.0 <= b.0), "{issued:?}");
    assert!(issued.iter().all(|(_, place, _)| place.starts_with("sm2.") || !place.starts_with("sm")), "{issued:?}");
    // Follows the first load of the warp through the machine: first its instruction, then the line that it
    // requests.
    let (_, _, said) = issued.iter().find(|(_, place, _)| place == "sm2.l1.core_req").unwrap();
    assert!(said.starts_with("kind LOAD, pc "), "{said}");
    let pc = said.split_once("pc ").unwrap().1.split(',').next().unwrap();
    let of_pc = sightings(&path, &["--pc", pc, "--sm", "2"]);
    let first = |place: &str| of_pc.iter().find(|(_, at, _)| at == place).map(|(cycle, ..)| *cycle).unwrap();
    let stages = ["sm2.core.scheduler0", "sm2.core.address_unit", "sm2.l1.core_req", "sm2.core.wb"].map(first);
    assert!(stages.is_sorted_by(|a, b| a <= b), "{stages:?}");
    assert!(issued.iter().filter(|(_, place, _)| place == "sm2.core.scheduler0").count() > 10, "{issued:?}");
    // Each SM numbers its memory requests. The request with number 0 of this SM accesses the line that the
    // load reads.
    let head = sightings(&path, &["--warp", "0"]);
    assert!(head.len() > issued.len(), "without an SM those of all");
    let lines: Vec<(f64, String, String)> = (0x2000..0x2100u64)
        .map(|line| format!("{line:#x}"))
        .find_map(|line| {
            let ended = warpsieve(&["waves", "follow", &path, "--line", &line, "--sm", "2"]);
            (ended.status == Some(0)).then(|| sightings(&path, &["--line", &line]))
        })
        .unwrap();
    let at = |place: &str| lines.iter().position(|(_, at, _)| at.starts_with(place));
    assert!(lines.is_sorted_by(|a, b| a.0 <= b.0), "{lines:?}");
    let miss = lines.iter().position(|(_, _, said)| said.contains("status MISS")).unwrap();
    let partition = lines.iter().position(|(_, at, _)| at.contains(".l2.req")).unwrap();
    assert!(miss < partition && at("xbar_req.inject").unwrap() < partition, "{lines:?}");
    assert!(lines.iter().any(|(_, _, said)| said.contains("status HIT")), "{lines:?}");
    assert_eq!(request.status, Some(0), "{request:?}");
}

#[test]
fn what_is_never_seen_is_refused_with_what_is() {
    let folder = tempfile::tempdir().unwrap();
    let (_, path) = dump(folder.path(), "a.fst", &["--wave-scope", "sm0.l1"]);
    let follow = |more: &[&str]| warpsieve(&[&["waves", "follow", &path], more].concat());
    follow(&["--line", "0xffffff"])
        .assert_refused(&["a.fst: line 0xffffff never appears, expected one from 0x", " to 0x"]);
    follow(&["--warp", "99", "--sm", "0"])
        .assert_refused(&["a.fst: warp 99 of SM 0 never appears, expected one from 0 to "]);
    follow(&["--pc", "0", "--sm", "9"]).assert_refused(&["a.fst: no pc of SM 9 ever appears"]);
    follow(&["--line", "x"]).assert_refused(&["expected a number, such as 8224 or 0x2020"]);
    follow(&["--line", "1", "--pc", "2"]).assert_refused(&["--line", "--pc"]);
    follow(&["--sm", "1"]).assert_refused(&["--request"]);
    let (_, path) = dump(folder.path(), "b.fst", &["--wave-scope", "sm0.l1.mshr"]);
    let none = ["waves", "follow", &path, "--line", "1"];
    warpsieve(&none).assert_refused(&["b.fst: no port names its line, expected ports such as `machine.sm0.l1."]);
}
