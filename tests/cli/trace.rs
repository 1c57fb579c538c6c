//! Tests the command `trace info`, on traces whose figures are known in advance and on bad files.

use std::fs;
use std::path::Path;

use serde_json::Value;
use warpsieve::trace::synthetic::{KINDS, Kind, Size, Synthetic};

use super::warpsieve;

/// Writes a trace of a synthetic kernel, and the list of kernels that belongs to it, to a folder. Returns the
/// path of the list.
fn write_trace(folder: &Path, kind: Kind, size: Size) -> String {
    Synthetic::new(kind, size).write(fs::File::create(folder.join("kernel-1.traceg")).unwrap()).unwrap();
    let list = folder.join("kernelslist.g");
    fs::write(&list, "MemcpyHtoD,0x10000000,4096\nkernel-1.traceg\n").unwrap();
    list.display().to_string()
}

fn json(file: &str) -> Value {
    let ended = warpsieve(&["trace", "info", file, "--format", "json"]);
    assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    serde_json::from_str(&ended.out).unwrap()
}

#[test]
fn the_four_patterns_have_as_many_line_accesses_as_coalescing_gives() {
    let size = Size { ctas: 30, iterations: 100 };
    let expected = [72_000, 72_000, 814_550, 816_000];
    for (kind, accesses) in KINDS.into_iter().zip(expected) {
        let folder = tempfile::tempdir().unwrap();
        let found = json(&write_trace(folder.path(), kind, size));
        let kernel = &found["kernels"][0];
        assert_eq!(kernel["warp_instructions"], 265_200, "{kind:?}");
        assert_eq!(kernel["footprint"]["accesses"], accesses, "{kind:?}");
        assert_eq!((&kernel["architecture"], &found["copied_bytes"]), (&"Kepler".into(), &4096.into()));
    }
}

#[test]
fn warnings_go_to_stderr_and_the_table_to_stdout() {
    let ended = warpsieve(&["trace", "info", "tests/corpus/traces/odd-header.traceg"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert!(ended.out.starts_with("tests/corpus/traces/odd-header.traceg: _Z4testPf\n  launch "), "{ended:?}");
    let warning = "warning: tests/corpus/traces/odd-header.traceg:16: nregs is 21955, but a thread has at most 255\n";
    assert!(ended.err.contains(warning), "{ended:?}");
}

#[test]
fn compressed_traces_say_the_same_as_plain_ones() {
    let kernel = |file: &str| {
        let mut found = json(&format!("tests/corpus/traces/{file}"));
        found["kernels"][0]["file"] = Value::Null;
        found
    };
    let plain = kernel("volta.traceg");
    assert_eq!([kernel("volta.traceg.xz"), kernel("volta.traceg.zst")], [plain.clone(), plain.clone()]);
    let mut found = kernel("volta.tracez");
    // The header and the index of a `.tracez` file have no checksum.
    let warnings = found["warnings"].as_array_mut().unwrap();
    assert!(warnings.remove(0).as_str().unwrap().contains("compressed without a checksum"));
    assert_eq!(found, plain);
}

#[test]
fn a_damaged_trace_is_refused_at_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let list = write_trace(folder.path(), Kind::Stream, Size { ctas: 2, iterations: 1 });
    let file = folder.path().join("kernel-1.traceg");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("FFMA", "FFNA", 1)).unwrap();
    let ended = warpsieve(&["trace", "info", &list]);
    ended
        .assert_refused(&["kernel-1.traceg:29:20: found `FFNA`, expected an opcode of Kepler", "did you mean `FFMA`?"]);
}

#[test]
fn a_trace_that_something_else_compressed_is_named_as_such() {
    let folder = tempfile::tempdir().unwrap();
    for (name, head, packer) in [
        ("k.traceg.gz", &b"\x1f\x8b\x08\0"[..], "gzip"),
        ("k.traceg.bz2", b"BZh91AY", "bzip2"),
        ("k.traceg.lz4", b"\x04\x22\x4d\x18", "lz4"),
        ("k.traceg.lzma", b"\x5d\0\0\x80\0", "lzma"),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, [head, b"more"].concat()).unwrap();
        for command in [&["replay"][..], &["trace", "info"]] {
            let message = format!("it is compressed by {packer}, expected plain text, xz or zstd: unpack it first");
            warpsieve(&[command, &[path.to_str().unwrap()]].concat()).assert_refused(&[name, &message]);
        }
    }
}

#[test]
fn a_kernel_that_is_missing_is_refused_where_the_list_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("kernelslist.g");
    fs::write(&list, "\nkernel-7.traceg\n").unwrap();
    let ended = warpsieve(&["trace", "info", &list.display().to_string()]);
    ended.assert_refused(&["kernelslist.g:2:1: there is no file ", "kernel-7.traceg"]);
    warpsieve(&["trace", "info", "nowhere.traceg"]).assert_refused(&["nowhere.traceg: cannot read the trace: "]);
}
