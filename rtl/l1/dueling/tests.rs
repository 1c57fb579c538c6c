use super::*;
use crate::kernel::{BlockId, Chan, ChanSpec, Wake};

const OWN: BlockId = BlockId { domain: 0, slot: 0 };
const PINNED: DuelingConfig = DuelingConfig { leaders: Leaders::Pinned, min_accesses: 1, ..DuelingConfig::OFF };

struct Bench {
    block: Dueling,
    seen: Vec<Chan<LoadReport>>,
    mode: Vec<Chan<Mode>>,
    wake: Wake,
}

fn links<T: Payload<Shape = ()>>(count: usize) -> Vec<Chan<T>> {
    let spec = |i| ChanSpec { path: format!("link{i}"), depth: 2, latency: 1, credit: 1, from: OWN, to: OWN };
    (0..count).map(|i| Chan::new(spec(i), ())).collect()
}

impl Bench {
    fn new(config: DuelingConfig) -> Self {
        Self { block: Dueling::new(config, 4), seen: links(LEADERS), mode: links(4), wake: Wake::new(&[1]) }
    }

    /// Runs one interval, in which each leader reports the given number of `(misses, accesses)`, one access
    /// per cycle. Then runs the clock edge that ends the interval. Returns `(sm, original)` for each SM that
    /// received a new mode.
    fn interval(&mut self, number: u64, leaders: [(u32, u32); LEADERS]) -> Vec<(usize, bool)> {
        let mut sent = Vec::new();
        for cycle in number * 500 + 1..=(number + 1) * 500 + 1 {
            let at = &mut Edge::new(cycle, cycle, &mut self.wake);
            let nth = (cycle - number * 500 - 1) as u32;
            for (link, (misses, accesses)) in self.seen.iter_mut().zip(leaders) {
                if nth < accesses {
                    link.tx().push(at, LoadReport { missed: nth < misses });
                }
            }
            for (sm, mode) in self.mode.iter_mut().enumerate() {
                if let Some(&Mode { original }) = mode.rx().peek(at) {
                    mode.rx().drop_head(at);
                    assert_eq!(cycle, (number + 1) * 500 + 1);
                    sent.push((sm, original));
                }
            }
            let io = DuelingIo { seen: RxBank::of(&mut self.seen), mode: TxBank::of(&mut self.mode) };
            self.block.eval(io, at);
        }
        sent
    }
}

fn wins(margin_of: MarginOf, [m0, a0, m1, a1]: [u32; 4]) -> bool {
    let tally = |misses, accesses| Tally { accesses, misses };
    DuelingConfig { margin_of, ..PINNED }.original_wins([tally(m0, a0), tally(m1, a1)])
}

#[test]
fn two_leaders_that_miss_nearly_always_leave_the_decoupled_l1d() {
    for of in [MarginOf::Points, MarginOf::Misses] {
        assert!(!wins(of, [396, 400, 394, 400]));
    }
}

#[test]
fn fifteen_points_bring_the_original_mode_back() {
    // The margin is 10. The leader with the decoupled L1D misses 150 of 200 loads (75 %), the leader in the
    // original mode 180 of 300 (60 %). The original mode wins in both cases: the difference of 15 percentage
    // points is more than 10, and the relative difference of 25 % (15 / 60) is more than 10 %.
    for of in [MarginOf::Points, MarginOf::Misses] {
        assert!(wins(of, [150, 200, 180, 300]));
    }
}

#[test]
fn ten_points_exactly_do_not() {
    assert!(!wins(MarginOf::Points, [70, 100, 60, 100]));
    assert!(wins(MarginOf::Points, [71, 100, 60, 100]));
}

#[test]
fn a_kernel_that_seldom_misses_goes_back_when_it_misses_a_tenth_more_often() {
    assert!(!wins(MarginOf::Misses, [66, 400, 60, 400]));
    assert!(wins(MarginOf::Misses, [67, 400, 60, 400]));
    assert!(wins(MarginOf::Misses, [1, 400, 0, 400]));
    assert!(!wins(MarginOf::Misses, [0, 400, 0, 400]));
    // The miss rates of the leaders, 15 % and 5 %, differ by exactly ten percentage points. The original mode
    // does not win, because a difference equal to the margin is not enough.
    assert!(!wins(MarginOf::Points, [60, 400, 20, 400]));
    assert!(wins(MarginOf::Misses, [60, 400, 20, 400]));
}

#[test]
fn followers_switch_after_each_interval_and_pinned_leaders_never() {
    let mut bench = Bench::new(PINNED);
    assert_eq!(bench.interval(0, [(99, 100), (99, 100)]), [(2, false), (3, false)]);
    assert_eq!(bench.interval(1, [(99, 100), (99, 100)]), []);
    assert_eq!(bench.interval(2, [(99, 100), (50, 100)]), [(2, true), (3, true)]);
}

#[test]
fn with_join_once_the_first_decision_holds_for_all_and_is_the_last() {
    let mut bench = Bench::new(DuelingConfig { leaders: Leaders::JoinOnce, ..PINNED });
    assert_eq!(bench.interval(0, [(99, 100), (99, 100)]), [(1, false), (2, false), (3, false)]);
    assert_eq!(bench.interval(1, [(99, 100), (0, 100)]), []);
    bench.block.restart();
    assert_eq!(bench.interval(2, [(99, 100), (0, 100)]), [(0, true)]);
}

#[test]
fn an_interval_with_too_few_accesses_leaves_the_modes() {
    let mut bench = Bench::new(DuelingConfig { min_accesses: 16, ..PINNED });
    assert_eq!(bench.interval(0, [(15, 15), (99, 100)]), []);
    assert_eq!(bench.interval(1, [(99, 100), (0, 0)]), []);
    assert_eq!(bench.interval(2, [(16, 16), (16, 16)]), [(2, false), (3, false)]);
}

#[test]
fn it_sleeps_until_the_interval_of_an_access_ends() {
    let mut bench = Bench::new(PINNED);
    let eval = |bench: &mut Bench, cycle| {
        let io = DuelingIo { seen: RxBank::of(&mut bench.seen), mode: TxBank::of(&mut bench.mode) };
        bench.block.eval(io, &mut Edge::new(cycle, cycle, &mut bench.wake))
    };
    assert_eq!(eval(&mut bench, 7), Sleep::UntilEvent);
    bench.seen[0].tx().push(&mut Edge::new(1234, 1234, &mut bench.wake), LoadReport { missed: true });
    assert_eq!(eval(&mut bench, 1235), Sleep::At(1500));
    assert_eq!(eval(&mut bench, 1500), Sleep::UntilEvent);
}

#[test]
fn a_machine_needs_two_leaders() {
    assert!(std::panic::catch_unwind(|| Dueling::new(PINNED, 1)).is_err());
}

#[test]
fn an_interval_that_can_never_have_enough_accesses_is_refused() {
    let mut rules = Rules::default();
    DuelingConfig { interval: 10, ..DuelingConfig::OFF }.validate(&mut rules);
    let found: Vec<String> = rules.into_violations().iter().map(ToString::to_string).collect();
    assert_eq!(found, ["min_accesses is 16, expected 1 to 10: there is at most one access per cycle"]);
}
