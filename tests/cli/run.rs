//! Tests the command `run`: exit status, summary and statistics.

use std::fs;
use std::path::Path;

use ::warpsieve::text::format_thousands;
use serde_json::Value;

use super::{CommandResult, root, warpsieve};

const SMALL: &str = "kernels/syrk/small";

/// Runs a command with the option `--stats`. Returns its output and the parsed statistics file.
fn with_stats(arguments: &[&str]) -> (CommandResult, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.json");
    let text = path.display().to_string();
    let ended = warpsieve(&[arguments, &["--stats", &text]].concat());
    let stats = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, ["s.json"]);
    (ended, stats)
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn sort<const N: usize>(mut keys: [&str; N]) -> [&str; N] {
    keys.sort_unstable();
    keys
}

fn count(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap()
}

#[test]
fn a_run_passes_its_check_and_prints_a_summary() {
    let ended = warpsieve(&["run", SMALL]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert!(ended.out.starts_with("kernels/syrk/small on fermi\n  kernels       syrk\n"), "{ended:?}");
    assert!(ended.out.contains("  check         passed\n"), "{ended:?}");
    assert_eq!(ended.err, "");
}

#[test]
fn quiet_prints_nothing() {
    let ended = warpsieve(&["run", SMALL, "--quiet"]);
    assert_eq!((ended.status, ended.out.as_str(), ended.err.as_str()), (Some(0), "", ""));
}

#[test]
fn reuse_is_counted_if_checked_and_moves_if_tags_are_decoupled() {
    let (_, stats) = with_stats(&["run", SMALL, "--quiet"]);
    assert!(stats["reuse"].is_null() && stats["l1"]["promotions"].is_null() && stats["l1"]["demotions"].is_null());
    let (_, stats) = with_stats(&["run", SMALL, "--quiet", "--check", "--design", "decoupled"]);
    assert!(stats["l1"]["promotions"].is_u64() && stats["l1"]["demotions"].is_u64());
    let sum = |key: &str| stats["reuse"][key].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum();
    let (again, lines): (u64, u64) = (sum("distances"), sum("reuses"));
    assert_eq!(again + lines, stats["l1"]["accesses"].as_u64().unwrap());
}

#[test]
fn statistics_have_every_key_of_schema_1() {
    let (_, stats) = with_stats(&["run", SMALL, "--quiet"]);
    let top = [
        "schema",
        "outcome",
        "machine",
        "designs",
        "config_hash",
        "kernels",
        "cycles",
        "schedulers",
        "core_mhz",
        "warp_instructions",
        "thread_instructions",
        "pipes",
        "divergent_branches",
        "shared_conflicts",
        "operand_conflicts",
        "shared_changes",
        "ipc",
        "l1",
        "const_cache",
        "texture_cache",
        "icache",
        "l2",
        "tracker",
        "block_copies",
        "engine_operations",
        "streams",
        "no_evictions",
        "noc",
        "dram",
        "candel2018",
        "energy",
        "issued",
        "stalls",
        "idle",
        "loads",
        "stages",
        "reuse",
        "check",
        "host",
        "units",
    ];
    assert_eq!(keys(&stats), sort(top));
    let l1 = [
        "accesses",
        "hits",
        "hit_pending",
        "misses",
        "sector_misses",
        "bypasses",
        "store_hits",
        "store_misses",
        "atomics",
        "evictions",
        "prefetch",
        "victim",
        "promotions",
        "demotions",
        "recalls",
        "reservation_fails",
        "failing",
    ];
    assert_eq!(keys(&stats["l1"]), sort(l1));
    let fails = ["line_alloc", "mshr_entry", "mshr_merge", "miss_queue", "mshr_policy"];
    assert_eq!(keys(&stats["l1"]["reservation_fails"]), sort(fails));
    for key in ["accesses", "hits", "misses", "writebacks", "frc"] {
        assert!(stats["l2"].get(key).is_some(), "{key}");
    }
    for key in ["reads", "writes", "row_hits", "activates", "refreshes", "bytes"] {
        assert!(stats["dram"][key].is_u64(), "{key}");
    }
    assert_eq!(keys(&stats["host"]), ["cpu_seconds", "cycles_per_cpu_second", "wall_seconds"]);
    assert_eq!(stats["schema"], 1);
}

#[test]
fn what_is_not_modelled_is_null_and_not_zero() {
    let (_, stats) = with_stats(&["run", SMALL, "--quiet"]);
    for pointer in ["/tracker", "/l1/sector_misses", "/l2/bypasses", "/l2/frc", "/l2/sectors", "/l2/prefetch"] {
        assert_eq!(stats.pointer(pointer), Some(&Value::Null), "{pointer}");
    }
}

#[test]
fn a_time_series_has_the_columns_that_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("series.csv").display().to_string();
    let series = |columns: &str| warpsieve(&["run", SMALL, "--quiet", "--series", &file, "--series-columns", columns]);
    assert_eq!(series("l1.misses,l2.stalls.port").status, Some(0));
    let mut reader = csv::Reader::from_path(&file).unwrap();
    assert_eq!(reader.headers().unwrap(), vec!["from_cycle", "to_cycle", "l1_misses", "l2_stalls_port"]);
    let (_, stats) = with_stats(&["run", SMALL, "--quiet"]);
    let rows: Vec<(u64, u64, u64, u64)> = reader.deserialize().map(Result::unwrap).collect();
    assert_eq!(rows.iter().map(|row| row.2).sum::<u64>(), count(&stats, "/l1/misses"));
    assert_eq!(rows.iter().map(|row| row.3).sum::<u64>(), count(&stats, "/l2/stalls/port"));
    assert_eq!(series("l1.misses,l1.hits,l1.misses").status, Some(0));
    let mut reader = csv::Reader::from_path(&file).unwrap();
    assert_eq!(reader.headers().unwrap(), vec!["from_cycle", "to_cycle", "l1_misses", "l1_hits"]);
    series("l1.mises").assert_refused(&["no column `l1.mises`", "did you mean `l1.misses`?"]);
    // A time series has no column with the name `l1.promotions` or `idle`. Promotions are counted only by
    // decoupled tags. The number of idle SMs is a total of the run, and not a counter of a hardware block.
    series("l1.promotions").assert_refused(&["no column `l1.promotions`"]);
    series("idle").assert_refused(&["no column `idle`: a time series on this machine has no such counter"]);
}

