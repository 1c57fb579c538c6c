//! Tests that read dumps back with two independent readers: wellen, and the parser of the `vcd` crate. For
//! random trees and random values, they must find exactly the values that were written.

use std::collections::{BTreeMap, HashSet};
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;
use waves::dump::{Dump, Format};
use waves::scope::Selection;
use waves::signal::{Display, Kind, SignalId, Tree, TreeBuilder};
use waves::sink::Sink;
use waves::vcd::{TimeUnit, Timescale};

const NANOSECOND: fn() -> Timescale = || Timescale::new(1, TimeUnit::NS);

/// Map from the path of each signal to its changes, as pairs of time and binary digits. The digits include
/// leading zeros; an unknown value is all `x`.
type Changes = BTreeMap<String, Vec<(u64, String)>>;

/// One step of the description of a random tree of scopes and signals.
#[derive(Debug, Clone)]
enum Step {
    Enter,
    Leave,
    Signal(u32),
    /// Signal that is an array entry, with its width in bits.
    Entry(u32),
}

/// One sample: the time since the previous sample, the signal, and its value.
#[derive(Debug, Clone)]
struct Sample {
    later: u64,
    signal: prop::sample::Index,
    value: [u64; 64],
}

fn width() -> impl Strategy<Value = u32> {
    prop_oneof![2 => Just(1), 4 => 2u32..=64, 1 => Just(64), 2 => 65u32..=300, 1 => Just(4096)]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        Just(Step::Enter),
        Just(Step::Leave),
        width().prop_map(Step::Signal),
        width().prop_map(Step::Signal),
        width().prop_map(Step::Entry),
    ];
    prop::collection::vec(step, 1..40)
}

fn samples() -> impl Strategy<Value = Vec<Sample>> {
    // Random words are shifted right by a random distance, so that short values, which have leading zeros,
    // are as likely as long ones. Half of all values are below 3, so that values often repeat.
    let word = prop_oneof![(any::<u64>(), 0u32..64).prop_map(|(word, by)| word >> by), 0u64..3];
    let sample = (
        prop_oneof![2 => Just(0u64), 2 => 1u64..4, 1 => any::<u32>().prop_map(u64::from)],
        any::<prop::sample::Index>(),
        word,
        any::<bool>(),
    )
        .prop_map(|(later, signal, word, all)| {
            let mut value = [if all { word } else { 0 }; 64];
            value[0] = word;
            Sample { later, signal, value }
        });
    prop::collection::vec(sample, 0..200)
}

/// Describes a tree. Each name contains the number of its step, which makes it unique.
fn describe(steps: &[Step]) -> Tree {
    let mut build = TreeBuilder::new("machine");
    let mut depth = 0;
    for (n, step) in steps.iter().enumerate() {
        let display = |width| if width == 1 { Display::Bit } else { Display::Hex };
        match *step {
            Step::Enter => {
                build.enter(&format!("scope{n}"));
                depth += 1;
            }
            Step::Leave if depth > 0 => {
                build.leave();
                depth -= 1;
            }
            Step::Leave => {}
            Step::Signal(width) => {
                build.signal(&format!("s{n}"), width, Kind::Wire, display(width));
            }
            Step::Entry(width) => {
                build.signal(&format!("tags[{n}]"), width, Kind::Reg, display(width));
            }
        }
    }
    (0..depth).for_each(|_| build.leave());
    build.finish()
}

fn everything(tree: &Tree) -> Selection {
    let globs: Vec<_> = tree.ids().map(|id| tree.path(id).parse().expect("a path is a glob")).collect();
    Selection::new(tree, &globs).expect("every path exists")
}

/// Clears the bits of the value beyond the width.
fn cut(value: &[u64; 64], width: u32) -> Vec<u64> {
    let mut words = value[..width.div_ceil(64) as usize].to_vec();
    if !width.is_multiple_of(64) {
        let top = words.len() - 1;
        words[top] &= (1 << (width % 64)) - 1;
    }
    words
}

fn digits(words: &[u64], width: u32) -> String {
    (0..width).rev().map(|bit| if words[bit as usize / 64] >> (bit % 64) & 1 == 1 { '1' } else { '0' }).collect()
}

