//! Finds the kernels in the source tree: their folder, and their launch files by kernel name.

use std::fs;
use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic, Report, WrapErr, miette};

use crate::config::near;
use crate::launch::{LaunchFile, MAIN, locate, split_values};

/// Folder of the kernels in the source tree from which this program was built.
const HOME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../kernels");

/// Returns the folder `kernels` in the current folder or in a folder above it, as a relative path. Otherwise
/// returns the absolute path of the folder in the source tree from which this program was built.
///
/// # Errors
/// Fails if neither folder exists.
pub fn kernels_folder() -> Result<PathBuf, Report> {
    let here = std::env::current_dir().into_diagnostic().wrap_err("the current folder cannot be found")?;
    let mut relative = PathBuf::new();
    for _ in here.ancestors() {
        let folder = relative.join("kernels");
        if folder.is_dir() {
            return Ok(folder);
        }
        relative.push("..");
    }
    Path::new(HOME).canonicalize().ok().filter(|folder| folder.is_dir()).ok_or_else(|| {
        miette!("there is no folder `kernels` in this folder or above, and no {HOME}: they come with the source tree")
    })
}

/// File extension of launch files.
const ENDING: &str = "toml";

/// Finds the launch file for a path or a kernel name. A path may refer to the launch file, to its folder, or
/// to one of its problem sizes, as [`locate`] describes. A kernel name may be followed by a problem size
/// (`syrk/small`) and by values (`syrk/small,rows=100`). If the text is both an existing path and a kernel
/// name, it is treated as a path.
///
/// # Errors
/// Fails if there is no such launch file; the message suggests the most similar name.
pub fn launch_file(given: &Path) -> Result<PathBuf, Report> {
    // The folder of a kernel is accepted in place of the launch file for the kernel's main problem size.
    let (file, size) = locate(given);
    if given.is_dir() && file.is_file() {
        return Ok(file);
    }
    // Devices and pipes are accepted as well as regular files. If the file lacks the requested problem size,
    // this error is reported when the file is read.
    if size.is_some() || (file.exists() && !file.is_dir()) {
        return Ok(given.to_owned());
    }
    if let Some(file) = given.to_str().and_then(of_name) {
        return Ok(file);
    }
    if let Some(list) = list_of_trace(given) {
        let given = given.display();
        return Err(miette!(
            help = format!("`warpsieve replay {}` runs it", list.display()),
            "{given}: cannot read the launch file: it is the folder of a trace"
        ));
    }
    let launches = launches().unwrap_or_default();
    let reason = match fs::metadata(given) {
        Ok(_) => format!("it is a folder without a {MAIN}"),
        Err(reason) => reason.to_string(),
    };
    let help = meant(given, &launches).unwrap_or_else(|| "`warpsieve list kernels` lists all kernels".to_owned());
    Err(miette!(help = help, "{}: cannot read the launch file: {reason}", given.display()))
}

/// Finds the list of kernels in the folder of a trace. Accel-Sim uses two file names for the list; the
/// first that exists is returned.
fn list_of_trace(folder: &Path) -> Option<PathBuf> {
    let list = ["kernelslist.g", "kernelslist"].map(|name| folder.join(name));
    list.into_iter().find(|list| list.is_file())
}

/// Finds the launch file of a kernel by its name, with or without a size or values: `syrk`, `syrk/small`,
/// `syrk/rows=100`.
#[must_use]
pub fn of_name(name: &str) -> Option<PathBuf> {
    let (kernel, size) = name.split_once('/').unwrap_or((name, "launch"));
    let (size, values) = split_values(size);
    let mut folders = list_folder(&kernels_folder().ok()?).ok()?.into_iter();
    let folder = folders.find(|folder| name_of(folder) == kernel && folder.join(MAIN).is_file())?;
    let (_, path) = match (size, values) {
        (None, Some(values)) => return Some(folder.join(values)),
        (size, _) => sizes(&folder).ok()?.into_iter().find(|(known, _)| Some(known.as_str()) == size)?,
    };
    // The path of a problem size ends in the name of the size. If the size has its own launch file, the path
    // ends in the name of this file.
    Some(match values {
        Some(values) => path.with_file_name(format!("{},{values}", path.file_stem()?.to_str()?)),
        None => path,
    })
}

/// Returns the launch files of all kernels by name. A kernel has one entry under its own name, and one for
/// each of its problem sizes.
///
/// # Errors
/// Fails if there is no folder of kernels, or if it cannot be read.
pub fn launches() -> Result<Vec<(String, PathBuf)>, Report> {
    let mut launches = Vec::new();
    for kernel in list_folder(&kernels_folder()?)? {
        let (name, main) = (name_of(&kernel), kernel.join(MAIN));
        if !main.is_file() {
            continue;
        }
        launches.push((name.clone(), main));
        for (size, path) in sizes(&kernel)? {
            launches.push((format!("{name}/{size}"), path));
        }
    }
    Ok(launches)
}

