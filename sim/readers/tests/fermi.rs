//! Tests of the readers on the complete `fermi` machine.

use std::collections::BTreeSet;
use std::io::Cursor;

use rtl::machine::{CORE, Machine, MachineConfig};
use waves::scope::{Glob, Selection};
use waves::signal::Tree;
use waves::view::{BUILT_IN, View};

use crate::config::{Request, ResolvedMachine};
use crate::readers::outline::Outline;
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
    for path in ["sm14.core", "sm14.core.scheduler1", "sm14.l1.mshr", "xbar_req", "partition5.l2", "partition5.dram"] {
        assert!(wave.tree().find_scope(path).is_some(), "{path}: no such signals");
        assert!(dump.text_of(path).is_ok(), "{path}: no such state");
        let step = |from: &Counts, name| from.children.iter().find(|child| child.block == name).cloned();
        let found = path.split('.').try_fold(counts.clone(), |at, name| step(&at, name));
        assert!(found.is_some_and(|found| found.bits > 0), "{path}: not counted");
    }
}

#[test]
fn what_every_scheduler_does_is_in_a_dump_of_its_sm_without_being_asked_for() {
    let machine = fermi();
    let globs: Vec<Glob> = vec!["sm3".parse().unwrap()];
    for globs in [&globs[..], &[]] {
        let spec = WaveSpec { globs, ..WaveSpec::of(machine.clocks(), usize::from(CORE)) };
        let wave = Waveform::new(Cursor::new(Vec::new()), &machine, spec).unwrap();
        let paths: Vec<String> = wave.selection().ids().map(|id| wave.tree().path(id)).collect();
        for signal in ["scheduler0.reason", "scheduler1.reason", "scheduler1.issue_warp", "scheduler1.issue_pc"] {
            assert!(paths.contains(&format!("machine.sm3.core.{signal}")), "{signal}");
        }
    }
}

#[test]
fn scopes_that_no_glob_leads_to_are_left_out_and_no_others() {
    let machine = fermi();
    for texts in [
        &["sm3.l1", "machine.partition0"][..],
        &["sm?.core.scheduler1", "sm*.l1.mshr.entry[7].state"],
        &["partition*.dram.bank[*].open", "xbar_req.inject2"],
        &["sm12.l1.tags.entries[5]", "sm1*.*.stat"],
    ] {
        let globs: Vec<Glob> = texts.iter().map(|glob| glob.parse().unwrap()).collect();
        let chosen = |tree: &Tree| -> Vec<String> {
            Selection::new(tree, &globs).unwrap().ids().map(|id| tree.path(id)).collect()
        };
        let (whole, part) = (Outline::of(&machine, &globs).tree, Outline::of_reached(&machine, &globs, &[]).tree);
        assert_eq!(chosen(&part), chosen(&whole));
        assert!(part.len() < whole.len(), "{texts:?}: {} of {} signals", part.len(), whole.len());
    }
}

/// Creates the machine `name` with the given designs and `--set` options.
fn machine(name: &str, designs: &[&str], sets: &[&str]) -> Machine {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    let request = Request { machine: name.to_owned(), designs: owned(designs), sets: owned(sets) };
    Machine::new(&ResolvedMachine::new(&request).unwrap().config)
}

/// Checks that a machine with a mesh gets no waveform view for crossbars, and that a machine with a crossbar
/// gets no view for meshes. On both machines, the clock of the network is called `xbar_clk`; this name must
/// not select the view for crossbars.
#[test]
fn a_network_has_no_view_of_the_other_kind() {
    let globs = ["**".parse().unwrap()];
    for (kind, own, other) in [("noc.kind=mesh", "noc", "xbar"), ("noc.kind=crossbar", "xbar", "noc")] {
        let machine = machine("fermi", &[], &[kind]);
        let spec = WaveSpec { globs: &globs, ..WaveSpec::of(machine.clocks(), usize::from(CORE)) };
        let wave = Waveform::new(Cursor::new(Vec::new()), &machine, spec).unwrap();
        let has = |name: &str| {
            let view = BUILT_IN.iter().find(|view| view.name == name).unwrap();
            view.scope(wave.tree(), wave.selection()).is_some()
        };
        assert_eq!((has(own), has(other)), (true, false), "{kind}");
    }
}

#[test]
fn every_line_of_every_view_fits_a_machine_that_has_what_it_is_about() {
    let fermi = machine("fermi", &["frc", "decoupled", "dwt-cs", "icache"], &["l2.flow.coherence=sharers"]);
    let hybrid = machine("hybrid", &["tracker"], &[]);
    let of_fermi = ["**.bank[*]", "**.entry[*]", "**.slot[*]", "**.l2.tags[*]", "sm0.l1.tags.*[5]"];
    let of_hybrid = ["**.transfers.row[*]"];
    let hbm2 = machine("hbm2", &[], &[]);
    let sectored = machine("fermi", &["l2-sectored"], &[]);
    let mesh = machine("fermi", &[], &["noc.kind=mesh"]);
    let prefetching = machine("fermi", &["next-line"], &[]);
    let of_prefetching = ["**.l1.mshr.entry[*]", "**.l1.prefetch.queue.slot[*]", "**.l1.miss_queue.slot[*]"];
    let words = machine("volta", &[], &["num_sms=4", "l1.banks.kind=words"]);
    let of_sectored = ["**.l2.mshr.entry[*]", "**.l2.*.slot[*]", "**.l2.tags[*]", "**.l2.masks[*]"];
    let machines = [
        (&fermi, &of_fermi[..]),
        (&hybrid, &of_hybrid),
        (&hbm2, &[]),
        (&sectored, &of_sectored),
        (&mesh, &[]),
        (&prefetching, &of_prefetching),
        (&words, &[]),
    ];
    let waves = machines.map(|(machine, entries)| {
        let globs: Vec<Glob> = ["**"].iter().chain(entries).map(|glob| glob.parse().unwrap()).collect();
        let spec = WaveSpec { globs: &globs, ..WaveSpec::of(machine.clocks(), usize::from(CORE)) };
        Waveform::new(Cursor::new(Vec::new()), machine, spec).unwrap()
    });
    for built_in in BUILT_IN {
        let scoped = |wave| -> Option<_> { Some((wave, built_in.scope(Waveform::tree(wave), wave.selection())?)) };
        let view = View::parse_built_in(built_in.name).unwrap();
        let missing = waves.iter().filter_map(scoped).map(|(wave, scope)| {
            let applied = view.apply(wave.tree(), wave.selection(), scope);
            applied.missing.into_iter().collect::<BTreeSet<String>>()
        });
        let everywhere = missing.reduce(|one, other| &one & &other);
        assert_eq!(everywhere, Some(BTreeSet::new()), "{}", built_in.name);
    }
}
