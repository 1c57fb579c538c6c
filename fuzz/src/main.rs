//! Feeds one input of the command with bytes that libFuzzer derives from those before, by what they reach. `READER` names
//! the input; the readers are those of the soaks. `./run` is the way to start it.

#![no_main]

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tb::soak::input::Input;
use warpsieve::kernels::kernels_folder;

/// What is fuzzed, and the names of files that decide how bytes are read.
struct Target {
    input: &'static Input,
    names: Vec<PathBuf>,
}

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let inputs: Vec<_> = tb::soak::inputs().iter().chain(warpsieve_cli::soak::inputs::inputs()).collect();
    let names: Vec<_> = inputs.iter().map(|input| input.name).collect();
    let wanted = std::env::var("READER").unwrap_or_default();
    let Some(input) = inputs.iter().find(|input| input.name == wanted) else {
        // `./run` reads this list.
        println!("{}", names.join("\n"));
        std::process::exit(2);
    };
    let kernels = kernels_folder().expect("the kernels of the source tree");
    let samples = input.samples(&kernels).expect("samples");
    if let Some(folder) = std::env::var_os("SAMPLES") {
        for (number, sample) in samples.iter().enumerate() {
            std::fs::write(Path::new(&folder).join(format!("sample-{number}")), &sample.bytes)
                .expect("a sample written");
        }
        std::process::exit(0);
    }
    // A file each of those that end differently: bytes are read by all of these names.
    let mut names: Vec<PathBuf> = Vec::new();
    for sample in samples.iter() {
        if names.iter().all(|name| name.extension() != sample.path.extension()) {
            names.push(sample.path.clone());
        }
    }
    Target { input, names }
});

fuzz_target!(init: { LazyLock::force(&TARGET); }, |bytes: &[u8]| {
    let Target { input, names } = &*TARGET;
    names.iter().for_each(|name| input.fuzz(name, bytes));
});
