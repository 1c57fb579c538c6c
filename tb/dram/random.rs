//! Random requests to random DRAM controllers. The requests use few rows and columns, so that row hits, row
//! conflicts and equal addresses are common.

use rtl::dram::config::{CommandBus, DramConfig, DramTiming, Refresh, WriteDrain};
use rtl::dram::message::DramRequest;
use rtl::dram::policy::PolicyConfig;
use rtl::dram::policy::atlas::AtlasConfig;
use rtl::dram::policy::bliss::BlissConfig;
use rtl::dram::policy::fcfs::Fcfs;
use rtl::dram::policy::fr_fcfs::FrFcfs;
use rtl::dram::policy::par_bs::ParBsConfig;

use super::bench::{NUM_SMS, TimedRequest, preset, reference};
use super::mapping::mapping;
use crate::kit::{Random, Stall};

/// Random test case: a controller configuration, requests to the controller, and stalls of the reply sink.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub config: DramConfig,
    pub offers: Vec<TimedRequest>,
    pub sink: Stall,
}

impl Case {
    /// Generates the random test case of a seed, with the given number of requests. For the same seed, a
    /// case with more requests begins with the requests of a case with fewer.
    pub fn draw(seed: u64, requests: usize) -> Self {
        let mut random = Random::new(seed);
        let config = config(&mut random);
        let sink = match random.below(3) {
            0 => Stall::Never,
            1 => Stall::Random { seed, percent: 30, longest: 10 },
            _ => Stall::Random { seed, percent: 90, longest: 60 },
        };
        let mut cycle = 0;
        let offers = (0..requests).map(|_| {
            // Most requests follow the previous one without a pause. Some pauses are so long that the
            // simulator stops evaluating the idle channel.
            cycle += match random.below(10) {
                0..6 => 0,
                6..9 => 1 + random.below(7),
                _ => 20 + random.below(380),
            };
            TimedRequest { cycle, request: request(&mut random) }
        });
        Self { config, offers: offers.collect(), sink }
    }
}

fn request(random: &mut Random) -> DramRequest {
    let write = random.percent(50);
    let (row, bank, column) = (random.below(3), random.below(16), random.below(4));
    let (mask, fill) = (random.below(u64::MAX), random.below(256) as u8);
    DramRequest {
        write,
        burst: row << 10 | bank << 6 | column,
        requester: (mask % u64::from(NUM_SMS + 1)) as u16,
        byte_mask: if write { mask } else { 0 },
        data: std::array::from_fn(|i| if write { fill.wrapping_add(i as u8) } else { 0 }),
        ..DramRequest::default()
    }
}

fn one_of<T: Copy>(random: &mut Random, choices: &[T]) -> T {
    choices[random.below(choices.len() as u64) as usize]
}

fn config(random: &mut Random) -> DramConfig {
    let device = if random.percent(50) { reference() } else { preset("hbm2") };
    let queue_entries = one_of(random, &[1, 3, 16]);
    let mut config = DramConfig {
        command_bus: one_of(random, &[CommandBus::Single, CommandBus::Dual]),
        policy: policy(random),
        queue_entries,
        reply_entries: one_of(random, &[1, 4, 16]),
        mapping: mapping(random, &device),
        write_drain: write_drain(random, queue_entries),
        ..device
    };
    // Selects at random one of four kinds of timing: the timing of the device, long activate windows that
    // delay ACTs, long distances within a bank group, or random distances that no real device has.
    let t = &mut config.timing;
    match random.below(4) {
        0 => {}
        1 => (t.faw, t.aw32) = (40, 400),
        2 => (t.rrd_l, t.wtr_l, t.ppd) = (9, 8, 5),
        _ => *t = distances(random, *t),
    }
    config.refresh = Refresh::Off;
    if random.percent(67) {
        config.refresh = Refresh::AllBank;
        let busy = t.refresh_busy() as u32;
        t.refi = one_of(random, &[busy + 1, 300, 3604]).max(busy + 1);
    }
    config
}

/// Generates a random arbitration policy.
fn policy(random: &mut Random) -> PolicyConfig {
    match random.below(8) {
        0 | 1 => Fcfs {}.into(),
        2 => BlissConfig { threshold: one_of(random, &[0, 4]), interval: 1000 }.into(),
        3 => AtlasConfig { quantum: 500, starvation: 200, decay: 3 }.into(),
        4 => ParBsConfig { marking_cap: one_of(random, &[1, 5]) }.into(),
        _ => FrFcfs { hit_cap: one_of(random, &[0, 1, 4, 16]) }.into(),
    }
}

