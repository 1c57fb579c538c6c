//! # Rules of a GDDR5 or HBM command stream
//! Table of the timing and state rules. Most rows state a minimum distance between two commands: a command of
//! a kind in `to` must follow the latest command of a kind in `from` by at least `minimum` cycles. Only
//! earlier commands within `scope` count, such as those to the same bank. Commands of the same cycle are zero
//! cycles apart, in whatever order a trace lists them.
//!
//! A rule number can have several rows, since a distance may depend on the direction of the transfer or on
//! the bank group. The checker iterates over the table. It contains code only for the few rules whose
//! [`Form`] is not a distance.

use super::command::Kind::{self, Act, Pre, Prea, Rd, Rda, Ref, Wr, Wra};
use super::timing::{Bus, Timing};

/// Scope of a timing rule: the earlier commands to which it applies. A command to all banks is in the scope
/// of every bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Scope of the timing rule: earlier commands to the same bank.
    Bank,
    /// Scope of the timing rule: earlier commands to the same bank group.
    Group,
    /// Scope of the timing rule: earlier commands to other banks of the same bank group.
    OtherBankOfGroup,
    /// Scope of the timing rule: earlier commands to any other bank of the channel.
    OtherBank,
    /// Scope of the timing rule: all earlier commands on the channel.
    Channel,
}

/// Kind of check that a row of the rule table requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The command must follow an earlier command by at least `minimum` cycles. Only earlier commands of a
    /// kind in `from` are considered; `back` states which of them is compared, such as the latest.
    Distance {
        /// Number of earlier commands to count back: 1 means the latest, 4 the fourth latest.
        back: usize,
    },
    /// The command must follow a column command with auto-precharge by at least `minimum` cycles. In
    /// addition, tRAS + tRP must have passed since the ACT of that row.
    AutoPrecharge,
    /// The command must follow the latest command of a kind in `from` by at most `minimum` cycles.
    AtMost,
    /// The data bursts of two column commands, each `minimum` cycles long, must not overlap on the data bus.
    DataBus,
    /// The bank must be in the state that the command requires: closed, open, or open with the row that the
    /// command names.
    BankState,
    /// Memory requests and column commands must match.
    Requests,
}

/// Row of the table of DRAM command rules.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Number of the rule, which is reported with violations.
    pub number: u8,
    /// Kinds of commands that can be the earlier of the two commands that the rule compares.
    pub from: &'static [Kind],
    /// Kinds of commands that can be the later of the two commands that the rule compares.
    pub to: &'static [Kind],
    /// Scope of the rule, such as the same bank. Earlier commands outside the scope are ignored.
    pub scope: Scope,
    /// Kind of check that the rule requires.
    pub form: Form,
    /// Required distance as a formula, for error messages.
    pub expression: &'static str,
    /// Function from timing parameters to the required distance in command clocks.
    pub minimum: fn(&Timing) -> u64,
}

const ANY: &[Kind] = &[Act, Rd, Rda, Wr, Wra, Pre, Prea, Ref];
const ROW: &[Kind] = &[Act, Pre, Prea, Ref];
const COLUMN: &[Kind] = &[Rd, Rda, Wr, Wra];
const READ: &[Kind] = &[Rd, Rda];
const WRITE: &[Kind] = &[Wr, Wra];
const CLOSE: &[Kind] = &[Pre, Prea];
const LAST: Form = Form::Distance { back: 1 };

const fn row(
    number: u8,
    from: &'static [Kind],
    to: &'static [Kind],
    scope: Scope,
    form: Form,
    expression: &'static str,
    minimum: fn(&Timing) -> u64,
) -> Rule {
    Rule { number, from, to, scope, form, expression, minimum }
}

