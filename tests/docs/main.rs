//! Checks that the documentation agrees with the code.
//!
//! Output of the program is generated into the documents instead of being typed. It is between the markers
//! `<!-- generated: NAME -->` and `<!-- end -->`. The tests compare it with the current output. The command
//! `UPDATE_DOCS=1 cargo test --workspace --test docs` replaces it with the current output.
//!
//! | testpoint                                                                                | file            |
//! |------------------------------------------------------------------------------------------|-----------------|
//! | the generated parts of README and `docs/` are up to date                                 | `main`          |
//! | every field of the configuration is documented, with its source                          | `configuration` |
//! | the book lists every page; an excerpt of code is up to date                              | `book`          |
//! | functions of the CUDA runtime that programs can call                                     | `cuda`          |
//! | the examples do what their pages say                                                     | `examples`      |
//! | the examples in Python, and what they print                                              | `python`        |
//! | unknown, unused and unclosed markers of generated text are rejected                      | `parts`         |
//! | links and paths in the documents lead to existing files                                  | `links`         |
//! | each hardware block has ports and latency, each component a golden model and a testbench | `map`           |
//! | every counter and stall reason is in the dictionary, with its meaning                    | `dictionary`    |
//! | the tour shows the current output of its commands                                        | `tour`          |
//! | the testpoints in the headers of testbenches name existing tests                         | `testpoints`    |

mod book;
mod configuration;
mod cuda;
mod dictionary;
mod examples;
mod generated;
mod links;
mod map;
mod python;
mod testpoints;
mod tour;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use generated::Part;
use serde_json::Value;

/// Returns the root folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs the `warpsieve` command with these arguments in the root folder of the workspace, and returns its
/// output.
fn print(arguments: &[&str]) -> String {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
    command.args(arguments).current_dir(root()).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    let ended = command.output().unwrap();
    assert!(ended.status.success(), "{arguments:?}: {ended:?}");
    String::from_utf8(ended.stdout).unwrap()
}

/// Returns the text as a Markdown code block, without trailing spaces.
fn code_block(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    format!("```text\n{}\n```\n", lines.join("\n").trim_end())
}

/// Returns the printed summary of a run, without the line about simulation speed, which depends on the
/// computer.
fn summary(arguments: &[&str]) -> String {
    let text = print(arguments);
    let same_everywhere = text.lines().filter(|line| !line.starts_with("  host "));
    code_block(&same_everywhere.collect::<Vec<_>>().join("\n"))
}

/// Shortens a printed table to its last column and as many of its first columns as fit on a page. The line
/// below the table is kept unchanged.
fn first_columns(table: &str) -> String {
    let head = table.lines().next().unwrap_or("");
    let (cut, last) = (head.find("L1 pending %").unwrap(), head.rfind("check").unwrap());
    let row = |line: &str| match line.starts_with("no evictions: ") {
        true => line.to_owned(),
        false => format!("{}...  {}", &line[..cut], &line[last..]),
    };
    table.lines().map(row).collect::<Vec<_>>().join("\n")
}

/// Formats a number with a comma before each group of three digits, for example `1,234,567`.
fn group_digits(number: u64) -> String {
    if number < 1000 { number.to_string() } else { format!("{},{:03}", group_digits(number / 1000), number % 1000) }
}

/// Returns the names of the commands that a help text lists.
fn commands(help: &str) -> Vec<&str> {
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // Help texts list the commands with an indent. Lines that continue the description of a command are
    // indented further, and are filtered out.
    let commands = commands.filter(|line| !line.starts_with("   "));
    commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}

/// Returns the help texts of the program, of each command, and of each subcommand.
fn help() -> String {
    let program = print(&["--help"]);
    let mut text = code_block(&program);
    for name in commands(&program) {
        let command = print(&[name, "--help"]);
        text.push_str(&format!("\n### `{name}`\n{}", code_block(&command)));
        for part in commands(&command) {
            text.push_str(&format!("\n### `{name} {part}`\n{}", code_block(&print(&[name, part, "--help"]))));
        }
    }
    text
}