/// Writes the samples to a dump; values of at most 64 bits are written with `sample`. Returns the bytes of
/// the dump, and the changes that a reader must find in it.
fn write(format: Format, tree: &Tree, selection: &Selection, samples: &[Sample]) -> (Vec<u8>, Changes) {
    let ids: Vec<SignalId> = tree.ids().collect();
    let mut dump =
        Dump::new(Cursor::default(), format, tree, selection, NANOSECOND()).expect("memory takes everything");
    let mut now = 7;
    dump.time(now).expect("memory takes everything");
    let mut expected = Changes::new();
    let mut note = |id: SignalId, time: u64, text: String| {
        let changes = expected.entry(tree.path(id)).or_default();
        match changes.last_mut() {
            Some((at, last)) if *at == time => *last = text,
            Some((_, last)) if *last == text => {}
            _ => changes.push((time, text)),
        }
    };
    for &id in ids.iter().filter(|&&id| selection.contains(id)) {
        note(id, now, "x".repeat(tree.signal(id).width as usize));
    }
    for Sample { later, signal, value } in samples {
        if *later > 0 {
            now += later;
            dump.time(now).expect("memory takes everything");
        }
        if ids.is_empty() {
            continue;
        }
        let id = ids[signal.index(ids.len())];
        let width = tree.signal(id).width;
        let words = cut(value, width);
        if width <= 64 { dump.sample(id, words[0]) } else { dump.sample_wide(id, &words) }
            .expect("memory takes everything");
        if selection.contains(id) {
            note(id, now, digits(&words, width));
        }
    }
    (dump.into_inner().expect("memory takes everything").into_inner(), expected)
}

/// Normalizes a list of changes. If a signal has several values at one time, only the last one is kept.
/// Consecutive equal values are merged.
fn settle(changes: &mut Changes) {
    for list in changes.values_mut() {
        let mut settled: Vec<(u64, String)> = Vec::new();
        for (time, text) in list.drain(..) {
            if settled.last().is_some_and(|(at, _)| *at == time) {
                settled.pop();
            }
            if settled.last().is_none_or(|(_, last)| *last != text) {
                settled.push((time, text));
            }
        }
        *list = settled;
    }
}

/// Reads a dump with the parser of the `vcd` crate. Checks that ids are unique, widths are right and times
/// strictly increase.
fn read_with_vcd(bytes: &[u8], tree: &Tree) -> Changes {
    let widths: BTreeMap<String, u32> = tree.ids().map(|id| (tree.path(id), tree.signal(id).width)).collect();
    let (mut scopes, mut signals) = (Vec::new(), BTreeMap::new());
    let mut changes = Changes::new();
    let mut now = None;
    let mut dumping = false;
    for command in vcd::Parser::new(bytes) {
        let (id, digits) = match command.expect("the parser reads every line") {
            vcd::Command::ScopeDef(_, name) => {
                scopes.push(name);
                continue;
            }
            vcd::Command::Upscope => {
                scopes.pop().expect("as many scopes are closed as opened");
                continue;
            }
            vcd::Command::VarDef(_, width, id, name, index) => {
                let path = format!("{}.{name}", scopes.join("."));
                assert_eq!(widths.get(&path), Some(&width), "{path}");
                let ranged = width > 1 || path.ends_with(']');
                let range = ranged.then_some(vcd::ReferenceIndex::Range(width as i32 - 1, 0));
                assert_eq!(index, range, "{path}");
                assert!(signals.insert(id, (path, width)).is_none(), "id {id} names two signals");
                continue;
            }
            vcd::Command::Timestamp(time) => {
                assert!(now.is_none_or(|last| time > last), "time {time} after {now:?}");
                now = Some(time);
                continue;
            }
            vcd::Command::Begin(vcd::SimulationCommand::Dumpvars) => {
                dumping = true;
                continue;
            }
            vcd::Command::End(vcd::SimulationCommand::Dumpvars) => {
                assert_eq!(changes.len(), signals.len(), "every signal has an initial value");
                dumping = false;
                continue;
            }
            vcd::Command::ChangeScalar(id, value) => (id, value.to_string()),
            vcd::Command::ChangeVector(id, value) => (id, value.iter().map(|v| v.to_string()).collect()),
            _ => continue,
        };
        let (path, width) = &signals[&id];
        assert!(digits.len() <= *width as usize, "{path}: {digits}");
        let fill = if digits.starts_with('x') { "x" } else { "0" };
        let full = fill.repeat(*width as usize - digits.len()) + &digits;
        changes.entry(path.clone()).or_default().push((now.expect("a time comes before a value"), full));
    }
    assert!(!dumping, "$dumpvars is closed");
    settle(&mut changes);
    changes
}

