//! Tests the check for excessive memory use. The test runs in a separate process, because memory is measured
//! for the whole process.

use std::path::Path;
use std::time::Duration;

use soak::input::{Input, Sample, Samples};
use soak::{Limits, Soak};

#[test]
fn memory_without_bound_is_found_and_its_mutant_too() {
    static HEAVY: Input = Input {
        name: "heavy",
        about: "",
        samples: Samples::Made(|_| {
            let bytes = b"some text of several words\nand a second line\n".to_vec();
            Ok(vec![Sample { path: "a.txt".into(), bytes }])
        }),
        read: |_, bytes| {
            let many = if bytes.windows(2).any(|two| two == b"ss") { 1_200 << 20 } else { 0 };
            assert!(std::hint::black_box(vec![1_u8; many]).len() == many);
            Ok(())
        },
    };
    let soak = Soak::of_input(&HEAVY);
    let failed = soak.run(Path::new(""), 1.., Limits::default(), &mut |_| {}).unwrap_err();
    assert!(failed.wrong.starts_with("raised the memory of this process to "), "{}", failed.wrong);
    // The time limit is generous, because the reader takes about a second for each input that makes it exceed
    // the memory limit.
    let found = failed.shrunk(Duration::from_secs(10)).unwrap();
    assert!(found.bytes.windows(2).any(|two| two == b"ss"), "{found:?}");
}
