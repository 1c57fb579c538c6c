//! # Testbench of the access queue and MRPB
//! Compares access queues with every drain order of MRPB with the golden model, cycle by cycle, under random
//! requests and refusals.
//!
//! | testpoint                                                                       | test                        |
//! |---------------------------------------------------------------------------------|-----------------------------|
//! | in every cycle the head, and the warps that have room, equal the golden model's | `the_head_of_every_cycle_*` |
//! | requests of a warp keep their order, and each is dequeued exactly once          | `the_head_of_every_cycle_*` |
//! | a buffer whose head may change without input does not sleep                     | `a_buffer_that_sleeps_*`    |

use golden::l1::mrpb::{Config, Mrpb, Order};
use proptest::prelude::*;
use rtl::l1::coalescer::LineShape;
use rtl::l1::mrpb::{AccessQueue, DrainOrder, MrpbConfig, StallBypass};
use rtl::replacement::priority::HintShape;

use super::rig::{line_bits, mix};

const ORDERS: [(DrainOrder, Order); 3] = [
    (DrainOrder::Fixed, Order::Fixed),
    (DrainOrder::RoundRobin, Order::RoundRobin),
    (DrainOrder::LongestFirst, Order::LongestFirst),
];

/// Creates an access queue and its golden model, with a configuration generated from `seed`.
fn buffers(seed: u64) -> (AccessQueue, Mrpb<u32>) {
    let pick = |n: u64, of: u64| mix(seed, n) % of;
    let (order, twin_order) = ORDERS[pick(0, 3) as usize];
    let (queues, depth) = ([2, 5, 48][pick(1, 3) as usize], 1 + pick(2, 4) as u32);
    let (greedy, latency) = (pick(3, 2) == 0, pick(4, 2));
    let config = MrpbConfig { queues, depth, order, greedy, bypass: StallBypass::None, latency: latency as u32 };
    let (groups, depth) = (queues as usize, depth as usize);
    let twin = Config { groups, depth, order: twin_order, greedy, delay: 1 + latency };
    (
        AccessQueue::new(
            "queue",
            8,
            1,
            &config,
            LineShape {
                line_bits: line_bits(128),
                line_bytes: 128,
                pc_bits: 0,
                judged: false,
                hints: HintShape::NONE,
                sectored: false,
                data_beside: false,
            },
        ),
        Mrpb::new(twin),
    )
}

/// Runs one cycle of the access queue and its golden model. Pops the head if `taken` is true, then pushes a
/// request if `warp` is given.
fn step((buffer, twin): &mut (AccessQueue, Mrpb<u32>), cycle: u64, taken: bool, warp: Option<u8>) -> Option<u32> {
    buffer.select(cycle);
    let head = buffer.front().map(|request| request.id);
    assert_eq!(head, twin.next(cycle), "cycle {cycle}");
    if head.is_some() && taken {
        buffer.drop_front();
        twin.dequeue();
    }
    if let Some(warp) = warp {
        let has_room = buffer.has_room(warp);
        assert_eq!(has_room, twin.has_room(warp.into()), "cycle {cycle}");
        if has_room {
            let id = cycle as u32;
            buffer.push_with(cycle, warp, |request| (request.id, request.warp) = (id, warp));
            twin.enqueue(cycle, warp.into(), id);
        }
    }
    head.filter(|_| taken)
}

proptest! {
    #[test]
    fn the_head_of_every_cycle_is_the_twins(seed: u64, pushes in 1u64..=8, takes in 1u64..=8) {
        let mut both = buffers(seed);
        let mut left = Vec::new();
        for cycle in 1..600 {
            let draw = |n: u64| mix(seed ^ cycle, n);
            let warp = (cycle < 400 && draw(0) % 8 < pushes).then(|| (draw(1) % 48) as u8);
            // From cycle 400 on, the head is popped in every cycle, so that the queue drains.
            let taken = draw(2) % 8 < takes || cycle >= 400;
            left.extend(step(&mut both, cycle, taken, warp));
        }
        prop_assert!(both.0.is_empty());
        let count = left.len();
        left.sort_unstable();
        left.dedup();
        prop_assert_eq!(left.len(), count);
    }

    #[test]
    fn a_buffer_that_sleeps_keeps_its_head(seed: u64) {
        let mut both = buffers(seed);
        for cycle in 1..200 {
            let draw = |n: u64| mix(seed ^ cycle, n);
            let warp = draw(0).is_multiple_of(2).then(|| (draw(1) % 48) as u8);
            let left = step(&mut both, cycle, draw(2).is_multiple_of(4), warp);
            let head = |buffer: &AccessQueue| buffer.front().map(|request| request.id);
            if left.is_none() && !both.0.head_may_change() {
                let mut later = both.0.clone();
                for wake in [cycle + 1, cycle + 40] {
                    later.select(wake);
                    prop_assert_eq!(head(&later), head(&both.0));
                }
            }
        }
    }
}
