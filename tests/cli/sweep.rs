//! Tests the command `sweep`, which runs many configurations: cached runs, killed runs, shards, tables,
//! pictures, and errors in a sweep file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use papers::store::encode_entry;
use serde_json::{Map, Value};

use super::{CommandResult, root, warpsieve};

/// Recomputes the hash of a cached run whose result a test has changed. Returns the new text of the cached
/// run.
fn with_digest(text: &str) -> String {
    let found: Value = serde_json::from_str(text).unwrap();
    encode_entry(found["key"].as_str().unwrap(), &found["value"]).unwrap()
}

/// Temporary folder with a sweep file, and with the cache and the outputs of its sweeps.
struct Folder(tempfile::TempDir);

impl Folder {
    /// Creates a folder and writes the sweep file. In the text, `KERNELS` stands for the folder of the
    /// kernels.
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kernels = root().join("kernels").canonicalize().unwrap();
        fs::write(folder.path().join("s.toml"), text.replace("KERNELS", kernels.to_str().unwrap())).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns a `warpsieve` command to run in this folder. Its arguments are the words of the text `words`.
    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
        command.args(words.split_whitespace()).current_dir(self.0.path());
        command.env("XDG_CACHE_HOME", self.path("user"));
        command
    }

    fn runs(&self, words: &str) -> CommandResult {
        CommandResult::of(&mut self.command(words))
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Returns the files of all cached results, each with the time of its last change.
    fn list_cached(&self, cache: &str) -> BTreeMap<PathBuf, SystemTime> {
        let below = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
        let files = below(self.path(cache)).flat_map(below).filter(|path| path.extension().unwrap() == "json");
        files.map(|path| (path.clone(), fs::metadata(path).unwrap().modified().unwrap())).collect()
    }
}

/// Returns each row of a CSV file as a map from column name to value.
fn rows(csv: &str) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_reader(csv.as_bytes()).deserialize().map(Result::unwrap).collect()
}

const SMALL: &str = "
launch = 'KERNELS/vadd/small'
design = ['baseline', 'pric']
[set]
l1.ways = [2, 4]
";

#[test]
fn runs_that_were_kept_are_not_made_again_and_give_the_same_bytes() {
    let folder = Folder::new(SMALL);
    let outputs = |name: &str| format!("sweep s.toml --cache c --csv {name}.csv --json {name}.jsonl --plot {name}.svg");
    let first = folder.runs(&outputs("a"));
    assert_eq!((first.status, first.err.as_str()), (Some(0), ""), "{first:?}");
    let kept = folder.list_cached("c");
    assert_eq!(kept.len(), 4);
    let second = folder.runs(&outputs("b"));
    assert_eq!(second.out.replace("b.", "a."), first.out);
    for end in ["csv", "jsonl", "svg"] {
        assert_eq!(folder.read(&format!("a.{end}")), folder.read(&format!("b.{end}")), "{end}");
    }
    // A new parameter value in the sweep file adds new runs. The runs that are already cached are not
    // repeated.
    fs::write(folder.path("s.toml"), folder.read("s.toml").replace("[2, 4]", "[2, 4, 8]")).unwrap();
    folder.runs(&outputs("c"));
    let more = folder.list_cached("c");
    assert_eq!(more.len(), 6);
    assert!(kept.iter().all(|(path, time)| more.get(path) == Some(time)));
}

#[test]
fn the_short_form_finds_what_a_sweep_has_kept() {
    let folder = Folder::new(SMALL);
    folder.runs("sweep s.toml --cache c");
    let kept = folder.list_cached("c");
    let launch = root().join("kernels/vadd").canonicalize().unwrap().join("small");
    let words =
        format!("compare {} --design-set baseline,pric --set l1.ways=2,4 --cache c --format json", launch.display());
    let compared: Vec<Value> = serde_json::from_str(&folder.runs(&words).out).unwrap();
    assert_eq!((compared.len(), folder.list_cached("c")), (4, kept));
    let csv = folder.runs("sweep s.toml --cache c --csv a.csv");
    let cycles = |row: &BTreeMap<String, String>| row["cycles"].parse::<u64>().unwrap();
    let swept: Vec<_> = rows(&folder.read("a.csv")).iter().map(cycles).collect();
    assert_eq!(swept, compared.iter().map(|row| row["cycles"].as_u64().unwrap()).collect::<Vec<_>>(), "{csv:?}");
}

