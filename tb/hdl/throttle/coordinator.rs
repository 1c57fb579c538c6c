//! # Lockstep test of the DWT-CS coordinator
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                                     | where            |
//! |-------------------------------------------------------------------------------|------------------|
//! | reports of several cores in one cycle, and one after another                  | `reports`        |
//! | reports of another kind than the coordinator waits for                        | `late`           |
//! | miss rates above, at and below the bound, under each trigger                  | `counts`         |
//! | several rounds; equal counts; a sample in which no core makes progress        | few instructions |
//! | a kernel that is known, one that is forgotten, one that begins during a round | few keys, `load` |
//! | the golden search gives the same orders                                       | `expected`       |

use golden::throttle::dwt_cs as twin;
use golden::throttle::{Answer, Counts, Search};
use rtl::kernel::{BlockId, Chan, ChanSpec, Describe, Edge, Payload, RxBank, TxBank, Wake};
use rtl::throttle::Hub;
use rtl::throttle::dwt_cs::coordinator::Coordinator;
use rtl::throttle::dwt_cs::{DwtConfig, Persist, Trigger};
use rtl::throttle::message::{Instructions, Misses, Order, OrderKind, Report};
use rtl::throttle::side::HubIo;

use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("up <= MOST && (core + 1 < CORES || CORES == 1)", "up <= MOST"),
        Mistake::new("42'(m) > 42'(PER_I", "42'(m) >= 42'(PER_I"),
        Mistake::new("report_valid_i[c] && report_sample_i[c] == (phase_q == SAMPLE)", "report_valid_i[c]"),
        Mistake::new("&& limit_in(c, base_q) < best_limit_1", ""),
        Mistake::new("misses_1 = misses_1 + 28'(report", "misses_1 = misses_q + 28'(report"),
        Mistake::new("found && best_limit_1 == highest && highest", "found && highest"),
        Mistake::new("&& highest < 7'(MOST)", ""),
        Mistake::new("streak_1 >= 3'(ABOVE)", "streak_1 > 3'(ABOVE)"),
        Mistake::new("thrashes && !is_known", "thrashes"),
        Mistake::new("above ? streak_q + 1'b1 : '0", "streak_q + 3'(above)"),
        Mistake::new("got_q <= all ? '0 : got_1", "got_q <= got_1"),
        Mistake::new("samples && CORES > 1 ? '0", "samples && CORES < 1 ? '0"),
        Mistake::new("32'(next_q) == MEMO - 1 ? '0", "32'(next_q) == MEMO ? '0"),
        Mistake::new("valid_q[e] && key_q[e] == noted_key", "valid_q[e]"),
        Mistake::equivalent(
            "core + 1 < MOST ? 7'(core + 1) : 7'(MOST)",
            "7'(core + 1)",
            "at the small size there are fewer cores than warps",
        ),
        Mistake::equivalent("(!PERSISTS || load_key_i != key_q)", "1", "at the small size nothing persists"),
    ]
}

const OWN: BlockId = BlockId { domain: 0, slot: 0 };

struct Unit {
    cores: u32,
    most: u8,
    config: DwtConfig,
    dut: Coordinator,
    golden: twin::Sampling,
    /// Reports that the coordinator has received in the current round, by core. The field `sampling` is true
    /// in a sampling round.
    round: Vec<Option<Report>>,
    sampling: bool,
    is_fixed: bool,
    /// Links from the cores to the coordinator (`reports`) and back (`orders`), by core.
    reports: Vec<Chan<Report>>,
    orders: Vec<Chan<Order>>,
    /// Reports in flight from each core to the coordinator.
    coming: Vec<Option<Report>>,
    key: u16,
    wake: Wake,
    moods: TrafficModes<2>,
    random: Random,
}

