//! Generates parts of the page about Python: the example programs, and what they print.

use super::generated::Part;
use super::{holds, show_file};

/// Example programs in `python/examples`, each with the names of the generated parts that show its text and
/// its output.
const EXAMPLES: [(&str, &str, &str); 2] =
    [("designs", "designs", "designs-run"), ("flash_attention", "triton", "triton-run")];

#[test]
fn the_page_about_python_shows_the_examples_and_their_output() {
    let parts = EXAMPLES.into_iter().flat_map(|(file, program, run)| {
        let text = show_file(&format!("python/examples/{file}.py"), "python");
        [Part { name: program, text }, Part { name: run, text: output(file, run) }]
    });
    holds("docs/python.md", &parts.collect::<Vec<_>>());
}

/// Returns the output that the page already shows. Without the Python package, the example cannot run, so its
/// output cannot be updated.
#[cfg(not(has_python))]
fn output(_file: &str, run: &str) -> String {
    let page = std::fs::read_to_string(super::root().join("docs/python.md")).unwrap();
    let (_, rest) = page.split_once(&format!("<!-- generated: {run} -->\n")).unwrap();
    rest.split_once("<!-- end -->").unwrap().0.to_owned()
}

/// Runs an example program and returns its output.
#[cfg(has_python)]
fn output(file: &str, _run: &str) -> String {
    use std::process::Command;

    let python = std::env::var_os("WARPSIEVE_PYTHON").expect("the build had WARPSIEVE_PYTHON");
    let mut command = Command::new(python);
    let ended = command.arg(format!("python/examples/{file}.py")).current_dir(super::root()).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    super::code_block(&String::from_utf8(ended.stdout).unwrap())
}
