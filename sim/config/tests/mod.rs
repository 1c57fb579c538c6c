//! Tests of the resolution of configurations: order in which values are applied, rejected inputs, and printed
//! output.

mod refused;

use std::path::Path;

use rtl::index::i_poly::IPoly;
use rtl::index::linear::Linear;
use rtl::l1::bypass::none::NoScheme;
use rtl::l1::config::StoreHit;
use rtl::l2::{FlowConfig, OverlappedConfig, TransientConfig};
use rtl::sm::{InstructionCacheConfig, InstructionStore};

use super::{About, ConfigError, Request, ResolvedMachine, Slot, designs, machines};

/// Resolves a configuration that is based on the machine `fermi`.
fn fermi(designs: &[&str], sets: &[&str]) -> Result<ResolvedMachine, ConfigError> {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    ResolvedMachine::new(&Request { machine: "fermi".to_owned(), designs: owned(designs), sets: owned(sets) })
}

/// Resolves a configuration whose machine file contains the given text.
fn machine_file(text: &str) -> Result<ResolvedMachine, ConfigError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, text).unwrap();
    ResolvedMachine::new(&Request { machine: path.display().to_string(), ..Request::default() })
}

/// Returns the line that is printed for a field.
fn line<'t>(text: &'t str, key: &str) -> &'t str {
    text.lines().find(|line| line.split(" = ").next() == Some(key)).unwrap()
}

#[test]
fn every_machine_and_design_that_comes_along_resolves_and_is_named_as_its_file() {
    for machine in machines() {
        let request = Request { machine: machine.name.to_owned(), ..Request::default() };
        assert_eq!(ResolvedMachine::new(&request).unwrap().machine.name, machine.name);
    }
    for design in designs() {
        let resolved = fermi(&[design.name], &[]).unwrap();
        assert_eq!(resolved.designs, [design.name]);
    }
    for file in machines().iter().chain(designs()) {
        let About { name, description, source, .. } = About::of(file).unwrap();
        assert_eq!(name, file.name);
        assert!(!description.is_empty() && !source.is_empty(), "{name}");
    }
}

#[test]
fn every_file_of_the_two_folders_comes_along_in_the_order_of_names_and_numbers() {
    for (folder, files) in [("machines", machines()), ("machines/designs", designs())] {
        let there = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder)).unwrap();
        let there = there.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let there = there.filter(|name| name.ends_with(".toml") && name != "Cargo.toml");
        let mut there: Vec<_> = there.map(|name| format!("{folder}/{name}")).collect();
        let mut listed: Vec<_> = files.iter().map(|file| file.path.to_owned()).collect();
        there.sort();
        listed.sort();
        assert_eq!(listed, there);
    }
    let place = |name| designs().iter().position(|file| file.name == name);
    let in_order =
        ["brrip", "frc", "frc-4", "frc-8", "frc-16", "frc-512", "fully-associative", "tracker-2", "tracker-last"];
    assert!(in_order.map(place).is_sorted() && in_order.map(place).iter().all(Option::is_some));
}

#[test]
fn baseline_changes_nothing() {
    assert_eq!(fermi(&["baseline"], &[]).unwrap().hash(), fermi(&[], &[]).unwrap().hash());
}

#[test]
fn a_design_replaces_a_table_with_a_kind_as_a_whole() {
    let config = fermi(&["pric"], &[]).unwrap().config;
    assert_eq!(config.l1.index, IPoly { polynomial: 37, addr_bits: 32, reversed: false }.into());
    assert_eq!(config.l2.index, Linear {}.into());
}

