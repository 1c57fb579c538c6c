//! Tests the command `compare`, which runs launch files on several machines side by side.

use serde_json::Value;

use super::warpsieve;

const SMALL: &str = "kernels/syrk/small";

fn rows(arguments: &[&str]) -> Vec<Value> {
    // The test starts with an empty cache of run results. Results that an earlier build cached would hide
    // errors of this build.
    let cache = tempfile::tempdir().unwrap();
    let ended =
        warpsieve(&[&["compare", "--format", "json", "--cache", cache.path().to_str().unwrap()], arguments].concat());
    assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    serde_json::from_str(&ended.out).unwrap()
}

#[test]
fn every_design_meets_every_swept_value_and_is_held_against_the_first() {
    let rows = rows(&[SMALL, "--design-set", "baseline,bypass-all", "--set", "l1.ways=1,4", "--set", "l1.sets=32"]);
    let labels: Vec<_> = rows.iter().map(|row| row["variant"].as_str().unwrap()).collect();
    let all = ["baseline l1.ways=1", "baseline l1.ways=4", "bypass-all l1.ways=1", "bypass-all l1.ways=4"];
    assert_eq!(labels, all.map(|label| format!("{label} l1.sets=32")));
    let first = rows[0]["cycles"].as_u64().unwrap() as f64;
    for row in &rows {
        assert_eq!(row["speedup"].as_f64().unwrap(), first / row["cycles"].as_u64().unwrap() as f64);
        let parts: f64 = row["schedulers"].as_object().unwrap().values().map(|part| part.as_f64().unwrap()).sum();
        assert!((parts - 1.0).abs() < 1e-9, "{row}");
    }
    assert_eq!((&rows[2]["cycles"], &rows[2]["l1_hits"]), (&rows[3]["cycles"], &rows[3]["l1_hits"]));
    assert!(rows[1]["l1_hits"].as_f64() > rows[2]["l1_hits"].as_f64());
}

#[test]
fn what_a_run_counts_does_not_depend_on_its_neighbours() {
    let launches = [SMALL, "kernels/vadd/small", "kernels/bfs/small"];
    let alone = launches.map(|launch| rows(&[launch, "--jobs", "1"]).remove(0));
    assert_eq!(rows(&[&launches[..], &["--jobs", "3"]].concat()), alone);
}

#[test]
fn every_cell_stands_under_its_heading() {
    let ended = warpsieve(&["compare", SMALL, "--format", "csv"]);
    let lines: Vec<Vec<&str>> = ended.out.lines().map(|line| line.split(',').collect()).collect();
    let [head, cells] = lines.as_slice() else { panic!("{ended:?}") };
    assert_eq!(head.len(), cells.len(), "{ended:?}");
    let row = rows(&[SMALL]).remove(0);
    let shares = row["schedulers"].as_object().unwrap();
    for (reason, share) in shares {
        let column = head.iter().position(|name| *name == format!("{reason} %")).unwrap();
        assert_eq!(cells[column], format!("{:.1}", 100.0 * share.as_f64().unwrap()), "{reason}");
    }
    assert!(shares.len() == 11 && shares["scoreboard_memory"].as_f64() > shares["barrier"].as_f64(), "{row}");
}

#[test]
fn a_table_ends_with_the_caches_that_evict_nothing() {
    let sets = ["compare", SMALL, "--quiet", "--set", "l1.ways=1,4"];
    let note = "no evictions: L1D in 1 of 2 runs, L2 in 2 of 2 runs; every fill found an empty way, so no replacement, index or \
                bypass scheme can save a miss there";
    let table = warpsieve(&sets).out;
    assert_eq!(table.lines().last(), Some(note), "{table}");
    let table = warpsieve(&[&sets[..], &["--format", "markdown"]].concat()).out;
    assert!(table.ends_with(&format!("|\n\n{note}\n")), "{table}");
    // The text and Markdown tables end with a note that names the caches without evictions. The CSV format
    // has a column with the number of evictions instead.
    let table = warpsieve(&[&sets[..], &["--format", "csv"]].concat()).out;
    assert!(table.contains(",L1 evictions,") && !table.contains("no evictions"), "{table}");
    let rows = rows(&sets[1..]);
    assert_eq!((&rows[0]["no_evictions"], &rows[1]["l1_evictions"]), (&serde_json::json!(["l2"]), &0.into()));
    assert!(rows[0]["l1_evictions"].as_u64() > Some(0), "{rows:?}");
}

#[test]
fn columns_are_chosen_by_name() {
    let with = |columns| warpsieve(&["compare", "vadd/small", "--set", "l1.ways=8", "--columns", columns]);
    let ended = with("on,L1 hit %,check");
    let cells =
        |line: &str| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect();
    let lines: Vec<Vec<String>> = ended.out.lines().map(cells).collect();
    assert_eq!(lines[0], ["on", "L1 hit %", "check"], "{ended:?}");
    assert!(lines[1].len() == 3 && lines[1][0] == "baseline l1.ways=8" && lines[1][2] == "passed", "{ended:?}");
    with("cycle")
        .assert_refused(&["`--columns` names `cycle`, expected names among launch-file, on", "did you mean `cycles`?"]);
}

