//! Tests the report about a scheme that panics or never returns. The report must name the scheme, the
//! configuration field that selects it (its slot), the hook that failed, and the cycle. This test binary is
//! also the program under test: with the argument `run`, it acts as `warpsieve` with the failing schemes
//! below. Without `run`, it runs the tests, which start the binary again with `run` and check its messages.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use rtl::kernel::{Describe, Edge};
use rtl::l1::bypass::{self, CacheGeometry, LineAccess, View};
use rtl::l1::prefetch::{self, DemandLoad, PrefetchPlace, Target};
use rtl::replacement::{self, InsertedLine, RankShape, Source, Ways};
use rtl::throttle::{self, CorePlace, CycleState, IssueLimit};
use serde::{Deserialize, Serialize};

/// First core cycle in which the scheme fails. It is late enough for the run to be in progress.
const BREAKS: u64 = 300;

/// From cycle `BREAKS` on, never returns if `hangs` is true, and panics otherwise. Returns at once in earlier
/// cycles.
fn fails(cycle: u64, hangs: bool) {
    if cycle < BREAKS {
        return;
    }
    assert!(hangs, "there is no such line");
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

/// Configuration and hardware model of a scheme that fails on purpose.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Broken {
    hangs: bool,
}

#[typetag::serde(name = "broken")]
impl bypass::Scheme for Broken {
    fn hardware(&self, _place: &CacheGeometry<'_>) -> Option<Box<dyn bypass::Hooks>> {
        Some(Box::new(*self))
    }
}

#[typetag::serde(name = "broken")]
impl bypass::Hooks for Broken {
    fn bypasses(&self, at: &Edge<'_>, _head: &LineAccess, _view: &View<'_>) -> bool {
        fails(at.cycle, self.hangs);
        false
    }
}

#[typetag::serde(name = "broken")]
impl replacement::Scheme for Broken {
    fn rank(&self, _ways: u32) -> RankShape {
        RankShape { name: "rank", bits: 2 }
    }

    fn hardware(&self, _place: &CacheGeometry<'_>) -> Option<Box<dyn replacement::Hooks>> {
        Some(Box::new(*self))
    }
}

#[typetag::serde(name = "broken")]
impl replacement::Hooks for Broken {
    fn reset(&self, _way: u32) -> u8 {
        0
    }

    fn on_hit(&mut self, _at: &Edge<'_>, _place: (u32, u32), _source: Source, _ranks: &mut [u8]) {}

    fn on_insert(&mut self, at: &Edge<'_>, _newcomer: &InsertedLine, _may_go: &Ways, _ranks: &mut [u8]) {
        fails(at.cycle, self.hangs);
    }
}

#[typetag::serde(name = "broken")]
impl prefetch::Scheme for Broken {
    fn hardware(&self, _place: &PrefetchPlace<'_>) -> Option<Box<dyn prefetch::Hooks>> {
        Some(Box::new(*self))
    }
}

#[typetag::serde(name = "broken")]
impl prefetch::Hooks for Broken {
    fn on_access(&mut self, at: &Edge<'_>, _load: &DemandLoad) {
        fails(at.cycle, self.hangs);
    }

    fn next(&mut self, _at: &Edge<'_>) -> Option<Target> {
        None
    }

    fn describe(&self, _to: &mut dyn Describe) {}
}

#[typetag::serde(name = "broken")]
impl throttle::Scheme for Broken {
    fn core(&self, _place: &CorePlace<'_>) -> Option<Box<dyn throttle::Hooks>> {
        Some(Box::new(*self))
    }
}

#[typetag::serde(name = "broken")]
impl throttle::Hooks for Broken {
    fn admit(&mut self, seen: &CycleState) -> IssueLimit {
        fails(seen.cycle, self.hangs);
        IssueLimit::Load(u64::MAX)
    }
}

/// Runs a kernel with the failing scheme in slot `slot`. Returns the error output and the duration of the
/// run.
fn run(slot: &str, hangs: bool, threads: &str) -> (String, Duration) {
    let kernel = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/syrk/small");
    let folder = tempfile::tempdir().unwrap();
    let stats = folder.path().join("s.json");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("run").arg(kernel).args(["--threads", threads, "--quiet", "--stats"]).arg(stats);
    command.args(["--set", &format!("{slot}={{ kind = \"broken\", hangs = {hangs} }}")]).env_remove("RUST_BACKTRACE");
    let begun = Instant::now();
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(output.stdout.is_empty(), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "something is left of `--stats`: {said}");
    (said, begun.elapsed())
}

fn is_blamed(slot: &str, hook: &str, hangs: bool, threads: &str) {
    let (said, took) = run(slot, hangs, threads);
    let begins = format!("internal error: scheme `broken` of `{slot}` in its hook `{hook}`, cycle ");
    let rest = said.strip_prefix(&begins).unwrap_or_else(|| panic!("{said}"));
    let cycle = rest.split(':').next().and_then(|cycle| cycle.parse().ok());
    assert!(cycle.is_some_and(|cycle: u64| cycle >= BREAKS), "{said}");
    let how = if hangs { ": it has not returned for 10 s\n" } else { ": there is no such line\n  at " };
    assert!(said.contains(how) && said.contains("\nThe scheme broke one of its own rules."), "{said}");
    assert!(said.lines().count() <= 3, "{said}");
    assert!(took < Duration::from_secs(40), "{took:?}");
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("run") {
        return warpsieve_cli::main_with(&[], Vec::new);
    }
    let hooks = [
        ("l1.bypass", "bypasses"),
        ("l1.prefetch", "on_access"),
        ("l1.replacement", "on_insert"),
        ("throttle", "admit"),
    ];
    for (slot, hook) in hooks {
        for threads in ["step", "2"] {
            is_blamed(slot, hook, false, threads);
        }
    }
    // The runs with a hanging scheme only wait and need no processor time, so they are started in parallel.
    let waits: Vec<_> =
        hooks.map(|(slot, hook)| std::thread::spawn(move || is_blamed(slot, hook, true, "auto"))).into();
    waits.into_iter().for_each(|wait| wait.join().unwrap());
    ExitCode::SUCCESS
}