#[test]
fn an_open_polynomial_follows_the_number_of_sets() {
    let polynomial = |machine: &str, designs: &[&str], sets: &[&str]| {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let request = Request { machine: machine.to_owned(), designs: owned(designs), sets: owned(sets) };
        let index = ResolvedMachine::new(&request).unwrap().fields.get("l1.index").unwrap().value.clone();
        index.get("polynomial").and_then(toml::Value::as_integer).unwrap()
    };
    for (sets, expected) in [(1, 1), (2, 3), (8, 13), (16, 19), (32, 37), (64, 67), (128, 131), (4096, 4179)] {
        assert_eq!(polynomial("fermi", &["pric"], &[&format!("l1.sets={sets}")]), expected, "{sets} sets");
    }
    assert_eq!(polynomial("hybrid", &["pric"], &[]), 131);
    assert_eq!(polynomial("southern-islands", &["dwt-pric"], &[]), 67);
    assert_eq!(polynomial("fermi", &["ways-64", "pric"], &[]), 3);
    assert_eq!(polynomial("fermi", &["pric", "ways-64"], &[]), 3);
    assert_eq!(polynomial("fermi", &["pric", "fully-associative"], &[]), 1);
    assert_eq!(polynomial("fermi", &["pric"], &["l1.index.polynomial=41"]), 41);
    let inside = fermi(&["icache"], &["sm.icache.sets=16", "sm.icache.index={ kind = \"i-poly\" }"]).unwrap();
    assert!(inside.fields.get("sm.icache").unwrap().value.to_string().contains("polynomial = 19"));
}

#[test]
fn a_polynomial_that_follows_is_the_same_configuration_as_one_that_is_stated() {
    let stated = "l1.index={ kind = \"i-poly\", polynomial = 37, addr_bits = 32, reversed = false }";
    let (follows, stated) = (fermi(&["pric"], &[]).unwrap(), fermi(&[], &[stated]).unwrap());
    assert_eq!(follows.hash(), stated.hash());
    assert!(follows.to_toml().contains("polynomial = 37"));
}

#[test]
fn a_single_key_of_a_table_with_a_kind_can_be_set() {
    let config = fermi(&["pric"], &["l1.index.addr_bits=27"]).unwrap().config;
    assert_eq!(config.l1.index, IPoly { polynomial: 37, addr_bits: 27, reversed: false }.into());
}

#[test]
fn an_instruction_cache_is_gtx_480_s_unless_its_keys_say_otherwise() {
    let icache = |designs: &[&str], sets: &[&str]| fermi(designs, sets).unwrap().config.sm.icache;
    assert_eq!(icache(&[], &[]), InstructionStore::Perfect {});
    let gtx480 = InstructionStore::Cache(InstructionCacheConfig::default());
    assert_eq!((icache(&["icache"], &[]), icache(&[], &["sm.icache.kind=cache"])), (gtx480.clone(), gtx480));
    let volta = icache(&["icache"], &["sm.icache.sets=64", "sm.icache.ways=16"]);
    let InstructionStore::Cache(volta) = volta else { panic!("a cache: {volta:?}") };
    assert_eq!((volta.sets, volta.ways, volta.mshr_entries, volta.instruction_bytes), (64, 16, 2, 8));
}

#[test]
fn the_same_kind_changes_keys_of_the_machine_s_and_another_begins_with_its_defaults() {
    let flow = |machine: &str, designs: &[&str], sets: &[&str]| {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let request = Request { machine: machine.to_owned(), designs: owned(designs), sets: owned(sets) };
        ResolvedMachine::new(&request).unwrap().config.l2.flow
    };
    let FlowConfig::Transient(candel) = flow("southern-islands", &["frc-16"], &["l2.flow.frc.swap_latency=3"]) else {
        panic!("candel2018's machine has the transient flow")
    };
    assert_eq!((candel.pending_queue, candel.frc.entries, candel.frc.swap_latency), (512, 16, 3));
    assert_eq!(flow("kepler", &["transient"], &[]), TransientConfig::default().into());
    assert_eq!(
        flow("kepler", &[], &["l2.flow.kind=overlapped"]),
        OverlappedConfig { miss_queue: 16, ..Default::default() }.into()
    );
    assert_eq!(flow("fermi", &[], &[]), OverlappedConfig::default().into());
}

