//! `warpsieve soak`, for as long as a test may take.

use super::{Ended, warpsieve};

fn soak(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Ended { status, out, err } = warpsieve(&[&["soak"], arguments].concat());
    (status, out, err)
}

#[test]
fn twenty_random_machines_run_correctly() {
    let (status, out, err) = soak(&["machines", "--count", "20", "--seed", "1"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(out.starts_with("soak machines: 20 cases, "), "{out}");
    assert!(out.trim_end().ends_with(": all passed"), "{out}");
}

#[test]
fn the_same_seed_gives_the_same_machines() {
    let cycles = || {
        let (_, out, _) = soak(&["machines", "--count", "3", "--seed", "77"]);
        out.split(", in ").next().unwrap().to_owned()
    };
    assert_eq!(cycles(), cycles());
}

#[test]
fn readers_survive_thousands_of_damaged_files() {
    for name in ["traces", "ptx", "launch-files"] {
        let (status, out, err) = soak(&[name, "--count", "3"]);
        assert_eq!((status, err.as_str()), (Some(0), ""), "{name}");
        assert!(out.starts_with(&format!("soak {name}: 3 cases, 3,000 runs, from seed 1, in ")), "{out}");
    }
}

#[test]
fn a_soak_tells_what_its_cases_met_and_what_they_never_reached() {
    let (status, out, err) = soak(&["dram", "--count", "2", "--coverage"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(out.starts_with("soak dram: 2 cases, 2 runs, "), "{out}");
    let row = |begins: &str| out.lines().find(|line| line.trim_start().starts_with(begins)).unwrap_or_default();
    assert!(row("DRAM command pairs at their least distance: ").ends_with(" points reached, 90 cannot occur"), "{out}");
    assert!(row("one bus    other group  ACT ").ends_with("  .        ."), "{out}");
    assert!(out.contains("\nnever reached:\n  DRAM command pairs at their least distance: "), "{out}");
    let (_, plain, _) = soak(&["dram", "--count", "2"]);
    assert_eq!(plain.lines().count(), 1);
}

#[test]
fn a_soak_that_cannot_tell_what_it_meets_says_which_can() {
    let (status, out, err) = soak(&["traces", "--coverage"]);
    assert_eq!((status, out.as_str()), (Some(2), ""));
    let told = "soak `traces` cannot tell what its cases meet; those that can are `l1`, `frc`, `tracker`, `dram`";
    assert!(err.contains(told), "{err}");
}

#[test]
fn soaks_are_listed_and_unknown_ones_refused() {
    let (status, out, _) = soak(&["--list"]);
    assert_eq!(status, Some(0));
    assert!(
        out.lines().any(|line| line.starts_with("machines ") && line.contains("random machine configurations")),
        "{out}"
    );
    let (status, out, err) = soak(&["machine"]);
    assert_eq!((status, out.as_str()), (Some(2), ""));
    assert!(err.contains("there is no soak `machine`") && err.contains("did you mean `machines`?"), "{err}");
}
