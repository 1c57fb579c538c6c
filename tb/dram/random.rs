//! Random traffic on few rows and columns, so that hits, conflicts and equal addresses are common.

use proptest::collection::vec;
use proptest::prelude::*;
use rtl::dram::command::CommandKind;
use rtl::dram::config::{AddressMapping, CommandBus, DramConfig, GroupBits, Policy, Refresh, WriteDrain};
use rtl::dram::message::DramRequest;
use rtl::kernel::Mode;

use super::bench::{Offer, Run, preset, reference, run, run_checked};
use crate::kit::Stall;

fn request() -> impl Strategy<Value = DramRequest> {
    let place = (0u64..3, 0u64..16, 0u64..4);
    (any::<bool>(), place, any::<u64>(), any::<u8>()).prop_map(|(write, (row, bank, column), mask, fill)| DramRequest {
        write,
        burst: row << 10 | bank << 6 | column,
        byte_mask: if write { mask } else { 0 },
        data: std::array::from_fn(|i| if write { fill.wrapping_add(i as u8) } else { 0 }),
        ..DramRequest::default()
    })
}

/// Requests with pauses between them: mostly none, sometimes long enough to fall asleep.
pub(super) fn traffic() -> impl Strategy<Value = Vec<Offer>> {
    let pause = prop_oneof![6 => Just(0u64), 3 => 1u64..8, 1 => 20u64..400];
    vec((pause, request()), 1..250).prop_map(|requests| {
        let mut cycle = 0;
        let at = |(pause, request)| {
            cycle += pause;
            Offer { cycle, request }
        };
        requests.into_iter().map(at).collect()
    })
}

pub(super) fn config() -> impl Strategy<Value = DramConfig> {
    let policy = prop_oneof![3 => Just(Policy::FrFcfs), 1 => Just(Policy::Fcfs)];
    let cap = prop_oneof![Just(0u32), Just(1), Just(4), Just(16)];
    let refresh = prop_oneof![Just(None), Just(Some(300u32)), Just(Some(3604))];
    let sizes = (prop_oneof![Just(1u32), Just(3), Just(16)], prop_oneof![Just(1u32), Just(4), Just(16)]);
    (policy, cap, refresh, sizes, mapping(), any::<bool>(), (device(), timing_change())).prop_flat_map(
        |(policy, hit_cap, refi, (queue, replies), (mapping, group_bits), gathers, (device, change))| {
            drain(queue, gathers).prop_map(move |write_drain| {
                let mut config = DramConfig {
                    policy,
                    hit_cap,
                    queue_entries: queue,
                    reply_entries: replies,
                    mapping,
                    group_bits,
                    write_drain,
                    ..device.clone()
                };
                if let Some(refi) = refi {
                    config.refresh = Refresh::AllBank;
                    config.timing.refi = refi;
                }
                // Windows that bind, and groups that differ.
                match change {
                    1 => (config.timing.faw, config.timing.aw32) = (40, 400),
                    2 => (config.timing.rrd_l, config.timing.wtr_l, config.timing.ppd) = (9, 8, 5),
                    _ => {}
                }
                config
            })
        },
    )
}

/// GDDR5 or HBM2, each on one command bus or on two.
fn device() -> impl Strategy<Value = DramConfig> {
    let bus = prop_oneof![Just(CommandBus::Single), Just(CommandBus::Dual)];
    let device = prop_oneof![Just(reference()), Just(preset("hbm2"))];
    (device, bus).prop_map(|(device, command_bus)| DramConfig { command_bus, ..device })
}

fn mapping() -> impl Strategy<Value = (AddressMapping, GroupBits)> {
    use AddressMapping::{Gtx480, PermutedBank, Qv100, RowBankColumn};
    let mapping = prop_oneof![Just(RowBankColumn), Just(Gtx480), Just(Qv100), Just(PermutedBank)];
    (mapping, prop_oneof![Just(GroupBits::Low), Just(GroupBits::High)])
}

/// No drain or one with any marks that a queue of this size can have.
fn drain(queue: u32, gathers: bool) -> impl Strategy<Value = WriteDrain> {
    let idle = prop_oneof![Just(0u32), 1u32..40];
    (1..=queue, 0u32..64, idle).prop_map(move |(high, low, idle)| match gathers {
        true => WriteDrain::Watermarks { high, low: low % high, idle },
        false => WriteDrain::None,
    })
}

fn timing_change() -> impl Strategy<Value = u32> {
    0u32..3
}

fn stall() -> impl Strategy<Value = Stall> {
    let random = |percent, longest| any::<u64>().prop_map(move |seed| Stall::Random { seed, percent, longest });
    prop_oneof![Just(Stall::Never), random(30, 10), random(90, 60)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_read_brings_the_bytes_of_the_writes_before_it_and_every_command_is_legal(
        config in config(), offers in traffic(), sink in stall(),
    ) {
        let Run { counts, accepted, commands, .. } = run_checked(&config, &offers, sink);
        prop_assert_eq!(accepted.len(), offers.len());
        prop_assert_eq!(counts.reads + counts.writes, offers.len() as u64);
        prop_assert_eq!(counts.bytes, u64::from(config.burst_bytes()) * offers.len() as u64);
        use CommandKind::{Act, Pre, Rd, Ref, Wr};
        let shown = [Act, Pre, Rd, Wr, Ref].map(|kind| commands.iter().filter(|shown| shown.kind == kind).count() as u64);
        prop_assert_eq!(shown, [counts.activates, counts.precharges, counts.reads, counts.writes, counts.refreshes]);
    }

    #[test]
    fn a_channel_that_sleeps_is_the_same_as_one_that_never_does_in_any_order(
        config in config(), offers in traffic(), sink in stall(), seed: u64,
    ) {
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
