//! Tests of input and output files: no file overwrites another, and each file is written completely or not at
//! all.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{CommandResult, root, warpsieve};

/// Temporary folder with one input file of every kind.
struct Inputs(tempfile::TempDir);

impl Inputs {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = |path: &str| fs::read_to_string(root().join(path)).unwrap();
        let init = "init = { random = { seed = 1, low = -1.0, high = 1.0 } }";
        let launch = text("kernels/vadd/launch.toml").replacen("n = 262144", "n = 5000", 1).replacen(
            init,
            "init = { file = \"a.npy\" }",
            1,
        );
        let launch = launch.replace("buffer = \"c\"\nexpect", "buffer = \"c\"\nwrite = \"c.npy\"\nexpect");
        assert!(launch.contains("a.npy") && launch.contains("c.npy"));
        let machine = "name = \"mine\"\ndescription = \"d\"\nsource = \"s\"\nbased-on = \"./base.toml\"\n";
        let base = "name = \"base\"\ndescription = \"d\"\nsource = \"s\"\nbased-on = \"fermi\"\n";
        let files = [
            ("k.toml", launch),
            ("vadd.ptx", text("kernels/vadd/vadd.ptx")),
            ("m.toml", machine.to_owned()),
            ("base.toml", base.to_owned()),
            ("d.toml", text("machines/designs/pric.toml")),
            ("t.csv", "cycle,op,addr\n0,R,0x40\n".to_owned()),
            ("kernelslist.g", "kernel-1.traceg\n".to_owned()),
            ("kernel-1.traceg", text("tests/corpus/traces/volta.traceg")),
        ];
        files.into_iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
        let head = "{'descr': '<f4', 'fortran_order': False, 'shape': (5000,), }";
        let head = format!("{head:<117}\n");
        let mut array = [b"\x93NUMPY\x01\x00".as_slice(), &118_u16.to_le_bytes(), head.as_bytes()].concat();
        array.resize(array.len() + 4 * 5000, 0);
        fs::write(folder.path().join("a.npy"), array).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns the names and contents of all files in the folder.
    fn all(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().path());
        let mut all: Vec<_> =
            entries.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read(path).unwrap())).collect();
        all.sort();
        all
    }

    /// Runs the `warpsieve` command in this folder.
    fn warpsieve(&self, arguments: &[&str]) -> CommandResult {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
        CommandResult::of(command.args(arguments).current_dir(self.0.path()))
    }

    /// Checks that the command rejects the output file `output`, because it is the same file as its input
    /// file `input`. No file may change.
    #[track_caller]
    fn refuses(&self, arguments: &[&str], (output, input): (&str, &str)) {
        let before = self.all();
        self.warpsieve(arguments).assert_refused(&[output, "expected a file other than ", input]);
        assert!(self.all() == before, "{arguments:?} changed a file");
    }
}

const RUN: [&str; 6] = ["run", "k.toml", "--machine", "m.toml", "--design", "d.toml"];

#[test]
fn no_option_of_a_run_replaces_an_input() {
    let inputs = Inputs::new();
    let with = |option: &'static str, file: &'static str| [&RUN[..], &[option, file]].concat();
    inputs.refuses(&with("--stats", "k.toml"), ("`--stats` is k.toml", "the launch file, k.toml"));
    inputs.refuses(&with("--timeline", "vadd.ptx"), ("`--timeline` is vadd.ptx", "the PTX file, vadd.ptx"));
    inputs.refuses(&with("--series", "a.npy"), ("`--series` is a.npy", "the data file, a.npy"));
    inputs.refuses(&with("--pipeline", "m.toml"), ("`--pipeline` is m.toml", "design file, m.toml"));
    inputs.refuses(&with("--stats", "base.toml"), ("`--stats` is base.toml", "design file, ./base.toml"));
    inputs.refuses(&with("--stats", "d.toml"), ("`--stats` is d.toml", "design file, d.toml"));
    symlink("k.toml", inputs.path("x.vcd")).unwrap();
    inputs.refuses(&with("--wave", "x.vcd"), ("`--wave` is x.vcd", "the launch file, k.toml"));
}

