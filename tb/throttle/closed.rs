//! Tests of the messages that an L1D sends to its core's warp throttle while the streaming monitor keeps the
//! L1D closed (loads bypass it).

use rtl::cells::streaming::StreamingConfig;
use rtl::kernel::{BlockId, Chan, Edge, Wake, link};
use rtl::l1::access::{AccessKind, WarpAccess};
use rtl::l1::config::{CacheConfig, L1Config, LsuConfig};
use rtl::l1::lsu::Lsu;
use rtl::noc::packet::{Reply, ReplyKind};
use rtl::replacement::lru::Lru;
use rtl::throttle::ThrottleConfig;
use rtl::throttle::dwt_cs::DwtConfig;
use rtl::throttle::message::{Miss, PeriodEnd};
use rtl::throttle::side::L1Side;

use crate::l1::rig::{self, Links};

/// Number of cycles from one load to the next.
const PAUSE: u64 = 20;

/// Testbench: an LSU under dynamic warp throttling via cores sampling (DWT-CS). Its links carry messages
/// about misses and about the ends of monitoring periods.
struct Bench {
    lsu: Lsu,
    links: Links,
    misses: Chan<Miss>,
    periods: Chan<PeriodEnd>,
    wake: Wake,
    cycle: u64,
}

impl Bench {
    fn new() -> Self {
        let streaming = StreamingConfig { miss_percent: 90, ..rig::STREAMING };
        let l1 = L1Config { sets: 4, bypass: streaming.into(), ..rig::l1() };
        let throttle = ThrottleConfig::from(DwtConfig::KHAIRY2015);
        let others = CacheConfig {
            sets: 1,
            ways: 2,
            mshr_entries: 2,
            mshr_merges: 2,
            index: l1.index.clone(),
            replacement: Lru {}.into(),
        };
        let lsu = LsuConfig { slots: 4, access_queue: 4, request_latency: 1, reply_latency: 1 };
        let mut lsu = rig::lsu(&l1, [&others; 2], &lsu);
        lsu.set_throttle(&throttle, &l1, 48);
        let block = |slot| BlockId { domain: 0, slot };
        let (core, l1) = (block(0), block(1));
        Self {
            lsu,
            links: Links::new(4, [1, 1], 128),
            misses: link("sm3.core.misses", 2, &[1], l1, core, ()),
            periods: link("sm3.l1.periods", 2, &[1], core, l1, ()),
            wake: Wake::new(&[1, 1]),
            cycle: 0,
        }
    }

    /// Loads lines one after another. Returns two flags for each load. The first is true if the core was
    /// notified of a miss, and the second is true if the load bypassed the L1D.
    fn load(&mut self, lines: &[u64]) -> Vec<(bool, bool)> {
        lines.iter().map(|line| self.load_one(*line)).collect()
    }

    fn load_one(&mut self, line: u64) -> (bool, bool) {
        let before = self.lsu.stats().bypasses;
        let mut missed = false;
        for step in 0..PAUSE {
            let at = &mut Edge::new(self.cycle, self.cycle, &mut self.wake);
            if step == 0 {
                let access = WarpAccess {
                    kind: AccessKind::Load,
                    mask: 1,
                    size_log2: 2,
                    address: [line * 128; 32],
                    ..WarpAccess::default()
                };
                self.links.core_req.tx().push(at, access);
            }
            if self.links.mem_req.rx().peek(at).is_some() {
                let request = self.links.mem_req.rx().pop(at);
                let reply = Reply { kind: ReplyKind::Data, line, sm: 3, ticket: request.ticket, ..Reply::default() };
                self.links.mem_rsp.tx().push(at, reply);
            }
            if self.links.core_rsp.rx().peek(at).is_some() {
                self.links.core_rsp.rx().pop(at);
            }
            let side = L1Side { misses: self.misses.tx(), periods: Some(self.periods.rx()) };
            self.lsu.eval_throttled(self.links.of_lsu(), side, at);
            if self.misses.rx().peek(at).is_some() {
                missed |= !self.misses.rx().pop(at).lost;
            }
            self.cycle += 1;
        }
        (missed, self.lsu.stats().bypasses > before)
    }

    fn end_period(&mut self, may_close: bool) {
        let at = &mut Edge::new(self.cycle, self.cycle, &mut self.wake);
        self.periods.tx().push(at, PeriodEnd { may_close });
        self.cycle += 1;
    }
}

#[test]
fn the_core_hears_of_misses_of_a_closed_cache_which_opens_if_they_are_no_streams() {
    let mut bench = Bench::new();
    assert_eq!(
        bench.load(&[0, 1, 2, 3, 0]),
        [(true, false), (true, false), (true, false), (true, false), (false, false)]
    );
    bench.end_period(true);
    // Four of the five loads missed. This miss rate is not above the bound of 90 percent, so the L1D stays
    // open.
    assert_eq!(bench.load(&[4, 5, 6, 7]), [(true, false); 4]);
    bench.end_period(true);
    assert_eq!(bench.load(&[8, 9, 10, 11, 8]), [(true, true), (true, true), (true, true), (true, true), (false, true)]);
    bench.end_period(false);
    // While the L1D was closed, line 8 got a tag but no data. The first load of this line after the L1D has
    // reopened therefore misses.
    assert_eq!(bench.load(&[8, 8, 12]), [(true, false), (false, false), (true, false)]);
}