/// Randomly selects either no write drain, or a write drain with random watermarks that fit the queue.
fn write_drain(random: &mut Random, queue_entries: u32) -> WriteDrain {
    if random.percent(50) {
        return WriteDrain::None;
    }
    let high = 1 + random.below(queue_entries.into()) as u32;
    let idle = if random.percent(50) { 0 } else { 1 + random.below(39) as u32 };
    WriteDrain::Watermarks { high, low: random.below(high.into()) as u32, idle }
}

/// Generates random timing distances that are legal in combination. Some are very short. Others never delay a
/// command, because another distance is always longer.
pub(crate) fn distances(random: &mut Random, device: DramTiming) -> DramTiming {
    let mut up_to = |most: u64| 1 + random.below(most) as u32;
    let [burst, rrd_s, wtr_s] = [up_to(8), up_to(10), up_to(10)];
    let [rcd_rd, rcd_wr, rp, rtp] = [up_to(20), up_to(20), up_to(20), up_to(20)];
    let ccd_s = burst + up_to(6) - 1;
    let rrd_l = rrd_s + up_to(6) - 1;
    let ras = (rcd_rd + rtp - 1).max(rcd_wr) + up_to(30) - 1;
    let rc = (ras + rp - 1).max(rrd_l) + up_to(20) - 1;
    let faw = 4 * rrd_s - 3 + up_to(40) - 1;
    DramTiming {
        cl: up_to(20),
        wl: up_to(20),
        burst,
        rcd_rd,
        rcd_wr,
        rp,
        ras,
        rc,
        rrd_s,
        rrd_l,
        faw,
        aw32: 8 * faw - 7 + up_to(200) - 1,
        ccd_s,
        ccd_l: ccd_s + up_to(6) - 1,
        rtp,
        wr: up_to(20),
        wtr_s,
        wtr_l: wtr_s + up_to(6) - 1,
        ppd: up_to(10),
        rfc: rc + up_to(100) - 1,
        ..device
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rtl::config::Rules;
    use rtl::dram::command::CommandKind;
    use rtl::kernel::Mode;

    use super::*;
    use crate::dram::bench::{Run, run, run_checked};
    use crate::dram::policies::judge;

    #[test]
    fn every_controller_drawn_is_legal() {
        for seed in 0..1000 {
            let mut rules = Rules::default();
            Case::draw(seed, 0).config.validate(&mut rules);
            assert_eq!(rules.into_violations(), [], "seed {seed}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_read_brings_the_bytes_of_the_writes_before_it_and_every_command_is_the_required_one(
            seed: u64, requests in 1usize..250,
        ) {
            let Case { config, offers, sink } = Case::draw(seed, requests);
            let run = run_checked(&config, &offers, sink);
            prop_assert_eq!(judge(&config, &config.policy, &run), Ok(None));
            let Run { counts, accepted, commands, .. } = run;
            prop_assert_eq!(accepted.len(), offers.len());
            prop_assert_eq!(counts.reads + counts.writes, offers.len() as u64);
            prop_assert_eq!(counts.bytes, u64::from(config.burst_bytes()) * offers.len() as u64);
            use CommandKind::{Act, Pre, Rd, Ref, Wr};
            let shown = [Act, Pre, Rd, Wr, Ref].map(|kind| commands.iter().filter(|shown| shown.kind == kind).count() as u64);
            prop_assert_eq!(shown, [counts.activates, counts.precharges, counts.reads, counts.writes, counts.refreshes]);
        }

        #[test]
        fn a_channel_that_sleeps_is_the_same_as_one_that_never_does_in_any_order(
            seed: u64, requests in 1usize..250,
        ) {
            let Case { config, offers, sink } = Case::draw(seed, requests);
            let digest = Mode { digest: true, ..Mode::default() };
            let asleep = run(&config, &offers, sink.clone(), digest);
            let awake = run(&config, &offers, sink.clone(), Mode { evaluate_all: true, ..digest });
            let shuffled = run(&config, &offers, sink.clone(), Mode { lint: true, shuffle: Some(seed), ..digest });
            for other in [awake, shuffled] {
                prop_assert_eq!(&asleep.commands, &other.commands);
                prop_assert_eq!((&asleep.accepted, &asleep.replies), (&other.accepted, &other.replies));
                prop_assert_eq!((asleep.counts, asleep.cycles), (other.counts, other.cycles));
                prop_assert_eq!(asleep.digests, other.digests);
            }
        }
    }
}
