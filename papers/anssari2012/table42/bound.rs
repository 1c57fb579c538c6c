//! anssari2012 Table 4.2, last column: what bounds the performance of each benchmark. A fixed rule decides
//! this from runs on the clocked machine.

use rtl::noc::xbar::OutputStats;
use rtl::sm::StallReason;

use super::super::{BENCHMARKS, SIZE};
use crate::FigureError;
use crate::Session;
use crate::page::Page;
use crate::runs::Point;
use warpsieve::run::{Counters, ratio};

/// Performance bound that the thesis publishes for each benchmark in [`BENCHMARKS`]. For Histo, the thesis
/// gives the bound of each kernel; it is the same for all kernels.
const PUBLISHED: [Bound; BENCHMARKS.len()] = [
    Bound::Bandwidth,
    Bound::Balanced,
    Bound::Balanced,
    Bound::Bandwidth,
    Bound::Bandwidth,
    Bound::Bandwidth,
    Bound::Compute,
    Bound::Compute,
    Bound::Bandwidth,
    Bound::Bandwidth,
];

/// A benchmark is compute bound if compute cycles are at least this share of all compute and memory cycles,
/// and memory bound if memory cycles are.
const MIN_BOUND_SHARE: f64 = 2.0 / 3.0;
/// Minimum fraction of the time in which a bus or network must transfer data to be regarded as busy.
const BUSY: f64 = 0.5;

/// Outcomes of a scheduler cycle (issue, or reason for a stall) that make it a compute cycle.
const AT_WORK: [StallReason; 3] = [StallReason::Issued, StallReason::ScoreboardAlu, StallReason::PipeBusy];
/// Outcomes of a scheduler cycle (reasons for a stall) that make it a memory cycle.
const AT_MEMORY: [StallReason; 3] = [StallReason::ScoreboardMemory, StallReason::LsuFull, StallReason::StoreDrain];

/// What bounds the performance of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Compute,
    Balanced,
    Bandwidth,
    /// Bound by the latency of memory: most cycles are memory cycles, but no bus or network is busy. The
    /// thesis does not have this class.
    Latency,
}

impl Bound {
    const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Balanced => "balanced",
            Self::Bandwidth => "bandwidth",
            Self::Latency => "latency",
        }
    }
}

/// Measurements from which the rule decides the bound.
struct BoundInputs {
    name: &'static str,
    /// Fraction of the scheduler cycles with each outcome, in the order of [`StallReason::ALL`].
    stalls: Vec<f64>,
    /// Number of compute cycles ([`AT_WORK`]) divided by the number of compute and memory cycles ([`AT_WORK`]
    /// and [`AT_MEMORY`]).
    at_work: f64,
    /// Three fractions of the run time: in which the DRAM data buses, the request network and the reply
    /// network transfer data.
    carriers: [f64; 3],
}

impl BoundInputs {
    fn new(name: &'static str, counters: &Counters) -> Self {
        let slots = counters.slots();
        let of = |reasons: &[StallReason]| reasons.iter().map(|reason| slots.of(*reason)).sum::<u64>();
        let (work, memory) = (of(&AT_WORK), of(&AT_MEMORY));
        let busy: u64 = counters.totals().dram.bus_busy_cycles;
        let clocks = f64::from(counters.dram_khz) / f64::from(counters.core_khz);
        let network = |outputs: &[OutputStats]| {
            ratio(outputs.iter().map(|output| output.flits).sum(), counters.cycles * outputs.len() as u64)
        };
        let bus = ratio(busy, counters.cycles * counters.dram.len() as u64) / clocks;
        Self {
            name,
            stalls: slots.by_reason().map(|(_, cycles)| ratio(cycles, slots.sum())).collect(),
            at_work: ratio(work, work + memory),
            carriers: [bus, network(&counters.requests), network(&counters.replies)],
        }
    }

    fn bound(&self) -> Bound {
        let is_carried = self.carriers.iter().any(|busy| *busy >= BUSY);
        match self.at_work {
            work if work >= MIN_BOUND_SHARE => Bound::Compute,
            work if work > 1.0 - MIN_BOUND_SHARE => Bound::Balanced,
            _ if is_carried => Bound::Bandwidth,
            _ => Bound::Latency,
        }
    }
}