/// Returns the rows of a printed summary that begin with `label`, without the label.
fn find_rows<'a>(summary: &'a str, label: &str) -> Vec<&'a str> {
    summary.lines().filter_map(|line| line.strip_prefix(&format!("  {label:<13} "))).collect()
}

#[test]
fn caches_that_evict_nothing_are_named_unless_something_bypasses_them() {
    const WHY: &str = "every fill found an empty way, so no replacement, index or bypass scheme can save a miss there";
    for (options, none, kept) in [
        (&[][..], &["l1", "l2"][..], "L1D, L2"),
        (&["--set", "l1.ways=1"], &["l2"], "L2"),
        (&["--design", "bypass-all"], &["l2"], "L2"),
        (&["--design", "no-caches"], &[], ""),
        (&["--design", "icache"], &["icache", "l1", "l2"], "L1I, L1D, L2"),
    ] {
        let (_, stats) = with_stats(&[&["run", SMALL, "--quiet"], options].concat());
        assert_eq!(stats["no_evictions"], serde_json::json!(none), "{options:?}");
        let summary = warpsieve(&[&["run", SMALL], options].concat()).out;
        let evictions = format_thousands(count(&stats, "/l1/evictions"));
        let cell = match (evictions.as_str(), count(&stats, "/l1/bypasses")) {
            ("0", 0) => "L1D none  ".to_owned(),
            ("0", bypasses) => format!("L1D none, {} bypasses", format_thousands(bypasses)),
            _ => format!("L1D {evictions} "),
        };
        assert!(find_rows(&summary, "evictions")[0].contains(&cell), "{options:?}: {summary}");
        let expected = (!kept.is_empty()).then(|| format!("{kept}: {WHY}"));
        assert_eq!(find_rows(&summary, "no evictions"), Vec::from_iter(expected), "{options:?}: {summary}");
    }
}

#[test]
fn idle_sms_are_named_beside_the_stalls() {
    let summary = warpsieve(&["run", "kernels/reduction/small"]).out;
    assert!(find_rows(&summary, "stalls")[0].ends_with("4 of 15 SMs had no warp"), "{summary}");
}

#[test]
fn load_instructions_sum_up_to_the_caches() {
    for (launch, design) in [(SMALL, "baseline"), (SMALL, "bypass-all"), ("kernels/conv/small", "baseline")] {
        let (_, stats) = with_stats(&["run", launch, "--design", design, "--quiet"]);
        let loads = stats["loads"].as_array().unwrap();
        for key in ["accesses", "hits", "hit_pending", "misses"] {
            let sum: u64 = loads.iter().map(|load| load[key].as_u64().unwrap()).sum();
            let caches = ["l1", "const_cache", "texture_cache"];
            let expected: u64 = caches.iter().map(|cache| stats[cache][key].as_u64().unwrap_or(0)).sum();
            assert_eq!(sum, expected, "{launch} on {design}: {key}");
        }
        let ptx = launch.replace("small", &format!("{}.ptx", launch.split('/').nth(1).unwrap()));
        let text = fs::read_to_string(root().join(ptx)).unwrap();
        for load in loads {
            let line = text.lines().nth(load["line"].as_u64().unwrap() as usize - 1).unwrap();
            assert!(line.contains("ld."), "{load}: {line}");
        }
        assert!(loads.len() > 1, "{launch}");
    }
}

