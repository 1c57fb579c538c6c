//! Tests the command `optimize`, which runs the bypass compiler: PTX input and output, reports, and the
//! figures of xie2013.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use compiler::rewrite::loads;
use isa::program::{Op, Program};
use isa::types::CacheOp;
use ptx::Source;
use serde_json::Value;
use tb::kit::sample;

use super::{CommandResult, root, warpsieve};
use warpsieve::launch::LaunchFile;

/// Returns a temporary folder for output files, and a function that converts a file name to its path in this
/// folder.
fn folder() -> (tempfile::TempDir, impl Fn(&str) -> String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    (folder, move |name: &str| path.join(name).display().to_string())
}

#[track_caller]
fn optimize(arguments: &[&str]) -> CommandResult {
    let ended = warpsieve(arguments);
    assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""), "{arguments:?}: {ended:?}");
    ended
}

/// Returns every kernel of a PTX file, without the cache operators of loads. Column numbers are also removed,
/// since the operators shift them.
fn programs(path: &Path) -> Vec<Program> {
    let source = Source::new("any.ptx", &fs::read_to_string(path).unwrap());
    let plain = |name: &String| {
        let mut program = source.kernel(name).unwrap();
        for inst in &mut program.insts {
            inst.column = 0;
            if let Op::Load(mem) = &mut inst.op {
                mem.cache = CacheOp::Default;
            }
        }
        program
    };
    source.kernels().unwrap().iter().map(plain).collect()
}

/// Returns the launch file and the PTX file of every kernel, once for each compiler that produced PTX for it.
fn suite() -> Vec<(String, PathBuf)> {
    let mut all = Vec::new();
    for kernel in fs::read_dir(root().join("kernels")).unwrap().map(|entry| entry.unwrap().path()) {
        let launch = kernel.join("small");
        let name = kernel.file_name().unwrap().to_str().unwrap();
        for ptx in [format!("{name}.ptx"), format!("{name}.nvrtc.ptx")].map(|file| kernel.join(file)) {
            if LaunchFile::exists(&launch) && ptx.is_file() {
                all.push((
                    kernel.canonicalize().unwrap().join("small").display().to_string(),
                    fs::canonicalize(ptx).unwrap(),
                ));
            }
        }
    }
    all
}

#[test]
fn every_ptx_file_of_the_suite_is_optimised_to_the_same_program_and_passes_its_check() {
    let suite = suite();
    assert!(suite.len() > 80, "{} files", suite.len());
    for (launch, ptx) in sample(suite, 6) {
        let (_folder, path) = folder();
        let (given, out) = (ptx.display().to_string(), path("out.ptx"));
        optimize(&["optimize", &launch, "--ptx", &given, "-o", &out, "--quiet"]);
        assert_eq!(programs(&ptx), programs(Path::new(&out)), "{given}");
        optimize(&["run", &launch, "--ptx", &out, "--quiet"]);
    }
}

#[test]
fn only_operators_differ_between_the_texts() {
    let (_folder, path) = folder();
    let out = path("out.ptx");
    optimize(&["optimize", "kernels/bfs/small", "-o", &out, "--quiet"]);
    let before = fs::read_to_string(root().join("kernels/bfs/bfs.ptx")).unwrap();
    let after = fs::read_to_string(&out).unwrap();
    assert_ne!(before, after);
    let without = |text: &str| text.replace("ld.global.ca.", "ld.global.").replace("ld.global.cg.", "ld.global.");
    assert_eq!(without(&after), before);
    assert_eq!(loads(&Source::new("a", &before)).unwrap().len(), after.matches("ld.global.c").count());
}