/// Returns a table of the cycles and L1 hits of the kernel `syrk`, with and without the design `pric`. In one
/// launch, the rows of the matrix conflict in the L1. In the other launch, the rows are padded and do not
/// conflict.
fn effect() -> String {
    let mut table = "| rows | machine | cycles | L1 hits |\n|---|---|---|---|\n".to_owned();
    for (rows, launch) in [("32 lines apart", "launch.toml"), ("33 lines apart", "padded")] {
        for (machine, design) in [("`fermi`", "baseline"), ("`fermi` with `pric`", "pric")] {
            let folder = tempfile::tempdir().unwrap();
            let stats = folder.path().join("stats.json");
            let launch = format!("kernels/syrk/{launch}");
            print(&["run", &launch, "--design", design, "--quiet", "--stats", stats.to_str().unwrap()]);
            let stats: Value = serde_json::from_str(&fs::read_to_string(stats).unwrap()).unwrap();
            let [cycles, hits, accesses] = ["/cycles", "/l1/hits", "/l1/accesses"]
                .map(|path| stats.pointer(path).and_then(Value::as_u64).unwrap());
            let percent = 100.0 * hits as f64 / accesses as f64;
            table.push_str(&format!("| {rows} | {machine} | {} | {percent:.1} % |\n", group_digits(cycles)));
        }
    }
    table
}

/// Returns a table of sequential DRAM reads, on a channel with one command bus and on a channel with two. The
/// table shows the number of cycles and the fraction of the peak bandwidth.
fn buses() -> String {
    let mut table = "| command bus | bursts a row | cycles | of the peak |\n|---|---|---|---|\n".to_owned();
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("reads.csv");
    let reads: String = (0..16_384).map(|burst| format!("0,R,{}\n", 32 * burst)).collect();
    fs::write(&trace, format!("cycle,op,addr\n{reads}")).unwrap();
    for bus in ["single", "dual"] {
        for columns in ["64", "16"] {
            let [bus_set, columns_set] = [format!("dram.command_bus={bus}"), format!("dram.columns={columns}")];
            let sets = ["--set", &bus_set, "--set", &columns_set, "--check"];
            let out = print(&[&["dram", trace.to_str().unwrap(), "--machine", "hbm2"][..], &sets].concat());
            let row = |label: &str| out.lines().find_map(|line| line.trim().strip_prefix(label)).unwrap().trim();
            let (cycles, _) = row("cycles").split_once(' ').unwrap();
            let (_, part) = row("bandwidth").rsplit_once("  ").unwrap();
            let part = part.trim().trim_end_matches(" of the peak");
            table.push_str(&format!("| `{bus}` | {columns} | {cycles} | {part} |\n"));
        }
    }
    table
}

/// Returns a table of all hardware blocks with their files and purposes. Components of a block are indented
/// below the block.
fn blocks() -> String {
    let mut table = "| block | file | purpose |\n|---|---|---|\n".to_owned();
    for hardware in warpsieve_cli::blocks::hardware() {
        let warpsieve_cli::blocks::Hardware { name, path, purpose, depth, .. } = hardware;
        let name = if depth > 0 { format!("{} {name}", "·".repeat(depth)) } else { format!("**{name}**") };
        table.push_str(&format!("| {name} | [`{path}`](../{path}) | {purpose} |\n"));
    }
    table
}

/// Compares the generated parts of a document with the current output of the program. With the variable
/// `UPDATE_DOCS=1`, updates the document instead.
#[track_caller]
fn holds(path: &str, parts: &[Part]) {
    let old = fs::read_to_string(root().join(path)).unwrap();
    let new = generated::renew(&old, parts).unwrap_or_else(|problem| panic!("{path}: {problem}"));
    is(path, &new);
}

