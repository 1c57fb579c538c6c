//! Generates parts of the page about CUDA programs: the list of CUDA runtime functions, and the output of an
//! example.

use std::fs;

use super::generated::Part;
use super::{holds, root, show_file};

/// Source files of the CUDA runtime library that export functions, each with its subject.
const FILES: [(&str, &str); 7] = [
    ("memory", "memory, copies, fills"),
    ("launch", "launches"),
    ("streams", "streams and events"),
    ("device", "devices"),
    ("kernel", "kernel attributes, occupancy"),
    ("errors", "errors"),
    ("register", "registration"),
];

/// Returns the sorted names of the functions that a source file exports.
fn list_exported(file: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join("cli/cuda/runtime").join(file).with_extension("rs")).unwrap();
    let after = text.split("#[unsafe(no_mangle)]\nextern \"C\" fn ").skip(1);
    let mut names: Vec<_> = after.map(|rest| rest.split('(').next().unwrap().to_owned()).collect();
    names.retain(|name| name.trim_start_matches('_').starts_with("cuda"));
    names.sort();
    names
}

fn functions() -> String {
    let mut text = "| subject | functions |\n|---|---|\n".to_owned();
    for (file, subject) in FILES {
        let names: Vec<_> = list_exported(file).iter().map(|name| format!("`{name}`")).collect();
        if !names.is_empty() {
            text.push_str(&format!("| {subject} | {} |\n", names.join(", ")));
        }
    }
    text
}

#[test]
fn every_exported_function_is_in_one_of_the_files() {
    let folder = fs::read_dir(root().join("cli/cuda/runtime")).unwrap();
    for path in folder.map(|entry| entry.unwrap().path()) {
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.extension().is_some_and(|ending| ending == "rs") && !FILES.iter().any(|(file, _)| *file == stem) {
            assert!(list_exported(&stem).is_empty(), "{}", path.display());
        }
    }
}

#[test]
fn the_page_about_cuda_programs_lists_the_functions() {
    let parts = [
        Part { name: "functions", text: functions() },
        Part { name: "program", text: show_file("examples/cuda/vector_add.cu", "cpp") },
        Part { name: "run", text: example() },
    ];
    holds("docs/cuda.md", &parts);
}

/// Returns the output that the page already shows. Without nvcc, the example cannot be compiled, so its
/// output cannot be updated.
#[cfg(not(has_nvcc))]
fn example() -> String {
    let page = fs::read_to_string(root().join("docs/cuda.md")).unwrap();
    let (_, rest) = page.split_once("<!-- generated: run -->\n").unwrap();
    rest.split_once("<!-- end -->").unwrap().0.to_owned()
}

/// Compiles and runs the example. Returns the lines about its launches, followed by its standard output.
#[cfg(has_nvcc)]
fn example() -> String {
    use std::process::Command;

    let folder = tempfile::tempdir().unwrap();
    let nvcc = std::env::var_os("NVCC").unwrap_or_else(|| "nvcc".into());
    let build = ["-cudart", "shared", "-gencode", "arch=compute_75,code=compute_75", "vector_add.cu", "-o"];
    let program = folder.path().join("vector_add");
    let built =
        Command::new(nvcc).args(build).arg(&program).current_dir(root().join("examples/cuda")).output().unwrap();
    assert!(built.status.success(), "{built:?}");
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
    let ended = command.args(["exec", "--", "./vector_add"]).current_dir(folder.path());
    let ended = ended.output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let text = [ended.stderr, ended.stdout].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    let same_everywhere: Vec<_> = text.lines().filter(|line| !line.starts_with("  host ")).collect();
    super::code_block(&same_everywhere.join("\n"))
}
