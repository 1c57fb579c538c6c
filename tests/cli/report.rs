//! Tests of HTML reports: figures equal the statistics, a report needs no other file, and no name can break
//! the HTML markup.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use roxmltree::{Document, Node, ParsingOptions};
use serde_json::Value;

use super::{root, warpsieve};

const SYRK: &str = "kernels/syrk/small";
const BOTH: [&str; 2] = ["--design-set", "baseline,pric"];

/// Runs a command with `--report` in an existing folder, and returns the text of the report.
pub(super) fn written(folder: &Path, arguments: &[&str]) -> String {
    let path = folder.join("report.html");
    let ended = warpsieve(&[arguments, &["--quiet", "--report", path.to_str().unwrap()]].concat());
    assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    fs::read_to_string(path).unwrap()
}

/// Parses a report as XML. Checks that it needs no other file and that its ids are unique.
fn parse(text: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).unwrap_or_else(|error| panic!("{error}:\n{text}"));
    let mut ids = BTreeSet::new();
    for node in document.descendants().filter(Node::is_element) {
        assert!(
            !["script", "link", "iframe", "object", "img", "image", "use"].contains(&node.tag_name().name()),
            "{node:?}"
        );
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(!name.starts_with("on") && name != "src", "{attribute:?}");
            assert!(name != "href" || value.starts_with('#'), "{attribute:?}");
            assert!(!value.contains("url(") || name == "fill" && value.starts_with("url(#hatch-"), "{attribute:?}");
            assert!(name != "id" || ids.insert(value.to_owned()), "`{value}` twice");
        }
    }
    for link in document.descendants().filter_map(|node| node.attribute("href")) {
        assert!(ids.contains(&link[1..]), "{link} leads nowhere");
    }
    let style = document.descendants().find(|node| node.has_tag_name("style")).unwrap().text().unwrap();
    assert!(!style.contains("url(") && !style.contains("@import"));
    document
}

fn text(node: Node<'_, '_>) -> String {
    let texts = node.descendants().filter(Node::is_text).filter_map(|node| node.text());
    texts.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

fn by_id<'a>(document: &'a Document<'_>, id: &str) -> Node<'a, 'a> {
    let found = document.descendants().find(|node| node.attribute("id") == Some(id));
    found.unwrap_or_else(|| panic!("no `{id}`"))
}

/// Returns the texts in an HTML table, row by row.
fn rows(document: &Document<'_>, id: &str) -> Vec<Vec<String>> {
    let rows = by_id(document, id).descendants().filter(|node| node.has_tag_name("tr"));
    rows.map(|row| row.children().filter(Node::is_element).map(text).collect()).collect()
}

/// Returns the texts in one column of an HTML table, each with the text in the first column of the same row.
fn column(document: &Document<'_>, id: &str, head: &str) -> Vec<(String, String)> {
    let rows = rows(document, id);
    let at = rows[0].iter().position(|cell| cell == head).unwrap_or_else(|| panic!("no {head} in {:?}", rows[0]));
    rows[1..].iter().map(|row| (row[0].clone(), row[at].clone())).collect()
}

fn group_digits(number: &Value) -> String {
    warpsieve::text::format_thousands(number.as_u64().unwrap())
}

fn pairs<const N: usize>(pairs: [(&str, String); N]) -> [(String, String); N] {
    pairs.map(|(name, value)| (name.to_owned(), value))
}