/// Sweep file with eight runs, each of which takes a few tenths of a second.
const LONGER: &str = "
launch = 'KERNELS/../docs/example/rowsum.toml'
[set]
l1.mshr_entries = [16, 32]
l1.ways = [1, 2, 4, 8]
";

#[test]
fn a_sweep_that_is_killed_goes_on_where_it_was() {
    let folder = Folder::new(LONGER);
    let whole = folder.runs("sweep s.toml --cache whole --csv whole.csv --json whole.jsonl --plot whole.svg --jobs 1");
    assert_eq!(whole.status, Some(0), "{whole:?}");
    let words = "sweep s.toml --cache c --csv a.csv --json a.jsonl --plot a.svg --jobs 1";
    let mut killed = folder.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while folder.list_cached("c").len() < 3 {
        sleep(Duration::from_millis(5));
    }
    killed.kill().unwrap();
    assert!(!killed.wait().unwrap().success());
    // After the sweep was killed, its CSV table must contain only complete rows.
    let partial = rows(&folder.read("a.csv"));
    assert!(partial.len() < 8 && partial.iter().all(|row| row.contains_key("l1.ways")), "{partial:?}");
    let kept = folder.list_cached("c");
    let resumed = folder.runs(words);
    assert_eq!((resumed.status, resumed.out.replace("a.", "whole.")), (Some(0), whole.out), "{}", resumed.err);
    for end in ["csv", "jsonl", "svg"] {
        assert_eq!(folder.read(&format!("a.{end}")), folder.read(&format!("whole.{end}")), "{end}");
    }
    let all = folder.list_cached("c");
    assert!(all.len() == 8 && kept.len() >= 3 && kept.iter().all(|(path, time)| all.get(path) == Some(time)));
    let names = |cache| {
        folder.list_cached(cache).into_keys().map(|path| path.file_name().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("c"), names("whole"));
}

#[test]
fn an_interrupted_sweep_tells_and_writes_what_is_complete() {
    let folder = Folder::new(LONGER);
    let words = "sweep s.toml --cache c --csv a.csv --jobs 1";
    let running = folder.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while folder.list_cached("c").len() < 2 {
        sleep(Duration::from_millis(5));
    }
    assert!(Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap().success());
    let ended = running.wait_with_output().unwrap();
    let err = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(130), "{err}");
    let complete = rows(&folder.read("a.csv")).len();
    assert!((2..8).contains(&complete), "{complete}");
    assert!(
        err.ends_with(&format!("interrupted: {complete} of 8 runs are complete, the others are missing\n")),
        "{err}"
    );
}