/// Compares a file with the text `new`. With the variable `UPDATE_DOCS=1`, writes the text to the file
/// instead.
#[track_caller]
fn is(path: &str, new: &str) {
    let file = root().join(path);
    let old = fs::read_to_string(&file).unwrap_or_default();
    if old == new {
        return;
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, new).unwrap();
        return;
    }
    let differs = |(at, (old, new)): (usize, (&str, &str))| {
        (old != new).then(|| format!("line {}:\n  is       {old}\n  expected {new}", at + 1))
    };
    let first = old.lines().zip(new.lines()).enumerate().find_map(differs);
    let first = first.unwrap_or_else(|| "one is longer".to_owned());
    panic!("{path} is out of date, {first}\nUPDATE_DOCS=1 cargo test --workspace --test docs writes it again");
}

#[test]
fn the_drawing_of_the_netlist_is_what_the_command_draws() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fermi.svg");
    print(&["config", "--graph", file.to_str().unwrap()]);
    is("docs/netlist.svg", &fs::read_to_string(file).unwrap());
}

/// Returns the contents of a file of the workspace as a Markdown code block.
fn show_file(path: &str, language: &str) -> String {
    let text = fs::read_to_string(root().join(path)).unwrap();
    format!("```{language}\n{text}```\n")
}

const EXAMPLE: &str = "docs/example/rowsum.toml";

fn compare_example() -> Part {
    let arguments = ["compare", EXAMPLE, "--check", "--quiet", "--design-set", "baseline,pric,bypass-all"];
    Part { name: "example-compare", text: code_block(&first_columns(&print(&arguments))) }
}

#[test]
fn the_readme_shows_what_the_commands_print() {
    let run = ["run", "kernels/syrk/launch.toml"];
    let parts = [
        compare_example(),
        Part { name: "syrk", text: summary(&run) },
        Part { name: "syrk-pric", text: summary(&[&run[..], &["--design", "pric"]].concat()) },
        Part { name: "effect", text: effect() },
    ];
    holds("README.md", &parts);
}

#[test]
fn the_readme_stays_short() {
    let bytes = fs::metadata(root().join("README.md")).unwrap().len();
    assert!(bytes <= 13 * 1024, "README.md has {bytes} bytes, expected 13 KB at most: details belong in docs/");
}

#[test]
fn the_walk_through_shows_the_files_and_what_the_commands_print() {
    let parts = [
        compare_example(),
        Part { name: "example-cu", text: show_file("docs/example/rowsum.cu", "cpp") },
        Part { name: "example-toml", text: show_file(EXAMPLE, "toml") },
        Part { name: "example-profile", text: code_block(&print(&["profile", EXAMPLE])) },
    ];
    holds("docs/own-kernel.md", &parts);
}

#[test]
fn the_page_about_sweeps_shows_the_example_and_its_table() {
    const SWEEP: &str = "docs/example/sweep.toml";
    let table = print(&["sweep", SWEEP, "--quiet"]);
    let parts = [
        Part { name: "example", text: show_file(SWEEP, "toml") },
        Part { name: "table", text: code_block(&first_columns(&table)) },
    ];
    holds("docs/sweep.md", &parts);
}

#[test]
fn the_page_about_explanations_shows_one() {
    let explained = print(&["explain", EXAMPLE, "--design", "pric", "--against", "baseline", "--quiet"]);
    holds("docs/explain.md", &[Part { name: "example", text: code_block(&explained) }]);
}

#[test]
fn the_page_of_blocks_has_every_block() {
    holds("docs/blocks.md", &[Part { name: "blocks", text: blocks() }]);
}

#[test]
fn the_command_line_page_shows_the_help_and_the_lists() {
    let list = |what| code_block(&print(&["list", what]));
    let parts = [
        Part { name: "help", text: help() },
        Part { name: "machines", text: list("machines") },
        Part { name: "designs", text: list("designs") },
        Part { name: "kernels", text: list("kernels") },
        Part { name: "counters", text: list("counters") },
        Part { name: "stalls", text: list("stalls") },
    ];
    holds("docs/command-line.md", &parts);
}

#[test]
fn the_configuration_page_has_every_field() {
    holds("docs/configuration.md", &[Part { name: "fields", text: configuration::reference() }]);
}

