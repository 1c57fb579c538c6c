//! Tests of waveform dumps of the small test machine, which are read back after they were written.

use std::collections::BTreeSet;
use std::io::Cursor;

use rtl::kernel::{Clocks, Mode, Simulator};
use waves::dump::Format;
use waves::scope::{Glob, Window};

use super::machine::{Machine, clocks};
use super::{ReadBack, Values, look_at};
use crate::readers::{ChangedBlocks, WaveError, WaveSpec, Waveform};

const ENTRIES: &[&str] = &["slot"];

fn globs(texts: &[&str]) -> Vec<Glob> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// Options of a run of the small test machine that writes a waveform.
struct Run {
    globs: Vec<Glob>,
    window: Window,
    format: Format,
    trigger: Option<&'static str>,
    last: Option<u64>,
    after: Option<u64>,
    limit: Option<u64>,
    /// Simulation step after which a check of `bank2` is made to fail; `None` for no failure.
    fails: Option<u64>,
    clocks: Clocks,
    mode: Mode,
    machine: Machine,
}

impl Run {
    fn of(texts: &[&str]) -> Self {
        Self {
            globs: globs(texts),
            window: Window::ALL,
            format: Format::Vcd,
            trigger: None,
            last: None,
            after: None,
            limit: None,
            fails: None,
            clocks: clocks(),
            mode: Mode::default(),
            machine: Machine::new(8),
        }
    }

    /// Simulates 700 steps. Returns the waveform dump, and the values that another reader saw at some of the
    /// times.
    fn dump(&mut self) -> (Vec<u8>, Vec<(u64, Values)>) {
        let Self { globs, window, format, trigger, last, after, limit, fails, clocks, mode, machine } = self;
        let (window, format, trigger, last, after, limit) = (*window, *format, *trigger, *last, *after, *limit);
        let spec = WaveSpec { format, globs, window, trigger, last, after, limit, ..WaveSpec::of(clocks, 0) };
        let mut wave = Waveform::new(Cursor::new(Vec::new()), machine, spec).unwrap();
        let mut sim = Simulator::new(clocks.periods(), machine, *mode);
        let mut changed = ChangedBlocks::none(machine);
        let mut seen = Vec::new();
        for step in 0..700u64 {
            sim.step(machine);
            changed.take(&mut sim);
            wave.sample(sim.tick(), &changed, machine).unwrap();
            if *fails == Some(step) {
                wave.fail("cycle 9, bank2: a beat is gone", sim.tick(), &changed, machine).unwrap();
            }
            if step.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62 == 0 {
                seen.push((wave.time_of(sim.tick()), look_at(machine, ENTRIES)));
            }
        }
        (wave.into_inner(sim.tick()).unwrap().into_inner(), seen)
    }

    fn paths(&mut self) -> Vec<String> {
        ReadBack::of(&self.dump().0).blocks().map(|(path, _)| path.clone()).collect()
    }
}

#[test]
fn a_dump_holds_what_another_reader_sees_at_any_time() {
    let everything = ["**", "**.slot[*]", "bank2.words[*]"];
    for format in [Format::Vcd, Format::Fst] {
        for (evaluate_all, shuffle) in [(false, None), (false, Some(3)), (true, Some(4))] {
            let mut run = Run::of(&everything);
            run.format = format;
            run.mode = Mode { evaluate_all, shuffle, ..Mode::default() };
            let (dump, seen) = run.dump();
            let read = ReadBack::of(&dump);
            assert!(seen.len() > 100);
            for (time, values) in seen {
                assert_eq!(read.at(time), values, "{format:?} at {time} ps");
            }
        }
    }
}

#[test]
fn a_dump_starts_where_its_trigger_is_met() {
    for format in [Format::Vcd, Format::Fst] {
        let mut run = Run::of(&["**"]);
        (run.format, run.trigger) = (format, Some("sm1.core.stat.sent == 20"));
        let (dump, seen) = run.dump();
        let read = ReadBack::of(&dump);
        let sent = &read.changes["machine.sm1.core.stat.sent"];
        assert_eq!(sent[0], (read.times[0], "10100".to_owned()), "{format:?}");
        let (time, values) = seen.into_iter().find(|(time, _)| *time >= read.times[0]).unwrap();
        for (path, value) in read.at(time) {
            assert_eq!(value, values[&path], "{path}");
        }
    }
}