#[test]
fn shards_together_are_the_whole() {
    let folder = Folder::new(SMALL);
    let outputs = |name: &str| format!("--csv {name}.csv --json {name}.jsonl --plot {name}.svg");
    folder.runs(&format!("sweep s.toml --cache whole {}", outputs("whole")));
    assert_eq!(folder.runs("sweep s.toml --cache one --shard 1/3 --csv one.csv").status, Some(0));
    assert_eq!(rows(&folder.read("one.csv")).len(), 2, "the first and the fourth of four");
    assert_eq!(folder.runs("sweep s.toml --cache two --shard 2/3").status, Some(0));
    folder.runs("sweep gather s.toml --cache one --cache two --csv no.csv").assert_refused(&[
        "1 of 4 runs is missing",
        "KERNELS/vadd/small on pric l1.ways=2"
            .replace("KERNELS", root().join("kernels").canonicalize().unwrap().to_str().unwrap())
            .as_str(),
    ]);
    assert!(!folder.path("no.csv").exists());
    assert_eq!(folder.runs("sweep s.toml --cache two --shard 3/3").status, Some(0));
    let gathered = folder.runs(&format!("sweep gather s.toml --cache one --cache two {}", outputs("all")));
    assert_eq!(gathered.status, Some(0), "{gathered:?}");
    for end in ["csv", "jsonl", "svg"] {
        assert_eq!(folder.read(&format!("all.{end}")), folder.read(&format!("whole.{end}")), "{end}");
    }
    // The cache folder `three` gets a changed result. It contradicts the result of the same run in another
    // cache folder.
    folder.runs("sweep s.toml --cache three --shard 1/3");
    let (path, _) = folder.list_cached("three").pop_first().unwrap();
    let cycles = rows(&folder.read("one.csv")).remove(0)["cycles"].clone();
    let text = fs::read_to_string(&path).unwrap();
    let other = text.replacen(&format!("\"cycles\":{cycles}"), "\"cycles\":1", 1);
    assert_ne!(other, text);
    fs::write(&path, with_digest(&other)).unwrap();
    let both = folder.runs("sweep gather s.toml --cache one --cache two --cache three");
    both.assert_refused(&["1 of 4 runs has more than one result", "vadd/small on "]);
    folder.runs("sweep gather s.toml --cache four").assert_refused(&["`--cache` is four, expected a folder"]);
}

#[test]
fn tables_for_programs_agree_to_the_last_bit_and_keep_odd_names() {
    let folder = Folder::new(
        "
launch = [{ name = 'one, \"two\"', launch = 'KERNELS/syrk/small' }, 'KERNELS/sgemm/small']
design = ['baseline', { name = 'both', design = ['pric', 'bypass-all'] }]
[together]
size = [{ name = '16 KB', l1.sets = 32 }, { l1.sets = 64, l1.ways = 8 }]
[baseline]
size = '16 KB'
",
    );
    let ended = folder.runs("sweep s.toml --cache c --csv a.csv --json a.jsonl");
    assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    let csv = rows(&folder.read("a.csv"));
    let json: Vec<Map<String, Value>> =
        folder.read("a.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((csv.len(), json.len()), (8, 8));
    for (csv, json) in csv.iter().zip(&json) {
        assert!(csv.keys().eq(json.keys()));
        for (name, cell) in csv {
            let same = match &json[name] {
                Value::Null => cell.is_empty(),
                Value::String(text) => text == cell,
                Value::Number(number) => serde_json::from_str::<serde_json::Number>(cell).unwrap() == *number,
                other => panic!("{name}: {other}"),
            };
            assert!(same, "{name}: {cell} and {}", json[name]);
        }
    }
    let column = |name: &str| csv.iter().map(|row| row[name].as_str()).collect::<Vec<_>>();
    assert_eq!(column("launch")[..4], ["one, \"two\""; 4]);
    assert_eq!(column("design")[..4], ["baseline", "baseline", "both", "both"]);
    assert_eq!(column("size")[..2], ["16 KB", "l1.sets=64 l1.ways=8"]);
    assert_eq!((&column("l1.sets")[..2], &column("l1.ways")[..2]), (&["32", "64"][..], &["", "8"][..]));
    // The results come in pairs: a design with the small L1, and the same design with the large L1. The run
    // with the small L1 is the baseline of its pair.
    for pair in json.chunks(2) {
        let [own, other] = [&pair[1], &pair[0]].map(|row| row["cycles"].as_u64().unwrap() as f64);
        assert_eq!((&pair[0]["speedup"], pair[1]["speedup"].as_f64()), (&1.0.into(), Some(other / own)));
    }
    for row in &json {
        let number = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("no {name}"));
        let loads = number("l1.hits") + number("l1.hit_pending") + number("l1.misses") + number("l1.bypasses");
        assert_eq!(number("l1.accesses"), loads);
        let parts = ["sm", "partition", "xbar_req", "xbar_rsp", "dispatcher", "wires", "dram-devices"];
        let sum: f64 = parts.iter().map(|part| number(&format!("energy.{part}.dynamic_pj"))).sum();
        assert!((sum / number("energy.dynamic_pj") - 1.0).abs() < 1e-9 && number("area.mm2") > 1.0, "{row:?}");
        for name in
            ["l1.reservation_fails.mshr_entry", "stalls.scoreboard_memory", "dram.row_hits", "energy.sm.l1.leakage_pj"]
        {
            number(name);
        }
    }
}

