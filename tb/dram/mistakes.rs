//! Bugs that users reported in published DRAM simulators and controllers. For each bug, a test checks that
//! this controller does not have it.
//!
//! | mistake                                                          | reported for                   | test |
//! |------------------------------------------------------------------|--------------------------------|-----|
//! | a full queue hangs if a write waits behind a read of its address | DRAMsim3 2, 27, 43             | `reference::a_write_behind_a_read_of_its_address_completes_in_a_full_queue` |
//! | writes without reads are never served                            | ramulator 45, ramulator2 100   | `few_writes_and_no_read_are_served_under_every_policy` |
//! | tFAW, tCCD or tRRD is enforced per bank, not per channel         | litedram 18, 19                | `activates_and_columns_of_different_groups_keep_their_distance` |
//! | a refresh comes too early after a write or an activate           | ramulator 57, 69; basejump 535 | `a_refresh_waits_for_the_recovery_of_the_last_write` |
//! | commands are not delayed after a refresh                         | ramulator2 139, 143            | `nothing_follows_a_refresh_before_it_is_over` |
//! | some organizations are never refreshed                           | ramulator2 130, akita 175      | `every_organisation_is_refreshed_once_an_interval` |
//! | the hit cap closes a row between its ACT and its first column    | DRAMSim2 3                     | `directed::a_hit_cap_never_closes_a_row_between_its_activate_and_the_first_column` |
//! | a row is closed although requests still hit it                   | ramulator2 101                 | `a_row_is_not_closed_while_a_request_hits_it` |
//! | bank and bank group are swapped, or banks are never used         | ramulator 115, gpgpu-sim 39    | `neighbouring_rows_of_a_stream_lie_in_different_bank_groups` |
//! | the width of the bus changes the commands                        | ramulator 107                  | `directed::a_32_bit_channel_gives_the_same_commands_with_half_the_bytes` |
//! | unknown or missing keys are ignored                              | DRAMsim3 62                    | `a_timing_key_with_a_typing_error_is_refused` |
//! | an edge of the timing table points the wrong way                 | ramulator2 28, ramulator 47    | `mutants::a_controller_with_any_distance_a_cycle_short_is_caught_by_the_rule_about_it` |
//! | a precharge names the wrong row                                  | DRAMsim3 58                    | `a_precharge_names_the_row_that_it_closes` |
//! | the write-to-read turnaround is counted twice                    | gem5 3490                      | `directed::a_read_after_a_write_waits_for_the_turnaround` |
//! | of two commands selected for HBM's two buses, the second is lost | DRAMsim3 4                     | `dual::of_two_columns_that_are_ready_at_once_neither_is_lost` |

use rtl::dram::command::{Command, CommandKind};
use rtl::dram::config::{DramConfig, Refresh, WriteDrain};
use rtl::dram::policy::PolicyConfig;
use rtl::dram::policy::fcfs::Fcfs;
use rtl::dram::policy::fr_fcfs::FrFcfs;

use super::bench::{TimedRequest, offer, reference, run_checked};
use crate::kit::Stall;
use warpsieve::config::{Request, ResolvedMachine};

fn commands(config: &DramConfig, offers: &[TimedRequest]) -> Vec<Command> {
    run_checked(config, offers, Stall::Never).commands
}

fn cycles_of(commands: &[Command], kind: CommandKind) -> Vec<u64> {
    commands.iter().filter(|command| command.kind == kind).map(|command| command.cycle).collect()
}

fn refreshing() -> DramConfig {
    DramConfig { refresh: Refresh::AllBank, ..reference() }
}

#[test]
fn few_writes_and_no_read_are_served_under_every_policy() {
    let offers: Vec<TimedRequest> = (0..5).map(|i| offer(i, true, i * 0x1_4040)).collect();
    let drains = [WriteDrain::None, WriteDrain::Watermarks { high: 16, low: 0, idle: 0 }];
    let lazy = WriteDrain::Watermarks { high: 16, low: 8, idle: 4000 };
    for write_drain in drains.into_iter().chain([lazy]) {
        let policies: [PolicyConfig; 2] = [FrFcfs { hit_cap: 0 }.into(), Fcfs {}.into()];
        for policy in policies {
            let config = DramConfig { policy: policy.clone(), write_drain, ..reference() };
            let writes = cycles_of(&commands(&config, &offers), CommandKind::Wr);
            assert_eq!(writes.len(), 5, "{policy:?} {write_drain:?}");
        }
    }
}

