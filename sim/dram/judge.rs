//! # Golden model check of a machine's DRAM channels
//! Collects the commands and requests that the channels report during a run, in the form that the golden
//! command checker requires. The checker examines them at the end of the run.

use golden::dram::checker::Checker;
use golden::dram::command::{BankId, Command as Judged, Kind, Op, Request, Service};
use golden::dram::mapping::{Geometry, Mapping};
use golden::dram::policy::Scheme;
use golden::dram::timing::{Bus, Timing};
use rtl::dram::command::{Command, CommandKind};
use rtl::dram::config::{CommandBus, DramConfig, Refresh};
use rtl::dram::policy::PolicyConfig;
use rtl::machine::MachineConfig;

use super::alone::{Event, locate};
use super::trace::TraceRequest;
use crate::check::twin::twin;

/// Recorder of the commands and served requests of all DRAM channels while a trace runs.
#[derive(Clone, Debug)]
pub struct CommandRecorder<'a> {
    config: &'a MachineConfig,
    trace: &'a [TraceRequest],
    channels: Vec<ChannelLog>,
}

/// Recorded commands and requests of one DRAM channel.
#[derive(Clone, Debug, Default)]
struct ChannelLog {
    commands: Vec<Judged>,
    requests: Vec<Request>,
}

impl<'a> CommandRecorder<'a> {
    /// Creates an empty recorder.
    #[must_use]
    pub fn new(config: &'a MachineConfig, trace: &'a [TraceRequest]) -> Self {
        Self { config, trace, channels: vec![ChannelLog::default(); config.num_channels() as usize] }
    }

    /// Records a command or a served request; ignores progress reports.
    pub fn see(&mut self, event: &Event<'_>) {
        match *event {
            Event::Command { channel, command: seen } => {
                self.channels[channel].commands.extend(command(&self.config.dram, seen));
            }
            Event::Served(served) => {
                let TraceRequest { cycle: _, write, address } = self.trace[served.index as usize];
                let (channel, burst) = locate(self.config, address);
                self.channels[channel].requests.push(Request {
                    number: served.index,
                    op: if write { Op::Write } else { Op::Read },
                    address: burst * u64::from(self.config.dram.burst_bytes()),
                    accept: served.accept,
                    complete: Some(served.complete),
                    service: Service::Column,
                });
            }
            Event::Progress { .. } => {}
        }
    }

    /// Checks the commands against the DRAM timing rules, and the served requests against the commands.
    /// Returns a message for every violation.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        let dram = &self.config.dram;
        let checker = Checker::new(timing(dram), dram.refresh != Refresh::Off);
        let mapping = mapping(dram);
        let found = (0..).zip(&self.channels).flat_map(|(channel, ChannelLog { commands, requests }): (u32, _)| {
            let mut found = checker.check(commands);
            found.extend(checker.check_requests(&mapping, requests, commands));
            found.into_iter().map(move |violation| format!("channel {channel}: {violation}"))
        });
        found.collect()
    }
}

/// Returns the golden model of a DRAM arbitration policy.
///
/// # Errors
/// Returns an error if the policy has no golden model.
pub fn policy(config: &PolicyConfig) -> Result<Box<dyn Scheme>, String> {
    twin(config)
}

/// Converts the address mapping of a DRAM configuration to the type used by the golden checker.
#[must_use]
pub fn mapping(config: &DramConfig) -> Mapping {
    let geometry = Geometry {
        burst_bytes: config.burst_bytes(),
        columns: config.columns,
        rows: config.rows,
        groups: config.bank_groups,
        banks_per_group: config.banks_per_group,
    };
    Mapping::new(&config.mapping.fields, &config.mapping.xor, geometry)
}

/// Converts a channel's command to the type used by the golden checker; `None` for a NOP.
#[must_use]
pub fn command(config: &DramConfig, command: &Command) -> Option<Judged> {
    let Command { cycle, kind, bank, row, column, id: _ } = *command;
    let kind = match kind {
        CommandKind::Nop => return None,
        CommandKind::Act => Kind::Act,
        CommandKind::Rd => Kind::Rd,
        CommandKind::Wr => Kind::Wr,
        CommandKind::Pre => Kind::Pre,
        CommandKind::Prea => Kind::Prea,
        CommandKind::Ref => Kind::Ref,
    };
    let (group, bank) = (u32::from(bank) / config.banks_per_group, u32::from(bank) % config.banks_per_group);
    Some(Judged {
        cycle,
        kind,
        bank: (!kind.is_channel_wide()).then_some(BankId { group, bank }),
        row: (kind == Kind::Act || kind.is_column()).then_some(row),
        col: kind.is_column().then_some(column),
    })
}

/// Converts the timing parameters of a DRAM configuration to the type used by the golden checker.
#[must_use]
pub fn timing(config: &DramConfig) -> Timing {
    let t = &config.timing;
    Timing {
        bus: match config.command_bus {
            CommandBus::Single => Bus::Shared,
            CommandBus::Dual => Bus::RowsApart,
        },
        cl: t.cl.into(),
        wl: t.wl.into(),
        burst: t.burst.into(),
        rcd_rd: t.rcd_rd.into(),
        rcd_wr: t.rcd_wr.into(),
        rp: t.rp.into(),
        ras: t.ras.into(),
        rc: t.rc.into(),
        rrd_s: t.rrd_s.into(),
        rrd_l: t.rrd_l.into(),
        faw: t.faw.into(),
        aw32: t.aw32.into(),
        ccd_s: t.ccd_s.into(),
        ccd_l: t.ccd_l.into(),
        rtp: t.rtp.into(),
        wr: t.wr.into(),
        wtr_s: t.wtr_s.into(),
        wtr_l: t.wtr_l.into(),
        ppd: t.ppd.into(),
        rfc: t.rfc.into(),
        refi: t.refi.into(),
    }
}
