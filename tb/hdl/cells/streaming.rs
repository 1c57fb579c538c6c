//! # Lockstep test of the streaming monitor
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                                | where                       |
//! |--------------------------------------------------------------------------|-----------------------------|
//! | periods timed by the monitor itself, and periods ended from outside      | random size                 |
//! | miss rates above, at and below the bound; too few accesses               | `above`, a low minimum      |
//! | saturated counters                                                       | periods that last very long |
//! | an access in the cycle in which a period ends counts for the next period | `cycle`                     |
//! | the golden monitor closes and opens the cache in the same cycles         | `cycle`                     |

use golden::l1::streaming as twin;
use rtl::cells::streaming::{Reopen, Streaming, StreamingConfig};
use rtl::kernel::{Describe, Edge};

use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("may_close_1 && (accesses_q", "(accesses_q"),
        Mistake::new("accesses_q < 14'(MIN_ACCESSES)", "accesses_q <= 14'(MIN_ACCESSES)"),
        Mistake::new("? closed_q : closed_q ?", "? 1'b0 : closed_q ?"),
        Mistake::new("closed_q ? rate >= bound", "closed_q ? rate > bound"),
        Mistake::new(": rate > bound", ": rate >= bound"),
        Mistake::new("21'(misses_q) * 21'd100", "21'(misses_q) * 21'd99"),
        Mistake::new("assign is_closed_o = end_1 ? decided : closed_q;", "assign is_closed_o = closed_q;"),
        Mistake::new("opens_o = closed_q && !is_closed_o", "opens_o = closed_q && !decided"),
        Mistake::new("accesses_1 = end_1 ? '0 : accesses_q", "accesses_1 = accesses_q"),
        Mistake::new("misses_1 = end_1 ? '0 : misses_q", "misses_1 = misses_q"),
        Mistake::new("count_i && accesses_1 != '1", "count_i"),
        Mistake::new("14'(counts && missed_i)", "14'(counts)"),
        Mistake::equivalent("count_i && accesses_1 != '1", "count_i && accesses_q != '1 || count_i && end_1", "no count at a period end"),
    ]
}

struct Unit {
    config: StreamingConfig,
    own_periods: bool,
    dut: Streaming,
    golden: twin::Streaming,
    /// Weighted misses minus weighted accesses. If this value is positive when a monitoring period ends, the
    /// monitor stops the allocation of new lines in the cache. Half of the generated accesses move the value
    /// toward zero.
    above: i64,
    moods: TrafficModes<2>,
    random: Random,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let (period, miss_percent, min_accesses) = match size {
            Size::Small => (0, 50, 5),
            Size::Fermi | Size::Synthesised => (10_000, 90, 32),
            Size::Any => {
                let own = [0, 1 + random.below(1000) as u32];
                (own[random.below(2) as usize], 1 + random.below(100) as u32, 1 + random.below(100) as u32)
            }
        };
        let own_periods = period != 0;
        let config = StreamingConfig { period: period.max(1), miss_percent, min_accesses, reopen: Reopen::Flush };
        let golden = twin::Config {
            period: own_periods.then_some(period.into()),
            miss_percent: miss_percent as usize,
            min_accesses: min_accesses as usize,
            flush: true,
        };
        let (dut, golden) = (Streaming::new(&config, own_periods), twin::Streaming::new(golden));
        Self { config, own_periods, dut, golden, above: 0, moods: TrafficModes::default(), random }
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("PERIOD", if self.own_periods { self.config.period } else { 0 }.to_string()),
            ("MISS_PERCENT", self.config.miss_percent.to_string()),
            ("MIN_ACCESSES", self.config.min_accesses.to_string()),
        ]
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let [accesses, misses] = self.moods.next(&mut self.random);
        // Some monitoring periods are so long that the counters saturate.
        let is_long = (3_000..19_800).contains(&(at.cycle % 40_000));
        let ends = !is_long && self.random.below(20) == 0;
        let may_close = self.random.percent(80);
        let opens = match self.own_periods {
            true => {
                let drops = self.golden.advance(at.cycle);
                assert_eq!(drops, self.dut.reach(at.cycle));
                drops
            }
            false if ends => {
                let drops = self.golden.end(may_close);
                assert_eq!(drops, self.dut.end_period(may_close));
                drops
            }
            false => false,
        };
        assert_eq!(self.dut.is_closed(), self.golden.is_closed());
        let count = is_long || self.random.percent(accesses);
        let percent = i64::from(self.config.miss_percent);
        let missed = if self.random.percent(50) { self.above < 0 } else { self.random.percent(misses) };
        self.above = if ends { 0 } else { self.above };
        if count {
            self.above += if missed { 100 - percent } else { -percent };
            self.dut.count(missed);
            self.golden.note(missed);
        }
        ports.input("ends", 1, ends);
        ports.input("may_close", 1, may_close);
        ports.input("count", 1, count);
        ports.input("missed", 1, missed);
        ports.output("is_closed", 1, self.dut.is_closed());
        ports.output("opens", 1, opens);
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