#[test]
fn the_cycles_before_a_trigger_come_first_if_they_were_remembered() {
    let mut run = Run::of(&["**"]);
    (run.trigger, run.last) = (Some("sm1.core.stat.sent == 20"), Some(30));
    let (dump, seen) = run.dump();
    let read = ReadBack::of(&dump);
    let sent = &read.changes["machine.sm1.core.stat.sent"];
    let (met, _) = sent.iter().find(|(_, count)| count == "10100").unwrap();
    // The dump must begin at least 30 cycles of the 700 MHz clock (42,857 ps) before the trigger. It may
    // begin slightly earlier, at a time at which a hardware block was evaluated.
    let before = met - read.times[0];
    assert!((42_857..60_000).contains(&before), "{before} ps before the trigger");
    for (time, values) in seen.into_iter().filter(|(time, _)| *time >= read.times[0]) {
        for (path, value) in read.at(time) {
            assert_eq!(value, values[&path], "{path} at {time} ps");
        }
    }
}

#[test]
fn a_dump_goes_on_for_the_cycles_behind_its_trigger_that_were_asked_for_and_ends() {
    for (trigger, fails) in [("sm1.core.stat.sent == 20", None), ("failure", Some(400))] {
        for (format, last) in [(Format::Vcd, None), (Format::Fst, Some(30))] {
            let mut run = Run::of(&["**"]);
            (run.format, run.trigger, run.last, run.fails) = (format, Some(trigger), last, fails);
            let whole = ReadBack::of(&run.dump().0);
            (run.machine, run.after) = (Machine::new(8), Some(10));
            let read = ReadBack::of(&run.dump().0);
            assert_eq!(read.times[0], whole.times[0], "{trigger}");
            let met = match fails {
                None => whole.changes["machine.sm1.core.stat.sent"].iter().find(|(_, sent)| sent == "10100").unwrap().0,
                // If no cycles before the failure are kept in memory, the dump starts at the failure.
                Some(_) if last.is_none() => whole.times[0],
                Some(_) => continue,
            };
            let cycle = |time: u64| (time + 1) * 7 / 10_000;
            let inside = |time: &u64| cycle(*time) <= cycle(met) + 10;
            let expected: Vec<u64> = whole.times.iter().copied().filter(inside).collect();
            let changed =
                |read: &ReadBack| -> BTreeSet<u64> { read.changes.values().flatten().map(|(at, _)| *at).collect() };
            let expected: BTreeSet<u64> =
                changed(&whole).intersection(&expected.into_iter().collect()).copied().collect();
            assert_eq!(changed(&read), expected, "{trigger}, {format:?}");
            assert!(read.times.last() < whole.times.last(), "{trigger}: it ends ahead of the run");
        }
    }
}

#[test]
fn a_trigger_may_name_several_signals_and_the_cycle() {
    let first = |trigger| {
        let mut run = Run::of(&["**"]);
        run.trigger = Some(trigger);
        ReadBack::of(&run.dump().0).times[0]
    };
    let one = first("sm1.core.stat.sent == 20");
    assert!(first("sm*.core.stat.sent == 20") <= one);
    assert!(
        first("sm*.core.stat.sent == 20") < first("sm0.core.stat.sent >= 20 && sm1.core.stat.sent >= 20 && cycle > 0")
    );
    let cycle = first("cycle >= 120") * 7 / 10_000;
    assert!((120..135).contains(&cycle), "the first step in or after cycle 120: {cycle}");
}

#[test]
fn a_failure_writes_the_cycles_before_it_and_ends_the_dump() {
    let mut run = Run::of(&["**"]);
    (run.last, run.fails) = (Some(30), Some(400));
    let read = ReadBack::of(&run.dump().0);
    let span = read.times.last().unwrap() - read.times[0];
    assert!((40_000..60_000).contains(&span), "{span} ps");
}

