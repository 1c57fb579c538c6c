//! Makes cargo rebuild the crate if a folder of schemes changes. At compile time, each file in these folders
//! becomes a module, so cargo must notice new files.

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
