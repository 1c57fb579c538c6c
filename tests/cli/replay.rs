//! Tests the commands `replay` and `trace export`.

use std::fs;
use std::path::Path;

use serde_json::Value;
use trace::{Packer, Packing};
use warpsieve::trace::synthetic::{Kind, Size, Synthetic};

use super::{root, warpsieve};

/// Writes a trace to a folder, and returns the path of the trace's list of kernels.
fn write_trace(folder: &Path) -> String {
    let size = Size { ctas: 3, iterations: 2 };
    Synthetic::new(Kind::Stream, size).write(fs::File::create(folder.join("kernel-1.traceg")).unwrap()).unwrap();
    let list = folder.join("kernelslist.g");
    fs::write(&list, "kernel-1.traceg\nkernel-1.traceg\n").unwrap();
    list.display().to_string()
}

#[test]
fn a_replay_prints_a_summary_and_writes_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let list = write_trace(folder.path());
    let stats = folder.path().join("stats.json").display().to_string();
    let ended = warpsieve(&["replay", &list, "--check", "--stats", &stats]);
    assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.out.contains("  kernels       stream x 2\n"), "{ended:?}");
    assert!(ended.out.contains("  check         passed\n"), "{ended:?}");
    let stats: Value = serde_json::from_str(&fs::read_to_string(&stats).unwrap()).unwrap();
    assert_eq!(stats["l1"]["accesses"], 2 * 3 * 8 * 2 * 2);
    assert_eq!((&stats["check"], &stats["kernels"][0]["launches"]), (&"passed".into(), &2.into()));
}

#[test]
fn a_folder_stands_for_its_list_and_a_kernel_for_itself() {
    let folder = tempfile::tempdir().unwrap();
    let list = write_trace(folder.path());
    let kernel = folder.path().join("kernel-1.traceg").display().to_string();
    let kernels = |trace: &str| {
        let ended = warpsieve(&["replay", trace, "--stats", "-", "--quiet"]);
        assert_eq!(ended.status, Some(0), "{ended:?}");
        let stats: Value = serde_json::from_str(&ended.out).unwrap();
        stats["kernels"].clone()
    };
    let whole = kernels(&list);
    assert_eq!((&whole, &whole[0]["launches"]), (&kernels(folder.path().to_str().unwrap()), &2.into()));
    assert_eq!(kernels(&kernel)[0]["launches"], 1);
    let empty = tempfile::tempdir().unwrap();
    warpsieve(&["replay", empty.path().to_str().unwrap()]).assert_refused(&["/kernelslist.g", "No such file"]);
}

#[test]
fn addresses_that_need_more_bits_get_them_and_it_is_said() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(root().join("tests/corpus/traces/volta.traceg"), folder.path().join("kernel-1.traceg")).unwrap();
    let list = folder.path().join("kernelslist.g");
    fs::write(&list, "kernel-1.traceg\n").unwrap();
    let ended = warpsieve(&["replay", &list.display().to_string(), "--check"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert_eq!(ended.err, "addr_bits is 47 instead of 32: the width of the addresses in the trace\n");
}

#[test]
fn a_trace_that_is_damaged_farther_on_ends_the_run_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let list = write_trace(folder.path());
    let file = folder.path().join("kernel-1.traceg");
    let text = fs::read_to_string(&file).unwrap();
    let at = text.rfind("ISETP").unwrap();
    fs::write(&file, format!("{}ISETQ{}", &text[..at], &text[at + 5..])).unwrap();
    let stats = folder.path().join("stats.json");
    let wave = folder.path().join("dump.vcd");
    let (stats_name, wave_name) = (stats.display().to_string(), wave.display().to_string());
    let ended = warpsieve(&["replay", &list, "--set", "num_sms=1", "--stats", &stats_name, "--wave", &wave_name]);
    ended.assert_refused(&["kernel-1.traceg:", "found `ISETQ`, expected an opcode of Kepler", "did you mean `ISET`?"]);
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

/// Changes only the last bytes of a compressed trace. These bytes are a checksum, so the trace can still be
/// decompressed completely, but the run must fail.
#[test]
fn a_trace_whose_checksum_is_wrong_ends_the_run_and_leaves_nothing() {
    for (suffix, packing) in [("xz", Packing::Xz), ("zst", Packing::Zstd)] {
        let folder = tempfile::tempdir().unwrap();
        let mut packer = Packer::new(Vec::new(), packing).unwrap();
        Synthetic::new(Kind::Stream, Size { ctas: 3, iterations: 2 }).write(&mut packer).unwrap();
        let mut packed = packer.finish().unwrap();
        let name = format!("kernel-1.traceg.{suffix}");
        let file = folder.path().join(&name);
        let stats = folder.path().join("stats.json");
        let (file_name, stats_name) = (file.display().to_string(), stats.display().to_string());
        let replay = || warpsieve(&["replay", &file_name, "--quiet", "--stats", &stats_name]);
        fs::write(&file, &packed).unwrap();
        let ended = replay();
        assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""), "{ended:?}");
        fs::remove_file(&stats).unwrap();
        *packed.last_mut().unwrap() ^= 1;
        fs::write(&file, &packed).unwrap();
        replay().assert_refused(&[&format!("{name}:"), "cannot be read further: "]);
        warpsieve(&["trace", "info", &file_name]).assert_refused(&[&format!("{name}:"), "cannot be read further: "]);
        assert!(!stats.exists(), "{suffix}");
    }
}