#[test]
fn the_figures_of_a_run_are_those_of_its_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let stats = folder.path().join("s.json");
    let machine = ["--design", "pric", "--set", "l1.mshr_entries=4"];
    let html = written(folder.path(), &[&["run", SYRK, "--stats", stats.to_str().unwrap()], &machine[..]].concat());
    let document = parse(&html);
    let stats: Value = serde_json::from_str(&fs::read_to_string(stats).unwrap()).unwrap();

    let figures = rows(&document, "figures");
    let figure = |label: &str| &figures.iter().find(|row| row[0] == label).unwrap()[1];
    let ipc = stats["ipc"].as_f64().unwrap();
    assert!(figure("cycles").starts_with(&group_digits(&stats["cycles"])), "{figures:?}");
    assert!(figure("cycles").ends_with(&format!("IPC {ipc:.2}")), "{figures:?}");
    assert_eq!((figure("kernels").as_str(), figure("check").as_str()), ("syrk", "passed"));

    let loads = stats["loads"].as_array().unwrap();
    let name = |load: &Value| format!("syrk, line {}", load["line"]);
    for (head, key) in [("accesses", "accesses"), ("misses", "misses"), ("bypasses", "bypasses")] {
        let mut expected: Vec<_> = loads.iter().map(|load| (name(load), group_digits(&load[key]))).collect();
        expected.sort();
        let mut found = column(&document, "load", head);
        found.sort();
        assert_eq!(found, expected, "{head}");
    }
    let ptx = fs::read_to_string(root().join("kernels/syrk/syrk.ptx")).unwrap();
    let line = loads[0]["line"].as_u64().unwrap() as usize;
    let line = ptx.lines().nth(line - 1).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(column(&document, "load", "PTX").contains(&(name(&loads[0]), line)));

    let [dynamic, leakage] = ["dynamic_pj", "leakage_pj"].map(|key| stats["energy"][key].as_f64().unwrap() / 1e6);
    assert_eq!(column(&document, "component", "uJ")[0], pairs([("all", format!("{:.3}", dynamic + leakage))])[0]);
    let area = warpsieve(&[&["area", "--format", "json"], &machine[..]].concat());
    let area: Value = serde_json::from_str(&area.out).unwrap();
    // The whole machine takes hundreds of mm2, of which the table has three digits.
    let mm2 = format!("{:.0}", area["um2"].as_f64().unwrap() / 1e6);
    assert_eq!(column(&document, "area-blocks", "ALL: mm2")[0].1, mm2);

    let stalls = stats["stalls"].as_object().unwrap();
    let all = stalls.values().filter_map(Value::as_u64).sum::<u64>() + stats["warp_instructions"].as_u64().unwrap();
    let memory = 100.0 * stalls["scoreboard_memory"].as_f64().unwrap() / all as f64;
    let found = column(&document, "stall", "% of all slots");
    assert!(found.contains(&("scoreboard_memory".to_owned(), format!("{memory:.1}"))), "{found:?}");
    let refused = group_digits(&stats["l1"]["reservation_fails"]["mshr_entry"]);
    assert!(rows(&document, "refusal").iter().any(|row| row[..3] == ["L1D", "mshr_entry", &refused]));
    let answers: u64 = loads.iter().map(|load| load["answers"].as_u64().unwrap()).sum();
    let classes = column(&document, "latency-loads", "number");
    let number = |(_, number): &(String, String)| number.replace(',', "").parse::<u64>().unwrap();
    assert_eq!(classes.iter().map(number).sum::<u64>(), answers);

    let changed = rows(&document, "changed");
    let index = changed.iter().find(|row| row[0] == "l1.index").unwrap();
    assert!(index[3].starts_with("machines/designs/pric.toml, line "), "{changed:?}");
    let entries = changed.iter().find(|row| row[0] == "l1.mshr_entries").unwrap();
    assert_eq!(entries[1..], ["4", "32", "--set l1.mshr_entries=4"]);
    assert_eq!(changed.len(), 1 + 2);
    let config = warpsieve(&[&["config"], &machine[..]].concat()).out;
    let hash = config.lines().next().unwrap().strip_prefix("# config_hash ").unwrap();
    assert!(text(by_id(&document, "configuration")).contains(hash));
    let ways = rows(&document, "fields").into_iter().find(|row| row[0] == "l1.ways").unwrap();
    let place = ways[2].strip_prefix("machines/fermi.toml, line ").unwrap().parse::<usize>().unwrap();
    let machine = fs::read_to_string(root().join("machines/fermi.toml")).unwrap();
    assert!(machine.lines().nth(place - 1).unwrap().starts_with(&format!("ways = {}", ways[1])), "{ways:?}");
}

