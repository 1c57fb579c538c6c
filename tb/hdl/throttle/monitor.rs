//! # Lockstep test of the DWT-CS monitor of a core
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                                              | where |
//! |----------------------------------------------------------------------------------------|-----|
//! | orders in the cycle in which a period ends, and in other cycles                        | `obeys` |
//! | samples of several periods, interrupted by the next order                              | short periods |
//! | miss rates above, at and below the bound                                               | `missed` |
//! | kernels that end within a period or at its end, followed by the same kernel or another | `stops`, `load` |
//! | a timer that stops between launches                                                    | random size, `Persist::Kernel` |

use rtl::kernel::{Describe, Edge};
use rtl::throttle::dwt_cs::monitor::Monitor;
use rtl::throttle::dwt_cs::{DwtConfig, Persist};
use rtl::throttle::message::{Limit, Order, OrderKind};
use rtl::throttle::{Hooks, Tick};

use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("timer_runs_q && timer_q == 0", "timer_runs_q && timer_q == 1"),
        Mistake::new("34'(misses_q) > 34'(PER_I", "34'(misses_q) >= 34'(PER_I"),
        Mistake::new("sampled_q + 3'd1 == 3'(SAMPLE)", "sampled_q == 3'(SAMPLE)"),
        Mistake::new("3'(end_1 && phase_q == SAMPLING)", "3'(end_1)"),
        Mistake::new("misses_1 = end_1 ? '0 : misses_q", "misses_1 = misses_q"),
        Mistake::new("end_1 && phase_q == MONITOR ? '0 : instructions_q", "end_1 ? '0 : instructions_q"),
        Mistake::new("phase_2 = !obey_valid_i ? phase_1", "phase_2 = !obey_valid_i ? phase_q"),
        Mistake::new("left_2 = samples ? 14'(PERIOD) : left_1", "left_2 = left_1"),
        Mistake::new("sampled_2 = samples ? '0 : sampled_1", "sampled_2 = sampled_1"),
        Mistake::new("misses_2 = obey_valid_i ? '0 : misses_1", "misses_2 = misses_1"),
        Mistake::new("counts = phase_2 == MONITOR || phase_2 == SAMPLING", "counts = phase_2 == MONITOR"),
        Mistake::new("(!PERSISTS || load_key_i != key_q)", "!PERSISTS"),
        Mistake::new("14'(runs_i && !stops_i)", "14'(runs_i)"),
        Mistake::new("dwt.phase_q == FIXED && dwt.limit_q == 7'(MOST)", "dwt.phase_q == FIXED"),
        Mistake::new("now_limit_o = dwt.limit_2", "now_limit_o = dwt.limit_q"),
        Mistake::equivalent("else if (forgets) key_q <= '0;", "", "at the small size only another kernel makes it forget"),
    ]
}

struct Unit {
    config: DwtConfig,
    most: u8,
    dut: Monitor,
    runs: bool,
    /// Number of thread instructions issued so far.
    issued: u64,
    moods: TrafficModes<3>,
    random: Random,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let khairy2015 = DwtConfig::KHAIRY2015;
        let (config, most) = match size {
            Size::Small => (DwtConfig { period: 6, mpki: 500, sample: 2, persist: Persist::Kernel, ..khairy2015 }, 3),
            Size::Fermi | Size::Synthesised => (DwtConfig { period: 100, ..khairy2015 }, 24),
            Size::Any => {
                let period = 1 + random.below(200) as u32;
                let persist = if random.percent(50) { Persist::Kernel } else { Persist::Off };
                let (mpki, sample) = (1 + random.below(1000) as u32, 1 + random.below(6) as u32);
                (DwtConfig { period, mpki, sample, persist, ..khairy2015 }, 1 + random.below(64) as u8)
            }
        };
        let dut = Monitor::new(&config, most);
        Self { config, most, dut, runs: false, issued: 0, moods: TrafficModes::default(), random }
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("MOST", self.most.to_string()),
            ("PERIOD", self.config.period.to_string()),
            ("MPKI", self.config.mpki.to_string()),
            ("SAMPLE", self.config.sample.to_string()),
            ("PERSISTS", u32::from(self.config.persist == Persist::Kernel).to_string()),
        ]
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let Self { dut, moods, random, .. } = self;
        let [misses, issues, orders] = moods.next(random);
        // A kernel is loaded in a cycle in which no kernel runs. It begins in a later cycle.
        let loads = !self.runs && random.percent(30);
        let key = random.below(2) as u16;
        if loads {
            dut.load(key);
        } else if !self.runs {
            self.runs = random.percent(60);
        }
        let runs = self.runs;
        let tick = if runs { dut.tick(at.cycle) } else { None };
        let report = tick.and_then(|Tick { report, .. }| report);
        ports.input("runs", 1, runs);
        ports.output("ends_period", 1, tick.is_some());
        ports.output_if("may_close", 1, tick.map(|Tick { period, .. }| period.may_close));
        ports.output("reports", 1, report.is_some());
        ports.output_if("reports_sample", 1, report.map(|report| report.sampled));
        ports.output_if("report_misses", 20, report.map(|report| u64::from(u32::from(report.misses))));
        ports.output_if("report_instructions", 24, report.map(|report| u64::from(u32::from(report.instructions))));

        let obeys = runs && random.below(20_000) < orders * u64::from(100 / self.config.period.min(100)).max(1);
        let fixed = random.percent(50);
        let limit = if random.percent(50) { self.most } else { 1 + random.below(self.most.into()) as u8 };
        ports.input("obey_valid", 1, obeys);
        ports.input("obey_fixed", 1, fixed);
        ports.input("obey_limit", 7, limit);
        if obeys {
            let kind = if fixed { OrderKind::Fixed } else { OrderKind::Sample };
            dut.on_order(Order { kind, limit: Limit::new(limit) }, at.cycle);
        }
        let missed = runs && random.percent(misses / 2);
        ports.input("missed", 1, missed);
        if missed {
            dut.count_miss();
        }
        let lanes = if runs && random.percent(issues) { random.below(3) } else { 0 };
        ports.input("issued", 8, lanes);
        self.issued += lanes;
        dut.count_to(self.issued);
        ports.output_if("now_limit", 7, runs.then_some(dut.limit()));
        let stops = runs && random.below(300) == 0;
        ports.input("stops", 1, stops);
        if stops {
            dut.end_kernel(at.cycle);
            self.runs = false;
        }
        ports.input("load_valid", 1, loads);
        ports.input("load_key", 16, key);
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(to);
    }

    /// Returns the names of the registers that are not compared, here a timer. The simulator stores the cycle
    /// in which the timer expires, while the SystemVerilog module counts down.
    fn other_form(&self) -> &'static [&'static str] {
        &["timer"]
    }
}