#[test]
fn a_value_that_breaks_a_rule_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("table.md");
    let ended = warpsieve(&["compare", SMALL, "--set", "l1.sets=32,33", "--output", output.to_str().unwrap()]);
    ended.assert_refused(&["l1.sets is 33", "--set:1:9"]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn pric_runs_at_every_size_with_the_polynomial_of_that_size() {
    let sizes = ["--design-set", "baseline,pric", "--set", "l1.sets=32,64,128"];
    let rows = rows(&[&[SMALL, "--check"], &sizes[..]].concat());
    let labels: Vec<_> = rows.iter().map(|row| row["variant"].as_str().unwrap()).collect();
    assert_eq!(labels[3..], ["pric l1.sets=32", "pric l1.sets=64", "pric l1.sets=128"]);
    assert!(rows.iter().all(|row| row["check"] == "passed"), "{rows:?}");
    for arguments in
        [&["--machine", "hybrid", "--design-set", "pric"][..], &["--design", "ways-64", "--design-set", "pric"]]
    {
        assert_eq!(self::rows(&[&[SMALL, "--check"], arguments].concat())[0]["check"], "passed", "{arguments:?}");
    }
}

#[test]
fn a_row_names_the_designs_that_stand_under_those_of_the_set() {
    let labels = |arguments: &[&str]| -> Vec<String> {
        let rows = rows(&[&[SMALL, "--design", "pric"], arguments].concat());
        rows.iter().map(|row| row["variant"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(labels(&["--set", "l1.ways=2"]), ["pric l1.ways=2"]);
    assert_eq!(labels(&["--design-set", "baseline,bypass-all"]), ["pric", "pric+bypass-all"]);
}

#[test]
fn what_would_label_rows_wrongly_is_refused() {
    let refused = |arguments: &[&str], message: &[&str]| {
        warpsieve(&[&["compare", SMALL], arguments].concat()).assert_refused(message);
    };
    refused(&["--set", "l1.sets=1,2", "--set", "l1.sets=64"], &["1 problem", "`l1.sets` is given twice", "l1.sets=64"]);
    refused(&["--set", "l1.sets=64,32,64"], &["`--set` gives `l1.sets=64` twice"]);
    refused(&["--design-set", "pric,baseline,pric"], &["`--design-set` gives `pric` twice"]);
}

#[test]
fn every_wrong_name_of_a_design_set_is_reported_at_its_place() {
    let ended = warpsieve(&["compare", SMALL, "--design-set", "baseline,prik,frk", "--set", "l1.sets=48"]);
    ended.assert_refused(&[
        "the configuration has 3 problems",
        "l1.sets is 48",
        "there is no design `prik`",
        "[--design-set:1:10]",
        "there is no design `frk`",
        "[--design-set:1:15]",
        "baseline,prik,frk",
    ]);
}

#[test]
fn a_run_that_is_stopped_is_named_and_leaves_its_row() {
    let ended = warpsieve(&["compare", SMALL, "--max-cycles", "100", "--format", "csv"]);
    assert_eq!(ended.status, Some(3), "{ended:?}");
    assert!(ended.err.contains("kernels/syrk/small on baseline: stopped after 100 cycles"), "{ended:?}");
    assert!(ended.out.ends_with("cycle limit\n"), "{ended:?}");
}

#[test]
fn a_comparison_is_drawn_by_launch_file_with_the_mean_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let [svg, pdf] = ["a.svg", "a.pdf"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let designs = ["--design-set", "baseline,pric"];
    for path in [&svg, &pdf] {
        let launches = ["compare", SMALL, "kernels/vadd/small"];
        let ended = warpsieve(&[&launches[..], &designs, &["--plot", path]].concat());
        assert_eq!(ended.status, Some(0), "{ended:?}");
        assert!(ended.err.contains(&format!("wrote {path}")), "{ended:?}");
    }
    let text = std::fs::read_to_string(&svg).unwrap();
    for name in ["speed-up over the baseline", "baseline", "pric", "geomean", "vadd", SMALL.split('/').nth(1).unwrap()]
    {
        assert!(text.contains(&format!("\n{name}\n")), "no {name}: {text}");
    }
    assert!(text.starts_with("<svg width=\"7.0000in\""), "{text}");
    assert!(std::fs::read(&pdf).unwrap().starts_with(b"%PDF-"));
    warpsieve(&["compare", SMALL, "--plot", &svg, "--plot-of", "cyclez"]).assert_refused(&["`--plot-of` is cyclez"]);
    warpsieve(&["compare", SMALL, "--plot", SMALL]).assert_refused(&["expected a name that ends in .svg or .pdf"]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}