#[test]
fn a_run_is_drawn_over_its_time_in_no_more_than_four_hundred_steps() {
    let folder = tempfile::tempdir().unwrap();
    let html = written(folder.path(), &["run", SYRK]);
    let document = parse(&html);
    let charts: Vec<_> = by_id(&document, "time")
        .descendants()
        .filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "svg")))
        .collect();
    assert_eq!(charts.len(), 5);
    for chart in charts {
        let lines = chart.descendants().filter(|node| node.attribute("stroke") == Some("#0072B2"));
        let points = lines.filter_map(|line| line.attribute("points")).map(|points| points.split_whitespace().count());
        let points: usize = points.sum();
        assert!((2..800).contains(&points), "{points}: {}", text(chart));
    }
}

#[test]
fn a_name_that_is_markup_stays_a_name_and_two_runs_write_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let launch = folder.path().join("<b>&\"'\u{1b}.toml");
    let text_of = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    fs::write(&launch, text_of("kernels/vadd/launch.toml").replacen("n = 262144", "n = 5000", 1)).unwrap();
    fs::write(folder.path().join("vadd.ptx"), text_of("kernels/vadd/vadd.ptx")).unwrap();
    let launch = launch.to_str().unwrap();
    let html = written(folder.path(), &["run", launch]);
    let document = parse(&html);
    let title = text(document.descendants().find(|node| node.has_tag_name("h1")).unwrap());
    assert_eq!(title, format!("{} on fermi", launch.replace('\u{1b}', "\u{fffd}")));
    assert!(document.descendants().all(|node| !node.has_tag_name("b")));
    assert_eq!(html, written(folder.path(), &["run", launch, "--threads", "2"]));
    let compared = written(folder.path(), &["compare", launch, BOTH[0], BOTH[1]]);
    parse(&compared);
    assert_eq!(compared, written(folder.path(), &["compare", launch, BOTH[0], BOTH[1], "--jobs", "1"]));
}

#[test]
fn a_run_that_is_cut_short_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.html");
    let ended = warpsieve(&["run", SYRK, "--quiet", "--max-cycles", "300", "--report", path.to_str().unwrap()]);
    assert_eq!(ended.status, Some(3), "{ended:?}");
    let html = fs::read_to_string(&path).unwrap();
    let summary = text(by_id(&parse(&html), "summary"));
    assert!(summary.contains("stopped after 300 cycles (`--max-cycles`), before the kernels were done"), "{summary}");
    assert!(html.contains("Stopped at the cycle limit"));

    let path = path.to_str().unwrap();
    let ended = warpsieve(&["compare", SYRK, BOTH[0], BOTH[1], "--quiet", "--max-cycles", "300", "--report", path]);
    assert_eq!(ended.status, Some(3), "{ended:?}");
    let html = fs::read_to_string(path).unwrap();
    let summary = text(by_id(&parse(&html), "run0-1-summary"));
    assert!(
        summary.ends_with("Warnings and notes stopped after 300 cycles, before the kernels were done"),
        "{summary}"
    );
}

#[test]
fn a_trace_has_a_report_with_its_warnings() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.html");
    let ended =
        warpsieve(&["replay", "tests/corpus/traces/volta.traceg", "--quiet", "--report", path.to_str().unwrap()]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let html = fs::read_to_string(path).unwrap();
    let (document, said) = (parse(&html), ended.err.trim());
    assert!(!said.is_empty(), "the trace has wide addresses");
    let summary = text(by_id(&document, "summary"));
    assert!(summary.ends_with(&format!("Warnings and notes {said}")), "{summary}");
    assert_eq!(text(by_id(&document, "loads")), "Loads by line No load of a PTX kernel reached a cache.");
}