/// Content of a picture: its size, the number of rectangles of each color, and the texts with their
/// positions.
struct Picture {
    size: [f64; 2],
    boxes: BTreeMap<String, usize>,
    texts: Vec<(String, [f64; 2])>,
}

fn picture(svg: &str) -> Picture {
    let document = roxmltree::Document::parse(svg).unwrap();
    let number = |node: &roxmltree::Node<'_, '_>, name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
    let root = document.root_element();
    let mut boxes = BTreeMap::new();
    for node in document.descendants().filter(|node| node.has_tag_name("rect")) {
        *boxes.entry(node.attribute("fill").unwrap().to_owned()).or_default() += 1;
    }
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    let texts = texts.map(|node| (node.text().unwrap().trim().to_owned(), [number(&node, "x"), number(&node, "y")]));
    // The attributes `width` and `height` are in inches, but positions are in units of the view box.
    let view = root.attribute("viewBox").unwrap().split(' ').map(|number| number.parse().unwrap());
    let [_, _, width, height] = *view.collect::<Vec<f64>>() else { panic!("{svg}") };
    Picture { size: [width, height], boxes, texts: texts.collect() }
}

impl Picture {
    #[track_caller]
    fn says(&self, words: &[&str]) {
        for word in words {
            assert!(self.texts.iter().any(|(text, _)| text == word), "no `{word}`: {:?}", self.texts);
        }
        let is_inside = |&[x, y]: &[f64; 2]| (0.0..self.size[0]).contains(&x) && (0.0..self.size[1]).contains(&y);
        assert!(self.texts.iter().all(|(_, place)| is_inside(place)), "{:?} in {:?}", self.texts, self.size);
    }
}

/// Number of rectangles in the color bar of a heat map.
const BAR: usize = 48;

#[test]
fn a_picture_is_written_as_its_ending_says_and_other_endings_are_refused() {
    let folder = Folder::new("launch = 'KERNELS/vadd/small'\ndesign = ['baseline', 'pric']");
    let ended = folder.runs("sweep s.toml --cache c --plot a.pdf --plot-width single");
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let page = fs::read(folder.path("a.pdf")).unwrap();
    let text = String::from_utf8_lossy(&page);
    assert!(text.starts_with("%PDF-") && text.contains("/MediaBox [0 0 237.6 "), "{text}");
    for command in ["sweep s.toml", "compare KERNELS/vadd/small"] {
        for name in ["a.png", "a", "a.svg.bak", "a.SVG"] {
            let ended = folder.runs(&format!("{command} --cache c --plot {name}"));
            ended.assert_refused(&[name, "--plot <FILE.svg|FILE.pdf>", "expected a name that ends in .svg or .pdf"]);
        }
    }
    folder.runs("sweep s.toml --cache c --plot-width single").assert_refused(&["--plot"]);
    folder.runs("sweep s.toml --cache c --plot a.svg --plot-width wide").assert_refused(&["wide", "single", "double"]);
}

