//! Tests that a throttling scheme can be defined outside the simulator. The scheme lets two groups of warps
//! issue alternately. The test runs a machine with this scheme.

use std::path::Path;

use rtl::config::Rules;
use rtl::kernel::Mode;
use rtl::sm::StallReason;
use rtl::throttle::message::Miss;
use rtl::throttle::{CorePlace, CycleState, Hooks, IssueLimit, Scheme};
use serde::{Deserialize, Serialize};
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::run::{Outcome, RunOptions, RunReport, Verdict, run};

/// Throttling scheme: once a core has had a number of misses, only one half of its warps may issue at a time,
/// and the two halves alternate.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TurnsConfig {
    /// Number of cycles for which each half of the warps may issue.
    turn: u32,
    /// Number of misses that a core must have before the two halves of its warps alternate.
    misses: u32,
}

impl Default for TurnsConfig {
    fn default() -> Self {
        Self { turn: 50, misses: 4 }
    }
}

#[typetag::serde(name = "turns")]
impl Scheme for TurnsConfig {
    fn core(&self, _place: &CorePlace<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Turns { config: self.clone(), misses: 0, decided: 0 }))
    }

    fn validate(&self, _num_sms: u32, rules: &mut Rules) {
        rules.range("turn", u64::from(self.turn), 2..=1000, "a turn of one cycle has no effect");
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Turns {
    config: TurnsConfig,
    misses: u32,
    /// Cycle up to which the scheme has computed the set of warps that may issue.
    decided: u64,
}

#[typetag::serde]
impl Hooks for Turns {
    fn on_miss(&mut self, _miss: Miss, _cycle: u64, _live: u64) {
        self.misses += 1;
    }

    fn admit(&mut self, seen: &CycleState) -> IssueLimit {
        self.decided = seen.cycle + 1;
        let is_odd = self.decided / u64::from(self.config.turn) % 2 == 1;
        IssueLimit::Issue(match self.misses < self.config.misses {
            true => u64::MAX,
            false if is_odd => 0xcccc_cccc_cccc_cccc,
            false => 0x3333_3333_3333_3333,
        })
    }

    /// Returns the cycle in which the set of warps that may issue must next be recomputed. It is the last
    /// cycle before the set changes.
    fn due(&self) -> Option<u64> {
        let turn = u64::from(self.config.turn);
        Some((self.decided / turn + 1) * turn - 1)
    }

    fn end_kernel(&mut self, _cycle: u64) {
        self.misses = 0;
    }
}

fn resolve(sets: &[&str]) -> Result<ResolvedMachine, String> {
    let sets = sets.iter().map(|&set| set.to_owned()).collect();
    let request = Request { machine: "fermi".to_owned(), designs: Vec::new(), sets };
    ResolvedMachine::new(&request).map_err(|error| error.lines().join("\n"))
}

/// Runs a small kernel with every check enabled. Returns the report, and the number of scheduler cycles in
/// which throttling prevented an issue.
fn run_checked(kernel: &str, sets: &[&str], mode: Mode) -> (RunReport, u64) {
    let launch = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../kernels/{kernel}/small"));
    let options = RunOptions { check: true, mode, ..RunOptions::default() };
    let report = run(&launch, &resolve(sets).unwrap().config, &options, &mut |_| ()).unwrap();
    assert_eq!((&report.outcome, &report.verdict), (&Outcome::Finished, &Verdict::Passed), "{kernel}");
    let held = report.counters.slots().of(StallReason::Throttled);
    (report, held)
}

#[test]
fn a_scheme_from_outside_holds_warps_back_and_every_check_passes() {
    for kernel in ["vadd", "syrk"] {
        let (_, free) = run_checked(kernel, &[], Mode::default());
        let (_, held) = run_checked(kernel, &["throttle.kind=turns"], Mode::default());
        assert!(free == 0 && held > 0, "{kernel}: {free} and {held}");
    }
}

#[test]
fn what_it_sees_does_not_depend_on_who_is_evaluated() {
    let run = |mode| run_checked("vadd", &["throttle.kind=turns", "throttle.turn=37"], mode).0.counters;
    assert!(run(Mode::default()) == run(Mode { evaluate_all: true, ..Mode::default() }));
}

#[test]
fn its_keys_are_judged_like_any_other() {
    let refused = |sets| resolve(sets).err().unwrap();
    let text = refused(&["throttle.kind=turns", "throttle.turn=1"]);
    assert!(text.contains("throttle.turn is 1, expected 2 to 1000: a turn of one cycle has no effect"), "{text}");
    let text = refused(&["throttle.kind=turns", "sm.warp_limit=2"]);
    assert!(text.contains("throttle is turns, expected none while `sm.warp_limit` is not 0"), "{text}");
}