/// Reads a dump with wellen, which panics on some malformed files.
fn read_with_wellen(bytes: &[u8]) -> Changes {
    let bytes = bytes.to_vec();
    let read = catch_unwind(AssertUnwindSafe(|| {
        let mut wave = wellen::simple::read_from_reader(Cursor::new(bytes)).expect("wellen reads the dump");
        let times = wave.time_table().to_vec();
        let hierarchy = wave.hierarchy();
        let vars: Vec<(String, wellen::SignalRef)> = hierarchy
            .all_vars()
            .map(|var| {
                let var = &hierarchy[var];
                // wellen represents an array as a scope, and the index of an entry as a name inside it.
                (var.full_name(hierarchy).replace(".[", "["), var.signal_ref())
            })
            .collect();
        let refs: Vec<wellen::SignalRef> = vars.iter().map(|(_, signal)| *signal).collect();
        assert_eq!(refs.iter().collect::<HashSet<_>>().len(), refs.len(), "no two signals share values");
        wave.load_signals(&refs);
        let mut changes = Changes::new();
        for (path, signal) in vars {
            let signal = wave.get_signal(signal).expect("it was loaded");
            let list = signal
                .iter_changes()
                .map(|(at, value)| (times[at as usize], value.to_bit_string().expect("a bit vector")))
                .collect();
            changes.insert(path, list);
        }
        changes
    }));
    let mut changes = read.expect("wellen does not panic");
    settle(&mut changes);
    changes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn both_readers_find_exactly_the_values_that_were_given(steps in steps(), samples in samples()) {
        let tree = describe(&steps);
        prop_assume!(!tree.is_empty());
        let (bytes, mut expected) = write(Format::Vcd, &tree, &everything(&tree), &samples);
        settle(&mut expected);
        prop_assert_eq!(&read_with_vcd(&bytes, &tree), &expected);
        prop_assert_eq!(&read_with_wellen(&bytes), &expected);
        let (bytes, _) = write(Format::Fst, &tree, &everything(&tree), &samples);
        // The FST reader reports a signal without a value as unknown from time 0 on.
        for changes in expected.values_mut() {
            let unknown = "x".repeat(changes[0].1.len());
            if changes[0].1 == unknown {
                changes.remove(0);
            }
            changes.insert(0, (0, unknown));
        }
        prop_assert_eq!(&read_with_wellen(&bytes), &expected, "as FST");
    }

    #[test]
    fn only_selected_signals_are_in_the_dump(steps in steps(), samples in samples()) {
        let tree = describe(&steps);
        let selection = Selection::default_of(&tree);
        prop_assume!(selection.ids().next().is_some());
        let (bytes, mut expected) = write(Format::Vcd, &tree, &selection, &samples);
        settle(&mut expected);
        prop_assert_eq!(read_with_vcd(&bytes, &tree), expected);
    }

    #[test]
    fn equal_runs_give_equal_bytes(steps in steps(), samples in samples()) {
        let run = || {
            let tree = describe(&steps);
            [Format::Vcd, Format::Fst].map(|format| write(format, &tree, &everything(&tree), &samples).0)
        };
        prop_assert_eq!(run(), run());
    }
}

#[test]
fn a_dump_names_the_states_of_its_signals_for_viewers_that_read_no_save_file() {
    const STATUS: &[&str] = &["HIT", "MISS", "", "FAIL"];
    const KIND: &[&str] = &["LOAD", "STORE"];
    let mut build = TreeBuilder::new("machine");
    build.signal("plain", 2, Kind::Reg, Display::Unsigned);
    for scope in ["sm0", "sm1"] {
        build.enter(scope);
        build.signal("status", 2, Kind::Reg, Display::Enum(STATUS));
        build.signal("kind", 1, Kind::Wire, Display::Enum(KIND));
        build.signal("wide_kind", 3, Kind::Wire, Display::Enum(KIND));
        build.leave();
    }
    let tree = build.finish();
    let (bytes, _) = write(Format::Fst, &tree, &everything(&tree), &[]);
    let wave = wellen::simple::read_from_reader(Cursor::new(bytes)).expect("wellen reads the dump");
    let hierarchy = wave.hierarchy();
    let named = |var: wellen::VarRef| {
        let states = hierarchy[var].enum_type(hierarchy).map(|(name, states)| {
            let states: Vec<String> = states.iter().map(|(code, state)| format!("{code}={state}")).collect();
            format!(" {name}: {}", states.join(" "))
        });
        hierarchy[var].full_name(hierarchy) + &states.unwrap_or_default()
    };
    let found: Vec<String> = hierarchy.all_vars().map(named).collect();
    let of_sm = |sm: u32| {
        let path = format!("machine.sm{sm}");
        [
            format!("{path}.status status: 00=HIT 01=MISS 11=FAIL"),
            format!("{path}.kind kind: 0=LOAD 1=STORE"),
            format!("{path}.wide_kind wide_kind: 000=LOAD 001=STORE"),
        ]
    };
    assert_eq!(found, [vec!["machine.plain".to_owned()], of_sm(0).into(), of_sm(1).into()].concat());
}