#[test]
fn an_address_that_no_machine_has_is_refused_at_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernel-1.traceg");
    let text = fs::read_to_string(root().join("tests/corpus/traces/volta.traceg")).unwrap();
    let wide = text.replacen("LDG.E.64.SYS 1 R4 8 1 0x00007f", "LDG.E.64.SYS 1 R4 8 1 0x00ff7f", 1);
    fs::write(&file, &wide).unwrap();
    let line = 1 + wide.lines().position(|line| line.contains("0x00ff7f")).unwrap();
    let place = format!("kernel-1.traceg:{line}:");
    let ended = warpsieve(&["replay", &file.display().to_string()]);
    ended.assert_refused(&[&place, "takes 56 address bits, but the machine has 49: none can have more than 49"]);
    let list = folder.path().join("kernelslist.g");
    fs::write(&list, "\nMemcpyHtoD,0x00ff800000000000,4096\nkernel-1.traceg\n").unwrap();
    warpsieve(&["replay", &list.display().to_string()]).assert_refused(&["kernelslist.g:2:", "takes 56 address bits"]);
}

#[test]
fn a_replay_of_block_copies_says_that_their_traffic_is_missing() {
    let stats = |trace: &str| {
        let ended = warpsieve(&["replay", trace, "--stats", "-", "--quiet"]);
        assert_eq!(ended.status, Some(0), "{ended:?}");
        let stats: Value = serde_json::from_str(&ended.out).unwrap();
        (stats["block_copies"].clone(), ended.err)
    };
    let hopper = "tests/corpus/traces/version6.traceg";
    let (copies, err) = stats(hopper);
    assert_eq!(copies, serde_json::json!({ "UTMALDG": 1, "UTMASTG": 1 }));
    assert!(err.contains("the traffic of block copies is not modeled"), "{err}");
    let ended = warpsieve(&["replay", hopper]);
    assert!(ended.out.contains("  not modeled   traffic of block copies: 1 UTMALDG, 1 UTMASTG\n"), "{ended:?}");
    let (none, _) = stats("tests/corpus/traces/ampere.traceg");
    assert_eq!(none, Value::Null);
}

#[test]
fn a_replay_that_is_stopped_ends_with_status_3() {
    let folder = tempfile::tempdir().unwrap();
    let ended = warpsieve(&["replay", &write_trace(folder.path()), "--max-cycles", "100", "--quiet"]);
    assert_eq!(ended.status, Some(3), "{ended:?}");
    assert!(ended.err.starts_with("stopped after 100 cycles"), "{ended:?}");
}

#[test]
fn an_export_is_a_list_and_a_file_for_each_launch() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("bfs").display().to_string();
    let ended = warpsieve(&["trace", "export", "kernels/bfs/small", "-o", &output, "--compress", "xz"]);
    assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    let list = fs::read_to_string(folder.path().join("bfs/kernelslist.g")).unwrap();
    let kernels: Vec<_> = list.lines().filter(|line| line.starts_with("kernel")).collect();
    assert_eq!(kernels[..2], ["kernel-1.traceg.xz", "kernel-2.traceg.xz"]);
    assert!(kernels.iter().all(|kernel| folder.path().join("bfs").join(kernel).is_file()));
    assert!(list.starts_with("MemcpyHtoD,0x"), "{list}");
    let info = warpsieve(&["trace", "info", &format!("{output}/kernelslist.g")]);
    assert_eq!((info.status, info.err.as_str()), (Some(0), ""), "{info:?}");
}

#[test]
fn an_export_has_the_binary_version_and_the_lines_that_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().display().to_string();
    let export = |more: &[&str]| {
        warpsieve(&[&["trace", "export", "kernels/vadd/small", "-o", &output, "--quiet"], more].concat())
    };
    let first_instruction = || {
        let text = fs::read_to_string(folder.path().join("kernel-1.traceg")).unwrap();
        let at = text.find("insts = ").unwrap();
        let version = text.lines().find(|line| line.starts_with("-binary")).unwrap().to_owned();
        (version, text[at..].lines().nth(1).unwrap().split(' ').next().unwrap().to_owned())
    };
    assert_eq!(export(&[]).status, Some(0));
    assert_eq!(first_instruction(), ("-binary version = 60".to_owned(), "0000".to_owned()));
    assert_eq!(export(&["--binary-version", "86", "--line-numbers"]).status, Some(0));
    assert_eq!(first_instruction(), ("-binary version = 86".to_owned(), "24".to_owned()));
    for version in ["35", "90", "-1", "volta"] {
        let expected = "for '--binary-version <VERSION>': expected one of 60, 61, 70, 75, 80, 86";
        export(&["--binary-version", version]).assert_refused(&[&format!("invalid value '{version}'"), expected]);
    }
}

#[test]
fn an_export_of_a_bad_launch_file_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out");
    let ended = warpsieve(&["trace", "export", "nowhere.toml", "-o", &output.display().to_string()]);
    ended.assert_refused(&["nowhere.toml"]);
    assert!(!output.exists());
}
