//! Tests of CUDA programs on the simulated machine: programs that nvcc compiles, and programs that must be
//! rejected.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{CommandResult, root, warpsieve};

/// Compiles an example with nvcc for two GPU architectures, and returns the path of the compiled program.
fn compile(name: &str, folder: &Path, options: &[&str]) -> PathBuf {
    let nvcc = std::env::var_os("NVCC").unwrap_or_else(|| "nvcc".into());
    let program = folder.join(name);
    let source = root().join("examples/cuda").join(name).with_extension("cu");
    let mut command = Command::new(nvcc);
    for arch in ["75", "80"] {
        command.arg("-gencode").arg(format!("arch=compute_{arch},code=compute_{arch}"));
    }
    let ended =
        CommandResult::of(command.args(["-cudart", "shared"]).args(options).arg(source).arg("-o").arg(&program));
    assert_eq!(ended.status, Some(0), "{ended:?}");
    program
}

/// Compiles an example and runs it. The example checks its own results, and this check must pass.
fn passes(name: &str, options: &[&str], arguments: &[&str]) -> CommandResult {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(name, folder.path(), options);
    let ended = warpsieve(&[&["exec"], arguments, &["--", program.to_str().unwrap()]].concat());
    assert!(ended.status == Some(0) && ended.out.contains("PASS\n"), "{ended:?}");
    ended
}

/// Returns the launch files in a folder.
fn launch_files(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    files.sort();
    files
}

#[test]
#[cfg_attr(not(has_nvcc), ignore = "nvcc is not installed")]
fn a_vector_addition_takes_simulated_time() {
    let CommandResult { out, err, .. } = passes("vector_add", &[], &["--machine", "volta"]);
    assert!(err.contains("launch 1: _Z3addPKfS0_Pfi 20 x 256: "), "{err}");
    let cycles = out.split("cycles").nth(1).unwrap().split_whitespace().next().unwrap();
    let cycles: f64 = cycles.replace(',', "").parse().unwrap();
    let microseconds = out.split("add: ").nth(1).unwrap().split(' ').next().unwrap();
    let microseconds: f64 = microseconds.parse().unwrap();
    // The CUDA event that is recorded after the launch also waits for the last writebacks, so the measured
    // time may differ a little from the cycles of the launch.
    let core_mhz = 1132.0;
    assert!((microseconds * core_mhz / cycles - 1.0).abs() < 0.25, "{cycles} cycles, {microseconds} us");
}

#[test]
#[cfg_attr(not(has_nvcc), ignore = "nvcc is not installed")]
fn a_loop_of_the_host_launches_until_its_flag_stays_clear() {
    let CommandResult { out, err, .. } = passes("bfs", &["-no-compress"], &[]);
    let levels: usize = out.split(" levels").next().unwrap().parse().unwrap();
    assert_eq!(err.matches("launch ").count(), levels, "{err}");
    assert!(out.contains(&format!("visitPKiS0_PiiiS1_ x {levels}")), "{out}");
}

#[test]
#[cfg_attr(not(has_nvcc), ignore = "nvcc is not installed")]
fn symbols_constants_and_shared_memory_work_and_a_launch_can_fail() {
    let CommandResult { err, .. } = passes("reduction", &["--compress-mode=speed"], &[]);
    assert!(err.contains("cudaErrorInvalidValue: kernel `_Z6reducePKii` needs 10"), "{err}");
}

#[test]
#[cfg_attr(not(has_nvcc), ignore = "nvcc is not installed")]
fn streams_managed_memory_and_host_functions_keep_their_order() {
    passes("streams", &["--compress-mode=size"], &[]);
}

#[test]
#[cfg_attr(not(has_nvcc), ignore = "nvcc is not installed")]
fn kernels_print_in_order_with_the_program_and_allocate_memory() {
    let CommandResult { out, err, .. } = passes("device_calls", &[], &[]);
    let printed = "before\n\
                   thread  0 of 33  |  0.00|a|0x100000|  -1|100%\n\
                   thread 16 of 33  |  4.00|b|0x1000000000|  -1|100%\n\
                   thread 32 of 33  |  8.00|c|0x10000000000000|  -1|100%\n\
                   after\n";
    assert!(out.contains(printed), "{out}");
    assert!(err.contains("note: 528 bytes that `printf` in kernel `_Z5floodPi` recorded did not fit"), "{err}");
    let fixed = "cudaErrorInvalidValue: cudaLimitPrintfFifoSize: a module that uses this memory is already loaded";
    assert!(err.contains(fixed), "{err}");
}