#[test]
fn no_other_command_replaces_an_input() {
    let inputs = Inputs::new();
    inputs.refuses(
        &["replay", "kernelslist.g", "--stats", "kernel-1.traceg"],
        ("`--stats`", "the trace, kernel-1.traceg"),
    );
    inputs.refuses(&["compare", "k.toml", "--output", "k.toml"], ("`--output`", "the launch file, k.toml"));
    inputs.refuses(
        &["compare", "k.toml", "--design-set", "baseline,d.toml", "--output", "d.toml"],
        ("`--output`", "design file, d.toml"),
    );
    inputs.refuses(&["dram", "t.csv", "--commands", "t.csv"], ("`--commands`", "the trace, t.csv"));
    inputs.refuses(&["optimize", "k.toml", "-o", "vadd.ptx"], ("`--output`", "the PTX file, vadd.ptx"));
    inputs
        .refuses(&["optimize", "k.toml", "-o", "x.ptx", "--graph", "k.toml"], ("`--graph`", "the launch file, k.toml"));
    fs::hard_link(inputs.path("base.toml"), inputs.path("base.svg")).unwrap();
    inputs.refuses(&["area", "--machine", "m.toml", "--svg", "base.svg"], ("`--svg`", "design file, ./base.toml"));
    fs::remove_file(inputs.path("base.svg")).unwrap();
    fs::create_dir(inputs.path("out")).unwrap();
    fs::hard_link(inputs.path("vadd.ptx"), inputs.path("out/kernel-1.traceg")).unwrap();
    inputs.refuses(&["trace", "export", "k.toml", "-o", "out"], ("out/kernel-1.traceg", "the PTX file, vadd.ptx"));
}

#[test]
fn an_input_is_known_by_every_name() {
    let inputs = Inputs::new();
    fs::create_dir(inputs.path("sub")).unwrap();
    symlink("../k.toml", inputs.path("sub/soft")).unwrap();
    fs::hard_link(inputs.path("k.toml"), inputs.path("hard")).unwrap();
    let whole = inputs.path("k.toml").display().to_string();
    for name in ["./k.toml", "sub/../k.toml", "sub/soft", "hard", &whole] {
        inputs
            .refuses(&["run", "k.toml", "--stats", name], (&format!("`--stats` is {name}"), "the launch file, k.toml"));
    }
}

