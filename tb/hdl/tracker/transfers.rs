//! # Lockstep test of the transfer table of a sharing tracker
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The table holds the loads that the tracker has forwarded to other L1s or to the L2. The following
//! table lists the tested situations, with the code of this file that generates each of them.
//!
//! | testpoint                                                               | where                        |
//! |-------------------------------------------------------------------------|------------------------------|
//! | a row is answered, resent, replied to and reused                        | `cycle`                      |
//! | answers and replies for loads that have no row, or are in another state | `answer_row`, `reply_ticket` |
//! | several rows must be resent to the L2                                   | `resend`                     |
//! | a row that becomes free is reused in the same cycle                     | few rows                     |
//! | loads of a line by some SMs are poisoned, those of other SMs are not    | `poison_sms`                 |

use rtl::cells::line::SECTORS;
use rtl::kernel::{Describe, Edge};
use rtl::noc::packet::TICKET_BITS;
use rtl::tracker::{ForwardResult, TrackShape, Transfer, Transfers};

use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes, Violation};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("one(answer_valid_i, answer_row_i) & forwarded_q", "one(answer_valid_i, answer_row_i)"),
        Mistake::new("answer_here_i ? used_q & ~answered : used_q", "used_q & ~answered"),
        Mistake::new("answer_here_i ? refused_q : refused_q | answered", "refused_q | answered"),
        Mistake::new("!refused_q[r] && sm_q[r] == reply_sm_i", "sm_q[r] == reply_sm_i"),
        Mistake::new("&& ticket_q[r] == reply_ticket_i", ""),
        Mistake::new("one(reply_valid_i && reply_known_o, reply_row_o)", "one(reply_valid_i, reply_row_o)"),
        Mistake::new("resend_row_o = first(refused_1)", "resend_row_o = first(refused_q)"),
        Mistake::new("refused_1 & ~resent", "refused_1"),
        Mistake::new("resend_keeps_o ? used_2 : used_2 & ~resent", "used_2 & ~resent"),
        Mistake::new("(forwarded_1 | refused_3) & is_line", "forwarded_1 & is_line"),
        Mistake::new("(forwarded_1 | refused_3) & is_line", "(forwarded_q | refused_3) & is_line"),
        Mistake::new("is_line & is_of_sm", "is_line"),
        Mistake::new("free_row_o = first(~used_3)", "free_row_o = first(~used_q)"),
        Mistake::new("open_forwarded_i ? forwarded_1 | opens", "1 ? forwarded_1 | opens"),
        Mistake::new("poisoned_q[r] <= 0;\n        supplier_q[r] <= open", "supplier_q[r] <= open"),
        Mistake::new("&& poison_sms_i[sm_q[r]]", ""),
        Mistake::equivalent(
            "used_q[r] && !forwarded_q[r] &&",
            "used_1[r] && !forwarded_q[r] &&",
            "an answer closes a row that was forwarded",
        ),
    ]
}

assertions! {
    [
        Violation::by_input("one_use", "poison_valid", "1'b1"),
        Violation::by_module("rows_used", "forwarded_1 = forwarded_q & ~answered", "forwarded_1 = forwarded_q"),
        Violation::by_module("answer_forwarded", "one(answer_valid_i, answer_row_i) & forwarded_q", "one(answer_valid_i, answer_row_i)"),
        Violation::by_module("reply_at_l2", "!refused_q[r] && sm_q[r] == reply_sm_i", "sm_q[r] == reply_sm_i"),
        Violation::by_module("resend_refused", "resend_row_o = first(refused_1)", "resend_row_o = first(refused_q)"),
        Violation::by_module("opens_free", "free_row_o = first(~used_3)", "free_row_o = first(~used_q)"),
        Violation::by_module("opened_is_used", "used_q <= used_3 | opens;", "used_q <= used_3;"),
        Violation::by_module("forwarded_is_own", "(forwarded_1 | refused_3) & is_line", "refused_3 & is_line"),
        Violation::by_module("poisoned_stays", "&& poison_sms_i[sm_q[r]]", "&& !poison_sms_i[sm_q[r]]"),
    ]
}

const LINE_BITS: u32 = 25;

struct Unit {
    rows: u32,
    sms: u32,
    shape: TrackShape,
    dut: Transfers,
    moods: TrafficModes<5>,
    random: Random,
}