#[test]
fn set_goes_on_top_of_designs() {
    let config = fermi(&["bypass-all"], &["l1.bypass.kind=none", "l1.ways = 16"]).unwrap().config;
    assert_eq!((config.l1.bypass, config.l1.ways), (NoScheme {}.into(), 16));
}

#[test]
fn a_bare_word_is_a_string_and_a_quoted_one_too() {
    let bare = fermi(&[], &["l1.store_hit=update"]).unwrap();
    let quoted = fermi(&[], &["l1.store_hit=\"update\""]).unwrap();
    assert_eq!(bare.config.l1.store_hit, StoreHit::Update);
    assert_eq!(bare.hash(), quoted.hash());
}

#[test]
fn designs_of_different_slots_go_together() {
    let resolved = fermi(&["pric", "bypass-all", "li2015-clocks"], &[]).unwrap();
    assert_eq!(resolved.designs, ["pric", "bypass-all", "li2015-clocks"]);
    assert_eq!(resolved.config.clock.core_khz, 1_400_000);
}

#[test]
fn a_machine_file_states_what_differs_from_its_base() {
    let resolved = machine_file("based-on = \"fermi\"\n[l1]\nways = 8\n").unwrap();
    assert_eq!(resolved.machine.name, "mine");
    assert_eq!((resolved.config.l1.ways, resolved.config.l1.sets), (8, 32));
}

#[test]
fn a_base_is_looked_up_beside_the_file_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("base.toml"), "based-on = \"fermi\"\nnum_sms = 2\n").unwrap();
    let path = folder.path().join("top.toml");
    std::fs::write(&path, "based-on = \"base.toml\"\n[l1]\nways = 2\n").unwrap();
    let request = Request { machine: path.display().to_string(), ..Request::default() };
    let config = ResolvedMachine::new(&request).unwrap().config;
    assert_eq!((config.num_sms, config.l1.ways, config.l1.sets), (2, 2, 32));
}

#[test]
fn what_is_printed_is_a_machine_file_with_the_same_fields() {
    let resolved = fermi(&["pric"], &["l1.ways=8", "dram.timing.cl=14"]).unwrap();
    let again = machine_file(&resolved.to_toml()).unwrap();
    assert_eq!(again.config, resolved.config);
    assert_eq!(again.hash(), resolved.hash());
    assert_eq!(again.machine.name, "fermi+pric");
}

#[test]
fn what_is_printed_says_where_values_come_from() {
    let text = fermi(&["bypass-all"], &["l1.ways=8", "lsu.slots=16"]).unwrap().to_toml();
    assert_eq!(line(&text, "sets"), "sets = 32");
    assert_eq!(line(&text, "ways"), "ways = 8 # --set, was 4");
    assert_eq!(line(&text, "bypass"), "bypass = { kind = \"all\" } # design bypass-all, was { kind = \"none\" }");
    assert_eq!(line(&text, "slots"), "slots = 16 # --set, was 64");
    assert_eq!(line(&text, "access_queue"), "access_queue = 8 # assumed");
}

#[test]
fn the_hash_depends_on_every_value_but_not_on_the_order_of_keys() {
    let hash = |sets: &[&str]| fermi(&[], sets).unwrap().hash();
    let table = "l1.index={ kind = \"i-poly\", polynomial = 37, addr_bits = 32, reversed = false }";
    let other = "l1.index={ reversed = false, addr_bits = 32, polynomial = 37, kind = \"i-poly\" }";
    assert_eq!(hash(&[table]), hash(&[other]));
    assert_ne!(hash(&[]), hash(&["dram.timing.refi=3605"]));
    assert_eq!(hash(&[]), hash(&["l1.ways=4"]));
}

#[test]
fn slots_have_the_names_of_the_architecture() {
    let names = Slot::ALL.map(Slot::name);
    assert_eq!(
        names,
        [
            "index",
            "tags",
            "bypass",
            "replacement",
            "prefetch",
            "victim",
            "scheduler",
            "throttle",
            "operands",
            "fetch",
            "queue",
            "l2",
            "tracker"
        ]
    );
}