/// Returns a table of the latency and issue interval of some opcodes, with a row for each GPU architecture.
fn timings() -> String {
    use isa::recorded::{Architecture, Opcode, OpcodeTable, Timing};
    let opcodes = ["IMAD", "FFMA", "HFMA2", "DFMA", "MUFU", "TEX", "HMMA", "UIADD3"];
    let mut text =
        format!("| | {} |\n|---|{}\n", opcodes.map(|name| format!("`{name}`")).join(" | "), "---|".repeat(8));
    for version in [35, 60, 70, 75, 80] {
        let architecture = Architecture::of_version(version).unwrap();
        let table = OpcodeTable::new(Some(architecture));
        let cells = opcodes.map(|name| {
            let class = table.class(name)?;
            let Timing { latency, interval } = Timing::of(architecture, &Opcode::new(name, class))?;
            Some(format!("{latency}, {interval}"))
        });
        text += &format!("| {architecture} | {} |\n", cells.map(Option::unwrap_or_default).join(" | "));
    }
    text
}

#[test]
fn the_page_about_traces_shows_what_trace_info_prints() {
    let info = print(&["trace", "info", "tests/corpus/traces/volta.traceg"]);
    let parts = [Part { name: "info", text: code_block(&info) }, Part { name: "timings", text: timings() }];
    holds("docs/traces.md", &parts);
}

#[test]
fn the_page_about_the_memory_system_shows_what_two_command_buses_bring() {
    holds("docs/memory-system.md", &[Part { name: "buses", text: buses() }]);
}

/// Returns a table of the functional coverage of the soak tests (long random tests), and a table of the
/// coverage points that are excluded.
fn crosses() -> String {
    let mut text = "| soak | counts | axes and their values | points |\n|---|---|---|---|\n".to_owned();
    let mut excluded = "\n| cannot occur | because |\n|---|---|\n".to_owned();
    for soak in tb::soak::soaks() {
        for cross in soak.crosses() {
            let axes: Vec<_> = cross.axes.iter().map(|axis| format!("{} {}", axis.name, axis.values.len())).collect();
            text += &format!("| `{}` | {} | {} | {} |\n", soak.name, cross.name, axes.join(", "), cross.sizes().0);
            for tb::kit::coverage::Exclusion { of, reason } in &cross.excluded {
                let sides = cross.axes.iter().zip(of).filter(|(_, values)| !values.is_empty());
                let sides: Vec<_> = sides.map(|(axis, of)| format!("{} {}", axis.name, of.join(" or "))).collect();
                excluded += &format!("| {}: {} | {reason} |\n", cross.name, sides.join(", "));
            }
        }
    }
    text + &excluded
}

#[test]
fn the_page_about_testing_has_what_soaks_are_to_meet() {
    let table = print(&["soak", "dram", "--count", "120", "--coverage"]);
    let (_, table) = table.split_once('\n').unwrap();
    let parts = [
        Part { name: "crosses", text: crosses() },
        Part { name: "pairs", text: code_block(table.trim_start_matches('\n')) },
    ];
    holds("docs/testing.md", &parts);
}

#[test]
fn the_page_about_systemverilog_lists_modules_and_proofs() {
    let part = |name, arguments| Part { name, text: code_block(&print(arguments)) };
    let paths = fs::read_to_string(root().join("rtl/hdl/paths.txt")).unwrap();
    let paths = Part { name: "paths", text: code_block(&paths) };
    holds("docs/hdl.md", &[part("list", &["hdl", "list"]), part("proofs", &["hdl", "prove", "--list"]), paths]);
}

#[test]
fn the_page_of_results_counts_the_rows_that_hold() {
    let summary = code_block(&print(&["reproduce", "--summary"]));
    holds("docs/results/README.md", &[Part { name: "summary", text: summary }]);
}

#[test]
fn the_page_about_area_shows_what_the_command_prints() {
    let parts = [
        Part { name: "fermi", text: code_block(&print(&["area"])) },
        Part { name: "pric", text: code_block(&print(&["area", "--design", "pric", "--against", "baseline"])) },
    ];
    holds("docs/area.md", &parts);
}