fn link<T: Payload<Shape = ()>>(path: &str) -> Chan<T> {
    Chan::new(ChanSpec { path: path.to_owned(), depth: 2, latency: 1, credit: 1, from: OWN, to: OWN }, ())
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let khairy2015 = DwtConfig::KHAIRY2015;
        let (cores, most, config) = match size {
            Size::Small => (2, 5, DwtConfig { above: 2, mpki: 500, memo: 2, ..khairy2015 }),
            Size::Fermi | Size::Synthesised => (15, 24, khairy2015),
            Size::Any => {
                let cores = 1 + random.below(16) as u32;
                let trigger = [Trigger::Sum, Trigger::AnyCore, Trigger::CoordinatorOnly][random.below(3) as usize];
                let coordinator = 1 + random.below(cores.into()) as u32;
                let persist = if random.percent(50) { Persist::Kernel } else { Persist::Off };
                let (mpki, above, memo) =
                    (1 + random.below(1000) as u32, 1 + random.below(6) as u32, 1 + random.below(8) as u32);
                let config = DwtConfig { trigger, coordinator, persist, mpki, above, memo, ..khairy2015 };
                (cores, 1 + random.below(48) as u8, config)
            }
        };
        let golden = twin::Config {
            mpki: config.mpki.into(),
            above: config.above as usize,
            memo: config.memo as usize,
            trigger: match config.trigger {
                Trigger::Sum => twin::Trigger::Sum,
                Trigger::AnyCore => twin::Trigger::AnyCore,
                Trigger::CoordinatorOnly => twin::Trigger::CoordinatorOnly,
            },
            coordinator: config.coordinator as usize,
        };
        Self {
            cores,
            most,
            dut: Coordinator::new(&config, "hub", cores, most),
            golden: twin::Sampling::new(golden, cores as usize, most.into()),
            config,
            round: vec![None; cores as usize],
            sampling: false,
            is_fixed: false,
            reports: (0..cores).map(|_| link("reports")).collect(),
            orders: (0..cores).map(|_| link("orders")).collect(),
            coming: vec![None; cores as usize],
            key: 0,
            wake: Wake::new(&[1]),
            moods: TrafficModes::default(),
            random,
        }
    }

    /// Generates random counts of instructions and misses for a core. The instruction counts have few
    /// distinct values, so that several cores often have equal counts. Many miss counts are close to the
    /// bound on misses per thousand instructions.
    fn counts(&mut self) -> (u32, u32) {
        let instructions = match self.random.below(5) {
            0 => 0,
            1 => self.random.below(1 << 16) as u32,
            _ => self.random.below(4) as u32 * 1000,
        };
        let bound = u64::from(instructions) * u64::from(self.config.mpki) / 1000;
        let misses = bound + self.random.below(3);
        (misses.saturating_sub(1) as u32, instructions)
    }

    /// Returns the order to the cores that the golden model computes from the reports of this round. Returns
    /// `None` if a core has not reported yet.
    fn compute_expected(&mut self) -> Option<(bool, Vec<usize>)> {
        if self.round.iter().any(Option::is_none) {
            return None;
        }
        let reports: Vec<_> = self.round.iter_mut().filter_map(Option::take).collect();
        let instructions: Vec<u64> = reports.iter().map(|report| u32::from(report.instructions).into()).collect();
        let counts = reports.iter().zip(&instructions).map(|(report, instructions)| Counts {
            misses: u32::from(report.misses).into(),
            instructions: *instructions,
        });
        let answer = if self.sampling {
            self.golden.end_round(&instructions)
        } else {
            self.golden.period(&counts.collect::<Vec<_>>())
        };
        match answer {
            Answer::Nothing => None,
            Answer::Sample(limits) => Some((false, limits)),
            Answer::Fixed(limit) => Some((true, vec![limit; self.cores as usize])),
        }
    }
}

