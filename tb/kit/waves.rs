//! # Waveforms of tests
//! `WAVES=DIR cargo test NAME` writes a waveform of every run of a test, with GTKWave save files. NAME is the
//! full name of the test, as cargo prints it. The first run writes `DIR/NAME.vcd`, the second
//! `DIR/NAME.2.vcd`, and so on. A relative DIR is relative to the workspace. Without the variable `WAVES`,
//! nothing is recorded.
//!
//! Only runs in the default evaluation mode of the simulator are recorded, since the runs in all other modes
//! must give the same results. The waveform of a failing test ends at the failure.

use std::cell::Cell;
use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::thread;

use rtl::kernel::{Blocks, Clocks, Mode, Simulator};
use waves::atomic_file::AtomicFile;

use warpsieve::readers::{ChangedBlocks, WaveSpec, Waveform};

/// Returns the path of the next waveform of the running test. Creates the folder if needed. Returns `None` if
/// the variable `WAVES` is not set.
///
/// # Panics
/// Panics if the folder cannot be created.
#[must_use]
pub fn wave_path() -> Option<PathBuf> {
    thread_local! {
        // Each test runs in its own thread, so a thread-local counter can number the runs of one test.
        static RUNS: Cell<u32> = const { Cell::new(0) };
    }
    let named = std::env::var_os("WAVES").filter(|folder| !folder.is_empty())?;
    // Cargo starts tests in the folder of their crate, but users give paths relative to the workspace.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name(named);
    fs::create_dir_all(&folder).unwrap_or_else(|e| panic!("WAVES: {}: cannot create: {e}", folder.display()));
    let run = RUNS.get() + 1;
    RUNS.set(run);
    let number = if run > 1 { format!(".{run}") } else { String::new() };
    Some(folder.join(format!("{}{number}.vcd", thread::current().name().unwrap_or("unnamed"))))
}

/// Simulator for testbenches. In a test, it also writes a waveform if the variable `WAVES` names a folder.
#[derive(Debug)]
pub struct BenchSimulator {
    sim: Simulator,
    wave: Option<Box<Recording>>,
}

#[derive(Debug)]
struct Recording {
    path: PathBuf,
    dump: Waveform<AtomicFile>,
    changed: ChangedBlocks,
}

impl BenchSimulator {
    /// Creates a simulator of `blocks` with the given clock periods in ticks. In the waveform, one tick is
    /// one nanosecond.
    ///
    /// # Panics
    /// Panics if a waveform is requested and cannot be created.
    #[must_use]
    pub fn new(periods: &[u32], blocks: &impl Blocks, mode: Mode) -> Self {
        let is_usual = mode == Mode { digest: mode.digest, ..Mode::default() };
        // Only tests record waveforms. The command-line tool also runs testbenches, in its soak tests (long
        // random tests), but records none.
        let path = if cfg!(test) && is_usual { wave_path() } else { None };
        let wave = path.map(|path| Box::new(Recording::start(path, periods, blocks)));
        Self { sim: Simulator::new(periods, blocks, mode), wave }
    }

    /// Performs one [`Simulator::step`] and records it in the waveform.
    ///
    /// # Panics
    /// Panics if [`Simulator::step`] panics, or if the waveform cannot be written.
    pub fn step(&mut self, blocks: &mut impl Blocks) -> Option<u64> {
        let stepped = self.sim.step(blocks);
        if let Some(wave) = &mut self.wave
            && let Some(tick) = stepped
        {
            wave.sample(tick, &mut self.sim, blocks);
        }
        stepped
    }
}

impl Recording {
    fn start(path: PathBuf, periods: &[u32], blocks: &impl Blocks) -> Self {
        let clocks = Clocks::of_periods(periods);
        let dump = Waveform::create(&path, blocks, WaveSpec::of(&clocks, 0));
        let dump = dump.unwrap_or_else(|e| panic!("WAVES: {}: {e}", path.display()));
        Self { path, dump, changed: ChangedBlocks::none(blocks) }
    }

    fn sample(&mut self, tick: u64, sim: &mut Simulator, blocks: &impl Blocks) {
        self.changed.take(sim);
        let written = self.dump.sample(tick, &self.changed, blocks);
        written.unwrap_or_else(|e| panic!("WAVES: {}: {e}", self.path.display()));
    }