#[test]
fn the_report_has_every_load_pair_and_method() {
    let (_folder, path) = folder();
    let [out, report, dot] = ["out.ptx", "report.json", "graph.dot"].map(&path);
    let given = ["optimize", "kernels/kmeans/small", "-o", &out, "--report", &report, "--graph", &dot];
    let ended = optimize(&[&given[..], &["--method", "ilp", "--t-off", "exact"]].concat());
    assert!(ended.out.contains("ilp *"), "{}", ended.out);
    let report: Value = serde_json::from_str(&fs::read_to_string(report).unwrap()).unwrap();
    assert_eq!((&report["schema"], &report["method"], &report["t_off"]), (&1.into(), &"ilp".into(), &"exact".into()));
    let loads = report["loads"].as_array().unwrap();
    assert!(loads.iter().all(|load| !load["reason"].as_str().unwrap().is_empty()));
    let measured: Vec<_> = report["kernels"].as_array().unwrap().iter().collect();
    for kernel in &measured {
        let [loads, pairs] = ["loads", "pairs"].map(|what| kernel[what].as_array().unwrap().len());
        assert_eq!(pairs, loads * loads.saturating_sub(1) / 2);
    }
    let solutions = report["solutions"].as_array().unwrap();
    let methods: Vec<_> = solutions.iter().map(|solution| solution["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["heuristic", "ilp", "exhaustive"]);
    assert!(solutions.iter().all(|solution| solution["objective"].is_f64() && solution["l2_bytes"].is_u64()));
    let nodes = report["graph"]["nodes"].as_array().unwrap().len();
    let dot = fs::read_to_string(dot).unwrap();
    assert_eq!(dot.lines().filter(|line| line.contains("[label=") && !line.contains("--")).count(), nodes);
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let (_folder, path) = folder();
    let texts = ["one", "two"].map(|name| {
        let [out, report] = ["ptx", "json"].map(|end| path(&format!("{name}.{end}")));
        optimize(&["optimize", "kernels/srad1/small", "-o", &out, "--report", &report, "--quiet"]);
        [out, report].map(|file| fs::read_to_string(file).unwrap())
    });
    assert_eq!(texts[0], texts[1]);
}

#[test]
fn a_kernel_of_fifteen_loads_takes_less_than_a_minute() {
    let (_folder, path) = folder();
    let started = Instant::now();
    optimize(&["optimize", "kernels/heartwall/launch.toml", "-o", &path("out.ptx"), "--quiet"]);
    let seconds = started.elapsed().as_secs();
    assert!(seconds < 60, "{seconds} s");
}

#[test]
fn malformed_ptx_is_shown_with_its_line_and_nothing_is_written() {
    let (folder, path) = folder();
    let text = fs::read_to_string(root().join("kernels/vadd/vadd.ptx")).unwrap();
    fs::write(path("bad.ptx"), text.replacen("ret;", "ret", 1)).unwrap();
    let [bad, out, report] = ["bad.ptx", "out.ptx", "report.json"].map(&path);
    let ended = warpsieve(&["optimize", "kernels/vadd/small", "--ptx", &bad, "-o", &out, "--report", &report]);
    ended.assert_refused(&["bad.ptx:48:1: expected an operand, found `}`", "48 | }"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{ended:?}");
}

#[test]
fn other_bad_input_is_refused_and_nothing_is_written() {
    let (folder, path) = folder();
    let out = path("out.ptx");
    warpsieve(&["optimize", "kernels/none.toml", "-o", &out]).assert_refused(&["kernels/none.toml"]);
    warpsieve(&["optimize", "kernels/vadd/small"]).assert_refused(&["--output <OUT.ptx>"]);
    warpsieve(&["optimize", "kernels/vadd/small", "-o", &path("no/where.ptx")]).assert_refused(&["no/where.ptx"]);
    warpsieve(&["optimize", "kernels/vadd/small", "-o", &out, "--method", "best"]).assert_refused(&["exhaustive"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn profiled_on_the_clocked_machine_the_report_has_its_hits_beside_those_without_time() {
    let (_folder, path) = folder();
    let launch = root().join("kernels/kmeans/small").display().to_string();
    let (out, report) = (path("out.ptx"), path("report.json"));
    let arguments =
        ["optimize", &launch, "-o", &out, "--report", &report, "--machine", "kepler", "--profile", "clocked"];
    let ended = optimize(&arguments);
    assert!(ended.out.contains("hits clocked"), "{}", ended.out);
    let report: Value = serde_json::from_str(&fs::read_to_string(report).unwrap()).unwrap();
    assert_eq!(report["profile"], "clocked");
    let loads = report["kernels"][0]["loads"].as_array().unwrap();
    assert!(loads.iter().all(|load| load["untimed_hits"].is_u64() && load["hits"].is_u64()), "{loads:?}");
    assert!(loads.iter().any(|load| load["hits"].as_u64() > Some(0)), "{loads:?}");
}

#[test]
fn the_figures_of_xie2013_come_out_as_the_paper_states_them() {
    let (_folder, path) = folder();
    let figures = ["fig2", "fig4", "fig5", "listings", "mrq", "profiles", "efficiency"].map(|f| format!("xie2013/{f}"));
    let figures = figures.each_ref().map(String::as_str);
    let folder = path("");
    optimize(&[&["reproduce", "--quick", "--quiet", "--output", &folder, "--cache", &folder], &figures[..]].concat());
    for (name, rows) in [("xie2013/fig4", 6), ("xie2013/listings", 7)] {
        let csv = fs::read_to_string(path(&format!("{name}.csv"))).unwrap();
        assert_eq!(csv.lines().skip(1).filter(|line| line.ends_with(",equal")).count(), rows, "{csv}");
        assert_eq!(csv.lines().count(), rows + 1);
    }
    let points = fs::read_to_string(path("xie2013/fig2-quick.csv")).unwrap();
    assert_eq!(points.lines().count(), 65);
    assert!(fs::read_to_string(path("xie2013/fig2-quick.md")).unwrap().contains("extreme is best"));
    // The table has eleven kernels at three sizes each, except for one kernel that has a single size.
    let speedups = fs::read_to_string(path("xie2013/fig5-quick.csv")).unwrap();
    assert_eq!(speedups.lines().count(), 1 + 11 * 3 - 2);
    for figure in ["mrq", "efficiency"] {
        let rows = fs::read_to_string(path(&format!("xie2013/{figure}-quick.rows.csv"))).unwrap();
        assert!(rows.lines().count() == 3 && !rows.contains(",sign,false,"), "{rows}");
    }
    // For each of the six kernels, the profile (a simulation without timing) and the cycle-level simulation
    // may differ by at most 5 percent in the number of hits.
    let profiles = fs::read_to_string(path("xie2013/profiles-quick.csv")).unwrap();
    let hits =
        |line: &str| line.split(',').skip(2).take(2).map(|hits| hits.parse::<f64>().unwrap()).collect::<Vec<_>>();
    let hits: Vec<_> = profiles.lines().skip(1).map(hits).collect();
    assert!(hits.len() == 6 && hits.iter().all(|hits| (hits[0] - hits[1]).abs() <= 0.05 * hits[0]), "{profiles}");
}
