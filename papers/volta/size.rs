//! Which kernels are measured, and of which size: a rule that no result enters.

use std::path::{Path, PathBuf};

use miette::Report;

use warpsieve::kernels::{name_of, sorted};
use warpsieve::run::open;

/// Sizes, in the order in which they are tried: the usual one, then those that papers state.
pub(super) const SIZES: [&str; 6] = ["launch", "paper", "thesis", "xie", "li", "suite"];

/// A kernel of the suite, and what is run of it.
pub(super) struct Kernel {
    pub name: String,
    pub size: &'static str,
    pub path: PathBuf,
}

/// Of each kernel the first size with a launch of a CTA for each SM, and the names of the kernels that have none. The small
/// sizes are taken whatever they fill.
pub(super) fn chosen(kernels: &Path, is_quick: bool, num_sms: u32) -> Result<(Vec<Kernel>, Vec<String>), Report> {
    let (mut chosen, mut left_out) = (Vec::new(), Vec::new());
    for folder in sorted(kernels)? {
        let name = name_of(&folder);
        if is_quick {
            let path = folder.join("small.toml");
            if path.is_file() {
                chosen.push(Kernel { name, size: "small", path });
            }
            continue;
        }
        let paths = SIZES.map(|size| (size, folder.join(format!("{size}.toml"))));
        let there: Vec<_> = paths.into_iter().filter(|(_, path)| path.is_file()).collect();
        if there.is_empty() {
            continue;
        }
        let mut filling = None;
        for (size, path) in there {
            if most_ctas(&path)? >= u64::from(num_sms) {
                filling = Some((size, path));
                break;
            }
        }
        match filling {
            Some((size, path)) => chosen.push(Kernel { name, size, path }),
            None => left_out.push(name),
        }
    }
    Ok((chosen, left_out))
}

/// CTAs of the largest launch of a file.
fn most_ctas(path: &Path) -> Result<u64, Report> {
    let file = open(path, None)?;
    let ctas = file.launches().map(|launch| launch.grid.iter().map(|side| u64::from(*side)).product());
    Ok(ctas.max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_size_that_fills_the_machine_is_taken() {
        let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
        let (taken, left_out) = chosen(&kernels, false, 80).unwrap();
        let size = |name: &str| taken.iter().find(|kernel| kernel.name == name).map(|kernel| kernel.size);
        // 1024 CTAs; 16 and then 90; never more than 16.
        assert_eq!(["vadd", "kmeans", "gesummv"].map(size), [Some("launch"), Some("paper"), None]);
        assert!(left_out.contains(&"gesummv".to_owned()), "{left_out:?}");
        let (small, none) = chosen(&kernels, true, 80).unwrap();
        assert!(small.len() >= taken.len() + left_out.len() && none.is_empty());
        assert!(small.iter().all(|kernel| kernel.path.ends_with("small.toml")));
    }
}
