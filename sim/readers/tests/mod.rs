//! Tests of the readers. A waveform dump is read back with the library wellen and must contain the values
//! that another reader saw, in every evaluation mode. The other files test the window, scopes and table
//! entries of a waveform (`wave`), text dumps and structure counts (`text`), the load-store unit with its
//! view (`lsu`), and the whole machine (`fermi`).

mod fermi;
mod lsu;
mod machine;
mod text;
mod wave;

use std::collections::{BTreeMap, HashMap};
use std::io::Cursor;

use rtl::kernel::{ArrayView, Blocks, Describe, Field, Fields, Logic};

use super::scopes::block_ids;

/// Binary value of every signal, without leading zeros, indexed by the path of the signal.
type Values = BTreeMap<String, String>;

/// Returns the values that the hardware blocks describe at the moment, by path. In the paths, scopes whose
/// names are in `entries` are written as table entries, with an index in brackets.
fn look_at(blocks: &impl Blocks, entries: &'static [&'static str]) -> Values {
    let mut all = Values::new();
    for block in block_ids(blocks) {
        let mut seen = ValueReader { entries, path: vec!["machine".to_owned()], values: Vec::new() };
        blocks.describe(block, &mut seen);
        let mut total = HashMap::new();
        seen.values.iter().for_each(|(path, _)| *total.entry(path.clone()).or_insert(0) += 1);
        let mut count = HashMap::new();
        for (path, value) in seen.values {
            let at: &mut u32 = count.entry(path.clone()).or_default();
            let name = if total[&path] > 1 { format!("{path}[{at}]") } else { path };
            *at += 1;
            all.insert(name, value);
        }
    }
    all
}

struct ValueReader {
    entries: &'static [&'static str],
    path: Vec<String>,
    values: Vec<(String, String)>,
}

impl ValueReader {
    fn add(&mut self, name: &str, bits: &str) {
        self.values.push((format!("{}.{name}", self.path.join(".")), significant(bits)));
    }
}

fn significant(bits: &str) -> String {
    bits.trim_start_matches('0').to_owned()
}

impl Fields for ValueReader {
    fn field(&mut self, field: Field) {
        self.add(field.name, &format!("{:b}", field.value));
    }
    fn wide(&mut self, name: &'static str, bytes: &[u8]) {
        let bits: String = bytes.iter().rev().map(|byte| format!("{byte:08b}")).collect();
        self.add(name, &bits);
    }
}

impl Describe for ValueReader {
    fn enter(&mut self, name: &'static str, index: Option<u32>) {
        self.path.push(match index {
            Some(index) if self.entries.contains(&name) => format!("{name}[{index}]"),
            Some(index) => format!("{name}{index}"),
            None => name.to_owned(),
        });
    }
    fn leave(&mut self) {
        self.path.pop();
    }
    fn probe(&mut self, field: Field) {
        self.field(field);
    }
    fn stat_in(&mut self, group: Option<&'static str>, name: &'static str, count: u64) {
        let group = group.map(|group| format!("{group}.")).unwrap_or_default();
        self.add(&format!("stat.{group}{name}"), &format!("{count:b}"));
    }
    fn array(&mut self, name: &'static str, array: &dyn ArrayView) {
        let spec = array.spec();
        for row in 0..spec.rows {
            self.path.push(format!("{name}[{row}]"));
            for column in 0..spec.columns {
                if spec.columns > 1 {
                    self.path.push(format!("column[{column}]"));
                }
                array.cell(row, column, self);
                if spec.columns > 1 {
                    self.path.pop();
                }
            }
            self.path.pop();
        }
    }
    fn channel(&mut self, _: &'static str, _: u32, _: u32) {}
    fn logic(&mut self, _: &'static str, _: Logic) {}
}

/// Waveform dump as read by the library wellen: the changes of every signal, by path.
struct ReadBack {
    times: Vec<u64>,
    changes: BTreeMap<String, Vec<(u64, String)>>,
}

impl ReadBack {
    fn of(dump: &[u8]) -> Self {
        let mut wave = wellen::simple::read_from_reader(Cursor::new(dump.to_vec())).unwrap();
        let times = wave.time_table().to_vec();
        let hierarchy = wave.hierarchy();
        let path = |var: wellen::VarRef| {
            // wellen returns `table.[5]` as the path of a table entry, which is changed to `table[5]`.
            (hierarchy[var].full_name(hierarchy).replace(".[", "["), hierarchy[var].signal_ref())
        };
        let vars: Vec<_> = hierarchy.all_vars().map(path).collect();
        wave.load_signals(&vars.iter().map(|(_, signal)| *signal).collect::<Vec<_>>());
        let changes = vars.into_iter().map(|(path, signal)| {
            let changes = wave.get_signal(signal).unwrap().iter_changes();
            let list = changes.map(|(at, value)| (times[at as usize], significant(&value.to_bit_string().unwrap())));
            // Unknown values are left out. They occur if an FST does not start at time 0: its signals are
            // unknown until the start.
            (path, list.filter(|(_, value)| !value.contains('x')).collect::<Vec<_>>())
        });
        let changes: BTreeMap<_, _> = changes.collect();
        let first = changes.values().flatten().map(|(time, _)| *time).min();
        let times = times.iter().copied().filter(|&time| Some(time) >= first).collect();
        Self { changes, times }
    }

    /// Iterates over the signals of hardware blocks. The signals at the root, which belong to the dump
    /// itself, are skipped.
    fn blocks(&self) -> impl Iterator<Item = (&String, &Vec<(u64, String)>)> {
        self.changes.iter().filter(|(path, _)| path.matches('.').count() > 1)
    }

    /// Returns the value at a time of every signal that belongs to a hardware block.
    fn at(&self, time: u64) -> Values {
        let last = |changes: &[(u64, String)]| {
            let before = changes.partition_point(|(at, _)| *at <= time);
            changes[before - 1].1.clone()
        };
        self.blocks().map(|(path, changes)| (path.clone(), last(changes))).collect()
    }
}
