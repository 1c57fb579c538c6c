//! Recompiles the crate when a file is added to a folder of schemes: `automod` lists these folders at compile
//! time.

fn main() {
    for folder in
        ["dram/policy", "index", "l1/bypass", "l1/prefetch", "l1/victim", "replacement", "l2/bypass", "throttle"]
    {
        println!("cargo:rerun-if-changed={folder}");
    }
}