#[test]
fn a_picture_has_bars_by_design_lines_over_a_number_and_a_map_over_two() {
    let drawn = |text: &str, options: &str| {
        let folder = Folder::new(text);
        let ended = folder.runs(&format!("sweep s.toml --cache c --plot a.svg {options}"));
        assert_eq!(ended.status, Some(0), "{ended:?}");
        picture(&folder.read("a.svg"))
    };
    let launches = "launch = [{ name = 'a < b', launch = 'KERNELS/vadd/small' }, { name = 'syrk', launch = 'KERNELS/syrk/small' }]\n";
    let bars = drawn(&format!("{launches}design = ['baseline', 'pric', 'bypass-all']"), "");
    bars.says(&["speed-up over the baseline", "a < b", "syrk", "geomean", "baseline", "pric", "bypass-all"]);
    // For each design, the picture has one bar per launch, one for the mean, and one in the legend. The bars
    // of all designs except the first are hatched.
    assert_eq!(["#0072B2", "#E69F00", "#009E73"].map(|colour| bars.boxes[colour]), [4; 3]);
    assert_eq!(bars.boxes.keys().filter(|fill| fill.starts_with("url(#hatch")).count(), 2, "{:?}", bars.boxes);
    let lines = drawn(&format!("{launches}set.l1.sets = [64, 16]"), "--plot-of cycles");
    lines.says(&["core cycles", "l1.sets", "16", "64", "a < b", "syrk"]);
    let place = |name: &str| lines.texts.iter().find(|(text, _)| text == name).unwrap().1[0];
    assert!(place("16") < place("64"));
    let map =
        "launch = 'KERNELS/vadd/small'\ndesign = ['baseline', 'pric']\nset.l1.sets = [16, 32]\nset.l1.ways = [2, 4, 8]";
    let maps = drawn(map, "--plot-of l1.misses");
    maps.says(&["l1.misses", "baseline", "pric", "l1.sets", "l1.ways", "2", "4", "8", "314"]);
    let fields = |maps: &Picture| maps.boxes.values().sum::<usize>() - BAR;
    assert_eq!(fields(&maps), 1 + 2 * 6, "{:?}", maps.boxes);
    let over = drawn(map, "--plot-of l1.misses --plot-over l1.ways");
    over.says(&["l1.misses", "l1.ways", "baseline l1.sets=16", "pric l1.sets=32"]);
    let words = drawn(map, "--plot-of l1.misses --plot-over l1.ways,design");
    words.says(&["l1.sets=16", "l1.sets=32", "l1.ways", "design", "baseline", "pric", "314"]);
    assert_eq!(fields(&words), 1 + 2 * 6, "{:?}", words.boxes);
    let ratios = drawn(map, "--plot-width single");
    ratios.says(&["speed-up over the baseline", "1"]);
    // A column of a paper is 3.3 inches wide. The picture's unit is a twentieth of a point: 72 * 20 units per
    // inch.
    assert_eq!(ratios.size[0], 3.3 * 72.0 * 20.0);
    Folder::new(map).runs("sweep s.toml --plot a.svg --plot-over design").assert_refused(&[
        "`--plot-over` is design, expected a parameter with several numbers: they are l1.sets, l1.ways",
    ]);
}

#[test]
fn traces_are_swept_beside_launch_files() {
    let folder = Folder::new("trace = 'traces/*.traceg'\nlaunch = 'KERNELS/vadd/small'\nset.l1.ways = [2, 4]\n");
    let exported = folder.runs(&format!(
        "trace export {} -o traces",
        root().join("kernels/vadd").canonicalize().unwrap().join("small").display()
    ));
    assert_eq!(exported.status, Some(0), "{exported:?}");
    let ended = folder.runs("sweep s.toml --cache c --csv a.csv");
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let rows = rows(&folder.read("a.csv"));
    let column = |name: &str| rows.iter().map(|row| row[name].as_str()).collect::<Vec<_>>();
    assert_eq!(column("launch")[2..], ["traces/kernel-1.traceg"; 2]);
    assert_eq!(column("l1.accesses"), ["314"; 4]);
    let kept = folder.list_cached("c");
    folder.runs("sweep s.toml --cache c");
    assert_eq!((kept.len(), folder.list_cached("c")), (4, kept));
    // A trace is identified by its content, so a changed trace must be simulated again.
    let trace = folder.path("traces/kernel-1.traceg");
    fs::write(&trace, fs::read_to_string(&trace).unwrap() + "\n").unwrap();
    folder.runs("sweep s.toml --cache c");
    assert_eq!(folder.list_cached("c").len(), 6);
}

