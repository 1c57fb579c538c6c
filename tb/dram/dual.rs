//! Tests of DRAM channels with two command buses, on which a row command and a column command may be sent in
//! the same cycle.

use golden::dram::checker::Checker;
use golden::dram::command::{Command as Judged, Kind};
use rtl::dram::command::CommandKind;
use rtl::dram::config::{CommandBus, DramConfig, DramTiming};
use rtl::dram::layout::MappingConfig;
use rtl::dram::policy::fcfs::Fcfs;
use rtl::kernel::Mode;

use super::bench::{Run, TimedRequest, checker_commands, preset, run, run_checked};
use super::directed::{Step, commands, offers};
use crate::kit::{Random, Stall};
use warpsieve::dram::judge;

/// Returns the HBM2 preset with the given command bus, and with the address mapping that [`offers`] assumes.
fn hbm2(command_bus: CommandBus) -> DramConfig {
    let mapping = MappingConfig::new(&["column", "group", "bank", "row"], &[]);
    DramConfig { mapping, command_bus, ..preset("hbm2") }
}

fn tables(steps: &[Step]) -> [Vec<String>; 2] {
    [CommandBus::Single, CommandBus::Dual].map(|bus| commands(&hbm2(bus), steps))
}

#[test]
fn an_activate_goes_out_beside_a_read_of_another_bank() {
    let [single, dual] = tables(&[(0, 'R', [0, 0, 1, 0]), (12, 'R', [1, 0, 1, 0])]);
    assert_eq!(single, ["1 ACT 0.0", "13 RD 0.0", "14 ACT 1.0", "26 RD 1.0"]);
    assert_eq!(dual, ["1 ACT 0.0", "13 ACT 1.0", "13 RD 0.0", "25 RD 1.0"]);
}

#[test]
fn a_precharge_goes_out_beside_a_write_of_another_bank() {
    let opening = [(0, 'R', [0, 0, 1, 0]), (0, 'R', [1, 0, 1, 0])];
    let steps = [(100, 'W', [0, 0, 1, 1]), (100, 'W', [0, 0, 1, 2]), (102, 'R', [1, 0, 2, 0])];
    let [single, dual] = tables(&[&opening[..], &steps].concat());
    assert_eq!(single[4..], ["101 WR 0.0", "103 WR 0.0", "104 PRE 1.0", "116 ACT 1.0", "128 RD 1.0"]);
    assert_eq!(dual[4..], ["101 WR 0.0", "103 PRE 1.0", "103 WR 0.0", "115 ACT 1.0", "127 RD 1.0"]);
}

/// Checks that the channel sends its last command exactly in cycle `cycle`, although the command's bus is
/// free earlier. One timing parameter must determine this cycle: `grow` increases the parameter by one, and
/// the last command must then come one cycle later.
fn assert_earliest(steps: &[Step], cycle: u64, grow: fn(&mut DramTiming)) {
    let mut config = hbm2(CommandBus::Dual);
    let last = |config: &DramConfig| run_checked(config, &offers(steps), Stall::Never).commands.pop().unwrap().cycle;
    assert_eq!(last(&config), cycle);
    grow(&mut config.timing);
    assert_eq!(last(&config), cycle + 1);
}

#[test]
fn a_row_that_is_opened_is_read_trcd_later_and_not_beside_its_activate() {
    assert_earliest(&[(0, 'R', [0, 0, 1, 0])], 1 + 12, |t| t.rcd_rd += 1);
    assert_earliest(&[(0, 'W', [0, 0, 1, 0])], 1 + 9, |t| t.rcd_wr += 1);
}

#[test]
fn a_row_is_closed_trtp_after_its_last_read_and_not_beside_it() {
    // Both requests wait from cycle 101 on, and the row of the first request is open. Expected commands: RD
    // in cycle 101, PRE in cycle 104, then ACT and RD.
    let steps = [(0, 'R', [0, 0, 1, 0]), (100, 'R', [0, 0, 1, 1]), (100, 'R', [0, 0, 2, 0])];
    assert_earliest(&steps, 101 + 3 + 12 + 12, |t| t.rtp += 1);
}

#[test]
fn of_two_columns_that_are_ready_at_once_neither_is_lost() {
    // The turnaround of the data bus from write to read delays both reads until cycle 107. The first read is
    // sent in the same cycle as a row command.
    let opening = [(0, 'R', [0, 0, 1, 0]), (0, 'R', [1, 0, 1, 0]), (0, 'R', [2, 0, 1, 0])];
    let reads = [(100, 'W', [2, 0, 1, 1]), (100, 'R', [0, 0, 1, 1]), (100, 'R', [1, 0, 1, 1])];
    let row = (106, 'R', [3, 0, 1, 0]);
    let [_, dual] = tables(&[&opening[..], &reads, &[row]].concat());
    assert_eq!(dual[6..], ["101 WR 2.0", "107 ACT 3.0", "107 RD 0.0", "108 RD 1.0", "119 RD 3.0"]);
}

/// Generates random requests, with pauses, to a few rows of every bank.
fn traffic(requests: usize) -> Vec<TimedRequest> {
    let mut random = Random::new(11);
    let mut cycle = 0;
    let mut step = || {
        if random.percent(10) {
            cycle += random.below(40);
        }
        let op = if random.percent(30) { 'W' } else { 'R' };
        (cycle, op, [random.below(4), random.below(4), random.below(3), random.below(8)])
    };
    offers(&(0..requests).map(|_| step()).collect::<Vec<_>>())
}

#[test]
fn first_come_first_served_has_nothing_for_a_second_bus() {
    let commands = [CommandBus::Single, CommandBus::Dual].map(|bus| {
        let config = DramConfig { policy: Fcfs {}.into(), ..hbm2(bus) };
        run_checked(&config, &traffic(500), Stall::Never).commands
    });
    assert_eq!(commands[0], commands[1]);
}