#[test]
fn units_sum_up_to_the_totals() {
    let (_, stats) = with_stats(&["run", SMALL, "--quiet"]);
    let units = |kind: &str| stats["units"][kind].as_array().unwrap();
    assert_eq!((units("sm").len(), units("l1").len(), units("l2").len(), units("dram").len()), (15, 15, 6, 6));
    for (kind, key) in [("l1", "accesses"), ("l1", "hits"), ("l2", "misses"), ("dram", "bytes")] {
        let sum: u64 = units(kind).iter().map(|unit| unit[key].as_u64().unwrap()).sum();
        assert_eq!(sum, count(&stats, &format!("/{kind}/{key}")), "{kind}.{key}");
        assert!(sum > 0, "{kind}.{key}");
    }
    let parts = ["hits", "hit_pending", "misses", "bypasses"];
    let parts: u64 = parts.iter().map(|key| count(&stats, &format!("/l1/{key}"))).sum();
    assert_eq!(parts, count(&stats, "/l1/accesses"));
}

#[test]
fn two_runs_differ_in_nothing_but_the_host() {
    let stats = || {
        let (_, mut stats) = with_stats(&["run", SMALL, "--design", "pric", "--quiet"]);
        stats["host"] = Value::Null;
        stats
    };
    assert_eq!(stats(), stats());
}

#[test]
fn max_cycles_ends_a_run_with_status_3_and_statistics() {
    let (ended, stats) = with_stats(&["run", SMALL, "--max-cycles", "200"]);
    assert_eq!(ended.status, Some(3), "{ended:?}");
    assert_eq!(ended.err, "stopped after 200 cycles (`--max-cycles`), before the kernels were done\n");
    assert_eq!(stats["outcome"], "cycle-limit");
    assert_eq!(stats["check"], "off");
    assert_eq!(count(&stats, "/cycles"), 200, "{stats}");
    assert!(ended.out.contains("\n  cycles        200 "), "{ended:?}");
}

#[test]
fn a_wrong_result_ends_a_run_with_status_1_and_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(root().join("kernels/syrk/launch.toml")).unwrap();
    let ptx = fs::canonicalize(root().join("kernels/syrk/syrk.ptx")).unwrap();
    let text = text.replace("\"syrk.ptx\"", &format!("{:?}", ptx.display().to_string()));
    let wrong = text.replace("{ f32 = 1.5 }, # alpha", "{ f32 = 1.25 }, # alpha");
    assert_ne!(text, wrong);
    let launch = folder.path().join("wrong.toml");
    fs::write(&launch, wrong).unwrap();
    let (ended, stats) = with_stats(&["run", &launch.join("small").display().to_string()]);
    assert_eq!(ended.status, Some(1), "{ended:?}");
    assert!(ended.err.starts_with("check failed:\noutput `c` is wrong:\n"), "{ended:?}");
    assert_eq!((&stats["outcome"], &stats["check"]), (&"finished".into(), &"failed".into()));
}