#[test]
fn without_its_trigger_there_is_no_dump() {
    let mut run = Run::of(&["**"]);
    run.trigger = Some("failure");
    assert_eq!(run.dump().0, Vec::<u8>::new());
    run.machine = Machine::new(8);
    run.fails = Some(400);
    assert!(ReadBack::of(&run.dump().0).times[0] > 100_000, "it begins with the failure");
}

#[test]
fn a_dump_that_waits_for_one_failure_passes_others_over() {
    let mut run = Run::of(&["**"]);
    run.fails = Some(400);
    for (trigger, starts) in [("failure bank2", true), ("failure bank2: a beat", true), ("failure sm1", false)] {
        (run.machine, run.trigger, run.last) = (Machine::new(8), Some(trigger), Some(30));
        let read = run.dump().0;
        assert_eq!(!read.is_empty(), starts, "{trigger}");
        if starts {
            let (first, last) = (ReadBack::of(&read).times[0], *ReadBack::of(&read).times.last().unwrap());
            assert!(first > 100_000 && last - first > 60_000, "{trigger}: {first} to {last}, the run's end");
        }
    }
}

#[test]
fn a_dump_that_reaches_its_limit_ends_and_can_be_read() {
    for format in [Format::Vcd, Format::Fst] {
        let mut run = Run::of(&["**"]);
        (run.format, run.limit) = (format, Some(20_000));
        let (dump, _) = run.dump();
        assert!(dump.len() < 25_000, "{format:?}: {} bytes", dump.len());
        assert!(!ReadBack::of(&dump).times.is_empty(), "{format:?}");
    }
}

#[test]
fn a_beat_shows_while_it_is_on_its_way() {
    let read = ReadBack::of(&Run::of(&["bank2.in0"]).dump().0);
    // Tests that the link becomes full. A beat is sent at tick 0, but the bank cannot take it before its
    // first edge at or after tick 370.
    let valid = &read.changes["machine.bank2.in0.valid"];
    assert_eq!(valid[0], (0, "1".to_owned()));
    let level = &read.changes["machine.bank2.in0.level"];
    assert!(level.iter().any(|(_, level)| level == "11"), "the link fills up: {level:?}");
}

