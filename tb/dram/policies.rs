//! Compares the choices of a DRAM channel with those of the golden model of its arbitration policy, on random
//! traffic of several SMs. Each time the channel selects a request, the golden model must select the same one.
//! Crates with a policy of their own use [`find_difference`].

use rtl::dram::config::{CommandBus, DramConfig, Refresh, WriteDrain};
use rtl::dram::policy::PolicyConfig;
use warpsieve::check::dram::ChoiceLockstep;

use super::bench::{NUM_SMS, Run, TimedRequest, offer, preset, reference, run_checked};
use crate::kit::{Random, Stall};

/// Sends `requests` random requests of several SMs to a channel with the arbitration policy `policy`. Compares
/// each choice of the channel with that of the policy's golden model, and returns an explanation of the first
/// choice that differs, or `None`.
///
/// # Errors
/// Returns an error if the policy has no golden model.
pub fn find_difference(policy: &PolicyConfig, seed: u64, requests: usize) -> Result<Option<String>, String> {
    let random = &mut Random::new(seed);
    let config = channel(random, policy.clone());
    let offers = traffic(random, requests);
    let sink = match random.below(3) {
        0 => Stall::Random { seed, percent: 60, longest: 40 },
        _ => Stall::Never,
    };
    let run = run_checked(&config, &offers, sink);
    judge(&config, policy, &run)
}

/// Returns a random channel configuration, with or without refresh and write drain.
fn channel(random: &mut Random, policy: PolicyConfig) -> DramConfig {
    let queue_entries = [3, 16, 64][random.below(3) as usize];
    let high = 1 + random.below(u64::from(queue_entries)) as u32;
    let device = if random.percent(50) { reference() } else { preset("hbm2") };
    let mut config = DramConfig {
        policy,
        queue_entries,
        reply_entries: [1, 8, 256][random.below(3) as usize],
        refresh: [Refresh::Off, Refresh::AllBank][random.below(2) as usize],
        write_drain: match random.below(2) {
            0 => WriteDrain::None,
            _ => WriteDrain::Watermarks { high, low: high / 2, idle: random.below(50) as u32 },
        },
        command_bus: [CommandBus::Single, CommandBus::Dual][random.below(2) as usize],
        ..device
    };
    // Short runs must include refreshes.
    config.timing.refi = config.timing.refi.min(config.timing.refresh_busy() as u32 + 300);
    config
}

/// Compares the choices of the channel with those of the golden model under `policy`. Returns an explanation
/// of the first choice that differs, or `None`; an error if the policy has no golden model.
pub(crate) fn judge(config: &DramConfig, policy: &PolicyConfig, run: &Run) -> Result<Option<String>, String> {
    let expected = DramConfig { policy: policy.clone(), ..config.clone() };
    let mut twin = ChoiceLockstep::new(&expected, NUM_SMS)?;
    Ok(twin.step(&run.events).and_then(|()| twin.finish(run.cycles)).err())
}