    fn finish(self, tick: u64) {
        let Self { path, dump, .. } = self;
        let saved = dump.finish(tick).and_then(|recorded| recorded.map(|recorded| recorded.save_all()).transpose());
        match saved {
            Ok(_) => println!("waveform: {}", path.display()),
            // A second panic would abort the process. If the test is already failing, the error is therefore
            // only printed.
            Err(e) if thread::panicking() => eprintln!("WAVES: {}: {e}", path.display()),
            Err(e) => panic!("WAVES: {}: {e}", path.display()),
        }
    }
}

impl Drop for BenchSimulator {
    fn drop(&mut self) {
        if let Some(wave) = self.wave.take() {
            wave.finish(self.sim.tick());
        }
    }
}

impl Deref for BenchSimulator {
    type Target = Simulator;
    fn deref(&self) -> &Simulator {
        &self.sim
    }
}

impl DerefMut for BenchSimulator {
    fn deref_mut(&mut self) -> &mut Simulator {
        &mut self.sim
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Output};

    use super::*;

    /// Runs one test of this crate in a process of its own.
    fn test(name: &str, waves: Option<&Path>) -> Output {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([name, "--exact", "--include-ignored"]).env_remove("WAVES");
        command.envs(waves.map(|folder| ("WAVES", folder))).output().unwrap()
    }

    fn names_in(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_test_leaves_its_waveform_and_save_files_where_waves_says() {
        let folder = tempfile::tempdir().unwrap();
        let waves = folder.path().join("new/waves");
        let name = "kit::bench::tests::a_stalled_wire_reads_as_a_cycle_table";
        assert!(test(name, Some(&waves)).status.success());
        let files = names_in(&waves);
        assert_eq!(files, [format!("{name}.gtkw"), format!("{name}.vcd")]);
        let mut dump = wellen::simple::read(waves.join(&files[1])).unwrap();
        let hierarchy = dump.hierarchy();
        let left = hierarchy.lookup_var(&["machine", "source"], "left").unwrap();
        let signal = hierarchy[left].signal_ref();
        dump.load_signals(&[signal]);
        // By the script, the three payloads may leave the source from cycles 2, 2 and 8 on. With one payload
        // per cycle and the back-pressure of the link, they leave in cycles 2, 3 and 9. A cycle has ten
        // ticks.
        let left: Vec<_> =
            dump.get_signal(signal).unwrap().iter_changes().map(|(at, _)| dump.time_table()[at as usize]).collect();
        assert_eq!(left, [0, 20_000, 30_000, 90_000]);
    }

    #[test]
    fn every_run_of_a_test_is_kept_and_other_ways_of_evaluation_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let name = "kit::bench::tests::a_wire_between_two_clocks_delivers_everything_in_order_however_it_is_evaluated";
        assert!(test(name, Some(folder.path())).status.success());
        let dumps: Vec<_> = names_in(folder.path()).into_iter().filter(|name| name.ends_with(".vcd")).collect();
        let seeds = crate::kit::random::seeds_of(20);
        assert_eq!(dumps.len() as u64, seeds, "{dumps:?}");
        assert!(dumps.contains(&format!("{name}.vcd")) && dumps.contains(&format!("{name}.{seeds}.vcd")));
    }

    #[test]
    #[ignore = "fails on purpose, for the next test"]
    fn fails() {
        struct Nothing;
        impl Blocks for Nothing {
            fn population(&self) -> Vec<u8> {
                vec![1]
            }
            fn eval(&mut self, _: rtl::kernel::BlockId, at: &mut rtl::kernel::Edge<'_>) -> rtl::kernel::Sleep {
                assert!(at.cycle < 5, "cycle 5");
                rtl::kernel::Sleep::Next
            }
            fn describe(&self, _: rtl::kernel::BlockId, to: &mut dyn rtl::kernel::Describe) {
                rtl::kernel::FieldsExt::flag(to, "idle", true);
            }
        }
        let mut sim = BenchSimulator::new(&[1], &Nothing, Mode::default());
        while sim.step(&mut Nothing).is_some() {}
    }

    #[test]
    fn a_test_that_fails_leaves_its_waveform_up_to_there_and_says_where() {
        let folder = tempfile::tempdir().unwrap();
        let output = test("kit::waves::tests::fails", Some(folder.path()));
        let said = String::from_utf8(output.stdout).unwrap();
        let path = folder.path().join("kit::waves::tests::fails.vcd");
        assert!(!output.status.success() && said.contains(&format!("waveform: {}", path.display())), "{said}");
        assert!(fs::read_to_string(path).unwrap().ends_with("#5000\n"));
    }

    #[test]
    fn without_the_variable_nothing_is_written() {
        let output = test("kit::waves::tests::fails", None);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(!output.status.success() && !said.contains("waveform"), "{said}");
    }
}