#[test]
fn a_setting_of_one_value_stands_in_the_label_and_kernels_are_found_by_name() {
    let folder = Folder::new("launch = ['vadd/small', { name = 'v', launch = 'vadd/small' }]\nset.l1.ways = 8\n");
    let ended = folder.runs("sweep s.toml --cache c --columns launch-file,on");
    assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    let table = "launch file  on\nvadd/small   baseline l1.ways=8\nv            baseline l1.ways=8\nno evictions: ";
    assert!(ended.out.starts_with(table), "{ended:?}");
    folder.runs("sweep s.toml --cache c --columns launch-file,of").assert_refused(&["`--columns` names `of`"]);
}

#[test]
fn a_pattern_may_end_in_a_problem_size() {
    let folder = Folder::new("launch = 'KERNELS/[uv]*/small'\nmax_cycles = 100\n");
    let ended = folder.runs("sweep s.toml --cache c --csv a.csv");
    assert_eq!(ended.status, Some(3), "{ended:?}");
    let rows = rows(&folder.read("a.csv"));
    assert!(rows.len() == 2 && rows[0]["launch"].ends_with("urng/small"), "{rows:?}");
    Folder::new("launch = 'KERNELS/[uv]*/smal'\n").runs("sweep s.toml --cache c").assert_refused(&["none matches"]);
}

#[test]
fn values_of_a_launch_file_are_swept_by_their_paths() {
    let folder = Folder::new("launch = ['KERNELS/vadd/n=1000', 'vadd/small,n=2000', 'KERNELS/[uv]*/small,n=300']\n");
    let ended = folder.runs("sweep s.toml --cache c --csv a.csv");
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let rows = rows(&folder.read("a.csv"));
    let names: Vec<_> = rows.iter().map(|row| row["launch"].rsplit("kernels/").next().unwrap().to_owned()).collect();
    assert_eq!(names, ["vadd/n=1000", "vadd/small,n=2000", "vadd/small,n=300"]);
    assert_eq!(folder.list_cached("c").len(), 3);
    let wrong = Folder::new("launch = 'KERNELS/vadd/m=1000'\n").runs("sweep s.toml --cache c");
    wrong.assert_refused(&["`m=1000`: the file has no value `m` in `[size]`", "values: n, title"]);
}

