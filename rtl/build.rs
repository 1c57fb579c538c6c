//! The folders of schemes are listed as the crate is compiled: a new file there must make it be compiled again.

fn main() {
<<<<<<< HEAD
    for folder in ["index", "l1/bypass", "l1/replacement", "throttle"] {
=======
    for folder in ["index", "l1/bypass", "l1/replacement", "l2/bypass"] {
>>>>>>> open
        println!("cargo:rerun-if-changed={folder}");
    }
}