/// Returns random requests of all SMs. Most requests follow the previous request without a pause, so that the
/// queue fills.
fn traffic(random: &mut Random, requests: usize) -> Vec<TimedRequest> {
    let mut cycle = 0;
    let mut step = |_| {
        if random.percent(20) {
            cycle += random.below(60);
        }
        // Some SMs send far more requests than others, and most requests of an SM go to one row.
        let requester = (random.below(36) as f64).sqrt() as u64;
        let row = if random.percent(80) { requester % 3 } else { random.below(3) };
        let (bank, column) = (random.below(3), random.below(8));
        let mut timed = offer(cycle, random.percent(30), (row << 10 | bank << 6 | column) * 64);
        timed.request.requester = requester as u16;
        timed
    };
    (0..requests).map(&mut step).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rtl::dram::policy::atlas::AtlasConfig;
    use rtl::dram::policy::bliss::BlissConfig;
    use rtl::dram::policy::fcfs::Fcfs;
    use rtl::dram::policy::fr_fcfs::FrFcfs;
    use rtl::dram::policy::par_bs::ParBsConfig;
    use rtl::dram::policy::{ChannelSize, Hooks, Order, Scheme, WaitingRequest};
    use rtl::kernel::Mode;
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::dram::bench::run;
    use crate::dram::random::Case;

    /// Generates a random arbitration policy, with parameters that take effect in short runs.
    fn draw(random: &mut Random) -> PolicyConfig {
        let quantum = [100, 317, 1000][random.below(3) as usize];
        match random.below(5) {
            0 => Fcfs {}.into(),
            1 => FrFcfs { hit_cap: random.below(5) as u32 }.into(),
            2 => BlissConfig { threshold: random.below(5) as u32, interval: quantum }.into(),
            3 => AtlasConfig {
                quantum,
                starvation: [100, 5000][random.below(2) as usize],
                decay: random.below(4) as u32,
            }
            .into(),
            _ => ParBsConfig { marking_cap: 1 + random.below(5) as u32 }.into(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn each_choice_is_that_of_the_twin(seed: u64, requests in 1usize..250) {
            let policy = draw(&mut Random::new(seed));
            prop_assert_eq!(find_difference(&policy, seed, requests), Ok(None), "{:?}", policy);
        }

        /// Checks that FR-FCFS and a ranked policy that prefers row hits give the same commands. The two
        /// arbiters are separate implementations, so each checks the other. The runs include refresh, write
        /// drain and stalls.
        #[test]
        fn row_hits_ranked_first_give_the_commands_of_fr_fcfs(seed: u64, requests in 1usize..250) {
            let Case { config, offers, sink } = Case::draw(seed, requests);
            let commands = [FrFcfs { hit_cap: 0 }.into(), PolicyConfig::from(HitsFirst {})].map(|policy| {
                let config = DramConfig { policy, ..config.clone() };
                run(&config, &offers, sink.clone(), Mode::default()).commands
            });
            prop_assert_eq!(&commands[0], &commands[1]);
        }
    }

    /// FR-FCFS as a ranked policy, for comparison with the channel's own FR-FCFS arbiter.
    #[derive(Clone, Copy, Debug, Serialize, Deserialize)]
    struct HitsFirst {}

    #[typetag::serde(name = "test-hits-first")]
    impl Scheme for HitsFirst {
        fn order(&self, _size: &ChannelSize) -> Order {
            Order::Ranked(Box::new(*self))
        }
    }

    #[typetag::serde]
    impl Hooks for HitsFirst {
        fn rank(&self, request: &WaitingRequest) -> u64 {
            request.is_hit.into()
        }
    }

    /// Checks that the comparison with the golden model detects a channel whose policy differs from that of the
    /// model in one parameter.
    #[test]
    fn a_policy_with_any_mistake_is_caught_by_its_twin() {
        let bliss = BlissConfig { threshold: 4, interval: 1000 };
        let atlas = AtlasConfig { quantum: 400, starvation: 300, decay: 3 };
        let mistakes: [(PolicyConfig, PolicyConfig); 9] = [
            (bliss.into(), BlissConfig { threshold: 3, ..bliss }.into()),
            (bliss.into(), BlissConfig { interval: 1001, ..bliss }.into()),
            (atlas.into(), AtlasConfig { quantum: 401, ..atlas }.into()),
            (atlas.into(), AtlasConfig { starvation: 301, ..atlas }.into()),
            (atlas.into(), AtlasConfig { decay: 0, ..atlas }.into()),
            (ParBsConfig { marking_cap: 5 }.into(), ParBsConfig { marking_cap: 4 }.into()),
            (FrFcfs { hit_cap: 4 }.into(), FrFcfs { hit_cap: 5 }.into()),
            (FrFcfs { hit_cap: 0 }.into(), bliss.into()),
            (Fcfs {}.into(), FrFcfs { hit_cap: 1 }.into()),
        ];
        for (right, wrong) in mistakes {
            let is_caught = |seed| {
                let random = &mut Random::new(seed);
                let drawn = channel(random, wrong.clone());
                let config = DramConfig { queue_entries: 16, write_drain: WriteDrain::None, ..drawn };
                let offers = traffic(random, 400);
                let run = run(&config, &offers, Stall::Never, Mode::default());
                judge(&config, &right, &run).unwrap().is_some()
            };
            assert!((0..20).any(is_caught), "{wrong:?} passes for {right:?}");
        }
    }

    /// Checks BLISS: an SM that streams over one DRAM row delays a request of another SM to another row of
    /// the same bank. With the threshold of the paper, the streaming SM is blacklisted after six consecutive
    /// requests.
    #[test]
    fn bliss_serves_the_other_sm_after_six_requests_of_a_stream() {
        let mut offers: Vec<TimedRequest> = (0..100).map(|i| offer(0, false, i % 64 * 64)).collect();
        offers.iter_mut().for_each(|timed| timed.request.requester = 1);
        let mut other = offer(0, false, 1 << 16);
        other.request.requester = 2;
        offers.insert(1, other);
        let before = [FrFcfs { hit_cap: 0 }.into(), PolicyConfig::from(BlissConfig::default())].map(|policy| {
            let run = run_checked(&DramConfig { policy, ..reference() }, &offers, Stall::Never);
            let columns = run.commands.iter().filter(|command| command.kind.is_column());
            columns.take_while(|command| command.id != 1).count()
        });
        assert_eq!(before, [100, 6]);
    }
}
