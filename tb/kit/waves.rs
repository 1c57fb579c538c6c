//! # Waveforms of tests
//! With `WAVES=DIR cargo test NAME`, what a test runs leaves its waveform with GTKWave save files in the folder: `DIR/NAME.vcd`
//! of the first run, `DIR/NAME.2.vcd` of the second, and so on. NAME is the whole name of the test, as cargo prints
//! it. A folder that is not absolute is one of the workspace. Without the variable nothing is looked at or written.
//!
//! Benches are recorded in the usual way of evaluation; the others must agree with it anyway. Of a test that fails the
//! waveform goes up to the failure.

use std::cell::Cell;
use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::thread;

use rtl::kernel::{Blocks, Clocks, Mode, Simulator};
use waves::part_file::PartFile;

use warpsieve::readers::{Changed, WaveSpec, Waveform};

/// Where the next waveform of the running test belongs: `None` unless `WAVES` names a folder, which is made.
///
/// # Panics
/// If the folder cannot be made.
#[must_use]
pub fn wave_path() -> Option<PathBuf> {
    thread_local! {
        // Each test has a thread of its own, and with it a count.
        static RUNS: Cell<u32> = const { Cell::new(0) };
    }
    let named = std::env::var_os("WAVES").filter(|folder| !folder.is_empty())?;
    // Cargo runs tests in the folder of their crate, but people in that of the workspace.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name(named);
    fs::create_dir_all(&folder).unwrap_or_else(|e| panic!("WAVES: {}: cannot be created: {e}", folder.display()));
    let run = RUNS.get() + 1;
    RUNS.set(run);
    let number = if run > 1 { format!(".{run}") } else { String::new() };
    Some(folder.join(format!("{}{number}.vcd", thread::current().name().unwrap_or("unnamed"))))
}

/// A simulator that writes the waveform of what it steps if a test runs it and `WAVES` names a folder.
#[derive(Debug)]
pub struct BenchSimulator {
    sim: Simulator,
    wave: Option<Box<Recording>>,
}

#[derive(Debug)]
struct Recording {
    path: PathBuf,
    dump: Waveform<PartFile>,
    changed: Changed,
}

impl BenchSimulator {
    /// A simulator of blocks whose clocks have these periods in ticks, which stand as nanoseconds in a waveform.
    ///
    /// # Panics
    /// If a waveform is wanted and cannot be created.
    #[must_use]
    pub fn new(periods: &[u32], blocks: &impl Blocks, mode: Mode) -> Self {
        let is_usual = mode == Mode { digest: mode.digest, ..Mode::default() };
        // The command runs benches too, in its soaks.
        let path = if cfg!(test) && is_usual { wave_path() } else { None };
        let wave = path.map(|path| Box::new(Recording::start(path, periods, blocks)));
        Self { sim: Simulator::new(periods, blocks, mode), wave }
    }

    /// As [`Simulator::step`].
    ///
    /// # Panics
    /// As it does, or if a waveform cannot be written.
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
        Self { path, dump, changed: Changed::none(blocks) }
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
            // The test may be failing already.
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
        // Three beats leave in cycles 2, 2 and 8, one a cycle, of a clock of ten ticks.
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
        assert_eq!(dumps.len(), 20, "{dumps:?}");
        assert!(dumps.contains(&format!("{name}.vcd")) && dumps.contains(&format!("{name}.20.vcd")));
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
