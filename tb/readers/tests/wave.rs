//! Dumps of the small machine, read back.

use rtl::kernel::{Clocks, Mode, Simulator};
use waves::scope::{Glob, Window};

use super::machine::{Machine, clocks};
use super::{ReadBack, Values, look_at};
use crate::readers::{WaveError, WaveSpec, Waveform};

const ENTRIES: &[&str] = &["slot"];

fn globs(texts: &[&str]) -> Vec<Glob> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// A run of the small machine under a waveform.
struct Run {
    globs: Vec<Glob>,
    window: Window,
    clocks: Clocks,
    mode: Mode,
    machine: Machine,
}

impl Run {
    fn of(texts: &[&str]) -> Self {
        let mode = Mode::default();
        Self { globs: globs(texts), window: Window::ALL, clocks: clocks(), mode, machine: Machine::new(8) }
    }

    /// Runs some hundred cycles; gives the dump and what another reader saw at some of its times.
    fn dump(&mut self) -> (Vec<u8>, Vec<(u64, Values)>) {
        let Self { globs, window, clocks, mode, machine } = self;
        let spec = WaveSpec { globs, window: *window, clocks, clock: 0 };
        let mut wave = Waveform::new(Vec::new(), machine, spec).unwrap();
        let mut sim = Simulator::new(clocks.periods(), machine, *mode);
        let mut seen = Vec::new();
        for step in 0..700u64 {
            sim.step(machine);
            wave.sample(&mut sim, machine).unwrap();
            if step.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62 == 0 {
                seen.push((wave.time_of(sim.tick()), look_at(machine, ENTRIES)));
            }
        }
        (wave.into_inner(sim.tick()).unwrap(), seen)
    }

    fn paths(&mut self) -> Vec<String> {
        ReadBack::of(&self.dump().0).changes.into_keys().collect()
    }
}

#[test]
fn a_dump_holds_what_another_reader_sees_at_any_time() {
    let everything = ["**", "**.slot[*]", "bank2.words[*]"];
    for (evaluate_all, shuffle) in [(false, None), (false, Some(3)), (true, Some(4))] {
        let mut run = Run::of(&everything);
        run.mode = Mode { evaluate_all, shuffle, ..Mode::default() };
        let (dump, seen) = run.dump();
        let read = ReadBack::of(&dump);
        assert!(seen.len() > 100);
        for (time, values) in seen {
            assert_eq!(read.at(time), values, "at {time} ps");
        }
    }
}

#[test]
fn a_beat_shows_while_it_is_on_its_way() {
    let read = ReadBack::of(&Run::of(&["bank2.in0"]).dump().0);
    // Sent at tick 0; the bank's first edge at or after tick 370 takes it.
    let valid = &read.changes["machine.bank2.in0.valid"];
    assert_eq!(valid[0], (0, "1".to_owned()));
    let level = &read.changes["machine.bank2.in0.level"];
    assert!(level.iter().any(|(_, level)| level == "11"), "the link fills up: {level:?}");
}

#[test]
fn the_order_of_evaluation_does_not_show() {
    let mut shuffled = Run::of(&["**"]);
    shuffled.mode.shuffle = Some(9);
    assert!(Run::of(&["**"]).dump().0 == shuffled.dump().0);
}

#[test]
fn without_a_glob_all_but_entries_is_written() {
    let paths = Run::of(&[]).paths();
    assert!(paths.contains(&"machine.sm1.core.stat.sent".to_owned()), "{paths:?}");
    assert!(paths.contains(&"machine.bank2.in1.data".to_owned()), "{paths:?}");
    assert!(paths.iter().all(|path| !path.contains('[')), "{paths:?}");
}

#[test]
fn the_cells_of_a_memory_are_asked_for_by_row() {
    let cell = |column, field| format!("machine.bank2.words[3].column[{column}].{field}");
    let expected = [cell(0, "data"), cell(0, "mask"), cell(1, "data"), cell(1, "mask")];
    assert_eq!(Run::of(&["bank2.words[3]"]).paths(), expected);
}

