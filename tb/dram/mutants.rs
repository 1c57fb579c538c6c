//! Mutation test of the DRAM command checker. Each run uses a controller with one timing parameter a cycle
//! too short. The checker, which has the correct parameters, must report the rule that the controller breaks.

use std::collections::BTreeSet;

use golden::dram::checker::Checker;
use golden::dram::command::Command;
use golden::dram::rules::{Form, RULES};
use rtl::dram::config::{CommandBus, DramConfig, DramTiming, Refresh};
use rtl::kernel::Mode;

use super::bench::{Run, TimedRequest, checker_commands, offer, preset, reference, run};
use crate::kit::{Random, Stall};
use warpsieve::dram::judge;

/// Generates random requests to a few rows of every bank, with pauses, so that hits, conflicts and bus
/// turnarounds occur. Then follows a stream of requests that each open a row, which exercises the activate
/// windows (tFAW).
fn traffic() -> Vec<TimedRequest> {
    let mut random = Random::new(7);
    let mut cycle = 0;
    let mut request = |_| {
        if random.percent(20) {
            cycle += random.below(60);
        }
        let (row, bank, column) = (random.below(3), random.below(16), random.below(8));
        offer(cycle, random.percent(40), row << 16 | bank << 12 | column << 6)
    };
    let mixed: Vec<TimedRequest> = (0..6000).map(&mut request).collect();
    let opening = (0..400).map(|i| offer(cycle, false, (i << 16) | ((i % 16) << 12)));
    mixed.into_iter().chain(opening).collect()
}

/// Returns a configuration in which every timing parameter delays some command.
fn strict() -> DramConfig {
    let mut config = DramConfig { refresh: Refresh::AllBank, ..reference() };
    let t = &mut config.timing;
    (t.rc, t.faw, t.aw32, t.rrd_l) = (45, 30, 300, 9);
    (t.ccd_s, t.ccd_l, t.wtr_l, t.ppd, t.rtp) = (3, 5, 8, 4, 6);
    config
}

const BUSES: [CommandBus; 2] = [CommandBus::Single, CommandBus::Dual];

fn strict_on(command_bus: CommandBus) -> DramConfig {
    DramConfig { command_bus, ..strict() }
}

/// Returns the numbers of the timing rules that a run breaks. The controller has the parameters in `config`,
/// and the checker those in `right`.
fn broken(right: &DramConfig, config: &DramConfig, offers: &[TimedRequest]) -> BTreeSet<u8> {
    let run = run(config, offers, Stall::Never, Mode::default());
    let checker = Checker::new(judge::timing(right), true);
    checker.check(&checker_commands(config, &run)).iter().map(|violation| violation.rule).collect()
}

/// Number of a timing rule, and a function that makes a timing parameter of this rule one cycle too short.
type Mutant = (u8, fn(&mut DramTiming));

const MUTANTS: [Mutant; 21] = [
    (2, |t| t.rc -= 1),
    (3, |t| t.rp -= 1),
    (4, |t| t.rrd_s -= 1),
    (4, |t| t.rrd_l -= 1),
    (5, |t| t.faw -= 1),
    (6, |t| t.aw32 -= 1),
    (7, |t| t.rcd_rd -= 1),
    (7, |t| t.rcd_wr -= 1),
    (8, |t| t.ras -= 1),
    (9, |t| t.rtp -= 1),
    (10, |t| t.wr -= 1),
    (11, |t| t.ccd_l -= 1),
    (12, |t| t.ccd_s -= 1),
    (13, |t| t.cl -= 1),
    (14, |t| t.wtr_s -= 1),
    (14, |t| t.wtr_l -= 1),
    (15, |t| t.ppd -= 1),
    (16, |t| t.rp -= 1),
    (17, |t| t.rfc -= 1),
    (10, |t| t.wl -= 1),
    (13, |t| t.burst -= 1),
];

#[test]
fn the_unchanged_controller_breaks_no_rule() {
    for right in BUSES.map(strict_on) {
        assert_eq!(broken(&right, &right, &traffic()), BTreeSet::new());
    }
}

#[test]
fn a_controller_with_any_distance_a_cycle_short_is_caught_by_the_rule_about_it() {
    for (place, (rule, shorten)) in MUTANTS.into_iter().enumerate() {
        for right in BUSES.map(strict_on) {
            let mut config = right.clone();
            shorten(&mut config.timing);
            let found = broken(&right, &config, &traffic());
            assert!(found.contains(&rule), "mutant {place}: rule {rule} is not among {found:?}");
        }
    }
}

#[test]
fn the_checker_with_any_distance_a_cycle_longer_finds_fault_with_a_right_controller() {
    let offers = traffic();
    // The data-bus rule delays a command only if column commands to different bank groups may be as close
    // together as two data bursts. Of these configurations, only HBM2 allows column commands one cycle
    // apart.
    let runs = [strict(), reference(), preset("hbm2")].map(|config| {
        let run = run(&config, &offers, Stall::Never, Mode::default());
        (Checker::new(judge::timing(&config), config.refresh != Refresh::Off), checker_commands(&config, &run))
    });
    // Rules 18 and 19 cannot be tested with this controller. The controller does not use auto-precharge.
    // Between an ACT and a REF, it sends another ACT and a PRE, which together take longer than rule 18
    // requires.
    let unused = |number| matches!(number, 18 | 19);
    for (row, rule) in RULES.iter().enumerate() {
        let is_distance = matches!(rule.form, Form::Distance { .. } | Form::DataBus);
        if is_distance && !unused(rule.number) {
            let finds = |(checker, commands): &(Checker, Vec<Command>)| {
                let longer = checker.clone().with_bound(row, checker.bound(row) + 1);
                !longer.check(commands).is_empty()
            };
            assert!(runs.iter().any(finds), "row {row}: {rule:?}");
        }
    }
}

#[test]
fn a_refresh_interval_a_cycle_too_long_is_caught_where_nothing_holds_the_refresh_up() {
    let config = DramConfig { refresh: Refresh::AllBank, ..reference() };
    let offers = [offer(20_000, false, 0)];
    let row = RULES.iter().position(|rule| rule.form == Form::AtMost).unwrap();
    let faults = |config: &DramConfig| {
        let Run { commands, .. } = &run(config, &offers, Stall::Never, Mode::default());
        let commands: Vec<_> = commands.iter().filter_map(|command| judge::command(config, command)).collect();
        let checker = Checker::new(judge::timing(&reference()), true).with_bound(row, 3604);
        checker.check(&commands).len()
    };
    assert_eq!(faults(&config), 0);
    let mut late = config;
    late.timing.refi += 1;
    assert!(faults(&late) > 0);
}

#[test]
fn read_data_a_cycle_early_are_caught() {
    let mut config = reference();
    config.timing.cl -= 1;
    let offers = [offer(0, false, 0)];
    let run = run(&config, &offers, Stall::Never, Mode::default());
    let found = super::bench::violations(&reference(), &offers, &run, true);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].rule, 23);
}
