//! Runs test binaries with limits on their time and memory.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::cargo::Binary;

/// Limit of the address space of a test in KiB. It protects the memory of other tests from a mutant that
/// allocates memory in an endless loop.
const MEMORY_KIB: u64 = 12 << 20;
/// Interval at which the program checks if a running test has ended.
const LOOK: Duration = Duration::from_millis(3);

/// Result of a test process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessResult {
    Passed,
    Failed,
    TimedOut,
}

/// Settings that all test processes share.
#[derive(Debug)]
pub struct Runner<'a> {
    /// Flag that is set when the user interrupts the program.
    pub stop: &'a AtomicBool,
    /// Folder for the logs of the test processes.
    pub folder: PathBuf,
    /// Folder for temporary files of tests. It is outside of the workspace, since some tests search all
    /// enclosing folders for a workspace.
    pub temporary: PathBuf,
}

impl Runner<'_> {
    /// Runs some tests of a binary one after another. An environment variable, given as its name and value,
    /// selects the active mutant, or requests a record of the mutants that the tests reach.
    ///
    /// # Errors
    /// Returns an error if the binary cannot start, or if the user interrupts the program.
    pub fn run(
        &self,
        binary: &Binary,
        names: &[&str],
        (key, value): (&str, &str),
        limit: Duration,
        log: &Path,
    ) -> Result<ProcessResult, String> {
        let file = File::create(log).map_err(|e| format!("{}: {e}", log.display()))?;
        let errors = file.try_clone().map_err(|e| format!("{}: {e}", log.display()))?;
        let mut command = limit_memory(&binary.path);
        command.args(["--exact", "--test-threads", "1"]).args(names);
        command.current_dir(&binary.folder).env("CARGO_MANIFEST_DIR", &binary.folder).env(key, value);
        // Random tests use the same cases every time. Failing cases are not shrunk, since the shrunk cases
        // are not used.
        command.env("PROPTEST_RNG_SEED", "1").env("PROPTEST_MAX_SHRINK_ITERS", "0").env("RUST_BACKTRACE", "0");
        command.env("TMPDIR", &self.temporary).stdin(Stdio::null()).stdout(file).stderr(errors).process_group(0);
        let mut child = command.spawn().map_err(|e| format!("{}: {e}", binary.path.display()))?;
        let ended = self.wait(&mut child, limit);
        // Kills the whole process group, which includes processes that the test has started and not ended.
        kill(child.id());
        ended
    }

    fn wait(&self, child: &mut Child, limit: Duration) -> Result<ProcessResult, String> {
        let start = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(ProcessResult::Passed),
                // The process was killed because of its memory use, or it failed by itself. In both cases, a
                // test has detected the mutant.
                Ok(Some(_)) => return Ok(ProcessResult::Failed),
                Ok(None) => {}
                Err(e) => return Err(format!("wait: {e}")),
            }
            let stops = self.stop.load(Ordering::Relaxed);
            if stops || start.elapsed() > limit {
                kill(child.id());
                child.wait().map_err(|e| format!("wait: {e}"))?;
                return if stops {
                    Err("interrupted; --resume goes on".to_owned())
                } else {
                    Ok(ProcessResult::TimedOut)
                };
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// Returns a command that runs a program under the memory limit.
///
/// The limit is soft: a test may raise it for a program that reserves more address space than it uses. An
/// example is a browser, which reserves a TiB (`tests/cli/browser.rs`). A mutant cannot raise it.
fn limit_memory(program: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -c 0; ulimit -S -v {MEMORY_KIB}; exec \"$0\" \"$@\"")]).arg(program);
    command
}

/// Kills all processes of a process group.
fn kill(group: u32) {
    let mut kill = Command::new("kill");
    let _ = kill.args(["-KILL", "--", &format!("-{group}")]).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(script: &str, limit: Duration) -> ProcessResult {
        let stop = AtomicBool::new(false);
        let runner = Runner { stop: &stop, folder: PathBuf::new(), temporary: PathBuf::new() };
        let mut child = Command::new("sh").args(["-c", script]).process_group(0).spawn().unwrap();
        runner.wait(&mut child, limit).unwrap()
    }

    #[test]
    fn a_program_has_a_limit_on_its_memory_that_a_browser_may_raise() {
        let limit = |script: &str| {
            let ended = limit_memory(Path::new("sh")).args(["-c", script]).output().unwrap();
            String::from_utf8(ended.stdout).unwrap()
        };
        let without = Command::new("sh").args(["-c", "ulimit -H -v"]).output().unwrap();
        assert_eq!(limit("ulimit -v"), format!("{MEMORY_KIB}\n"));
        assert_eq!(limit("ulimit -S -v $(ulimit -H -v); ulimit -v").as_bytes(), without.stdout);
    }

    #[test]
    fn a_process_passes_fails_or_is_ended() {
        let minute = Duration::from_secs(60);
        assert_eq!(end("exit 0", minute), ProcessResult::Passed);
        assert_eq!(end("exit 101", minute), ProcessResult::Failed);
        assert_eq!(end("kill -ABRT $$", minute), ProcessResult::Failed);
        assert_eq!(end("sleep 60", Duration::from_millis(50)), ProcessResult::TimedOut);
    }

    #[test]
    fn a_user_who_stops_leaves_no_process_behind() {
        let stop = AtomicBool::new(true);
        let runner = Runner { stop: &stop, folder: PathBuf::new(), temporary: PathBuf::new() };
        let mut child = Command::new("sh").args(["-c", "sleep 60 & wait"]).process_group(0).spawn().unwrap();
        let said = runner.wait(&mut child, Duration::from_secs(60)).unwrap_err();
        assert_eq!(said, "interrupted; --resume goes on");
        let group = format!("-{}", child.id());
        let is_there =
            || Command::new("kill").args(["-0", "--", &group]).stderr(Stdio::null()).status().unwrap().success();
        let until = Instant::now() + Duration::from_secs(10);
        while is_there() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        assert!(!is_there());
    }
}