#[test]
fn everything_wrong_with_a_file_is_named_with_its_line() {
    let refused = |text: &str, message: &[&str]| {
        let folder = Folder::new(text);
        folder.runs("sweep s.toml --cache c --csv a.csv").assert_refused(message);
        assert!(!folder.path("a.csv").exists() && folder.list_cached("c").is_empty());
    };
    let launch = "launch = 'KERNELS/vadd/small'\n";
    let with = |text: &str| format!("{launch}{text}");
    refused("", &["the file has neither `launch` nor `trace`"]);
    refused("launch = [", &["s.toml", "not TOML"]);
    refused(
        "launch = { name = 'a', launch = 's.toml' }\ntrace = { name = 'a', trace = 's.toml' }\n",
        &["`a` is the name of a launch file and of a trace"],
    );
    refused("launch = []", &["`launch` is [], expected one or more names or patterns of files"]);
    refused(
        "launch = ['no.toml', '*.no', 3]",
        &[
            "3 problems",
            "`launch[0]` is 'no.toml', expected a file: no.toml does not exist",
            "`launch[1]` is '*.no', expected a pattern with files: none matches *.no",
            "`launch[2]` is 3, expected the name or pattern of a file",
            "[s.toml:1:",
        ],
    );
    refused(&with("designs = ['pric']\n"), &["unknown key `designs`", "did you mean `design`?", "[s.toml:2:1]"]);
    refused(
        &with("check = 1\nmax_cycles = 0\n"),
        &["`check` is 1, expected true or false", "`max_cycles` is 0, expected 1 to "],
    );
    refused(&with("design = ['pric', 'pric']\n"), &["`pric` is given twice in `design`", "[s.toml:2:19]"]);
    refused(&with("set.l1.ways = []\n"), &["`set.l1.ways` is [], expected a value, or a list of at least one"]);
    refused(&with("set = 3\n"), &["`set` is 3, expected a table of settings"]);
    refused(
        &with("[together]\nsize = 3\n"),
        &["`together.size` is 3, expected an array of tables of settings that go together"],
    );
    refused(&with("[together]\ncycles = [{ l1.ways = 2 }]\n"), &["`cycles` is a column of the results"]);
    refused(&with("[together]\ndesign = [{ l1.ways = 2 }]\n"), &["`design` is the name of two columns"]);
    refused(
        &with("[baseline]\ndesign = 'pric'\nl1.ways = 4\n"),
        &[
            "`baseline.design` is 'pric', expected a value of `design`: baseline",
            "`l1.ways` is not a parameter of this sweep, expected one of machine, design",
        ],
    );
    refused(&with("machine = 'fermy'\n"), &["there is no machine `fermy`", "did you mean `fermi`?", "[s.toml:2:11]"]);
    refused(
        &with("design = ['prik', 'pric']\n\nset.l1.sets = [32, 33]\nset.l1.wayz = 2\n"),
        &[
            "there is no design `prik`",
            "l1.sets is 33, expected a power of two",
            "unknown key `l1.wayz`",
            "and 1 more: ",
            "[s.toml:4:20]",
        ],
    );
    let folder = Folder::new(&with(""));
    folder.runs("sweep no.toml").assert_refused(&["no.toml: cannot read the sweep file"]);
    folder.runs("sweep s.toml --shard 3/2").assert_refused(&["expected I/N with I from 1 to N"]);
    folder
        .runs("sweep s.toml --csv s.toml")
        .assert_refused(&["`--csv` is s.toml, expected a file other than the sweep file"]);
    folder
        .runs("sweep s.toml --csv a --json a")
        .assert_refused(&["`--json` is a, expected a file other than `--csv`, a"]);
    for (output, path) in [("csv", "no/a"), ("json", "no/a"), ("plot", "no/a.svg")] {
        let ended = folder.runs(&format!("sweep s.toml --{output} {path} --cache c"));
        ended.assert_refused(&[&format!("{path}: cannot create")]);
    }
    folder
        .runs("sweep s.toml --plot a.svg --plot-of cyclez")
        .assert_refused(&["`--plot-of` is cyclez, expected speedup"]);
    folder
        .runs("sweep s.toml --plot a.svg --plot-over l1.ways")
        .assert_refused(&["`--plot-over` is l1.ways", "is none"]);
    assert_eq!(folder.list_cached("c").len(), 0);
}

#[test]
fn what_a_machine_refuses_stops_everything_before_the_first_run_or_is_left_out() {
    let text = "launch = ['KERNELS/tensor/hmma.toml/small', 'KERNELS/vadd/small']\nset.l1.sets = [32, 33]\n";
    let folder = Folder::new(text);
    let all = ["l1.sets is 33, expected a power of two", "[s.toml:2:20]"];
    folder.runs("sweep s.toml --cache c").assert_refused(&all);
    fs::write(folder.path("s.toml"), folder.read("s.toml").replace("32, 33", "32, 64")).unwrap();
    let refused = folder.runs("sweep s.toml --cache c");
    refused.assert_refused(&[
        "nothing was run, because some runs were rejected",
        "hmma.toml/small on baseline l1.sets=64: ",
        "`sm.pipes.tensor` is 0",
    ]);
    assert_eq!(folder.list_cached("c").len(), 0);
    fs::write(folder.path("s.toml"), folder.read("s.toml").replace("32, 64", "32, 33")).unwrap();
    let left = folder.runs("sweep s.toml --cache c --csv a.csv --leave-out-refused");
    assert_eq!(left.status, Some(0), "{left:?}");
    for part in
        ["left out: s.toml:2:20: on baseline l1.sets=33: l1.sets is 33", "hmma.toml/small on baseline l1.sets=32: "]
    {
        assert!(left.err.contains(part), "{left:?}");
    }
    let rows = rows(&folder.read("a.csv"));
    assert!(rows.len() == 1 && rows[0]["launch"].ends_with("vadd/small"), "{rows:?}");
    assert_eq!(folder.runs("sweep gather s.toml --cache c --leave-out-refused").status, Some(0));
}