/// Returns the problem sizes of the kernel in a folder, each with the path that selects it, sorted by name.
/// The entry for the main size of a launch file consists of the file's name and path.
///
/// # Errors
/// Fails if the folder cannot be read.
pub fn sizes(kernel: &Path) -> Result<Vec<(String, PathBuf)>, Report> {
    let mut sizes = Vec::new();
    for file in list_folder(kernel)?.into_iter().filter(|file| file.extension().is_some_and(|end| end == ENDING)) {
        let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        // An invalid file is reported when it is run, not when it is listed.
        let of_file = LaunchFile::size_names(&file).unwrap_or_default().into_iter();
        let is_main = file.ends_with(MAIN);
        sizes.extend(of_file.map(|size| match is_main {
            true => (size.clone(), kernel.join(size)),
            false => (format!("{stem}.{ENDING}/{size}"), file.join(size)),
        }));
        sizes.push((stem, file));
    }
    sizes.sort();
    Ok(sizes)
}

/// Suggests a launch file for a misspelled name or path. The input is compared with the names of the kernels,
/// with and without a problem size. If the input is a path, only its last two components are compared. Values
/// in the input, such as `n=100`, are ignored.
fn meant(given: &Path, launches: &[(String, PathBuf)]) -> Option<String> {
    let given = given.to_str()?.trim_end_matches('/');
    let given = match given.rsplit_once('/') {
        Some((folder, part)) => match split_values(part) {
            (None, _) => folder,
            (Some(size), _) => &given[..folder.len() + 1 + size.len()],
        },
        None => given,
    };
    let name = given.strip_suffix(".toml").unwrap_or(given);
    let words: Vec<_> = name.rsplit('/').collect();
    let of_path = words.get(1).map(|folder| format!("{folder}/{}", words[0]));
    let known =
        |is_legal: fn(&str) -> bool| launches.iter().map(|(name, _)| name.as_str()).filter(move |name| is_legal(name));
    let sizes: Vec<_> = known(|name| name.contains('/')).collect();
    let kernels: Vec<_> = known(|name| !name.contains('/')).collect();
    let by_path = of_path.as_deref().and_then(|path| near(path, &sizes));
    let found = by_path.or_else(|| near(words[0], &kernels)).or_else(|| near(name, &sizes))?;
    let (_, file) = launches.iter().find(|(name, _)| name == found)?;
    Some(format!("did you mean {}?", file.display()))
}

/// Returns the entries of a folder, sorted by name.
///
/// # Errors
/// Fails if the folder cannot be read.
pub fn list_folder(folder: &Path) -> Result<Vec<PathBuf>, Report> {
    let context = || format!("folder {} cannot be read", folder.display());
    let entries = fs::read_dir(folder).into_diagnostic().wrap_err_with(context)?;
    let mut paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    if let Ok(paths) = &mut paths {
        paths.sort_unstable();
    }
    paths.into_diagnostic().wrap_err_with(context)
}

/// Returns the last component of a path.
#[must_use]
pub fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_found_by_its_name_and_size_and_a_slip_of_it_names_its_file() {
        for (name, file) in [
            ("syrk", "syrk/launch.toml"),
            ("syrk/launch", "syrk/launch.toml"),
            ("syrk/small", "syrk/small"),
            ("bfs_queue", "bfs_queue/launch.toml"),
            ("syrk/rows=100", "syrk/rows=100"),
            ("syrk/small,rows=100,columns=64", "syrk/small,rows=100,columns=64"),
        ] {
            let found = launch_file(Path::new(name)).unwrap();
            assert!(
                LaunchFile::exists(&found) && found.ends_with(Path::new("kernels").join(file)),
                "{name}: {}",
                found.display()
            );
        }
        for (slip, file) in [
            ("sykr", "kernels/syrk/launch.toml"),
            ("kmean", "kernels/kmeans/launch.toml"),
            ("syrk/smal", "kernels/syrk/small"),
            ("sykr/rows=100", "kernels/syrk/launch.toml"),
            ("kernels/sykr/small,rows=100", "kernels/syrk/small"),
            ("syrk.toml", "kernels/syrk/launch.toml"),
            ("kernels/syrk/lunch.toml", "kernels/syrk/launch.toml"),
            ("kernels/sykr/small", "kernels/syrk/small"),
            ("elsewhere/vad", "kernels/vadd/launch.toml"),
        ] {
            let report = launch_file(Path::new(slip)).unwrap_err();
            let help = report.help().map(|help| help.to_string()).unwrap_or_default();
            assert!(help.starts_with("did you mean ") && help.ends_with(&format!("{file}?")), "{slip}: {help}");
        }
        let report = launch_file(Path::new("nothing-like-it.toml")).unwrap_err();
        assert!(report.to_string().starts_with("nothing-like-it.toml: cannot read the launch file: No such file"));
    }

    #[test]
    fn a_folder_stands_for_its_launch_file_and_a_file_for_itself() {
        let folder = tempfile::tempdir().unwrap();
        assert!(launch_file(folder.path()).unwrap_err().to_string().ends_with("it is a folder without a launch.toml"));
        fs::write(folder.path().join("kernelslist.g"), "").unwrap();
        let error = launch_file(folder.path()).unwrap_err();
        assert!(error.to_string().ends_with("it is the folder of a trace"), "{error}");
        assert!(error.help().unwrap().to_string().contains("kernelslist.g` runs it"));
        let file = folder.path().join(MAIN);
        fs::write(&file, "").unwrap();
        assert_eq!(launch_file(folder.path()).unwrap(), file);
        assert_eq!(launch_file(&file).unwrap(), file);
    }
}