/// All DRAM command rules, in order of their numbers.
pub const RULES: &[Rule] = &[
    // Rule 1: each command bus carries at most one command per cycle. A channel has one shared bus, or
    // separate buses for row and column commands.
    row(1, ANY, ANY, Scope::Channel, LAST, "1", |t| u64::from(t.bus == Bus::Shared)),
    row(1, ROW, ROW, Scope::Channel, LAST, "1 on the row bus", |t| u64::from(t.bus == Bus::RowsApart)),
    row(1, COLUMN, COLUMN, Scope::Channel, LAST, "1 on the column bus", |t| u64::from(t.bus == Bus::RowsApart)),
    row(2, &[Act], &[Act], Scope::Bank, LAST, "tRC", |t| t.rc),
    row(3, CLOSE, &[Act], Scope::Bank, LAST, "tRP", |t| t.rp),
    row(4, &[Act], &[Act], Scope::OtherBank, LAST, "tRRD_S", |t| t.rrd_s),
    row(4, &[Act], &[Act], Scope::OtherBankOfGroup, LAST, "tRRD_L", |t| t.rrd_l),
    row(5, &[Act], &[Act], Scope::Channel, Form::Distance { back: 4 }, "tFAW", |t| t.faw),
    row(6, &[Act], &[Act], Scope::Channel, Form::Distance { back: 32 }, "t32AW", |t| t.aw32),
    row(7, &[Act], READ, Scope::Bank, LAST, "tRCDRD", |t| t.rcd_rd),
    row(7, &[Act], WRITE, Scope::Bank, LAST, "tRCDWR", |t| t.rcd_wr),
    row(8, &[Act], CLOSE, Scope::Bank, LAST, "tRAS", |t| t.ras),
    row(9, READ, CLOSE, Scope::Bank, LAST, "tRTP", |t| t.rtp),
    row(10, WRITE, CLOSE, Scope::Bank, LAST, "WL + burst + tWR", |t| t.write_burst() + t.wr),
    row(11, READ, READ, Scope::Group, LAST, "tCCD_L", |t| t.ccd_l),
    row(11, WRITE, WRITE, Scope::Group, LAST, "tCCD_L", |t| t.ccd_l),
    row(12, READ, READ, Scope::Channel, LAST, "max(tCCD_S, burst)", |t| t.ccd_s.max(t.burst)),
    row(12, WRITE, WRITE, Scope::Channel, LAST, "max(tCCD_S, burst)", |t| t.ccd_s.max(t.burst)),
    // Rule 13: the data bus is idle for two cycles when it turns from read to write.
    row(13, READ, WRITE, Scope::Channel, LAST, "CL + burst + 2 - WL", |t| (t.cl + t.burst + 2).saturating_sub(t.wl)),
    row(14, WRITE, READ, Scope::Channel, LAST, "WL + burst + tWTR_S", |t| t.write_burst() + t.wtr_s),
    row(14, WRITE, READ, Scope::Group, LAST, "WL + burst + tWTR_L", |t| t.write_burst() + t.wtr_l),
    row(15, CLOSE, CLOSE, Scope::Channel, LAST, "tPPD", |t| t.ppd),
    row(16, CLOSE, &[Ref], Scope::Channel, LAST, "tRP", |t| t.rp),
    row(17, &[Ref], ANY, Scope::Channel, LAST, "tRFC", |t| t.rfc),
    row(18, &[Act], &[Ref], Scope::Channel, LAST, "tRC", |t| t.rc),
    row(19, &[Rda], &[Act, Ref], Scope::Bank, Form::AutoPrecharge, "tRTP + tRP", |t| t.rtp + t.rp),
    row(19, &[Wra], &[Act, Ref], Scope::Bank, Form::AutoPrecharge, "WL + burst + tWR + tRP", |t| {
        t.write_burst() + t.wr + t.rp
    }),
    row(20, &[Ref], &[Ref], Scope::Channel, Form::AtMost, "9 tREFI", |t| 9 * t.refi),
    row(21, ANY, ANY, Scope::Channel, Form::DataBus, "burst", |t| t.burst),
    row(22, ANY, ANY, Scope::Bank, Form::BankState, "", |_| 0),
    row(23, ANY, ANY, Scope::Channel, Form::Requests, "RD + CL + burst", |t| t.cl + t.burst),
];