#[test]
fn a_comparison_has_every_run_and_what_changed_against_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let html = written(folder.path(), &["compare", SYRK, BOTH[0], BOTH[1]]);
    let document = parse(&html);
    let json = warpsieve(&["compare", SYRK, BOTH[0], BOTH[1], "--quiet", "--format", "json"]);
    let table: Vec<Value> = serde_json::from_str(&json.out).unwrap();
    let cycles = rows(&document, "results")[1..].iter().map(|row| (row[1].clone(), row[2].clone())).collect::<Vec<_>>();
    let expected =
        [0, 1].map(|at| (table[at]["variant"].as_str().unwrap().to_owned(), group_digits(&table[at]["cycles"])));
    assert_eq!(cycles, expected);
    for (variant, (_, cycles)) in expected.iter().enumerate() {
        let figures = rows(&document, &format!("run0-{variant}-figures"));
        let row = figures.iter().find(|row| row[0] == "cycles").unwrap();
        assert!(row[1].starts_with(cycles), "{figures:?}");
        assert!(rows(&document, &format!("machine{variant}-fields")).len() > 100);
    }
    let speedup = table[1]["speedup"].as_f64().unwrap();
    let changes = text(by_id(&document, "run0-1-run"));
    let sentence = format!("{} cycles in A, {} in B, speed-up {speedup:.2}.", expected[0].1, expected[1].1);
    assert!(changes.contains(&sentence), "{changes}");
    assert!(changes.contains("issue slots") && !text(by_id(&document, "run0-0-run")).contains("issue slots"));
    let bars = by_id(&document, "bars").descendants().filter(|node| node.attribute("fill") == Some("#0072B2"));
    assert_eq!(bars.count(), 3 * 2, "a bar a chart and design");
}

#[test]
fn a_sweep_has_its_table_its_picture_and_what_sets_the_machines_apart() {
    let folder = tempfile::tempdir().unwrap();
    let [file, csv] = ["s.toml", "s.csv"].map(|name| folder.path().join(name));
    let launch = root().join("kernels/vadd").canonicalize().unwrap().join("small");
    fs::write(&file, format!("launch = '{}'\nset.l1.ways = [2, 4]\n", launch.display())).unwrap();
    let sweep = ["sweep", file.to_str().unwrap(), "--csv", csv.to_str().unwrap()];
    let html = written(folder.path(), &[&sweep[..], &["--plot-of", "cycles"]].concat());
    let document = parse(&html);
    let mut csv = csv::Reader::from_path(csv).unwrap();
    let head: Vec<String> = csv.headers().unwrap().iter().map(str::to_owned).collect();
    let lines: Vec<Vec<String>> = csv.deserialize().map(Result::unwrap).collect();
    assert_eq!(rows(&document, "counter"), [vec![head], lines].concat());
    let machines = rows(&document, "machine");
    assert_eq!((machines[1][2].as_str(), machines[2][2].as_str()), ("", "l1.ways = 4 instead of 2"));
    let picture = text(by_id(&document, "picture"));
    assert!(picture.contains("core cycles") && picture.contains("l1.ways"), "{picture}");
}

#[test]
fn figures_stand_in_a_report_with_their_charts_and_judged_rows() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().to_str().unwrap();
    let html = written(folder.path(), &["reproduce", "li2015/fig3", "--quick", "--output", output]);
    let document = parse(&html);
    let judged = fs::read_to_string(folder.path().join("li2015/fig3-quick.rows.csv")).unwrap();
    let passed = judged.lines().filter(|line| line.contains(",true,true,")).count();
    let rows = rows(&document, "held");
    let judged_rows = judged.lines().count() - 1;
    assert_eq!(rows[1], ["li2015/fig3-quick", &passed.to_string(), &judged_rows.to_string(), "0"]);
    let page = by_id(&document, "page-li2015/fig3-quick");
    let svg = fs::read_to_string(folder.path().join("li2015/fig3-quick.svg")).unwrap();
    assert!(html.contains(svg.trim()) && text(page).contains(&format!("{passed} of {} rows hold.", rows[1][2])));
}

#[test]
fn a_report_takes_the_place_of_no_other_file_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.html");
    let path = path.to_str().unwrap();
    warpsieve(&["run", SYRK, "--report", path, "--timeline", path])
        .assert_refused(&["`--timeline` is", "expected a file other than `--report`"]);
    warpsieve(&["compare", SYRK, "--report", path, "--output", path])
        .assert_refused(&["`--report` is", "expected a file other than `--output`"]);
    warpsieve(&["reproduce", "suite", "--report", "kernels/vadd/small"]).assert_refused(&[
        "invalid value 'kernels/vadd/small' for '--report <FILE.html>': expected a name that ends in .html",
    ]);
    warpsieve(&["run", SYRK, "--report", "no/such/folder/r.html"]).assert_refused(&["the report cannot be written"]);
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
}
