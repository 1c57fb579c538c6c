//! Kernels to measure: those that have a launch file with data larger than the caches of a modern GPU.

use std::path::{Path, PathBuf};

use miette::Report;

use warpsieve::kernels::{list_folder, name_of};
use warpsieve::launch::LaunchFile;

/// Name of the launch files with data for a modern GPU. The data are several times larger than the L2 of such
/// a GPU, and larger than all its L1s together.
pub(super) const SIZE: &str = "modern";

/// Kernel to measure: its name and the path of its launch file.
pub(super) struct Kernel {
    pub name: String,
    pub path: PathBuf,
}

/// Returns the kernels with a launch file of size [`SIZE`], and the names of all other kernels. In quick
/// mode, the kernels run with their small launch files instead.
pub(super) fn kernels(folder: &Path, is_quick: bool) -> Result<(Vec<Kernel>, Vec<String>), Report> {
    let size = if is_quick { "small" } else { SIZE };
    let (mut kernels, mut left_out) = (Vec::new(), Vec::new());
    for folder in list_folder(folder)? {
        let name = name_of(&folder);
        if LaunchFile::exists(&folder.join(SIZE)) {
            kernels.push(Kernel { name, path: folder.join(size) });
        } else if folder.join("launch.toml").is_file() {
            left_out.push(name);
        }
    }
    Ok((kernels, left_out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::resolve_config;
    use crate::volta::VOLTA;
    use warpsieve::run::open;

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels")
    }

    #[test]
    fn data_exceed_the_caches_of_the_machine_and_fill_its_sms() {
        let config = resolve_config(VOLTA, &[], &[]).unwrap().config;
        let bytes = |sets: u32, ways: u32, line: u32| u64::from(sets) * u64::from(ways) * u64::from(line);
        let l1s = u64::from(config.num_sms) * bytes(config.l1.sets, config.l1.ways, config.l1.line_bytes);
        let l2 = u64::from(config.num_partitions) * bytes(config.l2.sets, config.l2.ways, config.l2.line_bytes);
        let (kernels, left_out) = kernels(&folder(), false).unwrap();
        assert!(kernels.len() >= 8 && left_out.contains(&"mriq".to_owned()), "{} {left_out:?}", kernels.len());
        for Kernel { name, path } in kernels {
            let file = open(&path, None).unwrap();
            let data: u64 = file.buffers.iter().map(|buffer| buffer.bytes() as u64).sum();
            assert!(data >= 4 * l2 && data >= 2 * l1s, "{name}: {data} bytes, L2 {l2}, L1s {l1s}");
            let ctas = file.launches().map(|launch| launch.grid.iter().map(|side| u64::from(*side)).product::<u64>());
            assert!(ctas.max().unwrap_or(0) >= u64::from(config.num_sms), "{name}");
        }
    }

    #[test]
    fn quick_pages_take_the_small_files_of_the_same_kernels() {
        let [(usual, _), (quick, _)] = [false, true].map(|is_quick| kernels(&folder(), is_quick).unwrap());
        assert_eq!(usual.len(), quick.len());
        assert!(
            quick.iter().zip(&usual).all(|(quick, usual)| quick.name == usual.name && LaunchFile::exists(&quick.path))
        );
    }
}