#[test]
fn the_optimised_text_may_replace_a_ptx_file_that_is_not_read() {
    let inputs = Inputs::new();
    fs::copy(inputs.path("vadd.ptx"), inputs.path("plain.ptx")).unwrap();
    let ended = inputs.warpsieve(&["optimize", "k.toml", "--ptx", "plain.ptx", "-o", "vadd.ptx"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
}

#[test]
fn what_a_launch_file_writes_replaces_nothing_else() {
    let inputs = Inputs::new();
    inputs.refuses(&["run", "k.toml", "--stats", "c.npy"], ("`--stats` is c.npy", "output `c`, c.npy"));
    let launch = fs::read_to_string(inputs.path("k.toml")).unwrap();
    fs::write(inputs.path("k.toml"), launch.replace("\"c.npy\"", "\"./a.npy\"")).unwrap();
    inputs.refuses(&["run", "k.toml"], ("output `c` is ./a.npy", "the data file, a.npy"));
}

#[test]
fn files_that_are_not_there_yet_are_told_apart_by_where_they_will_be() {
    let inputs = Inputs::new();
    fs::create_dir(inputs.path("real")).unwrap();
    symlink("real", inputs.path("other")).unwrap();
    symlink("s.json", inputs.path("real/dangling")).unwrap();
    for same in ["other/s.json", "other/../real/s.json", "real/dangling"] {
        let outputs = ["--stats", "real/s.json", "--timeline", same];
        let clash = (&*format!("`--timeline` is {same}"), "`--stats`, real/s.json");
        inputs.refuses(&[&["run", "k.toml"], &outputs[..]].concat(), clash);
    }
}

#[test]
fn what_a_waveform_brings_along_clashes_before_the_run() {
    let inputs = Inputs::new();
    fs::create_dir(inputs.path("x.filters")).unwrap();
    for name in ["x.gtkw", "x.l1d.gtkw", "x.dwt-cs.gtkw", "x.filters/mine.txt"] {
        let options = ["--wave", "x.vcd", "--stats", name];
        inputs.refuses(&[&["run", "k.toml"], &options[..]].concat(), (name, "`--wave`"));
    }
}

#[test]
fn a_comparison_does_not_write_what_its_launch_files_ask_for() {
    let inputs = Inputs::new();
    let ended = inputs.warpsieve(&["compare", "k.toml", "--set", "l1.sets=32,64", "--output", "table.md"]);
    assert_eq!((ended.status, ended.out.as_str()), (Some(0), "wrote table.md\n"), "{ended:?}");
    assert!(inputs.path("table.md").exists() && !inputs.path("c.npy").exists());
    let ended = inputs.warpsieve(&["run", "k.toml", "--quiet"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert!(inputs.path("c.npy").exists());
}

#[test]
fn two_runs_with_one_output_have_a_part_each() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // Temporary file that belongs to another run. The test locks the file, as a run does while it is still
    // active.
    let other = File::create(path("s.json.warpsieve-1.part")).unwrap();
    other.lock().unwrap();
    fs::write(path("s.json.warpsieve-1.part"), "of the other run").unwrap();
    let ended = warpsieve(&["run", "kernels/vadd/small", "--quiet", "--stats", path("s.json").to_str().unwrap()]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert_eq!(fs::read_to_string(path("s.json.warpsieve-1.part")).unwrap(), "of the other run");
    assert!(fs::read_to_string(path("s.json")).unwrap().contains("\"schema\": 1"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// Returns the paths of all files in a folder and its subfolders, relative to `top`.
fn files_below(folder: &Path, top: &Path) -> Vec<String> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| match path.is_dir() {
        true => files_below(&path, top),
        false => vec![path.strip_prefix(top).unwrap().display().to_string()],
    };
    paths.flat_map(below).collect()
}

#[test]
fn every_file_is_listed_as_written() {
    let outputs = "--stats s.json --wave x.fst --series s.csv --timeline t.json --pipeline p.kanata --report r.html";
    let commands = [
        format!("run k.toml {outputs}"),
        "compare k.toml --output t.md --report r.html".to_owned(),
        "optimize k.toml -o o.ptx --report o.json --graph o.dot".to_owned(),
        "trace export k.toml -o out --compress zst".to_owned(),
        "dram t.csv --commands c.csv --requests r.csv".to_owned(),
        "area --svg a.svg --cacti memories --depth 1".to_owned(),
        "waves figure2 figure".to_owned(),
    ];
    for command in commands {
        let inputs = Inputs::new();
        let before = files_below(inputs.0.path(), inputs.0.path());
        let ended = inputs.warpsieve(&command.split(' ').collect::<Vec<_>>());
        assert_eq!(ended.status, Some(0), "{ended:?}");
        let mut written = files_below(inputs.0.path(), inputs.0.path());
        written.retain(|file| !before.contains(file));
        written.sort();
        let lines = ended.out.lines().chain(ended.err.lines());
        let mut listed: Vec<_> = lines.filter_map(|line| line.trim().strip_prefix("wrote")).map(str::trim).collect();
        listed.sort_unstable();
        assert_eq!(listed, written, "{command}");
    }
}

#[test]
fn statistics_on_stdout_stand_there_alone() {
    let inputs = Inputs::new();
    let before = inputs.all();
    let ended = inputs.warpsieve(&["run", "k.toml", "--stats", "-", "--design", "d.toml"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let stats: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(stats["schema"], 1);
    assert!(ended.err.starts_with("k.toml on fermi + pric\n"), "{ended:?}");
    fs::remove_file(inputs.path("c.npy")).unwrap();
    assert!(inputs.all() == before);
}
