//! Build script. Recompiles the crate when a source file is added to a folder of policy modules. The
//! `automod` macro lists the files of these folders at compile time.

fn main() {
    for folder in [
        "dram/policy",
        "index",
        "l1/bypass",
        "l1/prefetch",
        "l1/victim",
        "replacement",
        "l2/bypass",
        "sm/scheduler",
        "l2/partition",
        "mshr_policy",
        "l2/prefetch",
        "throttle",
    ] {
        println!("cargo:rerun-if-changed={folder}");
    }
}