#[test]
#[cfg_attr(not(has_nvcc), ignore = "nvcc is not installed")]
fn functions_call_themselves_and_their_stack_has_the_size_that_the_program_sets() {
    let CommandResult { err, .. } = passes("recursion", &[], &["--check"]);
    let fixed = "cudaErrorInvalidValue: cudaLimitStackSize: a kernel with a stack is already in use";
    assert!(err.contains(fixed), "{err}");
    // The emitted launch needs the larger stack, too.
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("launches");
    passes("recursion", &[], &["--quiet", "--emit", to.to_str().unwrap()]);
    let [file] = &*launch_files(&to) else { panic!("one launch") };
    let ended = warpsieve(&["run", file.to_str().unwrap(), "--check", "--machine", "volta"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains("\nstack_bytes = 8192\n"), "{text}");
    fs::write(file, text.replace("stack_bytes = 8192", "stack_bytes = 64")).unwrap();
    let CommandResult { status, err, .. } = warpsieve(&["run", file.to_str().unwrap()]);
    assert!(status != Some(0) && err.contains("with the stack of its recursive functions"), "{err}");
}

#[test]
#[cfg_attr(not(has_nvcc), ignore = "nvcc is not installed")]
fn the_device_has_the_properties_of_the_machine() {
    let CommandResult { out, .. } = passes("matrix", &[], &["--set", "num_sms=7", "--design", "pric"]);
    assert!(out.contains("warpsieve fermi + pric: 7 SMs"), "{out}");
}

#[test]
#[cfg_attr(not(has_nvcc), ignore = "nvcc is not installed")]
fn every_emitted_launch_repeats_its_results_and_can_be_checked() {
    for name in ["reduction", "streams", "bfs"] {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("launches");
        passes(name, &[], &["--quiet", "--emit", to.to_str().unwrap()]);
        let files = launch_files(&to);
        assert!(!files.is_empty());
        for file in &files {
            let CommandResult { status, out, err } = warpsieve(&["run", file.to_str().unwrap(), "--check"]);
            assert_eq!(status, Some(0), "{}: {out}{err}", file.display());
        }
        // A launch that changes nothing in memory, such as the last launch of `bfs`, has no expected results
        // in its launch file.
        let expects = |file: &&PathBuf| fs::read_to_string(file).unwrap().contains("expect = ");
        assert!(files.iter().filter(expects).count() + 1 >= files.len(), "{name}: {files:?}");
    }
}

#[test]
#[cfg_attr(not(has_nvcc), ignore = "nvcc is not installed")]
fn a_program_with_a_static_runtime_or_without_ptx_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let fixed = compile("vector_add", folder.path(), &["-cudart", "static"]);
    warpsieve(&["exec", "--", fixed.to_str().unwrap()]).assert_refused(&["build it with `nvcc -cudart shared`"]);
}

#[test]
#[cfg_attr(not(has_nvcc), ignore = "nvcc is not installed")]
fn every_launch_of_a_program_can_be_checked() {
    for name in ["reduction", "streams", "bfs"] {
        let CommandResult { out, .. } = passes(name, &[], &["--check"]);
        assert!(out.contains("  check         passed\n"), "{name}: {out}");
    }
}

#[test]
fn a_program_without_kernels_keeps_its_status_and_output() {
    let CommandResult { status, out, err } =
        warpsieve(&["exec", "--quiet", "--", "/bin/sh", "-c", "echo done; exit 7"]);
    assert_eq!((status, out.as_str(), err.as_str()), (Some(7), "done\n", ""));
    let CommandResult { status, .. } = warpsieve(&["exec", "--quiet", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(status, Some(128 + 9));
}

#[test]
fn what_cannot_run_is_refused() {
    warpsieve(&["exec", "--", "/nowhere/program"]).assert_refused(&["/nowhere/program: ", "cannot be read"]);
    for option in [&["--checkpoint", "never.bin"][..], &["--resume", "kernels/vadd/vadd.ptx"]] {
        let ended = warpsieve(&[&["exec"], option, &["--", "/bin/true"]].concat());
        ended.assert_refused(&["a host program cannot be run with", option[0]]);
    }
    warpsieve(&["exec", "--design", "profiled", "--", "/bin/true"]).assert_refused(&["an L1 bypass with a profile"]);
}
