//! Tests of the launch files in `kernels/`. Each must be valid and match its PTX file, and its reference
//! function must match its data.

use std::fs;
use std::path::{Path, PathBuf};

use isa::program::LaunchLimits;
use isa::types::Type;

use super::super::{KernelShape, LaunchFile, ParameterShape, Repeat};
use crate::kernels::{list_folder, sizes};

/// Returns the paths of all launch files, with one path for each problem size.
fn launch_files() -> Vec<PathBuf> {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
    let folders = list_folder(&kernels).unwrap().into_iter().filter(|folder| folder.is_dir());
    folders.flat_map(|folder| sizes(&folder).unwrap()).map(|(_, path)| path).collect()
}

/// Returns the kernels of a PTX file with their scalar parameters. Reads only the declarations, which have
/// one `.param` per line.
fn kernels_of(ptx: &Path) -> Vec<KernelShape> {
    let mut kernels: Vec<KernelShape> = Vec::new();
    for line in fs::read_to_string(ptx).unwrap().lines() {
        let words: Vec<_> = line.split([' ', '\t', ',', '(']).filter(|w| !w.is_empty()).collect();
        match words.as_slice() {
            [".visible", ".entry", name] => kernels.push(KernelShape {
                name: (*name).to_owned(),
                parameters: Vec::new(),
                shared_bytes: 0,
                limits: LaunchLimits::default(),
            }),
            [".param", ty, name] => {
                let bits: usize = ty[2..].parse().unwrap();
                kernels.last_mut().unwrap().parameters.push(ParameterShape {
                    name: (*name).to_owned(),
                    ty: Type::from_name(&ty[1..]).unwrap(),
                    bytes: bits / 8,
                });
            }
            _ => {}
        }
    }
    kernels
}

#[test]
fn every_kernel_has_a_main_and_a_small_launch_file_and_the_ptx_of_both_compilers() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
    let sources = fs::read_dir(&kernels).unwrap().map(|folder| {
        let folder = folder.unwrap().path();
        let key = folder.file_name().unwrap().to_str().unwrap().to_owned();
        (folder.join(format!("{key}.cu")), folder, key)
    });
    let mut count = 0;
    for (_, folder, key) in sources.filter(|(source, ..)| source.is_file()) {
        for size in ["launch", "small"] {
            assert!(LaunchFile::exists(&folder.join(size)), "{key} has no size {size}");
        }
        for name in [format!("{key}.ptx"), format!("{key}.nvrtc.ptx")] {
            assert!(folder.join(&name).is_file(), "{key} has no {name}");
        }
        count += 1;
    }
    assert!(count >= 6, "only {count} kernels found in {}", kernels.display());
}

#[test]
fn every_launch_file_suits_its_kernel_and_its_reference() {
    for path in launch_files() {
        let file = LaunchFile::read(&path).unwrap_or_else(|e| panic!("{:#?}", e.lines()));
        for ptx in file.launches().map(|launch| &launch.ptx) {
            let kernels = kernels_of(ptx);
            let checked = file.check_kernels(48 << 10, |_| &kernels);
            checked.unwrap_or_else(|e| panic!("{:#?}", e.lines()));
        }
        // Expected results are computed only for the small launch files. They cover every reference function,
        // and a large file would take seconds.
        if path.to_str().is_some_and(|path| path.ends_with("small") || path.ends_with("small.toml")) {
            let expected = file.compute_expected(&file.initial());
            let expected = expected.unwrap_or_else(|e| panic!("{:#?}", e.lines()));
            assert!(expected.iter().any(Option::is_some), "{path:?} expects nothing");
        }
    }
}

#[test]
fn the_small_graph_has_unreached_nodes_and_several_levels() {
    let bfs = launch_files().into_iter().find(|path| path.ends_with("bfs/small"));
    let file = LaunchFile::read(&bfs.unwrap()).unwrap();
    let expected = file.compute_expected(&file.initial()).unwrap().remove(0).unwrap();
    let levels: Vec<_> = (0..expected.values.len()).map(|v| expected.values.integer(v)).collect();
    assert_eq!(levels[0], 0);
    assert_eq!(levels.iter().min(), Some(&-1));
    assert!((3..60).contains(levels.iter().max().unwrap()));
}

fn documentation() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/launch-files.md");
    fs::read_to_string(path).unwrap()
}

#[test]
fn the_documentation_lists_every_reference_with_its_inputs_and_parameters() {
    let quoted = |names: Vec<&str>| names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    let text = documentation();
    for reference in golden::reference::ALL {
        let row = text.lines().find(|line| line.starts_with(&format!("| `{}` | ", reference.name)));
        let row = row.unwrap_or_else(|| panic!("no row for `{}`", reference.name));
        let inputs = quoted(reference.inputs.iter().map(|i| i.name).collect());
        let parameters = quoted(reference.parameters.iter().map(|p| p.name).collect());
        assert!(row.contains(&format!(", `{}` | {inputs}: `", reference.output)), "{row}");
        assert!(row.ends_with(&format!(" | {parameters} |")), "{row}");
    }
}

#[test]
fn the_examples_of_the_documentation_are_legal_launch_files() {
    let text = documentation();
    let examples: Vec<_> = text.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let folder = super::Folder::new();
    for ptx in ["vadd.ptx", "bodies.ptx", "sum.ptx"] {
        fs::write(folder.path(ptx), "").unwrap();
    }
    let read = |example: &&str| folder.read(example).unwrap_or_else(|e| panic!("{:#?}", e.lines()));
    let files: Vec<_> = examples.iter().map(read).collect();
    assert_eq!(files.len(), 3);
    assert!(files[0].compute_expected(&files[0].initial()).unwrap()[0].is_some());
}

#[test]
fn a_loop_on_the_host_states_each_of_its_launches_once() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
    for kernel in ["gramschmidt", "fdtd2d", "gaussian"] {
        let file = LaunchFile::read(&kernels.join(kernel).join("launch.toml")).unwrap();
        assert_eq!(file.launches().count(), 3, "{kernel}");
        assert!(file.steps.iter().any(|step| matches!(step.repeat, Repeat::Times(10..))), "{kernel}");
    }
}
