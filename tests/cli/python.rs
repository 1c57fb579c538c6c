//! Runs the tests of the Python package, which are in `python/tests`. The environment variable
//! `WARPSIEVE_PYTHON` names a Python interpreter in which the package and pytest are installed.

use std::process::Command;

use super::{CommandResult, root};

#[test]
#[cfg_attr(not(has_python), ignore = "no WARPSIEVE_PYTHON with the Python package; `./check` installs it")]
fn the_tests_of_the_python_package_pass() {
    let python = std::env::var_os("WARPSIEVE_PYTHON").expect("the build had WARPSIEVE_PYTHON");
    let mut command = Command::new(python);
    // In the folder `python`, its package without the compiled part would be imported, not the installed one.
    command.args(["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "python"]).current_dir(root());
    let ended = CommandResult::of(&mut command);
    assert_eq!(ended.status, Some(0), "{}{}", ended.out, ended.err);
    assert!(ended.out.contains(" passed"), "{}", ended.out);
}