/// Returns the utilization of the data bus while the channel reads consecutive bursts, measured from the
/// first burst to the last.
fn sequential(config: &DramConfig) -> f64 {
    let reads = 16_384;
    let steps: Vec<Step> = (0..reads).map(|_| (0, 'R', [0; 4])).collect();
    let mut offers = offers(&steps);
    (0..).zip(&mut offers).for_each(|(burst, offer)| offer.request.burst = burst);
    let commands = run_checked(config, &offers, Stall::Never).commands;
    let mut cycles = commands.iter().filter(|command| command.kind == CommandKind::Rd).map(|command| command.cycle);
    let (first, last) = (cycles.next().unwrap(), cycles.next_back().unwrap());
    let burst = u64::from(config.timing.burst);
    (reads * burst) as f64 / (last - first + burst) as f64
}

#[test]
fn neighbouring_reads_fill_the_data_bus_of_the_preset() {
    let reached = sequential(&preset("hbm2"));
    assert!(reached >= 0.95, "{reached}");
}

#[test]
fn neighbouring_reads_of_short_rows_fill_a_data_bus_that_one_command_bus_cannot() {
    let [single, dual] = [CommandBus::Single, CommandBus::Dual].map(|bus| DramConfig { columns: 16, ..hbm2(bus) });
    // On a single command bus, ACT and PRE take two cycles per row in which no RD can be sent. This limits
    // the utilization of the data bus.
    let most = f64::from(single.columns) / f64::from(single.columns + 2);
    assert!(most < 0.95 && single.timing.burst == 1);
    let reached = [&single, &dual].map(sequential);
    assert!(reached[0] <= most + 0.001, "{reached:?} on one bus, of at most {most}");
    assert!(reached[1] >= 0.95, "{reached:?}");
}

/// Records the commands of random requests on a channel with two command buses. Checks that the golden
/// command checker accepts these commands, and returns the checker and the commands.
fn record_stream() -> (Checker, Vec<Judged>) {
    let config = hbm2(CommandBus::Dual);
    let run = run(&config, &traffic(500), Stall::Never, Mode::default());
    let (checker, commands) = (Checker::new(judge::timing(&config), false), checker_commands(&config, &run));
    assert_eq!(checker.check(&commands), []);
    (checker, commands)
}

/// Makes copies of the recorded stream, and moves one command to another cycle in each of them. For each
/// index in the stream, `moved` returns the command to move and its new cycle, or `None` to make no copy.
/// Checks that the command checker reports a violation of one of `rules` in every copy.
#[track_caller]
fn assert_caught(rules: &[u8], moved: impl Fn(&[Judged], usize) -> Option<(usize, u64)>) {
    let (checker, commands) = record_stream();
    let mut tried = 0;
    for place in 0..commands.len() {
        let Some((which, cycle)) = moved(&commands, place) else { continue };
        let mut stream = commands.clone();
        stream[which].cycle = cycle;
        stream.sort_by_key(|command| command.cycle);
        let found = checker.check(&stream);
        assert!(found.iter().any(|violation| rules.contains(&violation.rule)), "{which} moved to {cycle}: {found:?}");
        tried += 1;
    }
    assert!(tried > 20, "{tried} streams");
}

#[test]
fn a_second_column_command_in_a_cycle_is_caught() {
    assert_caught(&[1], |commands, place| {
        let next = (place + 1..commands.len()).find(|&at| commands[at].kind.is_column())?;
        commands[place].kind.is_column().then_some((next, commands[place].cycle))
    });
}

#[test]
fn a_second_row_command_in_a_cycle_is_caught() {
    assert_caught(&[1], |commands, place| {
        let next = (place + 1..commands.len()).find(|&at| !commands[at].kind.is_column())?;
        (!commands[place].kind.is_column()).then_some((next, commands[place].cycle))
    });
}

#[test]
fn a_read_or_write_beside_the_activate_of_its_row_is_caught() {
    assert_caught(&[7], |commands, place| {
        let Judged { kind, bank, cycle, .. } = commands[place];
        let column = (place + 1..commands.len()).find(|&at| commands[at].bank == bank)?;
        (kind == Kind::Act).then_some((column, cycle))
    });
}

#[test]
fn a_precharge_beside_the_last_read_or_write_of_its_row_is_caught() {
    assert_caught(&[9, 10], |commands, place| {
        let Judged { kind, bank, .. } = commands[place];
        let last = (0..place).rfind(|&at| commands[at].bank == bank)?;
        (kind == Kind::Pre).then(|| (place, commands[last].cycle))
    });
}

#[test]
fn what_two_buses_carry_breaks_the_rule_of_one() {
    let (_, commands) = record_stream();
    let checker = Checker::new(judge::timing(&hbm2(CommandBus::Single)), false);
    let found = checker.check(&commands);
    let shared = commands.windows(2).filter(|pair| pair[0].cycle == pair[1].cycle).count();
    assert!(shared > 20 && found.len() == shared, "{shared} shared cycles, {} found", found.len());
    assert!(found.iter().all(|violation| violation.rule == 1), "{:?}", found[0]);
}

#[test]
fn a_row_command_stands_ahead_of_the_column_command_of_its_cycle() {
    let Run { commands, .. } = run_checked(&hbm2(CommandBus::Dual), &traffic(500), Stall::Never);
    let shared: Vec<_> = commands.windows(2).filter(|pair| pair[0].cycle == pair[1].cycle).collect();
    assert!(!shared.is_empty());
    assert!(shared.iter().all(|pair| !pair[0].kind.is_column() && pair[1].kind.is_column()), "{shared:?}");
}