#[test]
fn a_run_that_is_stopped_is_named_and_has_its_row() {
    let folder = Folder::new(&format!("max_cycles = 100\n{SMALL}"));
    for _ in 0..2 {
        let ended = folder.runs("sweep s.toml --cache c --csv a.csv");
        assert_eq!(ended.status, Some(3), "{ended:?}");
        assert!(ended.err.contains("small on pric l1.ways=4: stopped after 100 cycles"), "{ended:?}");
        assert!(rows(&folder.read("a.csv")).iter().all(|row| row["outcome"] == "cycle-limit"));
    }
}

#[test]
fn the_script_of_a_job_array_makes_the_runs_of_every_shard() {
    let folder = Folder::new(SMALL);
    fs::create_dir(folder.path("the cache")).unwrap();
    let mut command = folder.command("sweep slurm s.toml --shards 9 --jobs 2 --sbatch=--time=10 --write-only");
    let ended = CommandResult::of(command.arg("--cache").arg("the cache"));
    assert_eq!((ended.status, ended.out.as_str()), (Some(0), "wrote s.sbatch\n"), "{ended:?}");
    let script = folder.read("s.sbatch");
    for line in ["#SBATCH --array=1-4", "#SBATCH --cpus-per-task=2", "#SBATCH --time=10", "#SBATCH --job-name=s"] {
        assert!(script.lines().any(|other| other == line), "no {line}: {script}");
    }
    for shard in 1..=4 {
        let mut command = Command::new("bash");
        let ended = CommandResult::of(
            command.arg(folder.path("s.sbatch")).env("SLURM_ARRAY_TASK_ID", shard.to_string()).current_dir("/"),
        );
        assert_eq!(ended.status, Some(0), "{ended:?}");
    }
    let mut gather = folder.command("sweep gather s.toml --csv all.csv");
    assert_eq!(CommandResult::of(gather.arg("--cache").arg("the cache")).status, Some(0));
    assert_eq!(rows(&folder.read("all.csv")).len(), 4);
    let none = CommandResult::of(folder.command("sweep slurm s.toml --shards 2 --cache c").env("PATH", "/nowhere"));
    assert_eq!(none.status, Some(2), "{none:?}");
    assert!(none.err.contains("sbatch cannot be run"), "{none:?}");
}

#[test]
fn the_example_is_a_sweep_that_runs() {
    let cache = tempfile::tempdir().unwrap();
    let ended = warpsieve(&["sweep", "docs/example/sweep.toml", "--cache", cache.path().to_str().unwrap()]);
    assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    assert!(Path::new(&root()).join("docs/example/sweep.toml").is_file());
}

/// PTX kernel that stores to an address outside of all buffers, which is a fault.
const FAULT: &str = "
.version 6.4
.target sm_30
.address_size 64
.visible .entry fault()
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    mov.u64 %rd1, 16;
    mov.u32 %r1, 1;
    st.global.u32 [%rd1], %r1;
    ret;
}
";

#[test]
fn a_kernel_at_fault_is_named_and_the_other_runs_are_written() {
    let folder = Folder::new("launch = ['fault.toml', 'KERNELS/vadd/small']");
    let launch =
        "ptx = 'fault.ptx'\n[[step]]\n[[step.launch]]\nkernel = 'fault'\ngrid = [1]\nblock = [32]\nargs = []\n";
    fs::write(folder.path("fault.ptx"), FAULT).unwrap();
    fs::write(folder.path("fault.toml"), launch).unwrap();
    let ended = folder.runs("sweep s.toml --cache c --csv a.csv");
    assert_eq!(ended.status, Some(2), "{ended:?}");
    assert!(ended.err.starts_with("fault.toml on baseline: ") && ended.err.contains("0x10"), "{ended:?}");
    let rows = rows(&folder.read("a.csv"));
    assert!(rows.len() == 1 && rows[0]["launch"].ends_with("vadd/small"), "{rows:?}");
}
