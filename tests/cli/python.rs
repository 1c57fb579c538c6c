//! The Python package. Its own tests are in `python/tests`; the interpreter named by `WARPSIEVE_PYTHON` must
//! have the package and pytest.

use std::process::Command;

use super::{CommandResult, root};

#[test]
#[cfg_attr(not(has_python), ignore = "no WARPSIEVE_PYTHON with the Python package; `./check` installs it")]
fn the_tests_of_the_python_package_pass() {
    let python = std::env::var_os("WARPSIEVE_PYTHON").expect("the build had WARPSIEVE_PYTHON");
    let mut command = Command::new(python);
    command.args(["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]).current_dir(root().join("python"));
    let ended = CommandResult::of(&mut command);
    assert_eq!(ended.status, Some(0), "{}{}", ended.out, ended.err);
    assert!(ended.out.contains(" passed"), "{}", ended.out);
}