fn bits(values: u32) -> u32 {
    values.max(2).next_power_of_two().ilog2()
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let (rows, sms) = match size {
            Size::Small => (3, 3),
            Size::Fermi | Size::Synthesised => (16, 16),
            Size::Any => (1 + random.below(64) as u32, 2 + random.below(60) as u32),
        };
        let shape = TrackShape { line_bits: LINE_BITS, sm_bits: bits(sms), partition_bits: 1, row_bits: bits(rows) };
        Self { rows, sms, shape, dut: Transfers::new(rows), moods: TrafficModes::default(), random }
    }

    /// Randomly selects one of three line addresses, which differ in a single bit or in two.
    fn line(&mut self) -> u64 {
        [1, 1 << (LINE_BITS - 1), 1 << (LINE_BITS - 1) | 1][self.random.below(3) as usize]
    }

    fn ticket(&mut self) -> u64 {
        self.random.below(3) << (TICKET_BITS - 2)
    }

    fn answer(&mut self, ports: &mut Ports, often: u64) {
        let sm_bits = self.shape.sm_bits;
        let (valid, row) = (self.random.percent(often), self.random.below(self.rows.into()) as u8);
        let found = [ForwardResult::Here, ForwardResult::Coming, ForwardResult::Gone][self.random.below(3) as usize];
        let answered = if valid { self.dut.on_answer(row, found) } else { None };
        ports.input("answer_valid", 1, valid);
        ports.input("answer_row", bits(self.rows), row);
        ports.input("answer_here", 1, found == ForwardResult::Here);
        ports.output("answer_known", 1, answered.is_some());
        ports.output_if("answer_line", LINE_BITS, answered.map(|of| of.line));
        ports.output_if("answer_sm", sm_bits, answered.map(|of| of.sm));
        ports.output_if("answer_keeps", 1, answered.map(|of| of.keeps));
        ports.output_if("answer_poisoned", 1, answered.map(|of| of.poisoned));
        ports.output_if("answer_supplier", sm_bits, answered.map(|of| of.supplier));
    }

    fn reply(&mut self, ports: &mut Ports, often: u64) {
        let (sm, ticket) = (self.random.below(self.sms.into()) as u8, self.ticket());
        let (valid, row) = (self.random.percent(often), self.dut.of_reply(sm, ticket));
        ports.input("reply_valid", 1, valid);
        ports.input("reply_sm", self.shape.sm_bits, sm);
        ports.input("reply_ticket", TICKET_BITS, ticket);
        ports.output("reply_known", 1, row.is_some());
        ports.output_if("reply_row", bits(self.rows), row);
        let transfer = row.filter(|_| valid).map(|row| self.dut.on_reply(row));
        ports.output_if("reply_line", LINE_BITS, transfer.map(|of| of.line));
        ports.output_if("reply_keeps", 1, transfer.map(|of| of.keeps));
        ports.output_if("reply_poisoned", 1, transfer.map(|of| of.poisoned));
    }

    fn resend(&mut self, ports: &mut Ports, often: u64) {
        let (valid, refused) = (self.random.percent(often), self.dut.refused_load());
        let of = refused.map(|(_, transfer)| transfer);
        ports.input("resend_valid", 1, valid);
        ports.output("resend_ready", 1, refused.is_some());
        ports.output_if("resend_row", bits(self.rows), refused.map(|(row, _)| row));
        ports.output_if("resend_id", 32, of.map(|of| of.id));
        ports.output_if("resend_line", LINE_BITS, of.map(|of| of.line));
        ports.output_if("resend_sm", self.shape.sm_bits, of.map(|of| of.sm));
        ports.output_if("resend_ticket", TICKET_BITS, of.map(|of| of.ticket));
        ports.output_if("resend_sectors", SECTORS, of.map(|of| of.sectors));
        ports.output_if("resend_keeps", 1, of.map(|of| of.keeps));
        if let Some((row, _)) = refused.filter(|_| valid) {
            self.dut.on_resend(row);
        }
    }

    fn request(&mut self, ports: &mut Ports, loads: u64, writes: u64) {
        let transfer = Transfer {
            id: self.random.below(1 << 32) as u32,
            line: self.line(),
            sm: self.random.below(self.sms.into()) as u8,
            ticket: self.ticket(),
            sectors: self.random.below(1 << SECTORS) as u8,
            keeps: self.random.percent(70),
            poisoned: false,
            supplier: self.random.below(self.sms.into()) as u8,
        };
        let free = self.dut.free();
        let opens = free.is_some() && self.random.percent(loads);
        let poisons = !opens && self.random.percent(writes);
        let (is_forwarded, served) = (self.random.percent(50), self.random.below(1 << self.sms));
        let Transfer { id, line, sm, ticket, sectors, keeps, supplier, .. } = transfer;
        ports.input("req_line", LINE_BITS, line);
        ports.input("req_sm", self.shape.sm_bits, sm);
        ports.output("is_own", 1, self.dut.is_forwarded(sm, line));
        ports.input("poison_valid", 1, poisons);
        ports.input("poison_sms", self.sms, served);
        ports.output("free_valid", 1, free.is_some());
        ports.output_if("free_row", bits(self.rows), free);
        ports.input("open_valid", 1, opens);
        ports.input("open_id", 32, id);
        ports.input("open_ticket", TICKET_BITS, ticket);
        ports.input("open_sectors", SECTORS, sectors);
        ports.input("open_keeps", 1, keeps);
        ports.input("open_supplier", self.shape.sm_bits, supplier);
        ports.input("open_forwarded", 1, is_forwarded);
        if let Some(row) = free.filter(|_| opens) {
            self.dut.open(row, transfer, is_forwarded);
        }
        if poisons {
            self.dut.poison(line, |sm| served >> sm & 1 != 0);
        }
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("ROWS", self.rows.to_string()),
            ("SMS", self.sms.to_string()),
            ("LINE_BITS", LINE_BITS.to_string()),
            ("TICKET_BITS", TICKET_BITS.to_string()),
        ]
    }

    fn cycle(&mut self, _: &Edge<'_>, ports: &mut Ports) {
        let [answers, replies, resends, loads, writes] = self.moods.next(&mut self.random);
        ports.output("is_empty", 1, self.dut.is_empty());
        self.answer(ports, answers);
        self.reply(ports, replies);
        self.resend(ports, resends);
        self.request(ports, loads, writes);
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(&self.shape, to);
    }
}
