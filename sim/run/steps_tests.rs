//! | testpoint | intent                                                                                          |
//! |-----------|-------------------------------------------------------------------------------------------------|
//! | iteration | scalars and addresses that depend on the iteration reach the machine and the interpreter        |
//! | host      | the host fills and copies memory between launches, in order, without simulated time             |
//! | structs   | fields of an array of structs are filled and compared at their own offsets                      |
//! | names     | a C++ name finds its mangled kernel; profile, recording, trace and machine use the same name    |

use std::fs;
use std::path::{Path, PathBuf};

use golden::reference::{Array, ElementType};
use rtl::machine::MachineConfig;
use tempfile::TempDir;

use crate::config::{Request, ResolvedMachine};
use crate::launch::write_npy;
use crate::run::{Outcome, RunOptions, RunReport, TraceForm, Verdict, export, open, profile, record, run};

/// Temporary folder with a launch file and the PTX file of `vadd`. Its kernel `vadd(a, b, c, n)` adds `n`
/// floats.
struct Folder(TempDir);

impl Folder {
    fn new(text: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        let vadd = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/vadd/vadd.ptx");
        fs::copy(vadd, folder.path("vadd.ptx")).unwrap();
        fs::write(folder.path("run.toml"), format!("ptx = \"vadd.ptx\"\n{text}")).unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file with the expected values of an output.
    fn expects(&self, name: &str, values: impl IntoIterator<Item = f64>) {
        write_npy(&self.path(name), &Array::from_reals(ElementType::F32, values)).unwrap();
    }

    fn run(&self) -> RunReport {
        let options = RunOptions { check: true, outputs: true, ..RunOptions::default() };
        let report = run(&self.path("run.toml"), &fermi(), &options, &mut |_| {});
        let report = report.unwrap_or_else(|e| panic!("{:?}", miette::Report::new(e)));
        assert_eq!(report.outcome, Outcome::Finished);
        report
    }

    fn passes(&self) -> RunReport {
        let report = self.run();
        assert_eq!(report.verdict, Verdict::Passed);
        report
    }

    /// Returns the kernels of the launch file with their numbers of launches, as the function `profile`
    /// counts them. Checks that the functions `record` and `export` find the same launches.
    fn count_untimed(&self) -> Vec<(String, u64)> {
        let path = self.path("run.toml");
        let profiled = profile(&path, None, &fermi()).unwrap().into_iter();
        let profiled: Vec<_> = profiled.map(|kernel| (kernel.name, kernel.launches.len() as u64)).collect();
        let recorded = record(open(&path, None).unwrap(), &fermi()).unwrap().kernels.into_iter();
        let recorded: Vec<_> = recorded.map(|kernel| (kernel.name, kernel.launches.len() as u64)).collect();
        assert_eq!(profiled, recorded);
        let exported = export(open(&path, None).unwrap(), &fermi(), &self.path("trace"), TraceForm::default()).unwrap();
        let launches: u64 = profiled.iter().map(|(_, launches)| launches).sum();
        assert_eq!(exported.files.len() as u64, launches + 1, "a file for each launch, and the list");
        profiled
    }
}

fn fermi() -> MachineConfig {
    let request = Request { machine: "fermi".to_owned(), designs: Vec::new(), sets: Vec::new() };
    ResolvedMachine::new(&request).unwrap().config
}

const LAUNCH: &str = "kernel = \"vadd\"\ngrid = [1]\nblock = [64]\n";

/// Buffers of a launch file: `a` contains 0 to 63, `b` contains 64 ones, and `c` contains zeros.
const BUFFERS: &str = r#"
buffer = [
    { name = "a", type = "f32", elements = 64, init = "iota" },
    { name = "b", type = "f32", elements = 64, init = { iota = { start = 1.0, step = 0.0 } } },
    { name = "c", type = "f32", elements = 64 },
]
"#;

#[test]
fn arguments_follow_the_iteration() {
    let folder = Folder::new(&format!(
        r#"{BUFFERS}
[[step]]
repeat = 4
iteration = {{ row = {{ step = 16 }}, many = {{ start = 16, step = -4 }} }}
[[step.launch]]
{LAUNCH}
args = [{{ buffer = "a", offset = "row" }}, {{ buffer = "b", offset = 5 }}, {{ buffer = "c", offset = "row" }}, {{ i32 = "many" }}]
[[output]]
buffer = "c"
expect = {{ file = "c.npy" }}
"#
    ));
    let is_there = |idx: usize| idx % 16 < 16 - 4 * (idx / 16);
    folder.expects("c.npy", (0..64).map(|idx| if is_there(idx) { idx as f64 + 1.0 } else { 0.0 }));
    let report = folder.passes();
    assert_eq!(report.kernels, [("vadd".to_owned(), 4)]);
    assert_eq!(folder.count_untimed(), report.kernels);
}

#[test]
fn fills_and_copies_happen_between_the_launches() {
    let folder = Folder::new(&format!(
        r#"{BUFFERS}
[[step]]
fill = [{{ buffer = "b", offset = 16, elements = 8, value = 2.5 }}]
[[step]]
repeat = 3
[[step.launch]]
{LAUNCH}
args = ["a", "b", "c", {{ i32 = 64 }}]
[[step.copy]]
from = "c"
to = {{ buffer = "a", offset = 4 }}
elements = 60
[[step.fill]]
buffer = "a"
elements = 1
[[output]]
buffer = "c"
expect = {{ file = "c.npy" }}
[[output]]
buffer = "a"
expect = {{ file = "a.npy" }}
"#
    ));
    let mut a: Vec<f64> = (0..64).map(f64::from).collect();
    let b = |idx: usize| if (16..24).contains(&idx) { 2.5 } else { 1.0 };
    let mut c = Vec::new();
    for _ in 0..3 {
        c = a.iter().enumerate().map(|(idx, a)| a + b(idx)).collect();
        a[4..].copy_from_slice(&c[..60]);
        a[0] = 0.0;
    }
    folder.expects("c.npy", c);
    folder.expects("a.npy", a);
    let report = folder.passes();
    assert_eq!(folder.count_untimed(), report.kernels);
}

/// Tests a step that is repeated until a flag is zero. In each iteration, the kernel copies `a[1]` to the
/// flag, and then the host overwrites `a[1]` with zero by a fill or a copy. `a[1]` is 1 at first, so the flag
/// is zero after the second iteration, which must be the last.
#[test]
fn what_the_host_writes_decides_how_often_a_step_runs_with_and_without_time() {
    for host in ["fill = [{ buffer = \"a\", offset = 1, elements = 1 }]", "copy = [{ from = \"b\", to = \"a\" }]"] {
        let folder = Folder::new(&format!(
            r#"
buffer = [
    {{ name = "a", type = "i32", elements = 2, init = "iota" }},
    {{ name = "b", type = "i32", elements = 2 }},
    {{ name = "flag", type = "i32", elements = 1 }},
]
[[step]]
repeat = {{ until_zero = "flag", at_most = 9 }}
iteration = "turn"
launch = [{{ kernel = "vadd", grid = [1], block = [32], args = [{{ buffer = "a", offset = 1 }}, "b", "flag", {{ i32 = 1 }}] }}]
{host}
"#
        ));
        let report = folder.passes();
        assert_eq!(report.kernels, [("vadd".to_owned(), 2)], "{host}");
        assert_eq!(folder.count_untimed(), report.kernels, "{host}");
    }
}

/// Creates a launch of `vadd` on arrays of 16 structs with two floats each: `c = a + b`.
fn structs(expected_y: f64) -> Folder {
    let folder = Folder::new(
        r#"
type = [{ name = "point", fields = { x = "f32", y = "f32" } }]
buffer = [
    { name = "a", type = "point", elements = 16, init = { x = "iota" } },
    { name = "b", type = "point", elements = 16, init = { y = "iota" } },
    { name = "c", type = "point", elements = 16 },
]
[[step]]
fill = [{ buffer = "b", field = "y", value = 3.0 }]
launch = [{ kernel = "vadd", grid = [1], block = [32], args = ["a", "b", "c", { i32 = 32 }] }]
[[output]]
buffer = "c"
field = "y"
expect = { file = "y.npy" }
[[output]]
buffer = "c"
field = "x"
offset = 8
write = "x.npy"
expect = { reference = "vadd", inputs = { a = { buffer = "a", field = "x", offset = 8 }, b = { buffer = "b", field = "x", elements = 8 } }, parameters = { n = 8 } }
"#,
    );
    folder.expects("y.npy", [expected_y; 16]);
    folder
}

#[test]
fn fields_of_structs_are_filled_judged_and_written() {
    let folder = structs(3.0);
    let report = folder.passes();
    let written = crate::launch::read_npy(&folder.path("x.npy"), ElementType::F32).unwrap();
    assert_eq!(written, Array::from_reals(ElementType::F32, (8..16).map(f64::from)));
    assert_eq!(folder.count_untimed(), report.kernels);
}

#[test]
fn a_wrong_field_is_named() {
    let Verdict::Failed(failed) = structs(4.0).run().verdict else { panic!("passed") };
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].starts_with("output `c.y` is wrong:"), "{failed:?}");
}

#[test]
fn a_mangled_kernel_is_launched_by_its_name_in_c() {
    let folder = Folder::new(&format!(
        r#"{BUFFERS}
[[step]]
[[step.launch]]
kernel = "vadd(const float *, const float *, float *, int)"
grid = [2]
block = [32]
args = ["a", "b", "c", {{ i32 = 64 }}]
[[step.launch]]
kernel = "vadd"
grid = [2]
block = [32]
args = ["a", "b", "c", {{ i32 = 64 }}]
[[output]]
buffer = "c"
expect = {{ reference = "vadd", parameters = {{ n = 64 }} }}
"#
    ));
    let ptx = fs::read_to_string(folder.path("vadd.ptx")).unwrap();
    let mangled = "_Z4vaddPKfS0_Pfi";
    let ptx = ptx.replace(".entry vadd(", &format!(".entry {mangled}("));
    fs::write(folder.path("vadd.ptx"), ptx).unwrap();
    let report = folder.passes();
    assert_eq!(report.kernels, [(mangled.to_owned(), 2)]);
    assert_eq!(folder.count_untimed(), report.kernels);
}
