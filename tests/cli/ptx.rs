//! Tests the command `ptx`: listings of kernels, and every reason for which a kernel cannot run.

use std::fs;

use serde_json::Value;

use super::{root, warpsieve};

const HEAD: &str = ".version 7.0\n.target sm_52\n.address_size 64\n";

/// Writes a PTX file that consists of the usual header and this text. Returns its folder and its path.
fn file(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("given.ptx");
    fs::write(&path, format!("{HEAD}{text}")).unwrap();
    let path = path.display().to_string();
    (folder, path)
}

#[test]
fn every_kernel_of_the_suite_can_be_run() {
    let mut files = 0;
    for kernel in fs::read_dir(root().join("kernels")).unwrap() {
        let folder = kernel.unwrap().path();
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "ptx") {
                let ended = warpsieve(&["ptx", fs::canonicalize(path).unwrap().to_str().unwrap()]);
                assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""), "{ended:?}");
                files += 1;
            }
        }
    }
    assert!(files > 80, "{files} files");
}

#[test]
fn a_listing_tells_accesses_by_line_and_space() {
    let ended = warpsieve(&["ptx", "kernels/syrk/syrk.ptx", "--format", "json"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let found: Value = serde_json::from_str(&ended.out).unwrap();
    let kernel = &found["kernels"][0];
    assert_eq!((&kernel["name"], &kernel["refused"]), (&"syrk".into(), &Value::Array(Vec::new())));
    let accesses = kernel["program"]["accesses"].as_array().unwrap();
    let text = fs::read_to_string(root().join("kernels/syrk/syrk.ptx")).unwrap();
    let expected: Vec<(u64, &str)> = (1..)
        .zip(text.lines())
        .filter(|(_, line)| line.contains("ld.global") || line.contains("st.global"))
        .map(|(number, line)| (number, line.trim()))
        .collect();
    let listed: Vec<_> = accesses.iter().map(|a| (a["line"].as_u64().unwrap(), a["text"].as_str().unwrap())).collect();
    assert_eq!(listed, expected);
    assert!(accesses.iter().all(|access| access["space"] == "global" && access["bytes"] == 4));
}

#[test]
fn each_refused_instruction_is_listed_once_with_its_place() {
    let (_folder, path) = file(
        ".func helper()\n{\n\twmma.load.a.sync f;\n\tret;\n}\n\
         .entry good()\n{\n\tret;\n}\n\
         .entry bad()\n{\n\t.reg .b32 %r<3>;\n\tcall helper;\n\tcall helper;\n\tvmad.s32.s32.s32 %r1, %r2, %r2, %r2;\n\
         \tadd.s32 %r1, %r9, %r2;\n\tret;\n}\n",
    );
    let ended = warpsieve(&["ptx", &path]);
    assert_eq!(ended.status, Some(2), "{ended:?}");
    assert!(ended.err.contains("kernel `bad` cannot be run"), "{ended:?}");
    assert!(ended.out.contains("kernel good()\n  1 instruction: control 1\n"), "{ended:?}");
    let refusals: Vec<_> = ended.out.lines().filter_map(|line| line.strip_prefix(&format!("  {path}:"))).collect();
    assert_eq!(refusals.len(), 3, "{ended:?}");
    assert_eq!(refusals[0], "6:2: instruction `wmma.load.a.sync` is not supported");
    assert_eq!(refusals[1], "18:2: `vmad.s32.s32.s32` is not modeled");
    assert!(refusals[2].starts_with("19:15: "), "{ended:?}");
    assert!(ended.out.contains("kernel bad: cannot be run, 3 reasons\n"), "{ended:?}");
    assert_eq!(ended.out.matches("help: instead: `mad`").count(), 1, "{ended:?}");
}

#[test]
fn more_registers_than_a_thread_has_are_spilled_and_more_predicates_are_refused() {
    let mut text =
        ".entry wide(.param .u64 p)\n{\n\t.reg .b32 %r<300>;\n\t.reg .b64 %rd1;\n\tld.param.u64 %rd1, [p];\n"
            .to_owned();
    text.extend((0..260).map(|n| format!("\tld.global.u32 %r{n}, [%rd1+{}];\n", n * 4)));
    text.extend((0..260).map(|n| format!("\tst.global.u32 [%rd1+{}], %r{n};\n", n * 4)));
    let (_folder, path) = file(&(text + "\tret;\n}\n"));
    let ended = warpsieve(&["ptx", &path]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let words = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(" 255 registers, 0 predicates, "), "{ended:?}");
    assert!(
        words.contains(" bytes per thread, of which ") && words.contains(" bytes are spilled registers"),
        "{ended:?}"
    );

    let mut text =
        ".entry many(.param .u64 p)\n{\n\t.reg .pred %p<33>;\n\t.reg .b32 %r1;\n\tmov.u32 %r1, %tid.x;\n".to_owned();
    text.extend((0..32).map(|n| format!("\tsetp.eq.u32 %p{n}, %r1, {n};\n")));
    text.extend((0..32).map(|n| format!("\t@%p{n} st.shared.u32 [0], %r1;\n")));
    let (_folder, path) = file(&(text + "\tret;\n}\n"));
    let ended = warpsieve(&["ptx", &path]);
    assert_eq!(ended.status, Some(2), "{ended:?}");
    assert!(ended.out.contains("more than 31 predicates are live at this point"), "{ended:?}");
}

#[test]
fn a_text_that_is_no_ptx_is_refused_at_its_place() {
    let (_folder, path) = file(".entry broken(\n");
    warpsieve(&["ptx", &path]).assert_refused(&["given.ptx:"]);
    warpsieve(&["ptx", "nowhere.ptx"]).assert_refused(&["nowhere.ptx: cannot be read"]);
}