/// Concatenates numbers of `width` bits each into a byte string. The first number is in the lowest bits.
fn pack(values: impl Iterator<Item = u32>, width: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (place, value) in values.enumerate() {
        for bit in 0..width {
            let at = place * width + bit;
            bytes.resize(bytes.len().max(at / 8 + 1), 0);
            bytes[at / 8] |= ((value >> bit & 1) as u8) << (at % 8);
        }
    }
    bytes
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let DwtConfig { mpki, above, trigger, coordinator, memo, persist, .. } = &self.config;
        vec![
            ("CORES", self.cores.to_string()),
            ("MOST", self.most.to_string()),
            ("MPKI", mpki.to_string()),
            ("ABOVE", above.to_string()),
            ("TRIGGER", (*trigger as u32).to_string()),
            ("COORDINATOR", coordinator.to_string()),
            ("MEMO", memo.to_string()),
            ("PERSISTS", u32::from(*persist == Persist::Kernel).to_string()),
        ]
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        // The coordinator receives the reports that the cores sent in the previous cycle.
        let coming = std::mem::replace(&mut self.coming, vec![None; self.cores as usize]);
        let bits = |is_so: fn(&Report) -> bool| {
            let so = coming.iter().enumerate().filter(|(_, report)| report.as_ref().is_some_and(is_so));
            so.fold(0u64, |bits, (core, _)| bits | 1 << core)
        };
        ports.input("report_valid", self.cores, bits(|_| true));
        ports.input("report_sample", self.cores, bits(|report| report.sampled));
        let all = || coming.iter().map(|report| report.unwrap_or_default());
        ports.wide_input("report_misses", self.cores * 20, &pack(all().map(|report| report.misses.into()), 20));
        let instructions = pack(all().map(|report| report.instructions.into()), 24);
        ports.wide_input("report_instructions", self.cores * 24, &instructions);
        for (core, report) in coming.iter().enumerate() {
            if let Some(report) = report.filter(|report| report.sampled == self.sampling) {
                self.round[core] = Some(report);
            }
        }
        let expected = self.compute_expected();
        let io = HubIo { reports: RxBank::of(&mut self.reports), orders: TxBank::of(&mut self.orders) };
        Hub::eval(&mut self.dut, io, &mut Edge::new(at.tick, at.cycle, &mut self.wake));
        if let Some((fixed, _)) = &expected {
            (self.sampling, self.is_fixed) = (!fixed, *fixed);
        }
        let [reports, late] = self.moods.next(&mut self.random);
        let loads = self.random.below(if self.is_fixed { 10 } else { 400 }) == 0;
        let key = self.random.below(4) as u16;
        ports.input("load_valid", 1, loads);
        ports.input("load_key", 16, key);
        if loads {
            self.dut.load(key);
            if self.config.persist == Persist::Off || key != self.key {
                self.golden.begin(key);
                (self.sampling, self.is_fixed) = (false, false);
                self.round.fill(None);
            }
            self.key = key;
        }
        // Generates random reports for the next cycle. A report comes from a core that has not reported in
        // this round, or it is late: it belongs to the other kind of round (sampling or not), and the
        // coordinator must ignore it.
        for core in 0..self.cores as usize {
            let is_late = self.random.below(2000) < late;
            let may = !self.is_fixed && (self.round[core].is_none() || is_late) && !loads;
            if may && self.random.percent(reports) {
                let (misses, instructions) = self.counts();
                let sampled = self.sampling != is_late;
                let report =
                    Report { sampled, misses: Misses::new(misses), instructions: Instructions::new(instructions) };
                self.coming[core] = Some(report);
                self.reports[core].tx().push(&mut Edge::new(at.tick, at.cycle, &mut self.wake), report);
            }
        }
        // The cores receive the orders one cycle after the coordinator sends them.
        let next = &mut Edge::new(at.tick + 1, at.cycle + 1, &mut self.wake);
        let mut orders = Vec::new();
        for link in &mut self.orders {
            let mut sent = link.rx();
            if let Some(order) = sent.peek(next).copied() {
                sent.drop_head(next);
                orders.push(order);
            }
        }
        let given = orders.first().map(|first| {
            let limits = orders.iter().map(|order| usize::from(u8::from(order.limit))).collect::<Vec<_>>();
            (first.kind == OrderKind::Fixed, limits)
        });
        assert_eq!(given, expected);
        ports.output("order_valid", 1, given.is_some());
        ports.output_if("order_fixed", 1, given.as_ref().map(|(fixed, _)| *fixed));
        let limits = given.map(|(_, limits)| pack(limits.into_iter().map(|limit| limit as u32), 7));
        ports.wide_output("order_limits", self.cores * 7, limits.as_deref());
    }

    /// Returns the number of constant register bits. One bit is constant with the trigger `Sum`: the flag
    /// which shows that a single core exceeds the bound.
    fn constant_bits(&self) -> u64 {
        u64::from(self.config.trigger == Trigger::Sum)
    }

    fn describe(&self, to: &mut dyn Describe) {
        Hub::describe(&self.dut, to);
    }
}