#[test]
fn a_run_works_from_any_folder() {
    let folder = tempfile::tempdir().unwrap();
    let launch = fs::canonicalize(root()).unwrap().join(SMALL);
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
    let ended =
        CommandResult::of(command.arg("run").arg(Path::new(&launch)).arg("--design=pric").current_dir(folder.path()));
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn the_rows_of_a_time_series_cover_the_run_and_sum_up_to_its_statistics() {
    // After the end of the last kernel launch, memory is still busy for some cycles. One tested interval of
    // the time series is longer than this time, and the other is shorter.
    for interval in [700, 10] {
        rows_cover_the_run(interval);
    }
}

fn rows_cover_the_run(interval: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.csv");
    let arguments = ["run", "kernels/bfs/small", "--quiet", "--interval", &interval.to_string(), "--series"];
    let (ended, stats) = with_stats(&[&arguments[..], &[path.to_str().unwrap()]].concat());
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let text = fs::read_to_string(&path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let rows: Vec<Vec<u64>> = lines.map(|row| row.iter().map(|cell| cell.parse().unwrap()).collect()).collect();
    let mut reached = 0;
    for row in &rows {
        assert_eq!(row[0], reached);
        assert!(row[1] - row[0] == interval || row == rows.last().unwrap(), "{row:?}");
        reached = row[1];
    }
    let cycles = count(&stats, "/cycles");
    assert!((cycles..cycles + 2000).contains(&reached), "{reached} of {cycles}");
    let names = [
        ("warp_instructions", "/warp_instructions"),
        ("l1_accesses", "/l1/accesses"),
        ("l1_hit_pending", "/l1/hit_pending"),
        ("l2_accesses", "/l2/accesses"),
        ("dram_reads", "/dram/reads"),
    ];
    for (column, path) in names {
        let at = head.iter().position(|name| *name == column).unwrap();
        assert_eq!(rows.iter().map(|row| row[at]).sum::<u64>(), count(&stats, path), "{column}");
    }
}

#[test]
fn a_program_that_hangs_ends_with_status_3() {
    let CommandResult { status, err, .. } = warpsieve(&["run", "tests/machine/ptx/barriers.toml"]);
    assert_eq!(status, Some(3));
    assert!(err.starts_with("no progress after cycle "), "{err}");
    assert!(err.contains("sm0: warp 1 at pc 6, line 19: barrier"), "{err}");
}

#[test]
fn the_summary_has_the_refusals_of_the_statistics_the_most_frequent_first() {
    let (ended, stats) = with_stats(&["run", "kernels/syrk/small", "--set", "l1.mshr_entries=4", "--set", "l1.ways=1"]);
    for (label, path) in [("L1D res fails", "/l1/reservation_fails"), ("L2 stalls", "/l2/stalls")] {
        let reasons = stats.pointer(path).unwrap().as_object().unwrap();
        let counted = reasons.iter().filter_map(|(reason, cycles)| Some((cycles.as_u64().filter(|&c| c > 0)?, reason)));
        let mut counted: Vec<_> = counted.collect();
        counted.sort_by_key(|(cycles, reason)| (std::cmp::Reverse(*cycles), (*reason).clone()));
        let expected: Vec<_> = counted.iter().map(|(cycles, reason)| format!("{reason} {cycles}")).collect();
        let line = ended.out.lines().find_map(|line| line.trim().strip_prefix(label)).unwrap();
        let shown: Vec<_> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        assert_eq!(shown.join(" ").replace(',', ""), expected.join(" "), "{ended:?}");
    }
    assert!(stats["l2"]["stalls"]["pending_queue"].is_null() && stats["l2"]["stalls"]["port"].is_u64(), "{stats}");
    let (ended, _) = with_stats(&["run", "kernels/vadd/small"]);
    assert!(!ended.out.contains("L1D res fails"), "{ended:?}");
}

#[test]
fn every_load_of_a_warp_is_answered_once_and_takes_its_time() {
    let (_, stats) = with_stats(&["run", "docs/example/rowsum.toml", "--quiet"]);
    let loads = stats["loads"].as_array().unwrap();
    assert_eq!(loads.len(), 4);
    for load in loads {
        // Each of the two warps executes the load, and each of the 32 lanes of a warp reads a different line.
        // A load therefore makes 32 accesses for each reply that it receives.
        let [accesses, answers, latency] = ["/accesses", "/answers", "/latency"].map(|key| count(load, key));
        assert_eq!(answers * 32, accesses, "{load}");
        // Each load instruction has 32 misses. Its latency is at least the latency of one L2 lookup. It is at
        // most 32 times that latency, as if the misses were served one after another.
        assert!((200..32 * 200).contains(&(latency / answers)), "{load}");
        let classes: Vec<_> =
            load["latencies"].as_array().unwrap().iter().map(|class| class.as_u64().unwrap()).collect();
        assert_eq!(classes.iter().sum::<u64>(), answers);
        let least: u64 = classes.iter().enumerate().skip(1).map(|(class, answers)| (8 << class) * answers).sum();
        assert!((least..2 * least).contains(&latency), "{load}");
    }
}

#[test]
fn every_read_passes_every_stage_once() {
    let (_, stats) = with_stats(&["run", "docs/example/rowsum.toml", "--quiet"]);
    let sum = |key: &str| stats["loads"].as_array().unwrap().iter().map(|load| count(load, key)).sum::<u64>();
    // No load bypasses the L1D, and no two loads use the same line, so every load misses.
    let reads = sum("/misses");
    assert!(reads > sum("/answers") && sum("/bypasses") == 0, "{stats}");
    let numbers =
        [("tags", sum("/answers")), ("miss_queue", reads), ("requests", reads), ("l2", reads), ("replies", reads)];
    for (stage, expected) in numbers {
        let stays = &stats["stages"][stage];
        let classes = stays["latencies"].as_array().unwrap().iter().map(|class| class.as_u64().unwrap());
        let classes: Vec<_> = classes.collect();
        assert_eq!((count(stays, "/number"), classes.iter().sum()), (expected, expected), "{stage}");
        let least: u64 = classes.iter().enumerate().skip(1).map(|(class, number)| (8 << class) * number).sum();
        assert!((least..2 * least + 16 * classes[0]).contains(&count(stays, "/cycles")), "{stage}: {stays}");
    }
}
