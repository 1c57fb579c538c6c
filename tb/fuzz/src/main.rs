//! libFuzzer target for every function of the simulator that reads external input. The environment variable
//! `READER` selects the function to fuzz. The soak tests (long random tests) use the same list of functions.
//! Start the fuzzer with `./run`.

#![no_main]

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use soak::input::Input;
use warpsieve::kernels::kernels_folder;

/// Reader function under test, and the file names with which it is called. The extension of a name selects
/// the file format.
struct Target {
    input: &'static Input,
    names: Vec<PathBuf>,
}

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let inputs: Vec<_> = soak::inputs().iter().chain(warpsieve_cli::soak::inputs::inputs()).collect();
    let names: Vec<_> = inputs.iter().map(|input| input.name).collect();
    let wanted = std::env::var("READER").unwrap_or_default();
    let Some(input) = inputs.iter().find(|input| input.name == wanted) else {
        // The script `./run` parses this list of readers.
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
    // A reader may select the file format by the file extension, so the fuzz target tests one file name per
    // extension.
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