#[test]
fn the_cycle_and_an_edge_of_each_clock_stand_at_every_change_and_nowhere_else() {
    let cycle_at = |time: u64| time * 7 / 10_000;
    for format in [Format::Vcd, Format::Fst] {
        // Tests machines that are idle most of the time: in most steps, half of the hardware blocks are not
        // evaluated. One of the selected signals changes rarely.
        for (globs, trigger, last) in [
            (&["**"][..], None, None),
            (&["sm1.core.phase"], None, None),
            (&["bank2.count"], Some("sm1.core.stat.sent == 20"), None),
            (&["bank2.count", "sm1.core.stat"], Some("sm1.core.stat.sent == 20"), Some(30)),
        ] {
            let mut run = Run::of(globs);
            (run.format, run.trigger, run.last) = (format, trigger, last);
            let read = ReadBack::of(&run.dump().0);
            let times: BTreeSet<u64> = read.blocks().flat_map(|(_, changes)| changes).map(|(time, _)| *time).collect();
            let moments = |path: &str| -> Vec<u64> { read.changes[path].iter().map(|(time, _)| *time).collect() };
            // If cycles were kept in memory, the first change of the signal is skipped, because it holds
            // the value from before these cycles.
            for (time, cycle) in &read.changes["machine.cycle"][usize::from(last.is_some())..] {
                // The time of a clock edge may have been rounded down to a picosecond, so one picosecond is
                // added.
                assert_eq!(u64::from_str_radix(&format!("0{cycle}"), 2).unwrap(), cycle_at(time + 1), "{time} ps");
            }
            // True if `time` in ps is a multiple of the clock period, with a tolerance of one picosecond.
            let is_edge = |time: u64, megahertz: u64| {
                (time * megahertz + 500_000) % 1_000_000 <= 500_000 + megahertz
                    && (time * megahertz + 500_000) % 1_000_000 >= 500_000 - megahertz
            };
            for (path, megahertz) in [("machine.clk0", 700), ("machine.clk1", 924)] {
                let expected: Vec<u64> = times.iter().copied().filter(|&time| is_edge(time, megahertz)).collect();
                let edges = moments(path);
                // The first change is not compared: a dump contains all values at its first time, even if
                // there is no clock edge at that time.
                assert_eq!(
                    &edges[1..],
                    expected.iter().copied().filter(|&time| time > edges[0]).collect::<Vec<_>>(),
                    "{path}"
                );
                assert!(edges.len() > 2 && times.contains(&edges[0]), "{path}: {edges:?}");
            }
            assert!(moments("machine.cycle").iter().all(|time| times.contains(time)), "{globs:?}");
        }
    }
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
    let spec = WaveSpec { globs: &globs, ..WaveSpec::of(&clocks, 0) };
    let Err(WaveError::NoMatch(error)) = Waveform::new(Cursor::new(Vec::new()), &machine, spec) else {
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
    // The dump must cover cycles 50 to 99 only. Cycle n of the 700 MHz clock starts at n / 0.7 ns, so all
    // times must be at least 71,429 ps and less than 142,857 ps.
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
    let [sm0, sm1, bank] = run.machine.describe_counts();
    assert_eq!((sm0, bank), (others, others));
    assert!(sm1 > others);
}

#[test]
fn parts_without_a_selected_signal_are_never_described() {
    let mut run = Run::of(&["bank2.count"]);
    let (_, seen) = run.dump();
    let [_, _, bank] = run.machine.describe_counts();
    let others = seen.len() as u32;
    assert!(bank > 1 + others);
    assert_eq!(run.machine.parts_described(), 2 * others, "but by the other reader");
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
fn a_save_file_opens_on_the_cycles_around_the_first_marker() {
    let folder = tempfile::tempdir().unwrap();
    let (mut machine, clocks) = (Machine::new(8), clocks());
    for (trigger, whole) in [(None, true), (Some("cycle >= 150"), false)] {
        // With 130 cycles kept in memory, the dump starts before the interval that the save file displays.
        let spec = WaveSpec { trigger, last: trigger.map(|_| 130), ..WaveSpec::of(&clocks, 0) };
        let path = folder.path().join("run.vcd");
        let mut wave = Waveform::create(&path, &machine, spec).unwrap();
        let mut sim = Simulator::new(clocks.periods(), &machine, Mode::default());
        let mut changed = ChangedBlocks::none(&machine);
        for _ in 0..700 {
            sim.step(&mut machine);
            changed.take(&mut sim);
            wave.sample(sim.tick(), &changed, &machine).unwrap();
        }
        let recorded = wave.finish(sim.tick()).unwrap().unwrap();
        let read = ReadBack::of(&std::fs::read(&path).unwrap());
        let dump = (read.times[0], *read.times.last().unwrap());
        if whole {
            assert_eq!(recorded.sight, dump);
        } else {
            let marker = recorded.markers[0].time;
            // The save file displays 60 cycles of the 700 MHz clock before the marker and 40 after it.
            assert_eq!(recorded.sight, (marker - 85_714, marker + 57_143));
            assert!(dump.0 < recorded.sight.0 && recorded.sight.1 < dump.1, "{dump:?}");
        }
    }
}

#[test]
fn a_finished_dump_comes_with_a_save_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.vcd");
    let (mut machine, clocks) = (Machine::new(8), clocks());
    let spec = WaveSpec::of(&clocks, 0);
    let mut wave = Waveform::create(&path, &machine, spec).unwrap();
    let mut sim = Simulator::new(clocks.periods(), &machine, Mode::default());
    let mut changed = ChangedBlocks::none(&machine);
    for _ in 0..9 {
        sim.step(&mut machine);
        changed.take(&mut sim);
        wave.sample(sim.tick(), &changed, &machine).unwrap();
    }
    let recorded = wave.finish(sim.tick() + 66).unwrap().unwrap();
    assert_eq!(recorded.path, path);
    let items = waves::gtkw::by_block(&recorded.tree, &recorded.selection);
    let save = std::fs::read_to_string(recorded.save(None, &items).unwrap().pop().unwrap()).unwrap();
    assert!(save.contains("machine.bank2.in0.valid"), "{save}");
    let read = ReadBack::of(&std::fs::read(&path).unwrap());
    assert_eq!((read.times[0], *read.times.last().unwrap()), recorded.sight);
}