/// Measurements from which the performance bounds of all benchmarks are determined.
pub(super) struct Bounds(Vec<BoundInputs>);

impl Bounds {
    /// Measures all benchmarks on the machine `hybrid`. The page with results of the clocked machine uses the
    /// same runs.
    pub(super) fn measure(session: &Session) -> Result<Self, FigureError> {
        let launches = BENCHMARKS.iter().map(|(_, kernel)| session.launch(kernel, SIZE));
        let points: Vec<_> = launches.map(|launch| Point::new(&launch, "hybrid", &[], &["l2.sets=512"])).collect();
        let clocked = session.runner.run_clocked(&points)?;
        let all = BENCHMARKS.iter().zip(&clocked).map(|((name, _), clocked)| BoundInputs::new(name, &clocked.counters));
        Ok(Self(all.collect()))
    }

    pub(super) fn table(&self, page: &mut Page) {
        page.text(TEXT);
        let reasons = AT_WORK.iter().chain(&AT_MEMORY).map(|reason| format!("{} %", reason.name().replace('_', " ")));
        let heads: Vec<String> = ["benchmark", "bound", "published", "at work %"]
            .into_iter()
            .chain(["DRAM buses %", "requests %", "replies %"])
            .map(str::to_owned)
            .chain(reasons)
            .collect();
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let cells = self.0.iter().zip(PUBLISHED).map(|(one, published)| {
            let reasons = AT_WORK.iter().chain(&AT_MEMORY).map(|reason| one.stalls[*reason as usize]);
            let numbers = [one.at_work].into_iter().chain(one.carriers).chain(reasons);
            let names = [one.name, one.bound().name(), published.name()].map(str::to_owned);
            names.into_iter().chain(numbers.map(|part| format!("{:.1}", 100.0 * part))).collect()
        });
        page.table(&heads, cells.collect(), 3);
    }
}

const TEXT: &str = "## Performance bound
The thesis states for each benchmark whether it is bound by compute throughput or by memory bandwidth, but gives no
rule. Our rule therefore cannot be compared with the thesis, and is not judged. It considers the clocked machine
`hybrid` with an L2 of 1 MB, without tracker and policy, at the sizes of [timed](timed.md). A scheduler cycle counts
as compute if an instruction issues, or waits for the result of a pipe or for a pipe. It counts as memory if an
instruction waits for data from memory, for room in the LSU, or for stores. Other cycles (no warp, fetch, barriers)
count as neither. *At work* is the share of the compute cycles in the compute and memory cycles. At two thirds or
more, the bound is *compute*; between one third and two thirds, it is *balanced*. Otherwise, it is *bandwidth* if the
data buses of the DRAMs or one of the networks between the L1s and the L2 is busy for at least half of the time, and
*latency* if not; the thesis has no such bound. The four kernels of Histo are measured as one run.
";

#[cfg(test)]
mod tests {
    use rtl::dram::counts::Counts as DramCounts;

    use super::*;

    fn counters(stalls: [(StallReason, u64); 3], bus_busy_cycles: u64) -> Counters {
        let dram = vec![DramCounts { bus_busy_cycles, ..DramCounts::default() }];
        Counters {
            cycles: 1000,
            core_khz: 700,
            dram_khz: 1400,
            stalls: vec![stalls.into_iter().collect()],
            dram,
            ..Counters::default()
        }
    }

    #[test]
    fn two_thirds_of_the_time_decide_and_a_bus_that_is_busy_tells_bandwidth_from_latency() {
        let bound = |work, memory, bus| {
            let stalls = [
                (StallReason::Issued, work),
                (StallReason::LsuFull, memory),
                (StallReason::NoWarp, 1000 - work - memory),
            ];
            BoundInputs::new("any", &counters(stalls, bus)).bound()
        };
        assert_eq!(bound(400, 200, 2000), Bound::Compute);
        assert_eq!(bound(399, 201, 2000), Bound::Balanced);
        assert_eq!(bound(201, 399, 2000), Bound::Balanced);
        // The run takes 1000 core cycles, which are 2000 DRAM cycles. So 1000 busy DRAM cycles are exactly
        // half of the run time.
        assert_eq!(bound(199, 401, 1000), Bound::Bandwidth);
        assert_eq!(bound(199, 401, 999), Bound::Latency);
    }
}
