//! The readers on the whole `fermi` machine.

use std::io::Cursor;

use rtl::machine::{CORE, Machine, MachineConfig};
use waves::scope::Glob;
use waves::view::{BUILT_IN, View};

use crate::config::{Request, Resolved};
use crate::readers::{Counts, Dump, Show, WaveSpec, Waveform};

fn fermi() -> Machine {
    let mut table: toml::Table = toml::from_str(include_str!("../../../machines/fermi.toml")).unwrap();
    for about in ["name", "description", "source", "assumed"] {
        table.remove(about);
    }
    Machine::new(&table.try_into::<MachineConfig>().unwrap())
}

#[test]
fn every_part_of_the_machine_has_one_name_in_all_readers() {
    let machine = fermi();
    let globs: Vec<Glob> = ["**", "**.tags.entries[0]"].map(|glob| glob.parse().unwrap()).into();
    let spec = WaveSpec { globs: &globs, ..WaveSpec::of(machine.clocks(), usize::from(CORE)) };
    let wave = Waveform::new(Cursor::new(Vec::new()), &machine, spec).unwrap();
    let (dump, counts) = (Dump::of(&machine, Show::default()), Counts::of(&machine));
    for path in ["sm14.core", "sm14.l1.mshr", "xbar_req", "partition5.l2", "partition5.dram"] {
        assert!(wave.tree().find_scope(path).is_some(), "{path}: no such signals");
        assert!(dump.text_of(path).is_ok(), "{path}: no such state");
        let step = |from: &Counts, name| from.children.iter().find(|child| child.block == name).cloned();
        let found = path.split('.').try_fold(counts.clone(), |at, name| step(&at, name));
        assert!(found.is_some_and(|found| found.bits > 0), "{path}: not counted");
    }
}

#[test]
fn every_view_fits_the_machine() {
    // Of the designs, the one that has a part with a view of its own.
    let request = Request { machine: "fermi".to_owned(), designs: vec!["frc".to_owned()], sets: Vec::new() };
    let machine = Machine::new(&Resolved::new(&request).unwrap().config);
    let globs: Vec<Glob> =
        ["**", "**.scheduler[*]", "**.bank[*]", "**.entry[*]", "**.slot[*]"].map(|glob| glob.parse().unwrap()).into();
    let spec = WaveSpec { globs: &globs, ..WaveSpec::of(machine.clocks(), usize::from(CORE)) };
    let wave = Waveform::new(Cursor::new(Vec::new()), &machine, spec).unwrap();
    for built_in in BUILT_IN {
        let scope = built_in.scope(wave.tree(), wave.selection()).unwrap();
        let applied = View::named(built_in.name).unwrap().apply(wave.tree(), wave.selection(), scope);
        assert_eq!(applied.missing, Vec::<String>::new(), "{}", built_in.name);
    }
}
