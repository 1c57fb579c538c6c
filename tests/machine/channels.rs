//! Tests that checked runs compare the choices of every DRAM channel with the golden model of its policy.

use golden::dram::policy::{ChannelInfo, Scheme as TwinScheme, fr_fcfs};
use rtl::dram::policy::{ChannelSize, CommandKind};
use rtl::dram::policy::{Hooks, Order, Scheme, WaitingRequest};
use serde::{Deserialize, Serialize};
use warpsieve::run::{Outcome, RunReport, Verdict};

use super::{Setup, launch};

/// Settings for many DRAM requests: small caches, and few queue entries so that requests wait.
const MEMORY_BOUND: [&str; 2] = ["l1.sets=2", "l2.sets=4"];

/// Runs a kernel with a DRAM policy and further settings under `--check`.
fn run(kernel: &str, policy: &str, sets: &[&str]) -> RunReport {
    let policy = format!("dram.policy={policy}");
    Setup::run_checked().sets(&MEMORY_BOUND).sets(&[&policy]).sets(sets).run(&launch(kernel, "small"))
}

#[test]
fn every_policy_passes_with_refresh_write_drain_and_two_buses() {
    let policies = [
        "{ kind = \"fcfs\" }",
        "{ kind = \"fr-fcfs\", hit_cap = 2 }",
        "{ kind = \"bliss\", threshold = 2, interval = 500 }",
        "{ kind = \"atlas\", quantum = 700, starvation = 200, decay = 3 }",
        "{ kind = \"par-bs\", marking_cap = 2 }",
    ];
    let drain = "dram.write_drain={ kind = \"watermarks\", high = 8, low = 2, idle = 20 }";
    let extremes =
        ["dram.refresh=all-bank", "dram.timing.refi=500", drain, "dram.command_bus=dual", "dram.reply_entries=2"];
    for policy in policies {
        for sets in [&[][..], &extremes] {
            let report = run("bfs", policy, sets);
            assert_eq!((&report.outcome, &report.verdict), (&Outcome::Finished, &Verdict::Passed), "{policy} {sets:?}");
            assert!(report.notes.is_empty(), "{policy}: {:?}", report.notes);
            assert!(report.counters.totals().dram.reads > 100, "{policy}");
        }
    }
}

/// FR-FCFS as a ranked policy. If `is_wrong` is true, it makes a deliberate mistake: it serves the second
/// oldest row hit first.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct SecondBest {
    is_wrong: bool,
}

#[typetag::serde(name = "test-second-best")]
impl Scheme for SecondBest {
    fn order(&self, _size: &ChannelSize) -> Order {
        Order::Ranked(Box::new(Ranks { is_wrong: self.is_wrong, second: None }))
    }
}

/// Hardware of the policy [`SecondBest`]. `second` is the queue slot of the second oldest row hit.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Ranks {
    is_wrong: bool,
    second: Option<usize>,
}

#[typetag::serde(name = "test-second-best")]
impl Hooks for Ranks {
    fn rank(&self, request: &WaitingRequest) -> u64 {
        u64::from(request.is_hit) << 1 | u64::from(request.is_hit && self.second == Some(request.slot))
    }

    fn on_issue(&mut self, _cycle: u64, _request: &WaitingRequest, _command: CommandKind) {}

    fn on_change(&mut self, _cycle: u64, waiting: &[WaitingRequest]) {
        let mut hits = waiting.iter().filter(|request| request.is_hit);
        self.second = hits.nth(1).filter(|_| self.is_wrong).map(|request| request.slot);
    }
}

/// Keys of the golden model of [`SecondBest`]. The model is that of FR-FCFS, without a mistake.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Best {}

#[typetag::deserialize(name = "test-second-best")]
impl TwinScheme for Best {
    fn twin(&self, channel: &ChannelInfo) -> Box<dyn golden::dram::policy::Policy> {
        fr_fcfs::Config { hit_cap: 0 }.twin(channel)
    }
}

#[test]
fn a_policy_that_serves_the_second_best_request_fails_at_its_first_wrong_command() {
    let policy = |is_wrong: bool| format!("{{ kind = \"test-second-best\", is_wrong = {is_wrong} }}");
    assert_eq!(run("bfs", &policy(false), &[]).verdict, Verdict::Passed);
    let Verdict::Failed(texts) = run("bfs", &policy(true), &[]).verdict else { panic!("nothing failed") };
    let channels = texts.iter().filter_map(|text| text.split_once(": cycle "));
    let mut named = Vec::new();
    for (channel, text) in channels {
        let (cycle, text) = text.split_once(": ").unwrap();
        let (seen, expected) = text.split_once(", expected ").unwrap();
        let at = format!(" at {cycle} for request ");
        let [seen, expected] = [seen, expected].map(|command| command.split_once(&at).expect(command));
        // The first wrong command is a column command in the cycle of the expected command, but for a younger
        // request.
        assert!(seen.0.starts_with("Rd") || seen.0.starts_with("Wr"), "{text}");
        let [seen, expected]: [u64; 2] = [seen, expected].map(|(_, request)| request.parse().unwrap());
        assert!(seen > expected, "{text}");
        named.push(channel.to_owned());
    }
    assert!(!named.is_empty(), "{texts:?}");
    let count = named.len();
    named.dedup();
    assert_eq!(named.len(), count, "each channel is named once");
}

/// Policy without a golden model.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Alone {}

#[typetag::serde(name = "test-without-twin")]
impl Scheme for Alone {
    fn order(&self, _size: &ChannelSize) -> Order {
        Order::FirstReady { hit_cap: 0 }
    }
}

#[test]
fn a_policy_without_a_twin_is_named_in_a_note() {
    let report = run("bfs", "{ kind = \"test-without-twin\" }", &[]);
    assert_eq!(report.verdict, Verdict::Passed);
    let [note] = &report.notes[..] else { panic!("{:?}", report.notes) };
    let begins = "the choices of the DRAM channels are not compared with their twins: \
                  no twin of `test-without-twin` is known: ";
    assert!(note.starts_with(begins), "{note}");
}