#[test]
fn activates_and_columns_of_different_groups_keep_their_distance() {
    let mut config = reference();
    (config.timing.faw, config.timing.ccd_s, config.timing.ccd_l) = (40, 3, 3);
    // The five requests go to five banks. No two consecutive requests are in the same bank group.
    let offers: Vec<TimedRequest> = (0..5).map(|i| offer(0, false, i << 12)).collect();
    let commands = commands(&config, &offers);
    let acts = cycles_of(&commands, CommandKind::Act);
    assert!(acts.windows(2).all(|pair| pair[1] - pair[0] >= 6), "{acts:?}");
    assert_eq!(acts[4] - acts[0], 40);
    let reads = cycles_of(&commands, CommandKind::Rd);
    assert!(reads.windows(2).all(|pair| pair[1] - pair[0] >= 3), "{reads:?}");
}

#[test]
fn a_refresh_waits_for_the_recovery_of_the_last_write() {
    // The write hits an open row just before the refresh is due. The last read only keeps the simulation
    // running until after the refresh.
    let offers = [offer(0, false, 0), offer(3600, true, 0x40), offer(4000, false, 0)];
    let commands = commands(&refreshing(), &offers);
    let write = cycles_of(&commands, CommandKind::Wr)[0];
    assert_eq!(cycles_of(&commands, CommandKind::Prea), [write + 4 + 2 + 12]);
    assert_eq!(cycles_of(&commands, CommandKind::Ref), [write + 4 + 2 + 12 + 12]);
}

#[test]
fn nothing_follows_a_refresh_before_it_is_over() {
    let offers: Vec<TimedRequest> =
        (0..3000).map(|i| offer(2 * i, false, ((i % 4) << 16) | ((i % 16) << 12))).collect();
    let commands = commands(&refreshing(), &offers);
    let refreshes = commands.windows(2).filter(|pair| pair[0].kind == CommandKind::Ref);
    let gaps: Vec<u64> = refreshes.map(|pair| pair[1].cycle - pair[0].cycle).collect();
    assert!(!gaps.is_empty());
    assert!(gaps.iter().all(|&gap| gap == 61), "{gaps:?}");
}

#[test]
fn every_organisation_is_refreshed_once_an_interval() {
    for (bank_groups, banks_per_group) in [(1, 2), (1, 8), (4, 4), (8, 1), (8, 8)] {
        let config = DramConfig { bank_groups, banks_per_group, ..refreshing() };
        let offers = [offer(0, false, 0), offer(10 * 3604, true, 64)];
        let commands = commands(&config, &offers);
        assert_eq!(cycles_of(&commands, CommandKind::Ref).len(), 10, "{bank_groups} x {banks_per_group}");
    }
}

#[test]
fn a_row_is_not_closed_while_a_request_hits_it() {
    // The requests alternate between two rows of one bank. The controller must serve all hits of a row before
    // it closes the row, so each row is opened only once.
    let offers: Vec<TimedRequest> = (0..16).map(|i| offer(0, false, ((i % 2) << 16) | ((i / 2) << 6))).collect();
    assert_eq!(cycles_of(&commands(&reference(), &offers), CommandKind::Act).len(), 2);
}

#[test]
fn neighbouring_rows_of_a_stream_lie_in_different_bank_groups() {
    let offers: Vec<TimedRequest> = (0..16).map(|i| offer(0, false, i << 12)).collect();
    let commands = commands(&reference(), &offers);
    let mut banks: Vec<u8> =
        commands.iter().filter(|command| command.kind == CommandKind::Act).map(|command| command.bank).collect();
    assert_eq!(banks[..5].iter().map(|bank| bank / 4).collect::<Vec<_>>(), [0, 1, 2, 3, 0]);
    banks.sort_unstable();
    assert_eq!(banks, (0..16).collect::<Vec<_>>());
}

#[test]
fn a_timing_key_with_a_typing_error_is_refused() {
    let request = Request {
        machine: "gddr5-reference".to_owned(),
        sets: vec!["dram.timing.trefi=1000".to_owned()],
        ..Request::default()
    };
    let lines = ResolvedMachine::new(&request).unwrap_err().lines();
    assert_eq!(lines.len(), 1);
    assert!(lines[0].contains("unknown key `dram.timing.trefi`"), "{lines:?}");
}

#[test]
fn a_precharge_names_the_row_that_it_closes() {
    let offers = [offer(0, false, 5 << 16), offer(100, false, 9 << 16), offer(200, false, 2 << 16)];
    let commands = commands(&reference(), &offers);
    let closed = commands.iter().filter(|command| command.kind == CommandKind::Pre).map(|command| command.row);
    assert_eq!(closed.collect::<Vec<_>>(), [5, 9]);
}
