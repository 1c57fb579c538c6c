//! What designs change, and that they can be put together.

use tb::config::{designs, machines};
use tb::run::Counters;

use super::{Setup, hit_rate, launch};

fn counters(kernel: &str, file: &str, designs: &[&str]) -> Counters {
    Setup::default().designs(designs).passes(&launch(kernel, file)).counters
}

fn times(slow: &Counters, fast: &Counters) -> f64 {
    slow.cycles as f64 / fast.cycles as f64
}

/// khairy2015 section 4: rows whose distance is a multiple of the sets meet in one set, unless the
/// index is pseudo-random.
#[test]
fn pric_cures_the_conflicts_of_syrk() {
    let linear = counters("syrk", "launch.toml", &[]);
    let pric = counters("syrk", "launch.toml", &["pric"]);
    assert!(hit_rate(&linear) < 0.01, "linear: {}", hit_rate(&linear));
    assert!(hit_rate(&pric) > 0.95, "pric: {}", hit_rate(&pric));
    assert!(times(&linear, &pric) > 5.0, "{} and {} cycles", linear.cycles, pric.cycles);
}

#[test]
fn without_conflicts_pric_changes_little() {
    let linear = counters("syrk", "padded.toml", &[]);
    let pric = counters("syrk", "padded.toml", &["pric"]);
    assert!(hit_rate(&linear) > 0.95, "{}", hit_rate(&linear));
    assert!((0.9..1.1).contains(&times(&linear, &pric)), "{} and {} cycles", linear.cycles, pric.cycles);
}

#[test]
fn gesummv_shows_the_same_signs() {
    let linear = counters("gesummv", "launch.toml", &[]);
    let pric = counters("gesummv", "launch.toml", &["pric"]);
    let padded = counters("gesummv", "padded.toml", &[]);
    assert!(hit_rate(&linear) < 0.05 && hit_rate(&pric) > 0.7, "{} and {}", hit_rate(&linear), hit_rate(&pric));
    assert!(times(&linear, &pric) > 5.0, "{} and {} cycles", linear.cycles, pric.cycles);
    assert!((0.9..1.2).contains(&times(&pric, &padded)), "{} and {} cycles", pric.cycles, padded.cycles);
}

#[test]
fn past_the_l1_nothing_hits_and_everything_is_counted_as_bypass() {
    let l1 = counters("syrk", "small.toml", &["bypass-all"]).l1;
    assert!(l1.iter().all(|l1| l1.hits == 0 && l1.misses == 0 && l1.bypasses == l1.accesses));
    assert!(l1.iter().any(|l1| l1.bypasses > 0));
}

#[test]
fn every_machine_runs_with_every_design() {
    for machine in machines() {
        for design in designs() {
            let setup = Setup::checked().machine(machine.name).designs(&[design.name]);
            setup.passes(&launch("vadd", "small.toml"));
        }
    }
}

#[test]
fn designs_of_different_slots_compose() {
    let all = ["pric", "bypass-all", "li2015-clocks"];
    let both = Setup::checked().designs(&all).passes(&launch("syrk", "small.toml"));
    assert_eq!(both.counters.core_khz, 1_400_000);
    assert_eq!(hit_rate(&both.counters), 0.0);
}
