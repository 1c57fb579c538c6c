//! Embeds the built-in machines and designs: every TOML file in `machines/` and `machines/designs/`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    for (list, folder) in [("machines", "."), ("designs", "designs")] {
        println!("cargo::rerun-if-changed={folder}");
        let mut names = names(Path::new(folder))?;
        // The default machine is the first.
        names.sort_by_key(|name| name != "fermi");
        let files = names.iter().fold(String::new(), |mut files, name| {
            let file = format!("{folder}/{name}.toml");
            let path = format!("machines/{}", file.trim_start_matches("./"));
            let text = format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {:?}))", format!("/{file}"));
            writeln!(files, "Builtin {{ name: {name:?}, path: {path:?}, text: {text} }},").expect("strings grow");
            files
        });
        fs::write(out.join(format!("{list}.rs")), format!("&[\n{files}]\n"))?;
    }
    Ok(())
}

/// Returns the names of the TOML files in a folder without extension. The names are sorted word by word;
/// hyphens separate words. Words that are numbers are sorted by value, so `frc-8` is before `frc-16`.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let paths = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let paths = paths.collect::<io::Result<Vec<_>>>()?;
    let files = paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
    let names = files.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    // Skips hidden files, which some editors create next to open files, and `Cargo.toml`, which describes
    // this package.
    let mut names: Vec<_> = names.filter(|name| !name.starts_with('.') && name != "Cargo").collect();
    names.sort_by_cached_key(|name| {
        let word = |word: &str| (word.parse().unwrap_or(u32::MAX), word.to_owned());
        name.split('-').map(word).collect::<Vec<_>>()
    });
    Ok(names)
}
