//! # Lockstep check of the choices of a DRAM channel against golden models
//! Replays each request, command and reply of a channel in the golden arbiter, which determines the command
//! of every cycle from the golden model of the arbitration policy. A command that differs, comes late or
//! serves another request is an error.
//!
//! The check covers the choice and the cycle of each command. The data of requests are checked by the results
//! of loads.

use std::collections::BTreeMap;

use golden::dram::arbiter::{Arbiter, Choice, Limits};
use golden::dram::checker::Checker;
use golden::dram::drain::Watermarks;
use golden::dram::policy::ChannelInfo;
use rtl::dram::command::Command;
use rtl::dram::config::{DramConfig, Refresh, WriteDrain};
use rtl::dram::watch::ChannelEvent;

use crate::dram::judge;

/// Golden arbiter of one DRAM channel.
#[derive(Debug)]
pub struct ChoiceLockstep {
    config: DramConfig,
    /// Golden arbiter; `None` after the first difference, because its state then differs from that of the
    /// channel.
    arbiter: Option<Arbiter>,
    /// Number of the request in each queue slot, in the order of acceptance.
    requests: BTreeMap<usize, u64>,
}

impl ChoiceLockstep {
    /// Creates the golden arbiter of a channel in a machine with `num_sms` SMs. The channel is idle, in cycle
    /// 0.
    ///
    /// # Errors
    /// Fails if the arbitration policy has no golden model.
    pub fn new(config: &DramConfig, num_sms: u32) -> Result<Self, String> {
        let info = ChannelInfo {
            num_sms,
            read_latency: config.timing.read_latency().into(),
            write_latency: config.timing.write_latency().into(),
        };
        let policy = judge::policy(&config.policy)?.twin(&info);
        let write_drain = match config.write_drain {
            WriteDrain::None => None,
            WriteDrain::Watermarks { high, low, idle } => {
                Some(Watermarks { high: high as usize, low: low as usize, idle: idle.into() })
            }
        };
        let limits = Limits { reply_entries: config.reply_entries as usize, write_drain };
        let checker = Checker::new(judge::timing(config), config.refresh != Refresh::Off);
        let arbiter = Some(Arbiter::new(checker, judge::mapping(config), policy, limits));
        Ok(Self { config: config.clone(), arbiter, requests: BTreeMap::new() })
    }

    /// Checks the events of the channel since the previous call. They must include all events of their
    /// cycles.
    ///
    /// # Errors
    /// Fails at the first cycle in which the channel and the golden arbiter issue different commands. Later
    /// events are not checked.
    pub fn step(&mut self, events: &[ChannelEvent]) -> Result<(), String> {
        let mut cycles = events.chunk_by(|one, next| one.cycle() == next.cycle());
        let checked = cycles.try_for_each(|of_cycle| self.check_cycle(of_cycle));
        self.end_at_difference(checked)
    }

    /// Checks that no command is missing up to `cycle`, the last one of the run.
    ///
    /// # Errors
    /// Fails if the golden arbiter issues a command that the channel has not issued.
    pub fn finish(&mut self, cycle: u64) -> Result<(), String> {
        let checked = self.arbiter.as_mut().map_or(Ok(()), |arbiter| arbiter.check_idle(cycle));
        self.end_at_difference(checked)
    }

    fn end_at_difference(&mut self, checked: Result<(), String>) -> Result<(), String> {
        if checked.is_err() {
            self.arbiter = None;
        }
        checked
    }

    /// Checks all events of one cycle.
    fn check_cycle(&mut self, events: &[ChannelEvent]) -> Result<(), String> {
        let Self { config, arbiter: Some(arbiter), requests } = self else { return Ok(()) };
        let Some(cycle) = events.first().map(ChannelEvent::cycle) else { return Ok(()) };
        let mut issued = Vec::new();
        for event in events {
            if let ChannelEvent::Issued { command, slot } = event {
                issued.extend(choice(config, requests, command, *slot)?);
            }
        }
        arbiter.check(cycle, &issued)?;
        for event in events {
            match *event {
                ChannelEvent::Issued { .. } => {}
                ChannelEvent::Sent { .. } => arbiter.send_reply()?,
                ChannelEvent::Accepted { slot, write, burst, requester, .. } => {
                    let address = burst * u64::from(config.burst_bytes());
                    let number = arbiter.accept(write, address, u32::from(requester).checked_sub(1));
                    requests.insert(slot, number);
                }
            }
        }
        Ok(())
    }
}