#[test]
fn a_memory_without_a_row_is_answered_with_its_rows() {
    let (machine, clocks) = (Machine::new(8), clocks());
    let globs = globs(&["bank2.words"]);
    let spec = WaveSpec { globs: &globs, window: Window::ALL, clocks: &clocks, clock: 0 };
    let Err(WaveError::NoMatch(error)) = Waveform::new(Vec::new(), &machine, spec) else {
        panic!("a memory alone chooses nothing");
    };
    assert_eq!(error.near[0], "machine.bank2.words[0]");
}

#[test]
fn only_the_cycles_of_the_window_are_written() {
    let mut run = Run::of(&["**"]);
    run.window = Window::new(Some(50), Some(99)).unwrap();
    let (dump, seen) = run.dump();
    let read = ReadBack::of(&dump);
    // Cycle n of the 700 MHz clock begins at n / 0.7 ns.
    assert!(*read.times.first().unwrap() >= 71_429 && *read.times.last().unwrap() < 142_857, "{:?}", read.times);
    let inside = |time: u64| (read.times[0]..142_857).contains(&time);
    let (time, values) = seen.into_iter().find(|(time, _)| inside(*time)).unwrap();
    for (path, value) in read.at(time) {
        assert_eq!(value, values[&path], "{path}");
    }
}

#[test]
fn blocks_without_a_selected_signal_are_never_described_again() {
    let mut run = Run::of(&["sm1.core.phase"]);
    let (_, seen) = run.dump();
    let others = 1 + seen.len() as u32;
    let [sm0, sm1, bank] = run.machine.described();
    assert_eq!((sm0, bank), (others, others));
    assert!(sm1 > others);
}

#[test]
fn parts_without_a_selected_signal_are_never_described_again() {
    let mut run = Run::of(&["bank2.count"]);
    let (_, seen) = run.dump();
    let [_, _, bank] = run.machine.described();
    let others = 1 + seen.len() as u32;
    assert!(bank > others);
    assert_eq!(run.machine.parts_described(), 2 * others);
}

#[test]
fn edges_within_one_picosecond_keep_their_order() {
    let mut run = Run::of(&["**"]);
    run.clocks = Clocks::new(&[999_983, 1_000_003]).unwrap();
    assert!(run.clocks.ticks_per_second() > 1_000_000_000_000);
    let read = ReadBack::of(&run.dump().0);
    assert!(read.times.is_sorted_by(|a, b| a < b));
}

#[test]
#[should_panic(expected = "`describe` depends on the state")]
fn a_description_that_depends_on_the_state_is_a_breach() {
    let mut run = Run::of(&["**"]);
    run.machine = Machine::forgetful();
    run.dump();
}

#[test]
fn a_finished_dump_comes_with_a_save_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.vcd");
    let (mut machine, clocks) = (Machine::new(8), clocks());
    let spec = WaveSpec { globs: &[], window: Window::ALL, clocks: &clocks, clock: 0 };
    let mut wave = Waveform::create(&path, &machine, spec).unwrap();
    let mut sim = Simulator::new(clocks.periods(), &machine, Mode::default());
    for _ in 0..9 {
        sim.step(&mut machine);
        wave.sample(&mut sim, &machine).unwrap();
    }
    let recorded = wave.finish(sim.tick() + 66).unwrap();
    assert_eq!(recorded.path, path);
    let items = waves::gtkw::by_block(&recorded.tree, &recorded.selection);
    let save = std::fs::read_to_string(recorded.save(None, &items, &[]).unwrap()).unwrap();
    assert!(save.contains("machine.bank2.in0.valid"), "{save}");
    let read = ReadBack::of(&std::fs::read(&path).unwrap());
    assert_eq!((read.times[0], *read.times.last().unwrap()), recorded.sight);
}
