//! # The rules of a GDDR5 or HBM command stream
//! One row per rule and kind of neighbour: a command of `to` may not come earlier than `minimum`
//! cycles after the latest command of `from` in `scope`. Commands of one cycle are no cycle apart, whichever of
//! them a trace names first.
//!
//! A number can have several rows, since a distance may depend on the direction of the transfer or
//! on the bank group. The checker runs down the table; it knows no rule by itself except the few
//! whose [`Form`] is not a distance.

use super::command::Kind::{self, Act, Pre, Prea, Rd, Rda, Ref, Wr, Wra};
use super::timing::{Bus, Timing};

/// Which earlier commands count. A command for all banks is in the scope of every bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The same bank.
    Bank,
    /// The same bank group.
    Group,
    /// Another bank of the same group.
    OtherBankOfGroup,
    /// Any other bank.
    OtherBank,
    /// Anything on the channel.
    Channel,
}

/// How a row is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// At least `minimum` cycles after the command of `from` that lies `back` such commands back.
    Distance {
        /// 1 for the latest one.
        back: usize,
    },
    /// After a column command that closes its row by itself, both `minimum` cycles and the row's own
    /// minimum open time followed by a precharge must have passed.
    AutoPrecharge,
    /// At most `minimum` cycles apart.
    AtMost,
    /// Data bursts, `minimum` cycles long, do not overlap on the bus.
    DataBus,
    /// The bank is in the state that the command needs.
    BankState,
    /// Requests and column commands belong together.
    Requests,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The number under which a violation is reported.
    pub number: u8,
    /// Earlier commands.
    pub from: &'static [Kind],
    /// Later commands.
    pub to: &'static [Kind],
    /// Where the earlier command must lie to count.
    pub scope: Scope,
    /// How the row is checked.
    pub form: Form,
    /// The distance in words.
    pub expression: &'static str,
    /// The distance in cycles.
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

/// Every rule, in the order of its number.
pub const RULES: &[Rule] = &[
    // On one bus any two, on two buses any two of the same.
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
    // Two idle cycles turn the bus around.
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
