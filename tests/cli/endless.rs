//! Tests `profile` and `trace export` on kernels whose warps loop forever, and on kernels whose results
//! depend on the order of warps. Neither command counts cycles, so a cycle limit cannot end such a kernel.

use std::path::Path;

use super::warpsieve;

const SPIN: &str = "tests/machine/ptx/spin.toml";

#[test]
fn a_profile_of_a_kernel_that_spins_ends_with_status_3() {
    let ended = warpsieve(&["profile", SPIN]);
    assert_eq!((ended.status, ended.out.as_str()), (Some(3), ""), "{ended:?}");
    assert!(ended.err.contains("spin.ptx: no progress in kernel `forever` after "), "{}", ended.err);
    assert!(ended.err.contains("every running warp loops or waits at a barrier, "), "{}", ended.err);
    for cta in 0..2 {
        assert!(ended.err.contains(&format!("CTA [{cta}, 0, 0]: warp 0 at pc ")), "{}", ended.err);
        assert!(ended.err.contains(&format!("CTA [{cta}, 0, 0]: warp 1 at pc 7, line 21: barrier")), "{}", ended.err);
    }
}

/// If lanes wait for lanes on another path of the same divergent warp, the simulated machine and the
/// interpreter must report the same error.
#[test]
fn lanes_that_wait_for_another_path_of_their_warp_end_with_status_3() {
    let folder = tempfile::tempdir().unwrap();
    let [stats, traces] = ["stats.json", "traces"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let launch = "tests/machine/ptx/diverged.toml";
    for command in [
        &["run", launch, "--stats", &stats][..],
        &["run", launch, "--check"],
        &["profile", launch],
        &["trace", "export", launch, "--output", &traces],
    ] {
        let ended = warpsieve(command);
        assert_eq!((ended.status, ended.out.as_str()), (Some(3), ""), "{ended:?}");
        for part in [
            "diverged.ptx:22: kernel `diverged`, ",
            "`shfl.sync` names the members 0xffffffff, but the lanes 0xffff0000 of these do not execute it together with the \
             lanes 0x0000ffff",
        ] {
            assert!(ended.err.contains(part), "{}", ended.err);
        }
    }
    assert!(!Path::new(&stats).exists());
    assert_eq!(std::fs::read_dir(&traces).map_or(0, Iterator::count), 0);
}

#[test]
fn a_trace_of_a_kernel_that_spins_is_not_written_and_ends_with_status_3() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().to_str().unwrap();
    let ended = warpsieve(&["trace", "export", SPIN, "--output", output]);
    assert_eq!((ended.status, ended.out.as_str()), (Some(3), ""), "{ended:?}");
    assert!(ended.err.contains("no progress in kernel `forever` after "), "{}", ended.err);
    assert!(ended.err.contains(", one CTA at a time\n"), "{}", ended.err);
    assert_eq!(std::fs::read_dir(Path::new(output)).unwrap().count(), 0, "{}", ended.err);
}

#[test]
fn a_result_that_depends_on_the_order_of_warps_is_no_failure_and_no_pass() {
    let folder = tempfile::tempdir().unwrap();
    let stats = folder.path().join("stats.json");
    let race = "tests/machine/ptx/race.toml";
    let ended = warpsieve(&["run", race, "--check", "--quiet", "--stats", stats.to_str().unwrap()]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert!(ended.err.contains("buffer `out` depends on the order of warps in 1 element, [0]"), "{}", ended.err);
    assert!(!ended.err.contains("expected"), "{}", ended.err);
    let stats: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(stats).unwrap()).unwrap();
    assert_eq!(stats["check"], "order-dependent");
    let table = warpsieve(&["compare", race, "--check"]);
    assert_eq!(table.status, Some(0), "{table:?}");
    assert!(table.out.contains("order-dependent") && table.err.contains("depends on the order of warps"), "{table:?}");
}
