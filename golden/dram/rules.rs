//! # Rules of a GDDR5 or HBM command stream
//! Table of the timing and state rules, one row per rule and kind of earlier command. A command of `to` must
//! follow the latest command of `from` in `scope` by at least `minimum` cycles. Commands of one cycle are
//! zero cycles apart, in whatever order a trace lists them.
//!
//! A rule number can have several rows, since a distance may depend on the direction of the transfer or on
//! the bank group. The checker iterates over the table. It contains code only for the few rules whose
//! [`Form`] is not a distance.

use super::command::Kind::{self, Act, Pre, Prea, Rd, Rda, Ref, Wr, Wra};
use super::timing::{Bus, Timing};

/// Scope in which earlier commands count. A command to all banks is in the scope of every bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Commands to the same bank.
    Bank,
    /// Commands to the same bank group.
    Group,
    /// Commands to another bank of the same group.
    OtherBankOfGroup,
    /// Commands to any other bank of the channel.
    OtherBank,
    /// All commands on the channel.
    Channel,
}

/// Kind of check that a row requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Distance of at least `minimum` cycles from the `back`-th latest command of `from`.
    Distance {
        /// Number of commands to look back; 1 is the latest.
        back: usize,
    },
    /// Distance from a column command with auto-precharge: both `minimum` cycles and the minimum open time of
    /// the row plus a precharge must have passed.
    AutoPrecharge,
    /// Distance of at most `minimum` cycles.
    AtMost,
    /// Data bursts of `minimum` cycles must not overlap on the bus.
    DataBus,
    /// Bank must be in the state that the command requires.
    BankState,
    /// Requests and column commands must match.
    Requests,
}

/// Row of the rule table.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Rule number that violations report.
    pub number: u8,
    /// Types of the earlier command.
    pub from: &'static [Kind],
    /// Types of the later command.
    pub to: &'static [Kind],
    /// Scope in which earlier commands count.
    pub scope: Scope,
    /// Kind of check that the rule requires.
    pub form: Form,
    /// Distance as a formula, for messages.
    pub expression: &'static str,
    /// Distance for a set of timing parameters [command clocks].
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

/// All rules, in order of their numbers.
pub const RULES: &[Rule] = &[
    // A shared bus carries one command per cycle; two separate buses carry one command each.
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
    // The turnaround of the bus takes two idle cycles.
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