/// Converts a command of the channel for the golden arbiter; `None` for a NOP.
fn choice(
    config: &DramConfig,
    requests: &BTreeMap<usize, u64>,
    command: &Command,
    slot: Option<usize>,
) -> Result<Option<Choice>, String> {
    let number = |slot: usize| {
        let number = requests.get(&slot).copied();
        number.ok_or_else(|| {
            format!("cycle {}: a command for queue slot {slot}, expected an occupied slot", command.cycle)
        })
    };
    let request = slot.map(number).transpose()?;
    Ok(judge::command(config, command).map(|command| Choice { command, request }))
}

#[cfg(test)]
mod tests {
    use rtl::dram::command::CommandKind;

    use super::*;
    use crate::config::{Request, ResolvedMachine};

    /// Creates the golden arbiter of a channel of the machine `gddr5-reference`, in which bursts 0 to 63 are
    /// in row 0 of bank 0.
    fn lockstep() -> ChoiceLockstep {
        let request = Request { machine: "gddr5-reference".to_owned(), ..Request::default() };
        let config = ResolvedMachine::new(&request).unwrap().config;
        ChoiceLockstep::new(&config.dram, config.num_sms).unwrap()
    }

    fn accepted(cycle: u64, slot: usize, burst: u64) -> ChannelEvent {
        ChannelEvent::Accepted { cycle, slot, write: false, burst, requester: 0 }
    }

    fn issued(cycle: u64, kind: CommandKind, column: u32, slot: usize) -> ChannelEvent {
        ChannelEvent::Issued { command: Command { cycle, kind, column, ..Command::default() }, slot: Some(slot) }
    }

    /// Returns the events of two reads of one row; `columns` holds the queue slots of the reads, in the order
    /// in which their RD commands issue.
    fn two_reads(columns: [usize; 2]) -> [ChannelEvent; 5] {
        let [first, second] = columns;
        [
            accepted(4, 0, 0),
            issued(5, CommandKind::Act, 0, 0),
            accepted(5, 1, 1),
            issued(17, CommandKind::Rd, first as u32, first),
            issued(20, CommandKind::Rd, second as u32, second),
        ]
    }

    #[test]
    fn commands_in_the_order_and_the_cycles_of_the_policy_pass() {
        let mut channel = lockstep();
        assert_eq!(channel.step(&two_reads([0, 1])), Ok(()));
        assert_eq!(channel.finish(1000), Ok(()));
    }

    #[test]
    fn the_first_wrong_command_is_named_and_no_later_one() {
        let mut channel = lockstep();
        let wrong = channel.step(&two_reads([1, 0])).unwrap_err();
        let expected = "cycle 17: Rd bank 0.0 row 0 col 1 at 17 for request 1, \
                        expected Rd bank 0.0 row 0 col 0 at 17 for request 0";
        assert_eq!(wrong, expected);
        assert_eq!(channel.step(&[accepted(30, 0, 9), issued(99, CommandKind::Pre, 0, 0)]), Ok(()));
        assert_eq!(channel.finish(1000), Ok(()));
    }

    #[test]
    fn a_command_that_never_comes_is_missed_at_the_end() {
        let mut channel = lockstep();
        let [events @ .., _] = &two_reads([0, 1]);
        assert_eq!(channel.step(events), Ok(()));
        let wrong = channel.finish(1000).unwrap_err();
        assert_eq!(wrong, "cycle 20: no command, expected Rd bank 0.0 row 0 col 1 at 20 for request 1");
    }

    #[test]
    fn a_command_without_a_request_is_refused() {
        let wrong = lockstep().step(&[issued(3, CommandKind::Rd, 0, 7)]).unwrap_err();
        assert_eq!(wrong, "cycle 3: a command for queue slot 7, expected an occupied slot");
    }
}
